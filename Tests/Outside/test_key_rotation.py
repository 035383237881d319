"""passcode key rotate: a new machine key, while people log in, and whenever it is killed."""

import contextlib
import fcntl
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

import pytest

import forge
import strace
from bed import become, uid
from keys import argon2id, copies, keys, openers
from machine import ALICE
from process import in_locks, wait_for
from scenario import RIGHT, WRONG, overwrite
from tool import DONE, UNUSABLE, one_line

CROWD = 1_000
CODES = [f"{number:04}" for number in range(10_000)]


def fill(bed, count):
    forge.enroll_numbers_like(bed, "alice", [(200_000 + number, f"person{number}") for number in range(count)])


def start(bed):
    return subprocess.Popen([*bed.tool_words(), "key", "rotate"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def rotate(bed, check=DONE):
    return bed.tool("key", "rotate", check=check)


def assert_all_open(bed, count):
    """With one key each copy, and with one that is on the disk."""
    found = openers(bed)
    assert len(found) == count
    assert all(len(copies) == 2 and all(len(openers) == 1 for openers in copies) for copies in found.values())
    return found


def test_everybody_is_under_the_new_key_and_nobody_under_the_old_one(alice):
    alice.enroll("bob", "8305")
    fill(alice, 20)
    before = keys(alice)["old"]
    assert rotate(alice).output.startswith("22 passcodes are under the new machine key. The old key has been removed.\n")
    found = openers(alice, {"before": before, "after": alice.key.read_bytes()})
    assert len(found) == 22 and all(copies == [{"after"}, {"after"}] for copies in found.values())
    assert sorted(path.name for path in alice.key.parent.glob("key*")) == ["key", "key.lock"]
    assert alice.tool("key", "status", check=DONE).errors == ""
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    assert alice.authenticate("bob", WRONG[0]).result == "AUTH_ERR" and alice.failures("bob") == 1
    assert any(line.message.startswith("machine key rotate by_uid=0") for line in alice.log())


def test_the_count_of_failures_and_everything_else_stays(alice):
    for code in WRONG[:4]:
        alice.authenticate("alice", code)
    alice.tool("disable", "alice", check=DONE)
    before = alice.status("alice")
    rotate(alice)
    assert alice.status("alice") == before


def test_a_removed_passcode_and_an_empty_store_are_no_obstacle(keyed):
    key = keyed.key.read_bytes()
    assert rotate(keyed).output.startswith("0 passcodes")
    assert keyed.key.read_bytes() != key
    keyed.enroll("alice", RIGHT)
    keyed.tool("remove", "alice", check=DONE)
    assert rotate(keyed).output.startswith("0 passcodes")


def test_a_new_key_has_the_owner_and_the_mode_of_the_old_one(machine):
    before = machine.key.stat()
    rotate(machine)
    after = machine.key.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


# MARK: Killed


PEOPLE = {"alice": RIGHT, "bob": "8305", "carol": "9071"}


def says_what_is_left(bed, left):
    """A record with one copy under each key counts as done, or not: both are true."""
    said = bed.tool("key", "status", check=DONE).errors
    [number] = re.findall(r"^passcode: warning: (\d) passcodes? (?:is|are) still under the old machine key;", said)
    return left <= int(number) <= left + 1


CALLS = "openat linkat fsync fdatasync pwrite64 renameat flock fchmod fchown".split()


@pytest.mark.parametrize("call", CALLS)
def test_killed_at_each_step_everybody_has_one_key_and_the_next_run_finishes(machine, call):
    """Each call of that name in turn: each is what the kill at the next one comes after. Where there is the service account,
    the key gets an owner."""
    for user, code in PEOPLE.items():
        machine.enroll(user, code)
    number, killed = 0, True
    while killed:
        number += 1
        run = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
             "-e", f"inject={call}:signal=KILL:when={number}", *machine.tool_words(), "key", "rotate"],
            capture_output=True,
        )  # fmt: skip
        killed = run.returncode != 0
        found = assert_all_open(machine, 3)
        for user, code in PEOPLE.items():
            machine.tool("verify", "--stdin", user, stdin=f"{code}\n", check=DONE)
        if len(keys(machine)) == 2:
            left = sum(copies == [{"old"}, {"old"}] for copies in found.values())
            assert says_what_is_left(machine, left)
        # From the beginning, or from where the last one was killed.
        if number % 2 == 0:
            rotate(machine)
            assert len(keys(machine)) == 1
    assert number > 1, "nothing was killed"
    rotate(machine)
    assert all(copies == [{"old"}, {"old"}] for copies in assert_all_open(machine, 3).values())


@pytest.mark.parametrize("number", range(1, 5))
def test_a_store_that_cannot_be_listed_keeps_its_key(alice, number):
    """Each reading of the folder, cut short by an error of the disk: that is no empty store."""
    for user, code in PEOPLE.items():
        alice.enroll(user, code)
    fail = strace.record("/dev/null", "-e", "trace=getdents64", "-e", f"inject=getdents64:error=EIO:when={number}")
    answer = alice.tool("key", "rotate", before=fail)
    assert answer.status == UNUSABLE and "Input/output error" in answer.errors
    assert_all_open(alice, 3)
    rotate(alice)
    assert len(keys(alice)) == 1
    for user, code in PEOPLE.items():
        alice.tool("verify", "--stdin", user, stdin=f"{code}\n", check=DONE)


def test_killed_at_random_points_nobody_is_lost(alice):
    """1,000 records: killed again and again, and finished at last."""
    fill(alice, CROWD - 1)
    before, killed, chance = keys(alice)["old"], 0, random.Random(17)
    whole = time.monotonic()
    rotate(alice)
    whole = time.monotonic() - whole
    for _ in range(25):
        tool = start(alice)
        time.sleep(chance.uniform(0, whole))
        tool.send_signal(signal.SIGKILL)
        killed += tool.wait() == -signal.SIGKILL
        assert_all_open(alice, CROWD)
    assert killed >= 5
    rotate(alice)
    known = {"before": before, "after": alice.key.read_bytes()}
    assert all(copies == [{"after"}, {"after"}] for copies in openers(alice, known).values())
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_what_is_enrolled_in_between_is_under_the_next_key(alice):
    fill(alice, CROWD)
    while len(keys(alice)) == 1:
        tool = start(alice)
        time.sleep(0.02)
        tool.kill()
        tool.wait()
    alice.enroll("bob", "8305")
    alice.enroll("alice", "9071")
    found = openers(alice)
    for user in ("alice", "bob"):
        assert found[int(alice.record_file(user).name)] == [{"new"}, {"new"}]
    rotate(alice)
    assert alice.authenticate("alice", "9071").result == "SUCCESS"
    assert alice.authenticate("bob", "8305").result == "SUCCESS"


# MARK: Meanwhile


def test_an_open_prompt_sees_the_whole_rotation(alice):
    def rotate_meanwhile(_):
        rotate(alice)
        return RIGHT

    assert alice.authenticate("alice", rotate_meanwhile).result == "SUCCESS"


def test_logins_enrolments_and_changes_go_on(own):
    """Through the helper and directly, right and wrong; each is what it is without a rotation."""
    fill(own, CROWD)
    own.enroll("carol", "0471")
    stop, outcomes, codes = threading.Event(), [], ["0471"]

    def people():
        while not stop.is_set():
            for how in ({}, ALICE):
                outcomes.append(own.authenticate("alice", RIGHT, **how).result == "SUCCESS")
            outcomes.append(own.authenticate("bob", WRONG[0]).result == "AUTH_ERR")
            outcomes.append(own.authenticate("bob", RIGHT, prepare=become("bob")).result == "SUCCESS")
            codes.append(f"{random.randrange(10_000):04}")
            own.enroll("carol", codes[-1])
            outcomes.append(own.authenticate("carol", codes[-1]).result == "SUCCESS")

    thread = threading.Thread(target=people)
    thread.start()
    try:
        for _ in range(3):
            rotate(own)
    finally:
        stop.set()
        thread.join()
    assert len(outcomes) >= 5 and all(outcomes)
    assert all(copies == [{"old"}, {"old"}] for copies in assert_all_open(own, CROWD + 3).values())


def test_one_rotation_at_a_time(alice):
    fill(alice, CROWD)
    with alice.record_file("alice").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # so that the first one doesn't end meanwhile
        first = start(alice)
        while len(keys(alice)) == 1:
            assert first.poll() is None
        answer = rotate(alice, check=UNUSABLE)
    assert one_line(answer.errors) and "another process is changing the machine key" in answer.errors
    assert first.wait() == DONE


SLOW = {"opslimit": 3, "memlimit": "256M"}
MEANWHILE = {
    "enroll": (("enroll", "--stdin", "alice"), "8305\n"),
    "change": (("change", "--stdin", "--force", "alice"), "8305\n"),
    "verify, hashed again": (("verify", "--stdin", "alice"), f"{RIGHT}\n"),
    "a batch's worker": (("enroll", "--batch", "-"), "alice:8305\n"),
}


def holders(record):
    """The processes that have the record locked."""
    found = re.findall(rf"FLOCK +ADVISORY +WRITE +(\d+) +{in_locks(record)} ", open("/proc/locks").read())
    return [int(pid) for pid in found]


def hold_while_hashing(bed, words, stdin):
    """Starts it, and stops the process that hashes: it has the record's lock, and the key in memory."""
    bed.typed.add("8305")
    run = subprocess.Popen(
        [*bed.tool_words(), *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )
    run.stdin.write(stdin)
    run.stdin.close()
    pids = []
    while not any(map(hashes, pids)):
        assert run.poll() is None
        time.sleep(0.005)
        pids = holders(bed.record_file("alice"))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    # The kernel's list is no snapshot.
    wait_for(lambda: holders(bed.record_file("alice")) == pids)
    return run, pids


def hashes(pid):
    """It has the memory for that."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        size = re.search(r"VmSize:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        return size is not None and int(size[1]) > 200_000
    return False


@pytest.mark.parametrize("how", MEANWHILE)
def test_who_holds_the_old_key_in_memory_ends_with_a_record_that_opens(alice, how):
    """It is stopped while it hashes; the rotation begins meanwhile, and waits for it."""
    words, stdin = MEANWHILE[how]
    alice.enroll("bob", "9071")
    alice.configure(**SLOW)
    run, pids = hold_while_hashing(alice, words, stdin)
    rotation = start(alice)
    while len(keys(alice)) == 1:
        assert rotation.poll() is None
    time.sleep(0.1)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert run.wait() == DONE and rotation.wait() == DONE
    assert all(copies == [{"old"}, {"old"}] for copies in assert_all_open(alice, 2).values())
    code = RIGHT if "verify" in how else "8305"
    assert alice.authenticate("alice", code).result == "SUCCESS" and alice.authenticate("bob", "9071").result == "SUCCESS"


def test_who_holds_it_for_long_keeps_the_old_key(alice):
    """A rotation that gave up on a record leaves both keys; what is written afterwards opens, and is rotated then."""
    alice.configure(**SLOW)
    run, pids = hold_while_hashing(alice, *MEANWHILE["enroll"])
    assert "1 record still needs the old key" in rotate(alice, check=UNUSABLE).errors
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert run.wait() == DONE and len(keys(alice)) == 2
    assert alice.authenticate("alice", "8305").result == "SUCCESS"
    rotate(alice)
    assert alice.authenticate("alice", "8305").result == "SUCCESS" and len(keys(alice)) == 1


TYPED_AFTER = {
    "enroll": (("enroll", "--stdin", "alice"), "", "8305\n", DONE, "8305"),
    "change": (("change", "--stdin", "alice"), f"{RIGHT}\n", "8305\n", UNUSABLE, RIGHT),
    "change --force": (("change", "--stdin", "--force", "alice"), "", "8305\n", DONE, "8305"),
    "a batch": (("enroll", "--batch", "-", "--quiet"), "bob:9071\n", "alice:8305\n", DONE, "8305"),
}


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("how", TYPED_AFTER)
def test_what_was_begun_before_a_rotation_and_typed_after_it_opens(alice, how, kill):
    """Also where the rotation was killed. A change whose old passcode was proven before is refused, and changes nothing."""
    words, before, after, status, code = TYPED_AFTER[how]
    fill(alice, 5)
    alice.typed |= {"8305", "9071"}
    attempts = alice.status("alice")["last_success"]
    run = subprocess.Popen(
        [*alice.tool_words(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    run.stdin.write(before)
    run.stdin.flush()
    if how == "change":
        wait_for(lambda: alice.status("alice")["last_success"] != attempts)
    if how == "a batch":
        wait_for(alice.record_file("bob").exists)
    time.sleep(0.2)
    if kill:
        # Alice's record is under the new key: the smallest uid comes first.
        subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                        "inject=fdatasync:signal=KILL:when=9", *alice.tool_words(), "key", "rotate"])  # fmt: skip
        assert len(keys(alice)) == 2
    else:
        rotate(alice)
    _, errors = run.communicate(after)
    assert run.returncode == status, errors
    if status != DONE:
        assert "has been changed or removed in the meantime; nothing was changed" in errors
    assert alice.authenticate("alice", code).result == "SUCCESS"
    if how == "a batch":
        assert alice.authenticate("bob", "9071").result == "SUCCESS"
    rotate(alice)
    assert alice.authenticate("alice", code).result == "SUCCESS" and len(keys(alice)) == 1


@pytest.mark.parametrize("number", [3, 4, 5, 6])
def test_a_passcode_that_is_renamed_while_the_key_is_replaced_opens(alice, number):
    """Its record is under the old key, under one each, or under the new one."""
    alice.tool("enroll", "--stdin", "--must-change", "--expires", "1d", "bob", stdin="9071\n", check=DONE)
    alice.typed.add("9071")
    fill(alice, 2)
    forge.enroll_numbers_like(alice, "alice", [(uid("carol"), "karoline")])
    subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                    f"inject=fdatasync:signal=KILL:when={number}", *alice.tool_words(), "key", "rotate"])  # fmt: skip
    assert len(keys(alice)) == 2
    alice.tool("rename", "karoline", "carol", check=DONE)
    assert alice.authenticate("carol", RIGHT).result == "SUCCESS"
    rotate(alice)
    assert alice.authenticate("carol", RIGHT).result == "SUCCESS"
    # The terms of one that was given out stay: one login.
    assert alice.authenticate("bob", "9071").result == "SUCCESS"
    assert alice.status("bob")["state"] == "must_change" and alice.status("bob")["expires_at"]


# MARK: What can't be put under another key


def test_with_a_key_that_does_not_fit_nothing_begins(alice):
    overwrite(alice.key, bytes([1] * 32))
    answer = rotate(alice, check=UNUSABLE)
    assert "1 enrolled passcode needs another key" in answer.errors
    assert alice.key.read_bytes() == bytes([1] * 32) and len(keys(alice)) == 1


def test_a_record_that_cannot_be_read_keeps_the_old_key(alice):
    alice.enroll("bob", "8305")
    whole = alice.record("bob")
    alice.record_file("bob").write_bytes(bytes(len(whole)))
    answer = rotate(alice, check=UNUSABLE)
    assert f"{alice.record_file('bob')}: the record is damaged" in answer.errors
    assert "1 record still needs the old key" in answer.errors and len(keys(alice)) == 2
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    # A backup from before: the old key is still there.
    alice.record_file("bob").write_bytes(whole)
    assert alice.authenticate("bob", "8305").result == "SUCCESS"
    rotate(alice)
    assert alice.authenticate("bob", "8305").result == "SUCCESS" and len(keys(alice)) == 1


def test_a_record_of_a_later_version_keeps_the_old_key(alice):
    alice.enroll("bob", "8305")
    whole = alice.record("bob")
    alice.rewrite("bob", lambda body: body.replace(b"passcode_record=2", b"passcode_record=4"))
    answer = rotate(alice, check=UNUSABLE)
    assert "upgrade this one" in answer.errors
    alice.record_file("bob").write_bytes(whole)
    if len(keys(alice)) == 2:
        rotate(alice)
    assert alice.authenticate("bob", "8305").result == "SUCCESS"


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "fsync", "linkat", "renameat"])
def test_a_disk_that_fails_loses_nobody(alice, call, error):
    alice.enroll("bob", "8305")
    for number in range(1, 8):
        subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
             "-e", f"inject={call}:error={error}:when={number}+", *alice.tool_words(), "key", "rotate"],
            capture_output=True,
        )  # fmt: skip
        found = openers(alice)
        assert all(any(copies) for copies in found.values()) and len(found) == 2
        for user, code in (("alice", RIGHT), ("bob", "8305")):
            alice.tool("verify", "--stdin", user, stdin=f"{code}\n", check=DONE)
    rotate(alice)
    assert_all_open(alice, 2)


def test_a_person_s_own_store_can_be_rotated(make_bed):
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    key = bed.key.read_bytes()
    bed.tool("key", "rotate", user="alice", check=DONE)
    assert bed.key.read_bytes() != key
    bed.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", user="alice", check=DONE)


# MARK: What a thief of the store has


def confirmed(plain, codes):
    """The codes that this, taken for an opened credential, confirms: salt, cost, length and hash, as they lie there."""
    salt, hash = plain[:16], plain[forge.HASH]
    return [code for code in codes if argon2id(code, salt, 1, 64 << 10) == hash]


def test_a_stolen_store_confirms_none_of_all_codes(alice):
    """With the key, the same search finds the one."""
    assert confirmed(forge.credential(alice, "alice"), CODES) == [RIGHT]
    (_, _, sealed), _ = copies(alice.record_file("alice"))
    assert confirmed(forge.cut(sealed)[1], CODES) == []


def test_a_stolen_store_answers_nobody_without_its_key(alice):
    """The programs themselves, with a key that the thief made: not even the right one is confirmed."""
    overwrite(alice.key, os.urandom(32))
    before = alice.record("alice")
    for code in [RIGHT, *random.sample(CODES, 20)]:
        answer = alice.tool("verify", "--stdin", "alice", stdin=f"{code}\n", check=UNUSABLE)
        assert "sealed under another machine key" in answer.errors
    assert alice.record("alice") == before
