"""README.Debian's page "Back up, restore, move", from each release to the other one: its commands, then logins."""

import shutil
import time

import pytest

import debian_machine as machines
import documents
from debian_machine import OTHER, RIGHT, WRONG
from package import number, only_the_password_is_asked, passcode_works

TITLE = "Back up, restore, move"
ARCHIVES = ("root/passcode-key.tar", "root/passcode-store.tar")


def follow(machine, block):
    return machine.run("sh", "-ec", block)


@pytest.fixture
def other(release, deb):
    """A machine of the other release with the package, where people and _passcode have other numbers."""
    [suite] = {"bookworm", "trixie"} - {release}
    machine = machines.Machine(machines.root(suite))
    machine.run("useradd", "--system", "first")
    yield machine
    machine.remove()


@pytest.fixture
def moved(machine, other, deb):
    """Makes the other machine, with these people in the order of their numbers; passcodes are moved to it."""

    def move(*people):
        for name in people:
            other.run("useradd", "--create-home", "--shell", "/bin/bash", name)
            other.run("chpasswd", input=f"{name}:{machines.PASSWORD}\n")
        other.install(deb)
        other.enable()
        assert other.run("passcode", "list") == machine.run("passcode", "list").splitlines(keepends=True)[0]
        back_up, restore = documents.blocks(documents.page(machine, TITLE))
        follow(machine, back_up)
        for path in ARCHIVES:
            assert (machine.path / path).stat().st_mode & 0o777 == 0o600
            shutil.copy(machine.path / path, other.path / path)
        return follow(other, restore)

    return move


def test_passcodes_work_on_a_machine_of_the_other_release(machine, other, moved):
    """With the failures and the disabled state that they had; the service account has another number there."""
    machine.enroll("bob", OTHER)
    machine.enroll("root", OTHER)
    machine.run("passcode", "disable", "bob")
    machine.run("passcode", "verify", "alice", "--stdin", input=f"{WRONG[0]}\n", status=1)
    assert "alice" in (said := moved("alice", "bob")) and "bob" in said
    assert number(machine, "_passcode") != number(other, "_passcode")
    assert other.state()["failures"] == 1 and other.state("bob")["state"] == "disabled"
    for name, code in (("alice", RIGHT), ("root", OTHER)):
        other.run("passcode", "verify", name, "--stdin", input=f"{code}\n")
    passcode_works(other)
    # Through the helper and by the owner, too.
    other.run("passcode", "change", "--stdin", user="alice", input=f"{RIGHT}\n{OTHER}\n")
    other.run("passcode", "verify", "alice", "--stdin", input=f"{OTHER}\n")


def test_a_delay_starts_again(machine, other, moved):
    for code in WRONG[:3]:
        machine.run("passcode", "verify", "alice", "--stdin", input=f"{code}\n", status=1)
    moved("alice", "bob")
    # Two seconds of the delay have passed, however fast this machine is.
    deadline = time.monotonic() + 30
    while machine.state()["seconds_left"] > 58:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    other.restart()
    assert other.state()["state"] == "locked" and other.state()["seconds_left"] > machine.state()["seconds_left"]
    other.run("passcode", "unlock", "alice")
    passcode_works(other)


def test_users_with_other_numbers_enrol_again(machine, other, moved):
    """Nobody gets in with the passcode of the one who had the number before."""
    machine.enroll("bob", OTHER)
    said = moved("bob", "alice")
    assert number(other, "bob") == number(machine, "alice")
    for name in ("alice", "bob"):
        assert f"{name}: the record was made for another account name: not enrolled\n" in said
    only_the_password_is_asked(other)
    for name in ("alice", "bob"):
        for code in (RIGHT, OTHER):
            other.run("passcode", "verify", name, "--stdin", input=f"{code}\n", status=3)
    other.enroll()
    other.enroll("bob", OTHER)
    passcode_works(other)
    other.run("passcode", "verify", "bob", "--stdin", input=f"{OTHER}\n")
