"""`calibrate`: a cost of hashing that suits the machine, printed or put into the configuration."""

import re
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
    away = USUAL.with_suffix(".away")
    USUAL.rename(away)
    answer = bed.tool("calibrate", "--target", "10ms", "--write", check=UNUSABLE)
    away.rename(USUAL)
    assert str(USUAL) in answer.errors


@pytest.mark.parametrize("target", ["", "250", "9ms", "11s", "1m"])
def test_a_target_is_10_ms_to_10_s(bed, target):
    assert one_line(bed.tool("calibrate", "--target", target, check=USAGE).errors)
