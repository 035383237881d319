"""Attempts at the same time: serial, counted each, and decided after the typing."""

import concurrent.futures
import contextlib
import itertools
import os
import signal
import statistics
import subprocess
import threading
import time

import pytest

import bench
import host
from bed import SERVICE
from process import open_files, wait_for
from helper import own_failures
from scenario import RIGHT, WRONG, asked_once, fail
from tally import attack, others
from tool import SOME_FAILED, UNUSABLE


def test_the_lock_is_decided_after_the_typing(alice):
    """A prompt that was open when the lock came doesn't get past it."""

    def lock_meanwhile(_):
        fail(alice, 3)
        return RIGHT

    outcome = alice.authenticate("alice", lock_meanwhile)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome) and "left to unlock" in outcome.texts[0]
    assert alice.failures("alice") == 3


def test_parallel_right_passcodes_all_succeed(alice):
    running = [alice.start("alice", RIGHT) for _ in range(8)]
    assert [run.wait().result for run in running] == ["SUCCESS"] * 8
    assert alice.failures("alice") == 0


def together_after(reading, writing, bed, code):
    def answer(_):
        os.close(writing)
        os.read(reading, 1)
        wait_for(lambda: bed.failures("alice") == 3)
        return code

    return answer


def test_parallel_wrong_passcodes_get_three_attempts_and_no_more(alice):
    """Eight prompts open first, and are answered together; the last answer is right."""
    reading, writing = os.pipe()

    def together(code):
        def answer(_):
            os.close(writing)
            os.read(reading, 1)
            return code

        return answer

    running = [alice.start("alice", together(code)) for code in [*WRONG[:7]]]
    late = alice.start("alice", together_after(reading, writing, alice, RIGHT))
    time.sleep(0.3)
    os.close(writing)
    texts = sorted(run.wait().texts[0][:16] for run in running)
    assert texts == ["Passcode locked "] * 5 + ["Wrong passcode, "] * 2
    assert late.wait().result == "AUTH_ERR"
    assert alice.failures("alice") == 3
    os.close(reading)


def stopped_attempt(bed):
    """An attempt of alice's with the right passcode, stopped after its charge: it holds her record."""
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    holder = bed.start("alice", RIGHT)
    wait_for(lambda: bed.record("alice") != before)
    holder.kill(signal.SIGSTOP)
    return holder


def test_a_stopped_attempt_holds_nobody_up_for_ever(bed):
    """Nothing moves for ten seconds: another attempt is unavailable, and root's tool names the holder."""
    holder = stopped_attempt(bed)
    start = time.monotonic()
    waiting = bed.start("alice", RIGHT)
    answer = bed.tool("unlock", "alice", check=7)
    outcome = waiting.wait()
    assert 9 <= time.monotonic() - start <= 20
    assert outcome.result == "AUTHINFO_UNAVAIL" and asked_once(outcome)
    assert str(holder.child) in answer.errors
    holder.kill(signal.SIGCONT)
    assert holder.wait().result == "SUCCESS"
    assert bed.failures("alice") == 0


def test_root_s_tool_names_the_holder_by_every_command_and_in_every_line(bed):
    holder = stopped_attempt(bed)
    commands = {
        ("verify", "--stdin", "alice"): f"{RIGHT}\n",
        ("change", "--stdin", "alice"): f"{RIGHT}\n8305\n",
        ("enroll", "--stdin", "alice"): "8305\n",
        ("unlock", "alice"): "",
        ("unlock", "--batch", "-"): "alice\n",
        ("unlock", "--batch", "-", "--json"): "alice\n",
        ("enroll", "--batch", "-"): "alice:8305\n",
    }
    with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
        answers = list(pool.map(lambda words: bed.tool(*words, stdin=commands[words]), commands))
    holder.kill(signal.SIGCONT)
    assert holder.wait().result == "SUCCESS"
    name = f"process {holder.child} ("
    for words, answer in zip(commands, answers):
        assert answer.status == (SOME_FAILED if "--batch" in words else UNUSABLE), (words, answer)
        assert (answer.output + answer.errors).count(name) == 1, (words, answer)


def test_a_child_forked_during_an_attempt_does_not_keep_the_record(alice):
    """A host with threads may fork at any moment; the child has the descriptor, too, and lives on."""
    alice.configure(opslimit="8", memlimit="128M")
    alice.enroll("alice", RIGHT)
    reading, writing = os.pipe()

    def fork_while_hashing():
        wait_for(lambda: own_failures(alice) == 1)
        child = os.fork()
        if child == 0:
            keep_only_files()
            signal.pause()
        os.write(writing, str(child).encode())

    login = alice.start("alice", RIGHT, prepare=threading.Thread(target=fork_while_hashing).start)
    child = int(os.read(reading, 16))
    try:
        assert login.wait().result == "SUCCESS"
        assert str(alice.record_file("alice")) in open_files(child)
        assert alice.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n").status == 0
    finally:
        os.kill(child, signal.SIGKILL)


def keep_only_files():
    """The ends of pipes would keep others waiting."""
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                os.close(number)


def test_a_waiting_attempt_can_be_interrupted(bed):
    holder = stopped_attempt(bed)
    waiting = bed.start("alice", RIGHT)
    time.sleep(0.5)
    waiting.kill(signal.SIGTERM)
    assert waiting.wait(20).killed_by == signal.SIGTERM
    holder.kill(signal.SIGCONT)
    assert holder.wait().result == "SUCCESS"


# MARK: Crowds: every prompt is open before the first code is typed


def distinct(count, other_than=RIGHT):
    """So many wrong passcodes, no two alike."""
    codes = (f"{number:04}" for number in range(10_000))
    return list(itertools.islice((code for code in codes if code != other_than), count))


# The budget is the failures until the first delay: what comes after it is refused.
@pytest.mark.parametrize("lockout, budget", [("3:1m,5:5m,7:15m,9:1h,10:reset", 3), ("10:reset", 10)])
@pytest.mark.parametrize("prompts", [10, 100, 400, 1000])
def test_a_crowd_of_wrong_passcodes_gets_the_budget_and_no_more(make_bed, prompts, lockout, budget):
    bed = make_bed(lockout=lockout)
    bed.enroll("alice", RIGHT)
    logins = [("alice", code, 0) for code in distinct(prompts)] + [("alice", RIGHT, 1)]
    with attack("prompts opened first, answered at once, wrong") as row:
        crowd = host.crowd(bed, logins)
        row.run(prompts)
        row.breach("beyond", (prompts, lockout), crowd.hashes - budget)
        row.breach("refund", (prompts, lockout), budget - bed.failures("alice"))
        row.breach("beyond", "the right one, after the budget", crowd.logins[-1].result == "SUCCESS")
    assert crowd.count("AUTH_ERR") == prompts + 1 and {login.prompts for login in crowd.logins} == {1}
    assert crowd.hashes == budget
    # The last failure of the budget is answered by the lock that it starts.
    told_wrong = sum(login.text.startswith("Wrong") for login in crowd.logins)
    assert told_wrong == budget - 1
    assert bed.failures("alice") == budget
    assert bed.status("alice")["state"] == ("locked" if budget == 3 else "exhausted")
    logged = [line.message for line in bed.log()]
    assert sum("passcode wrong" in line for line in logged) == budget
    refused = sum("passcode locked" in line or "passcode exhausted" in line for line in logged)
    assert refused == prompts + 1 - budget


@pytest.mark.parametrize("prompts", [10, 400])
def test_a_crowd_of_right_passcodes_is_granted(alice, prompts):
    with attack("prompts opened first, answered at once, right") as row:
        crowd = host.crowd(alice, [("alice", RIGHT, 0)] * prompts)
        row.run(prompts)
        row.breach("refused", prompts, prompts - crowd.count("SUCCESS"))
    assert crowd.hashes == prompts
    assert alice.status("alice")["state"] == "ok" and alice.failures("alice") == 0


@pytest.mark.parametrize("round_", range(3))
def test_a_mixed_crowd_is_as_if_one_by_one(alice, round_):
    """200 prompts, right and wrong: what was verified, in that order, is a run of the schedule."""
    codes = [RIGHT if number % 3 == round_ else code for number, code in enumerate(distinct(200))]
    with attack("prompts opened first, answered at once, mixed") as row:
        crowd = host.crowd(alice, [("alice", code, 0) for code in codes])
        row.run(len(codes))
        failures = 0
        for number, code in enumerate(crowd.verified):
            row.breach("beyond", number, failures == 3)
            failures = 0 if code == RIGHT else failures + 1
        locked = sum("locked" in login.text for login in crowd.logins)
        row.breach("refused", locked, locked if failures < 3 else 0)
        row.breach("refund", failures, failures - alice.failures("alice"))
    assert alice.failures("alice") == failures
    assert crowd.count("SUCCESS") == crowd.verified.count(RIGHT)
    assert crowd.count("AUTH_ERR") == len(codes) - crowd.count("SUCCESS")


@pytest.mark.alone
def test_right_ones_among_32_threads_pass_within_30_s(make_bed, capsys):
    """Threads of one program that log in without an end, with the right passcode, take the record again as soon as they let
    it go. PASSCODE_RUNS=50: so many times."""
    bed = make_bed(memlimit="64M", opslimit=3)
    bed.enroll("alice", RIGHT)
    command = [host.compiled("loops"), "32", SERVICE, str(bed.services), "alice", RIGHT]

    def longest_wait():
        with attack("right ones among 32 threads") as row, subprocess.Popen(command) as threads:
            time.sleep(2)
            started = time.monotonic()
            crowd = host.crowd(bed, [("alice", RIGHT, 0)] * 6)
            threads.kill()
            row.run(6)
            row.breach("refused", "", 6 - crowd.count("SUCCESS"))
            longest = max(login.seconds for login in crowd.logins)
            assert longest <= time.monotonic() - started
            return longest

    waits = [bench.settled(longest_wait, 30) for _ in range(int(os.environ.get("PASSCODE_RUNS", "1")))]
    with capsys.disabled():
        print(f"\n  right ones among 32 threads: {min(waits):.1f} to {max(waits):.1f} s (at most 30)", end="")
        print(f", the median {statistics.median(waits):.1f} s, in {len(waits)} runs")
    assert max(waits) <= 30, waits


def test_the_same_attack_on_pam_faillock(bed):
    """Beside ours, for the table: faillock looks before the prompt, and counts after the verification.

    Up to libpam 1.5 pam_unix hashes in root's own process, where the host counts it; libpam 1.7 always has
    unix_chkpwd do it, which logs each wrong password."""
    folder = bed.folder / "faillock"
    folder.mkdir()
    subprocess.run(["chpasswd", "-c", "SHA256", "-s", "1000"], input="carol:0471\n", text=True, check=True)
    options = f"dir={folder} deny=3 unlock_time=600"
    (bed.services / "faillock-test").write_text(
        f"auth required pam_faillock.so preauth {options}\n"
        "auth [success=1 default=bad] pam_unix.so nodelay\n"
        f"auth [default=die] pam_faillock.so authfail {options}\n"
        f"auth sufficient pam_faillock.so authsucc {options}\n"
    )
    logins = [("carol", code, 0) for code in distinct(400)] + [("carol", RIGHT, 1)]
    crowd = host.crowd(bed, logins, service="faillock-test")
    row = others("the same on pam_faillock deny=3 + pam_unix")
    row.run(400)
    failed = [line for line in bed.log() if line.message == "password check failed for user (carol)"]
    verified = crowd.crypts or len(failed) + crowd.count("SUCCESS")
    row.breach("beyond", "", verified - 3)
    assert verified >= 3 and crowd.count("AUTH_ERR") >= 400
