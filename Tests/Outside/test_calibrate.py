"""`calibrate`: a cost of hashing that suits the machine, printed or put into the configuration."""

import re
import shutil
import subprocess
import time

import pytest

from bed import USUAL
from tool import DONE, NOT_PERMITTED, UNUSABLE, USAGE, one_line

LINES = re.compile(r"# opslimit (\d+) and memlimit (\d+)M: a hash takes (\d+) ms here\nopslimit=\1\nmemlimit=\2M\n")


@pytest.fixture
def little(bed):
    """Memory for 64 hashes at once: there isn't much to measure."""
    bed.configure(max_parallel=64)
    return bed


def test_what_is_printed_is_what_the_configuration_takes(little):
    before = little.configuration.read_text()
    found = LINES.fullmatch(little.tool("calibrate", "--target", "40ms", check=DONE).output)
    assert little.configuration.read_text() == before
    operations, memory, taken = map(int, found.groups())
    with open("/proc/meminfo") as file:
        [all_memory] = re.findall(r"MemTotal: +(\d+) kB", file.read())
    assert 8 <= memory and (memory == 8 or memory * 64 * 4 <= int(all_memory) >> 10) and memory & memory - 1 == 0
    assert 1 <= operations <= 64 and taken <= 80
    little.configure(opslimit=operations, memlimit=f"{memory}M")
    little.enroll("alice", "0471")
    start = time.perf_counter()
    assert little.authenticate("alice", "0471").result == "SUCCESS"
    assert time.perf_counter() - start < 1


def test_write_keeps_everything_else(little):
    little.configure("# the last line, without an end")
    text = "# ours\n" + little.configuration.read_text().replace("opslimit=1", "  opslimit = 1 ").rstrip()
    little.configuration.write_text(text.replace("memlimit=64K\n", ""))
    little.configuration.chmod(0o640)
    assert little.tool("calibrate", "--target", "20ms", "--write", check=DONE).output.startswith("# opslimit ")
    written = little.configuration.read_text()
    kept = [line for line in text.splitlines() if "memlimit" not in line and "opslimit" not in line]
    assert [line for line in written.splitlines() if not re.match("opslimit|memlimit", line)] == kept
    assert re.search(r"^opslimit=\d+$", written, re.MULTILINE) and re.search(r"^memlimit=\d+M\n\Z", written, re.MULTILINE)
    assert little.configuration.stat().st_mode & 0o7777 == 0o640
    assert [path.name for path in little.folder.glob("passcode.conf*")] == ["passcode.conf"]
    little.enroll("alice", "0471")


def test_who_may_write(make_bed):
    bed = make_bed(usual=True, max_parallel=64)
    before = USUAL.read_text()
    assert bed.tool("calibrate", "--target", "10ms", user="alice", check=DONE).output.startswith("# opslimit ")
    bed.tool("calibrate", "--target", "10ms", "--write", user="alice", check=NOT_PERMITTED)
    assert USUAL.read_text() == before


def test_a_file_that_is_missing_is_made(make_bed):
    bed = make_bed(usual=True, max_parallel=64)
    away = USUAL.with_suffix(".away")
    USUAL.rename(away)
    try:
        bed.tool("calibrate", "--target", "10ms", "--write", check=DONE)
        assert re.fullmatch(r"opslimit=\d+\nmemlimit=\d+M\n", USUAL.read_text())
        assert USUAL.stat().st_mode & 0o7777 == 0o644 and USUAL.stat().st_uid == 0
    finally:
        away.rename(USUAL)


def test_two_runs_at_once_leave_a_whole_file(little):
    before = little.configuration.read_text().splitlines()
    command = [*little.tool_words(), "calibrate", "--target", "10ms", "--write", "--quiet"]
    runs = [subprocess.Popen(command, cwd="/") for _ in range(8)]
    assert [run.wait() for run in runs] == [DONE] * 8
    after = little.configuration.read_text().splitlines()
    assert [line.split("=")[0] for line in after] == [line.split("=")[0] for line in before]
    assert not list(little.folder.glob("*.new"))


def test_on_a_full_disk_the_file_stays_as_it_is(little):
    folder = little.folder / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755,size=8k", "tmpfs", str(folder)], check=True)
    try:
        path = folder / "passcode.conf"
        shutil.copy(little.configuration, path)
        path.write_text(path.read_text() + "#" * (4096 - path.stat().st_size - 1) + "\n")
        (folder / "more").write_text("x")
        before = path.read_text()
        answer = little.tool("calibrate", "--target", "10ms", "--write", "--conf", str(path), check=UNUSABLE)
        assert f"{path}: No space left on device" in answer.errors
        assert path.read_text() == before and sorted(folder.iterdir()) == [folder / "more", path]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("target", ["", "250", "9ms", "11s", "1m"])
def test_a_target_is_10_ms_to_10_s(bed, target):
    assert one_line(bed.tool("calibrate", "--target", target, check=USAGE).errors)
