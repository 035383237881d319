"""A throw-away bed for the built programs: configuration, store, key and PAM services of its own."""

import dataclasses
import hashlib
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import subprocess
import tempfile

import pam
import pytest

BUILD = pathlib.Path(os.environ.get("PASSCODE_BUILD", ".build/ship/out")).absolute()


def built(program):
    """Its path, for a test that uses it; one that is older than its sources isn't there, and Tests/outside says why."""
    for line in os.environ.get("PASSCODE_REFUSED", "").splitlines():
        name, _, why = line.partition(" ")
        if name == program:
            pytest.fail(why, pytrace=False)
    return BUILD / program


MODULE = BUILD / "pam_passcode.so"
TOOL = BUILD / "passcode"
SERVICE = "login"  # the tests ask as that program does: see Gate.swift
SLOT = 4096
USUAL = pathlib.Path("/etc/security/passcode.conf")  # in the tests' own namespace
MEMORY = pathlib.Path("/run/passcode")  # of the last wrong codes, where the configuration is the usual one
PEOPLE = ["alice", "bob", "carol"]

# Fast on purpose: what is tested here is not Argon2's strength, nor (but in test_weak.py) the choice.
QUICK = {"opslimit": "1", "memlimit": "64K", "fail_delay": "0", "weak": "allow"}


class Bed:
    def __init__(self, owner="root", journal=None, usual=False, place=None, **options):
        """`usual`: the configuration is where the programs look for it, so that nothing has to name it. `place`: the
        directory that it is made in; the usual temporary one if it is None."""
        self.owner, self.journal = owner, journal
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="passcode-test-", dir=place))
        self.folder.chmod(0o755)
        self.configuration = USUAL if usual else self.folder / "passcode.conf"
        self.usual = usual
        self.store, self.key, self.services = (self.folder / name for name in ("store", "key", "pam.d"))
        self.services.mkdir()
        self.options = {"store": self.store, "key_file": self.key, **QUICK}
        shutil.chown(self.folder, owner)
        self.configure(**options)
        self.service()
        self.typed = set()
        self._first_line = len(journal.lines()) if journal else 0

    def remove(self):
        shutil.rmtree(self.folder)
        if self.usual:
            self.configuration.unlink()

    # MARK: What administrators write

    def configure(self, *lines, **options):
        """Writes the configuration: the bed's options with these changed, and further lines as they are."""
        self.options.update(options)
        text = "".join(f"{name}={value}\n" for name, value in self.options.items())
        self.configuration.write_text(text + "".join(line + "\n" for line in lines))
        self.configuration.chmod(0o644)
        shutil.chown(self.configuration, self.owner)

    def service(self, *arguments, stack="auth required {module}"):
        """Writes the service file; `{module}` stands for the module with its conf= and the arguments."""
        named = [] if self.usual else [f"conf={self.configuration}"]
        module = " ".join([str(MODULE), *named, *arguments])
        (self.services / SERVICE).write_text(stack.format(module=module) + "\n")

    # MARK: The tool

    def tool(self, *arguments, stdin="", user=None, check=None, before=(), setting=None, **how):
        """Runs the tool; with `user`, as that person and nothing else; `before`: the command that runs it."""
        who = {} if user is None else person(user)
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(setting or {})}
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        done = subprocess.run(
            [*before, *self.tool_words(), *arguments],
            input=data, capture_output=True, timeout=150, env=environment, cwd="/", **who, **how,
        )  # fmt: skip
        answer = Answer(done.returncode, done.stdout.decode(), done.stderr.decode())
        if check is not None:
            assert answer.status == check, f"passcode {' '.join(arguments)}: {answer}"
        return answer

    def tool_words(self):
        return [str(TOOL)] if self.usual else [str(TOOL), "--conf", str(self.configuration)]

    def enroll(self, user, code):
        """A passcode for the user, and a machine key if there is none."""
        by = None if self.owner == "root" else self.owner
        self.typed.add(code)
        if not self.key.exists():
            self.tool("key", "init", user=by, check=0)
        return self.tool("enroll", "--stdin", user, stdin=code + "\n", user=by, check=0)

    def status(self, user, **how):
        by = None if self.owner == "root" else self.owner
        return json.loads(self.tool("status", "--json", user, user=by, **how).output)

    def failures(self, user):
        return self.status(user)["failures"]

    # MARK: PAM

    def authenticate(self, user, *answers, **how):
        return self.start(user, *answers, **how).wait()

    def start(self, user, *answers, **how):
        self.typed |= {answer for answer in answers if isinstance(answer, str)} - {user, *PEOPLE}
        return pam.start(SERVICE, user, self.services, answers, **how)

    # MARK: The store

    def record_file(self, user):
        return self.store / str(uid(user))

    def record(self, user):
        return self.record_file(user).read_bytes()

    def rewrite(self, user, change, source=None):
        """Forges the user's record: each slot's text changed, with the checksum that belongs to it."""
        slots = []
        whole = self.record(source or user)
        for start in range(0, len(whole), SLOT):
            text = whole[start : start + SLOT].rstrip(b"\0")
            body, line, _ = text.partition(b"checksum=")
            if line:
                body = change(body)
                text = (
                    body + b"checksum=" + hashlib.blake2b(body, digest_size=32).hexdigest().encode() + b"\n"
                )
            slots.append(text.ljust(SLOT, b"\0"))
        path = self.record_file(user)
        if not path.exists():
            shutil.copy2(self.record_file(source), path)
            owner = self.record_file(source).stat()
            os.chown(path, owner.st_uid, owner.st_gid)
        path.write_bytes(b"".join(slots))

    # MARK: The log

    def log(self):
        """The log lines since the bed was made."""
        return self.journal.lines()[self._first_line :]

    def module_log(self):
        """Those of the module: libpam puts the service's name in front."""
        return [line for line in self.log() if f"({SERVICE}:auth): " in line.message]

    def assert_nothing_typed_was_logged(self):
        """No passcode in a log line: neither on success, nor after failure, nor with debug.

        The people's uids may be there; they have more digits than any code, and some of those may look like one. So may
        a process's id and its start time, which polkit logs for each agent, and the bus for each service; and a year, or who
        logged in."""
        uids = [str(uid(name)) for name in PEOPLE]
        assert all(len(number) == 5 for number in uids)
        numbers = [*(rf"\b{number}\b" for number in uids), r"unix-process:\d+:\d+", r"--process \d+", r"\b(pid|loginuid)=\d+", r"\blast_failure=\S+"]
        permitted = re.compile("|".join([re.escape(str(self.folder)), *numbers]))
        for line in self.log():
            message = permitted.sub("", line.message)
            for typed in self.typed:
                assert len(typed) < 4 or typed not in message, f"typed {typed!r}, logged {message!r}"


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    output: str
    errors: str


def person(name):
    """For subprocess: that person and nothing else."""
    return {"user": uid(name), "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def uid(user):
    return pwd.getpwnam(user).pw_uid


def become(real, effective=None, saved=None):
    """For `prepare`: these users' ids, by name; with one name, that person and nobody else."""
    effective, saved = effective or real, saved or effective or real

    def prepare():
        if real == effective == saved:
            os.setgroups([])
            os.setresgid(*[pwd.getpwnam(real).pw_gid] * 3)
        os.setresuid(uid(real), uid(effective), uid(saved))

    return prepare


def more_memory_than(bytes_more):
    """For `prepare`: at most so much more address space than now."""

    def prepare():
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + bytes_more
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return prepare
