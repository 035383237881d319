"""The module in hosts without root, as they are: signals, descriptors, limits, threads, and a bad helper."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

import machine as machines
import pam
from bed import SERVICE, become, more_memory_than, person, uid
from cost import growth, in_child
from helper import VERIFY, request
from machine import HELPER
from scenario import RIGHT, WRONG, asked_once, refused_unasked


def host(*steps):
    """For `prepare`: these steps, then alice."""

    def prepare():
        for step in steps:
            step()
        become("alice")()

    return {"prepare": prepare}


def closed(*descriptors):
    """libpam and its modules find these numbers free."""

    def step():
        for descriptor in descriptors:
            os.close(descriptor)

    return step


def reaping(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


HOSTS = {
    "ignores SIGCHLD": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "reaps all its children": lambda: signal.signal(signal.SIGCHLD, reaping),
    "blocks all signals": lambda: signal.pthread_sigmask(signal.SIG_SETMASK, range(1, signal.NSIG)),
    "has no standard input": closed(0),
    "has no standard output": closed(1, 2),
    "has none of them": closed(0, 1, 2),
    "gets signals all the time": lambda: (
        signal.signal(signal.SIGALRM, lambda *_: None),
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001),
    ),
    "has little address space": more_memory_than(1 << 20),
    "is in a folder that it can't read": lambda: os.chdir("/root"),
    "has a umask of 777": lambda: os.umask(0o777),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_that(own, name):
    # Under little address space the helper itself has little: it needs its libraries, and the hash 64 KiB.
    step = more_memory_than(16 << 20) if "address" in name else HOSTS[name]
    assert own.authenticate("alice", RIGHT, **host(step)).result == "SUCCESS"
    wrong = own.authenticate("alice", WRONG[0], **host(step))
    assert wrong.result == "AUTH_ERR" and wrong.texts == ["Wrong passcode, 2 attempts left."]


def test_a_hosts_other_children_are_its_own(own):
    """They ended before the call, or while it asked; the host learns how, and nobody reaps them before it."""
    ended = []

    def end(status):
        ended.append(os.fork())
        if ended[-1] == 0:
            os._exit(status)
        os.waitid(os.P_PID, ended[-1], os.WEXITED | os.WNOWAIT)

    def answer(_):
        end(42)
        return RIGHT

    def run():
        become("alice")()
        end(41)
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, "alice", own.services, [answer, RIGHT], outcome)
        for _ in range(2):
            handle.call("authenticate")
        handle.end()
        return outcome.results, [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in ended]

    assert in_child(run) == (["SUCCESS"] * 2, [41, 42])


@pytest.mark.parametrize("more", range(6))
def test_a_host_with_hardly_a_descriptor_left(own, more):
    """Refused with the reason in the log, or served; never granted for nothing, never ended."""

    def few():
        used = len(os.listdir("/proc/self/fd")) + 8  # libpam's own, and the module's file
        resource.setrlimit(resource.RLIMIT_NOFILE, (used - 6 + more, used - 6 + more))

    outcome = own.authenticate("alice", WRONG[0], **host(few))
    assert outcome.killed_by == 0
    assert outcome.result in ("AUTHINFO_UNAVAIL", "SERVICE_ERR", "AUTH_ERR", "OPEN_ERR", "SYSTEM_ERR", "PERM_DENIED",
                              "MODULE_UNKNOWN", "USER_UNKNOWN", None)  # fmt: skip


def test_signals_and_masks_are_the_hosts_own_afterwards(own):
    kept = {}

    def remember(handle):
        kept["mask"] = pathlib.Path("/proc/self/status").read_text()
        return RIGHT

    def check(handle):
        text = pathlib.Path("/proc/self/status").read_text()
        for name in ("SigBlk", "SigIgn", "SigCgt"):
            assert [line for line in text.splitlines() if line.startswith(name)] == [
                line for line in kept["mask"].splitlines() if line.startswith(name)
            ]
        return RIGHT

    outcome = own.authenticate("alice", remember, check, calls=["authenticate"] * 2, **host())
    assert outcome.results == ["SUCCESS"] * 2


def test_many_threads_at_once(own):
    """Each has its own handle, as in a display manager; all right passcodes succeed."""
    outcomes = []

    def work():
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, "alice", own.services, [RIGHT], outcome)
        handle.call("authenticate")
        handle.end()
        outcomes.append(outcome.results[0])

    def all_of_them():
        become("alice")()
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes

    assert in_child(all_of_them) == ["SUCCESS"] * 16
    assert own.failures("alice") == 0


def is_stream(number):
    try:
        with socket.socket(fileno=os.dup(number)) as found:
            return found.type == socket.SOCK_STREAM
    except OSError:
        return False


def inode(number):
    with contextlib.suppress(OSError):
        return os.fstat(number).st_ino


def test_what_a_host_without_standard_files_prints_goes_nowhere(own):
    def answer(handle):
        for number in filter(is_stream, (0, 1, 2)):  # the log's socket is none
            os.write(number, b"Code? ")
        return RIGHT

    assert own.authenticate("alice", answer, **host(closed(0, 1, 2))).result == "SUCCESS"


def test_the_passcode_goes_to_nobody_who_got_the_connections_number(own):
    """A program may close what it doesn't know while it asks, and open something else."""
    theirs, taken = [], {}

    def answer(handle):
        for number in [number for number in range(100) if is_stream(number)]:
            theirs.extend(socket.socketpair())
            os.dup2(theirs[-2].fileno(), number)
            taken[number] = inode(number)
        return RIGHT

    def look(handle):
        # Those files are the host's, and stay open.
        handle.outcome.messages += [["closed", number] for number, file in taken.items() if inode(number) != file]
        for one in theirs:
            with contextlib.suppress(BlockingIOError):
                handle.outcome.messages.append(["sent", one.recv(4096, socket.MSG_DONTWAIT).decode()])
        return RIGHT

    outcome = own.authenticate("alice", answer, look, calls=["authenticate"] * 2, **host())
    assert outcome.results == ["SUCCESS"] * 2 and outcome.messages == []


def test_a_reply_ends_though_another_process_has_the_helpers_end(own):
    """A host with threads may fork at the wrong moment."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **person("alice"))
        ours.settimeout(20)
        ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
        ours.shutdown(socket.SHUT_WR)
        assert ours.recv(4096)[1] == 1 and ours.recv(1) == b""
        assert helper.wait(20) == 0


def test_nothing_is_left_in_the_host(own):
    """No descriptor, no memory, no zombie."""

    def login():
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, "alice", own.services, [RIGHT], outcome)
        handle.call("authenticate")
        handle.end()
        assert outcome.results == ["SUCCESS"]

    def run():
        become("alice")()
        costs = growth(login, 50)
        children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        return (*costs, children)

    memory, descriptors, mappings, children = in_child(run)
    assert memory <= 64 and descriptors == 0 and mappings == 0 and children == ""


@pytest.mark.parametrize(
    "program, cause",
    [
        ("exec 0<&-; sleep 3", "without a reply"),
        ("head -c 10 >/dev/null; { printf '\\001\\020'; head -c 40 /dev/zero; } >&0; kill -9 $$", None),
        ("kill -9 $$", "without a reply"),
    ],
    ids=["lives on", "killed after its answer", "killed at once"],
)
def test_how_the_helper_ends_decides_nothing(own, program, cause):
    HELPER.write_text(f"#!/bin/sh\n{program}\n")
    machines.shutil.chown(HELPER, "_passcode", "_passcode")
    HELPER.chmod(0o6755)
    start = time.monotonic()
    outcome = own.authenticate("alice", FAILS := pam.FAILS, **host())
    assert time.monotonic() - start < 3, "nobody waits for a process whose stream has ended"
    if cause:
        assert refused_unasked(outcome, "AUTHINFO_UNAVAIL")
        assert any(cause in line.message for line in own.module_log())
    else:
        assert outcome.result == "CONV_ERR" and FAILS is pam.FAILS


# MARK: What lock screens do


STACK = "auth sufficient {module}\nauth required pam_unix.so"


def test_one_like_swaylock(own):
    """The same text to every prompt, one handle for every try, messages ignored, no acct_mgmt."""
    password = "correct horse"
    own.typed.add(password)
    machines.sh("chpasswd", "-c", "SHA256", input=f"alice:{password}".encode())
    own.service(stack=STACK)
    typed = [WRONG[0], WRONG[0], "", "", password, password, RIGHT]
    outcome = own.authenticate("alice", *typed, calls=["authenticate"] * 4, **host())
    assert outcome.results == ["AUTH_ERR", "AUTH_ERR", "SUCCESS", "SUCCESS"]
    assert [prompt.strip() for prompt in outcome.prompts] == ["Passcode:", "Password:"] * 3 + ["Passcode:"]


def test_one_like_hyprlock(own):
    """Shows a notice only where it says what is left to unlock. "2 minutes" stays true for a whole minute."""
    own.configure(lockout="3:2m")
    for code in WRONG[:3]:
        outcome = own.authenticate("alice", code, **host())
    shown = [text for style, text in outcome.messages if style == "TEXT_INFO" and "left to unlock" in text]
    assert shown == ["Passcode locked (2 minutes left to unlock)."]
    again = own.authenticate("alice", RIGHT, **host())
    assert again.prompts == [] and again.texts == shown


def test_the_answer_is_asked_once(own):
    assert asked_once(own.authenticate("alice", RIGHT, **host()))
