"""Somebody who guesses and waits: the owner hears of it at the next login."""

import re

import pytest

from bed import SERVICE, become
from helper import VERIFY, ask
from scenario import RIGHT, fail

HOSTS = pytest.mark.parametrize("how", [{}, {"prepare": become("alice")}], ids=["root", "helper"])


def served(bed):
    """The delay is over."""
    bed.rewrite("alice", lambda body: body.replace(b"served=no", b"served=yes"))


@HOSTS
@pytest.mark.parametrize("failures, told", [(0, False), (2, False), (3, True), (5, True), (9, True)])
def test_from_three_failures_on_a_success_tells(machine, how, failures, told):
    machine.configure(lockout="99:1s")
    machine.enroll("alice", RIGHT)
    fail(machine, failures)
    outcome = machine.authenticate("alice", RIGHT, **how)
    assert outcome.result == "SUCCESS"
    if told:
        [text] = outcome.texts
        pattern = rf"{failures} wrong passcodes since your last login, the last at \d\d:\d\d \({SERVICE}\)\."
        assert re.fullmatch(pattern, text) and len(text) < 90
    else:
        assert outcome.texts == []
    granted = [line.message for line in machine.log() if "pam_passcode(" in line.message and "passcode granted" in line.message]
    if failures:
        assert f"failures={failures}" in granted[0] and f"last_service={SERVICE}" in granted[0]
        assert re.search(r"last_failure=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", granted[0])
    # Once.
    assert machine.authenticate("alice", RIGHT, **how).texts == []


def test_a_lock_that_is_over_is_told_too_and_quiet_silences_the_notice_only(machine):
    machine.enroll("alice", RIGHT)
    fail(machine, 3)
    served(machine)
    machine.service("quiet")
    outcome = machine.authenticate("alice", RIGHT)
    assert outcome.result == "SUCCESS" and outcome.texts == []
    assert any("passcode granted" in line.message and "failures=3" in line.message for line in machine.log())


def test_the_tool_tells_its_owner_too(machine):
    machine.configure(lockout="99:1s")
    machine.enroll("alice", RIGHT)
    for user in ("alice", None):
        fail(machine, 4)
        answer = machine.tool("verify", "--stdin", "alice", stdin=RIGHT + "\n", user=user, check=0)
        assert "4 wrong passcodes since your last login" in answer.errors


def test_status_says_when_and_where_the_last_wrong_one_was_typed(machine):
    machine.enroll("alice", RIGHT)
    assert machine.status("alice")["last_failure"] is None
    fail(machine, 1)
    machine.authenticate("alice", RIGHT)
    for user in ("alice", None):
        said = machine.tool("status", "alice", user=user, check=0).output
        assert re.search(rf"last wrong passcode: \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \w+, by {SERVICE}\n", said), said
    status = machine.status("alice")
    assert status["failures"] == 0 and status["last_failure_service"] == SERVICE
    assert status["last_failure"] is not None


def test_a_service_that_the_helper_is_told_is_a_plain_name_or_no_request(machine):
    machine.enroll("alice", RIGHT)
    for service, is_taken in (("i3lock", True), ("a b", False), ("a\n", False), ("x" * 32, True), ("x" * 33, False)):
        answer = ask(VERIFY, "alice", user="alice", passcode=RIGHT, service=service)
        assert (answer is not None and answer.kind == 1) == is_taken, service


def test_a_module_from_before_gets_the_reply_that_it_knows(machine):
    """It was loaded before an upgrade, by a locker that goes on running: its request names no service."""
    machine.configure(lockout="99:1s")
    machine.enroll("alice", RIGHT)
    fail(machine, 4)
    answer = ask(VERIFY, "alice", user="alice", passcode=RIGHT)
    assert (answer.kind, answer.numbers, answer.text) == (1, (0,) * 5, b"")
