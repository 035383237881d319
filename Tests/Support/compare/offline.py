"""7. A thief with time: how long a search of a stolen record takes on one processor of this machine.

Assumed: all codes are tried, on one processor, with the same libraries that check them here. On average half of
that finds the code; more processors divide it, and so does hardware made for it. Without the machine key there is
nothing to compare a hash with: the key itself would have to be found, by opening the seal.
"""

import ctypes
import os

import bench
import libsodium
from compare import stacks
from compare.figures import counted, figure, taking_turns
from scenario import RIGHT

DEARER = 4  # times the passes, where a login may take longer; what `opslimit` changes, and nothing else does
OPENINGS = 1_000


def figures(kit):
    rounds = kit.effort.of(31, 3)
    hashes = taking_turns(rounds, argon2(kit.operations, kit.bytes), crypt(kit))
    for digits in (4, 6):
        name, peer = f"{digits} digits, with store and key", "a PIN as the password, with /etc/shadow"
        yield figure(name, peer, "h", hashes, scale=hours(10**digits))
    dearer = taking_turns(rounds, argon2(DEARER * kit.operations, kit.bytes), argon2(kit.operations, kit.bytes))
    for digits in (4, 6):
        name = f"{digits} digits, four times the passes"
        yield figure(name, "the default cost", "h", dearer, scale=hours(10**digits))
    sealed = opening() * hours(2**256)
    for digits in (4, 6):
        searched = hashes[0][0] * hours(10**digits)
        yield counted(f"{digits} digits, the store without its key", "with the key", "h", sealed, searched)


def hours(tries):
    return tries / 3600


def argon2(operations, memory):
    work = bench.bare_hash(operations, memory)
    return lambda: bench.seconds(work)


def crypt(kit):
    setting = stacks.crypted(RIGHT, *kit.hashing)
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    return lambda: bench.seconds(lambda: library.crypt(b"0000", setting.encode()))


def opening():
    """Seconds to find out that a key is the wrong one."""
    sodium = libsodium.load()
    sealed, out, nonce = os.urandom(61 + 16), ctypes.create_string_buffer(61), os.urandom(24)
    length, zero = ctypes.c_ulonglong(len(sealed)), ctypes.c_ulonglong(0)

    def work():
        for _ in range(OPENINGS):
            status = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
                out, None, None, sealed, length, b"", zero, nonce, nonce + nonce[:8]
            )
            assert status != 0

    return bench.seconds(work) / OPENINGS
