"""libsodium itself, of the release that this machine has."""

import ctypes


def load():
    """1.0.18, or from 1.0.19 on."""
    try:
        return ctypes.CDLL("libsodium.so.23")
    except OSError:
        return ctypes.CDLL("libsodium.so.26")
