"""Enrols many accounts without hashing for each: one credential, sealed anew for each of them.

The plain form and the associated data are drawn in Sources/PasscodeVault/Credential.swift.
"""

import ctypes
import hashlib
import os
import pwd
import re

from bed import SLOT

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
    enroll_numbers_like(bed, source, [(pwd.getpwnam(user).pw_uid, user) for user in users])


def enroll_numbers_like(bed, source, people):
    """The same for pairs of a uid and a name, whether or not there are such accounts."""
    key, own, whole = bed.key.read_bytes(), pwd.getpwnam(source), bed.record(source)
    [sealed] = set(re.findall(rb"^sealed=(\w+)$", whole, re.MULTILINE))
    sealed = bytes.fromhex(sealed.decode())
    plain = _seal("decrypt", sealed[_NONCE:], own.pw_uid, source, sealed[:_NONCE], key)
    pattern = rb"(.*\nuid=)\d+(\nname=).*(\nstate=.*\nsealed=)\w+(\n.*)checksum=\w+\n\0*"
    slots = [re.fullmatch(pattern, whole[start : start + SLOT], re.DOTALL).groups() for start in (0, SLOT)]
    like = bed.record_file(source).stat()
    for uid, name in people:
        nonce = os.urandom(_NONCE)
        resealed = (nonce + _seal("encrypt", plain, uid, name, nonce, key)).hex().encode()
        values, content = (b"%d" % uid, name.encode(), resealed, b""), b""
        for parts in slots:
            text = b"".join(part + value for part, value in zip(parts, values, strict=True))
            sum = hashlib.blake2b(text, digest_size=32).hexdigest().encode()
            content += (text + b"checksum=" + sum + b"\n").ljust(SLOT, b"\0")
        file = os.open(bed.store / str(uid), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(file, content)
        os.fchmod(file, like.st_mode & 0o777)
        os.fchown(file, like.st_uid, like.st_gid)
        os.close(file)
