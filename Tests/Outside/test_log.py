"""What reaches the log, and what never does."""

from scenario import RIGHT, WRONG

AUTHPRIV = 10


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


def test_no_outside_value_can_forge_a_log_line(alice):
    forged = "x\nNov 21 00:00:00 sshd: granted user=root"
    for items in ({"RHOST": forged}, {"TTY": forged}, {"RUSER": forged}):
        alice.authenticate("alice", RIGHT, items=items)
    alice.authenticate(forged, RIGHT)
    lines = alice.log()
    assert len(lines) >= 3
    assert all("\n" not in line.message and " user=root" not in line.message for line in lines)


def test_debug_logs_more_and_no_secret(alice):
    alice.configure("debug")
    for typed in (RIGHT, WRONG[0], "hunter22", ""):
        alice.authenticate("alice", typed)
    alice.assert_nothing_typed_was_logged()
