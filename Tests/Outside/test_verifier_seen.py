"""What a server has seen of etcd: who makes that record, and what is refused without it."""

import fcntl
import os
import struct
import time

import pytest
from fleet import ACCOUNT, EXHAUSTED, GRANTED, UNAVAILABLE
from scenario import RIGHT

FAILED = 7
F_OFD_SETLK = 37


@pytest.fixture
def unseen(fleet):
    """A fleet that has passcodes, on servers that have lost what they saw."""
    for server in fleet.servers:
        (server.state / "seen").unlink()
    yield fleet
    for server in fleet.servers:
        (server.state / "seen").unlink(missing_ok=True)
        server.run("seen", "--first")


def test_a_server_that_has_seen_nothing_believes_nothing(unseen):
    """It may be new, or etcd may have been restored: an administrator must say which."""
    for server in unseen.servers:
        assert server.verify(RIGHT).kind == UNAVAILABLE
        assert "run passcode server seen" in server.run("status", "alice", check=FAILED).stderr
        assert "seen --first" in server.run("seen", check=FAILED).stderr
        assert server.verify(RIGHT).kind == UNAVAILABLE, "the empty file that root made isn't enough"
    unseen.servers[0].run("seen", "--first")
    assert unseen.servers[0].verify(RIGHT).kind == GRANTED
    assert unseen.servers[1].verify(RIGHT).kind == UNAVAILABLE


def test_what_was_seen_is_not_given_up_by_seen(fleet):
    server = fleet.servers[0]
    seen = server.state / "seen"
    before = seen.read_bytes()
    seen.write_bytes(before[:8] + struct.pack("<QQ", 1 << 40, 1 << 40))
    try:
        assert "etcd was restored" in server.run("seen", "--first", check=FAILED).stderr
        assert server.verify(RIGHT).kind == UNAVAILABLE
    finally:
        seen.write_bytes(before)


def test_restored_begins_and_each_passcode_is_locked_out(unseen):
    for server in unseen.servers:
        server.run("restored")
    for server in unseen.servers:
        assert server.verify(RIGHT).kind == EXHAUSTED


def test_seen_does_not_wait_for_ever(fleet):
    server = fleet.servers[0]
    fleet.etcdctl(0, "put", "/passcode/other", "x")  # so that there is something new to note
    with (server.state / "seen").open("r+b") as file:
        fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        started = time.monotonic()
        server.run("seen", check=FAILED)
        assert time.monotonic() - started < 5
    server.run("seen")


def test_root_takes_over_no_file_with_another_name(unseen):
    """The folder is the service account's, and root gives it the file."""
    server = unseen.servers[0]
    victim, seen = server.folder / "victim", server.state / "seen"
    victim.touch(mode=0o600)
    os.link(victim, seen)
    server.run("seen", "--first", check=FAILED)
    assert victim.stat().st_uid == 0
    seen.unlink()
    victim.write_bytes(b"root's record")
    victim.rename(seen)
    server.run("seen", "--first", check=FAILED)
    assert seen.stat().st_uid == 0 and seen.read_bytes() == b"root's record"
    seen.unlink()
    server.run("seen", "--first")
    assert seen.owner() == ACCOUNT
