"""A pause with both profiles, in real programs: the password once, then the passcode again."""

import pytest

from debian_machine import PASSWORD, RIGHT
from dialogue import Dialogue, Program

LINE = "pam_passcode.so proven"
PROGRAMS = {
    "sudo": Program(("sudo", "id", "-un"), "root", asks_again_after="Sorry, try again.", is_silent=True),
    "su": Program(("su", "alice", "-c", "id -un"), "alice"),
}


@pytest.fixture
def proven(machine):
    """Alice's machine, where the second profile is enabled, too."""
    machine.configure(fail_delay="0")
    (machine.path / "etc/sudoers.d/alice").write_text("Defaults timestamp_timeout=0\nalice ALL=(ALL:ALL) ALL\n")
    machine.run("pam-auth-update", "--enable", "passcode-proven")
    lines = common(machine).splitlines()
    assert [line for line in lines if LINE in line] == ["auth\toptional\t" + LINE]
    assert "pam_permit.so" in "".join(lines[: lines.index("auth\toptional\t" + LINE)])
    return machine


def common(machine):
    return (machine.path / "etc/pam.d/common-auth").read_text()


def lets_in(machine, name, typed):
    """Whether it does, and what it asked and said."""
    dialogue = Dialogue(machine, PROGRAMS[name])
    dialogue.answer(typed)
    return dialogue.is_let_in(), dialogue.transcript.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_password_once_and_the_passcode_again(proven, name):
    assert lets_in(proven, name, RIGHT)[0]
    proven.run("runuser", "-u", "alice", "--", "passcode", "pause")
    is_let_in, said = lets_in(proven, name, RIGHT)
    assert not is_let_in and "Passcode paused." in said
    assert proven.state()["state"] == "paused"
    assert lets_in(proven, name, PASSWORD)[0]
    assert proven.state()["state"] == "ok"
    assert lets_in(proven, name, RIGHT)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_password_every_few_days(proven, name):
    proven.configure(fail_delay="0", password_every="3d")
    is_let_in, said = lets_in(proven, name, RIGHT)
    assert not is_let_in and "Use your password this time" in said
    assert lets_in(proven, name, PASSWORD)[0] and lets_in(proven, name, RIGHT)[0]


def test_check_finds_a_limit_that_nothing_ends(machine):
    machine.configure(password_every="3d")
    assert "auth optional pam_passcode.so proven" in machine.run("passcode", "check", status=1)
    machine.run("pam-auth-update", "--enable", "passcode-proven")
    assert "password_every" not in machine.run("passcode", "check", status=None)


def test_both_profiles_go_with_the_package(proven):
    proven.run("apt-get", "-qq", "remove", "libpam-passcode")
    assert "pam_passcode" not in common(proven)
