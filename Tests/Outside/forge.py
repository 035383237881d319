"""Enrols many accounts without hashing for each: one credential, sealed anew for each of them.

The plain form and the associated data are drawn in Sources/PasscodeVault/Credential.swift.
"""

import ctypes
import os
import pwd
import re

_sodium = ctypes.CDLL("libsodium.so.23")
_NONCE, _TAG = 24, 16


def _associated(uid, name):
    return b"\x01" + uid.to_bytes(4, "little") + name.encode()


def _seal(call, data, uid, name, nonce, key):
    """The library's encrypt or decrypt: (out, outLength, …, data, associated, …, nonce, key)."""
    out = ctypes.create_string_buffer(len(data) + _TAG)
    length, associated = ctypes.c_ulonglong(), _associated(uid, name)
    size, extra = ctypes.c_ulonglong(len(data)), ctypes.c_ulonglong(len(associated))
    if call == "encrypt":
        status = _sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
            out, ctypes.byref(length), data, size, associated, extra, None, nonce, key
        )
    else:
        status = _sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, ctypes.byref(length), None, data, size, associated, extra, nonce, key
        )
    assert status == 0, call
    return out.raw[: length.value]


def enroll_like(bed, source, users):
    """Gives all these users the passcode of the source, at its cost."""
    key, own = bed.key.read_bytes(), pwd.getpwnam(source)
    [sealed] = set(re.findall(rb"^sealed=(\w+)$", bed.record(source), re.MULTILINE))
    sealed = bytes.fromhex(sealed.decode())
    plain = _seal("decrypt", sealed[_NONCE:], own.pw_uid, source, sealed[:_NONCE], key)
    for user in users:
        person, nonce = pwd.getpwnam(user), os.urandom(_NONCE)
        resealed = nonce + _seal("encrypt", plain, person.pw_uid, user, nonce, key)
        lines = {
            b"uid": f"uid={person.pw_uid}\n".encode(),
            b"name": f"name={user}\n".encode(),
            b"sealed": f"sealed={resealed.hex()}\n".encode(),
        }

        def change(body, lines=lines):
            kept = body.splitlines(keepends=True)
            return b"".join(lines.get(line.split(b"=", 1)[0], line) for line in kept)

        bed.rewrite(user, change, source=source)
