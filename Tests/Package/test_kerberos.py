"""pam_krb5, whose profile asks before ours; without a KDC. README.Debian's profile puts the passcode first. On request."""

import re

import pytest

import debian_machine as machines
from conversation import Conversation
from debian_machine import PASSWORD, RIGHT, WRONG, finished, prompted

pytestmark = pytest.mark.on_request

ASKED = "Passcode or password: "


@pytest.fixture
def machine(release, deb):
    machine = machines.Machine(machines.root(release, f"{machines.PROGRAMS} libpam-krb5"))
    machine.run("pam-auth-update", "--disable", "krb5")  # chpasswd would ask the KDC
    machine.people()
    machine.install(deb)
    machine.enroll()
    machine.run("pam-auth-update", "--enable", "krb5", "passcode")
    machine.talk = Conversation(machine)
    yield machine
    machine.remove()


def recipe():
    """The commands that README.Debian gives."""
    text = (machines.TREE / "debian/libpam-passcode.README.Debian").read_text()
    (commands,) = re.findall(r"with a profile of your own:\n\n((?:    .*\n)+)", text)
    return commands


def su(machine, *answers):
    """The prompts that the one call showed."""
    child = machine.terminal("su", "alice", "-c", "id -un")
    for answer in answers:
        prompted(child, ("assword[^:]*: ", answer))
    assert finished(child)[1] == 0
    return machine.talk.calls("su")[-1].prompts


def test_without_the_recipe_it_asks_first(machine):
    """Its prompt takes the password; what it doesn't accept goes no further, so the passcode is asked for, too."""
    assert su(machine, RIGHT, RIGHT) == ["Password: ", ASKED]


def test_with_the_recipe_one_prompt_takes_both(machine):
    machine.run("sh", "-ec", recipe())
    assert su(machine, RIGHT) == [ASKED]
    assert su(machine, PASSWORD) == [ASKED]
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (ASKED, WRONG[0]))
    assert finished(child)[1] != 0 and machine.talk.calls("su")[-1].prompts == [ASKED]
    assert machine.state()["failures"] == 1
    assert su(machine, RIGHT) == [ASKED]
