"""The lockout schedule as a person meets it: messages, waiting, exhaustion, unlocking."""

import time

from scenario import LOCKED_OUT, RIGHT, WRONG, asked_once, fail, refused_unasked, replace_line


def test_three_wrong_lock(alice):
    outcomes = fail(alice, 3)
    assert [outcome.texts for outcome in outcomes] == [
        ["Wrong passcode, 2 attempts left."],
        ["Wrong passcode, 1 attempt left."],
        ["Passcode locked (1 minute left to unlock)."],
    ]
    assert all(outcome.result == "AUTH_ERR" and asked_once(outcome) for outcome in outcomes)


def test_the_right_passcode_is_refused_while_locked(bed):
    bed.configure(memlimit="64M", opslimit="3")
    bed.enroll("alice", RIGHT)
    right = bed.authenticate("alice", RIGHT)
    fail(bed, 3)
    before = bed.record("alice")
    outcome = bed.authenticate("alice", RIGHT)
    assert outcome.result == "AUTH_ERR" and outcome.prompts == []
    assert outcome.texts in locked(60)
    assert bed.record("alice") == before, "a locked answer writes nothing"
    assert outcome.processor_seconds < right.processor_seconds / 10, "a locked answer hashes nothing"


def locked(seconds):
    """What may be said within ten seconds of the beginning of a delay."""
    words = {60: "1 minute", 1: "1 second"}
    return [[f"Passcode locked ({words.get(left, f'{left} seconds')} left to unlock)."] for left in range(max(1, seconds - 10), seconds + 1)]


def wait_until_it_is_over(bed):
    while left := bed.status("alice")["seconds_left"]:
        time.sleep(left)


def test_a_delay_over_lets_in(make_bed):
    bed = make_bed(lockout="3:3s,4:reset")
    bed.enroll("alice", RIGHT)
    assert fail(bed, 3)[-1].texts in locked(3)
    wait_until_it_is_over(bed)
    outcome = bed.authenticate("alice", RIGHT)
    assert outcome.result == "SUCCESS" and asked_once(outcome) and bed.failures("alice") == 0


def test_delays_rise_until_it_is_exhausted(make_bed):
    bed = make_bed(lockout="3:1s,4:5s,5:reset")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    wait_until_it_is_over(bed)
    started = time.monotonic()
    assert fail(bed, 1)[0].texts in locked(5)
    outcome = bed.authenticate("alice", RIGHT)
    assert refused_unasked(outcome, "AUTH_ERR", *outcome.texts) and outcome.texts in locked(5)
    wait_until_it_is_over(bed)
    assert time.monotonic() - started >= 5
    assert fail(bed, 1)[0].texts == [LOCKED_OUT]
    time.sleep(1)
    assert refused_unasked(bed.authenticate("alice", RIGHT), "AUTH_ERR", LOCKED_OUT)
    assert bed.status("alice")["state"] == "exhausted"
    bed.tool("unlock", "alice", check=0)
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


def test_unlock_ends_a_lock(alice):
    fail(alice, 3)
    alice.tool("unlock", "alice", check=0)
    assert alice.authenticate("alice", WRONG[5]).texts == ["Wrong passcode, 2 attempts left."]


def test_a_record_of_another_boot_starts_its_delay_over_once(make_bed):
    bed = make_bed(lockout="3:2s")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    time.sleep(2.1)  # over, but nobody looked: unserved
    other_boot = b"failed_boot=" + b"5" * 32 + b"\n"
    bed.rewrite("alice", lambda body: replace_line(body, b"failed_boot", other_boot))
    outcome = bed.authenticate("alice", RIGHT)
    assert refused_unasked(outcome, "AUTH_ERR", *outcome.texts) and outcome.texts in locked(2)
    time.sleep(2.1)
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"
