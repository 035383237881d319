"""`--batch`: a command for each user of a list."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import signal
import statistics
import struct
import subprocess
import time

import pytest

import bench
import host
import lists
import strace
from bed import PEOPLE, uid
from process import children, in_locks, wait_for
from scenario import RIGHT
from tool import CANCELLED, DONE, NOT_PERMITTED, SOME_FAILED, UNUSABLE, USAGE, one_line

CODES = {"alice": "8305", "bob": "0471", "carol": "260417"}
LIST = "".join(f"{name}:{code}\n" for name, code in CODES.items())
OVERFLOW = 64  # the first slot of those for who has waited


@pytest.fixture
def keyed(keyed):
    keyed.typed |= set(CODES.values())
    return keyed


def batch(bed, command, text, *arguments, check=DONE, **how):
    return bed.tool(command, "--batch", "-", *arguments, stdin=text, check=check, **how)


def test_everybody_of_a_list_gets_the_passcode_of_the_line(keyed):
    answer = batch(keyed, "enroll", LIST)
    assert sorted(answer.output.splitlines()) == [
        f"line {number}: {name}: passcode enrolled" for number, name in enumerate(PEOPLE, 1)
    ]
    assert answer.errors == "passcode: users: 3, done: 3, failed: 0\n"
    for name, code in CODES.items():
        assert keyed.authenticate(name, code).result == "SUCCESS"
        assert f"user={name} uid={uid(name)} by_uid=0" in "".join(line.message for line in keyed.log())


def test_a_list_comes_from_a_file_too(keyed):
    path = keyed.folder / "list"
    path.write_text("# Class of 2026\n\n" + LIST.rstrip())
    rows, summary = lists.results(keyed.tool("enroll", "--batch", str(path), "--json", check=DONE).output)
    assert rows == {number: (name, "done") for number, name in enumerate(PEOPLE, 3)}
    assert summary == dict(version=1, users=3, done=3, unchanged=0, skipped=0, failed=0, stopped_at=None)
    for missing in (str(path) + "x", str(keyed.folder / "no" / "list")):
        answer = keyed.tool("enroll", "--batch", missing, check=USAGE)
        assert missing in answer.errors and one_line(answer.errors)


def test_each_line_is_judged_alone_and_a_bad_one_is_never_quoted(keyed):
    keyed.configure(weak="refuse", lengths="4")
    keyed.typed |= {"1234", "730582", "9182", "7391"}
    text = "\n".join([
        "alice:1234", "bob:730582", "nobody-here:9182", "carol", "carol:9182\r", "carol:91 82", ":9182", "9182:carol",
        "x" * 600, "carol:8305", "carol:9182", "alice:8351",
    ])  # fmt: skip
    answer = batch(keyed, "enroll", text, "--json", check=SOME_FAILED)
    rows, summary = lists.results(answer.output)
    assert rows == {
        1: ("alice", "weak"), 2: ("bob", "wrong_length"), 3: ("nobody-here", "unknown_user"), 4: (None, "bad_line"),
        5: (None, "bad_line"), 6: (None, "bad_line"), 7: (None, "bad_line"), 8: (None, "bad_line"),
        9: (None, "bad_line"), 10: ("carol", "done"), 11: ("carol", "repeated"), 12: ("alice", "repeated"),
    }  # fmt: skip
    assert (summary["users"], summary["failed"], summary["done"]) == (12, 11, 1)
    words = batch(keyed, "enroll", text, check=SOME_FAILED)
    for said in (answer.output + answer.errors, words.output + words.errors):
        assert not re.search("1234|730582|9182", said)
    assert "line 1: alice: too easy to guess: " in words.errors and "line 9: bad line: longer than" in words.errors
    assert batch(keyed, "enroll", "9182", "--generate", check=SOME_FAILED).errors.count("9182") == 0


def test_the_terms_are_everybody_s(keyed):
    batch(keyed, "enroll", LIST, "--expires", "7d", "--must-change")
    assert all(keyed.status(name)["must_change"] and keyed.status(name)["expires_at"] for name in PEOPLE)


def test_only_root_has_it(keyed):
    for command in ("enroll", "remove", "unlock", "disable", "enable"):
        answer = batch(keyed, command, LIST, user="alice", check=None)
        assert answer.status in (NOT_PERMITTED, UNUSABLE) and answer.output == ""
    assert not lists.enrolled(keyed)


@pytest.mark.parametrize(
    "arguments",
    [["alice"], ["--stdin"], ["--output", "/x"], ["--show"], ["--length", "4"]],
)
def test_what_does_not_go_with_it(keyed, arguments):
    assert one_line(batch(keyed, "enroll", LIST, *arguments, check=USAGE).errors)
    assert one_line(keyed.tool("enroll", "--skip-enrolled", "alice", check=USAGE).errors)


def test_without_a_key_nothing_is_read(bed):
    run = lists.start(bed, "enroll", "--batch", "-")
    assert run.communicate(LIST)[0] == "" and run.returncode == UNUSABLE


def test_the_other_commands(keyed):
    batch(keyed, "enroll", LIST)
    names = "".join(f"{name}\n" for name in PEOPLE)
    for code in ("1593", "2604", "3715"):
        keyed.authenticate("bob", code)
    assert keyed.status("bob")["state"] == "locked"
    for command, expected in (
        ("unlock", ["unchanged", "done", "unchanged"]),
        ("disable", ["done"] * 3),
        ("disable", ["unchanged"] * 3),
        ("enable", ["done"] * 3),
        ("remove", ["done"] * 3),
        ("remove", ["not_enrolled"] * 3),
    ):
        failed = "not_enrolled" in expected
        rows, _ = lists.results(
            batch(keyed, command, names, "--json", check=SOME_FAILED if failed else DONE).output
        )
        assert [rows[line][1] for line in (1, 2, 3)] == expected, command
        states = {name: keyed.status(name)["state"] for name in PEOPLE}
        assert set(states.values()) == {"disabled" if command == "disable" else "ok"}
    assert not lists.enrolled(keyed)
    assert "a user name and nothing else" in batch(keyed, "remove", LIST, check=SOME_FAILED).errors


# MARK: Made-up passcodes


def test_made_up_passcodes_go_to_a_file_of_root_s(keyed):
    path = keyed.folder / "codes"
    for _ in range(2):
        rows, _ = lists.results(
            batch(keyed, "enroll", "alice\nbob\n", "--generate", "--output", str(path), "--json").output
        )
        assert set(rows.values()) == {("alice", "done"), ("bob", "done")}
    assert path.stat().st_mode & 0o777 == 0o600
    written = [line.split(":") for line in path.read_text().splitlines()]
    assert [name for name, _ in written] == ["alice", "bob"] * 2
    for name, code in written[2:]:
        assert keyed.authenticate(name, code).result == "SUCCESS"
    other = keyed.folder / "other"
    for change in (
        lambda: os.link(path, other), lambda: (other.unlink(), path.chmod(0o644)),
        lambda: (path.unlink(), path.symlink_to("/dev/null")),
    ):  # fmt: skip
        change()
        answer = batch(keyed, "enroll", "alice\n", "--generate", "--output", str(path), check=UNUSABLE)
        assert one_line(answer.errors)


def test_after_a_line_that_was_cut_off_the_next_one_is_whole(keyed):
    path = keyed.folder / "codes"
    path.write_text("bob:0471\nali")
    path.chmod(0o600)
    batch(keyed, "enroll", "alice\n", "--generate", "--output", str(path))
    assert re.fullmatch(r"bob:0471\nali\nalice:\d{6}\n", path.read_text())


def test_two_runs_do_not_write_to_one_file(keyed):
    path = keyed.folder / "codes"
    run = lists.start(keyed, "enroll", "--batch", "-", "--generate", "--output", str(path), "--json")
    wait_for(path.exists)
    answer = batch(keyed, "enroll", "bob\n", "--generate", "--output", str(path), check=UNUSABLE)
    assert f"{path}: another run is writing to it" in answer.errors and one_line(answer.errors)
    assert run.communicate("alice\n")[0].count('"result":"done"') == 1 and path.read_text().count("\n") == 1
    batch(keyed, "enroll", "bob\n", "--generate", "--output", str(path))
    assert [line.split(":")[0] for line in path.read_text().splitlines()] == ["alice", "bob"]


def test_made_up_passcodes_go_to_no_file_that_the_shell_made(keyed):
    path = keyed.folder / "codes"
    for name in (str(path), "/dev/null"):
        with open(name, "w") as file:
            run = lists.start(keyed, "enroll", "--batch", "-", "--generate", "--show", stdout=file)
            errors = run.communicate("alice\n")[1]
        assert run.returncode == USAGE and "--output FILE" in errors and one_line(errors)
    assert path.read_text() == "" and not lists.enrolled(keyed)


def test_made_up_passcodes_go_to_a_pipe_but_to_no_terminal(keyed):
    answer = batch(keyed, "enroll", "alice\n#\nbob\n", "--generate", "--length", "4")
    for line in answer.output.splitlines():
        name, code = line.split(":")
        assert len(code) == 4 and keyed.authenticate(name, code).result == "SUCCESS"
    ours, theirs = os.openpty()
    for show in ([], ["--show"]):
        run = lists.start(keyed, "enroll", "--batch", "-", "--generate", *show, stdout=theirs)
        run.communicate("carol\n")
        assert run.returncode == (DONE if show else USAGE)
    assert re.fullmatch(r"carol:\d{6}\r\n", os.read(ours, 100).decode())
    os.close(ours), os.close(theirs)


def test_nobody_is_enrolled_with_a_passcode_that_was_not_written(keyed):
    batch(keyed, "enroll", "alice\n", "--generate", "--output", "/dev/full", check=UNUSABLE)
    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "w") as pipe:
        run = lists.start(keyed, "enroll", "--batch", "-", "--generate", stdout=pipe)
        run.communicate("alice\n")
    assert run.returncode not in (DONE, SOME_FAILED) and not lists.enrolled(keyed)


def test_a_full_disk_for_the_passcodes_is_named_and_the_rest_is_done_later(keyed):
    """What was begun is finished and told; nobody has a passcode that isn't in the file."""
    others, folder = lists.people(300), keyed.folder / "codes"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700,size=4k", "tmpfs", str(folder)], check=True)
    names = "".join(f"{name}\n" for _, name in others)
    words = ["--generate", "--output", str(folder / "list")]
    try:
        with bench.accounts(others):
            answer = batch(keyed, "enroll", names, *words, check=UNUSABLE)
            there = lists.enrolled(keyed)
            stop = len(there)
            assert f"{folder}/list: No space left on device" in answer.errors and 100 < stop < 300
            assert f"stopped after line {stop}: the rest begins at line {stop + 1}" in answer.errors
            assert answer.output.count("passcode enrolled") == stop
            written = (folder / "list").read_text()
            assert [line.split(":")[0] for line in written.splitlines()] == list(there) and written.endswith("\n")
            subprocess.run(["mount", "-o", "remount,size=1m", str(folder)], check=True)
            batch(keyed, "enroll", names.split("\n", stop)[stop], *words)
            codes = dict(line.split(":") for line in (folder / "list").read_text().splitlines())
            assert list(codes) == [name for _, name in others] and len(lists.enrolled(keyed)) == 300
            for name in (others[0][1], others[stop][1], others[-1][1]):
                assert keyed.authenticate(name, codes[name]).result == "SUCCESS"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# MARK: Cut off and run again


@pytest.fixture
def crowd(bed):
    """6,000 accounts, and a store in memory at the lowest cost."""
    bed.configure(opslimit=1, memlimit="8K", max_parallel=4)
    bed.store.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", str(bed.store)], check=True)
    others = lists.people(6_000)
    try:
        bed.tool("key", "init", check=DONE)
        with bench.accounts(others):
            yield bed, others
    finally:
        subprocess.run(["umount", str(bed.store)], check=True)


def test_killed_at_random_and_run_again_none_is_lost_and_none_is_done_twice(crowd):
    bed, others = crowd
    path = bed.folder / "list"
    path.write_text(lists.lines(others))
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance, done, kills = random.Random(seed), 0, 0
    while True:
        run = lists.start(bed, "enroll", "--batch", str(path), "--skip-enrolled", "--json")
        if kills < 12:
            time.sleep(chance.uniform(0.02, 0.35))
            run.kill()
            kills += 1
        output = run.communicate()[0]
        rows = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
        done += sum(row.get("result") == "done" for row in rows)
        assert all(row.get("result", "done") in ("done", "skipped") for row in rows)
        if run.returncode == DONE:
            break
        assert run.returncode == -signal.SIGKILL
    # A kill hides at most the results that a worker had not reported yet.
    assert len(rows) == len(others) + 1 and rows[-1]["users"] == len(others)
    assert len(others) - 4 * kills <= done <= len(others)
    assert lists.enrolled(bed) == {name: uid for uid, name in others}
    for uid_, name in chance.sample(others, 20):
        assert bed.authenticate(name, lists.code(uid_ - lists.FIRST)).result == "SUCCESS"


def slow(bed, **options):
    """A hash takes a while: long enough to interfere."""
    bed.configure(**{"opslimit": 4, "memlimit": "64M", **options})


def test_control_c_in_a_rotation_says_at_which_line_to_go_on(keyed):
    """The passcodes that are there are to be replaced: to leave them out would keep the old ones."""
    slow(keyed, max_parallel=2)
    others = lists.people(8)
    names = [name for _, name in others]
    path = keyed.folder / "codes"
    words = ["enroll", "--batch", "-", "--generate", "--output", str(path), "--json"]
    with bench.accounts(others):
        batch(keyed, "enroll", lists.lines(others))
        run = lists.start(keyed, *words)
        run.stdin.write("".join(f"{name}\n" for name in names))
        run.stdin.flush()
        wait_for(lambda: path.exists() and path.read_text().count("\n") >= 3)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate()
        rows, summary = lists.results(output)
        stop = summary["stopped_at"]
        assert run.returncode == CANCELLED and 2 <= stop < 8 and sorted(rows) == list(range(1, stop + 1))
        assert f"stopped after line {stop}: the rest begins at line {stop + 1}" in errors
        assert "--skip-enrolled" not in errors
        run = lists.start(keyed, *words)
        run.communicate("".join(f"{name}\n" for name in names[stop:]))
        codes = [line.split(":") for line in path.read_text().splitlines()]
        # None is lost. A line that waited for its turn at Ctrl-C may have had a passcode that was never set: the last one counts.
        assert list(dict(codes)) == names and len(codes) <= len(names) + 1
        for name, code in dict(codes).items():
            assert keyed.authenticate(name, code).result == "SUCCESS"


def test_what_is_ignored_does_not_end_it(keyed):
    """As behind nohup, or a shell's &."""
    slow(keyed, max_parallel=2)
    words = [*keyed.tool_words(), "enroll", "--batch", "-", "--json"]
    ignoring = ["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh", *words]
    with subprocess.Popen(ignoring, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/") as run:
        run.stdin.write("alice:8305\n")
        run.stdin.flush()
        wait_for(lambda: workers(run))
        run.send_signal(signal.SIGHUP)
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate("bob:0471\n")
    assert run.returncode == DONE and lists.results(output)[1]["done"] == 2


def test_an_enrolment_cut_off_between_its_copies_is_finished(keyed):
    keyed.enroll("alice", "0471")
    older = keyed.record("alice")
    keyed.enroll("alice", "8305")
    newer = keyed.record("alice")
    half = len(newer) // 2
    keyed.record_file("alice").write_bytes(newer[:half] + older[half:])
    rows, _ = lists.results(batch(keyed, "enroll", "alice:2604", "--skip-enrolled", "--json").output)
    assert rows == {1: ("alice", "skipped")}
    sealed = re.findall(rb"^sealed=(\w+)$", keyed.record("alice"), re.MULTILINE)
    assert len(sealed) == 2 and sealed[0] == sealed[1]
    assert keyed.authenticate("alice", "8305").result == "SUCCESS"


def test_control_c_ends_it_between_two_records(keyed):
    slow(keyed, max_parallel=3)
    others = lists.people(60)
    with bench.accounts(others):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            run = lists.start(keyed, "enroll", "--batch", "-", "--skip-enrolled", "--json", process_group=0)
            run.stdin.write(lists.lines(others))
            run.stdin.flush()
            before = len(lists.enrolled(keyed))
            wait_for(lambda before=before: len(lists.enrolled(keyed)) > before)
            os.killpg(run.pid, number)  # as a terminal does: the workers, too
            output, errors = run.communicate()
            assert run.returncode == CANCELLED
            rows, summary = lists.results(output)
            stop = summary["stopped_at"]
            assert f"stopped after line {stop}: run it again to do the rest" in errors
            assert list(sorted(rows)) == list(range(1, stop + 1))
            assert all(result in ("done", "skipped") for _, result in rows.values())
            assert lists.enrolled(keyed) == {name: uid for uid, name in others[:stop]}


def stop(pid):
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        os.kill(pid, number)


def is_suspended(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_control_z_leaves_no_record_locked(keyed):
    """Only the next line has to wait; who is being enrolled would wait, too, if a worker were suspended."""
    slow(keyed, max_parallel=2, opslimit=16)
    run = lists.start(keyed, "enroll", "--batch", "-", "--json", process_group=0, typed=LIST)
    try:
        [worker] = at_work(run)
        stop(run.pid)
        wait_for(lambda: is_suspended(run.pid))  # from now on, it forks no more
        stop(worker)
        wait_for(lambda: not hashing(worker) and lists.enrolled(keyed))
        assert not slots_taken(keyed)
        for name in lists.enrolled(keyed):
            assert keyed.authenticate(name, CODES[name]).result == "SUCCESS"
        assert is_suspended(run.pid)
    finally:
        os.killpg(run.pid, signal.SIGCONT)
        output, _ = run.communicate()
    assert run.returncode == DONE and lists.results(output)[1]["done"] == len(CODES)


def test_control_z_while_it_waits_for_its_turn_leaves_no_slot_taken(keyed):
    slow(keyed, max_parallel=3)
    with holding(keyed, 0), holding(keyed, 1):
        run = lists.start(keyed, "enroll", "--batch", "-", process_group=0, typed=LIST)
        try:
            for _ in range(20):
                wait_for(lambda: waits(run))
                os.killpg(run.pid, signal.SIGTSTP)
                wait_for(lambda: is_suspended(run.pid))
                assert slots_taken(keyed) == {0, 1} and not workers(run)
                os.killpg(run.pid, signal.SIGCONT)
                wait_for(lambda: not is_suspended(run.pid))
        finally:
            run.kill()
            run.communicate()


@pytest.mark.parametrize("words", [["enroll", "--stdin", "alice"], ["verify", "--stdin", "alice"]])
def test_control_z_at_a_command_for_one_user_leaves_no_record_locked(keyed, words):
    slow(keyed)
    keyed.enroll("alice", RIGHT)
    run = lists.start(keyed, *words, process_group=0, typed=f"{RIGHT}\n")
    try:
        wait_for(lambda: hashing(run.pid))
        os.kill(run.pid, signal.SIGTSTP)
        wait_for(lambda: is_suspended(run.pid))
        start = time.monotonic()
        assert keyed.authenticate("alice", RIGHT).result == "SUCCESS" and time.monotonic() - start < 5
        assert is_suspended(run.pid)
    finally:
        os.killpg(run.pid, signal.SIGCONT)
        run.communicate()
    assert run.returncode == DONE


def test_a_new_file_s_name_is_on_the_device_before_the_first_passcode(keyed):
    path, trace = keyed.folder / "codes", keyed.folder / "trace"
    for expected in (1, 0):
        how = {"before": strace.record(trace, "-y", "-e", "trace=openat,fsync,pwrite64")}
        batch(keyed, "enroll", "alice\n", "--generate", "--output", str(path), **how)
        calls = [call.line for call in strace.calls(trace)]
        [opened] = [place for place, line in enumerate(calls) if f'"{path}"' in line and "= -1" not in line]
        [written] = [place for place, line in enumerate(calls) if line.startswith("pwrite64") and f"<{path}>" in line]
        synced = [place for place, line in enumerate(calls) if re.match(rf"fsync\(\d+<{keyed.folder}>\) += 0", line)]
        assert len([place for place in synced if opened < place < written]) == expected


def test_a_made_up_passcode_is_on_the_device_before_its_record(keyed):
    path, trace = keyed.folder / "codes", keyed.folder / "trace"
    how = {"before": strace.record(trace, "-y", "-e", "trace=fdatasync,pwrite64")}
    batch(keyed, "enroll", "alice\n", "--generate", "--output", str(path), **how)
    calls = [call.line for call in strace.calls(trace)]
    [written] = [place for place, line in enumerate(calls) if line.startswith("pwrite64") and f"<{path}>" in line]
    record = [place for place, line in enumerate(calls) if line.startswith("pwrite64") and f"<{keyed.store}/" in line]
    synced = [place for place, line in enumerate(calls) if re.match(rf"fdatasync\(\d+<{path}>\) += 0", line)]
    assert len(synced) == 1 and written < synced[0] < record[-2]


def test_a_worker_that_dies_is_named_and_stops_nothing_else(keyed):
    slow(keyed, max_parallel=2, opslimit=16)
    run = lists.start(keyed, "enroll", "--batch", "-", "--json", typed=LIST)
    [worker] = at_work(run)
    os.kill(worker, signal.SIGKILL)
    output, errors = run.communicate()
    assert run.returncode == SOME_FAILED and f'"process {worker} died: run this line again"' in output
    assert sorted(result for _, result in lists.results(output)[0].values()) == ["done", "done", "failed"]
    batch(keyed, "enroll", LIST, "--skip-enrolled")
    for name, code in CODES.items():
        assert keyed.authenticate(name, code).result == "SUCCESS"


def test_every_worker_has_its_secrets_locked_in_memory(keyed):
    slow(keyed, max_parallel=3)
    others = lists.people(12)
    locked = {}
    with bench.accounts(others):
        run = lists.start(keyed, "enroll", "--batch", "-", typed=lists.lines(others))
        while run.poll() is None:
            for pid in workers(run):
                with contextlib.suppress(OSError, TypeError):
                    # It hashes: it has a passcode.
                    if hashing(pid):
                        status = pathlib.Path(f"/proc/{pid}/status").read_text()
                        locked[pid] = int(re.search(r"VmLck:\s+(\d+)", status)[1])
            time.sleep(0.002)
        run.communicate()
    assert len(locked) > 6 and min(locked.values()) > 0


def hashing_for(run):
    return [pid for pid in workers(run) if hashing(pid)]


def at_work(run):
    """Those that hash, as soon as there are any."""
    found = []
    wait_for(lambda: found.extend(hashing_for(run)) or found)
    return found


def workers(run):
    return set(children(run.pid))


def waits(run):
    """It has read a line, and looks for a slot: between two looks it sleeps."""
    return re.search(r"nanosleep", pathlib.Path(f"/proc/{run.pid}/wchan").read_text())


def hashing(pid):
    """It has the memory that Argon2 needs; False where it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        size = re.search(r"VmSize:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        return size is not None and int(size[1]) > 60_000
    return False


def test_workers_end_with_the_tool_and_write_nothing(keyed):
    for name in PEOPLE:
        keyed.enroll(name, "0471")
    slow(keyed, max_parallel=3, opslimit=16)
    before = {name: keyed.record(name) for name in PEOPLE}
    run = lists.start(keyed, "enroll", "--batch", "-")
    run.stdin.write(LIST)
    run.stdin.flush()
    at_work(run)
    alive = workers(run)
    run.kill()
    run.communicate()
    wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in alive))
    assert {name: keyed.record(name) for name in PEOPLE} == before


def test_a_full_disk_is_named_and_the_rest_is_done_later(keyed):
    others = lists.people(60)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "mode=0700,size=256k", "tmpfs", str(keyed.store)], check=True
    )
    try:
        with bench.accounts(others):
            answer = batch(keyed, "enroll", lists.lines(others), check=SOME_FAILED)
            there = lists.enrolled(keyed)
            assert 20 < len(there) < 40 and answer.output.count("\n") == len(there)
            assert answer.errors.count(": failed: ") == 60 - len(there)
            assert answer.errors.count("No space left on device") == 60 - len(there)
            subprocess.run(["mount", "-o", "remount,size=1m", str(keyed.store)], check=True)
            again = batch(keyed, "enroll", lists.lines(others), "--skip-enrolled")
            assert f"done: {60 - len(there)}, skipped: {len(there)}, failed: 0" in again.errors
            assert lists.enrolled(keyed) == {name: uid for uid, name in others}
    finally:
        subprocess.run(["umount", str(keyed.store)], check=True)


# MARK: Beside logins


def slots_taken(bed):
    """Which bytes of the slots file are locked. The kernel's list is no snapshot: what moves meanwhile may be there twice, or
    not at all. So, of many samples, only what was ever taken counts, and never how many were at once."""
    found = re.findall(rf"OFDLCK .* {in_locks(bed.store / 'places')} (\d+) (\d+)$", pathlib.Path("/proc/locks").read_text(), re.MULTILINE)
    return {int(first) for first, _ in found}


@pytest.mark.parametrize("slots, most", [(1, 1), (2, 1), (4, 3)])
def test_one_slot_stays_free_for_logins(keyed, slots, most):
    slow(keyed, max_parallel=slots)
    run = lists.start(keyed, "enroll", "--batch", "-", typed=LIST)
    seen = set()
    while run.poll() is None:
        seen |= slots_taken(keyed)
        time.sleep(0.001)
    run.communicate()
    assert run.returncode == DONE and seen and seen <= set(range(most))


@contextlib.contextmanager
def holding(bed, slot):
    """Somebody hashes there, and doesn't end."""
    file = os.open(bed.store / "places", os.O_RDWR)
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, slot, 1, 0))
        yield
    finally:
        os.close(file)


def processor_time(pid):
    """Seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_it_waits_while_no_other_slot_would_stay_free(make_bed):
    """And logins move; longer than for stuck holders. It takes no processor time, and neither slot nor record from a login.
    """
    cases = [(make_bed(max_parallel=slots, opslimit=4, memlimit="64M"), held) for slots, held in (
        (1, [0]), (2, [0]), (2, [1]), (2, [0, 1]), (4, [3, 1, 0]))]  # fmt: skip
    for bed, _ in cases:
        bed.tool("key", "init", check=DONE)
        bed.enroll("alice", "0471")
    runs = []
    with contextlib.ExitStack() as stack:
        for bed, held in cases:
            for slot in held:
                stack.enter_context(holding(bed, slot))
            runs.append(lists.start(bed, "enroll", "--batch", "-", "--json"))
            runs[-1].stdin.write("alice:8305\n")
            runs[-1].stdin.flush()
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for (bed, _), run in zip(cases, runs, strict=True):
                assert not workers(run) and run.poll() is None
                os.utime(bed.store / "places")  # as a login does that takes a slot
            time.sleep(0.1)
        for (bed, _), run in zip(cases, runs, strict=True):
            # A login finds the record free, and the slot that is left or an overflow slot.
            assert bed.authenticate("alice", "0471").result == "SUCCESS"
            assert not workers(run) and processor_time(run.pid) < 0.3
    for (bed, _), run in zip(cases, runs, strict=True):
        output, _ = run.communicate("")
        assert run.returncode == DONE and lists.results(output)[0] == {1: ("alice", "done")}
        assert bed.authenticate("alice", "8305").result == "SUCCESS"


@pytest.mark.calm
def test_the_only_slot_is_taken_after_logins_that_wait_have_looked(keyed):
    """They look every 40 ms at most; the batch takes it only if it was free 50 ms before, too."""
    slow(keyed, max_parallel=1)
    with contextlib.ExitStack() as held:
        held.enter_context(holding(keyed, 0))
        run = lists.start(keyed, "enroll", "--batch", "-", "--json", typed=LIST)
        wait_for(lambda: waits(run))
        for _ in range(20):
            time.sleep(0.11)
            held.close()
            start = time.monotonic()
            time.sleep(0.02)
            try:
                held.enter_context(holding(keyed, 0))
            except BlockingIOError:
                free = time.monotonic() - start
                assert free > 0.045, free
                wait_for(lambda: not slots_taken(keyed))
                held.enter_context(holding(keyed, 0))
    output, _ = run.communicate()
    assert run.returncode == DONE and lists.results(output)[1]["done"] == len(CODES)


@pytest.mark.calm
def test_stuck_processes_keep_it_waiting_for_9_seconds_only(make_bed):
    """Not for each line again; and a slot in which a login can hash stays free, unless there is only one."""
    cases = [(make_bed(max_parallel=slots, opslimit=4, memlimit="64M"), held) for slots, held in ((1, [0]), (2, [0]), (2, [0, 1]))]
    runs = []
    with contextlib.ExitStack() as stack:
        for bed, held in cases:
            bed.typed |= {"0471", *CODES.values()}
            bed.tool("key", "init", check=DONE)
            for slot in held:
                stack.enter_context(holding(bed, slot))
            runs.append(lists.start(bed, "enroll", "--batch", "-", "--json", typed=LIST))
        start, begun, taken = time.monotonic(), {}, [set() for _ in cases]
        while running := [run for run in runs if run.poll() is None]:
            for (bed, _), seen in zip(cases, taken, strict=True):
                seen |= slots_taken(bed)
            for run in running:
                if run not in begun and hashing_for(run):
                    begun[run] = time.monotonic()
                # Another 9 seconds, before the first hash or after it, would be too many.
                assert begun.get(run, time.monotonic()) - start < 17
                assert time.monotonic() - begun.get(run, time.monotonic()) < 8
            time.sleep(0.01)
        assert len(begun) == 3 and min(begun.values()) - start > 8
    for (bed, held), run, seen in zip(cases, runs, taken, strict=True):
        output, errors = run.communicate()
        assert run.returncode == DONE and lists.results(output)[1]["done"] == 3
        assert errors.count("are stuck holding hashing slots") == 1
        # Never the second overflow slot: there are as many of them as slots.
        assert {*held, OVERFLOW} <= seen <= {*held, *range(bed.options["max_parallel"]), OVERFLOW}
        for name, code in CODES.items():
            assert bed.authenticate(name, code).result == "SUCCESS"


@pytest.mark.parametrize("group", [False, True])
def test_control_c_ends_it_while_it_waits(keyed, group):
    slow(keyed, max_parallel=2)
    with holding(keyed, 0):
        run = lists.start(keyed, "enroll", "--batch", "-", "--json", process_group=0)
        run.stdin.write(LIST)
        run.stdin.flush()
        wait_for(lambda: waits(run))
        start = time.monotonic()
        (os.killpg if group else os.kill)(run.pid, signal.SIGINT if group else signal.SIGTERM)
        output, errors = run.communicate()
        assert time.monotonic() - start < 5 and run.returncode == CANCELLED
        rows, summary = lists.results(output)
        assert rows == {} and summary["stopped_at"] == 0
        assert "stopped after line 0: the rest begins at line 1 " in errors
        assert not lists.enrolled(keyed)


def test_a_line_whose_record_somebody_keeps_fails_after_10_seconds_also_at_control_c(keyed):
    keyed.enroll("alice", "0471")
    slow(keyed, max_parallel=3)
    with keyed.record_file("alice").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run = lists.start(keyed, "enroll", "--batch", "-", "--json")
        run.stdin.write(LIST)
        run.stdin.flush()
        wait_for(lambda: set(lists.enrolled(keyed)) == set(PEOPLE) and len(workers(run)) == 1)
        assert not slots_taken(keyed)  # it waits for the record without one
        start = time.monotonic()
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate()
    rows, summary = lists.results(output)
    assert time.monotonic() - start < 13 and run.returncode == CANCELLED
    assert summary["stopped_at"] == 3 and "stopped after line 3:" in errors
    assert rows == {1: ("alice", "failed"), 2: ("bob", "done"), 3: ("carol", "done")}
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


@pytest.mark.alone
def test_a_login_waits_for_one_hash_more_at_most(keyed, capsys):
    """12 people at once, without a batch and beside one."""
    keyed.configure(max_parallel=2, opslimit=3, memlimit="64M")
    others = lists.people(300)
    with bench.accounts(others):
        batch(keyed, "enroll", lists.lines(others[:12]))
        logins = [(name, lists.code(number), 0) for number, (_, name) in enumerate(others[:12])]

        def one():
            assert keyed.authenticate(others[0][1], lists.code(0)).result == "SUCCESS"

        def longest():
            crowd = host.crowd(keyed, logins)
            assert crowd.count("SUCCESS") == 12
            return max(login.seconds for login in crowd.logins)

        def measure():
            """Hashes more."""
            hash_time = statistics.median(bench.seconds(one) for _ in range(5))
            alone = max(longest() for _ in range(5))
            before = set(lists.enrolled(keyed))
            rest = [person for person in others if person[1] not in before]
            run = lists.start(keyed, "enroll", "--batch", "-", "--json", typed=lists.lines(rest))
            wait_for(lambda: len(lists.enrolled(keyed)) > len(before) + 2)
            beside = min(longest() for _ in range(5))
            assert run.poll() is None, "the batch ended too early to matter"
            run.terminate()
            run.communicate()
            with capsys.disabled():
                print(f"\n  the last of 12 logins: {alone:.3f} s, beside a batch {beside:.3f} s; a hash: {hash_time:.3f} s")
            return (beside - alone) / hash_time

        assert bench.settled(measure, 1) <= 1


def test_people_log_in_while_it_runs(keyed):
    keyed.configure(max_parallel=2, opslimit=2, memlimit="16M")
    others = lists.people(150)
    with bench.accounts(others):
        batch(keyed, "enroll", lists.lines(others[:20]))
        host.program()  # to compile it may take longer than the batch
        run = lists.start(keyed, "enroll", "--batch", "-", "--json", typed=lists.lines(others[20:]))
        wait_for(lambda: len(lists.enrolled(keyed)) > 22)
        logins = [(name, lists.code(number), 0) for number, (_, name) in enumerate(others[:20])]
        crowd = host.crowd(keyed, logins)
        assert run.poll() is None, "the batch ended too early to matter"
        output, _ = run.communicate()
        assert crowd.count("SUCCESS") == 20 and max(login.seconds for login in crowd.logins) < 10
        assert run.returncode == DONE and lists.results(output)[1]["done"] == 130
        assert len(lists.enrolled(keyed)) == 150


# MARK: What is said on the way


def test_on_a_terminal_there_is_a_bar(keyed):
    slow(keyed, max_parallel=2)
    ours, theirs = os.openpty()
    path = keyed.folder / "list"
    path.write_text(LIST)
    run = lists.start(keyed, "enroll", "--batch", str(path), stderr=theirs)
    output, _ = run.communicate()
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65_536):
            said += part
    os.close(ours)
    assert run.returncode == DONE and output.count("\n") == 3
    bars = re.findall(r"\r\[(#* *)\] (\d+) %  users: (\d+), failed: 0, \d+ a minute(?:, \d+ s left)?\x1b\[K", said.decode())
    assert bars and all(len(bar) == 20 for bar, _, _ in bars)
    assert said.decode().endswith("passcode: users: 3, done: 3, failed: 0\r\n")
