"""The tool on a pseudo-terminal: asked how often, echo off, and the terminal restored on every way out."""

import os
import re
import signal
import subprocess

import pexpect
import pytest

from bed import TOOL
from test_tool import CANCELLED, DONE, POLICY

TERMINAL = 'trap : INT QUIT; "$@"; echo "status=$?"; stty -a'


class Terminal:
    """The tool on a pseudo-terminal, in a shell that outlives it and tells what it left."""

    def __init__(self, bed, *arguments):
        command = [str(TOOL), "--conf", str(bed.configuration), *arguments]
        self.child = pexpect.spawn("/bin/bash", ["-c", TERMINAL, "-", *command], encoding="utf-8", timeout=30)
        self.prompts = 0

    def type(self, text):
        """Waits for a prompt with echo off, and answers it."""
        self.child.expect(r": $")
        assert self.child.waitnoecho(timeout=5), "what is typed would be shown"
        self.prompts += 1
        self.child.send(text)

    def ends(self):
        """The exit status; the terminal is as it was, and no code was shown."""
        self.child.expect(r"status=(\d+)\r\n")
        status = int(self.child.match[1])
        said = self.child.before
        self.child.expect(pexpect.EOF)
        assert re.search(r"(?<!-)\becho\b", self.child.before), "echo is off"
        assert re.search(r"(?<!-)\bisig\b", self.child.before) and re.search(
            r"(?<!-)\bicanon\b", self.child.before
        )
        assert not re.search(r"\b\d{4}(\d\d)?\b", said), "a code was shown"
        self.child.close()
        return status, said


def test_enroll_asks_twice(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.type("0471\r")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


def test_a_mismatch_is_told_and_asked_again(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    for typed in ("0471", "0472", "004711", "004711"):
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "004711").result == "SUCCESS"


def test_three_mismatches_are_enough(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    for typed in ("0471", "0472") * 3:
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == POLICY
    assert keyed.status("alice")["enrolled"] is False


@pytest.mark.parametrize("typed", ["12345", "abcd", "", "٠٤٧١", "1" * 300])
def test_what_is_no_passcode_is_told_and_asked_again(keyed, typed):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.type(typed + "\r")
    terminal.type("0471\r")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


def test_verify_asks_once(alice):
    terminal = Terminal(alice, "verify", "alice")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE and terminal.prompts == 1


@pytest.mark.parametrize("prompt", [1, 2])
@pytest.mark.parametrize("typed", ["", "047"])
@pytest.mark.parametrize("key", ["\x03", "\x04\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_cancelling_restores_the_terminal(keyed, prompt, typed, key):
    terminal = Terminal(keyed, "enroll", "alice")
    for _ in range(prompt - 1):
        terminal.type("0471\r")
    terminal.type(typed + key)
    status, _ = terminal.ends()
    assert status == (CANCELLED if typed == "" or key == "\x03" else status) != DONE
    assert keyed.status("alice")["enrolled"] is False


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name
)
def test_a_signal_restores_the_terminal(keyed, number):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.child.expect(r": $")
    assert terminal.child.waitnoecho(timeout=5)
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(terminal.child.pid)], capture_output=True, text=True
    )
    os.kill(int(children.stdout.split()[0]), number)
    status, _ = terminal.ends()
    assert status in (CANCELLED, 128 + number)


def test_without_a_terminal_and_without_stdin_nothing_is_guessed(keyed):
    """A pipe is no terminal: whoever means it says --stdin."""
    done = subprocess.run(
        ["setsid", str(TOOL), "--conf", str(keyed.configuration), "enroll", "alice"],
        input=b"0471\n0471\n", capture_output=True, timeout=30,
    )  # fmt: skip
    assert done.returncode not in (DONE, 128 + signal.SIGABRT) and keyed.status("alice")["enrolled"] is False
