"""Modules behind the passcode that want the password: what README.Debian says of KDE's file. On request."""

import pytest

import debian_machine as machines
from conversation import Conversation
from debian_machine import PASSWORD, RIGHT

pytestmark = pytest.mark.on_request

ASKED = "Passcode or password: "
OWN_FILE = "cp /usr/share/doc/libpam-passcode/examples/one-field /etc/pam.d/kde"


@pytest.fixture
def machine(deb):
    machine = machines.Machine(machines.root("trixie", f"{machines.PROGRAMS} libkscreenlocker6 libpam-kwallet5"))
    machine.people()
    machine.install(deb)
    machine.enroll()
    machine.enable()
    machine.talk = Conversation(machine)
    yield machine
    machine.remove()


def prompts(machine, *typed):
    """As the locker asks: not as root, by the service kde."""
    lines = "".join(f"{line}\n" for line in typed)
    said = machine.run("pamtester", "kde", "alice", "authenticate", user="alice", input=lines)
    assert "successfully authenticated" in said
    return machine.talk.calls("kde")[-1].prompts


def test_kwallet_asks_for_the_password_itself(machine):
    assert prompts(machine, PASSWORD) == [ASKED]
    assert prompts(machine, RIGHT, PASSWORD) == [ASKED, "Password: "]


def test_a_file_of_its_own_asks_once(machine):
    assert OWN_FILE in (machines.TREE / "debian/libpam-passcode.README.Debian").read_text()
    machine.run("sh", "-c", OWN_FILE)
    for typed in (RIGHT, PASSWORD):
        assert prompts(machine, typed) == [ASKED]
