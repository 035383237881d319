"""The example stacks in pam.d/, loaded as they are, with the real pam_unix and its passwords."""

import pathlib
import shutil
import subprocess

import pytest

import pam
from bed import MEMORY, MODULE, become
from scenario import BLOCKED, EXAMPLES, PASSWORD, RIGHT, WRONG, fail

CONFIGURATION = pathlib.Path("/etc/security/passcode.conf")
CODE, WORD, EITHER = "Passcode: ", "Password: ", "Passcode or password: "
WRONG_PASSWORD, DIGITS = "battery staple", "918273"
WITH_FALLBACK = ["lock-screen", "login", "sudo"]
LOCKED = "Passcode locked (1 minute left to unlock)."
DISABLED = "Passcode disabled by the administrator."


@pytest.fixture(scope="module", autouse=True)
def installed():
    """The module among libpam's own, and a password for everybody; in this mount namespace."""
    [unix] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_unix.so")
    copy = pathlib.Path("/run/security")
    shutil.copytree(unix.parent, copy, symlinks=True)
    shutil.copy2(MODULE, copy)
    subprocess.run(["mount", "--bind", copy, unix.parent], check=True)
    for name, word in (("alice", PASSWORD), ("bob", PASSWORD), ("carol", DIGITS)):
        set_password(name, hashed(word))
    yield
    for name in ("alice", "bob", "carol"):
        set_password(name, "!")
    subprocess.run(["umount", "--lazy", unix.parent], check=True)
    shutil.rmtree(copy)


def hashed(word):
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=word, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def set_password(name, text):
    subprocess.run(["usermod", "--password", text, name], check=True)


@pytest.fixture
def house(make_bed):
    """A machine with the example stacks, configured at the usual place; alice has the passcode 0471."""
    bed = make_bed()
    bed.configuration.unlink()
    bed.configuration = CONFIGURATION
    # pam.d/second-factor wants it; to the other stacks it makes no difference, since root enrols here.
    bed.configure(second_factor="yes")
    bed.service()
    for file in [*EXAMPLES.iterdir(), *pathlib.Path("/etc/pam.d").glob("common-*")]:
        shutil.copy2(file, bed.services)
    bed.enroll("alice", RIGHT)
    yield bed
    CONFIGURATION.unlink()
    shutil.rmtree(MEMORY, ignore_errors=True)


def log_in(bed, stack, *answers, user="alice", calls=("authenticate", "acct_mgmt", "setcred"), **how):
    bed.typed |= {answer for answer in answers if isinstance(answer, str)}
    return pam.run(stack, user, bed.services, answers, calls=calls, **how)


def let_in(outcome, *prompts):
    return (outcome.results, outcome.prompts) == (["SUCCESS"] * 3, list(prompts))


def refused(outcome, result, *prompts):
    return (outcome.result, outcome.prompts) == (result, list(prompts))


def test_every_example_is_tested_here():
    assert sorted(file.name for file in EXAMPLES.iterdir()) == sorted(
        [*WITH_FALLBACK, "kiosk", "one-field", "second-factor"]
    )


@pytest.mark.parametrize("stack", [*WITH_FALLBACK, "kiosk"])
def test_the_right_passcode_is_enough(house, stack):
    outcome = log_in(house, stack, RIGHT)
    assert let_in(outcome, CODE) and outcome.messages == []


# MARK: sudo, login, lock-screen: the password where the passcode doesn't lead on


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@pytest.mark.parametrize("typed, counted", [(WRONG[0], 1), ("", 0), ("hello", 0), ("04711", 0)], ids=repr)
def test_then_the_password_is_asked_for(house, stack, typed, counted):
    assert let_in(log_in(house, stack, typed, PASSWORD), CODE, WORD)
    assert house.failures("alice") == counted


@pytest.mark.parametrize("stack", WITH_FALLBACK)
def test_neither_is_right(house, stack):
    outcome = log_in(house, stack, WRONG[0], WRONG_PASSWORD)
    assert refused(outcome, "AUTH_ERR", CODE, WORD) and house.failures("alice") == 1


def lock(house):
    fail(house, 3)


def exhaust(house):
    house.configure(lockout="1:reset")
    fail(house, 1)


def disable(house):
    house.tool("disable", "alice", check=0)


def forget(house):
    house.tool("remove", "alice", check=0)


def lose_key(house):
    house.key.unlink()


def damage(house):
    house.record_file("alice").write_bytes(bytes(8192))


def misspell(house):
    house.configure("colour=red")


OUT_OF_ORDER = [
    (lock, [LOCKED]),
    (exhaust, [BLOCKED]),
    (disable, [DISABLED]),
    (forget, []),
    (lose_key, []),
    (damage, []),
    (misspell, []),
]
CASES = pytest.mark.parametrize(
    "happen, texts", OUT_OF_ORDER, ids=lambda value: getattr(value, "__name__", "")
)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@CASES
def test_a_passcode_that_cannot_be_used_leaves_the_password(house, stack, happen, texts):
    happen(house)
    outcome = log_in(house, stack, PASSWORD)
    assert let_in(outcome, WORD) and outcome.texts == texts
    assert refused(log_in(house, stack, WRONG_PASSWORD), "AUTH_ERR", WORD)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
def test_who_has_no_passcode_is_asked_for_the_password_only(house, stack):
    assert let_in(log_in(house, stack, PASSWORD, user="bob"), WORD)
    assert refused(log_in(house, stack, RIGHT, user="bob"), "AUTH_ERR", WORD)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@pytest.mark.parametrize("items", [{"RUSER": "bob"}, {"RHOST": "192.0.2.1"}, {"TTY": "ssh"}], ids=str)
def test_where_passcodes_are_not_permitted_the_password_is_asked_for(house, stack, items):
    assert let_in(log_in(house, stack, PASSWORD, items=items), WORD)


@pytest.mark.parametrize("stack", [*WITH_FALLBACK, "kiosk", "one-field", "second-factor"])
def test_nobody_gets_in_by_cancelling(house, stack):
    outcome = log_in(house, stack, calls=["authenticate"])
    assert outcome.result not in ("SUCCESS", "IGNORE") and house.failures("alice") == 0


# MARK: lock-screen


def test_a_locker_answers_each_question_with_the_same_text(house):
    assert let_in(log_in(house, "lock-screen", *[RIGHT] * 2), CODE)
    assert let_in(log_in(house, "lock-screen", *[PASSWORD] * 2), CODE, WORD)
    assert refused(log_in(house, "lock-screen", *[WRONG[0]] * 2), "AUTH_ERR", CODE, WORD)
    assert house.failures("alice") == 1


def test_a_locker_without_root_and_without_the_helper_takes_the_password(house):
    outcome = log_in(house, "lock-screen", PASSWORD, prepare=become("alice"), calls=["authenticate"])
    assert refused(outcome, "SUCCESS", WORD)


# MARK: kiosk


def test_a_kiosk_has_no_fallback(house):
    assert refused(log_in(house, "kiosk", WRONG[0], PASSWORD), "AUTH_ERR", CODE)
    assert refused(log_in(house, "kiosk", PASSWORD), "AUTH_ERR", CODE)
    assert refused(log_in(house, "kiosk", PASSWORD, user="bob"), "USER_UNKNOWN")


@CASES
def test_a_kiosk_stays_shut(house, happen, texts):
    happen(house)
    outcome = log_in(house, "kiosk", RIGHT, calls=["authenticate"])
    assert outcome.result != "SUCCESS" and outcome.prompts == [] and outcome.texts == texts


# MARK: second-factor


def test_both_factors_are_needed(house):
    assert let_in(log_in(house, "second-factor", PASSWORD, RIGHT), WORD, CODE)
    assert refused(log_in(house, "second-factor", PASSWORD, WRONG[0]), "AUTH_ERR", WORD, CODE)
    assert refused(log_in(house, "second-factor", PASSWORD, ""), "AUTH_ERR", WORD, CODE)
    assert refused(log_in(house, "second-factor", RIGHT, PASSWORD), "AUTH_ERR", WORD)
    assert house.failures("alice") == 1


def test_without_the_password_nobody_spends_attempts(house):
    for code in WRONG[:4]:
        assert refused(log_in(house, "second-factor", WRONG_PASSWORD, code), "AUTH_ERR", WORD)
    assert house.failures("alice") == 0


@CASES
def test_without_the_passcode_the_password_is_not_enough(house, happen, texts):
    happen(house)
    outcome = log_in(house, "second-factor", PASSWORD, RIGHT, calls=["authenticate"])
    assert outcome.result != "SUCCESS" and outcome.prompts == [WORD] and outcome.texts == texts


def test_nullok_is_one_factor_for_who_has_no_passcode(house):
    file = house.services / "second-factor"
    assert refused(log_in(house, "second-factor", PASSWORD, user="bob"), "USER_UNKNOWN", WORD)
    file.write_text(file.read_text().replace("pam_passcode.so", "pam_passcode.so nullok"))
    assert let_in(log_in(house, "second-factor", PASSWORD, user="bob"), WORD)
    assert refused(log_in(house, "second-factor", PASSWORD, WRONG[0]), "AUTH_ERR", WORD, CODE)


def test_ssh_needs_remote_allow(house):
    file, items = house.services / "second-factor", {"RHOST": "192.0.2.1", "TTY": "ssh"}
    assert refused(log_in(house, "second-factor", PASSWORD, RIGHT, items=items), "PERM_DENIED", WORD)
    file.write_text(file.read_text().replace("pam_passcode.so", "pam_passcode.so remote=allow"))
    assert let_in(log_in(house, "second-factor", PASSWORD, RIGHT, items=items), WORD, CODE)


# MARK: one-field


@pytest.mark.parametrize("typed", [RIGHT, PASSWORD], ids=["passcode", "password"])
def test_one_question_takes_both(house, typed):
    assert let_in(log_in(house, "one-field", typed), EITHER)
    assert house.failures("alice") == 0


def test_a_wrong_password_in_the_one_field_is_not_asked_for_again(house):
    assert refused(log_in(house, "one-field", WRONG_PASSWORD, PASSWORD), "AUTH_ERR", EITHER)
    assert house.failures("alice") == 0


@pytest.mark.parametrize("typed, counted", [(WRONG[0], 1), ("", 0)], ids=["wrong passcode", "Enter"])
def test_then_the_one_field_stack_asks_for_the_password(house, typed, counted):
    assert let_in(log_in(house, "one-field", typed, PASSWORD), EITHER, WORD)
    assert house.failures("alice") == counted


@CASES
def test_one_field_falls_back_to_the_password(house, happen, texts):
    happen(house)
    outcome = log_in(house, "one-field", PASSWORD)
    assert let_in(outcome, WORD) and outcome.texts == texts


def test_one_field_and_no_passcode(house):
    assert let_in(log_in(house, "one-field", PASSWORD, user="bob"), WORD)


def test_a_password_of_six_digits_is_typed_at_the_second_question(house):
    house.enroll("carol", RIGHT)
    assert let_in(log_in(house, "one-field", "", DIGITS, user="carol"), EITHER, WORD)
    assert house.failures("carol") == 0
    outcome = log_in(house, "one-field", DIGITS, user="carol", calls=["authenticate"])
    assert outcome.result != "SUCCESS" and outcome.prompts == [EITHER, WORD]
    assert house.failures("carol") == 1


# MARK: What an earlier module left (what is taken of it: test_first_pass.py)


KEPT = """auth required pam_exec.so quiet expose_authtok /bin/true
auth optional {module}
auth required pam_exec.so quiet expose_authtok {probe}"""


@pytest.mark.parametrize("option", ["try_first_pass", "use_first_pass", "either"])
def test_an_earlier_password_stays_where_it_is_not_taken(alice, option):
    probe = alice.folder / "probe"
    probe.write_text(f"#!/bin/sh\ncat >{alice.folder}/token\n")
    probe.chmod(0o755)
    alice.service(option, stack=KEPT.replace("{probe}", str(probe)))
    alice.authenticate("alice", PASSWORD, "")
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == PASSWORD.encode()
