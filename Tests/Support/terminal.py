"""The tool on a pseudo-terminal."""

import os
import re

import pexpect

from bed import TOOL
from process import children

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
        assert self.child.waitnoecho(timeout=20), "what is typed would be shown"
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


class Shell:
    """A shell with job control on a pseudo-terminal; it leaves the terminal's modes to its programs."""

    def __init__(self, *command):
        environment = {"PS1": "shell> ", "PATH": os.environ["PATH"]}
        self.child = pexpect.spawn("/bin/dash", ["-i"], env=environment, encoding="utf-8", timeout=30)
        self.child.expect("shell> $")
        self.run(" ".join(command))

    def run(self, command):
        self.child.sendline(command)

    def waits_hidden(self, *typed):
        """There is a prompt, with echo off."""
        self.child.expect(r"\): $|[Pp]asscode: $")
        assert self.child.waitnoecho(timeout=20), "what is typed would be shown"
        for text in typed:
            self.child.send(text)

    def has_the_terminal(self):
        """The shell again, with echo on."""
        self.child.expect("shell> $")
        assert self.child.getecho(), "echo is off"

    def process(self):
        """The tool's number."""
        [number] = children(self.child.pid)
        return number
