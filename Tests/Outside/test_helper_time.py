"""Nobody waits for ever: the module for a helper, the helper for its caller, and others for a helper that its caller
froze."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import machine as machines
from bed import TOOL, become, person, uid
from process import children, in_locks, open_files, state, wait_for
from helper import (
    ENROLL,
    GRANTED,
    LOOK,
    OPEN,
    STATUS,
    VERIFY,
    as_alice,
    lingering,
    look,
    own_failures,
    pieces,
    request,
    verify,
)
from machine import HELPER, PROOF, STORE
from scenario import PASSWORD, RIGHT, WRONG, refused_unasked

# The most seconds that something may take which ends by itself after 10 or 30: a busy machine adds some; otherwise it would
# last for minutes.
LATEST = 60

KEPT = []
UNFINISHED = []  # helpers whose requests don't end; from the first test on, as they take 30 s


@pytest.fixture(autouse=True)
def started(own):
    if not UNFINISHED:
        UNFINISHED.extend(unfinished())


class Unfinished:
    """How it ends, and after how many seconds."""

    def __init__(self, name, helper, ours):
        self.name, self.helper, self.ours, self.start = name, helper, ours, time.monotonic()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        self.status = self.helper.wait()
        self.seconds = time.monotonic() - self.start


def unfinished():
    """Stuck in each part of the request, and between look and attempt."""
    whole = request(VERIFY, uid("alice"), passcode=RIGHT)
    for length in (0, 5, 12, len(whole)):
        yield Unfinished(f"{length} bytes", *pieces(whole[:length], 0))
    for length in (0, 12):
        helper, ours = look()
        ours.sendall(whole[:length])
        yield Unfinished(f"a look and {length} bytes", helper, ours)
    yield Unfinished("slow to close", *slow_to_close())
    yield Unfinished("stopped", *stopped())


def slow_to_close():
    """It inherits a connection whose last close takes 100 s."""
    slow, others = lingering()
    KEPT.extend(others)
    ours, theirs = socket.socketpair()
    command = ["sh", "-c", f"read -r _; exec {HELPER}"]
    helper = subprocess.Popen(
        command, stdin=theirs, cwd="/", pass_fds=[slow.fileno()], **person("alice")
    )
    theirs.close()
    slow.close()  # the last one to do that is the helper
    ours.sendall(b"\n" + request(VERIFY, uid("alice"), passcode=RIGHT))
    ours.shutdown(socket.SHUT_WR)
    # The next test has another file in this one's place.
    wait_for(lambda: has_become(helper.pid, HELPER))
    return helper, ours


def has_become(pid, program):
    """Into a setuid program a plain container may not look."""
    try:
        return pathlib.Path(f"/proc/{pid}/exe").readlink() == program
    except PermissionError:
        return True


def stopped():
    """Its caller stops it while that is allowed, and lets it go on too late."""
    helper, ours = pieces(request(VERIFY, uid("alice"), passcode=RIGHT), 0)
    wait_for(lambda: reads(helper.pid))  # stopped before it set its alarm, it would not be late
    assert as_alice(lambda: os.kill(helper.pid, signal.SIGSTOP)) == 0
    ours.shutdown(socket.SHUT_WR)
    threading.Timer(31, lambda: as_alice(lambda: os.kill(helper.pid, signal.SIGCONT))).start()
    return helper, ours


def is_started(pid):
    """Before, it is still its host, which waits in vfork."""
    return os.readlink(f"/proc/{pid}/exe") != os.readlink("/proc/self/exe")


def reads(pid):
    """It sleeps in a system call about its descriptor 0; in a plain container, which may not look: it sleeps after a second."""
    try:
        call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
    except PermissionError:
        time.sleep(1)
        return state(pid) == "S"
    return state(pid) == "S" and call[1:2] == ["0x0"]


# MARK: The helper for its caller


def test_its_limits(own):
    """Too long to wait for: 30 s before it is `_passcode`, 140 s for the deed, 30 s for the next request."""
    trace = own.folder / "trace"
    command = ["strace", "-e", "trace=alarm,setresuid,recvfrom,sendto", "-u", "alice", "-o", trace, HELPER]
    ours, theirs = socket.socketpair()
    with subprocess.Popen(list(map(str, command)), stdin=theirs, env={}) as helper:
        theirs.close()
        ours.sendall(request(LOOK, uid("alice")))
        assert ours.recv(4096)[1] == OPEN
        ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
        ours.shutdown(socket.SHUT_WR)
        assert ours.recv(4096)[1] == GRANTED
        assert helper.wait(10) == 0
    calls = [line.split(" ")[0] for line in trace.read_text().splitlines() if not line.startswith("+++")]
    limits = [call for call in calls if call.startswith(("alarm", "setresuid", "sendto(0"))]
    become = f"setresuid({uid('_passcode')},"
    assert limits == [
        "alarm(30)",
        become,
        "alarm(140)",
        "sendto(0,",
        "alarm(30)",
        "alarm(140)",
        "sendto(0,",
        "alarm(30)",
    ]
    assert calls.index("alarm(30)") < calls.index("recvfrom(0,")


def test_between_look_and_attempt_it_has_nothing(own):
    helper, ours = look()
    files = {path for path in open_files(helper.pid) if not path.startswith("socket:")}
    assert files == {"/dev/null", "/run/passcode/waiting"}
    assert not re.search(f" {in_locks(own.record_file('alice'))} ", pathlib.Path("/proc/locks").read_text())
    assert verify().kind == GRANTED
    ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
    ours.shutdown(socket.SHUT_WR)
    assert ours.recv(4096)[1] == GRANTED and ours.recv(1) == b"" and helper.wait(20) == 0


def test_between_look_and_attempt_it_ends_with_its_caller(own):
    helper, ours = look()
    ours.close()
    assert helper.wait(20) == 0


@pytest.mark.parametrize(
    "name",
    ["another look", "status", "the record of somebody else", "enrolment", "junk", "more than the attempt"],
)
def test_after_a_look_only_the_attempt(own, name):
    """By root, who may ask about anybody: nothing but the attempt on the same account comes next."""
    alice, attempt = uid("alice"), request(VERIFY, uid("alice"), passcode=WRONG[0])
    second = {
        "another look": request(LOOK, alice), "status": request(STATUS, alice),
        "the record of somebody else": request(VERIFY, uid("bob"), passcode=WRONG[0]),
        "enrolment": request(ENROLL, alice, new="8305", password=PASSWORD), "junk": b"x" * 100,
        "more than the attempt": attempt + b"\0",
    }[name]  # fmt: skip
    before = own.record("alice"), own.record("bob")
    answer = socket.socketpair()
    helper = subprocess.Popen([HELPER], stdin=answer[1], cwd="/")
    answer[1].close()
    answer[0].sendall(request(LOOK, alice) + second)
    answer[0].shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionResetError):
        replies = b"".join(iter(lambda: answer[0].recv(4096), b""))
        assert replies[1] == OPEN and len(replies) == 42
    assert helper.wait(20) == 1
    assert (own.record("alice"), own.record("bob")) == before


# MARK: The module for a helper


def stand_in(program):
    """A script can't be setuid; its bits are all that is looked at."""
    new = HELPER.with_suffix(".new")
    new.write_text(f"#!/bin/sh\n{program}\n")
    shutil.chown(new, "_passcode", "_passcode")
    new.chmod(0o6755)
    new.rename(HELPER)


def signal_storm():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    become("alice")()
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)


def test_nobody_waits_for_what_does_not_move(own):
    """10 s for what is stopped or sleeps, in any host; as long as it takes where a password is proven, by whatever
    module the administrator put there."""
    own.typed.add(PASSWORD)
    machines.set_password("alice")
    PROOF.write_text("auth required pam_unix.so\nauth required pam_exec.so quiet /usr/bin/sleep 12\n")
    own.authenticate("alice", WRONG[0])
    start = time.monotonic()
    unlocking = subprocess.Popen(
        [TOOL, "unlock", "--stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **person("alice")
    )  # fmt: skip
    unlocking.stdin.write(PASSWORD + "\n")
    unlocking.stdin.close()
    wait_for(lambda: [child for helper in children(unlocking.pid) for child in children(helper)])
    hosts, stuck = [], []
    for program in ("kill -STOP $$", "exec sleep 60", "printf '\\001' >&0; exec sleep 60"):
        stand_in(program)
        for prepare in (become("alice"), signal_storm):
            hosts.append(own.start("alice", RIGHT, prepare=prepare))
            wait_for(lambda: any(is_started(child) for child in children(hosts[-1].child)))
            stuck += children(hosts[-1].child)
    for host in hosts:
        assert refused_unasked(host.wait(LATEST), "AUTHINFO_UNAVAIL")
    assert 9.5 < time.monotonic() - start < LATEST
    assert sum("timed out" in line.message for line in own.module_log()) == len(hosts)
    assert unlocking.stdout.read() == "Passcode unlocked for alice.\n" and unlocking.wait(20) == 0
    assert 12 < time.monotonic() - start
    for process in stuck:
        os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def held_record(bed):
    file = os.open(bed.record_file("alice"), os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    yield
    fcntl.flock(file, fcntl.LOCK_UN)  # a host that was forked meanwhile has the file, too
    os.close(file)


def waiting_for_record(host):
    """The helper of this host, once it has opened the record."""
    record = str(STORE / str(uid("alice")))

    def found():
        with contextlib.suppress(OSError):
            # Until its helper is started, the child has the files that the tests have open.
            return [child for child in children(host) if is_started(child) and record in open_files(child)]

    wait_for(found)
    return found()[0]


@pytest.mark.parametrize("code, result", [(RIGHT, "SUCCESS"), (WRONG[0], "AUTH_ERR")])
def test_who_types_late_gets_another_helper(own, code, result):
    """The first one has ended; nothing was counted by that, and nothing of it stays."""
    reading, writing = os.pipe()

    def late(handle):
        os.write(writing, b"x")
        wait_for(lambda: "Z" in children(os.getpid()).values())
        return code

    def afterwards(handle):
        handle.outcome.messages.append(["children", " ".join(children(os.getpid()).values())])
        return RIGHT

    host = own.start("alice", late, afterwards, calls=["authenticate"] * 2, prepare=become("alice"))
    assert os.read(reading, 1)
    [first] = children(host.child)
    os.kill(first, signal.SIGALRM)
    outcome = host.wait()
    assert outcome.results == [result, "SUCCESS"] and outcome.texts[-1] in "SR"
    assert own.failures("alice") == 0


def test_a_helper_that_was_given_up_is_reaped_later(own):
    """It is stopped while it waits for the record; its host goes on, and the next call but one finds it ended."""
    reading, writing = os.pipe()

    def second_prompt(handle):
        os.write(writing, b"x")
        wait_for(lambda: "Z" in children(os.getpid()).values())
        return RIGHT

    def third_prompt(handle):
        handle.outcome.messages.append(["children", " ".join(children(os.getpid()).values())])
        return RIGHT

    with held_record(own):
        host = own.start(
            "alice", RIGHT, second_prompt, third_prompt, calls=["authenticate"] * 3, prepare=become("alice")
        )
        stuck = waiting_for_record(host.child)
        os.kill(stuck, signal.SIGSTOP)
    assert os.read(reading, 1)
    os.kill(stuck, signal.SIGKILL)
    outcome = host.wait(30)
    assert outcome.results == ["AUTHINFO_UNAVAIL", "SUCCESS", "SUCCESS"]
    assert outcome.texts[0] in "SR", "one child, the helper that waits for the attempt"


# MARK: Others for a helper


class Group:
    """A cgroup of alice's, as systemd delegates one to everybody who is logged in; and one in it to be frozen."""

    def __init__(self):
        self.root = pathlib.Path("/run/passcode-cgroup")
        self.root.mkdir()
        machines.sh("mount", "-t", "cgroup2", "cgroup2", self.root)
        self.mine = self.root / f"passcode-alice-{os.getpid()}"  # all runs share the kernel's cgroups
        self.ice = self.mine / "ice"
        for group in (self.mine, self.ice):
            group.mkdir()
            for file in [group, *group.glob("cgroup.*")]:
                with contextlib.suppress(PermissionError):
                    shutil.chown(file, "alice")

    def enter(self):
        (self.mine / "cgroup.procs").write_text(str(os.getpid()))

    def alice(self, file, text):
        assert as_alice(lambda: (self.ice / file).write_text(text)) == 0

    def freeze(self, process):
        self.alice("cgroup.procs", str(process))
        self.alice("cgroup.freeze", "1")
        wait_for(lambda: "frozen 1" in (self.ice / "cgroup.events").read_text())

    def remove(self):
        for group in (self.ice, self.mine):
            for process in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    (self.root / "cgroup.procs").write_text(process)
            group.rmdir()
        machines.sh("umount", self.root)
        self.root.rmdir()


@pytest.fixture
def group():
    made = Group()
    yield made
    made.remove()


def hashing(bed, group, code):
    """A host of alice's in her group, and its helper, which hashes for seconds."""
    bed.configure(opslimit="8", memlimit="256M", max_parallel="1")
    bed.enroll("alice", RIGHT)

    def prepare():
        group.enter()
        become("alice")()

    host = bed.start("alice", code, prepare=prepare)
    wait_for(lambda: own_failures(bed) == 1)
    bed.configure(opslimit="1", memlimit="64K")
    return host, next(iter(children(host.child)))


def test_a_frozen_helper_costs_others_one_pause(own, group):
    """An ordinary person can freeze it, at any moment; here in the middle of the hash, with record and slot. Their own
    passcode waits until somebody thaws it or root ends it; others wait for 2 s, and take an overflow slot."""
    host, helper = hashing(own, group, RIGHT)
    group.freeze(helper)
    start = time.monotonic()
    bob = own.start("bob", RIGHT, prepare=become("bob"))
    again = own.start("alice", RIGHT, prepare=become("alice"))
    root = own.tool("unlock", "alice", check=7)
    assert f"process {helper} (passcode-helper)" in root.errors
    assert bob.wait().result == "SUCCESS"
    assert host.wait().result == again.wait().result == "AUTHINFO_UNAVAIL"
    assert 9 < time.monotonic() - start < LATEST
    group.alice("cgroup.freeze", "0")
    wait_for(lambda: own_failures(own) == 0)


def test_a_frozen_helper_can_be_ended_by_root(own, group):
    host, helper = hashing(own, group, WRONG[0])
    group.freeze(helper)
    os.kill(helper, signal.SIGKILL)
    assert host.wait(20).result == "AUTHINFO_UNAVAIL"
    assert own.failures("alice") == 1 and verify().kind == GRANTED


def test_a_helper_killed_through_its_cgroup_leaves_a_counted_attempt(own, group):
    host, helper = hashing(own, group, WRONG[0])
    group.alice("cgroup.procs", str(helper))
    group.alice("cgroup.kill", "1")
    assert host.wait(20).result == "AUTHINFO_UNAVAIL"
    assert own.failures("alice") == 1 and verify().kind == GRANTED


def test_a_request_that_does_not_end_ends_the_helper(own):
    """After 30 seconds. The last test, because it waits for what the first one started."""
    assert verify().kind == GRANTED
    for one in UNFINISHED:
        one.thread.join(LATEST)
        assert one.status == -signal.SIGALRM and 29 < one.seconds < LATEST, one.name
        with contextlib.suppress(ConnectionResetError):
            assert one.ours.recv(1) == b""
