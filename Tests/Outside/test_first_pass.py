"""What an earlier module asked for, and one field for both (`either`); a new hash where the cost changed."""

import subprocess

import pytest

from scenario import PASSWORD, RIGHT, WRONG

# pam_unix asks first, lets nobody in, and leaves what was typed as PAM_AUTHTOK.
AFTER = "auth [success=ok default=ignore] pam_unix.so\nauth required {module}"
BEFORE = "auth sufficient {module}\nauth required pam_unix.so try_first_pass"


@pytest.fixture
def alice(alice):
    subprocess.run(["chpasswd"], input=f"alice:{PASSWORD}\n".encode(), check=True)
    alice.typed.add(PASSWORD)
    return alice


def test_try_first_pass_takes_a_passcode_without_asking(alice):
    alice.service("try_first_pass", stack=AFTER)
    outcome = alice.authenticate("alice", RIGHT)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 1)


def test_try_first_pass_asks_where_it_is_no_passcode(alice):
    alice.service("try_first_pass", stack=AFTER)
    outcome = alice.authenticate("alice", PASSWORD, RIGHT)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2)
    assert alice.failures("alice") == 0


def test_a_wrong_first_pass_counts_once_and_is_not_asked_again(alice):
    alice.service("try_first_pass", stack=AFTER)
    outcome = alice.authenticate("alice", WRONG[0])
    assert (outcome.result, len(outcome.prompts)) == ("AUTH_ERR", 1)
    assert alice.failures("alice") == 1


def test_use_first_pass_with_and_without_a_token(alice):
    alice.service("use_first_pass", stack=AFTER)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    outcome = alice.authenticate("alice", PASSWORD)
    assert (outcome.result, len(outcome.prompts)) == ("AUTH_ERR", 1)
    alice.service("use_first_pass")
    outcome = alice.authenticate("alice")
    assert (outcome.result, outcome.prompts) == ("AUTH_ERR", [])
    assert alice.failures("alice") == 0


@pytest.mark.parametrize("option", ["try_first_pass", "use_first_pass"])
def test_a_passcode_does_not_stay_for_the_next_module(alice, option):
    stack = AFTER + "\nauth required pam_unix.so try_first_pass"
    alice.service(option, stack=stack)
    outcome = alice.authenticate("alice", RIGHT, PASSWORD)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2)


def test_either_takes_a_passcode(alice):
    alice.service("either", stack=BEFORE)
    outcome = alice.authenticate("alice", RIGHT)
    assert (outcome.result, outcome.prompts) == ("SUCCESS", ["Passcode or password: "])


def test_either_leaves_a_password_to_the_next_module_uncharged(alice):
    alice.service("either", stack=BEFORE)
    outcome = alice.authenticate("alice", PASSWORD)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 1)
    assert alice.authenticate("alice", "wrong horse").result == "AUTH_ERR"
    assert alice.failures("alice") == 0


def test_either_after_a_wrong_passcode_or_just_enter_the_next_module_asks(alice):
    """Where the line goes on after any failure."""
    alice.service("either", stack=BEFORE)
    for first, failures in ((WRONG[0], 1), ("", 1)):
        outcome = alice.authenticate("alice", first, PASSWORD)
        assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2), first
        assert alice.failures("alice") == failures


def test_either_keeps_a_prompt_of_ones_own(alice):
    alice.service("either", "[prompt=Code or password:]", stack=BEFORE)
    assert alice.authenticate("alice", RIGHT).prompts == ["Code or password: "]


def test_a_password_too_long_to_keep_is_not_cut(alice):
    alice.service("either", stack=BEFORE)
    outcome = alice.authenticate("alice", "x" * 600, PASSWORD)
    assert (outcome.result, len(outcome.prompts)) == ("SUCCESS", 2)


def test_a_right_passcode_is_hashed_anew_when_the_cost_changed(alice):
    before = alice.record("alice")
    alice.configure(opslimit="2", memlimit="128K")
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    sealed = [line for line in alice.record("alice").split(b"\n") if line.startswith(b"sealed=")]
    assert len(sealed) == 2 and sealed[0] == sealed[1] and sealed[0] not in before
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    again = [line for line in alice.record("alice").split(b"\n") if line.startswith(b"sealed=")]
    assert again == sealed


def test_too_little_memory_for_the_new_hash_never_changes_the_verdict(alice):
    from bed import more_memory_than

    before = [line for line in alice.record("alice").split(b"\n") if line.startswith(b"sealed=")]
    alice.configure(memlimit="1G")
    outcome = alice.authenticate("alice", RIGHT, prepare=more_memory_than(64 << 20))
    assert outcome.result == "SUCCESS"
    assert [line for line in alice.record("alice").split(b"\n") if line.startswith(b"sealed=")] == before
    assert alice.failures("alice") == 0
