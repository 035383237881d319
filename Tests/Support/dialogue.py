"""What people type into programs on a terminal of a Debian machine, and which prompts they see; and pam_faillock."""

import dataclasses
import io
import re
import time

import pexpect

from debian_machine import exit_status

# The one prompt, what it says where notices are hidden, and the password's in everybody's words.
PROMPT = re.compile(r"(?:Passcode(?: \(\d+ attempts? left\))? or p|(?:Passcode [^\r\n:]*\. )?P|p)assword[^\r\n:]*: ")
EITHER = "Passcode or password: "
LEFT = {1: "Passcode (2 attempts left) or password: ", 2: "Passcode (1 attempt left) or password: "}
INTERRUPT, END = "\x03", "\x04"

# As guides for Debian put pam_faillock around the other profiles.
FAILLOCK = {
    "faillock_notify": """Name: Refuse while locked, and reset the count
Default: no
Priority: 1024
Auth-Type: Primary
Auth:
\trequisite pam_faillock.so preauth
Account-Type: Primary
Account:
\trequired pam_faillock.so
""",
    "faillock": """Name: Count failures
Default: no
Priority: 0
Auth-Type: Primary
Auth:
\t[default=die] pam_faillock.so authfail
""",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """How it is started, and how it behaves."""

    command: tuple
    said: str = ""  # once it let somebody in; login has a shell for that
    user: str = "alice"
    asks_again_after: str = ""  # by itself, once it said this
    is_silent: bool = False  # shows no notices of PAM's
    cancelled_by: str = INTERRUPT


class Dialogue:
    """One run of a program, answered prompt by prompt."""

    def __init__(self, machine, program):
        self.program = program
        self.child = machine.terminal(*program.command, user=program.user)
        self.child.logfile_read = self.transcript = io.StringIO()
        if not program.said:
            # login hangs its terminal up when it begins (trixie), or when it opens the session: it has begun.
            assert self.child.waitnoecho(timeout=20)

    def answer(self, text):
        """At the next prompt, which doesn't echo; login asks for the name before it asks again."""
        while self.child.expect([PROMPT, " login: "]) == 1:
            self.child.send("alice\r")
        assert self.child.waitnoecho(timeout=20)
        self.answered_at = len(self.transcript.getvalue())
        self.child.send(text if text in (INTERRUPT, END) else text + "\r")

    def is_let_in(self):
        """To the end, or to a prompt that isn't answered."""
        if not self.program.said:
            is_refused = self.child.expect([self.program.asks_again_after, r"[$] ", pexpect.EOF]) != 1
            return not is_refused and has_a_shell(self.child) == "1000"
        if self.child.expect([PROMPT, pexpect.EOF]) == 0:
            return False
        return exit_status(self.child) == 0 and self.child.before.endswith(f"{self.program.said}\r\n")

    @property
    def calls(self):
        """The prompts of each call of PAM. The one that began after the last answer doesn't belong to it."""
        text, word = self.transcript.getvalue(), self.program.asks_again_after
        if not word:
            return [PROMPT.findall(text)]
        answered = text[: self.answered_at] + text[self.answered_at :].split(word)[0]
        return [PROMPT.findall(part) for part in answered.split(word)]


def has_a_shell(child):
    """What is typed while login hangs its terminal up is lost, so it is typed until the shell answers."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        child.sendline("echo uid=$(id -u)")
        if child.expect([r"uid=(\d+)", pexpect.TIMEOUT, pexpect.EOF], timeout=1) == 0:
            return child.match[1]
        time.sleep(0.1)
    raise AssertionError(child.before)


def put_faillock_around(machine):
    for file, text in FAILLOCK.items():
        (machine.path / "usr/share/pam-configs" / file).write_text(text)
    (machine.path / "etc/security/faillock.conf").write_text("deny = 3\nnodelay\n")
    machine.run("pam-auth-update", "--enable", *FAILLOCK)


def tallied(machine):
    """What `faillock` shows of alice below its two lines of heading."""
    return machine.run("faillock", "--user", "alice").splitlines()[2:]
