"""The fingerprint reader on a kernel of its own: systemd starts passcode-finger, AppArmor and logind are real, and the
person has the cgroups that everybody has."""

import re
import time

import pytest

from guest import Guest, disk
from debian_machine import PASSWORD, RIGHT

pytestmark = pytest.mark.on_request

FINGER = "Passcode or finger: "
STACK = "auth [success=done default=ignore] pam_passcode.so finger=yes\\nauth required pam_deny.so\\naccount required pam_permit.so\\n"
READER = "[Service]\\nEnvironment=FP_VIRTUAL_DEVICE=/var/lib/fprint/socket\\nExecStart=\\nExecStart=/usr/libexec/fprintd --no-timeout\\n"
# One command to the virtual reader.
TOUCH = """perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("/var/lib/fprint/socket")) or die;
syswrite(S, shift); shutdown(S, 1); 1 while sysread(S, $_, 99)'""".replace("\n", " ")


@pytest.fixture(scope="module")
def guest(deb, finger_deb):
    guest = Guest(disk("trixie", deb, finger_deb, programs="fprintd perl-base"))
    guest.run(f"dpkg --install --force-confold /root/{deb.name} /root/{finger_deb.name}")
    guest.run("printf 'opslimit=1\\nmemlimit=8M\\n' > /etc/security/passcode.conf")
    guest.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    guest.run("mkdir -p /etc/systemd/system/fprintd.service.d")
    guest.run(f"printf '{READER}' > /etc/systemd/system/fprintd.service.d/reader.conf; systemctl daemon-reload")
    guest.run("systemctl start fprintd")
    enroll(guest)
    yield guest
    guest.cut()


def enroll(guest):
    guest.run("(fprintd-enroll -f right-index-finger alice > /root/said 2>&1; echo over >> /root/said) &")
    for _ in range(60):
        guest.run(f"{TOUCH} 'SCAN alice-finger'", None)
        if "over" in guest.run("cat /root/said", None):
            break
        time.sleep(0.5)
    assert "enroll-completed" in guest.run("cat /root/said", None)


@pytest.fixture(scope="module")
def alice(guest):
    """In a session of logind's, on the serial line."""
    guest.run(f"printf '{STACK}' > /etc/pam.d/sudo")
    guest.run("printf 'Defaults timestamp_timeout=0, !lecture\\nalice ALL=(ALL) ALL\\n' > /etc/sudoers")
    return guest.log_in("alice", ("Password: ", PASSWORD))


def denials(guest):
    return re.findall(r'apparmor="(?:DENIED|ALLOWED)".*passcode-finger.*', guest.run("journalctl -q -b --no-pager", None))


def test_the_socket_listens_after_the_installation(guest):
    assert guest.run("systemctl is-active passcode-finger.socket") == "active\n"
    assert guest.run("systemctl is-enabled passcode-finger.socket") == "enabled\n"
    assert guest.run("stat -c '%A %U %G' /run/passcode-finger.socket") == "srw------- root root\n"
    assert "passcode-finger (enforce)" in guest.run("cat /sys/kernel/security/apparmor/profiles")


def test_a_touch_lets_her_in_and_the_program_is_in_a_unit_of_its_own(guest, alice):
    """sudo on the serial line, whose session logind calls active and local."""
    line = alice.line
    line.send("sudo id -u\r")
    line.expect(FINGER)
    time.sleep(1)
    [program] = guest.run("pgrep -x passcode-finger").split()
    assert re.search(r"/passcode-finger@[^/]*\.service$", guest.run(f"cat /proc/{program}/cgroup").strip())
    guest.run(f"{TOUCH} 'SCAN alice-finger'")
    time.sleep(1)
    line.send("\r")
    line.expect(r"\b0\r")
    line.expect(">> ")
    assert "finger=match" in guest.run("journalctl -q -b --no-pager -t sudo | tail -n 3")
    assert denials(guest) == []
    assert guest.run("systemctl --failed --no-legend") == ""
    assert "passcode-finger@" not in guest.run("systemctl list-units --all --no-legend 'passcode-finger@*'")
