"""A stand-in for systemd-creds(1) and a TPM: it takes and gives the same, in the time that a process takes to start.

What it "seals" opens only with the same TPM, while its PCRs are the same. It protects nothing. The real one, with a TPM
in software, is in Tests/Package/test_key.py.
"""

import json
import os
import pathlib
import shutil

from machine import RUN, sh

STATE = pathlib.Path("/run/passcode-tpm")
LOADED = RUN.with_name("passcode-key") / "key"
PROGRAM = pathlib.Path("/usr/bin/systemd-creds")
LIBRARIES = pathlib.Path("/run/passcode-libraries")
LOADER = pathlib.Path("/etc/ld.so.conf.d/passcode.conf")  # in the tests' own namespace, as ldconfig's cache is
# Base64 of: who sealed it (16 bytes), the PCRs' content (32), which PCRs (8), the sealed bytes.
TEXT = f"""#!/usr/bin/python3 -IS
import base64, hashlib, json, sys
act, name, *options = sys.argv[1:]
if name != "--name=passcode.key" or options[-2:] != ["-", "-"]:
    sys.exit(f"not expected: {{sys.argv}}")
try:
    tpm = json.load(open("{STATE}"))
except OSError:
    sys.exit("noise\\nNo TPM2 device found.")
seed = bytes.fromhex(tpm["seed"])
def content(mask):
    return hashlib.sha256(tpm["pcr7"].encode() if mask & 1 << 7 else b"").digest()
def mixed(data):
    return bytes(a ^ b for a, b in zip(data, hashlib.sha512(seed).digest()))
if act == "encrypt":
    key, pcrs = options[:2]
    if key != "--with-key=tpm2":
        sys.exit(f"not expected: {{sys.argv}}")
    mask = sum(1 << int(number) for number in pcrs.split("=")[1].split("+"))
    plain = sys.stdin.buffer.read()
    print(base64.b64encode(seed + content(mask) + mask.to_bytes(8, "little") + mixed(plain)).decode())
else:
    sealed = base64.b64decode(sys.stdin.buffer.read())
    mask = int.from_bytes(sealed[48:56], "little")
    if sealed[:16] != seed or sealed[16:48] != content(mask):
        sys.exit("Failed to unseal secret using TPM2: Operation not permitted")
    sys.stdout.buffer.write(mixed(sealed[56:]))
"""


def install():
    cover = pathlib.Path("/run/passcode-creds")
    for name in ("upper", "work"):
        (cover / name).mkdir(parents=True)
    sh("mount", "-t", "overlay", "-o", f"lowerdir=/usr/bin,upperdir={cover}/upper,workdir={cover}/work",
       "overlay", "/usr/bin")  # fmt: skip
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
    sh("umount", "--lazy", "/usr/bin")
    for folder in (LIBRARIES, "/run/passcode-creds"):
        shutil.rmtree(folder)
    LOADER.unlink()
    sh("ldconfig")


class TPM:
    def __init__(self):
        self.clear()

    def clear(self):
        """As the firmware's menu does."""
        self.seed = os.urandom(16).hex()
        self.start()

    def start(self, measured="firmware"):
        STATE.write_text(json.dumps({"seed": self.seed, "pcr7": measured}))

    def stop(self):
        STATE.unlink(missing_ok=True)


def boot():
    """What a boot leaves of the keys."""
    while LOADED.parent.is_mount():
        sh("umount", "--lazy", LOADED.parent)
    shutil.rmtree(LOADED.parent, ignore_errors=True)
