"""Clocks that jump, reboots and suspends: a lock never gets shorter within a boot, nor longer than its full length.

Suspend and time ahead: a time namespace with another CLOCK_BOOTTIME. Reboot: another boot id, mounted over the
kernel's. The wall clock: libfaketime.
"""

import re
import subprocess

import pytest

import host
from clock import boot_id, by_wall_clock, later, rebooted
from scenario import RIGHT, WRONG, fail, unavailable_uncharged
from tally import attack

HOUR = 3600


@pytest.fixture
def locked(make_bed):
    """Alice, locked for an hour; the hour after the fourth failure is two hours long."""
    bed = make_bed(lockout=f"3:{HOUR}s,4:{2 * HOUR}s,5:reset")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    assert bed.status("alice")["state"] == "locked"
    return bed


def left(bed, **how):
    return bed.status("alice", **how)["seconds_left"]


def about(seconds):
    """What may be left when a few of them have passed in the test itself."""
    return range(seconds - 15, seconds + 1)


def verdicts(bed, *codes, **how):
    """What the module's log calls each: PAM's result doesn't tell wrong and locked apart."""
    before = len(bed.module_log())
    host.results(bed, *codes, **how)
    return [re.search(r"passcode (\w+)", line.message)[1] for line in bed.module_log()[before:]]


WALL = ["1970-01-01 00:00:01", "1999-12-31 23:59:59", "2038-01-19 03:14:08", "2106-02-07 06:28:17"]


@pytest.mark.parametrize("moment", WALL)
def test_the_wall_clock_shortens_and_lengthens_nothing(locked, moment):
    clock = by_wall_clock(moment)
    before = locked.record("alice")
    with attack("clock: the wall clock jumps") as row:
        row.run()
        assert subprocess.run(["date", "+%Y"], env=clock | {"PATH": "/usr/bin"}, capture_output=True).stdout[
            :4
        ].decode() in (moment[:4], "1970")
        assert left(locked, setting=clock) in about(HOUR)
        row.breach("beyond", moment, verdicts(locked, RIGHT, env=clock) != ["locked"])
        assert locked.record("alice") == before
        assert left(locked) in about(HOUR)
        # A failure and an enrolment made by that clock count like any other.
        locked.tool("unlock", "alice", check=0, setting=clock)
        assert verdicts(locked, *WRONG[:3], RIGHT, env=clock) == ["wrong"] * 3 + ["locked"]
        row.breach("refund", moment, locked.failures("alice") < 3)
        assert left(locked) in about(HOUR)
        row.breach("refused", moment, verdicts(locked, RIGHT, before=later(HOUR), env=clock) != ["granted"])


@pytest.mark.parametrize("seconds", [0, 1, HOUR // 2, HOUR - 20])
def test_time_in_suspend_counts_and_only_time_that_passed(locked, seconds):
    with attack("clock: suspended for less than the delay") as row:
        row.run()
        assert left(locked, before=later(seconds)) in about(HOUR - seconds)
        row.breach("beyond", seconds, verdicts(locked, RIGHT, before=later(seconds)) != ["locked"])
        assert left(locked) in about(HOUR)


def test_a_lock_only_ever_gets_shorter_by_the_time_that_passes(locked):
    """Looked at in any order of moments, also from ones that lie ahead."""
    with attack("clock: looked at from many moments") as row:
        for seconds in [3000, 10, 2000, 0, 3500, 1, 3000]:
            row.run()
            assert left(locked, before=later(seconds)) in about(HOUR - seconds)
        assert left(locked) in about(HOUR)


def test_a_delay_over_opens_once_and_the_next_is_longer(locked):
    with attack("clock: suspended for longer than the delay") as row:
        row.run()
        once = later(HOUR + 1)
        row.breach("refused", "", verdicts(locked, WRONG[3], RIGHT, before=once) != ["wrong", "locked"])
        status = locked.status("alice", before=once)
        assert status["failures"] == 4 and status["seconds_left"] in about(2 * HOUR)


def test_a_failure_that_lies_ahead_starts_over_here_and_now_once(locked):
    """Charged two hours ahead; back in the present the whole delay starts, and never more than that."""
    locked.tool("unlock", "alice", check=0)
    with attack("clock: time that lies ahead") as row:
        row.run()
        ahead = later(2 * HOUR)
        assert verdicts(locked, *WRONG[:3], before=ahead) == ["wrong"] * 3
        assert left(locked) in about(HOUR)
        row.breach("beyond", "", verdicts(locked, RIGHT) != ["locked"])
        assert left(locked, before=later(HOUR // 2)) in about(HOUR // 2), "started over twice"
        row.breach("refused", "", verdicts(locked, RIGHT, before=later(HOUR)) != ["granted"])


@pytest.mark.parametrize("first_to_look", ["status", "attempt"])
def test_an_unserved_delay_starts_over_after_a_reboot_in_full_and_once(locked, first_to_look):
    with attack("clock: rebooted within the delay") as row, rebooted(locked):
        row.run()
        moment = later(HOUR - 20)  # a boot that has run for longer than the one before
        if first_to_look == "status":
            assert left(locked, before=moment) == HOUR
        row.breach("beyond", "", verdicts(locked, RIGHT, before=moment) != ["locked"])
        assert left(locked, before=moment) in about(HOUR)
        halfway = later(HOUR - 20 + HOUR // 2)
        assert left(locked, before=halfway) in about(HOUR // 2), "started over twice"
        over = later(2 * HOUR)
        row.breach("refused", "", verdicts(locked, RIGHT, before=over) != ["granted"])
        assert locked.failures("alice") == 0


def test_each_reboot_within_the_delay_starts_it_over(locked):
    with attack("clock: rebooted again and again") as row:
        for _ in range(5):
            with rebooted(locked):
                row.run()
                assert left(locked) == HOUR
                row.breach("beyond", "", verdicts(locked, RIGHT) != ["locked"])
                assert left(locked) in about(HOUR)


@pytest.mark.parametrize("looked_by", ["status", "attempt"])
def test_a_served_delay_stays_served_after_a_reboot(locked, looked_by):
    if looked_by == "status":
        assert locked.status("alice", before=later(HOUR))["state"] == "ok"
    else:  # a prompt that nobody answers
        assert host.results(locked, "", before=later(HOUR)) == ["AUTH_ERR"]
    with attack("clock: rebooted after the delay was served") as row, rebooted(locked):
        row.run()
        assert locked.status("alice")["state"] == "ok" and locked.failures("alice") == 3
        row.breach("refused", "", verdicts(locked, RIGHT) != ["granted"])


def test_a_served_delay_that_nobody_saw_over_starts_over(locked):
    """Over, but nobody looked: the next boot can't know."""
    with attack("clock: rebooted, nobody had looked") as row, rebooted(locked):
        row.run()
        row.breach("beyond", "", verdicts(locked, RIGHT, before=later(2 * HOUR)) != ["locked"])


def test_exhausted_is_for_ever(make_bed):
    bed = make_bed(lockout="3:reset")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    with attack("clock: exhausted") as row, rebooted(bed):
        for seconds in (0, HOUR, 10**8):
            row.run()
            row.breach("beyond", seconds, verdicts(bed, RIGHT, before=later(seconds)) != ["exhausted"])
            assert bed.status("alice", before=later(seconds))["state"] == "exhausted"


@pytest.mark.parametrize("content", ["", "\n", "no boot id at all, but as long as it", "0" * 36])
def test_no_readable_boot_id_is_unavailable(locked, content):
    locked.tool("unlock", "alice", check=0)
    with boot_id(locked, content):
        unavailable_uncharged(locked)
        unavailable_uncharged(locked, code=WRONG[0])
    assert any("boot_id" in line.message for line in locked.log())
    assert verdicts(locked, RIGHT) == ["granted"]
