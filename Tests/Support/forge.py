"""What somebody who has the machine key can do with a store: open credentials, and seal them anew, for the same
account or for many others without hashing for each.

The plain form and the associated data are drawn in Sources/PasscodeVault/Key/Credential.swift.
"""

import ctypes
import hashlib
import os
import pwd
import re

import libsodium
from bed import SLOT
from scenario import replace_line

_sodium = libsodium.load()
_NONCE, _TAG = 24, 16
SALT, HASH = slice(0, 16), slice(29, 61)  # where they are in a credential


def _associated(uid, name):
    return b"\x01" + uid.to_bytes(4, "little") + name.encode()


def _seal(call, data, uid, name, nonce, key):
    """The library's encrypt or decrypt: (out, outLength, …, data, associated, …, nonce, key); None where it refuses."""
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
    return out.raw[: length.value] if status == 0 else None


def opened(sealed, uid, name, key):
    """A sealed credential, opened; None: not with this key, or not for this account."""
    return _seal("decrypt", sealed[_NONCE:], uid, name, sealed[:_NONCE], key)


def credential(bed, user):
    """The user's credential, opened."""
    [sealed] = set(re.findall(rb"^sealed=(\w+)$", bed.record(user), re.MULTILINE))
    plain = opened(bytes.fromhex(sealed.decode()), pwd.getpwnam(user).pw_uid, user, bed.key.read_bytes())
    assert plain, "the machine key doesn't open it"
    return plain


def reseal(bed, user, plain, key):
    """Puts this credential, sealed under this key, into both copies of the user's record."""
    nonce, uid = os.urandom(_NONCE), pwd.getpwnam(user).pw_uid
    sealed = (nonce + _seal("encrypt", plain, uid, user, nonce, key)).hex().encode()
    bed.rewrite(user, lambda body: replace_line(body, b"sealed", b"sealed=" + sealed + b"\n"))


def enroll_like(bed, source, users):
    """Gives all these users the passcode of the source, at its cost."""
    enroll_numbers_like(bed, source, [(pwd.getpwnam(user).pw_uid, user) for user in users])


def enroll_numbers_like(bed, source, people):
    """The same for pairs of a uid and a name, whether or not there are such accounts."""
    key, whole, plain = bed.key.read_bytes(), bed.record(source), credential(bed, source)
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
