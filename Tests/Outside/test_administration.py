"""Changing, disabling, listing and making up passcodes."""

import datetime
import json
import os
import re
import signal
import stat
import subprocess

import pexpect
import pytest

import bench
from bed import TOOL, uid
from scenario import RIGHT, WRONG, fail, refused_unasked
from terminal import Terminal
from tool import DONE, LOCKED, NO_FINGER, NOT_ENROLLED, NOT_PERMITTED, POLICY, UNUSABLE, USAGE, WRONG_CODE

DISABLED = "Passcode disabled by the administrator."


# MARK: change


@pytest.mark.parametrize("new", ["8260", "826004", RIGHT])
def test_change_takes_the_old_one_and_then_the_new_one(alice, new):
    alice.typed.add(new)
    alice.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n{new}\n", check=DONE)
    assert alice.authenticate("alice", new).result == "SUCCESS"
    assert (alice.authenticate("alice", RIGHT).result == "SUCCESS") == (new == RIGHT)
    assert alice.status("alice")["length"] == len(new)


def test_a_wrong_old_passcode_changes_nothing_and_counts(alice):
    for code, status in (
        (WRONG[0], WRONG_CODE),
        (WRONG[1], WRONG_CODE),
        (WRONG[2], WRONG_CODE),
        (RIGHT, LOCKED),
    ):
        alice.tool("change", "--stdin", "alice", stdin=f"{code}\n8260\n", check=status)
    alice.tool("unlock", "alice", check=DONE)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("new", ["", "\n", "12345\n", "abcd\n"])
def test_a_bad_new_passcode_changes_nothing(alice, new):
    assert alice.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n{new}").status != DONE
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_change_of_nothing(alice):
    alice.tool("change", "--stdin", "bob", stdin=f"{RIGHT}\n8260\n", check=NOT_ENROLLED)


def test_only_root_uses_force(make_bed, alice):
    alice.tool("change", "--force", "--stdin", "alice", stdin="8260\n", check=DONE)
    assert alice.authenticate("alice", "8260").result == "SUCCESS"
    own = make_bed(owner="bob")
    own.enroll("bob", RIGHT)
    for command in ("change", "enroll"):
        own.tool(command, "--force", "--stdin", "bob", stdin="8260\n", user="bob", check=NOT_PERMITTED)
    own.tool("change", "--stdin", "bob", stdin=f"{RIGHT}\n8260\n", user="bob", check=DONE)


def test_change_on_a_terminal_asks_the_old_one_once_and_the_new_one_twice(alice):
    terminal = Terminal(alice, "change", "alice")
    for typed in (RIGHT, "8260", "8261", "8260", "8260"):
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == DONE
    assert alice.authenticate("alice", "8260").result == "SUCCESS"


def test_root_changes_by_force_without_the_old_one(alice):
    terminal = Terminal(alice, "change", "--force", "--length", "6", "alice")
    for typed in ("8260", "826004", "826004"):
        terminal.type(typed + "\r")
    status, said = terminal.ends()
    assert status == DONE and "Old" not in said
    assert alice.authenticate("alice", "826004").result == "SUCCESS"


# MARK: disable, enable


def test_a_disabled_passcode_is_refused_unasked_and_not_forgotten(alice):
    alice.tool("disable", "alice", check=DONE)
    before = alice.record("alice")
    assert refused_unasked(alice.authenticate("alice", RIGHT), "AUTH_ERR", DISABLED)
    assert alice.record("alice") == before
    assert alice.status("alice")["state"] == "disabled"
    alice.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=LOCKED)
    alice.tool("enable", "alice", check=DONE)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_disabling_while_somebody_types(alice):
    def disable_meanwhile(_):
        alice.tool("disable", "alice", check=DONE)
        return RIGHT

    outcome = alice.authenticate("alice", disable_meanwhile)
    assert outcome.result == "AUTH_ERR" and outcome.texts == [DISABLED]


def test_a_suspension_survives_remove_and_enroll(alice):
    alice.tool("disable", "alice", check=DONE)
    alice.tool("remove", "alice", check=DONE)
    for arguments, note in ([], 1), (["--generate"], 1), (["--quiet"], 0):
        answer = alice.tool("enroll", "alice", "--stdin", *arguments, stdin=f"{RIGHT}\n", check=DONE)
        assert answer.errors == note * "passcode: disabled; to enable, run as root: passcode enable alice\n"
    assert refused_unasked(alice.authenticate("alice", RIGHT), "AUTH_ERR", DISABLED)


def test_unlock_ends_no_suspension_and_enable_ends_no_lock(alice):
    fail(alice, 3)
    alice.tool("disable", "alice", check=DONE)
    alice.tool("enable", "alice", check=DONE)
    assert alice.status("alice")["state"] == "locked"
    alice.tool("disable", "alice", check=DONE)
    alice.tool("unlock", "alice", check=DONE)
    assert alice.status("alice")["state"] == "disabled"


@pytest.mark.parametrize("command", ["disable", "enable"])
def test_disabling_wants_a_name_and_a_record(alice, command):
    alice.tool(command, check=USAGE)
    alice.tool(command, "bob", check=NOT_ENROLLED)


# MARK: list


def test_list_in_json_is_one_object_a_line(alice):
    alice.enroll("bob", "826004")
    fail(alice, 1, user="bob")
    answer = alice.tool("list", "--json", check=DONE)
    rows = [json.loads(line) for line in answer.output.splitlines()]
    assert {row["user"]: (row["uid"], row["length"], row["failures"]) for row in rows} == {
        "alice": (uid("alice"), 4, 0),
        "bob": (uid("bob"), 6, 1),
    }
    assert all(row | NO_FINGER == alice.status(row["user"]) for row in rows)


def test_list_for_people(alice):
    answer = alice.tool("list", check=DONE)
    assert re.search(r"^alice +\d+ +4 +0 +ok", answer.output, re.MULTILINE) and "\x1b" not in answer.output


ODD = ['quo"te', "back\\slash", "two words", "ünï", "\udcff\udcfe", "</script>", "{}", "a" * 32]


def test_json_is_json_whatever_people_are_called(keyed):
    with bench.accounts([(300_000 + number, name) for number, name in enumerate(ODD)]):
        for name in ODD:
            keyed.tool("enroll", "--stdin", name, stdin=f"{RIGHT}\n", check=DONE)
        rows = list(map(json.loads, keyed.tool("list", "--json", check=DONE).output.splitlines()))
        # What isn't UTF-8 can't be told in JSON: the uid can.
        shown = [os.fsencode(name).decode(errors="replace") for name in ODD]
        assert [row["user"] for row in rows] == shown
        assert [row | NO_FINGER for row in rows] == [keyed.status(name) for name in ODD]
        assert "\\xff\\xfe" in keyed.tool("list", check=DONE).output


def test_the_table_has_columns(alice):
    alice.enroll("bob", "826004")
    fail(alice, 3)
    alice.authenticate("bob", "826004")
    heading, *rows = alice.tool("list", check=DONE).output.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+( \S+)*", heading)]
    assert re.split(r"  +", heading) == ["USER", "UID", "LENGTH", "FAILURES", "STATE", "LAST SUCCESS"]
    ends = [*starts[1:], None]
    cells = [[row[start:end].rstrip() for start, end in zip(starts, ends)] for row in rows]
    success = datetime.datetime.fromisoformat(alice.status("bob")["last_success"]).astimezone()
    assert cells == [
        ["alice", str(uid("alice")), "4", "3", "locked", "-"],
        ["bob", str(uid("bob")), "6", "0", "ok", f"{success:%Y-%m-%d %H:%M:%S %Z}"],
    ]


def test_an_empty_list(keyed):
    assert keyed.tool("list", "--json", check=DONE).output == ""


def test_a_removed_passcode_is_not_listed(alice):
    alice.tool("remove", "alice", check=DONE)
    assert alice.tool("list", "--json", check=DONE).output == ""


@pytest.mark.parametrize(
    "setting, coloured", [({}, True), ({"NO_COLOR": "1"}, False)], ids=["terminal", "NO_COLOR"]
)
def test_colour_only_on_a_terminal_that_wants_it(alice, setting, coloured):
    fail(alice, 3)
    output, status = pexpect.run(
        f"{TOOL} --conf {alice.configuration} list", withexitstatus=True, env={"TERM": "xterm", **setting}
    )
    assert status == DONE and (b"\x1b[" in output) == coloured and b"locked" in output


# MARK: enroll --generate


@pytest.mark.parametrize("arguments, length", [([], 6), (["--length", "4"], 4), (["--length", "6"], 6)])
def test_generate_prints_it_once_and_nothing_else(keyed, arguments, length):
    answer = keyed.tool("enroll", "--generate", *arguments, "alice", check=DONE)
    assert re.fullmatch(rf"\d{{{length}}}\n", answer.output)
    code = answer.output.strip()
    assert keyed.authenticate("alice", code).result == "SUCCESS"


def test_generated_passcodes_differ(keyed):
    codes = {keyed.tool("enroll", "--generate", "alice", check=DONE).output for _ in range(8)}
    assert len(codes) >= 7


def test_generate_keeps_to_the_configured_lengths(keyed):
    keyed.configure(lengths="4")
    assert len(keyed.tool("enroll", "--generate", "alice", check=DONE).output) == 5
    keyed.tool("enroll", "--generate", "--length", "6", "alice", check=POLICY)


# MARK: The log


def test_each_administrative_act_is_logged(alice):
    for command in (["unlock"], ["disable"], ["enable"], ["change", "--force", "--stdin"], ["remove"]):
        fail(alice, command == ["unlock"])
        before = len(alice.log())
        alice.tool(*command, "alice", stdin="8260\n", check=DONE)
        [line] = alice.log()[before:]
        assert line.facility == 10 and "user=alice" in line.message and "by_uid=0" in line.message


# MARK: A machine key that doesn't fit


def test_key_status_tells_a_bad_key(keyed):
    keyed.key.chmod(0o600)
    keyed.key.write_bytes(b"short")
    answer = keyed.tool("key", "status", check=UNUSABLE)
    assert str(keyed.key) in answer.errors


def test_key_status_and_status_tell_another_key(alice):
    """After the restoration of another machine's: it is whole, and opens nothing."""
    key = alice.key.read_bytes()
    alice.key.chmod(0o640)
    alice.key.write_bytes(bytes([1] * 32))
    answer = alice.tool("key", "status", check=UNUSABLE)
    assert str(alice.key) in answer.errors and "1 enrolled passcode needs another key" in answer.errors
    assert "key status" in alice.tool("status", "alice").output
    alice.key.write_bytes(key)
    alice.tool("key", "status", check=DONE)
    assert "key status" not in alice.tool("status", "alice").output


def test_a_key_that_everybody_can_read_is_none(alice):
    alice.key.chmod(stat.S_IMODE(alice.key.stat().st_mode) | 0o004)
    assert alice.authenticate("alice", RIGHT).result == "AUTHINFO_UNAVAIL"
    answer = alice.tool("key", "status", check=UNUSABLE)
    assert "chmod" in answer.errors


def test_secrets_never_come_from_the_environment_or_the_arguments(keyed):
    environment = {"PASSCODE": RIGHT, "PATH": "/usr/bin:/bin"}
    for arguments in (
        ["enroll", "alice", RIGHT],
        ["enroll", "alice", f"--stdin={RIGHT}"],
        ["enroll", "--code", RIGHT, "alice"],
    ):
        done = subprocess.run(
            [TOOL, "--conf", keyed.configuration, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
        )
        assert done.returncode == USAGE
    assert keyed.status("alice")["enrolled"] is False


# MARK: Ctrl-C


ACTS = {
    "enroll": (["enroll", "--stdin", "alice"], "8260\n", "passcode enrolled"),
    "change": (["change", "--stdin", "--force", "alice"], "8260\n", "passcode changed"),
    "remove": (["remove", "alice"], "", "passcode removed"),
    "unlock": (["unlock", "alice"], "", "passcode unlocked"),
    "disable": (["disable", "alice"], "", "passcode disabled"),
    "enable": (["enable", "alice"], "", "passcode enabled"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_was_done_is_in_the_log_though_it_is_interrupted(alice, act, number):
    """Ctrl-C is pressed while the kernel writes the record to the disk."""
    arguments, typed, words = ACTS[act]
    fail(alice, 1)
    if act == "enable":
        alice.tool("disable", "alice", check=DONE)
    logged = len(alice.log())
    press = ["strace", "-o", "/dev/null", "-e", f"inject=fdatasync:signal={number.name}:when=1"]
    assert alice.tool(*arguments, stdin=typed, before=press).status == -number
    lines = [line.message for line in alice.log()[logged:] if line.message.startswith(words)]
    assert len(lines) == 1 and "user=alice" in lines[0] and "by_uid=0" in lines[0]
