"""Finger or passcode on a machine of its own: systemd as the first process starts the reader's program, in its own
cgroup; Debian's fprintd with libfprint's virtual reader; logind's session; real sudo. The module waits for the reader
300 ms at most, so this is a container: an emulated processor is too slow for that."""

import json
import re
import time

import pytest

from container import Container
from debian_machine import PASSWORD, RIGHT

pytestmark = pytest.mark.on_request

OFFERED = "Passcode, password or fingerprint: "
ALONE = "Passcode or password: "
NEXT = "[sudo] password for alice: "  # sudo's, in place of pam_unix's
START = "systemctl enable --now passcode-finger.socket"
LINES = "auth [success=done auth_err=die conv_err=die default=ignore] pam_passcode.so either finger=yes"
FILES = {
    "etc/systemd/system/fprintd.service.d/virtual.conf": (
        "[Service]\nExecStart=\nExecStart=/usr/libexec/fprintd --no-timeout\n"
        "Environment=FP_VIRTUAL_DEVICE=/run/reader/socket\nRuntimeDirectory=reader\n"
    ),
    "usr/local/sbin/touch-reader": "#!/bin/sh\nprintf %s \"SCAN $1\" | socat -t2 - UNIX-CONNECT:/run/reader/socket\n",
    # login's sessions are on the seat, as on a console: sessions without one have no finger.
    "etc/seat": "XDG_SEAT=seat0\n",
    # The reader forgets a touch that comes before it waits.
    "usr/local/sbin/enroll-finger": (
        "#!/bin/sh\nfprintd-enroll -f right-index-finger $1 >/tmp/enrolled 2>&1 &\n"
        "for second in $(seq 30); do sleep 0.5; touch-reader $1-finger\n"
        "grep -q enroll-completed /tmp/enrolled && exit 0; done; cat /tmp/enrolled; exit 1\n"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def guest(release, deb, finger_deb):
    """Both packages installed there as an administrator does, alice enrolled with a finger, sudo with finger=yes."""
    made = Container(release, deb, finger_deb, programs=" fprintd", files=FILES)
    made.run("printf 'opslimit=1\\nmemlimit=8M\\n' > /etc/security/passcode.conf")
    made.run(f"dpkg --install --force-confold /root/{deb.name} /root/{finger_deb.name}")
    made.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    made.run("enroll-finger alice")
    made.run("sed -i '1i session required pam_env.so envfile=/etc/seat' /etc/pam.d/login")
    made.run(f"sed -i 's/^@include common-auth/{LINES}\\nauth required pam_unix.so try_first_pass/' /etc/pam.d/sudo")
    made.run("grep -q finger=yes /etc/pam.d/sudo")
    yield made
    made.remove()


@pytest.fixture(scope="module")
def alice(guest):
    """Her shell on a terminal: a session of logind's, at this machine."""
    return guest.log_in("alice", ("Password: ", PASSWORD))


@pytest.fixture(autouse=True)
def free(guest):
    """Each test begins with no prompt, and no touch charged."""
    guest.run("rm -f /run/passcode/*.finger")
    gone(guest)


def programs(guest):
    return guest.run("pgrep -x passcode-finger", None).split()


def gone(guest, seconds=10):
    """Every process of the program has ended."""
    end = time.monotonic() + seconds
    while programs(guest):
        assert time.monotonic() < end, guest.run("systemctl list-units 'passcode-finger@*'; journalctl -n 20 --no-pager")
    assert guest.run("systemctl list-units --no-legend 'passcode-finger@*'") == ""


def begin(alice, prompt=OFFERED):
    """A sudo, up to its prompt."""
    alice.line.send('sudo id -u; echo "<$?"">"\r')
    alice.line.expect(re.escape(prompt))
    time.sleep(0.3)  # sudo turns off the echo, and the reader waits


def ended(alice, *dialogue):
    """What it said after these answers, and its exit status."""
    text = ""
    for answer, prompt in dialogue:
        alice.line.send(f"{answer}\r")
        if prompt:
            alice.line.expect(re.escape(prompt))
            text += alice.line.before
            time.sleep(0.3)
    alice.line.expect(r"<(\d+)>")
    result = text + alice.line.before, int(alice.line.match[1])
    alice.line.expect(">> ")
    return result


def logged(guest):
    """What the module said about the reader since the last call."""
    lines = guest.run("journalctl -q --no-pager -o cat --cursor-file=/root/cursor | grep finger=", None)
    return [line.partition("): ")[2] for line in lines.splitlines()]


def test_installed_and_active_and_told(guest):
    assert guest.run("systemctl is-active passcode-finger.socket") == "active\n"
    assert guest.run("systemctl is-enabled passcode-finger.socket") == "enabled\n"
    assert "Fingerprint: right index finger, offered in sudo\n" in guest.run("passcode status alice")
    assert guest.run("passcode check --quiet") == ""
    assert guest.run("systemctl --failed --no-legend") == ""


def test_a_match_and_enter_opens(guest, alice):
    logged(guest)
    begin(alice)
    guest.run("touch-reader alice-finger")
    gone(guest)
    text, status = ended(alice, ("", None))
    assert status == 0 and text.split()[-1] == "0", text
    [line] = logged(guest)
    assert line.startswith("finger granted") and "finger=match" in line


def test_a_wrong_touch_opens_nothing(guest, alice):
    logged(guest)
    begin(alice)
    guest.run("touch-reader other-finger")
    time.sleep(0.5)
    text, status = ended(alice, ("", NEXT), (PASSWORD, None))
    assert status == 0, text  # sudo asks PAM to be silent
    [line] = logged(guest)
    assert line.startswith("finger refused") and "finger=no-match" in line


def test_enter_without_a_touch_opens_nothing(guest, alice):
    logged(guest)
    begin(alice)
    text, status = ended(alice, ("", NEXT), ("wrong", OFFERED), (RIGHT, None))
    assert "Sorry, try again." in text and status == 0
    first, second = logged(guest)
    assert first.startswith("finger refused") and "finger=no-touch" in first
    assert second.startswith("passcode granted") and "finger=no-touch" in second


def test_the_passcode_works_while_the_reader_waits(guest, alice):
    logged(guest)
    begin(alice)
    assert len(programs(guest)) == 1
    text, status = ended(alice, (RIGHT, None))
    assert status == 0 and text.split()[-1] == "0"
    gone(guest)
    [line] = logged(guest)
    assert "finger=no-touch" in line
    test_a_match_and_enter_opens(guest, alice)


def test_a_caller_that_is_killed_frees_the_reader(guest, alice):
    begin(alice)
    [program] = programs(guest)
    spent = guest.run(
        f"begin=$(date +%s%N); pkill -9 -x sudo; while [ -e /proc/{program} ]; do sleep 0.002; done;"
        " echo $(( ($(date +%s%N) - begin) / 1000000 ))"
    )
    alice.line.expect(r"<(\d+)>")
    alice.line.expect(">> ")
    print(f"reader free {int(spent)} ms after kill -9")
    assert int(spent) < 500
    test_a_match_and_enter_opens(guest, alice)


def test_the_program_is_in_a_unit_of_its_own(guest, alice):
    """Neither in her cgroup, nor with anything that she chose."""
    begin(alice)
    [program] = programs(guest)
    place = guest.run(f"cat /proc/{program}/cgroup")
    assert "/system.slice/" in place and "passcode-finger@" in place and "user" not in place
    assert guest.run(f"stat -c %U /proc/{program}") == "root\n"
    ended(alice, (RIGHT, None))


def test_two_at_once(guest, alice):
    """One has the reader, both take passcodes."""
    begin(alice)
    other = "su alice -c 'sudo -S id -u' < /root/code"
    guest.run(f"echo {RIGHT} > /root/code")
    assert guest.run(other, None).split()[-1] == "0"
    guest.run("touch-reader alice-finger")
    gone(guest)
    text, status = ended(alice, ("", None))
    assert status == 0 and text.split()[-1] == "0"


def test_while_the_socket_is_not_active_the_passcode_is_asked_alone(guest, alice):
    """And `status` and `check` say so, with the command that starts it."""
    guest.run("systemctl disable --now passcode-finger.socket")
    begin(alice, ALONE)
    assert ended(alice, (RIGHT, None))[1] == 0
    told = guest.run("passcode status alice").replace("\n  ", " ")
    assert f"Fingerprint: right index finger, not offered: {START}\n" in told
    rows = [json.loads(line) for line in guest.run("passcode check --json").splitlines()]
    [row] = [row for row in rows if row["level"] in ("warning", "error")]
    assert (row["check"], row["command"]) == ("finger", START)
    guest.run(row["command"])
    assert guest.run("passcode check --quiet") == ""
    test_a_match_and_enter_opens(guest, alice)


def test_after_a_boot_it_is_there_again(guest):
    """Last: the machine starts again. The socket listens before anybody logs in."""
    guest.run("sync")
    guest.cut()
    guest.start()
    assert guest.run("systemctl is-active passcode-finger.socket") == "active\n"
    alice = guest.log_in("alice", ("Password: ", PASSWORD))
    # fprintd isn't running yet: the bus starts it, and the prompt doesn't wait.
    begin(alice)
    end = time.monotonic() + 20
    while programs(guest):
        assert time.monotonic() < end
        guest.run("touch-reader alice-finger", None)
    text, status = ended(alice, ("", None))
    assert status == 0 and text.split()[-1] == "0"
