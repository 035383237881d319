"""Root takes a passcode back while others hold its record: nobody stalls that, and nobody is let in by it."""

import contextlib
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import strace
from bed import become, person
from process import in_locks, make_urgent, wait_for
from scenario import RIGHT, WRONG
from tally import attack

SLOW = {"memlimit": "256M", "opslimit": "12"}
DISABLING, REMOVING = 0o1000, 0o100


@pytest.fixture
def slow(make_bed):
    """Alice's passcode takes seconds to verify."""
    bed = make_bed(**SLOW)
    bed.enroll("alice", RIGHT)
    return bed


def mode(bed, user="alice"):
    return bed.record_file(user).stat().st_mode & 0o7777


def mark(bed, bits):
    bed.record_file("alice").chmod(0o600 | bits)


def charged(bed, user="alice", **how):
    """A login in the middle of its hash."""
    before = bed.record(user)
    login = bed.start(user, RIGHT, **how)
    wait_for(lambda: bed.record(user) != before)
    return login


RESULTS = {"disable": "AUTH_ERR", "remove": "USER_UNKNOWN", "pause": "PERM_DENIED"}
STATES = {"disable": ("disabled", True), "remove": ("ok", False), "pause": ("paused", True)}


def words(act, user="alice"):
    """Nobody here has a password."""
    return [act, user, *(["--even-locked-out"] if act == "pause" else [])]


def works(bed, act, user="alice"):
    """What the act promised."""
    assert bed.authenticate(user, RIGHT).result == RESULTS[act]
    said = bed.status(user)
    assert (said["state"], said["enrolled"]) == STATES[act]
    assert mode(bed, user) == 0o600


# MARK: The mark


@pytest.mark.parametrize("bits", [DISABLING, REMOVING, DISABLING | REMOVING])
def test_a_marked_record_refuses_every_attempt_uncharged(alice, bits):
    mark(alice, bits)
    before = alice.record("alice")
    for code in (RIGHT, WRONG[0]):
        outcome = alice.authenticate("alice", code)
        assert outcome.result == "AUTH_ERR" and outcome.prompts == []
    assert alice.record("alice") == before and alice.status("alice")["state"] == "disabled"


@pytest.mark.parametrize("bits", [DISABLING, REMOVING])
def test_a_mark_that_comes_during_the_prompt_counts(alice, bits):
    def answer(_):
        mark(alice, bits)
        return RIGHT

    before = alice.record("alice")
    assert alice.authenticate("alice", answer).result == "AUTH_ERR" and alice.record("alice") == before


@pytest.mark.parametrize("bits", [DISABLING, REMOVING])
def test_a_mark_that_comes_during_the_hash_counts_before_the_attempt_is_settled(slow, bits):
    login = charged(slow)
    mark(slow, bits)
    assert login.wait().result == "AUTH_ERR"
    mark(slow, 0)
    assert slow.failures("alice") == 1, "the charge stays"


def test_a_mark_that_comes_while_an_attempt_waits_for_its_slot_keeps_it_from_being_charged(make_bed):
    bed = make_bed(max_parallel=1)
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    with open(bed.store / "places", "r+b") as slots:
        fcntl.lockf(slots, fcntl.LOCK_EX | fcntl.LOCK_NB, 128)
        login = bed.start("alice", RIGHT)
        time.sleep(1)
        mark(bed, DISABLING)
    assert login.wait().result == "AUTH_ERR" and bed.record("alice") == before


@pytest.mark.parametrize("bits, act", [(DISABLING, "disable"), (REMOVING, "remove")])
def test_what_was_cut_off_is_finished_by_repeating_it_or_ended_by_enabling(alice, bits, act):
    mark(alice, bits)
    assert alice.tool("enable", "alice", check=0).output
    assert mode(alice) == 0o600 and alice.authenticate("alice", RIGHT).result == "SUCCESS"
    mark(alice, bits)
    alice.tool(act, "alice", check=0)
    works(alice, act)
    mark(alice, bits)  # cut off after the record was written
    alice.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=0)
    assert alice.authenticate("alice", RIGHT).result == ("AUTH_ERR" if act == "disable" else "SUCCESS")


def test_a_mark_that_may_come_back_is_told(alice):
    """Whoever is told that the passcode is enabled again may rely on that."""
    mark(alice, DISABLING)
    how = strace.record(alice.folder / "trace", "-e", "inject=fsync:error=EIO")
    assert alice.tool("enable", "alice", before=how).status == 7


@pytest.mark.parametrize("act", ["unlock", "enroll", "pause"])
def test_no_other_command_takes_a_mark_away(alice, act):
    mark(alice, DISABLING)
    all_words = [act, "--stdin", "alice"] if act == "enroll" else words(act)
    alice.tool(*all_words, stdin=f"{RIGHT}\n", check=0)
    assert alice.authenticate("alice", RIGHT).result == "AUTH_ERR" and mode(alice) == 0o600 | DISABLING


# MARK: Holders


@pytest.mark.parametrize("act", ["disable", "remove", "pause"])
def test_a_stopped_attempt_gets_a_second_and_is_ended(slow, act):
    with attack(f"a stopped attempt, and {act}") as row:
        login = charged(slow)
        login.kill(signal.SIGSTOP)
        started = time.monotonic()
        answer = slow.tool(*words(act), check=0)
        assert 1 <= time.monotonic() - started < 4
        assert f"ended process {login.child} (" in answer.errors
        row.run()
        outcome = login.wait()
        row.breach("beyond", "let in", outcome.result == "SUCCESS")
        assert outcome.killed_by == signal.SIGKILL
    works(slow, act)


def test_an_attempt_that_is_over_within_a_second_is_not_ended(make_bed):
    bed = make_bed(memlimit="64M", opslimit="2")
    bed.enroll("alice", RIGHT)
    login = charged(bed, prepare=make_urgent)
    answer = bed.tool("disable", "alice", check=0)
    assert answer.errors == "" and not login.wait().killed_by
    works(bed, "disable")


@pytest.mark.parametrize("act", ["disable", "remove", "pause"])
def test_stopped_logins_that_take_turns_hold_up_nothing(slow, act):
    """As `su bob` run by bob: root's rights, and bob's real uid. He stops whichever holds the record, lets it go on just
    before others give up, and stops the next; and starts new ones all the time."""
    slow.enroll("bob", RIGHT)
    record = in_locks(slow.record_file("bob"))
    holder = 'holder() { awk \'/FLOCK/ && $6 ~ /^%s$/ { print $5; exit }\' /proc/locks; }' % record
    turns = f"{holder}\nwhile :; do one=$(holder); [ \"$one\" ] && kill -STOP $one; sleep 0.02; done"
    before = slow.record("bob")

    def prepare():
        become("bob", "root", "root")()

    with attack(f"stopped logins that take turns, and {act}") as row, contextlib.ExitStack() as stack:
        logins = [slow.start("bob", RIGHT, prepare=prepare)]
        wait_for(lambda: slow.record("bob") != before)
        script = subprocess.Popen(["sh", "-c", turns], **person("bob"), stderr=subprocess.DEVNULL)
        stack.callback(lambda: (script.kill(), script.wait()))
        logins += [slow.start("bob", RIGHT, prepare=prepare) for _ in range(7)]
        time.sleep(0.3)
        started = time.monotonic()
        slow.tool(*words(act, "bob"), check=0)
        row.run()
        assert time.monotonic() - started < 10
        script.kill()
        for login in logins:
            with contextlib.suppress(ProcessLookupError):
                login.kill(signal.SIGCONT)
        outcomes = [login.wait() for login in logins]
        row.breach("beyond", "let in", sum(outcome.result == "SUCCESS" for outcome in outcomes))
    works(slow, act, "bob")


def test_only_the_process_that_holds_this_very_record_is_ended(slow):
    """Others may have a file of the same number on another file system, and a lock on that."""
    number = slow.record_file("alice").stat().st_ino
    with decoy(slow, number) as other:
        login = charged(slow)
        login.kill(signal.SIGSTOP)
        waiting = slow.start("alice", RIGHT)  # has the record open, and no lock on it
        time.sleep(0.2)
        slow.tool("disable", "alice", check=0)
        assert login.wait().killed_by == signal.SIGKILL
        assert waiting.wait().result == "AUTH_ERR" and other.poll() is None
    works(slow, "disable")


@contextlib.contextmanager
def decoy(bed, number):
    """A process with a lock on a file of this number elsewhere."""
    folder = bed.folder / "other"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "inode64", "tmpfs", str(folder)], check=True)
    for name in range(200_000):
        path = folder / str(name)
        path.touch()
        if path.stat().st_ino == number:
            break
        path.unlink()
    else:
        pytest.fail(f"no file got the number {number}")
    with subprocess.Popen(["flock", "--no-fork", str(path), "sleep", "60"]) as other:
        wait_for(lambda: re.search(f" {in_locks(path)} 0 EOF", pathlib.Path("/proc/locks").read_text()))
        yield other
        other.kill()
    subprocess.run(["umount", str(folder)], check=True)


def test_where_the_holder_cannot_be_ended_it_is_named_and_nobody_else_is_let_in(slow):
    """The lock outlives its process with a child's descriptor, and that child isn't who /proc/locks names. Its process is
    not waited for until the end: in a namespace of processes that list names nobody whose number is free again."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        file = os.open(slow.record_file("alice"), os.O_RDWR)
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fork() == 0:
            os.write(writing, b"%d" % os.getpid())
            signal.pause()
        os._exit(0)
    keeper = int(os.read(reading, 16))
    try:
        started = time.monotonic()
        answer = slow.tool("disable", "alice")
        assert answer.status == 7 and time.monotonic() - started < 15
        assert "refused from now on" in answer.errors and f"process {child}" in answer.errors
        assert mode(slow) == 0o600 | DISABLING
    finally:
        os.kill(keeper, signal.SIGKILL)
        os.waitpid(child, 0)
    assert slow.authenticate("alice", RIGHT).result == "AUTH_ERR"
    slow.tool("disable", "alice", check=0)
    works(slow, "disable")


# MARK: Cut off, raced, and without space (see test_disk.py, too)


@pytest.mark.parametrize("act", ["disable", "remove", "pause"])
def test_killed_at_each_call_while_somebody_holds_the_record_it_is_as_it_was_or_refused(make_bed, act):
    """And the same command finishes it. From the mark on nobody is let in."""
    bed = make_bed()
    bed.enroll("alice", RIGHT)
    record = bed.record("alice")
    trace = bed.folder / "trace"
    seen = set()
    with attack(f"killed at each call: {act}, held") as row:
        for call, when in [(name, n) for name in CALLS for n in range(1, CALLS[name] + 1)]:
            bed.record_file("alice").write_bytes(record)
            mark(bed, 0)
            kill = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"]
            with holding(bed):
                answer = bed.tool(*words(act), before=strace.record(trace, *kill))
                marked = mode(bed) != 0o600
            row.run()
            if answer.status == 0:
                continue
            seen.add(marked)
            result = bed.authenticate("alice", RIGHT).result
            row.breach("beyond", (call, when), marked and result == "SUCCESS")
            assert result in ("SUCCESS", "AUTH_ERR", RESULTS[act]), (call, when, result)
            bed.tool(*words(act))
            if act == "pause" and marked:
                # What may be a disable's isn't ended by repeating a pause.
                assert bed.status("alice")["state"] == "disabled"
                bed.tool("enable", "alice", check=0)
            works(bed, act)
    assert seen == {False, True}


CALLS = {"fchmod": 2, "fsync": 2, "flock": 12, "pidfd_open": 1, "pidfd_send_signal": 1, "pwrite64": 2, "fdatasync": 2}


@contextlib.contextmanager
def holding(bed):
    """A process that holds alice's record, and is ended in the end, by whomever."""
    with subprocess.Popen(["flock", "--no-fork", str(bed.record_file("alice")), "sleep", "60"]) as holder:
        wait_for(lambda: re.search(f" {in_locks(bed.record_file('alice'))} ", pathlib.Path("/proc/locks").read_text()))
        try:
            yield
        finally:
            holder.kill()


def test_enabling_and_disabling_raced_with_logins_end_as_one_of_them(make_bed):
    bed = make_bed(memlimit="8M")
    bed.enroll("alice", RIGHT)
    for _ in range(15):
        started = [
            subprocess.Popen([*bed.tool_words(), act, "alice"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for act in ("disable", "enable", "disable", "enable")
        ]
        # One that held the record for a second would be ended.
        logins = [bed.start("alice", RIGHT, prepare=make_urgent) for _ in range(3)]
        assert [one.wait() for one in started] == [0] * 4
        assert {login.wait().result for login in logins} <= {"SUCCESS", "AUTH_ERR"}
        state = bed.status("alice")["state"]
        assert bed.authenticate("alice", RIGHT).result == {"ok": "SUCCESS", "disabled": "AUTH_ERR"}[state]
        assert mode(bed) == 0o600


def test_a_disk_that_takes_no_write_keeps_the_mark(alice):
    """The record can't be written: it goes on to be refused all the same."""
    trace = alice.folder / "trace"
    full = ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"]
    with holding(alice):
        assert alice.tool("disable", "alice", before=strace.record(trace, *full)).status == 7
    assert mode(alice) == 0o600 | DISABLING and alice.authenticate("alice", RIGHT).result == "AUTH_ERR"
