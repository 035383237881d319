"""What reaches the log, and what never does."""

import re
import shutil
import time

import pytest

import pam
from bed import SERVICE, uid
from helper import VERIFY, WRONG_ONE, converse, request
from scenario import RIGHT, WRONG, replace_line

AUTHPRIV = 10
FORGED = [
    "x\nNov 21 00:00:00 sshd: granted user=root", "x user=root", 'x" user="root', "x\\ user=root", "x\x1b[2Kuser=root",
    "x\ruser=root", "\udcff\udcfe user=root", "ü=é", "x" * 500,
]  # fmt: skip
KEYS = "user service ruid tty rhost ruser".split()


def test_each_verdict_is_logged(make_bed):
    bed = make_bed(lockout="3:1m")
    bed.enroll("alice", RIGHT)
    items = {"TTY": "tty7"}
    for code in (RIGHT, *WRONG[:3], RIGHT):
        bed.authenticate("alice", code, items=items)
    lines = [line for line in bed.module_log() if "user=alice" in line.message]
    assert [line.facility for line in lines] == [AUTHPRIV] * 5
    for line, word in zip(lines, ["granted", "wrong", "wrong", "wrong", "locked"], strict=True):
        assert word in line.message and "tty=tty7" in line.message
    assert [
        f"failures={count}" in line.message for line, count in zip(lines[1:], (1, 2, 3, 3), strict=True)
    ] == [True] * 4
    assert "seconds_left=60" in lines[3].message
    assert re.fullmatch(r".*: passcode granted user=alice service=\S+ ruid=0 tty=tty7", lines[0].message), "nothing failed before"


@pytest.mark.parametrize("seconds, told", [(0, ""), (1, "last_failure=1970-01-01T00:00:01Z ")])
def test_a_time_that_is_not_known_is_not_logged(alice, seconds, told):
    alice.authenticate("alice", WRONG[0])
    alice.rewrite("alice", lambda body: replace_line(body, b"failure_time", b"failure_time=%d\n" % seconds))
    alice.authenticate("alice", RIGHT)
    [line] = [line.message for line in alice.module_log() if "granted" in line.message]
    assert f" failures=1 {told}last_service=" in line


@pytest.mark.parametrize("item", ["RHOST", "TTY", "RUSER"])
@pytest.mark.parametrize("forged", FORGED, ids=repr)
def test_a_value_stays_one_value(alice, item, forged):
    alice.authenticate("alice", RIGHT, items={item: forged})
    [line] = alice.module_log()
    assert line.message.isascii() and line.message.isprintable()
    # The words of ours, then pairs: whatever has a "=" in it is one of ours.
    pairs = re.findall(r'(\w+)=("[^"]*"|\S+)', line.message)
    assert [name for name, _ in pairs] == [name for name, _ in pairs if name in KEYS]
    assert len({name for name, _ in pairs}) == len(pairs) and dict(pairs)["user"] == "alice"


@pytest.mark.parametrize("forged", [*FORGED, "alice=root"], ids=repr)
def test_a_user_name_stays_one_value(alice, forged):
    """Logged before anybody looks whether there is such an account: remote callers are refused first."""
    alice.authenticate(forged, RIGHT, items={"RHOST": "192.0.2.1"})
    [line] = alice.module_log()
    assert line.message.isascii() and line.message.isprintable()
    assert len(re.findall(r"\buser=", line.message)) == 1 and " rhost=192.0.2.1" in line.message


@pytest.mark.parametrize("service", ["a user=root", "a=b", "a\nb sshd: granted", 'a"b', "a\\x0ab", "s" * 200], ids=lambda name: name[:15])
def test_a_service_name_stays_one_value(alice, service):
    shutil.copy(alice.services / SERVICE, alice.services / service)
    pam.start(service, "alice", alice.services, [RIGHT]).wait()
    [line] = [line for line in alice.log() if ":auth): " in line.message]
    # What libpam puts in front is libpam's.
    ours = line.message.split(":auth): ", 1)[1]
    assert ours.isascii() and ours.isprintable()
    assert len(re.findall(r"\buser=", ours)) == 1 and service not in ours


def test_debug_logs_more_and_no_secret(alice):
    """Also that somebody has no passcode, which is no news otherwise."""

    def lines(user, typed):
        before = len(alice.module_log())
        alice.authenticate(user, typed)
        return [line.message.split(":auth): ")[1].split(" user=")[0] for line in alice.module_log()[before:]]

    assert lines("bob", RIGHT) == []
    alice.configure("debug")
    assert lines("bob", RIGHT) == ["passcode not enrolled"]
    for typed in (RIGHT, WRONG[0], "hunter22", ""):
        lines("alice", typed)
    alice.assert_nothing_typed_was_logged()


@pytest.mark.parametrize("zone", ["FAR-11:30", ":Pacific/Kiritimati", "/usr/share/zoneinfo/Pacific/Kiritimati"])
def test_the_helpers_lines_have_the_machines_time_whatever_zone_its_caller_names(machine, zone):
    machine.enroll("alice", RIGHT)
    data = request(VERIFY, uid("alice"), passcode=WRONG[0])
    before = time.time()
    assert converse(data, user="alice", env={"TZ": zone}).kind == WRONG_ONE
    possible = [time.strftime("%b %e %T", time.localtime(before + after)) for after in range(60)]
    [line] = [line for line in machine.log() if line.message.startswith("passcode wrong user=alice")]
    assert line.time in possible
