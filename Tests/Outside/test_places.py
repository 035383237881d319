"""Places: Argon2 is bounded on the whole machine, and nobody who is stuck or dead keeps the others out."""

import contextlib
import pathlib
import signal
import subprocess
import time

import pytest

import forge
import host
from scenario import RIGHT, WRONG
from bed import wait_for
from tally import attack

CROWD = 500
HEAVY = {"memlimit": "256M", "opslimit": "8"}
QUICK = {"memlimit": "64K", "opslimit": "1"}


@pytest.fixture(scope="module")
def citizens(people):
    """Accounts, a hundred times as many as there are places."""
    names = [f"citizen{number:03}" for number in range(CROWD)]
    with open("/etc/passwd", "a") as passwd:
        for number, name in enumerate(names):
            passwd.write(f"{name}:x:{40500 + number}:{40500 + number}::/:/bin/sh\n")
    return names


def enroll_all(bed, users):
    bed.enroll(users[0], RIGHT)
    forge.enroll_like(bed, users[0], users[1:])


def storm(bed, users, **how):
    with attack("login storm: one right passcode each, all at once") as row:
        crowd = host.crowd(bed, [(user, RIGHT, 0) for user in users], **how)
        row.run(len(users))
        row.breach("refused", crowd.count("SUCCESS"), len(users) - crowd.count("SUCCESS"))
    assert crowd.hashes == len(users)
    return crowd


@pytest.mark.parametrize("places", [1, 2, 4])
def test_no_more_hash_at_once_than_there_are_places(make_bed, citizens, places):
    bed = make_bed(memlimit="8M", max_parallel=places)
    users = citizens[:40]
    enroll_all(bed, users)
    crowd = storm(bed, users)
    assert crowd.most_hashing == places


def test_a_storm_costs_what_its_hashes_cost(make_bed, citizens, capsys):
    """500 users at once, at the default cost: the time of bare libsodium in as many processes, and the memory of
    as many hashes.
    """
    places, operations, memory = 2, 3, 64 << 20
    bed = make_bed(memlimit="64M", opslimit=operations, max_parallel=places)
    enroll_all(bed, citizens)
    # About half as many, half of them before and half after, so that the machine's mood cancels out; an even number,
    # so that no process is left to hash alone.
    sample = CROWD // 8 * 2
    bare = host.bare_hashing(sample, places, operations, memory)
    crowd = storm(bed, citizens, measures_memory=True)
    bare += host.bare_hashing(sample, places, operations, memory)
    bare *= CROWD / (2 * sample)
    # On top of what the login programs take themselves, waiting at their prompts.
    more = crowd.memory_peak - crowd.memory_before
    with capsys.disabled():
        rows = [
            ("time", crowd.seconds, bare, "s"),
            ("memory", more / 2**20, places * memory / 2**20, "MiB"),
        ]
        for name, ours, other, unit in rows:
            what = f"login storm of {CROWD}: {name} / bare libsodium in {places} processes"
            print(
                f"\n  {what:<58} {ours:9.2f} {unit} / {other:9.2f} {unit} = {ours / other:6.3f}  (at most 1.1)"
            )
    assert crowd.most_hashing == places
    assert crowd.seconds <= 1.1 * bare
    assert more <= 1.1 * places * memory


# MARK: Holders that die, stop or are frozen


@pytest.fixture
def street(make_bed):
    """Bob's and carol's passcodes take seconds to verify, alice's none; there are two places."""
    bed = make_bed(max_parallel=2, **HEAVY)
    bed.enroll("bob", RIGHT)
    forge.enroll_like(bed, "bob", ["carol"])
    bed.configure(**QUICK)
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


def test_who_dies_leaves_the_place(street):
    with attack("holders of all places killed") as row:
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


@contextlib.contextmanager
def stopped(holders):
    for holder in holders:
        holder.kill(signal.SIGSTOP)
    yield
    for holder in holders:
        holder.kill(signal.SIGCONT)


@contextlib.contextmanager
def frozen(holders):
    root = pathlib.Path("/run/cgroup")
    root.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "cgroup2", str(root)], check=True)
    group = root / "passcode-test"
    group.mkdir()
    for holder in holders:
        (group / "cgroup.procs").write_text(str(holder.child))
    (group / "cgroup.freeze").write_text("1")
    wait_for(lambda: "frozen 1" in (group / "cgroup.events").read_text())
    yield
    (group / "cgroup.freeze").write_text("0")
    for holder in holders:
        (root / "cgroup.procs").write_text(str(holder.child))
    group.rmdir()
    subprocess.run(["umount", str(root)], check=True)


@pytest.mark.parametrize("stuck", [stopped, frozen])
def test_who_is_stuck_costs_others_one_pause_and_no_refusal(street, stuck):
    """All places are held by stuck logins of several accounts. Anybody else waits 10 s and goes on; only the
    holders' own records are unavailable, and root is told who holds them."""
    holders = hashing(street, "bob", "carol")
    with attack("holders of all places stopped or frozen") as row, stuck(holders):
        started = time.monotonic()
        others = [street.start("alice", code) for code in (RIGHT, RIGHT)]
        own = street.start("bob", WRONG[0])
        answer = street.tool("unlock", "bob")
        row.run()
        outcomes = [run.wait() for run in others]
        assert time.monotonic() - started <= 25
        row.breach("refused", "alice", sum(outcome.result != "SUCCESS" for outcome in outcomes))
        assert own.wait().result == "AUTHINFO_UNAVAIL"
        assert answer.status == 7 and str(holders[0].child) in answer.errors, answer
        logged = [line.message for line in street.log()]
        assert any("place" in line for line in logged), "went on without a place, and didn't say so"
    for user, holder in zip(("bob", "carol"), holders, strict=True):
        assert holder.wait().result == "SUCCESS"
        assert street.failures(user) == 0


def test_one_stuck_holder_leaves_the_other_places_to_all(street):
    with attack("one place's holder stopped") as row:
        [holder] = hashing(street, "bob")
        with stopped([holder]):
            started = time.monotonic()
            crowd = host.crowd(street, [("alice", RIGHT, 0)] * 50)
            row.run(50)
            row.breach("refused", "", 50 - crowd.count("SUCCESS"))
            assert time.monotonic() - started < 8 and crowd.most_hashing == 1
        assert holder.wait().result == "SUCCESS"


def test_who_waits_for_a_place_can_be_interrupted(street):
    holders = hashing(street, "bob", "carol")
    with stopped(holders):
        waiting = street.start("alice", RIGHT)
        time.sleep(0.5)
        waiting.kill(signal.SIGTERM)
        assert waiting.wait(5).killed_by == signal.SIGTERM
    assert street.failures("alice") == 0, "charged before it had a place"
    assert [holder.wait().result for holder in holders] == ["SUCCESS"] * 2
    assert street.authenticate("alice", RIGHT).result == "SUCCESS"


def test_the_places_are_in_the_store_and_no_ordinary_person_can_hold_one(street):
    street.authenticate("alice", RIGHT)
    others = [path for path in street.store.iterdir() if not path.name.isdigit()]
    assert len(others) == 1
    mode = others[0].stat().st_mode
    assert mode & 0o077 == 0 or (mode & 0o007 == 0 and others[0].stat().st_gid == 0)


def test_without_its_file_the_places_are_made_anew(street):
    street.authenticate("alice", RIGHT)
    for path in street.store.iterdir():
        if not path.name.isdigit():
            path.unlink()
    assert street.authenticate("alice", RIGHT).result == "SUCCESS"
