"""The keys of a bed, and which of a store's copies each of them opens."""

import ctypes
import re

import forge
from bed import SLOT

_NAMES = re.compile(rb"\nuid=(\d+)\nname=(.*)\nstate=(\w+)\n.*\nsealed=(\w*)\n")


def keys(bed):
    """{"old": …, "new": …}: the machine key, and the next one while a rotation is under way."""
    next_key = bed.key.with_name(bed.key.name + ".new")
    found = {"old": bed.key.read_bytes()}
    if next_key.exists():
        found["new"] = next_key.read_bytes()
    return found


def opens(sealed, uid, name, key):
    return forge.opened(sealed, uid, name, key) is not None


def copies(record):
    """(uid, name, sealed) of each copy of a record file that holds a passcode."""
    whole = record.read_bytes()
    for start in (0, SLOT):
        uid, name, state, sealed = _NAMES.search(whole[start : start + SLOT]).groups()
        if state == b"enrolled":
            yield int(uid), name.decode(), bytes.fromhex(sealed.decode())


def records(bed):
    return [path for path in bed.store.iterdir() if path.name.isdigit()]


def openers(bed, known=None):
    """{uid: for each copy, the names of the keys that open it}."""
    known = known or keys(bed)
    return {
        int(path.name): [
            {which for which, key in known.items() if opens(sealed, uid, name, key)}
            for uid, name, sealed in copies(path)
        ]
        for path in records(bed)
    }


def argon2id(code, salt, operations, memory):
    """The 32 bytes that libsodium makes of a passcode."""
    out = ctypes.create_string_buffer(32)
    status = forge._sodium.crypto_pwhash(
        out, ctypes.c_ulonglong(32), code.encode(), ctypes.c_ulonglong(len(code)), salt,
        ctypes.c_ulonglong(operations), ctypes.c_size_t(memory), ctypes.c_int(2),
    )  # fmt: skip
    assert status == 0
    return out.raw
