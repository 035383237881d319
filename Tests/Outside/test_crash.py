"""Whatever ends an attempt early: never a refund, never a trap, never a wrong passcode out of nothing.

Killed at every system call: test_every_call.py.
"""

import signal

import pytest

from bed import more_memory_than
from process import wait_for
from scenario import RIGHT, WRONG, unavailable_uncharged


def test_a_killed_attempt_is_not_refunded(bed):
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    for failures in (1, 2):
        running = bed.start("alice", RIGHT)
        wait_for(lambda: bed.record("alice") != before)
        running.kill(signal.SIGKILL)
        assert running.wait().killed_by == signal.SIGKILL
        before = bed.record("alice")
        assert bed.failures("alice") == failures
    bed.configure(memlimit="64K", opslimit="1")
    assert bed.status("alice")["state"] == "ok"


def test_too_little_memory_is_never_a_wrong_passcode(bed):
    bed.configure(memlimit="64M")
    bed.enroll("alice", RIGHT)
    for code in (RIGHT, WRONG[0]):
        unavailable_uncharged(bed, code=code, prepare=more_memory_than(48 << 20))
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("kibibytes", range(64, 1536, 64))
def test_hardly_any_memory_is_no_crash(alice, kibibytes):
    """Wherever it runs out: refused or let in, but never a trap and never a wrong passcode."""
    outcome = alice.authenticate("alice", RIGHT, prepare=more_memory_than(kibibytes << 10))
    assert outcome.killed_by == 0
    assert outcome.result in (
        "SUCCESS",
        "AUTHINFO_UNAVAIL",
        "MODULE_UNKNOWN",
        "SYSTEM_ERR",
        "BUF_ERR",
        "ABORT",
        "OPEN_ERR",
    )
    assert alice.failures("alice") == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_hash_waits_until_the_attempt_is_settled(bed, number):
    """A program's time limit, or the end of a session, doesn't leave a right passcode charged."""
    bed.configure(memlimit="64M", opslimit="48")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    running = bed.start("alice", RIGHT)
    wait_for(lambda: bed.record("alice") != before)
    charged = bed.record("alice")
    running.kill(number)
    assert running.wait().killed_by == number
    assert bed.record("alice") != charged, "the signal came before the attempt was settled, and ended it"
    assert bed.failures("alice") == 0
