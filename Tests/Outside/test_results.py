"""What PAM is answered: by what was typed, what happened before or meanwhile, and whether one field is for both."""

import pytest

from bed import become
from pam import FAILS, NO_ANSWERS, NULL
from scenario import PROMPT, RIGHT, WRONG, refused_unasked
from states import by_password, damage, disable, exhaust, expire, forget, lock, spend

ONE_FIELD = "Passcode or password: "
EITHER = pytest.mark.parametrize("either", [False, True], ids=["two prompts", "either"])


def answered(row, either):
    """What is said without `either`, and with it."""
    return row[1] if either else row[0]


def ask(bed, either, *answers, more=(), **how):
    bed.service(*(["either"] if either else []), *more)
    return bed.authenticate("alice", *answers, **how)


def prompt(either):
    return [ONE_FIELD if either else PROMPT]


# MARK: What was typed


TYPED = {
    "the right passcode": (RIGHT, ("SUCCESS", "SUCCESS")),
    "a wrong one": (WRONG[0], ("AUTH_ERR", "AUTH_ERR")),
    "one of the other length": ("918273", ("AUTH_ERR", "AUTH_ERR")),
    "Enter alone": ("", ("AUTH_ERR", "CRED_INSUFFICIENT")),
    "a password": ("correct horse", ("AUTH_ERR", "CRED_INSUFFICIENT")),
    "five digits": ("04711", ("AUTH_ERR", "CRED_INSUFFICIENT")),
    "too much": ("x" * 10_000, ("AUTH_ERR", "CRED_INSUFFICIENT")),
    "cancelled": (FAILS, ("CONV_ERR", "CONV_ERR")),
    "no answer": (NULL, ("CONV_ERR", "CONV_ERR")),
    "no answers": (NO_ANSWERS, ("CONV_ERR", "CONV_ERR")),
}


@EITHER
@pytest.mark.parametrize("typed, row", TYPED.values(), ids=TYPED)
def test_what_was_typed(alice, either, typed, row):
    outcome = ask(alice, either, typed)
    assert (outcome.result, outcome.prompts) == (answered(row, either), prompt(either))
    assert alice.failures("alice") == (1 if typed in (WRONG[0], "918273") else 0)


# MARK: What happened


UNAVAILABLE = ("AUTHINFO_UNAVAIL", "AUTHINFO_UNAVAIL")
# What happened: the answers where it was before the prompt, and where it was during it.
EVENTS = [
    (lock, ("AUTH_ERR", "PERM_DENIED"), ("AUTH_ERR", "AUTH_ERR")),
    (exhaust, ("AUTH_ERR", "PERM_DENIED"), ("AUTH_ERR", "AUTH_ERR")),
    (disable, ("AUTH_ERR", "PERM_DENIED"), ("AUTH_ERR", "AUTH_ERR")),
    (expire, ("AUTH_ERR", "PERM_DENIED"), ("AUTH_ERR", "AUTH_ERR")),
    (spend, ("AUTH_ERR", "PERM_DENIED"), ("AUTH_ERR", "AUTH_ERR")),
    (by_password, ("PERM_DENIED", "PERM_DENIED"), ("PERM_DENIED", "AUTH_ERR")),
    (forget, ("USER_UNKNOWN", "USER_UNKNOWN"), ("USER_UNKNOWN", "AUTH_ERR")),
    (damage, UNAVAILABLE, UNAVAILABLE),
]
HAPPENED = pytest.mark.parametrize("happen, before, meanwhile", EVENTS, ids=[row[0].__name__ for row in EVENTS])


@pytest.fixture
def both(alice):
    """For a second factor or not: since root enrols, that makes no difference."""
    alice.configure(second_factor="yes")
    return alice


@EITHER
@HAPPENED
def test_what_happened_before_is_answered_without_a_prompt(both, either, happen, before, meanwhile):
    happen(both)
    outcome = ask(both, either, RIGHT, more=["second_factor"])
    assert (outcome.result, outcome.prompts) == (answered(before, either), [])


@EITHER
@HAPPENED
def test_what_happens_while_the_passcode_is_typed(both, either, happen, before, meanwhile):
    def type_it(_):
        happen(both)
        return RIGHT

    outcome = ask(both, either, type_it, more=["second_factor"])
    assert (outcome.result, outcome.prompts) == (answered(meanwhile, either), prompt(either))


@EITHER
def test_another_user_meanwhile(alice, either):
    def become_bob(handle):
        handle.set("USER", "bob")
        return RIGHT

    outcome = ask(alice, either, become_bob)
    assert (outcome.result, outcome.prompts) == ("AUTH_ERR", prompt(either))


@EITHER
def test_nullok_ignores_nobody_whose_passcode_was_typed_in_the_one_field(alice, either):
    """The modules behind us would be asked, or given the passcode."""

    def type_it(_):
        forget(alice)
        return RIGHT

    alice.service(*(["either"] if either else []), "nullok", stack="auth [ignore=1 default=die] {module}\n" + PERMIT)
    assert alice.authenticate("alice", type_it).result == ("AUTH_ERR" if either else "SUCCESS")
    assert refused_unasked(alice.authenticate("alice"), "SUCCESS")


PERMIT = "auth requisite pam_deny.so\nauth required pam_permit.so"


# MARK: Without root, through the helper


@EITHER
@pytest.mark.parametrize("happen, before", [row[:2] for row in EVENTS if row[0] in (lock, disable, expire, spend, forget)])
def test_a_host_without_root_is_refused_alike(machine, either, happen, before):
    machine.enroll("alice", RIGHT)
    happen(machine)
    outcome = ask(machine, either, RIGHT, prepare=become("alice"))
    assert (outcome.result, outcome.prompts) == (answered(before, either), [])


@EITHER
def test_a_host_without_root_is_answered_alike(machine, either):
    machine.enroll("alice", RIGHT)
    for typed, row in TYPED.values():
        outcome = ask(machine, either, typed, prepare=become("alice"))
        assert (outcome.result, outcome.prompts) == (answered(row, either), prompt(either))


# MARK: From where, and whose


@EITHER
@pytest.mark.parametrize("items", [{"RHOST": "192.0.2.1"}, {"TTY": "ssh"}, {"RUSER": "bob"}], ids=str)
def test_who_may_not_use_it_is_told_so_without_a_prompt(alice, either, items):
    assert refused_unasked(ask(alice, either, RIGHT, items=items), "PERM_DENIED")


@EITHER
def test_before_the_first_login(usual, either):
    usual.configure(first_login="deny")
    assert refused_unasked(
        ask(usual, either, RIGHT), "PERM_DENIED", "Log in with your password first."
    )


@EITHER
def test_faults_stay_what_they_are(alice, either):
    alice.configure("colour=red")
    assert refused_unasked(ask(alice, either, RIGHT), "SERVICE_ERR")
    assert refused_unasked(ask(alice, either, RIGHT, more=["colour=red"]), "SERVICE_ERR")


# MARK: What an earlier module asked for


BEHIND = "auth [success=ok default=ignore] pam_unix.so\nauth required {module}"


@EITHER
@pytest.mark.parametrize("typed, row", [
    (RIGHT, ("SUCCESS", "SUCCESS")), (WRONG[0], ("AUTH_ERR", "AUTH_ERR")),
    ("hello", ("AUTH_ERR", "CRED_INSUFFICIENT")),
])  # fmt: skip
def test_what_was_typed_for_another_module(alice, either, typed, row):
    alice.service(*(["either"] if either else []), "use_first_pass", stack=BEHIND)
    outcome = alice.authenticate("alice", typed)
    assert (outcome.result, outcome.prompts) == (answered(row, either), ["Password: "])


# MARK: The delay


def waited(outcome):
    """The seconds that libpam waits; it varies them by half."""
    return sum(seconds for _, seconds in outcome.delays)


@EITHER
@pytest.mark.parametrize("happen", [lock, exhaust, disable, expire, spend, forget, damage], ids=lambda one: one.__name__)
def test_a_refusal_without_a_prompt_takes_its_time(alice, either, happen):
    """kscreenlocker takes an answer within 50 ms for a broken service, and asks it no more."""
    happen(alice)
    alice.configure(fail_delay="2s")
    outcome = ask(alice, either, RIGHT)
    assert outcome.prompts == [] and 1 <= waited(outcome) <= 3
    # libpam varies it by a half.
    assert 0 < waited(ask(alice, either, more=["fail_delay=1"])) <= 1.5
    assert waited(ask(alice, either, more=["fail_delay=0"])) == 0


@pytest.mark.parametrize("items", [{"RHOST": "192.0.2.1"}, {"RUSER": "bob"}], ids=str)
def test_so_does_who_may_not_use_it_and_an_unknown_user(alice, items):
    alice.configure(fail_delay="2s")
    assert 1 <= waited(alice.authenticate("alice", RIGHT, items=items)) <= 3
    assert 1 <= waited(alice.authenticate("nosuchuser", RIGHT)) <= 3


@EITHER
@pytest.mark.parametrize("typed", ["", "hello", FAILS], ids=["Enter", "a password", "cancelled"])
def test_what_is_no_passcode_is_not_made_to_wait(alice, either, typed):
    alice.configure(fail_delay="2s")
    assert waited(ask(alice, either, typed)) == 0


def test_the_delay_is_not_added_where_the_password_opens(alice):
    alice.configure(fail_delay="2s")
    lock(alice)
    alice.service("either", stack="auth [success=done default=ignore] {module}\nauth required pam_permit.so")
    outcome = alice.authenticate("alice")
    assert outcome.result == "SUCCESS" and all(result == "SUCCESS" for result, _ in outcome.delays)
