"""`calibrate`: a cost of hashing that suits the machine, printed or put into the configuration."""

import fcntl
import os
import re
import shutil
import signal
import subprocess

import pytest

import strace
from bed import USUAL, become
from tool import DONE, NOT_PERMITTED, UNUSABLE, USAGE, one_line

LINES = re.compile(r"# opslimit (\d+) and memlimit (\d+)M: a hash takes (\d+) ms here\nopslimit=\1\nmemlimit=\2M\n")


@pytest.fixture
def little(bed):
    """Memory for 64 hashes at once: there isn't much to measure."""
    bed.configure(max_parallel=64)
    return bed


def test_what_is_printed_is_what_the_configuration_takes(little):
    before = little.configuration.read_text()

    def calibrated():
        found = LINES.fullmatch(little.tool("calibrate", "--target", "40ms", check=DONE).output)
        return [int(number) for number in found.groups()]

    # The last measurement is printed, which something else may disturb.
    operations, memory, taken = min((calibrated() for _ in range(3)), key=lambda found: found[2])
    assert little.configuration.read_text() == before
    with open("/proc/meminfo") as file:
        [all_memory] = re.findall(r"MemTotal: +(\d+) kB", file.read())
    assert 8 <= memory and (memory == 8 or memory * 64 * 4 <= int(all_memory) >> 10) and memory & memory - 1 == 0
    assert 1 <= operations <= 64 and taken <= 80
    little.configure(opslimit=operations, memlimit=f"{memory}M")
    little.enroll("alice", "0471")
    outcome = little.authenticate("alice", "0471")
    assert outcome.result == "SUCCESS" and outcome.processor_seconds < 1


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
        # Without a configuration the most memory is tried first; here there is little.
        bed.tool("calibrate", "--target", "10ms", "--write", check=DONE, before=["prlimit", f"--as={100 << 20}"])
        assert re.fullmatch(r"opslimit=\d+\nmemlimit=\d+M\n", USUAL.read_text())
        assert USUAL.stat().st_mode & 0o7777 == 0o644 and USUAL.stat().st_uid == 0
    finally:
        away.rename(USUAL)


def start(bed, **how):
    command = [*bed.tool_words(), "calibrate", "--target", "10ms", "--write", "--quiet"]
    return subprocess.Popen(command, cwd="/", stderr=subprocess.PIPE, text=True, **how)


def test_several_runs_at_once_leave_a_whole_file(little):
    """One that comes while another writes says so."""
    before = little.configuration.read_text().splitlines()
    runs = [start(little) for _ in range(8)]
    ended = [(run.communicate()[1], run.returncode) for run in runs]
    busy = (f"passcode: {little.configuration}: another run is writing to it\n", UNUSABLE)
    assert ("", DONE) in ended and set(ended) <= {("", DONE), busy}
    after = little.configuration.read_text().splitlines()
    assert [line.split("=")[0] for line in after] == [line.split("=")[0] for line in before]
    assert not list(little.folder.glob("*.new"))


def new_file(bed):
    return bed.configuration.with_name("passcode.conf.new")


def test_while_another_run_writes_the_file_stays(little):
    before = little.configuration.read_text()
    with new_file(little).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answer = little.tool("calibrate", "--target", "10ms", "--write", check=UNUSABLE)
    assert answer.errors == f"passcode: {little.configuration}: another run is writing to it\n"
    assert little.configuration.read_text() == before and new_file(little).exists()


def test_a_lock_that_anyone_can_take_keeps_nobody_waiting(make_bed):
    """The folder can be opened, and so locked, by everyone; what is locked instead can't."""
    bed = make_bed(usual=True, max_parallel=64)
    command = ["flock", "--exclusive", str(USUAL.parent), "sh", "-c", "echo; sleep 100"]
    locker = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=become("alice"), start_new_session=True)
    try:
        assert locker.stdout.readline()
        assert start(bed).wait(timeout=60) == DONE
    finally:
        os.killpg(locker.pid, signal.SIGKILL)
        locker.wait()


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_what_a_killed_run_left_is_taken_over(little, mode):
    new_file(little).write_text("x" * 10_000)
    new_file(little).chmod(mode)
    little.tool("calibrate", "--target", "10ms", "--write", check=DONE)
    assert "x" * 20 not in little.configuration.read_text() and not new_file(little).exists()
    little.enroll("alice", "0471")


@pytest.mark.parametrize("kind", ["link", "hard link", "directory"])
def test_nothing_is_written_through_what_is_in_the_way(little, kind):
    victim = little.folder / "victim"
    victim.write_text("mine")
    if kind == "link":
        new_file(little).symlink_to(victim)
    elif kind == "hard link":
        os.link(victim, new_file(little))
    else:
        new_file(little).mkdir()
    before = little.configuration.read_text()
    assert one_line(little.tool("calibrate", "--target", "10ms", "--write", check=UNUSABLE).errors)
    assert victim.read_text() == "mine" and little.configuration.read_text() == before


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


@pytest.mark.parametrize("call, is_new", [("renameat:error=EBUSY", False), ("fsync:error=EIO:when=1", False), ("fsync:error=EIO:when=2", True)])
def test_a_step_that_fails_is_told(little, call, is_new):
    """A file that something is mounted on can't be replaced; one whose folder isn't on the device may come back."""
    before = little.configuration.read_text()
    how = strace.record(little.folder / "trace", "-e", f"inject={call}")
    errors = little.tool("calibrate", "--target", "10ms", "--write", check=UNUSABLE, before=how).errors
    assert str(little.configuration) in errors and one_line(errors)
    assert (little.configuration.read_text() != before) == is_new and not new_file(little).exists()


@pytest.mark.parametrize("target", ["", "250", "9ms", "11s", "1m"])
def test_a_target_is_10_ms_to_10_s(bed, target):
    assert one_line(bed.tool("calibrate", "--target", target, check=USAGE).errors)
