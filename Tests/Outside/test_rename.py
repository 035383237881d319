"""`rename`: the passcode of an account that was renamed goes on working."""

import contextlib
import subprocess

import pytest

import bench
from bed import uid
from scenario import RIGHT, WRONG, fail
from tool import DONE, NOT_ENROLLED, NOT_PERMITTED, UNUSABLE, USAGE, one_line


def usermod(*arguments):
    """In a namespace of its own: it refuses while a process of the account runs, and elsewhere on the machine other
    tests have the same uids."""
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    subprocess.run([*namespace, "usermod", *arguments], check=True)


@contextlib.contextmanager
def renamed():
    usermod("-l", "alina", "alice")
    try:
        yield
    finally:
        usermod("-l", "alice", "alina")


def test_it_works_under_the_new_name_with_all_that_was_known(alice):
    fail(alice, 2)
    alice.tool("disable", "alice", check=DONE)
    before = alice.status("alice")
    with renamed():
        assert alice.status("alina")["enrolled"] is False
        assert alice.tool("rename", "alice", "alina", check=DONE).output == "Passcode moved to alina.\n"
        assert alice.status("alina") == {**before, "user": "alina"}
        alice.tool("enable", "alina", check=DONE)
        assert alice.authenticate("alina", RIGHT).result == "SUCCESS"
        assert b"name=alice" not in alice.record("alina")
        # Again, as after an interruption: nothing is worse.
        answer = alice.tool("rename", "alice", "alina", check=DONE)
        assert answer.output == "Passcode already moved to alina.\n"
        assert alice.authenticate("alina", WRONG[0]).result == "AUTH_ERR"
        assert alice.authenticate("alina", RIGHT).result == "SUCCESS"
    messages = [line.message for line in alice.log() if "passcode renamed" in line.message]
    assert len(messages) == 1 and f"user=alina uid={uid('alice')} from=alice by_uid=0" in messages[0]


def test_where_nothing_is_enrolled_nothing_is_renamed(alice):
    alice.tool("remove", "alice", check=DONE)
    with renamed():
        for old in ("alice", "nonsense"):
            assert one_line(alice.tool("rename", old, "alina", check=NOT_ENROLLED).errors)
        alice.record_file("alina").unlink()
        assert one_line(alice.tool("rename", "alice", "alina", check=NOT_ENROLLED).errors)
    assert not [line for line in alice.log() if "passcode renamed" in line.message]


def test_a_name_that_it_has_already_is_not_called_renamed(alice):
    answer = alice.tool("rename", "nonsense", "alice", check=DONE)
    assert answer.output == "Passcode already moved to alice.\n"
    assert not [line for line in alice.log() if "passcode renamed" in line.message]
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_after_removal_too(alice):
    alice.tool("disable", "alice", check=DONE)
    alice.tool("remove", "alice", check=DONE)
    with renamed():
        alice.tool("rename", "alice", "alina", check=DONE)
        status = alice.status("alina")
    assert (status["enrolled"], status["state"]) == (False, "disabled")


def test_nobody_inherits_a_passcode_by_it(alice):
    """Both names must be right: the record's, and today's of its number."""
    before = alice.record("alice")
    for arguments, status in (
        (["bob", "alice"], UNUSABLE),
        (["alice", "bob"], UNUSABLE),
        (["nobody-here", "bob"], NOT_ENROLLED),
        (["alice", "nobody-here"], UNUSABLE),
        (["alice"], USAGE),
        (["alice", "alice", "alice"], USAGE),
    ):
        answer = alice.tool("rename", *arguments, check=status)
        assert one_line(answer.errors)
    with renamed():
        assert one_line(alice.tool("rename", "nobody-here", "alina", check=NOT_ENROLLED).errors)
        assert alice.status("alina")["enrolled"] is False
    assert alice.record("alice") == before and alice.status("bob")["enrolled"] is False
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_as_long_as_the_old_name_is_an_account_nothing_is_renamed(alice):
    """usermod was forgotten, or another account has the old name by now: whose passcode it is can't be told."""
    with renamed():
        before = alice.record("alina")
        with bench.accounts([(300_000, "alice")]):
            answer = alice.tool("rename", "alice", "alina", check=UNUSABLE)
        assert "still an account alice" in answer.errors and alice.record("alina") == before


@pytest.mark.parametrize("spoil", ["key", "record"])
def test_what_cannot_be_opened_is_not_renamed(alice, spoil):
    path = alice.key if spoil == "key" else alice.record_file("alice")
    content = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(bytes(len(content)))
    before = alice.record("alice")
    with renamed():
        assert one_line(alice.tool("rename", "alice", "alina", check=UNUSABLE).errors)
        assert alice.record("alina") == before


def test_only_root_has_it(machine):
    machine.enroll("alice", RIGHT)
    machine.tool("rename", "bob", "alice", user="alice", check=NOT_PERMITTED)
