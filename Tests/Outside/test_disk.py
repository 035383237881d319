"""Full and read-only file systems under the store (mounted in the tests' own namespace)."""

import contextlib
import pathlib
import re
import resource
import signal
import subprocess

import pytest

from bed import SLOT, become
from process import in_locks, wait_for
from scenario import RIGHT, WRONG, unavailable_uncharged, valid_slots


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


def test_a_full_disk_keeps_nothing_from_being_taken_back(small):
    """Nor does somebody who holds the record then."""
    fill(small)
    with subprocess.Popen(["flock", "--no-fork", str(small.record_file("alice")), "sleep", "60"]) as holder:
        record = in_locks(small.record_file("alice"))
        wait_for(lambda: re.search(f" {record} 0 EOF", pathlib.Path("/proc/locks").read_text()))
        assert f"ended process {holder.pid} (sleep)" in small.tool("disable", "alice", check=0).errors
        assert holder.wait(20) == -signal.SIGKILL
    assert small.authenticate("alice", RIGHT).result == "AUTH_ERR"
    assert small.status("alice")["state"] == "disabled"


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


# MARK: A limit of file sizes


def sizes(limit, user):
    """For `prepare`: RLIMIT_FSIZE, soft and hard, and that person. (Python ignores SIGXFSZ, and so does the helper.)"""

    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        become(user)()

    return prepare


# What the first attempt may say where copy 0 is next, and where copy 1 is; they begin at 0 and at 4,096.
CUT = {"AUTHINFO_UNAVAIL"}
LIMITS = {limit: (CUT, CUT) for limit in (0, 1, 16, 600, 2000, 4095)} | {
    limit: ({"AUTH_ERR", "SUCCESS"}, CUT) for limit in (4096, 4097, 4112, 4700, 6000, 8191)
}


@pytest.mark.parametrize("user", ["root", "alice"], ids=["by the module", "by the helper"])
@pytest.mark.parametrize("copy", [0, 1])
@pytest.mark.parametrize("limit", LIMITS)
def test_an_attempt_that_a_limit_of_file_sizes_cut_does_not_count(machine, limit, copy, user):
    """A copy that lost only its padding would be whole with the old one's. Whatever was cut is made good by the next
    write."""
    machine.enroll("alice", RIGHT)  # two writes: copy 0 is next
    for code, other in ((WRONG[0], WRONG[1]), (RIGHT, WRONG[2])):
        if next_copy(machine) != copy:
            assert machine.authenticate("alice", other).result == "AUTH_ERR"  # one write
        before = machine.failures("alice")
        result = machine.authenticate("alice", code, prepare=sizes(limit, user)).result
        assert result in LIMITS[limit][copy]
        counts = {"AUTHINFO_UNAVAIL": [0], "AUTH_ERR": [1], "SUCCESS": [0 - before, 1]}[result]
        assert machine.failures("alice") - before in counts
        machine.tool("unlock", "alice", check=0)
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
    assert valid_slots(machine.record("alice")) == [0, 1]


def next_copy(bed):
    """The one that isn't the newest, or is none."""
    copies = [bed.record("alice")[start : start + SLOT] for start in (0, SLOT)]
    generations = [int((re.search(rb"generation=(\d+)", copy) or [0, 0])[1]) for copy in copies]
    return generations.index(min(generations))


@pytest.mark.parametrize("user", ["root", "alice"])
def test_a_limit_of_file_sizes_that_holds_a_record_is_none(machine, user):
    machine.enroll("alice", RIGHT)
    for code, result in ((WRONG[0], "AUTH_ERR"), (RIGHT, "SUCCESS")):
        assert machine.authenticate("alice", code, prepare=sizes(2 * SLOT, user)).result == result
