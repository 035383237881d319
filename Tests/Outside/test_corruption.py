"""Damaged records: what is unreadable is unavailable and says the way out; one bad slot costs nothing."""

import concurrent.futures
import json
import random
import re

import pytest

import forge
import host
from bed import SLOT, become, uid
from scenario import RIGHT, WRONG, fail, refused_unasked, unavailable_uncharged, valid_slots
from tally import attack
from tool import UNUSABLE

LENGTH = 2 * SLOT


def changed(whole, start, end, generator):
    """Some bytes of that part changed."""
    data = bytearray(whole)
    for _ in range(generator.choice([1, 1, 2, 16])):
        # Within the text: the rest of a slot is NUL, and as long.
        index = generator.randrange(start, end)
        data[index] ^= generator.randrange(1, 256)
    return bytes(data)


def overwritten(bed, whole):
    with open(bed.record_file("alice"), "r+b") as file:
        file.write(whole)


@pytest.fixture
def failed_once(alice):
    fail(alice, 1)
    return alice


SEEDS = range(60)


def test_any_bytes_of_both_slots(failed_once):
    whole = failed_once.record("alice")
    with attack("corruption: both slots") as row:
        for seed in SEEDS:
            generator = random.Random(seed)
            bad = changed(changed(whole, 0, SLOT, generator), SLOT, LENGTH, generator)
            if valid_slots(bad):
                continue  # the same byte changed twice: as it was
            overwritten(failed_once, bad)
            row.run()
            codes = (RIGHT, WRONG[1])
            row.breach("beyond", seed, host.results(failed_once, *codes) != ["AUTHINFO_UNAVAIL"] * 2)
            assert failed_once.record("alice") == bad, (seed, "written to")
    assert row.runs > 50


def test_both_slots_bad_is_named_with_the_way_out(failed_once):
    whole = bytearray(failed_once.record("alice"))
    for slot in (0, SLOT):
        whole[slot + 100] ^= 1
    overwritten(failed_once, whole)
    unavailable_uncharged(failed_once)
    path = str(failed_once.record_file("alice"))
    logged = [line.message for line in failed_once.log()]
    assert any(path in line and "damaged" in line and "passcode enroll" in line for line in logged)
    answer = failed_once.tool("status", "alice", check=UNUSABLE)
    said = answer.output + answer.errors
    assert path in said and "damaged" in said and "passcode enroll" in said
    assert failed_once.status("alice")["state"] == "corrupt"
    assert failed_once.tool("status", "--json", "alice").status == UNUSABLE
    assert "alice" in failed_once.tool("list", check=0).output
    for command in ("unlock", "disable"):
        failed_once.tool(command, "alice", check=UNUSABLE)
    # The ways out: enrolling again, and removing.
    failed_once.enroll("alice", "8260")
    assert host.results(failed_once, "8260") == ["SUCCESS"]
    overwritten(failed_once, whole)
    failed_once.tool("remove", "alice", check=0)
    assert host.results(failed_once, RIGHT) == ["USER_UNKNOWN"]


@pytest.mark.parametrize("slot", [0, 1])
def test_any_bytes_of_one_slot(failed_once, slot):
    """The other serves, so at most one attempt is given back; it is logged, and the next write repairs it."""
    whole = failed_once.record("alice")
    newer = max((0, 1), key=lambda number: generation(whole, number))
    with attack("corruption: one slot") as row:
        for seed in SEEDS:
            bad = changed(whole, slot * SLOT, (slot + 1) * SLOT, random.Random(seed))
            if len(valid_slots(bad)) == 2:
                continue
            assert valid_slots(bad) == [1 - slot]
            overwritten(failed_once, bad)
            row.run()
            status = failed_once.status("alice")
            row.breach("unreadable", seed, status["state"] == "corrupt")
            row.breach("lost", seed, not status["enrolled"])
            # The older slot says one failure fewer: what damage by somebody who can write the store gives back.
            assert status["failures"] == (0 if slot == newer else 1)
            row.breach("refused", seed, host.results(failed_once, RIGHT) != ["SUCCESS"])
            assert valid_slots(failed_once.record("alice")) == [0, 1], (seed, "not repaired")
    assert row.runs > 50
    logged = [line.message for line in failed_once.log()]
    assert sum("copy" in line and "damaged" in line and "alice" in line for line in logged) >= 50


def test_a_write_that_a_failing_disk_lost_after_all(failed_once):
    """fdatasync failed, but the next attempt still read the page, and wrote the other copy: that one counts."""
    before = failed_once.record("alice")
    assert host.results(failed_once, WRONG[0]) == host.results(failed_once, WRONG[1]) == ["AUTH_ERR"]
    whole = bytearray(failed_once.record("alice"))
    lost = min((0, 1), key=lambda number: generation(whole, number))
    whole[lost * SLOT : (lost + 1) * SLOT] = before[lost * SLOT : (lost + 1) * SLOT]
    assert abs(generation(whole, 0) - generation(whole, 1)) == 3
    overwritten(failed_once, whole)
    status = failed_once.status("alice")
    assert (status["state"], status["failures"]) == ("locked", 3)
    assert json.loads(failed_once.tool("list", "--json", check=0).output)["failures"] == 3
    failed_once.tool("unlock", "alice", check=0)
    assert host.results(failed_once, RIGHT) == ["SUCCESS"]


def torn(whole):
    return whole[:100] + b"x" + whole[101:SLOT] + whole[SLOT : SLOT + 100] + b"x" + whole[SLOT + 101 :]


def anothers(whole):
    return whole.replace(b"\nname=alice\n", b"\nname=mallo\n")


DAMAGE = {
    "both slots": torn, "another's name": anothers, "no byte": lambda whole: b"", "one slot": lambda whole: whole[:SLOT],
    "zeros": lambda whole: bytes(LENGTH), "text": lambda whole: b"state=removed\n".ljust(LENGTH),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("by", ["root", "alice"])
def test_nullok_ignores_no_damaged_record(machine, what, by):
    """PAM_IGNORE leaves the module out: whoever damaged a record would have one factor less to pass."""
    machine.enroll("alice", RIGHT)
    machine.service("nullok", stack="auth required {module}\nauth required pam_permit.so")
    machine.record_file("alice").write_bytes(DAMAGE[what](machine.record("alice")))
    outcome = machine.authenticate("alice", RIGHT, prepare=become(by))
    assert refused_unasked(outcome, "AUTHINFO_UNAVAIL")


def generation(whole, slot):
    return int(re.search(rb"^generation=(\d+)$", whole[slot * SLOT :], re.MULTILINE)[1])


@pytest.mark.parametrize("slot", [0, 1])
def test_a_wrong_attempt_repairs_too(failed_once, slot):
    whole = bytearray(failed_once.record("alice"))
    whole[slot * SLOT] ^= 1
    overwritten(failed_once, whole)
    before = failed_once.failures("alice")
    assert host.results(failed_once, WRONG[7]) == ["AUTH_ERR"]
    assert failed_once.failures("alice") == before + 1
    assert valid_slots(failed_once.record("alice")) == [0, 1]


def standing(bed):
    """Her status, but for when a lock ends: a second more or less, depending on when one asks."""
    return {**bed.status("alice"), "seconds_left": None, "locked_until": None}


@pytest.mark.parametrize("act", ["remove", "unlock", "disable", "enroll"])
def test_an_act_of_roots_leaves_nothing_older_in_either_slot(alice, act):
    """Later damage can't bring back what was there before: both slots are written."""
    fail(alice, 3)
    command = ["enroll", "--stdin"] if act == "enroll" else [act]
    alice.typed.add("8260")
    alice.tool(*command, "alice", stdin="8260\n", check=0)
    after, whole = standing(alice), alice.record("alice")
    for slot in (0, 1):
        bad = bytearray(whole)
        bad[slot * SLOT + 50] ^= 1
        overwritten(alice, bad)
        assert standing(alice) == after, slot


def test_removing_and_enrolling_while_others_wait_never_makes_two_locks(make_bed):
    """The file is never replaced: who waited for the old passcode's lock holds the new one's, and counts in it."""
    bed = make_bed(lockout="10:reset")
    bed.enroll("alice", RIGHT)
    inode = bed.record_file("alice").stat().st_ino
    with attack("removal and re-enrolment while others wait") as row:
        for _ in range(20):
            running = [bed.start("alice", code) for code in [*WRONG[:3], RIGHT, RIGHT]]
            bed.tool("remove", "alice", check=0)
            bed.enroll("alice", RIGHT)
            outcomes = [run.wait() for run in running]
            row.run()
            assert bed.record_file("alice").stat().st_ino == inode
            status = bed.status("alice")
            row.breach("unreadable", status, status["state"] == "corrupt")
            row.breach("lost", status, not status["enrolled"])
            results = [outcome.result for outcome in outcomes]
            assert set(results) <= {"SUCCESS", "AUTH_ERR", "USER_UNKNOWN"}
            row.breach("beyond", results, "SUCCESS" in results[:3])
            assert status["failures"] <= results.count("AUTH_ERR"), "charged from before the enrolment"
            row.breach("refused", status, host.results(bed, RIGHT) != ["SUCCESS"])
    names = {path.name for path in bed.store.iterdir() if path.name.isdigit()}
    assert names == {str(uid("alice"))}


def test_first_enrolments_at_once_make_one_record(keyed):
    """Eight enrol the same account for the first time: one file, one passcode, and it is one of theirs."""
    codes = [f"{number}71{number}" for number in range(2, 10)]
    keyed.typed |= set(codes)
    with attack("first enrolments at once") as row:
        for _ in range(5):
            keyed.record_file("alice").unlink(missing_ok=True)
            with concurrent.futures.ThreadPoolExecutor(len(codes)) as pool:
                done = pool.map(
                    lambda code: keyed.tool("enroll", "--stdin", "alice", stdin=f"{code}\n"), codes
                )
                assert [answer.status for answer in done] == [0] * len(codes)
            row.run()
            opened = 0
            for code in codes:
                keyed.tool("unlock", "alice", check=0)
                opened += host.results(keyed, code) == ["SUCCESS"]
            row.breach("lost", opened, opened != 1)
    assert [path.name for path in keyed.store.iterdir() if path.name.isdigit()] == [str(uid("alice"))]


def test_every_byte_of_the_hash_counts(alice):
    """A credential, sealed as it must be, whose hash is another one by one bit: the right passcode is wrong."""
    plain, key, whole = forge.credential(alice, "alice"), alice.key.read_bytes(), alice.record("alice")
    with attack("corruption: one bit of the hash") as row:
        for index in range(*forge.HASH.indices(len(plain))):
            forged = bytearray(plain)
            forged[index] ^= 1
            forge.reseal(alice, "alice", bytes(forged), key)
            row.run()
            row.breach("beyond", index, host.results(alice, RIGHT) != ["AUTH_ERR"])
            overwritten(alice, whole)
    assert row.runs == 32 and host.results(alice, RIGHT) == ["SUCCESS"]
