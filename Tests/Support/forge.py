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


def derived(key, purpose=1):
    """What libsodium derives from a machine key: 1 for sealing, 2 for digests."""
    out = ctypes.create_string_buffer(32)
    assert _sodium.crypto_kdf_derive_from_key(out, ctypes.c_size_t(32), ctypes.c_uint64(purpose), b"passcode", key) == 0
    return out.raw


def _associated(uid, name, version):
    return bytes([version]) + uid.to_bytes(4, "little") + name.encode()


def seal(plain, uid, name, key, version=2):
    """The sealed form of that version."""
    out, nonce = ctypes.create_string_buffer(len(plain) + _TAG), os.urandom(_NONCE)
    length, associated = ctypes.c_ulonglong(), _associated(uid, name, version)
    status = _sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, ctypes.byref(length), plain, ctypes.c_ulonglong(len(plain)), associated,
        ctypes.c_ulonglong(len(associated)), None, nonce, key if version == 1 else derived(key),
    )  # fmt: skip
    assert status == 0
    return (b"" if version == 1 else b"\x02") + nonce + out.raw[: length.value]


def version(sealed):
    return 1 if len(sealed) == _NONCE + 61 + _TAG else sealed[0]


def cut(sealed):
    """(nonce, ciphertext with its tag)"""
    sealed = sealed if version(sealed) == 1 else sealed[1:]
    return sealed[:_NONCE], sealed[_NONCE:]


def opened(sealed, uid, name, key):
    """The plain form; None if it doesn't open."""
    number, (nonce, data) = version(sealed), cut(sealed)
    out = ctypes.create_string_buffer(len(data))
    length, associated = ctypes.c_ulonglong(), _associated(uid, name, number)
    status = _sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        out, ctypes.byref(length), None, data, ctypes.c_ulonglong(len(data)), associated,
        ctypes.c_ulonglong(len(associated)), nonce, key if number == 1 else derived(key),
    )  # fmt: skip
    return out.raw[: length.value] if status == 0 else None


def credential(bed, user):
    """The user's credential, opened."""
    [sealed] = set(re.findall(rb"^sealed=(\w+)$", bed.record(user), re.MULTILINE))
    plain = opened(bytes.fromhex(sealed.decode()), pwd.getpwnam(user).pw_uid, user, bed.key.read_bytes())
    assert plain, "the machine key doesn't open it"
    return plain


def reseal(bed, user, plain, key, version=2):
    """Puts this credential, sealed under this key, into both copies of the user's record."""
    sealed = seal(plain, pwd.getpwnam(user).pw_uid, user, key, version).hex().encode()
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
        resealed = seal(plain, uid, name, key).hex().encode()
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
