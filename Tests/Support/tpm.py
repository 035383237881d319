"""A TPM 2.0 in software (swtpm) for a machine, and `passcode key` with it.

systemd-creds and tpm2-tools reach it over TCP, as the environment says: there is no /dev/tpm. Without a resource manager,
which a kernel's /dev/tpmrm0 has, systemd 252 leaves its sessions in it: `restart` before each command.
"""

import hashlib
import re
import shutil
import time

from recovery import printed

PORT = 2321
STATE = "var/tmp/tpm"
# What these tests need in a root, besides the package's own dependencies.
PROGRAMS = (
    "adduser apt iproute2 libpam-runtime libsodium23 login pamtester passwd procps strace swtpm systemd tpm2-tools"
    " util-linux"
)
MORE_PROGRAMS = {"bookworm": " libtss2-tcti-swtpm0", "trixie": " libtss2-tcti-swtpm0t64"}
DEVICE = f"swtpm:host=127.0.0.1,port={PORT}"
ENVIRONMENT = ["env", f"SYSTEMD_TPM2_DEVICE={DEVICE}", f"TPM2TOOLS_TCTI={DEVICE}"]


class TPM:
    def __init__(self, machine):
        self.machine = machine
        self.is_on = False
        self.leaks = "bookworm" in (machine.path / "etc/os-release").read_text()
        self.extended = []  # what the firmware measured into PCR 7

    def start(self, *measured):
        """As a boot does: PCRs begin at 0, and the firmware extends PCR 7."""
        (self.machine.path / STATE).mkdir(exist_ok=True)
        self.machine.run(
            "swtpm", "socket", "--tpm2", "--tpmstate", f"dir=/{STATE}", "--server", f"type=tcp,port={PORT}",
            "--ctrl", f"type=tcp,port={PORT + 1}", "--flags", "not-need-init,startup-clear", "--daemon",
            "--pid", "file=/run/swtpm.pid",
        )  # fmt: skip
        self.is_on = True
        self.extended = list(measured)
        for text in measured:
            digest = hashlib.sha256(text.encode()).hexdigest()
            for _ in range(250):
                if "" == self.run("tpm2_pcrextend", f"7:sha256={digest}", status=None):
                    break
                time.sleep(0.02)
            else:
                raise AssertionError("PCR 7 can't be extended")
        return self

    def stop(self):
        """In order: a TPM that is switched off without that locks itself up against guessing."""
        self.run("tpm2_shutdown", "-c")
        self.machine.run("sh", "-c", "kill $(cat /run/swtpm.pid); while pgrep -r R,S,D -x swtpm; do sleep 0.05; done", status=None)
        self.is_on = False

    def restart(self):
        self.stop()
        self.start(*self.extended)

    def clear(self):
        """As the firmware's menu does; it has to be off."""
        shutil.rmtree(self.machine.path / STATE)

    def run(self, *command, **how):
        return self.machine.run(*ENVIRONMENT, *command, **how)

    def key(self, *action, status=0, **how):
        """passcode key ACTION."""
        if self.is_on and self.leaks:
            self.restart()
        return self.run("passcode", "key", *printed(*action), status=status, **how)

    def boot_unit(self, status=0):
        """What the unit runs."""
        unit = (self.machine.path / "usr/lib/systemd/system/passcode-key.service").read_text()
        [command] = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
        if self.is_on and self.leaks:
            self.restart()
        return self.run(*command.split(), status=status)
