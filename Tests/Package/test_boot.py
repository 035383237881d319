"""A machine with a TPM, on a kernel of its own, booted by systemd: a sealed key, each boot, and a TPM that was cleared."""

import hashlib
import json
import os

import pytest

from debian_machine import PASSWORD, RIGHT
from guest import TPM, Guest, disk
from recovery import recovery_copy

pytestmark = pytest.mark.on_request

ASKED = "Passcode or password: "


@pytest.fixture(scope="module")
def tpm():
    tpm = TPM()
    yield tpm
    tpm.remove()


@pytest.fixture(scope="module")
def guest(deb, tpm):
    """The package installed there, alice enrolled, the profile enabled."""
    guest = Guest(disk("trixie", deb, name="guest-with-tpm"), tpm)
    guest.run("printf 'opslimit=1\\nmemlimit=8M\\n' > /etc/security/passcode.conf")
    guest.run(f"dpkg --install --force-confold /root/{deb.name}")
    guest.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    guest.run("pam-auth-update --enable passcode")
    yield guest
    guest.cut()


def unit(guest, name="passcode-key"):
    lines = guest.run(f"systemctl show {name} -p ActiveState,Result,ActiveEnterTimestampMonotonic").splitlines()
    return dict(line.split("=", 1) for line in lines)


def reboot(guest, change=lambda: None):
    guest.power_off()
    change()
    guest.start()
    guest.run("systemctl is-system-running --wait", None)


def is_opened(guest):
    """By systemd, in its sandbox. No login waits for it."""
    assert "passcode-key" not in guest.run("systemctl show systemd-user-sessions -p After")
    opened = unit(guest)
    assert (opened["ActiveState"], opened["Result"]) == ("active", "success"), guest.run(
        "journalctl -b -u passcode-key --no-pager")  # fmt: skip
    assert guest.run("systemctl --failed --no-legend") == ""
    assert guest.run("stat -c '%A %U %G' /run/passcode-key /run/passcode-key/key").splitlines() == [
        "drwxr-x--- root _passcode", "-r--r----- root _passcode"]  # fmt: skip
    assert guest.run("stat -f -c %T /run/passcode-key/key") == "ramfs\n"
    return True


def works(guest):
    """Directly, and through the helper, by a login on a terminal."""
    guest.run(f"echo {RIGHT} | passcode verify alice --stdin")
    alice = guest.log_in("alice", (ASKED, RIGHT))
    assert alice.run("passcode verify", ("Passcode: ", RIGHT))[1] == 0
    alice.line.send("exit\r")
    return True


def test_systemd_opens_the_sealed_key_and_recovery_repairs_it(guest, tpm):
    assert unit(guest)["Result"] == "success" and guest.run("test ! -e /run/passcode-key; echo $?") == "0\n"
    guest.run("passcode key seal")
    copy = recovery_copy(guest.run("passcode key rotate"))
    reboot(guest)
    assert is_opened(guest) and works(guest)
    assert "sealed by the TPM, bound to no PCR, and loaded: OK." in guest.run("passcode key status")
    assert "sealed by the TPM, and loaded" in guest.run("passcode check", None)

    reboot(guest, tpm.clear)
    failed = unit(guest)
    # It tries again.
    assert failed["ActiveState"] in ("failed", "activating") and failed["Result"] == "exit-code"
    assert "passcode key recover" in guest.run("journalctl -b -u passcode-key --no-pager")
    assert "the TPM did not unseal it" in guest.run("passcode check", 1)
    guest.run(f"echo {RIGHT} | passcode verify alice --stdin", 7)
    alice = guest.log_in("alice", ("Password: ", PASSWORD))
    alice.line.send("exit\r")
    assert json.loads(guest.run("passcode status alice --json"))["failures"] == 0

    lines = "\\n".join(copy.splitlines())
    assert "sealed again" in guest.run(f"printf '{lines}\\n' | passcode key recover --stdin")
    assert works(guest)
    reboot(guest)
    assert is_opened(guest) and works(guest)


def is_on_the_disk(guest, secret):
    """Anywhere on it, in use or not."""
    part = b""
    with (guest.folder / "disk").open("rb") as file:
        while more := file.read(1 << 24):
            if secret in part[-len(secret) :] + more:
                return True
            part = more
    return False


SHORT = "/sys/fs/cgroup/shortage"


def test_a_shortage_of_memory_brings_no_opened_key_to_the_disk(guest):
    """What lies in a tmpfs comes there: the control. The key that is looked for was never on the disk in the clear.

    The shortage is that of one control group, in which both were written: of a whole machine's, it is luck what it hits.
    """
    guest.run("passcode key seal")
    guest.run("dd if=/dev/zero of=/swap bs=1M count=200 status=none && chmod 600 /swap && mkswap -q /swap && swapon /swap")
    assert "/swap" in guest.run("passcode check", None)
    guest.run(f"mkdir {SHORT} && echo $$ > {SHORT}/cgroup.procs")
    guest.run("passcode key rotate")
    key = bytes.fromhex(guest.run("od -An -v -tx1 /run/passcode-key/key"))
    control = os.urandom(16)
    assert len(key) == 32 and not is_on_the_disk(guest, control)
    # In the guest only their sum is known; what was typed there may be in its journal.
    planted = hashlib.sha256(control.hex().encode()).digest()
    guest.run(f"printf %s {control.hex()} | sha256sum | cut -c 1-64 | tr -d '\\n' > /run/planted")
    guest.run("for i in 1 2 3 4 5 6 7 8 9 10; do cat /run/planted; done > /run/more && mv /run/more /run/planted")
    # It says "try again" when it finds no more to reclaim.
    guest.run(f"for i in 1 2 3 4 5; do echo 500M > {SHORT}/memory.reclaim; done", None)
    assert int(guest.run(f"cat {SHORT}/memory.swap.current")) > 0
    guest.power_off()
    assert is_on_the_disk(guest, planted.hex().encode() * 2), "the control: nothing of /run was swapped out"
    assert not is_on_the_disk(guest, key) and not is_on_the_disk(guest, key.hex().encode())
    guest.start()
    assert is_opened(guest) and works(guest)
