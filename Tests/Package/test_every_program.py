"""Every program that asks on a terminal, with the profile: one prompt for each call of PAM, whatever is typed. Two only
after Enter alone."""

import re

import pytest

from debian_machine import PASSWORD, RIGHT, WRONG
from dialogue import EITHER, END, LEFT, Dialogue, Program, put_faillock_around, tallied

PROGRAMS = {
    "sudo": Program(("sudo", "id", "-un"), "root", asks_again_after="Sorry, try again.", is_silent=True),
    "sudo_!pam_silent": Program(("sudo", "whoami"), "root", asks_again_after="Sorry, try again."),
    "sudo-rs": Program(("sudo-rs", "id", "-un"), "root", asks_again_after="failed, try again.", is_silent=True),
    "su": Program(("su", "alice", "-c", "id -un"), "alice"),
    "doas": Program(("doas", "id", "-un"), "root"),
    "login": Program(("login", "alice"), user="root", asks_again_after="Login incorrect", cancelled_by=END),
    # Its own text agent; its parent has to be a process of that machine.
    # In bookworm it wants a session of logind's: "No session for cookie".
    "pkexec": Program(("sh", "-c", "pkexec id -un; exit $?"), "root"),
}
# Bookworm's sudo always hides messages: it says that it doesn't know pam_silent.
ONLY = {"sudo-rs": "trixie", "sudo_!pam_silent": "trixie", "pkexec": "trixie"}
# After each wrong passcode.
NOTICES = (
    "Wrong passcode, 2 attempts left.", "Wrong passcode, 1 attempt left.", "Passcode locked (1 minute left to unlock).",
)  # fmt: skip

pytestmark = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.only(ONLY[name])] if name in ONLY else []) for name in PROGRAMS]
)


def without_delays_of_their_own(machine):
    """login's and su's, after each refusal."""
    path = machine.path / "etc/pam.d/login"
    assert "delay=3000000" in path.read_text()
    path.write_text(path.read_text().replace("delay=3000000", "delay=0"))
    with (machine.path / "etc/login.defs").open("a") as file:
        file.write("FAIL_DELAY 0\n")


def ready(machine):
    machine.configure(fail_delay="0")
    without_delays_of_their_own(machine)
    for file in ("sudoers-rs", "sudoers.d/alice"):
        (machine.path / "etc" / file).write_text("Defaults timestamp_timeout=0\nalice ALL=(ALL:ALL) ALL\n")
    (machine.path / "etc/sudoers.d/silent").write_text("Defaults!/usr/bin/whoami !pam_silent\n")
    (machine.path / "etc/doas.conf").write_text("permit alice\n")
    machine.run("usermod", "-aG", "sudo", "alice")  # for polkit an administrator
    machine.run("sh", "-c", "mkdir -p /run/dbus && dbus-daemon --system --fork")
    return machine


@pytest.fixture(scope="module")
def shared(enabled):
    """One machine of that release for all these tests: each leaves the passcode as it was."""
    machine = ready(enabled())
    yield machine
    machine.remove()


@pytest.fixture(scope="module")
def with_faillock(enabled):
    machine = ready(enabled())
    put_faillock_around(machine)
    yield machine
    machine.remove()


@pytest.fixture
def around(with_faillock):
    """pam_faillock around the profile; neither of the two has counted anything."""
    yield with_faillock
    with_faillock.run("passcode", "unlock", "alice")
    with_faillock.run("faillock", "--user", "alice", "--reset")


def asked(machine, name, *answers):
    """(whether that lets somebody in, the prompts of each call of PAM) of one run of the program."""
    dialogue = Dialogue(machine, PROGRAMS[name])
    for text in answers:
        dialogue.answer(text)
    return dialogue.is_let_in(), dialogue.calls


def prompt(name, failures):
    """After so many wrong passcodes."""
    return LEFT[failures] if failures and PROGRAMS[name].is_silent else EITHER


def test_the_right_passcode_or_the_password(shared, name):
    for typed in (RIGHT, PASSWORD):
        assert asked(shared, name, typed) == (True, [[EITHER]])


def test_after_enter_alone_the_password_is_asked_for(shared, name):
    is_let_in, [[first, second]] = asked(shared, name, "", PASSWORD)
    assert is_let_in and first == EITHER and "asscode" not in second


def test_after_a_wrong_passcode_the_very_next_prompt_takes_the_right_one(shared, name):
    if PROGRAMS[name].asks_again_after:
        assert asked(shared, name, WRONG[0], RIGHT) == (True, [[EITHER], [prompt(name, 1)]])
    else:
        assert asked(shared, name, WRONG[0]) == (False, [[EITHER]])
        assert asked(shared, name, RIGHT) == (True, [[prompt(name, 1)]])
    assert shared.state()["failures"] == 0


def test_cancelling_lets_nobody_in_and_counts_nothing(shared, name):
    assert asked(shared, name, PROGRAMS[name].cancelled_by) == (False, [[EITHER]])
    assert shared.state()["failures"] == 0


def test_three_wrong_passcodes_lock_the_passcode_and_not_the_password(around, name):
    for failures, code in enumerate(WRONG[1:4]):
        wrong = Dialogue(around, PROGRAMS[name])
        wrong.answer(code)
        assert (wrong.is_let_in(), wrong.calls) == (False, [[prompt(name, failures)]])
        assert PROGRAMS[name].is_silent or NOTICES[failures] in wrong.transcript.getvalue()
    assert around.state()["state"] == "locked" and tallied(around) == []
    locked = Dialogue(around, PROGRAMS[name])
    locked.answer(PASSWORD)
    assert locked.is_let_in()
    [[last]] = locked.calls
    assert "Passcode locked (" in locked.transcript.getvalue()
    if PROGRAMS[name].is_silent:
        is_let_in, [[then]] = asked(around, name, WRONG[0])
        assert not is_let_in and tallied(around) == []
        for told in (last, then):
            assert re.fullmatch(r"Passcode locked \(\d+ \w+ left to unlock\)\. Password: ", told)
    else:
        assert "asscode" not in last
