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


def test_a_new_server_begins_with_what_others_have_seen(unseen):
    """Not with what its etcd says."""
    server = unseen.servers[0]
    unseen.servers[1].run("seen", "--first")
    numbers = struct.unpack("<QQQ", (unseen.servers[1].state / "seen").read_bytes())
    seen = ":".join(map(str, numbers))
    for bad in ("", seen[:-2], f"{seen}:1", f" {seen}", f"{numbers[0]}:{2**64 - 1}:1", "0:1:1", f"-{seen}", f"0x{seen}"):
        assert server.run("seen", "--at-least", bad, check=2).stderr, bad
        assert not (server.state / "seen").exists()
    server.run("seen", "--at-least", seen)
    assert server.verify(RIGHT).kind == GRANTED and (server.state / "seen").owner() == ACCOUNT
    now = struct.unpack("<QQQ", (server.state / "seen").read_bytes())
    server.run("seen", "--at-least", f"{numbers[0]}:1:1")
    assert struct.unpack("<QQQ", (server.state / "seen").read_bytes()) >= now
    assert "etcd was restored" in server.run("seen", "--at-least", f"{numbers[0] - 1}:1:1", check=FAILED).stderr


def test_an_etcd_that_is_behind_what_others_have_seen_is_refused(unseen):
    server, other = unseen.servers[:2]
    other.run("seen", "--first")
    cluster, revision, term = struct.unpack("<QQQ", (other.state / "seen").read_bytes())
    assert "etcd was restored" in server.run("seen", "--at-least", f"{cluster}:{revision + 1000}:{term}", check=FAILED).stderr
    # Also when it has come as far, and when the others are asked again.
    server.run("seen", "--at-least", f"{cluster}:{revision}:{term}", check=FAILED)
    assert server.verify(RIGHT).kind == UNAVAILABLE


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
