"""`passcode-verifier accept`, as its unit runs it: a process for each connection, whatever becomes of them."""

import contextlib
import os
import signal
import socket
import subprocess

import pytest

from acceptor import Acceptor, command_line, converse
from fleet import ACCOUNT, GRANTED, LOOK, OPEN, VERIFIER, VERIFY, request
from process import wait_for
from scenario import RIGHT

AT_ONCE = 512
# What it may call once it waits: nothing that opens or reads.
CALLS = {"ppoll", "accept4", "close", "wait4", "prlimit64", "clone", "clone3", "vfork", "mmap", "munmap", "rt_sigprocmask",
         "rt_sigaction", "rt_sigreturn", "kill", "exit_group"}  # fmt: skip


@pytest.fixture
def acceptor(fleet):
    made = Acceptor(fleet.servers[0])
    made.start()
    yield made
    made.end()


def is_answered(acceptor):
    return acceptor.ask(request(VERIFY, "alice", passcode=RIGHT)).kind == GRANTED


def test_each_connection_has_a_process_that_was_started_for_it(acceptor):
    with acceptor.connect() as one, acceptor.connect() as other:
        wait_for(lambda: len(acceptor.children()) == 2)
        wait_for(lambda: all(command_line(child) == os.fsencode(VERIFIER) + b"\0" for child in acceptor.children()))
        assert converse(other, request(LOOK, "alice")).kind == OPEN
        assert converse(one, request(VERIFY, "alice", passcode=RIGHT)).kind == GRANTED
    acceptor.idle()


def test_it_reads_nothing_itself(fleet):
    server = fleet.servers[0]
    trace = server.state / "accept.trace"
    acceptor = Acceptor(server, "strace", "-D", "-qq", "-o", trace)
    for _ in range(3):
        assert is_answered(acceptor)
    acceptor.end()
    lines = trace.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("ppoll("))
    calls = {line.partition("(")[0] for line in lines[first:] if line[0] not in "-+"}
    assert {"accept4", "wait4"} <= calls and calls - CALLS == set()


def test_one_connection_too_many_is_closed_and_told(acceptor, journal):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(acceptor.connect()) for _ in range(AT_ONCE)]
        wait_for(lambda: len(acceptor.children()) == AT_ONCE, 30)
        with acceptor.connect() as connection:
            assert connection.recv(1) == b""
        wait_for(lambda: any("connection closed cause=" in line.message for line in journal.lines()))
        held[7].close()
        wait_for(lambda: len(acceptor.children()) < AT_ONCE)
        assert is_answered(acceptor)
    acceptor.idle()


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 4096, b"\3\xff\xff" + b"A" * 65535], ids=["nothing", "zeros", "too long"]
)
def test_nonsense_ends_one_process_only(acceptor, data):
    with acceptor.connect() as connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(4096).strip(b"\0") == b""
    assert is_answered(acceptor)
    acceptor.idle()


def test_a_process_that_is_killed_ends_alone(acceptor):
    with acceptor.connect() as connection:
        wait_for(acceptor.children)
        for child in acceptor.children():
            os.kill(child, signal.SIGKILL)
        assert connection.recv(1) == b""
        assert is_answered(acceptor)
    acceptor.idle()


def limit(acceptor, name, most):
    """By its own account, since that needs no right."""
    become = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups"]
    subprocess.run([*become, "prlimit", f"--pid={acceptor.pid}", f"--{name}={most}:"], check=True)


def test_without_room_for_a_process_the_connection_is_closed(acceptor):
    limit(acceptor, "nproc", 1)
    with acceptor.connect() as connection:
        assert connection.recv(1) == b""
    limit(acceptor, "nproc", 1000)
    assert is_answered(acceptor)


def test_without_a_descriptor_the_connection_waits(acceptor):
    limit(acceptor, "nofile", 4)
    with acceptor.connect() as connection:
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        limit(acceptor, "nofile", 1000)
        connection.settimeout(30)
        assert converse(connection, request(VERIFY, "alice", passcode=RIGHT)).kind == GRANTED
    assert is_answered(acceptor)


def test_what_it_has_started_survives_it(acceptor):
    data = request(VERIFY, "alice", passcode=RIGHT)
    with acceptor.connect() as connection:
        connection.sendall(data[:-1])
        wait_for(acceptor.children)
        acceptor.end()
        assert converse(connection, data[-1:]).kind == GRANTED


def test_its_account_can_t_look_into_it(acceptor):
    """One of the processes that it has started, once taken over, would see what all later ones are asked."""
    become = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    done = subprocess.run([*become, "cat", f"/proc/{acceptor.pid}/maps"], capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout == "" and "Permission denied" in done.stderr


def test_by_hand_it_says_what_it_is_for(fleet):
    done = fleet.servers[0].run("accept", check=2, stdin=subprocess.DEVNULL)
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "passcode server --help" in done.stderr
