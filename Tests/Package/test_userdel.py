"""Accounts deleted by userdel and deluser: their passcodes go with them."""

import re
import subprocess

import pytest

from debian_machine import RIGHT
from package import STORE, number, only_the_password_is_asked, passcode_works

BOTH = pytest.mark.parametrize("program", ["userdel", "deluser"])


def is_sealed(machine, uid):
    """Whether the record holds a passcode, in either half."""
    return re.search(rb"^sealed=\w", (machine.path / STORE / uid).read_bytes(), re.MULTILINE) is not None


def make_again(machine, user, uid):
    """With the same name and number."""
    machine.run("useradd", "--uid", uid, "--create-home", "--shell", "/bin/bash", user)
    machine.run("chpasswd", input=f"{user}:correct horse\n")


def complaints(machine, *command):
    """What it says on standard error; it has to succeed."""
    done = subprocess.run(machine.command(*command), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    return done.stderr


@BOTH
def test_an_account_that_is_made_again_has_no_passcode(machine, program):
    """But the other ones have theirs."""
    machine.enroll("bob")
    uid = number(machine, "alice")
    assert is_sealed(machine, uid)
    assert "passcode" not in complaints(machine, program, "alice")
    assert not is_sealed(machine, uid)
    make_again(machine, "alice", uid)
    assert not machine.state()["enrolled"] and machine.state("bob")["enrolled"]
    only_the_password_is_asked(machine)
    machine.enroll()
    passcode_works(machine)
    assert any(f"passcode removed user=alice uid={uid} by_uid=0" in line.text for line in machine.log.lines())


@BOTH
def test_a_name_that_is_somebody_s_number(machine, program):
    """It is bob's number. The account of that name is deleted, and not bob's passcode with it."""
    name = number(machine, "bob")
    machine.enroll("bob")
    machine.run("useradd", "--badname", "--uid", "3000", name)
    machine.enroll(name)
    assert "passcode" not in complaints(machine, program, name)
    assert not is_sealed(machine, "3000") and is_sealed(machine, name)
    machine.run("useradd", "--badname", "--uid", "3000", name)
    assert not machine.state(name)["enrolled"] and machine.state("bob")["enrolled"]
    # Another account of such a name is there, when one below another root is deleted.
    machine.enroll(name)
    machine.run("env", f"SUBJECT={name}", "ACTION=userdel", "/etc/shadow-maint/userdel-post.d/passcode")
    assert is_sealed(machine, "3000") and is_sealed(machine, name)


@BOTH
def test_who_has_no_passcode_goes_without_a_word(machine, program):
    assert "passcode" not in complaints(machine, program, "bob")
    assert not any("passcode" in line.text for line in machine.log.lines() if "bob" in line.text)


@BOTH
def test_a_store_that_cannot_be_used_is_told_and_stops_nothing(machine, program):
    machine.run("mv", f"/{STORE}", "/var/lib/away")
    said = complaints(machine, program, "alice")
    assert "passcode: /var/lib/passcode: no such directory" in said
    assert "passcode of the deleted account alice may still be there; run: passcode remove alice" in said
    assert any("passcode-userdel: " in line.text and "passcode remove alice" in line.text for line in machine.log.lines())
    assert "no such user" in machine.run("id", "alice", status=1)
    machine.run("mv", "/var/lib/away", f"/{STORE}")
    assert machine.run("passcode", "remove", "alice") == "Passcode removed for alice.\n"


def test_who_cannot_be_deleted_keeps_it(machine):
    """Logged in, or deleted below another root while there is such an account here."""
    session = subprocess.Popen(
        machine.command("sh", "-c", "echo up; exec sleep 60", user="alice"), stdout=subprocess.PIPE
    )
    assert session.stdout.readline() == b"up\n"
    machine.run("userdel", "alice", status=8)
    session.kill()
    session.wait()
    (machine.path / "srv/etc").mkdir(parents=True)
    for name in ("passwd", "group", "shadow", "gshadow"):
        (machine.path / f"srv/etc/{name}").write_bytes((machine.path / f"etc/{name}").read_bytes())
    machine.run("userdel", "--prefix", "/srv", "alice")
    assert machine.state()["enrolled"]
    passcode_works(machine)


@pytest.mark.parametrize("act", ["moved away", "removed", "purged"])
def test_without_the_tool_the_hook_is_quiet(machine, act):
    hook = machine.path / "etc/shadow-maint/userdel-post.d/passcode"
    assert hook.stat().st_mode & 0o7777 == 0o755
    if act == "moved away":
        (machine.path / "usr/bin/passcode").unlink()
    else:
        machine.run("apt-get", "remove" if act == "removed" else "purge", "-y", "libpam-passcode")
    assert hook.exists() == (act != "purged")
    assert "passcode" not in complaints(machine, "userdel", "alice")
    assert not any("passcode-userdel" in line.text for line in machine.log.lines())


def test_the_hook_never_fails(machine):
    """Whatever it is called with."""
    hook = "/etc/shadow-maint/userdel-post.d/passcode"
    for subject in ("nobody-of-that-name", "", "-x", "a b", "$(touch /tmp/made)", "1", "x" * 300):
        machine.run("env", f"SUBJECT={subject}", "ACTION=userdel", hook)
    machine.run(hook)
    machine.run("env", "SUBJECT=alice", hook)
    assert not (machine.path / "tmp/made").exists()
    assert machine.state()["enrolled"] and machine.run("passcode", "verify", "alice", "--stdin", input=f"{RIGHT}\n")
