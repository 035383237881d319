"""A machine with a TPM, on a kernel of its own, booted by systemd: a sealed key, each boot, and a TPM that was cleared."""

import json

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
    """By systemd, in its sandbox, before anybody could log in."""
    opened, logins = unit(guest), unit(guest, "systemd-user-sessions")
    assert (opened["ActiveState"], opened["Result"]) == ("active", "success")
    assert int(opened["ActiveEnterTimestampMonotonic"]) < int(logins["ActiveEnterTimestampMonotonic"])
    assert guest.run("systemctl --failed --no-legend") == ""
    assert guest.run("stat -c '%A %U %G' /run/passcode-key /run/passcode-key/key").splitlines() == [
        "drwxr-x--- root _passcode", "-r--r----- root _passcode"]  # fmt: skip
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
    assert (failed["ActiveState"], failed["Result"]) == ("failed", "exit-code")
    assert "passcode key recover" in guest.run("journalctl -b -u passcode-key --no-pager")
    assert "does not open" in guest.run("passcode check", 1)
    guest.run(f"echo {RIGHT} | passcode verify alice --stdin", 7)
    alice = guest.log_in("alice", ("Password: ", PASSWORD))
    alice.line.send("exit\r")
    assert json.loads(guest.run("passcode status alice --json"))["failures"] == 0

    lines = "\\n".join(copy.splitlines())
    assert "sealed again" in guest.run(f"printf '{lines}\\n' | passcode key recover --stdin")
    assert works(guest)
    reboot(guest)
    assert is_opened(guest) and works(guest)
