"""Accounts that were deleted: their passcodes go by name, and nobody else's does."""

import contextlib
import fcntl
import pathlib
import re
import subprocess

import pytest

import bench
from accounts import accounts_changed, renamed, replaced
from bed import SLOT, uid
from helper import RESUME, ask
from machine import RUN
from process import open_files, wait_for
from scenario import PASSWORD, RIGHT, refused_unasked
from tool import DONE, NOT_ENROLLED, UNUSABLE, listed, one_line

FIRST = "Log in with your password first."
NOTHING = "passcode: there is no account {0}, nor a passcode of a deleted account of that name or number\n"


@contextlib.contextmanager
def deleted(name="alice"):
    with accounts_changed(lambda lines: [line for line in lines if not line.startswith(f"{name}:")]):
        yield


def sealed(bed, number):
    return re.findall(rb"^sealed=\w+", (bed.store / str(number)).read_bytes(), re.MULTILINE)


def test_made_again_with_the_same_name_and_number(alice):
    """Neither the passcode nor the suspension is inherited."""
    number = uid("alice")
    alice.tool("disable", "alice", check=DONE)
    with deleted():
        assert alice.tool("remove", "alice", check=DONE).output == "Passcode removed for alice.\n"
        assert alice.tool("remove", "alice", check=NOT_ENROLLED).errors == NOTHING.format("alice")
    assert sealed(alice, number) == []
    assert refused_unasked(alice.authenticate("alice", RIGHT), "USER_UNKNOWN")
    alice.enroll("alice", "8305")
    assert alice.authenticate("alice", "8305").result == "SUCCESS"
    messages = [line.message for line in alice.log() if "passcode removed" in line.message]
    assert len(messages) == 1 and f"user=alice uid={number} by_uid=0" in messages[0]


@pytest.mark.parametrize("happen", [renamed, replaced])
def test_the_number_is_somebody_else_s_today(alice, happen):
    with happen() as today:
        alice.tool("remove", "alice", check=DONE)
        alice.enroll(today, "8305")
        before = alice.record(today)
        assert one_line(alice.tool("remove", "alice", check=NOT_ENROLLED).errors)
        assert alice.record(today) == before
        assert alice.authenticate(today, "8305").result == "SUCCESS"


def test_every_record_of_the_name(alice):
    """alice had another number before."""
    with bench.accounts([(300_000, "before")]):
        alice.enroll("before", RIGHT)
        alice.rewrite("before", lambda body: body.replace(b"name=before", b"name=alice"))
    numbers = uid("alice"), 300_000
    with deleted():
        assert all(sealed(alice, number) for number in numbers)
        assert alice.tool("remove", "alice", check=DONE).output.count("removed for alice") == 2
        assert not any(sealed(alice, number) for number in numbers)


def test_made_again_while_the_removal_waits_for_the_record(alice):
    """What was somebody's who is gone is alice's again by then."""
    file = alice.record_file("alice")
    with file.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with deleted():
            removal = subprocess.Popen([*alice.tool_words(), "remove", "alice"], stderr=subprocess.DEVNULL, cwd="/")
            wait_for(lambda: str(file) in open_files(removal.pid))
    assert removal.wait(20) == NOT_ENROLLED
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_the_number_of_an_account_that_was_renamed_removes_nothing(alice):
    """Nobody else has the old name: the record may be hers, under another name."""
    with renamed() as today:
        before = alice.record(today)
        number = str(uid(today))
        assert alice.tool("remove", number, check=NOT_ENROLLED).errors == NOTHING.format(number)
        assert alice.record(today) == before


def test_a_name_that_is_a_number(alice):
    """It is bob's number, and bob's record stays; nor is anybody's record taken for being of that number."""
    alice.enroll("bob", "8305")
    name = str(uid("bob"))
    with bench.accounts([(300_000, name)]):
        alice.enroll(name, RIGHT)
    before = alice.record("bob")
    alice.tool("remove", name, check=DONE)
    assert sealed(alice, 300_000) == [] and alice.record("bob") == before
    alice.tool("remove", name, check=NOT_ENROLLED)
    assert alice.record("bob") == before


def test_a_removal_that_was_cut_off_is_finished(alice):
    path = alice.record_file("alice")
    enrolled = path.read_bytes()
    with deleted():
        alice.tool("remove", "alice", check=DONE)
        removed = path.read_bytes()
        # Only the first of the two copies was written: the one that isn't the record's latest by now.
        generations = [
            int(re.search(rb"^generation=(\d+)$", removed[at : at + SLOT], re.MULTILINE)[1])
            for at in (0, SLOT)
        ]
        at = 0 if generations[0] > generations[1] else SLOT
        path.write_bytes(removed[:at] + enrolled[at : at + SLOT] + removed[at + SLOT :])
        assert len(sealed(alice, path.name)) == 1
        alice.tool("remove", "alice", check=NOT_ENROLLED)
        assert sealed(alice, path.name) == []


def test_one_file_that_cannot_be_read_ends_no_search(alice):
    (alice.store / "1").symlink_to("/dev/null")
    (alice.store / "2").write_bytes(b"\0" * 2 * SLOT)
    with deleted():
        answer = alice.tool("remove", "alice", check=DONE)
    assert f"{alice.store}/1: must not be a symbolic link" in answer.errors
    assert sealed(alice, uid("alice")) == []


@pytest.mark.parametrize("name, status", [("alice", DONE), ("bob", NOT_ENROLLED)])
def test_who_gets_the_number_next_has_neither_logged_in_nor_used_the_password(with_passwords, name, status):
    """Whether the deleted account had a passcode or not."""
    own, number = with_passwords, uid(name)
    own.configure(first_login="deny", password_every="1h")
    own.enroll("alice", RIGHT)
    ask(RESUME, name, user=name, password=PASSWORD)
    marks = [RUN / f"{number}.{end}" for end in ("login", "proof")]
    assert all(mark.exists() for mark in marks)
    with deleted(name):
        own.tool("remove", name, check=status)
        assert not any(mark.exists() for mark in marks)
        with bench.accounts([(number, "carola")]):
            own.enroll("carola", "8305")
            assert refused_unasked(own.authenticate("carola", "8305"), "PERM_DENIED", FIRST)


def test_only_root_does_that(machine):
    machine.enroll("alice", RIGHT)
    before = machine.record("alice")
    path = machine.record_file("alice")
    with deleted():
        answer = machine.tool("remove", "alice", user="bob", check=UNUSABLE)
        assert answer.errors == "passcode: no account alice\n" and path.read_bytes() == before
        assert pathlib.Path("/etc/passwd").read_text().count("alice:") == 0
        machine.tool("remove", "alice", check=DONE)
    assert listed(machine) == []
