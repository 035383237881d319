"""What a caller can hand to the helper beside a request: what the kernel lets it keep, sockets of all kinds, rooms in
which the machine looks different. It is refused, counted, or it changes nothing."""

import array
import contextlib
import ctypes
import fcntl
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from bed import person, uid
from process import wait_for
from helper import GRANTED, UNAVAILABLE, VERIFY, WRONG_ONE, Waiting, as_alice, fault, lingering, request, tcp, verify
from machine import HELPER, RUN, install_helper
from scenario import RIGHT, WRONG

PR_SET_PDEATHSIG, PR_SET_TSC, PR_SET_TIMERSLACK = 1, 26, 29
ADDR_NO_RANDOMIZE = 0x0040000
LIBC = ctypes.CDLL(None, use_errno=True)


def attempt():
    return request(VERIFY, uid("alice"), passcode=RIGHT)


def prctl(option, value):
    return lambda: LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


# MARK: To be slow, or to be ended


def one_processor():
    os.sched_setaffinity(0, {0})


def idle_disk():
    assert LIBC.syscall(251, 1, 0, 3 << 13) == 0  # ioprio_set: the idle class


def batch():
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def soft_limits():
    values = {"CPU": 1 << 25, "FSIZE": 0, "DATA": 1 << 25, "AS": 1 << 25, "MEMLOCK": 0, "NPROC": 100}
    for which, value in values.items():
        number = getattr(resource, "RLIMIT_" + which)
        resource.setrlimit(number, (value, resource.getrlimit(number)[1]))


def test_it_takes_its_own_share_of_the_machine(own):
    """What makes a process slow, and what its owner may take back."""

    def everything():
        for step in (one_processor, idle_disk, batch, soft_limits, prctl(PR_SET_TIMERSLACK, 1 << 40)):
            step()

    waiting = Waiting(own, preexec_fn=everything)
    assert waiting.status("Cpus_allowed_list") == all_processors()
    assert os.sched_getscheduler(waiting.pid) == os.SCHED_OTHER
    assert LIBC.syscall(252, 1, waiting.pid) >> 13 in (0, 2)  # ioprio_get: none, or best effort
    assert pathlib.Path(f"/proc/{waiting.pid}/timerslack_ns").read_text() == "50000\n"
    limits = pathlib.Path(f"/proc/{waiting.pid}/limits").read_text().splitlines()
    for line in limits[1:]:
        soft, hard = line[26:].split()[:2]
        assert soft == hard or "core" in line or "stack" in line, line
    start = time.monotonic()
    assert waiting.answer() == GRANTED and time.monotonic() - start < 20, "its timers may be late by 18 minutes"


def test_its_addresses_are_random_again(own):
    waiting = Waiting(own, preexec_fn=lambda: LIBC.personality(ADDR_NO_RANDOMIZE))
    assert pathlib.Path(f"/proc/{waiting.pid}/personality").read_text() == "00000000\n"
    assert waiting.answer() == GRANTED


def test_the_leader_of_a_group_is_refused(own):
    """It can't have a session of its own, and would stay within its caller's terminal."""
    assert verify(preexec_fn=lambda: os.setpgid(0, 0)).kind == UNAVAILABLE


def test_a_person_s_leader_of_a_session_is_refused(own):
    """It has a session already, whose terminal could stop it while it holds the record."""
    assert verify(preexec_fn=os.setsid).kind == UNAVAILABLE


def all_processors():
    """Of the machine, or of the container: this run may have been given fewer."""
    everything = ["taskset", "--cpu-list", f"0-{os.cpu_count() - 1}", "sed", "-n", "s/^Cpus_allowed_list:[[:space:]]*//p"]
    return subprocess.run([*everything, "/proc/self/status"], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("how", ["nice", "idle"])
def test_what_nobody_can_take_back_makes_it_slow_only(own, how):
    def slow():
        os.nice(19) if how == "nice" else os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    assert verify(preexec_fn=slow).kind == GRANTED
    assert verify(WRONG[0], preexec_fn=slow).kind == WRONG_ONE


def test_a_limit_that_stays_is_an_error_and_no_signal(own):
    """It answers, and logs: nobody's attempt is hidden by the end of its process."""
    sizes = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    lines = len(own.log())
    kinds = [verify(code, preexec_fn=sizes).kind for code in (WRONG[0], RIGHT, WRONG[1], RIGHT)]
    assert set(kinds) <= {GRANTED, WRONG_ONE, UNAVAILABLE} and kinds[0] != GRANTED != kinds[2]
    assert sum("passcode" in line.message for line in own.log()[lines:]) >= 4
    assert verify().kind == GRANTED


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
def test_the_end_of_its_parent_is_none_of_its_business(own, number):
    """It asked for a signal when the thread ends that started it."""
    started = []
    thread = threading.Thread(
        target=lambda: started.append(Waiting(own, preexec_fn=prctl(PR_SET_PDEATHSIG, number)))
    )
    thread.start()
    thread.join()
    assert started[0].answer() == GRANTED


def test_without_a_time_stamp_counter(own):
    """The instruction then ends the process; libc's clocks may use it."""
    reply = verify(WRONG[0], preexec_fn=prctl(PR_SET_TSC, 2))
    assert reply is None or reply.kind in (WRONG_ONE, UNAVAILABLE)
    assert own.failures("alice") == (1 if reply and reply.kind == WRONG_ONE else 0)


def test_its_caller_cannot_have_a_signal_sent_by_the_kernel(own):
    """The owner of a socket gets SIGIO, or another signal: of somebody that its setter may signal."""
    waiting = Waiting(own)

    def own_it():
        file = waiting.ours.fileno()
        fcntl.fcntl(file, fcntl.F_SETOWN, waiting.pid)
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_ASYNC)

    assert as_alice(own_it) in (0, 1)
    assert waiting.answer() == GRANTED


# MARK: Sockets


def run(stdin, **how):
    """The status, and what it wrote to the caller's own output."""
    done = subprocess.run(
        [HELPER], stdin=stdin, capture_output=True, timeout=20, cwd="/", **{**person("alice"), **how}
    )
    return done.returncode, done.stdout


def test_only_a_stream_of_this_machine_is_answered(own):
    before = own.record("alice")
    other = socket.create_server(("127.0.0.1", 0))
    for stdin in (
        other,
        tcp()[0],
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0),
        socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0],
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0],
        socket.socket(socket.AF_UNIX),
    ):
        assert run(stdin) == (1, b"")
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    assert run(theirs) == (1, b""), "it waits for nobody who says that there is nothing yet"
    assert own.record("alice") == before


def test_it_says_nothing_in_its_own_name_to_others(own):
    """A socket that is full of a request, and then connected to the log."""
    path = own.folder / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        theirs.bind(str(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
            for part in (attempt()[:10], attempt()[10:], b""):
                ours.sendto(part, str(path))
        theirs.connect("/dev/log")
        lines = own.log()
        assert run(theirs) == (1, b"") and own.log() == lines


def test_files_that_are_sent_along_are_not_taken(own):
    """Among them one whose last close takes as long as its owner likes: nobody waits for that."""
    slow, others = lingering()
    ours, theirs = socket.socketpair()
    files = array.array("i", [slow.fileno(), os.open("/etc/passwd", os.O_RDONLY)])
    ours.sendmsg([attempt()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    slow.close()
    ours.shutdown(socket.SHUT_WR)
    helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **person("alice"))
    theirs.close()
    wait_for(lambda: "passcode-helper" in os.readlink(f"/proc/{helper.pid}/exe"))
    assert verify().kind == GRANTED
    opened = [path.readlink() for path in pathlib.Path(f"/proc/{helper.pid}/fd").iterdir() if int(path.name) > 2]
    assert opened in ([], [RUN / "waiting"])
    assert as_alice(lambda: os.kill(helper.pid, signal.SIGKILL)) == 0
    helper.wait(20)


def test_a_reply_that_finds_no_room_holds_nothing_up(own):
    """Its caller filled the way back, with the helper's own end."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            theirs.send(b"x" * 4096)
    theirs.setblocking(True)
    helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **person("alice"))
    ours.sendall(request(VERIFY, uid("alice"), passcode=WRONG[0]))
    ours.shutdown(socket.SHUT_WR)
    wait_for(lambda: own.failures("alice") == 1)
    wait_for(lambda: pathlib.Path(f"/proc/{helper.pid}/wchan").read_text() not in ("0", ""))
    assert verify().kind == GRANTED
    os.kill(helper.pid, signal.SIGKILL)
    helper.wait(20)


# MARK: Rooms in which the machine looks different

# The helper didn't become _passcode: words that passcode-helper(8) explains.
NOT_THE_ACCOUNT = fault("helperPrivilege", str(HELPER))


def unprivileged(own, command, **how):
    """The helper as that command starts it: a refusal that names the cause, and an untouched record."""
    before = own.record("alice")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [*command, HELPER], stdin=theirs, stderr=subprocess.DEVNULL, cwd="/", **{**person("alice"), **how}
        )
        theirs.close()
        ours.settimeout(20)
        ours.sendall(attempt())
        ours.shutdown(socket.SHUT_WR)
        answer = ours.recv(4096)
        process.wait(20)
    assert answer[1] == UNAVAILABLE, answer
    assert own.record("alice") == before
    return answer[42:]


def test_traced_from_the_start(own):
    assert unprivileged(own, ["strace", "-f", "-o", "/dev/null"]) == NOT_THE_ACCOUNT


@pytest.mark.parametrize("mode", [0o755, 0o2755, 0o4755])
def test_without_one_of_its_bits(own, mode):
    install_helper(mode=mode)
    assert unprivileged(own, []) == NOT_THE_ACCOUNT


@pytest.mark.parametrize("mapping", ["--map-root-user", "--map-current-user"])
def test_in_a_user_namespace(own, mapping):
    assert unprivileged(own, ["unshare", "--user", mapping]) == NOT_THE_ACCOUNT


def test_in_a_user_namespace_with_other_accounts(own):
    """There `_passcode` is the caller: it gets past that check, and no further."""
    fake = own.folder / "passwd"
    fake.write_text(
        "root:x:5:5::/:/bin/sh\n_passcode:x:0:0::/:/bin/sh\n" f"alice:x:{uid('alice')}:0::/:/bin/sh\n"
    )
    command = f"mount --bind {fake} /etc/passwd && exec {HELPER}"
    text = unprivileged(own, ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command])
    assert text


# MARK: Steps that fail


# How many of the first eight calls of each are steps; the others are libraries', or make it no less safe.
STEPS = {"close_range": 1, "chdir": 1, "dup2": 2, "getresgid": 1, "getresuid": 2, "prctl": 2, "prlimit64": 7,
         "rt_sigaction": 8, "rt_sigprocmask": 1, "setitimer": 3, "setresgid": 1, "setresuid": 1, "setsid": 1}  # fmt: skip


@pytest.mark.parametrize("call, steps", STEPS.items())
def test_a_step_that_fails_is_a_refusal(own, call, steps):
    refused = 0
    for place in range(1, 9):
        before = own.record("alice")
        injected = f"inject={call}:error=EPERM:when={place}"
        kind = answered(["strace", "-o", "/dev/null", "-u", "alice", "-e", injected, HELPER])
        assert kind in (None, UNAVAILABLE, GRANTED)
        if kind != GRANTED:
            refused += 1
            assert own.record("alice") == before
    assert refused == steps


def answered(command):
    ours, theirs = socket.socketpair()
    with ours:
        helper = subprocess.Popen(
            list(map(str, command)), stdin=theirs, stderr=subprocess.DEVNULL, cwd="/", env={}
        )
        theirs.close()
        ours.settimeout(20)
        answer = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ours.sendall(attempt())
            ours.shutdown(socket.SHUT_WR)
            answer = ours.recv(4096)
        helper.wait(20)
    return answer[1] if answer else None
