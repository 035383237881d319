"""passcode-finger and the program that starts it: what it takes from it, and what is left when that ends."""

import os
import pwd
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest
from bed import become, uid
from finger import PROGRAM, Finger, descriptors, request, touches, watching
from process import wait_for

# A caller that can be killed: it starts the program, says so, and sleeps. With "fork", a child of its own keeps its end
# of the connection open.
CALLER = textwrap.dedent("""
    import os, socket, subprocess, sys, time
    ours, theirs = socket.socketpair()
    program = subprocess.Popen([sys.argv[1]], stdin=theirs, env={})
    theirs.close()
    ours.sendall(bytes.fromhex(sys.argv[2]))
    if "fork" in sys.argv and os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    while (kind := ours.recv(16)[1]) == 1:  # it joins late
        pass
    assert kind == 2
    print(program.pid, flush=True)
    time.sleep(60)
""")


def start_caller(*words):
    """The caller, once the reader waits for a touch; and the program's process id."""
    command = [sys.executable, "-c", CALLER, PROGRAM, request().hex(), *words]
    caller = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    return caller, int(caller.stdout.readline())


def status(pid):
    """What the kernel says of a process, by name."""
    with open(f"/proc/{pid}/status") as file:
        return {key: value.split() for key, value in (line.split(":", 1) for line in file)}


def is_gone(pid):
    try:
        return status(pid)["State"][0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.alone
@pytest.mark.parametrize("words", [[], ["fork"]])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_reader_is_free_when_the_caller_is_killed(reader, words, number):
    for _ in range(3):
        caller, program = start_caller(*words)
        try:
            caller.send_signal(number)
            begin = time.monotonic()
            wait_for(lambda: is_gone(program), 5)
            ended = time.monotonic() - begin
            wait_for(reader.is_free, 5)
            free = time.monotonic() - begin
        finally:
            os.killpg(caller.pid, signal.SIGKILL)
            caller.wait()
        print(f"ended after {ended:.3f} s, the reader free after {free:.3f} s")
        assert free < 0.1


@pytest.mark.alone
def test_the_reader_is_free_when_the_caller_closes_the_connection(reader):
    with watching():
        begin = time.monotonic()
    assert reader.is_free() and time.monotonic() - begin < 0.1


def test_nobody_is_charged_for_a_prompt_that_ends_without_a_touch(reader):
    for _ in range(3):
        with watching():
            pass
    caller, program = start_caller()
    caller.kill()
    caller.wait()
    wait_for(lambda: is_gone(program))
    with watching() as finger:
        reader.touch("somebody-else")
        assert finger.event() == "no match"
    assert touches() == 1


def test_it_is_root_in_every_id_and_in_a_session_of_its_own(reader):
    alice = pwd.getpwnam("alice")

    def as_a_setuid_program():
        os.setgroups([alice.pw_gid])
        os.setresgid(alice.pw_gid, 0, 0)
        os.setresuid(alice.pw_uid, 0, 0)

    with watching(preexec_fn=as_a_setuid_program) as finger:
        said = status(finger.program.pid)
        assert said["Uid"] == said["Gid"] == ["0"] * 4
        assert said["Groups"] == []
        assert os.getsid(finger.program.pid) == finger.program.pid
        for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGCONT):
            command = ["setpriv", "--reuid=alice", "--clear-groups", "kill", f"-{int(number)}"]
            assert subprocess.run([*command, str(finger.program.pid)], stderr=subprocess.DEVNULL).returncode
        reader.touch("alice-finger")
        assert finger.match(reader).serial == 2


def test_it_keeps_nothing_that_it_inherited(reader, tmp_path):
    """As many descriptors as without: its input, output and error, the bus, its caller's process (libsystemd's own)."""

    def kept(**how):
        with watching(**how) as finger:
            pid = finger.program.pid
            assert os.readlink(f"/proc/{pid}/cwd") == "/"
            return [name.split(":")[0] for name in descriptors(pid)]

    secret = tmp_path / "secret"
    secret.write_text("not for others")
    usual = kept()
    assert set(usual) <= {"/dev/null", "anon_inode", "pidfd", "socket"} and len(usual) <= 6
    with open(secret) as file:
        assert kept(pass_fds=[file.fileno()], env={"LD_DEBUG": "", "DBUS_SYSTEM_BUS_ADDRESS": "x"}) == usual


def test_without_root_it_does_nothing(reader):
    with Finger(preexec_fn=become("alice")) as finger:
        assert finger.events() == []
        assert finger.program.wait() == 1
    assert reader.is_free()


def test_started_by_hand_it_says_so():
    for stdin in (subprocess.DEVNULL, subprocess.PIPE):
        done = subprocess.run([PROGRAM], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"not by hand" in done.stderr and not done.stdout


NONSENSE = {
    "nothing": lambda sound: b"",
    "a part": lambda sound: sound[:-1],
    "another version": lambda sound: b"\3" + sound[1:],
    "the version before": lambda sound: b"\1" + sound[1:],
    "no operation": lambda sound: sound[:1] + b"\0" + sound[2:],
    "an unknown operation": lambda sound: sound[:1] + b"\4" + sound[2:],
    "an unknown condition": lambda sound: sound[:2] + b"\2" + sound[3:],
    "a person's terminal": lambda sound: sound[:2] + b"\1\1" + sound[4:],
    "nobody's uid": lambda sound: sound[:4] + b"\xfe\xff\xff\x7f",
}


@pytest.mark.parametrize("change", NONSENSE)
def test_a_request_that_makes_no_sense_is_none(reader, change):
    finger = Finger(ask=NONSENSE[change](request()))
    try:
        finger.connection.shutdown(socket.SHUT_WR)
        assert finger.events() == []
        assert finger.program.wait(20) == 1
    finally:
        finger.close()
    assert reader.is_free()


def test_a_caller_that_says_more_than_the_request_is_none(reader):
    with Finger(ask=request() + b"\0") as finger:
        assert "watching" not in finger.events()[1:]
        finger.program.wait(20)
    assert reader.is_free()


def test_a_connection_that_somebody_else_made_is_none(reader):
    """Root answers root alone: what counts is who made the connection."""
    os.setresuid(0, uid("alice"), 0)
    try:
        ours, theirs = socket.socketpair()
    finally:
        os.setresuid(0, 0, 0)
    with ours, theirs:
        ours.sendall(request())  # first: the program may end at once
        program = subprocess.Popen([PROGRAM], stdin=theirs, env={})
        theirs.close()
        assert program.wait(20) == 1
        ours.settimeout(1)
        with pytest.raises(ConnectionResetError):  # it hasn't even read the request
            ours.recv(16)
    assert reader.is_free()


def test_the_account_counts_and_not_the_caller(reader):
    assert uid("bob") != uid("alice")
    with Finger("bob", preexec_fn=lambda: os.setresuid(uid("alice"), 0, 0)) as finger:
        assert finger.events() == ["not enrolled"]
