"""Hashing slots: Argon2 is bounded on the whole machine, and nobody who is stuck, slow or dead keeps the others out."""

import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import forge
import host
import strace
import pam
import shared
from bed import MODULE, QUICK, Bed, become, person
from process import in_locks, wait_for
from scenario import RIGHT, WRONG
from tally import attack

CROWD = 200
HEAVY = {"memlimit": "256M", "opslimit": "8"}
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def citizens(people):
    """Accounts, a hundred times as many as there are slots."""
    names = [f"citizen{number:03}" for number in range(CROWD)]
    before = pathlib.Path("/etc/passwd").read_text()
    with open("/etc/passwd", "a") as passwd:
        for number, name in enumerate(names):
            passwd.write(f"{name}:x:{40500 + number}:{40500 + number}::/:/bin/sh\n")
    yield names
    # libc reads a longer list in more calls, and they are counted elsewhere.
    pathlib.Path("/etc/passwd").write_text(before)


def enroll_all(bed, users):
    bed.enroll(users[0], RIGHT)
    forge.enroll_like(bed, users[0], users[1:])


def storm(bed, users, **how):
    with attack("login storm: one right passcode each, all at once") as row:
        crowd = host.crowd(bed, [(user, RIGHT, 0) for user in users], **how)
        row.run(len(users))
        row.breach("refused", crowd.count("SUCCESS"), len(users) - crowd.count("SUCCESS"))
    return crowd


def assert_bounded(crowd, slots):
    """Overflow slots count only where somebody has waited for 2 s."""
    waited = max(login.seconds for login in crowd.logins) >= 2
    assert crowd.most_hashing <= 2 * slots if waited else crowd.most_hashing == slots


@pytest.mark.alone
@pytest.mark.parametrize("mood", ["crowd", "threads"])
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_no_more_hash_at_once_than_there_are_slots(make_bed, citizens, slots, mood):
    """By processes, and by threads of one login program: to a lock of the process these would be the same."""
    bed = make_bed(memlimit="8M", max_parallel=slots)
    users = citizens[:40]
    enroll_all(bed, users)
    crowd = storm(bed, users, mood=mood)
    assert crowd.hashes == len(users)
    assert_bounded(crowd, slots)


def test_who_waits_for_2_s_may_take_an_overflow_slot_and_there_are_as_many_of_them(make_bed, citizens):
    bed = make_bed(memlimit="64M", opslimit=10, max_parallel=1)
    users = citizens[:24]
    enroll_all(bed, users)
    crowd = storm(bed, users)
    assert crowd.seconds > 3, "too short for this test"
    assert crowd.most_hashing == 2


def test_a_shortage_of_descriptors_lets_nobody_hash_without_a_slot(make_bed, citizens):
    """`ulimit -n` before `su`: a login that can't open the file of the slots is refused, uncharged."""
    bed = make_bed(memlimit="8M", max_parallel=2)
    users = citizens[:20]
    enroll_all(bed, users)
    results = []
    with attack("login storm: too few descriptors") as row:
        for files in range(7, 18):
            crowd = host.crowd(bed, [(user, RIGHT, 0) for user in users], files=files)
            row.run(len(users))
            row.breach("beyond", files, max(0, crowd.most_hashing - 4))
            assert crowd.hashes == crowd.count("SUCCESS"), files
            results.append({login.result for login in crowd.logins})
    assert {"AUTHINFO_UNAVAIL"} in results and results[-1] == {"SUCCESS"}
    assert [user for user in users if bed.failures(user)] == []


@pytest.mark.alone
def test_a_new_hash_for_a_new_cost_is_under_the_slot_of_its_login(make_bed, citizens):
    bed = make_bed(memlimit="8M", max_parallel=2)
    users = citizens[:20]
    enroll_all(bed, users)
    bed.configure(memlimit="9M")
    crowd = storm(bed, users)
    assert crowd.hashes == 2 * len(users)
    assert_bounded(crowd, 2)


@pytest.mark.alone
def test_a_storm_costs_what_its_hashes_cost(make_bed, citizens, capsys):
    """200 users at once, at the default cost: hardly more than the time of bare libsodium in as many processes as there
    are slots, and the memory of twice as many hashes: nearly everybody waits for more than 2 s, so that twice as many
    hash, while the others look again and again whether a slot is free.
    """
    slots, operations, memory = 2, 3, 64 * MEBIBYTE
    bed = make_bed(memlimit="64M", opslimit=operations, max_parallel=slots)
    enroll_all(bed, citizens)
    # About half as many, half of them before and half after, so that the machine's mood cancels out; an even number,
    # so that no process is left to hash alone.
    sample = CROWD // 8 * 2
    bare = host.bare_hashing(sample, slots, operations, memory)
    crowd = storm(bed, citizens)
    bare += host.bare_hashing(sample, slots, operations, memory)
    bare *= CROWD / (2 * sample)
    # In a storm of its own, because looking at so many processes takes time, too.
    measured = storm(bed, citizens[: CROWD // 4], measures_memory=True)
    # On top of what the login programs take themselves, waiting at their prompts.
    more = measured.memory_peak - measured.memory_before
    with capsys.disabled():
        rows = [
            ("time", crowd.seconds, bare, "s", 1.5),
            ("memory", more / MEBIBYTE, 2 * slots * memory / MEBIBYTE, "MiB", 1.1),
        ]
        for name, ours, other, unit, bar in rows:
            what = f"login storm of {CROWD}: {name} / bare libsodium"
            print(
                f"\n  {what:<58} {ours:9.2f} {unit} / {other:9.2f} {unit} = {ours / other:6.3f}  (at most {bar})"
            )
    assert crowd.hashes == len(citizens)
    assert_bounded(crowd, slots)
    assert crowd.seconds <= 1.5 * bare
    assert more <= 1.1 * 2 * slots * memory


# MARK: Enrolment and change


def start_tool(bed, *words, stdin):
    """The tool, under way with all that it is to read."""
    bed.typed |= set(stdin.split())
    process = subprocess.Popen(
        [*bed.tool_words(), *words],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    process.stdin.write(stdin.encode())
    process.stdin.close()
    return process


def private_memory(process):
    """Bytes that belong to it alone."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(number) << 10 for number in re.findall(r"^Private_\w+: +(\d+) kB", text, re.MULTILINE))


def most_memory(processes):
    """The most that they took together, until all ended well. Each is looked at twice, the first one first and last: what
    it had both times it had at the same moment as the others. One may end, and the next begin, while they are looked at."""
    most = 0
    while None in [process.poll() for process in processes]:
        before = [private_memory(process) for process in processes]
        after = [private_memory(process) for process in reversed(processes)]
        most = max(most, sum(map(min, before, reversed(after))))
        time.sleep(0.005)
    assert [process.returncode for process in processes] == [0] * len(processes)
    return most


@pytest.mark.parametrize("command, operations", [("enroll", 10), ("change", 5)])
def test_eight_enrolments_or_changes_at_once_hash_under_the_slots(make_bed, citizens, command, operations, capsys):
    """A change hashes twice. Together they take more than 2 s, so that there is an overflow slot."""
    memory = 64 * MEBIBYTE
    bed = make_bed(memlimit="64M", opslimit=operations, max_parallel=1)
    users = citizens[:8]
    enroll_all(bed, users)
    typed = "8260\n" if command == "enroll" else f"{RIGHT}\n8260\n"
    most = most_memory([start_tool(bed, command, "--stdin", user, stdin=typed) for user in users])
    with capsys.disabled():
        print(f"\n  eight times passcode {command}: {most / MEBIBYTE:.0f} MiB (at most {2.2 * 64:.0f})")
    assert memory < most <= 1.1 * 2 * memory
    assert host.crowd(bed, [(user, "8260", 0) for user in users]).count("SUCCESS") == 8


@pytest.mark.parametrize("user, enrolled", [("alice", True), ("citizen000", False)])
def test_an_enrolment_that_waits_for_a_slot_can_be_interrupted(street, citizens, user, enrolled):
    """And leaves what was there: no passcode, or the old one."""
    holders = hashing(street, "bob", "carol")
    with stopped(holders):
        before = street.status(user)
        waiting = start_tool(street, "enroll", "--stdin", user, stdin="8260\n")
        wait_for(lambda: locker(street, user) == waiting.pid)
        time.sleep(0.2)
        waiting.terminate()
        assert waiting.wait(20) == -signal.SIGTERM
        assert street.status(user) == before and before["enrolled"] == enrolled
    assert [holder.wait().result for holder in holders] == ["SUCCESS"] * 2


# MARK: The record's lock first, then the slot


def locker(bed, user):
    """The process that holds the user's record, as anybody can read it; None: nobody does, or there is no record."""
    file = bed.record_file(user)
    found = file.exists() and re.search(rf"FLOCK +ADVISORY +WRITE (\d+) {in_locks(file)} ", pathlib.Path("/proc/locks").read_text())
    return int(found[1]) if found else None


@pytest.mark.alone
@pytest.mark.parametrize("what", ["logins", "enrolments"])
def test_who_waits_for_a_record_holds_no_slot(make_bed, slow_record, what):
    """Bob's login is stuck, and more of bob's wait for his record: alice doesn't notice."""
    bed = make_bed(max_parallel=2)
    slow_record(bed)
    bed.enroll("alice", RIGHT)
    [holder] = hashing(bed, "bob")
    with stopped([holder]):
        if what == "logins":
            waiting = [bed.start("bob", RIGHT).wait for _ in range(4)]
        else:
            waiting = [start_tool(bed, "enroll", "--stdin", "bob", stdin="8260\n").wait for _ in range(4)]
        time.sleep(1)
        started = time.monotonic()
        assert bed.authenticate("alice", RIGHT).result == "SUCCESS"
        assert time.monotonic() - started < 1.5
    for wait in [holder.wait, *waiting]:
        wait()


# MARK: Holders that die, stop or are frozen


@pytest.fixture(scope="module")
def slow_record(people, journal):
    """Enrols bob on a bed: his passcode takes seconds to verify. It is hashed once, and all beds have the same key."""
    first = Bed(journal=journal, place="/run", **HEAVY)
    first.enroll("bob", RIGHT)

    def enroll(bed):
        bed.typed.add(RIGHT)
        bed.tool("key", "init", check=0)
        bed.key.write_bytes(first.key.read_bytes())
        shutil.copy2(first.record_file("bob"), bed.record_file("bob"))

    yield enroll
    first.remove()


@pytest.fixture
def street(make_bed, slow_record):
    """Bob's and carol's passcodes take seconds to verify, alice's none; there are two slots."""
    bed = make_bed(max_parallel=2)
    slow_record(bed)
    forge.enroll_like(bed, "bob", ["carol"])
    bed.enroll("alice", RIGHT)
    return bed


def hashing(bed, *users):
    """Logins of these users, all in the middle of their hash."""
    running = []
    for user in users:
        before = bed.record(user)
        running.append(bed.start(user, RIGHT))
        wait_for(lambda user=user, before=before: bed.record(user) != before)
    return running


@pytest.mark.alone
def test_who_dies_leaves_the_slot(street):
    with attack("holders of all slots killed") as row:
        holders = hashing(street, "bob", "carol")
        for holder in holders:
            holder.kill(signal.SIGKILL)
            holder.wait()
        row.run()
        started = time.monotonic()
        row.breach("refused", "alice", host.results(street, RIGHT) != ["SUCCESS"])
        assert time.monotonic() - started < 2
        for user in ("bob", "carol"):
            row.breach("refund", user, street.failures(user) != 1)


@pytest.mark.alone
def test_a_child_forked_in_the_middle_of_a_hash_keeps_neither_slot_nor_record(make_bed):
    """It has the login's open files, and with them the locks, until they are given back by name."""
    bed = make_bed(max_parallel=1)
    for user in ("alice", "bob"):
        bed.enroll(user, RIGHT)
    login = subprocess.Popen(
        host.one(bed, RIGHT, user="bob"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"FORKS": "1"},
    )  # fmt: skip
    assert host.named(login.stdout.read()) == ["SUCCESS"] and login.wait() == 0
    # The child has the pipe's end, and stays.
    for user in ("alice", "bob"):
        started = time.monotonic()
        assert bed.authenticate(user, RIGHT).result == "SUCCESS"
        assert time.monotonic() - started < 1.5, user
    login.stdin.write(b"x")
    login.stdin.close()


@contextlib.contextmanager
def stopped(holders):
    for holder in holders:
        holder.kill(signal.SIGSTOP)
    try:
        yield
    finally:
        for holder in holders:
            holder.kill(signal.SIGCONT)


@contextlib.contextmanager
def frozen(holders):
    """In a cgroup of this call's: cgroups are the whole machine's."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="passcode-cgroup-"))
    subprocess.run(["mount", "-t", "cgroup2", "cgroup2", str(root)], check=True)
    group = pathlib.Path(tempfile.mkdtemp(prefix="passcode-test-", dir=root))
    for holder in holders:
        (group / "cgroup.procs").write_text(str(holder.child))
    (group / "cgroup.freeze").write_text("1")
    wait_for(lambda: "frozen 1" in (group / "cgroup.events").read_text())
    try:
        yield
    finally:
        (group / "cgroup.freeze").write_text("0")
        for process in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                (root / "cgroup.procs").write_text(process)
        group.rmdir()
        subprocess.run(["umount", str(root)], check=True)
        root.rmdir()


@pytest.mark.parametrize("stuck", [stopped, frozen])
def test_who_is_stuck_costs_others_one_pause_and_no_refusal(street, stuck):
    """All slots, overflow slots too, are held by stuck logins of several accounts. Anybody else waits for 9 s and goes
    on; only the holders' own records are unavailable, and root is told who holds them."""
    street.configure(max_parallel=1)
    with attack("holders of all slots stopped or frozen") as row, contextlib.ExitStack() as stack:
        holders = []
        for user in ("bob", "carol"):  # carol has waited for 2 s
            holders += hashing(street, user)
            stack.enter_context(stuck(holders[-1:]))
        started = time.monotonic()
        others = [street.start("alice", code) for code in (RIGHT, RIGHT)]
        own = street.start("bob", WRONG[0])
        answer = street.tool("unlock", "bob")
        row.run()
        outcomes = [run.wait() for run in others]
        assert 9 <= time.monotonic() - started <= 25
        row.breach("refused", "alice", sum(outcome.result != "SUCCESS" for outcome in outcomes))
        assert own.wait().result == "AUTHINFO_UNAVAIL"
        assert answer.status == 7 and str(holders[0].child) in answer.errors, answer
        logged = [line.message for line in street.log()]
        assert any("hashing without a slot" in line for line in logged), logged
    for user, holder in zip(("bob", "carol"), holders, strict=True):
        assert holder.wait().result == "SUCCESS"
        assert street.failures(user) == 0


@pytest.mark.alone
def test_one_stuck_holder_leaves_the_other_slots_to_all(street):
    with attack("one slot's holder stopped") as row:
        [holder] = hashing(street, "bob")
        with stopped([holder]):
            started = time.monotonic()
            crowd = host.crowd(street, [("alice", RIGHT, 0)] * 50)
            row.run(50)
            row.breach("refused", "", 50 - crowd.count("SUCCESS"))
            assert time.monotonic() - started < 8 and crowd.most_hashing == 1
        assert holder.wait().result == "SUCCESS"


def test_who_waits_for_a_slot_can_be_interrupted(street):
    holders = hashing(street, "bob", "carol")
    with stopped(holders):
        waiting = street.start("alice", RIGHT)
        time.sleep(0.5)
        waiting.kill(signal.SIGTERM)
        assert waiting.wait(20).killed_by == signal.SIGTERM
    assert street.failures("alice") == 0, "charged before it had a slot"
    assert [holder.wait().result for holder in holders] == ["SUCCESS"] * 2
    assert street.authenticate("alice", RIGHT).result == "SUCCESS"


# MARK: One person holds others up, on one processor


@pytest.fixture
def on_one_processor():
    """For `prepare`. Each run that shares the tests has another one."""
    there = sorted(os.sched_getaffinity(0))
    return functools.partial(os.sched_setaffinity, 0, {there[shared.place() % len(there)]})


def bobs_login(bed, on_one_processor):
    """As `su bob -c true` run by bob: root's rights, and bob's real uid. Bob may send it any signal."""

    def prepare():
        on_one_processor()
        become("bob", "root", "root")()

    return pam.start("slow", "bob", bed.services, [RIGHT], prepare=prepare)


def by_bob(bed, script):
    """A script of bob's, in which `holder` tells which of his logins holds his record."""
    record = in_locks(bed.record_file("bob"))
    holder = 'holder() { awk \'/FLOCK/ && $6 ~ /^%s$/ { print $5; exit }\' /proc/locks; }' % record
    return subprocess.Popen(["sh", "-c", f"{holder}\n{script}"], **person("bob"), stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def script(bed, text):
    assert by_bob(bed, "kill -STOP $(holder)").wait() == 0, "bob may do that"
    running = by_bob(bed, text)
    try:
        yield
    finally:
        running.kill()
        running.wait()


def hand_over(bed, _):
    """Stops the login that holds the slot, lets it go on just before others would, and stops the next."""
    return script(
        bed,
        """while :; do
             one=$(holder); kill -STOP $one; sleep 8.8; kill -CONT $one
             while [ "$(holder)" = "$one" ]; do sleep 0.01; done; sleep 0.3
           done""",
    )


def pulses(bed, _):
    """Lets it run for 10 ms in every second."""
    return script(
        bed, "while :; do one=$(holder); kill -STOP $one; sleep 0.99; kill -CONT $one; sleep 0.01; done"
    )


def freeze(_, first):
    return frozen([first])


@pytest.mark.calm
@pytest.mark.parametrize("way, seconds", [(hand_over, 13), (pulses, 5), (freeze, 5)])
@pytest.mark.parametrize("slots, longest", [("1", 3), ("auto", 1.5)])
def test_one_person_holds_others_up_for_3_s_at_most(make_bed, on_one_processor, slots, longest, way, seconds):
    """Bob starts login after login with his right passcode, and has one of them hold a slot all the time. With `auto`
    there are two slots, on one processor too: alice doesn't even notice."""
    bed = make_bed(max_parallel=slots, memlimit="128M", opslimit="16")
    bed.enroll("bob", RIGHT)
    # A service with this cost, so that bob's passcode keeps it.
    slow = shutil.copy(bed.configuration, bed.folder / "slow.conf")
    (bed.services / "slow").write_text(f"auth required {MODULE} conf={slow}\n")
    bed.configure(**QUICK)
    bed.enroll("alice", RIGHT)
    with attack(f"one person holds the slot: {way.__name__}") as row:
        before = bed.record("bob")
        logins, waits = [bobs_login(bed, on_one_processor)], []
        wait_for(lambda: bed.record("bob") != before)
        with way(bed, logins[0]):
            logins += [bobs_login(bed, on_one_processor) for _ in range(7)]
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                started = time.monotonic()
                outcome = bed.authenticate("alice", RIGHT, prepare=on_one_processor)
                waits.append(round(time.monotonic() - started, 2))
                row.run()
                row.breach("refused", waits[-1], outcome.result != "SUCCESS")
        for login in logins:
            login.kill()
            login.wait()
    assert max(waits) <= longest, waits
    assert slots == "auto" or max(waits) >= 2, "nobody was held up: no attack"


# MARK: The file


def test_the_slots_are_in_the_store_and_no_ordinary_person_can_hold_one(street):
    street.authenticate("alice", RIGHT)
    others = [path for path in street.store.iterdir() if not path.name.isdigit()]
    assert len(others) == 1
    mode = others[0].stat().st_mode
    assert mode & 0o077 == 0 or (mode & 0o007 == 0 and others[0].stat().st_gid == 0)


@pytest.mark.parametrize("length", [None, 0, 64])
def test_a_file_that_is_missing_or_of_an_older_version_serves(street, length):
    file = street.store / "places"
    if length is None:
        file.unlink()
    else:
        os.truncate(file, length)
    assert street.authenticate("alice", RIGHT).result == "SUCCESS"
    assert file.stat().st_size == (128 if length is None else length)
    assert not [line for line in street.log() if "slot" in line.message]


def test_it_is_whole_and_synced_before_it_has_a_name(bed):
    """As the machine key is, which `key init` makes after it."""
    trace = bed.folder / "trace"
    bed.tool("key", "init", before=strace.record(trace, "-e", "trace=pwrite64,fsync,fdatasync,linkat"), check=0)
    calls = [(call.name, call.arguments.split(",")[0]) for call in strace.calls(trace)]
    assert [name for name, _ in calls] == ["pwrite64", "fsync", "linkat", "fsync"] * 2
    for written, synced, _, last in ([file for _, file in calls[:4]], [file for _, file in calls[4:]]):
        assert written == synced != last, "the file is synced, then its folder"
