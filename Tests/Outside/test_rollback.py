"""Somebody boots another system, and puts an old store back to regain attempts."""

import shutil
import subprocess

import pytest

from clock import rebooted
from machine import ALICE, RUN, STORE
from scenario import RIGHT, WRONG, fail, refused_unasked
from tool import DONE

FIRST = "Log in with your password first."
STACK = "auth sufficient {module}\nauth required pam_permit.so\nsession optional {module}"
ROUNDS = 5


def boot(bed):
    """Another boot: /run is empty, and the kernel has another id."""
    for file in RUN.iterdir():
        file.unlink()
    return rebooted(bed)


def put_back(old):
    """From outside: owners, modes and all, and nothing of ours runs."""
    shutil.rmtree(STORE)
    subprocess.run(["cp", "-a", old, STORE], check=True)


def guesses(bed, rounds=ROUNDS):
    """How many passcodes were verified, when the old store comes back at each boot, and two are typed."""
    old = bed.folder / "old"
    subprocess.run(["cp", "-a", STORE, old], check=True)
    verified = 0
    for number in range(rounds):
        put_back(old)
        with boot(bed):
            for code, by in zip(WRONG[2 * number : 2 * number + 2], ({}, ALICE), strict=True):
                outcome = bed.authenticate("alice", code, **by)
                if outcome.result == "AUTH_ERR" and len(outcome.prompts) == 1:
                    verified += 1
                else:
                    assert refused_unasked(outcome, "PERM_DENIED", FIRST)
    return verified


def test_each_old_store_buys_attempts_where_the_first_login_may_be_a_passcode(own):
    """What the guard is for: without it the attack works."""
    assert guesses(own) == 2 * ROUNDS


def test_with_first_login_deny_it_buys_none(own):
    own.configure(first_login="deny")
    assert guesses(own) == 0


def test_after_the_password_the_next_old_store_waits_for_it_again(own):
    own.configure(first_login="deny")
    old = own.folder / "old"
    subprocess.run(["cp", "-a", STORE, old], check=True)
    with boot(own):
        own.service(stack=STACK)
        assert own.authenticate("alice", calls=["authenticate", "open_session"]).results == ["SUCCESS"] * 2
        own.service()
        fail(own, 3)
        assert own.status("alice")["state"] == "locked"
    put_back(old)
    with boot(own):
        assert refused_unasked(own.authenticate("alice", RIGHT), "PERM_DENIED", FIRST)


@pytest.mark.parametrize("by", [{}, ALICE], ids=["root", "alice"])
@pytest.mark.parametrize(
    ("option", "text"),
    [
        (None, None),
        ({"first_login": "deny"}, FIRST),
        ({"password_every": "1h"}, "Use your password this time. It is required from time to time."),
    ],
    ids=["none", "first_login", "password_every"],
)  # fmt: skip
def test_an_old_store_has_no_pause_but_the_password_is_due_all_the_same(own, by, option, text):
    own.configure(**(option or {}))
    old = own.folder / "old"
    subprocess.run(["cp", "-a", STORE, old], check=True)
    own.tool("pause", "alice", "--even-locked-out", check=DONE)
    paused = text if text == FIRST else "Passcode paused. Use your password."
    assert refused_unasked(own.authenticate("alice", RIGHT, **by), "PERM_DENIED", paused)
    put_back(old)
    with boot(own):
        outcome = own.authenticate("alice", RIGHT, **by)
        assert outcome.result == "SUCCESS" if option is None else refused_unasked(outcome, "PERM_DENIED", text)


def test_the_right_one_is_not_confirmed_either(own):
    own.configure(first_login="deny")
    with boot(own):
        for code in (RIGHT, WRONG[0]):
            assert refused_unasked(own.authenticate("alice", code), "PERM_DENIED", FIRST)
        assert own.failures("alice") == 0
