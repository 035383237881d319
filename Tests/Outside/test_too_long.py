"""What is too long is told, or left to somebody else: no line is ever cut, and half of one is no password."""

import pytest

import machine as machines
from helper import DONE_IT, UNLOCK, WRONG_PASSWORD, ask
from machine import ALICE
from scenario import PASSWORD, RIGHT, fail
from terminal import Terminal
from tool import DONE, POLICY, WRONG_CODE, alone, one_line

LONGEST = 512
# As long as crypt(3) takes one: the C string and its NUL are 512 bytes.
LONG_PASSWORD = "correct horse " + "x" * 497
TOO_LONG = [LONGEST + 1, 2 * LONGEST, 10_000]
UNIX = "auth sufficient {module}\nauth required pam_unix.so try_first_pass"
# Where another module asked before; pam_exec keeps no more than its own limit.
HANDED = "auth required pam_exec.so quiet expose_authtok /bin/true\nauth required {module}"


def lines(length, start=LONG_PASSWORD):
    """A long password goes on: cut somewhere, it would be right."""
    return start + "x" * (length - len(start))


@pytest.fixture
def own(with_passwords):
    """Alice has three failures, and a long password that unlocks them."""
    with_passwords.enroll("alice", RIGHT)
    fail(with_passwords, 3)
    machines.set_password("alice", LONG_PASSWORD)
    return with_passwords


# MARK: The module


@pytest.fixture(params=["directly", "by the helper"])
def unix(request, with_passwords):
    """A login that takes either, by the store and by the helper."""
    bed = with_passwords
    bed.enroll("alice", RIGHT)
    machines.set_password("alice", LONG_PASSWORD)
    bed.service("either", stack=UNIX)
    bed.who = ALICE if request.param == "by the helper" else {}
    return bed


def test_a_long_password_reaches_the_next_module_whole(unix):
    outcome = unix.authenticate("alice", LONG_PASSWORD, **unix.who)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 1)


def test_so_does_the_longest(unix):
    """It is wrong, by one byte: the next module found it, and did not ask."""
    outcome = unix.authenticate("alice", lines(LONGEST), **unix.who)
    assert (outcome.result, len(outcome.prompts)) == ("AUTH_ERR", 1)
    assert unix.failures("alice") == 0


@pytest.mark.parametrize("length", TOO_LONG)
def test_of_a_longer_one_it_gets_nothing_and_asks(unix, length):
    before = unix.record("alice")
    outcome = unix.authenticate("alice", lines(length), LONG_PASSWORD, **unix.who)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2)
    outcome = unix.authenticate("alice", lines(length), PASSWORD, **unix.who)
    assert (outcome.result, len(outcome.prompts)) == ("AUTH_ERR", 2)
    assert unix.record("alice") == before


@pytest.mark.parametrize("length", [LONGEST, *TOO_LONG])
@pytest.mark.parametrize("start", [RIGHT, LONG_PASSWORD], ids=["passcode", "password"])
def test_it_is_no_passcode_and_no_attempt(alice, start, length):
    before = alice.record("alice")
    assert alice.authenticate("alice", lines(length, start)).result == "AUTH_ERR"
    assert alice.record("alice") == before


@pytest.mark.parametrize("length", [LONGEST, *TOO_LONG])
def test_what_another_module_asked_for_is_none_either(alice, length):
    alice.service("use_first_pass", stack=HANDED)
    outcome = alice.authenticate("alice", lines(length, RIGHT))
    assert (outcome.result, len(outcome.prompts)) == ("AUTH_ERR", 1)
    alice.service("try_first_pass", stack=HANDED)
    outcome = alice.authenticate("alice", lines(length, RIGHT), RIGHT)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2)
    assert alice.failures("alice") == 0


# MARK: The tool


def test_the_tool_takes_a_long_password_whole(own):
    alone(own, "unlock", LONG_PASSWORD, check=DONE)


def test_the_tool_hands_on_the_longest(own):
    answer = alone(own, "unlock", lines(LONGEST), check=WRONG_CODE)
    assert "wrong password; nothing was changed" in answer.errors


@pytest.mark.parametrize("command", ["enroll", "unlock", "remove"])
@pytest.mark.parametrize("length", TOO_LONG)
def test_the_tool_tells_that_a_password_is_too_long(own, command, length):
    before = own.record("alice")
    answer = alone(own, command, lines(length), check=POLICY)
    assert one_line(answer.errors) and "the password is too long; nothing was changed" in answer.errors
    assert own.record("alice") == before


@pytest.mark.parametrize("length", [LONGEST, *TOO_LONG])
def test_the_tool_cuts_no_passcode(alice, length):
    before = alice.record("alice")
    for command in ("verify", "change", "enroll"):
        typed = lines(length, RIGHT) + "\n"
        assert alice.tool(command, "--stdin", "alice", stdin=typed).status == POLICY, command
    assert alice.record("alice") == before


@pytest.mark.parametrize("length", [LONGEST, *TOO_LONG[:2]])
def test_a_terminal_cuts_none_either(keyed, length):
    """Of more than 4,095 bytes a terminal itself drops the rest. A passcode that is repeated too long is no repetition."""
    terminal = Terminal(keyed, "enroll", "alice")
    for typed in (lines(length, RIGHT), RIGHT, lines(length, RIGHT), RIGHT, RIGHT):
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", RIGHT).result == "SUCCESS"


# MARK: The helper


def test_the_helper_takes_a_long_password_whole(own):
    assert ask(UNLOCK, "alice", user="alice", password=LONG_PASSWORD).kind == DONE_IT


def test_the_helper_proves_the_longest(own):
    assert ask(UNLOCK, "alice", user="alice", password=lines(LONGEST)).kind == WRONG_PASSWORD


@pytest.mark.parametrize("length", TOO_LONG)
def test_the_helper_answers_no_request_with_a_longer_one(own, length):
    before = own.record("alice")
    assert ask(UNLOCK, "alice", user="alice", password=lines(length)) is None
    assert own.record("alice") == before
