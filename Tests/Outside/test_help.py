"""What `--help` says is what is taken; and how each command ends."""

import re
import subprocess

import pytest

from bed import TOOL
from messages import TREE
from scenario import RIGHT, WRONG, fail
from states import disable, lose_key
from tool import (
    CANCELLED,
    DONE,
    LOCKED,
    NOT_ENROLLED,
    NOT_PERMITTED,
    POLICY,
    UNUSABLE,
    USAGE,
    WRONG_CODE,
    one_line,
)

EVERYWHERE = {"--conf", "--json", "--quiet", "--help", "--version"}
# Each command with its operand, and the options of its own.
COMMANDS = {
    "enroll [USER]": {
        "--length", "--stdin", "--generate", "--force", "--expires", "--must-change",
        "--batch", "--output", "--show", "--skip-enrolled",
    },
    "change [USER]": {"--length", "--stdin", "--force"},
    "remove [USER]": {"--stdin", "--batch"},
    "unlock [USER]": {"--stdin", "--batch"},
    "pause [USER]": {"--batch", "--all", "--even-locked-out"},
    "resume [USER]": {"--stdin", "--batch", "--all"},
    "status [USER]": set(),
    "verify [USER]": {"--stdin"},
    "list": {"--state", "--since"},
    "disable USER": {"--batch"},
    "enable USER": {"--batch"},
    "rename OLD NEW": set(),
    "check": set(),
    "key ACTION": {"--check", "--force", "--forget-sealed", "--must-change", "--pcrs", "--stdin"},
    "calibrate": {"--target", "--write"},
    "configure": {"--preset", "--dry-run", "--stdin", "--even-locked-out"},
    "check-weak": set(),
    "try": {"--demo"},
    "server ACTION": set(),
}  # fmt: skip
ALL = EVERYWHERE.union(*COMMANDS.values())
VALUES = {
    "--conf": ["/nonexistent"], "--length": ["4"], "--expires": ["7d"], "--batch": ["-"], "--output": ["x"],
    "--target": ["1s"], "--state": ["ok"], "--since": ["1h"], "--pcrs": ["7"], "--preset": ["desktop"],
}  # fmt: skip


def options(text):
    """Those that a help text lists; each with some words about it."""
    return set(re.findall(r"^  (--[\w-]+)(?:,? \S+)? +\S.{3,}$", text, re.MULTILINE))


def run(*arguments):
    """Without a configuration: help needs none."""
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_names_every_command_and_what_all_of_them_take(word):
    status, text, errors = run(word)
    assert (status, errors) == (DONE, "") and options(text) == EVERYWHERE
    assert re.findall(r"^  (--\S+), -h  ", text, re.MULTILINE) == ["--help"] and text.count("-h ") == 1
    names = r"^  ([a-z][a-z-]*(?: \[?USER\]?| ACTION| OLD NEW)?) +\S.{3,}$"
    assert re.findall(names, text.split("\nExamples:")[0], re.MULTILINE) == list(COMMANDS)
    assert "man passcode" in text
    for later in ["export"]:
        assert later not in text, later


def test_the_examples_of_the_help_can_be_run(alice):
    examples = re.findall(r"^  (?:sudo )?passcode (.*?)(?:  .*)?$", run("--help")[1], re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        words = example.split()
        assert words[0] in {usage.split()[0] for usage in COMMANDS}
        assert alice.tool(*words, "--help", check=DONE).output.startswith(f"Usage: passcode {words[0]}")


SUGGESTIONS = [
    ("enrol", "passcode enroll"), ("enrole", "passcode enroll"), ("help", "passcode --help"), ("-V", "--version"),
    ("stauts", "passcode status"), ("--gnerate", "--generate"), ("--versoin", "--version"), ("unlok", "passcode unlock"),
]  # fmt: skip


@pytest.mark.parametrize("typed, meant", SUGGESTIONS, ids=str)
def test_what_is_nearly_right_is_answered_with_what_was_meant(typed, meant):
    status, text, errors = run(typed)
    assert (status, text) == (USAGE, "") and one_line(errors)
    assert f"did you mean {meant}?" in errors and typed in errors


@pytest.mark.parametrize(
    "words, letter",
    [(["status", "-bob"], "-b"), (["-bob", "status"], "-b"), (["status", "alice", "-x"], "-x"), (["-xh", "-y"], "-x")],
    ids=str,
)
def test_a_letter_that_is_no_option_is_named(words, letter):
    status, text, errors = run(*words)
    assert (status, text) == (USAGE, "") and f"no option {letter}: see passcode --help" in errors


@pytest.mark.parametrize("typed", ["frobnicate", "--frobnicate", "", "x", "e" * 4000, "-x"], ids=lambda text: text[:12])
def test_what_is_near_to_nothing_is_not_guessed(typed):
    status, _, errors = run(typed)
    assert status == USAGE and "did you mean" not in errors and "see passcode --help" in errors


def test_a_value_that_is_missing_is_no_unknown_option():
    for option in VALUES:
        assert f"{option} needs a value" in run("enroll", option)[2]
    assert "--json takes no value" in run("status", "--json=yes")[2]


@pytest.mark.parametrize("usage", COMMANDS)
def test_the_help_of_each_command_names_what_it_takes(usage):
    command, own = usage.split()[0], COMMANDS[usage]
    status, text, errors = run(command, "--help")
    assert (status, errors) == (DONE, "")
    assert text.startswith(f"Usage: passcode {usage} [OPTIONS]\n") and options(text) == EVERYWHERE | own
    assert run("--help", command) == run(command, "-h") == (status, text, errors)
    for option in ALL:
        words = [option, *VALUES.get(option, [])]
        status, said, errors = run(command, *words, "--help")
        if option == "--version":
            assert status == DONE and said.startswith("passcode ")
        elif option in EVERYWHERE | own:
            assert (status, said) == (DONE, text), option
        else:
            assert status == USAGE and said == "" and one_line(errors)
            assert f"{command} has no option {option}" in errors and f"passcode {command} --help" in errors


def test_the_old_name_of_a_command_has_the_same_help():
    """Until 1.0; and nothing names it any more."""
    assert run("verifier", "--help") == run("server", "--help") and run("server", "--help")[0] == DONE
    assert not re.search(r"^  verifier", run("--help")[1], re.MULTILINE)


COMPLETIONS = TREE / "Sources/system/completions"


def test_the_completions_say_of_each_command_what_the_help_says():
    told = re.findall(r"^  ([a-z][a-z-]*)(?: \[?USER\]?| ACTION| OLD NEW)? +(\S.*)$", run("--help")[1].split("\nExamples:")[0], re.MULTILINE)
    assert len(told) == len(COMMANDS)
    fish = re.findall(r"use_subcommand -a ([a-z-]+) -d '(.*)'$", (COMPLETIONS / "passcode.fish").read_text(), re.MULTILINE)
    zsh = re.findall(r"^  '([a-z-]+):(.*)'$", (COMPLETIONS / "_passcode").read_text(), re.MULTILINE)
    assert {name: text.replace("\\'", "'") for name, text in fish} == dict(told)
    assert {name: text.replace("'\\''", "'").replace("\\:", ":") for name, text in zsh} == dict(told)


def test_version(bed):
    assert re.fullmatch(r"passcode \d+(\.\d+)+\S*\n", bed.tool("--version", check=DONE).output)


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"], ["--frobnicate"], ["-x"], ["enroll", "--frobnicate"], ["enroll", "alice", "bob"],
        ["verify", "alice", "0471"], ["enroll", "alice", "0471"], ["key"], ["key", "frobnicate"], ["key", "init", "x"],
        ["status", "--json=yes"], ["--conf"], ["enroll", "--length"], ["enroll", "--length", "5", "alice"], [""],
        ["list", "alice"], ["disable"], ["enable", "alice", "bob"], ["check-weak", "0471"], ["try", "alice"],
        ["status", "--conf", "relative"], ["status", "--conf", ""], ["key", "seal", "--pcrs", "24"], ["key", "seal", "--pcrs", "7,x"], ["list", "--pcrs", "7"], ["enroll", "--length", "", "alice"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage(bed, arguments):
    answer = bed.tool(*arguments, check=USAGE)
    assert answer.output == "" and answer.errors.startswith("passcode: ") and one_line(answer.errors)
    assert "--help" in answer.errors or "needs" in answer.errors


# MARK: Exit statuses


def lock(bed):
    fail(bed, 3)


def exhaust(bed):
    bed.configure(lockout="1:reset")
    fail(bed, 1)


def strict(bed):
    bed.configure(weak="refuse", lengths="4")


def as_it_is(bed):
    del bed


STATUSES = [
    (DONE, as_it_is, "status alice", ""),
    (DONE, as_it_is, "verify --stdin alice", f"{RIGHT}\n"),
    (WRONG_CODE, as_it_is, "verify --stdin alice", f"{WRONG[0]}\n"),
    (WRONG_CODE, as_it_is, "change --stdin alice", f"{WRONG[0]}\n8260\n"),
    (USAGE, as_it_is, "status alice bob", ""),
    (NOT_ENROLLED, as_it_is, "status bob", ""),
    (NOT_ENROLLED, as_it_is, "verify --stdin bob", f"{RIGHT}\n"),
    (NOT_ENROLLED, as_it_is, "change --stdin bob", f"{RIGHT}\n"),
    (NOT_ENROLLED, as_it_is, "change --force --stdin bob", "8260\n"),
    (NOT_ENROLLED, as_it_is, "remove bob", ""),
    (NOT_ENROLLED, as_it_is, "unlock bob", ""),
    (NOT_ENROLLED, as_it_is, "disable bob", ""),
    (NOT_ENROLLED, as_it_is, "enable bob", ""),
    (LOCKED, lock, "verify --stdin alice", f"{RIGHT}\n"),
    (LOCKED, lock, "change --stdin alice", f"{RIGHT}\n8260\n"),
    (LOCKED, exhaust, "verify --stdin alice", f"{RIGHT}\n"),
    (LOCKED, disable, "verify --stdin alice", f"{RIGHT}\n"),
    (POLICY, as_it_is, "verify --stdin alice", "hunter2\n"),
    (POLICY, as_it_is, "enroll --stdin bob", "12345\n"),
    (POLICY, strict, "enroll --stdin bob", "1234\n"),
    (POLICY, strict, "enroll --stdin bob", "830517\n"),
    (POLICY, strict, "enroll --generate --length 6 bob", ""),
    (POLICY, as_it_is, "enroll --length 6 --stdin bob", "8305\n"),
    (POLICY, as_it_is, "change --length 6 --stdin alice", f"{RIGHT}\n8305\n"),
    (UNUSABLE, as_it_is, "status nosuchuser", ""),
    (UNUSABLE, lose_key, "verify --stdin alice", f"{RIGHT}\n"),
    (UNUSABLE, lose_key, "enroll --stdin bob", "8305\n"),
    (UNUSABLE, lose_key, "change --stdin alice", f"{RIGHT}\n8260\n"),
    (UNUSABLE, lose_key, "key status", ""),
    (UNUSABLE, lose_key, "key init", ""),
    (CANCELLED, as_it_is, "enroll --stdin bob", ""),
    (CANCELLED, as_it_is, "verify --stdin alice", ""),
    (CANCELLED, as_it_is, "change --stdin alice", f"{RIGHT}\n"),
]


@pytest.mark.parametrize(
    "status, prepare, command, stdin",
    STATUSES,
    ids=[f"{status}: {prepare.__name__}, {command}" for status, prepare, command, _ in STATUSES],
)
def test_exit_status(alice, status, prepare, command, stdin):
    prepare(alice)
    alice.typed |= set(stdin.split())
    answer = alice.tool(*command.split(), stdin=stdin, check=status)
    if command == "status bob":
        assert "no passcode is set" in answer.output and answer.errors == ""
    elif status != DONE:
        assert answer.output == "" and answer.errors.startswith("passcode: ") and one_line(answer.errors)
        assert not any(word in answer.errors.replace(str(alice.folder), "") for word in stdin.split())


@pytest.mark.parametrize(
    "command", ["list", "disable bob", "status bob", "verify bob", "remove bob", "key status"]
)
def test_exit_status_of_what_is_not_permitted(machine, command):
    answer = machine.tool(*command.split(), user="alice", check=NOT_PERMITTED)
    assert answer.output == "" and one_line(answer.errors) and "root" in answer.errors


@pytest.mark.parametrize(
    "command",
    ["list", "list --json", "status alice", "status alice --json", "check-weak", "enroll --generate alice"],
)
def test_what_cannot_be_printed_is_said_so(alice, command):
    """A full disk is no short list; and who has a passcode that nobody was told is told that."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*alice.tool_words(), *command.split()], input=b"0471\n", stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == UNUSABLE and b"standard output" in done.stderr


def test_every_exit_status_is_met():
    assert {status for status, *_ in STATUSES} | {NOT_PERMITTED} == set(range(9))


@pytest.mark.parametrize("option", ["--force", "--stdin", "--generate", "--demo"])
@pytest.mark.parametrize("other", [[], ["--help"], ["--version"]], ids=str)
def test_an_option_of_a_command_needs_one(bed, option, other):
    answer = bed.tool(option, *other, check=USAGE)
    assert f"{option} needs a command: see passcode --help" in answer.errors
