"""Full and read-only file systems under the store (mounted in the tests' own namespace)."""

import contextlib
import subprocess

import pytest

from scenario import RIGHT, WRONG, unavailable_uncharged


@pytest.fixture
def small(bed):
    """A bed whose store lies on a file system of 64 KiB, with alice enrolled."""
    disk = bed.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "tmpfs", str(disk)], check=True)
    bed.store = disk / "store"
    bed.configure(store=bed.store)
    bed.enroll("alice", RIGHT)
    yield bed
    subprocess.run(["umount", str(disk)], check=True)


def fill(bed):
    with contextlib.suppress(OSError), open(bed.folder / "disk" / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)


def test_a_full_disk_stops_no_right_passcode(small):
    fill(small)
    assert small.authenticate("alice", RIGHT).result == "SUCCESS"


def test_a_full_disk_forgives_no_wrong_passcode(small):
    fill(small)
    for code, left in zip(
        WRONG, ("2 attempts left", "1 attempt left", "1 minute left to unlock"), strict=False
    ):
        assert left in small.authenticate("alice", code).texts[0]
    assert small.authenticate("alice", RIGHT).result == "AUTH_ERR"


def test_a_full_disk_enrolls_nobody_by_halves(small):
    fill(small)
    answer = small.tool("enroll", "--stdin", "bob", stdin="8260\n", check=7)
    assert answer.errors.count("\n") == 1
    assert small.status("bob")["enrolled"] is False
    assert sorted(path.name for path in small.store.iterdir()) == [small.record_file("alice").name, "places"]
    (small.folder / "disk" / "filler").unlink()
    small.enroll("bob", "8260")
    assert small.authenticate("bob", "8260").result == "SUCCESS"


def test_a_read_only_store_is_unavailable(small):
    disk = str(small.folder / "disk")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    unavailable_uncharged(small)
    unavailable_uncharged(small, code=WRONG[0])
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert small.authenticate("alice", RIGHT).result == "SUCCESS"
