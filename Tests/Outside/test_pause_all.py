"""`pause --all` and `resume --all`; and who is not paused, because no password would end it."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess

import pytest

import lists
import machine
import strace
from process import children, in_locks, wait_for
from scenario import PASSWORD, RIGHT
from tool import CANCELLED, DONE, NOT_ENROLLED, NOT_PERMITTED, SOME_FAILED, UNUSABLE, USAGE, alone, one_line

NO_PASSWORD = "not paused: no password could end the pause (see --even-locked-out)"


@pytest.fixture
def two(with_passwords):
    """Alice and bob have passwords and passcodes."""
    for name in ("alice", "bob"):
        with_passwords.enroll(name, RIGHT)
    return with_passwords


@pytest.fixture
def three(two):
    """Carol has a passcode only."""
    subprocess.run(["usermod", "-p", "!", "carol"], check=True)
    two.enroll("carol", RIGHT)
    return two


def states(bed):
    rows = map(json.loads, bed.tool("list", "--json", check=DONE).output.splitlines())
    return {row["user"]: row["state"] for row in rows}


def lock(name):
    subprocess.run(["usermod", "-L", name], check=True)


def test_everybody_is_paused_and_resumed(two):
    answer = two.tool("pause", "--all", check=DONE)
    assert sorted(answer.output.splitlines()) == ["alice: passcode paused", "bob: passcode paused"]
    assert answer.errors == "passcode: users: 2, done: 2, failed: 0\n"
    assert states(two) == {"alice": "paused", "bob": "paused"}
    assert two.authenticate("alice", RIGHT).result == "PERM_DENIED"
    rows, summary = lists.results(two.tool("pause", "--all", "--json", check=DONE).output)
    assert rows == {1: ("alice", "unchanged"), 2: ("bob", "unchanged")} and summary["unchanged"] == 2
    assert two.tool("resume", "--all", "--quiet", check=DONE).output == ""
    assert states(two) == {"alice": "ok", "bob": "ok"} and two.authenticate("alice", RIGHT).result == "SUCCESS"
    said = [line.message for line in two.log()]
    for name in ("alice", "bob"):
        assert sum(f"passcode paused user={name} " in line and "by_uid=0" in line for line in said) == 1
        assert sum(f"passcode resumed user={name} " in line and "by_uid=0" in line for line in said) == 1


def test_nobody_has_a_passcode(with_passwords):
    answer = with_passwords.tool("pause", "--all", check=DONE)
    assert answer.output == "" and answer.errors == "passcode: users: 0, done: 0, failed: 0\n"


@pytest.mark.parametrize("how", ["locked", "blank", "another word"])
def test_who_has_no_password_is_skipped_and_listed(three, how):
    if how == "blank":
        subprocess.run(["passwd", "-q", "-d", "carol"], check=True)
    elif how == "another word":
        subprocess.run(["usermod", "-p", "*", "carol"], check=True)
    answer = three.tool("pause", "--all", check=SOME_FAILED)
    assert answer.errors == f"passcode: carol: {NO_PASSWORD}\npasscode: users: 3, done: 2, failed: 1\n"
    assert states(three) == {"alice": "paused", "bob": "paused", "carol": "ok"}
    assert three.authenticate("carol", RIGHT).result == "SUCCESS"
    rows, summary = lists.results(three.tool("pause", "--all", "--json", check=SOME_FAILED).output)
    assert rows[3] == ("carol", "no_password") and (summary["unchanged"], summary["failed"]) == (2, 1)
    three.tool("pause", "--all", "--even-locked-out", check=DONE)
    assert set(states(three).values()) == {"paused"}
    three.tool("resume", "--all", check=DONE)
    assert set(states(three).values()) == {"ok"}


def test_one_user_and_a_list_are_refused_alike(three):
    assert three.tool("pause", "carol", check=NOT_PERMITTED).errors == f"passcode: carol: {NO_PASSWORD}\n"
    answer = three.tool("pause", "--batch", "-", stdin="carol\nalice\n", check=SOME_FAILED)
    assert f"passcode: line 1: carol: {NO_PASSWORD}\n" in answer.errors
    assert answer.output == "line 2: alice: passcode paused\n"
    assert states(three) == {"alice": "paused", "bob": "ok", "carol": "ok"}
    three.tool("pause", "carol", "--even-locked-out", check=DONE)
    three.tool("pause", "--batch", "-", "--even-locked-out", stdin="carol\n", check=DONE)
    assert states(three)["carol"] == "paused"


def test_a_password_that_was_locked_later_is_none(two):
    lock("bob")
    assert f"bob: {NO_PASSWORD}" in two.tool("pause", "--all", check=SOME_FAILED).errors
    assert states(two) == {"alice": "paused", "bob": "ok"}


def test_one_s_own_passcode_is_paused_all_the_same(three):
    """Anyone may, and nothing but root can read the shadow database."""
    three.tool("pause", user="carol", check=DONE)
    assert states(three)["carol"] == "paused"


def test_an_account_that_the_shadow_database_doesn_t_know_is_paused(three):
    """As with a directory: only the login knows the password."""
    shadow = pathlib.Path("/etc/shadow")
    whole = shadow.read_text()
    try:
        shadow.write_text("".join(line for line in whole.splitlines(True) if not line.startswith("carol:")))
        three.tool("pause", "--all", check=DONE)
        assert states(three)["carol"] == "paused"
    finally:
        shadow.write_text(whole)


def test_records_without_a_passcode_or_an_account_are_none(two):
    two.enroll("carol", RIGHT)
    two.tool("remove", "carol", check=DONE)
    gone = two.store / "400000"
    gone.write_bytes(two.record("bob"))
    os.chown(gone, two.record_file("bob").stat().st_uid, two.record_file("bob").stat().st_gid)
    gone.chmod(0o600)
    for command, state in (("pause", "paused"), ("resume", "ok")):
        answer = two.tool(command, "--all", check=DONE)
        assert answer.errors == "passcode: users: 2, done: 2, failed: 0\n"
        assert [states(two)[name] for name in ("alice", "bob")] == [state] * 2


def test_a_damaged_record_is_told_and_stops_nothing(two):
    file = two.record_file("alice")
    whole = file.read_bytes()
    file.write_bytes(b"x" * len(whole))
    answer = two.tool("pause", "--all", check=SOME_FAILED)
    assert "passcode: alice: failed: " in answer.errors and answer.output == "bob: passcode paused\n"
    file.write_bytes(whole)


def test_only_root_has_it(two):
    for command in ("pause", "resume"):
        answer = two.tool(command, "--all", user="alice", check=NOT_PERMITTED)
        assert answer.output == "" and one_line(answer.errors)
    assert set(states(two).values()) == {"ok"}


@pytest.mark.parametrize("command", ["pause", "resume"])
@pytest.mark.parametrize("arguments", [["alice"], ["--batch", "-"], ["--stdin"], ["--output", "x"]], ids=" ".join)
def test_what_does_not_go_with_it(two, command, arguments):
    assert one_line(two.tool(command, "--all", *arguments, stdin="alice\n", check=USAGE).errors)
    assert set(states(two).values()) == {"ok"}


OTHERS = [["remove", "--all"], ["disable", "--all"], ["resume", "--even-locked-out", "alice"]]


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_other_commands_have_none(two, words):
    two.tool(*words, check=USAGE)


def test_beside_a_second_factor_nobody_is_paused(two):
    """The password would end no pause: of a list neither."""
    two.configure(second_factor="yes")
    for words in (["--all"], ["--all", "--even-locked-out"], ["--batch", "-"]):
        answer = two.tool("pause", *words, stdin="alice\n", check=NOT_PERMITTED)
        assert answer.output == "" and "passcode disable" in answer.errors
    assert set(states(two).values()) == {"ok"}
    two.tool("resume", "--all", check=DONE)


def test_a_fleet_s_account_is_left_out(two):
    """Its record here means nothing."""
    two.configure(verifier="/run/none.sock", verifier_uids=str(pwd.getpwnam("bob").pw_uid))
    before = two.record("bob")
    for command, done in (("pause", "alice: passcode paused\n"), ("resume", "alice: passcode resumed\n")):
        assert two.tool(command, "--all", check=DONE).output == done
    assert two.record("bob") == before and not list(two.store.glob("*.paused"))


def slowly(bed):
    """A run that takes 2 s for each record, under strace; and its own process."""
    machine.set_password("carol")
    slow = strace.record(bed.folder / "trace", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=1000000")
    run = subprocess.Popen(
        [*slow, *bed.tool_words(), "pause", "--all", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
    )  # fmt: skip
    found = []

    def is_there():
        """strace has children of its own at first."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[:] = [pid for pid in children(run.pid) if pathlib.Path(f"/proc/{pid}/comm").read_text() == "passcode\n"]
        return found

    wait_for(is_there)
    return run, found[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_what_is_done_stays_and_is_told(three, number):
    """What it had begun is finished; nothing else is begun."""
    run, tool = slowly(three)
    wait_for(lambda: len(children(tool)) == 2)
    os.kill(tool, number)
    output, errors = run.communicate()
    rows, summary = lists.results(output)
    stop = summary["stopped_at"]
    assert run.returncode == CANCELLED and "stopped early: run it again to do the rest" in errors
    names = ["alice", "bob", "carol"]
    assert 0 < stop < 3 and rows == {line: (names[line - 1], "done") for line in range(1, stop + 1)}
    assert states(three) == {name: "paused" if place < stop else "ok" for place, name in enumerate(names)}
    three.tool("pause", "--all", check=DONE)
    assert set(states(three).values()) == {"paused"}


def test_killed_what_is_done_stays(three):
    run, tool = slowly(three)
    wait_for(lambda: "paused" in states(three).values())
    os.kill(tool, signal.SIGKILL)
    run.communicate()
    done = {name for name, state in states(three).items() if state == "paused"}
    rows, _ = lists.results(three.tool("pause", "--all", "--json", check=DONE).output)
    assert done and {name for name, result in rows.values() if result == "unchanged"} >= done
    assert set(states(three).values()) == {"paused"}


def test_nobody_who_holds_a_record_holds_it_up(three):
    """As with `disable`: the process that holds it gets a second."""
    machine.set_password("carol")
    with subprocess.Popen(["flock", "--no-fork", str(three.record_file("bob")), "sleep", "60"]) as holder:
        wait_for(lambda: re.search(f" {in_locks(three.record_file('bob'))} ", pathlib.Path("/proc/locks").read_text()))
        three.tool("pause", "--all", check=DONE)
        assert holder.wait(10) == -signal.SIGKILL
    assert set(states(three).values()) == {"paused"}


def test_who_is_paused_already_or_has_none_is_told_that(three):
    """Whether there is a password doesn't matter then."""
    three.tool("pause", "carol", "--even-locked-out", check=DONE)
    assert "already paused" in three.tool("pause", "carol", check=DONE).output
    three.tool("pause", "--all", check=DONE)
    three.tool("remove", "carol", check=DONE)
    three.tool("pause", "carol", check=NOT_ENROLLED)
    assert lists.results(three.tool("pause", "--batch", "-", "--json", stdin="carol\n", check=SOME_FAILED).output)[0] == {
        1: ("carol", "not_enrolled")
    }


def test_what_cannot_be_printed_ends_it(two):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*two.tool_words(), "pause", "--all"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == UNUSABLE and b"standard output" in done.stderr
    two.tool("pause", "--all", check=DONE)


def test_those_who_paused_their_own_are_resumed_too(two):
    two.tool("pause", user="alice", check=DONE)
    rows, _ = lists.results(two.tool("resume", "--all", "--json", check=DONE).output)
    assert rows == {1: ("alice", "done"), 2: ("bob", "unchanged")}
    two.tool("pause", "--all", check=DONE)
    alone(two, "resume", PASSWORD, check=DONE)
    assert states(two) == {"alice": "ok", "bob": "paused"}


def test_the_paused_are_listed(two):
    two.tool("pause", "bob", check=DONE)
    rows = map(json.loads, two.tool("list", "--json", "--state", "paused", check=DONE).output.splitlines())
    assert [row["user"] for row in rows] == ["bob"]
