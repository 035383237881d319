"""A stand-in for systemd-creds(1) and a TPM: it takes and gives the same, in the time that a process takes to start.

What it "seals" opens only with the same TPM, while its PCRs are the same. It protects nothing. The real one, with a TPM
in software, is in Tests/Package/test_key.py.
"""

import os
import pathlib
import shutil

import plain
from machine import RUN, cover, sh

STATE = pathlib.Path("/run/passcode-tpm")
LOADED = RUN.with_name("passcode-key") / "key"
PROGRAM = pathlib.Path("/usr/bin/systemd-creds")
ASIDE = PROGRAM.with_name("systemd-creds.aside")
LIBRARIES = pathlib.Path("/run/passcode-libraries")
LOADER = pathlib.Path("/etc/ld.so.conf.d/passcode.conf")  # in the tests' own namespace, as ldconfig's cache is
# What it makes is laid out as the real one's, as far as anybody reads it: an id (16 bytes), whose TPM (16), nothing (16),
# which PCRs (8), their policy (32), the sealed bytes. Each start imports what is quickly imported.
TEXT = f"""#!/usr/bin/python3 -IS
import binascii, hashlib, sys, time
act, name, *options = sys.argv[1:]
if name != "--name=passcode.key" or options[-2:] != ["-", "-"]:
    sys.exit(f"not expected: {{sys.argv}}")
try:
    tpm = eval(open("{STATE}").read())
except OSError:
    sys.exit("noise\\nNo TPM2 device found.")
seed, old, lies = bytes.fromhex(tpm["seed"]), tpm["systemd"] < 257, tpm["lies"]
ids = [bytes.fromhex("0c7cc07b117645919c4b0bea08bc20fe"), hashlib.md5(b"pinned").digest()]
def policy(mask):
    values = b"".join(
        bytes(32) if tpm[f"pcr{{n}}"] is None else hashlib.sha256(tpm[f"pcr{{n}}"].encode()).digest()
        for n in (7, 16) if mask >> n & 1)
    chosen = bytes.fromhex("00000001000b03") + mask.to_bytes(3, "little")
    return hashlib.sha256(bytes(32) + bytes.fromhex("0000017f") + chosen + hashlib.sha256(values).digest()).digest()
def mixed(data):
    return bytes(a ^ b for a, b in zip(data, hashlib.sha512(seed).digest()))
if lies == "says nothing":
    time.sleep(600)
if tpm["lockout"]:
    sys.exit("TPM2 device is in dictionary attack lockout mode." if old
             else "Failed to unseal secret using TPM2: No locks available")
if act == "encrypt":
    key, pcrs = options[:2]
    if key != "--with-key=tpm2":
        sys.exit(f"not expected: {{sys.argv}}")
    mask = sum(1 << int(number) for number in pcrs.split("=")[1].split("+") if number)
    plain = sys.stdin.buffer.read()
    if lies == "seals another key":
        plain = bytes(32)
    sealed = ids[tpm["systemd"] >= 262] + seed + bytes(16) + mask.to_bytes(8, "little") + policy(mask) + mixed(plain)
    print(binascii.b2a_base64(sealed, newline=False).decode())
else:
    sealed = binascii.a2b_base64(sys.stdin.buffer.read())
    mask = int.from_bytes(sealed[48:56], "little")
    if sealed[:16] not in ids[: 1 + (tpm["systemd"] >= 262)]:
        sys.exit("Unknown encryption format, or corrupted data.")
    if old and mask == 0:
        sys.exit("TPM2 PCR mask out of range.")
    if sealed[16:32] != seed or sealed[56:88] != policy(mask):
        sys.exit("Failed to unseal secret using TPM2: Operation not permitted")
    plain = mixed(sealed[88:])
    sys.stdout.buffer.write({{"opens another key": bytes(32), "opens a part": plain[:31]}}.get(lies, plain))
"""


def install():
    if not plain.PLAIN:
        cover(pathlib.Path("/run/passcode-creds"), "/usr/bin")
    elif PROGRAM.exists():
        PROGRAM.rename(ASIDE)
    PROGRAM.unlink(missing_ok=True)
    PROGRAM.write_text(TEXT)
    PROGRAM.chmod(0o755)
    # Empty ones: that they can be loaded is all that anyone asks.
    LIBRARIES.mkdir()
    for name in ("esys", "mu", "rc"):
        library = f"libtss2-{name}.so.0"
        sh("gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library}", "-o", LIBRARIES / library, "-x", "c", "/dev/null")
    LOADER.write_text(f"{LIBRARIES}\n")
    sh("ldconfig")


def uninstall():
    if not plain.PLAIN:
        sh("umount", "--lazy", "/usr/bin")
        shutil.rmtree("/run/passcode-creds")
    elif ASIDE.exists():
        ASIDE.replace(PROGRAM)
    else:
        PROGRAM.unlink()
    shutil.rmtree(LIBRARIES)
    LOADER.unlink()
    sh("ldconfig")


class TPM:
    """And the systemd that speaks to it."""

    def __init__(self):
        self.clear()

    def clear(self):
        """As the firmware's menu does."""
        self.seed = os.urandom(16).hex()
        self.start()

    def start(self, measured="firmware", *, debug=None, systemd=257, lockout=False, lies=""):
        """`debug`: what some program has extended PCR 16 with since the boot."""
        state = {"seed": self.seed, "pcr7": measured, "pcr16": debug, "systemd": systemd, "lockout": lockout, "lies": lies}
        STATE.write_text(repr(state))

    def stop(self):
        STATE.unlink(missing_ok=True)


def boot():
    """What a boot leaves of the keys."""
    while LOADED.parent.is_mount():
        sh("umount", "--lazy", LOADED.parent)
    shutil.rmtree(LOADED.parent, ignore_errors=True)
