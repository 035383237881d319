"""Killed at every system call, and every system call failing: never a refund, a lost enrolment, half a record."""

import re
import shutil
import subprocess

import pytest

import every_call
import host
import plain
import strace
from bed import MEMORY, SLOT
from every_call import ACTS, ERRORS, LOCKED, NOTHING, SHORTAGES, SPENT, Bench, points, share
from machine import ACCOUNT
from scenario import RIGHT
from tally import attack

# Calls that the kernel promises not to fail, and whose failure other people's libraries end the process for:
# libsodium without randomness (getrandom(2): no error once the machine is up), nss-systemd with the signal mask, glibc with a futex.
NEVER_FAIL = {"getrandom": ["EINTR"], "rt_sigprocmask": [], "futex": []}

# No test takes so long that a lock ends meanwhile.
LOCKOUT = "3:3600s,10:reset"
ONE = ACTS["the one attempt"]
# What an attempt comes to: its result, the hashes that it began, the record, what is logged. What the next attempt finds is
# judged by `works`. CHARGED: `act.after[0]`, DONE: `act.after[-1]`; None: as without the failure.
CHARGED, DONE, REMARK = "charged", "done", "granted, but the record cou"
UNAVAILABLE, NO_SLOT = "passcode unavailable", "hashing without a slot"
ENDS = {
    "undisturbed": (None, 1, DONE, None),
    "uncharged": ("AUTHINFO_UNAVAIL", 0, "before", UNAVAILABLE),
    "not synced": ("AUTHINFO_UNAVAIL", 0, CHARGED, UNAVAILABLE),  # the charge: nothing is hashed, and in doubt it counts
    "not hashed": ("AUTHINFO_UNAVAIL", 1, CHARGED, UNAVAILABLE),
    "not reset": ("SUCCESS", 1, CHARGED, REMARK),
    "perhaps not reset": ("SUCCESS", 1, DONE, REMARK),
    "spent": ("AUTHINFO_UNAVAIL", 1, DONE, UNAVAILABLE),  # the one login that it was given out for
    "no slot": (None, 1, DONE, NO_SLOT),
    "stranger": ("PERM_DENIED", 0, "before", "passcode not permitted"),
    "no configuration": ("SERVICE_ERR", 0, "before", UNAVAILABLE),
    "no account": ("USER_UNKNOWN", 0, "before", ""),  # glibc can't read /etc/passwd
    "audit": ("SYSTEM_ERR", 1, DONE, None),  # libpam's own, after the module's answer
}
# Which calls may bring that about, and in which part of the attempt. Whatever else fails changes nothing.
# glibc asks for the status of an open file by fstat since 2.39, by newfstatat before.
FILES = {"openat", "fstat", "newfstatat", "read", "pread64", "lseek"}
CAUSES = {
    "uncharged": (FILES | {"fcntl", "flock", "mmap", "pwrite64", "utimensat", "getrandom"}, ["before"]),
    "not synced": ({"fdatasync"}, ["charge"]),
    "not hashed": ({"mmap", "fstat", "newfstatat", "pwrite64"}, ["hash"]),
    "not reset": ({"pwrite64"}, ["hash"]),
    "perhaps not reset": ({"fdatasync"}, ["settled"]),
    "spent": ({"pwrite64", "fdatasync"}, ["hash", "settled"]),
    "no slot": ({"openat", "fcntl"}, ["before"]),
    "stranger": ({"getresuid"}, ["before"]),
    "no configuration": (FILES, ["before"]),
    "no account": (FILES, ["before"]),
    "audit": ({"socket", "fcntl", "sendto", "recvfrom", "poll"}, ["settled", "hash"]),
}
# What changes a record is exact: these come to this with every error but EINTR, after which they are made again.
WRITES = {
    ("pwrite64", 0): dict.fromkeys(["wrong attempt", "right attempt", "the one attempt"], "uncharged"),
    ("fdatasync", 1): dict.fromkeys(["wrong attempt", "right attempt", "the one attempt"], "not synced"),
    ("pwrite64", 1): {"right attempt": "not reset", "the one attempt": "not hashed"},
    ("fdatasync", 2): {"right attempt": "perhaps not reset", "the one attempt": "spent"},
    ("pwrite64", 2): {"the one attempt": "spent"},
    ("fdatasync", 3): {"the one attempt": "spent"},
}
DONE_EVENTS = ("passcode enrolled", "passcode changed", "passcode removed", "passcode unlocked", "passcode disabled", "passcode paused", "passcode resumed")
# Calls of syslog(3), without which a line is lost.
LOGGING = {"socket", "connect", "sendto"}
HASHING = ["give out", "enrol the first", "enrol again", "change"]


def failures(points):
    """Each call with each error."""
    return [(point, error) for point in points for error in NEVER_FAIL.get(point[0], ERRORS)]


def failing(traced, case):
    """strace's words: it stops the program at these calls alone (which it can't where it is to kill)."""
    (call, when, _), error = case
    return ["-s", "300", "--seccomp-bpf", "-e", f"trace={traced}", "-e", f"inject={call}:error={error}:when={when}"]


@pytest.fixture(scope="module", autouse=True)
def service_account(people):
    """As installed. To learn that there is none takes glibc two thirds of all calls of a wrong attempt."""
    subprocess.run(["useradd", "--system", "--no-create-home", "--badname", ACCOUNT], check=True)
    yield
    subprocess.run(["userdel", "--force", ACCOUNT], check=True)


@pytest.fixture
def benches(make_bed, name):
    """Two, to use two processors; but one for attempts, which remember under /run. After PAM_IGNORE a wrong one would be let
    in: with nullok it is for people without a passcode, and nobody else."""
    shutil.rmtree(MEMORY, ignore_errors=True)
    if "attempt" in name:
        bench = Bench(make_bed(usual=True, lockout=LOCKOUT))
        if name == "wrong attempt":
            bench.bed.service("nullok", stack="auth required {module}\nauth required pam_permit.so")
        return [bench]
    return [Bench(make_bed(lockout=LOCKOUT)) for _ in range(2)]


def judge(bench, act, row, where, expected):
    """The record after the disturbance: one of the expected, and what must work works. That depends on what is on the disk
    alone: so it is looked at once where many disturbances leave the same."""
    left, said = bench.left(), bench.says()
    row.breach("unreadable", (where, said), said["state"] == "corrupt")
    row.breach(
        "lost", (where, said), act.before["enrolled"] and NOTHING not in expected and not said["enrolled"]
    )
    row.breach("refund", (where, said), said["failures"] < min(state["failures"] for state in expected))
    assert said in expected, (where, said, expected)
    assert bench.files() <= bench.others, (where, "a rest in the store")
    if left not in bench.judged:
        works(bench, act, row, where, said)
        bench.judged[left] = said


def works(bench, act, row, where, said):
    """One of the two passcodes opens it, unless it is refused for a reason."""
    if said["state"] in ("locked", "disabled", "must_change"):
        assert host.results(bench.bed, act.codes[0]) == ["AUTH_ERR"], where
        return
    if said["state"] == "paused":
        assert host.results(bench.bed, act.codes[0]) == ["PERM_DENIED"], where
        return
    if not said["enrolled"]:
        assert host.results(bench.bed, RIGHT) == ["USER_UNKNOWN"], where
        return
    codes = [code for code in dict.fromkeys(act.codes) if code]
    opened = [code for code in codes if host.results(bench.bed, code) == ["SUCCESS"]]
    row.breach("refused", (where, said), len(opened) == 0)
    assert len(opened) <= 1, (where, "both passcodes work")


def undisturbed(bench, name):
    """The act's whole run, and what it leaves in the store."""
    act = ACTS[name]
    bench.begin(act)
    run = bench.run(act, "-s", "300")
    bench.others = bench.files()
    assert bench.says() in act.after
    return act, run


@pytest.mark.parametrize("name", ACTS)
def test_killed_at_every_system_call(benches, name):
    """strace kills as the call begins: what was written before it is there, what comes after it isn't."""
    for bench in benches:
        act, whole = undisturbed(bench, name)
    calls = whole.calls
    every = points(whole)
    killed = []

    def work(bench, point):
        call, when, index = point
        before = bench.begin(act)
        run = bench.run(act, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}")
        if run.status != -9:
            return
        killed.append(point)
        row.run()
        writes = sum("passcode_record=" in line for name, line in calls[:index] if name == "pwrite64")
        where = (name, call, when, writes)
        if writes == 0:
            path = bench.bed.record_file("alice")
            found = path.read_bytes() if path.exists() else None
            assert found == before, (where, "touched before anything was to be written")
        judge(bench, act, row, where, expected_after(act, name, writes))

    with attack(f"killed at every system call: {name}") as row:
        share(every, benches, work)
    # Addresses and pids may move a call; all but a few must have been hit.
    assert len(killed) >= len(every) * 0.95 and len(every) > 30, (len(killed), len(every))


def expected_after(act, name, writes):
    """What the record may say after so many writes. An attempt: its first write is the charge, a second the reset.

    What lies between a write's beginning and its end can't be seen from outside, so the charge may be there
    before it is synced: that is the safe side.
    """
    if writes == 0:
        return [act.before]
    if name.endswith("attempt"):
        return [act.after[writes - 1]]
    if name == "enrol the first":  # the first write is to a nameless file
        return [act.before] if writes == 1 else act.after
    if name == "change":
        return [act.after[0]] if writes == 1 else [act.after[1]]
    return act.after


@pytest.mark.parametrize("name", ACTS)
def test_every_system_call_fails(benches, name):
    """Each call, with each error: no crash, no grant without a durable charge, the record untouched or charged. A shortage
    is uncharged before the hash, lets nobody hash without a slot, and leaves the next attempt as it was."""
    for bench in benches:
        act, whole = undisturbed(bench, name)
    cases = failures(points(whole))
    if name not in ("wrong attempt", "right attempt", "enrol the first"):
        # The tool's preliminaries are the same for all commands.
        cases = cases[cases.index(next(case for case in cases if case[0][0] == "flock")) :]

    def work(bench, case):
        (call, when, _), error = case
        bench.begin(act)
        traced = ",".join({call, "openat", "sendto", "pwrite64", "fdatasync", "fcntl", strace.VERIFYING})
        run = bench.run(act, *failing(traced, case))
        row.run()
        hit.append("(INJECTED)" in "".join(line for _, line in run.calls))
        where = (name, call, when, error, run.status, run.output, run.errors[-200:])
        assert run.status >= 0, (where, "crashed")
        said = bench.says()
        expected = [act.before, *act.after]
        if name.endswith("attempt"):
            check_attempt(bench, act, row, where, run, said)
            ends.add(check_end(name, case, where, whole, run, said))
        else:
            check_command(act, where, run, said, part(whole, case[0][2])[1])
            check_log(act, where, logged(run), logged(whole), said)
        hashed = run.verified or run.status == 0 and name in HASHING
        row.breach("beyond", (where, "hashed without a slot"), error in SHORTAGES and hashed and not run.had_slot)
        judge(bench, act, row, where, expected)

    hit, ends = [], set()
    with attack(f"every system call fails: {name}") as row:
        share(cases, benches, work)
    assert sum(hit) >= len(cases) * 0.95, (sum(hit), len(cases))
    if name.endswith("attempt"):
        written = {end for rows in WRITES.values() for act, end in rows.items() if act == name}
        # podman's containers may not write to the kernel's audit log, as Docker's may; libpam goes on without.
        audit = {"audit"} & ends if plain.PLAIN and not is_audited(whole) else {"audit"}
        assert written | audit | {"undisturbed", "no slot"} <= ends, ends


def is_audited(run):
    return any(call == "recvfrom" and "nlmsg_type=NLMSG_ERROR" in line and "{error=0," in line for call, line in run.calls)


def is_write(call, line):
    return call == "pwrite64" and "passcode_record=" in line


def part(whole, index):
    """In which part of an attempt the call is: before the charge, at its sync, until the last write, or after it; and how
    many times the record was written before."""
    writes = [place for place, call in enumerate(whole.calls) if is_write(*call)]
    before = sum(place < index for place in writes)
    is_sync = whole.calls[index][0] == "fdatasync" and before == 1 and "fdatasync" not in [name for name, _ in whole.calls[writes[0] : index]]
    name = "before" if before == 0 else "charge" if is_sync else "settled" if before == len(writes) > 1 else "hash"
    return name, before


def check_end(name, case, where, whole, run, said):
    """It came to one of the ends that this call may have, and to nothing between them."""
    (call, _, index), error = case
    act, (at, writes) = ACTS[name], part(whole, index)
    own = {"wrong attempt": ("AUTH_ERR", "passcode wrong")}.get(name, ("SUCCESS", "passcode granted"))
    [result] = host.named(run.output)
    logged = [line for name, line in run.calls if name == "sendto" and "pam_passcode(" in line and "(INJECTED)" not in line]
    hashes = [name for name, _ in run.calls].count(strace.VERIFYING)

    def fits(end):
        wanted, begun, record, event = ENDS[end]
        expected = {"before": act.before, CHARGED: act.after[0], DONE: act.after[-1]}[record]
        # The event of the verdict, once; and before it a remark.
        events = [own[1]] if event is None else [event, own[1]] if event in (REMARK, NO_SLOT) else [event] if event else []
        told = len(logged) == len(events) and all(map(str.__contains__, logged, events))
        return (wanted or own[0], begun, expected) == (result, hashes, said) and told

    found = [end for end in ENDS if fits(end)]
    possible = {"undisturbed"} | {end for end, (calls, parts) in CAUSES.items() if call in calls and at in parts}
    assert possible & set(found), (where, at, found, result, hashes, said, logged)
    if call == "fdatasync" or is_write(call, whole.calls[index].line):
        exact = WRITES.get((call, writes), {}).get(name, "undisturbed") if error != "EINTR" else "undisturbed"
        assert exact in found, (where, at, found, exact)
    # Those who wait would see no movement, and hash without a slot.
    assert call != "utimensat" or error not in SHORTAGES or "uncharged" in found, (where, found)
    return found[0]


def check_attempt(bench, act, row, where, run, said):
    [result] = host.named(run.output) or [None]
    charged = run.completed("pwrite64") >= 1 and run.completed("fdatasync") >= 1
    row.breach("beyond", (where, "verified without a durable charge"), run.verified and not charged)
    # Where only the sync failed, the charge may be there.
    assert run.verified or said == act.before or "fdatasync" in where, (where, said, "charged without a verification")
    row.breach("beyond", (where, "granted without verification"), result == "SUCCESS" and not run.verified)
    # (Another result than these is libpam's own, whose audit message may fail after the module's answer.)
    denied = result in ("AUTH_ERR", "AUTHINFO_UNAVAIL")
    spent = said == SPENT
    row.breach("beyond", (where, "granted and not spent"), act is ONE and result == "SUCCESS" and not spent)
    row.breach("refund", where, run.verified and denied and not spent and said["failures"] <= act.before["failures"])
    if act is ACTS["wrong attempt"]:
        # Or ignored: see benches.
        row.breach("beyond", (where, "let in"), result == "SUCCESS")
        assert said["failures"] in (1, 2), where
    # glibc says "no such account" where it can't read /etc/passwd; nobody may say it who has seen the record.
    assert result != "USER_UNKNOWN" or f'"{bench.bed.record_file("alice").name}"' not in "".join(line for _, line in run.calls), where
    if act in (ACTS["right attempt"], ONE):
        assert result != "AUTH_ERR", (where, "a right one was called wrong")


def check_command(act, where, run, said, writes):
    """What the tool says is what the record says. It may be done though it failed, where the last sync failed; but a call
    before the record was written leaves nothing of it."""
    assert run.status == 0 or writes > 0 or said == act.before or "pwrite64" in where or "linkat" in where, (where, said)
    if run.status == 0:
        assert said == act.after[-1], (where, said, "said to be done")
    elif said == act.before or said in act.after[:-1]:
        assert run.errors.strip(), (where, "failed without a word")


def logged(run):
    """What a command logged, without the time."""
    lines = [line for name, line in run.calls if name == "sendto" and "(INJECTED)" not in line]
    return re.findall(r'passcode\[-?\d+\]: (.*?)"', "\n".join(lines))


def check_log(act, where, events, usual, said):
    """What was done is logged, once; what wasn't done is not. Of a command that failed after the last write the record
    decides: it may be logged, for it may be done."""
    [done] = [event for event in usual if event.startswith(DONE_EVENTS)]
    _, call, _, _, status, *_ = where
    assert events.count(done) <= 1, (where, events)
    if status == 0:
        assert done in events or call in LOGGING, (where, "done, and not logged", events)
    elif said == act.before or said in act.after[:-1]:
        assert done not in events, (where, "logged, and not done", events)
    for event in set(events) - set(usual):
        assert event.startswith((NO_SLOT, "passcode unavailable")) or status != 0, (where, event)


def test_locked_stays_locked_whatever_fails(make_bed):
    """The right passcode while locked: no failing call lets it in."""
    benches = [Bench(make_bed(lockout=LOCKOUT)) for _ in range(2)]
    act = every_call.Act(every_call.attempt(RIGHT), "", LOCKED, [LOCKED], (RIGHT, RIGHT))
    for bench in benches:
        bench.begin(act)
        whole = bench.run(act)
        bench.others = bench.files()
    cases = failures(points(whole))

    def work(bench, case):
        before = bench.begin(act)
        run = bench.run(act, *failing(f"{case[0][0]},getsid", case))
        row.run()
        row.breach("beyond", case, run.verified or host.named(run.output) == ["SUCCESS"])
        assert run.status >= 0, (case, "crashed")
        assert bench.bed.record("alice") == before, case

    with attack("every system call fails: right code while locked") as row:
        share(cases, benches, work)


def alone(bench, copy):
    """What alice's record says where only this one of its two copies can be read."""
    whole = bench.bed.record("alice")
    damaged = bytearray(whole)
    damaged[(1 - copy) * SLOT + 100] ^= 1
    bench.bed.record_file("alice").write_bytes(damaged)
    said = bench.says()
    bench.bed.record_file("alice").write_bytes(whole)
    return said


@pytest.mark.parametrize("name", ["remove", "unlock", "disable", "pause", "resume"])
def test_repeating_finishes_what_was_cut_off_between_the_two_copies(make_bed, name):
    """There is nothing to do by then, says the newer copy; but the older one would bring back what was before."""
    bench, act = Bench(make_bed(lockout=LOCKOUT)), ACTS[name]
    [after] = act.after
    [credential] = set(re.findall(rb"^sealed=(\w+)$", bench.begin(act), re.MULTILINE))
    run = bench.run(act, "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=KILL:when=1")
    assert run.status == -9 and bench.says() == after
    assert [alone(bench, copy) == after for copy in (0, 1)].count(True) == 1, "cut off between the two"
    bench.run(act)
    assert [alone(bench, copy) for copy in (0, 1)] == [after, after]
    assert (credential in bench.bed.record("alice")) == after["enrolled"]
