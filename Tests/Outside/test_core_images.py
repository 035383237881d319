"""A core image of any of the programs has no passcode, no machine key and no hash, whenever it is taken: at a prompt, in
the middle of a hash, after each result, at the end. Nor has what /proc tells. Each kind of program is also searched for
what the test planted in it.

While a secret is in use, it is in guarded memory, which no core image has, and which is locked where that is permitted.
"""

import contextlib
import fcntl
import io
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess

import pexpect
import pytest

import forge
import host
import machine as machines
import pam
from bed import MODULE, SERVICE, TOOL, become, person, uid
from fleet import VERIFIER
from helper import GRANTED, VERIFY, WRONG_ONE, look, own_failures, request
from images import found, image, image_at_end, passcode_forms, places, planted, secret_forms, told
from process import children, end_child, state, wait_for
from recovery import recovery_copy
from scenario import PASSWORD
from tool import CANCELLED, DONE, WRONG_CODE

pytestmark = pytest.mark.shipped

CODE, WRONG, NEW = "830517", "295064", "718342"  # long enough to be nowhere else


@pytest.fixture
def own(machine):
    machine.enroll("alice", CODE)
    machine.typed |= {WRONG, NEW}
    return machine


@pytest.fixture(params=["directly", "by the helper"])
def who(request, own):
    return person("alice") if request.param == "by the helper" else {}


def forms(bed):
    """Of everything that is secret: the salt, too, because Argon2's memory and the salt tell what is being hashed."""
    all_forms = {}
    for code in (CODE, WRONG, NEW):
        all_forms |= passcode_forms(code)
    key = bed.key.read_bytes()
    for name, secret in (("key", key), ("key for sealing", forge.derived(key, 1)), ("key for digests", forge.derived(key, 2))):
        all_forms |= secret_forms(name, secret)
    credential = forge.credential(bed, "alice")
    return all_forms | secret_forms("hash", credential[forge.HASH]) | secret_forms("salt", credential[forge.SALT])


def assert_clean(pid, secrets):
    assert found(image(pid), secrets) == []
    for name, content in told(pid).items():
        assert found(content, secrets) == [], name


def assert_searched(pid, secrets):
    """The control: what stands there is found, in each form."""
    with planted(pid, b"\xff".join([b"", *secrets.values(), b""])):
        assert found(image(pid), secrets) == list(secrets)


class Host:
    """A login program that loads the module."""

    def __init__(self, bed, **how):
        command = [host.program(), "asked", SERVICE, str(bed.services), "alice"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env={}, cwd="/", **pipes, **how)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == b"started\n"

    def type(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def asks(self):
        self.type("")
        assert self.process.stdout.readline() == b"asked\n"

    def result(self):
        return pam.RESULTS[int(self.process.stdout.readline())]

    def programs(self):
        """Itself, and its helper."""
        return [self.pid, *children(self.pid)]


@contextlib.contextmanager
def asking(bed, **how):
    program = Host(bed, **how)
    try:
        yield program
    finally:
        program.process.kill()
        assert program.process.communicate()[1] == b"", "nothing on standard error"


def test_at_the_prompt_and_after_each_result(own, who):
    secrets = forms(own)
    with asking(own, **who) as program:
        for typed, result in ((WRONG, "AUTH_ERR"), ("cancel", "CONV_ERR"), (CODE, "SUCCESS")):
            program.asks()
            for pid in program.programs():
                assert_clean(pid, secrets)
            program.type(typed)
            assert program.result() == result
            assert_clean(program.pid, secrets)
        program.asks()
        for pid in program.programs():
            assert_searched(pid, secrets)


@contextlib.contextmanager
def stopped_in_the_hash(bed, **how):
    """A login program, and the process that was stopped in the middle of its hash: itself, or its helper."""
    bed.configure(opslimit="32", memlimit="64M")
    bed.enroll("alice", CODE)
    with asking(bed, **how) as program:
        program.asks()
        program.type(CODE)
        wait_for(lambda: own_failures(bed) == 1)
        pid = program.programs()[-1]
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: state(pid) == "T")
        yield program, pid


def test_killed_in_the_middle_of_the_hash(own, who):
    with stopped_in_the_hash(own, **who) as (program, pid):
        secrets = forms(own)
        for each in program.programs():
            assert_clean(each, secrets)
        [flags] = places(pid, CODE.encode())
        assert flags >= {"dd", "lo"}
        assert found(image(pid, excluded=True), passcode_forms(CODE)), "the control: where it is, it is found"
        os.kill(pid, signal.SIGKILL)
        if pid != program.pid:
            assert program.result() == "AUTHINFO_UNAVAIL"
            assert_clean(program.pid, secrets)
    assert own.failures("alice") == 1


def test_where_memory_cannot_be_locked_it_is_still_left_out_of_images(own):
    def forbid():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    with stopped_in_the_hash(own, **person("alice"), preexec_fn=forbid) as (program, pid):
        [flags] = places(pid, CODE.encode())
        assert "dd" in flags and "lo" not in flags
        assert_clean(pid, forms(own))
        # How long that took, and the helper stood still for it, is no matter: another attempt shows that it works.
        os.kill(pid, signal.SIGKILL)
        assert program.result() == "AUTHINFO_UNAVAIL"
        program.asks()
        program.type(CODE)
        assert program.result() == "SUCCESS"


@pytest.mark.parametrize("code, kind", [(CODE, GRANTED), (WRONG, WRONG_ONE)], ids=["granted", "wrong"])
def test_the_helper_at_its_end(own, code, kind):
    secrets = forms(own)
    process, ours = look()
    with image_at_end(process.pid) as taken:
        ours.sendall(request(VERIFY, uid("alice"), passcode=code))
        ours.shutdown(socket.SHUT_WR)
        assert ours.recv(4096)[1] == kind
    assert process.wait(20) == 0
    assert found(taken[0], secrets) == []


# MARK: Programs of the system


@pytest.mark.parametrize("command", [("su", "alice", "-c"), ("sudo", "sh", "-c")], ids=["su", "sudo"])
def test_su_and_sudo(own, command):
    path, sudoers = pathlib.Path("/etc/pam.d", command[0]), pathlib.Path("/etc/sudoers")
    kept = path.read_bytes(), sudoers.read_bytes()
    path.write_text(f"auth required {MODULE}\naccount required pam_permit.so\nsession required pam_permit.so\n")
    sudoers.write_text("Defaults timestamp_timeout=0, !lecture\nalice ALL=(ALL) ALL\n")
    secrets = forms(own)
    child = pexpect.spawn(command[0], [*command[1:], "echo ready; sleep 60"], preexec_fn=become("alice"), timeout=30)
    try:
        child.expect("Passcode: ")
        assert child.waitnoecho(timeout=20)
        assert_clean(child.pid, secrets)
        assert_searched(child.pid, secrets)
        child.send(CODE + "\r")
        child.expect("ready")
        for pid in (child.pid, *children(child.pid)):
            assert_clean(pid, secrets)
    finally:
        end_child(child)
        path.write_bytes(kept[0])
        sudoers.write_bytes(kept[1])


# MARK: The tool


class Tool:
    """On a terminal, by root or by alice."""

    def __init__(self, user, *arguments):
        identity = None if user == "root" else become(user)
        self.said = io.StringIO()
        self.child = pexpect.spawn(
            str(TOOL), list(arguments), preexec_fn=identity, encoding="utf-8", timeout=30, cwd="/",
            env={"LC_ALL": "C.UTF-8", "TERM": "dumb"},
        )  # fmt: skip
        self.child.logfile_read = self.said
        self.pid = self.child.pid

    def asks(self, prompt):
        self.child.expect(prompt + r".*: $")
        assert self.child.waitnoecho(timeout=20)

    def ends(self, typed):
        """The image at its end, after this was typed; and its exit status."""
        with image_at_end(self.pid) as taken:
            self.child.send(typed)
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert not re.search("|".join((CODE, WRONG, NEW, PASSWORD)), self.said.getvalue())
        return taken[0], self.child.exitstatus


by_both = pytest.mark.parametrize("user", ["root", "alice"])


@by_both
def test_the_tool_at_each_prompt_of_a_change_and_at_its_end(own, user):
    secrets = forms(own)
    tool = Tool(user, "change", "alice")
    tool.asks("asscode")
    assert_clean(tool.pid, secrets)
    assert_searched(tool.pid, secrets)
    tool.child.send(CODE + "\r")
    for prompt in ("New passcode", "Repeat"):
        tool.asks(prompt)
        assert_clean(tool.pid, secrets)
        [flags] = places(tool.pid, CODE.encode())
        assert flags >= {"dd", "lo"}
        if prompt == "New passcode":
            tool.child.send(NEW + "\r")
    taken, status = tool.ends(NEW + "\r")
    assert status == DONE
    assert found(taken, secrets | forms(own)) == []


@by_both
@pytest.mark.parametrize(
    "typed, expected", [(CODE + "\r", DONE), (WRONG + "\r", WRONG_CODE), (CODE + "\x03", CANCELLED)],
    ids=["granted", "wrong", "cancelled"],
)  # fmt: skip
def test_the_tool_at_the_end_of_an_attempt(own, user, typed, expected):
    tool = Tool(user, "verify", "alice")
    tool.asks("asscode")
    taken, status = tool.ends(typed)
    assert status == expected
    assert found(taken, forms(own)) == []


def test_the_tool_while_a_password_proves_an_enrolment(own):
    machines.set_password("alice")
    own.typed.add(PASSWORD)
    secrets = forms(own) | {"password": PASSWORD.encode()}
    tool = Tool("alice", "enroll")
    tool.asks("assword")
    tool.child.send(PASSWORD + "\r")
    tool.asks("New passcode")
    assert_clean(tool.pid, secrets)
    tool.child.send(NEW + "\r")
    tool.asks("Repeat")
    assert_clean(tool.pid, secrets)
    taken, status = tool.ends(NEW + "\r")
    assert status == DONE
    assert found(taken, secrets | forms(own)) == []


def shown(command, **how):
    """What a command shows, and its images: before it shows that, and at its end."""
    output, end = os.pipe()
    # Full, so that the program waits before it shows anything.
    os.write(end, bytes(fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)))
    process = subprocess.Popen(command, stdout=end, **how)
    os.close(end)
    wait_for(lambda: told(process.pid)["syscall"].startswith(b"1 0x1 "))
    before = image(process.pid)
    with image_at_end(process.pid) as taken, open(output, "rb") as reading:
        said = reading.read().lstrip(b"\0")
    assert process.wait(20) == DONE
    return said, before + taken[0]


def test_the_tool_before_and_after_it_shows_a_passcode(own):
    """It has made it up. One that is in an image without it tells nothing, such as 020906, which is in tables of 16-bit numbers,
    or the place of one of libc's functions: then another one."""
    command, code = [TOOL, "enroll", "--generate", "--length", "6"], None
    _, without = shown([*command, "bob"])
    while code is None or found(without, passcode_forms(code)):
        said, taken = shown([*command, "alice"])
        code = said.decode().strip()
        assert re.fullmatch(r"\d{6}", code)
    own.typed.add(code)
    assert own.authenticate("alice", code).result == "SUCCESS"
    assert found(taken, forms(own) | passcode_forms(code)) == []


def test_the_tool_at_the_end_of_sealing(own, tpm):
    """It has shown the machine key, as a recovery copy: nothing of that is left."""
    del tpm
    secrets = secret_forms("key", own.key.read_bytes())
    said, taken = shown([TOOL, "key", "seal", "--force"])
    for line in recovery_copy(said.decode()).encode().splitlines():
        digits = line[3:22]
        secrets |= {f"line {line[:1]}": digits, f"line {line[:1]}, dense": digits.replace(b" ", b"")}
        assert digits in said
    assert found(taken, secrets) == []


# MARK: A fleet's server


def test_the_fleet_key_where_it_is_made(own):
    state, key = pathlib.Path("/var/lib/passcode-verifier"), own.key.with_name("fleet.key")
    command = ["sh", "-c", 'read go && exec "$0" init', VERIFIER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        with image_at_end(process.pid) as taken:
            process.communicate(b"go\n")
        assert process.returncode == DONE
        assert found(taken[0], secret_forms("fleet key", key.read_bytes()[:32])) == []
    finally:
        shutil.rmtree(state, ignore_errors=True)


@pytest.mark.parametrize("command", [["invite", "alice"], ["enroll", "alice", "--generate", "--length", "6"]], ids=lambda words: words[0])
def test_a_server_before_and_after_it_shows_a_code(fleet, command):
    server = fleet.servers[0]
    said, taken = shown(server.command(VERIFIER, *command))
    code = said.strip()
    assert re.fullmatch(rb"\d{6}|[A-Z]{8}", code)
    key = (server.files / "fleet.key").read_bytes()[:32]
    assert found(taken, secret_forms("fleet key", key) | {"as text": code, "in base 16": code.hex().encode()}) == []
