"""Attempts at the same time: serial, counted each, and decided after the typing."""

import os
import signal
import time

from bed import wait_for
from scenario import RIGHT, WRONG, asked_once, fail


def test_the_lock_is_decided_after_the_typing(alice):
    """A prompt that was open when the lock came doesn't get past it."""

    def lock_meanwhile(_):
        fail(alice, 3)
        return RIGHT

    outcome = alice.authenticate("alice", lock_meanwhile)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome) and "left to unlock" in outcome.texts[0]
    assert alice.failures("alice") == 3


def test_parallel_right_passcodes_all_succeed(alice):
    running = [alice.start("alice", RIGHT) for _ in range(8)]
    assert [run.wait().result for run in running] == ["SUCCESS"] * 8
    assert alice.failures("alice") == 0


def together_after(reading, writing, bed, code):
    def answer(_):
        os.close(writing)
        os.read(reading, 1)
        wait_for(lambda: bed.failures("alice") == 3)
        return code

    return answer


def test_parallel_wrong_passcodes_get_three_attempts_and_no_more(alice):
    """Eight prompts open first, and are answered together; the last answer is right."""
    reading, writing = os.pipe()

    def together(code):
        def answer(_):
            os.close(writing)
            os.read(reading, 1)
            return code

        return answer

    running = [alice.start("alice", together(code)) for code in [*WRONG[:7]]]
    late = alice.start("alice", together_after(reading, writing, alice, RIGHT))
    time.sleep(0.3)
    os.close(writing)
    texts = sorted(run.wait().texts[0][:16] for run in running)
    assert texts == ["Passcode locked "] * 5 + ["Wrong passcode, "] * 2
    assert late.wait().result == "AUTH_ERR"
    assert alice.failures("alice") == 3
    os.close(reading)


def test_a_stopped_attempt_holds_nobody_up_for_ever(bed):
    """Nothing moves for ten seconds: another attempt is unavailable, and root's tool names the holder."""
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    holder = bed.start("alice", RIGHT)
    wait_for(lambda: bed.record("alice") != before)
    holder.kill(signal.SIGSTOP)
    start = time.monotonic()
    waiting = bed.start("alice", RIGHT)
    answer = bed.tool("unlock", "alice", check=7)
    outcome = waiting.wait()
    assert 9 <= time.monotonic() - start <= 20
    assert outcome.result == "AUTHINFO_UNAVAIL" and asked_once(outcome)
    assert str(holder.child) in answer.errors
    holder.kill(signal.SIGCONT)
    assert holder.wait().result == "SUCCESS"
    assert bed.failures("alice") == 0


def test_a_waiting_attempt_can_be_interrupted(bed):
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    holder = bed.start("alice", RIGHT)
    wait_for(lambda: bed.record("alice") != before)
    holder.kill(signal.SIGSTOP)
    waiting = bed.start("alice", RIGHT)
    time.sleep(0.5)
    waiting.kill(signal.SIGTERM)
    assert waiting.wait(5).killed_by == signal.SIGTERM
    holder.kill(signal.SIGCONT)
    assert holder.wait().result == "SUCCESS"
