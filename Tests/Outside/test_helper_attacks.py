"""What a caller without root can do to the helper, and what comes of it: refused, counted, or harmless."""

import ctypes
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest

import machine as machines
from bed import become, person, uid
from cost import processor_seconds
from helper import (
    CHANGE,
    DONE_IT,
    ENROLL,
    FORBIDDEN,
    GRANTED,
    LOOK,
    PROVE,
    REMOVE,
    STATUS,
    UNAVAILABLE,
    UNLOCK,
    VERIFY,
    WRONG_ONE,
    WRONG_PASSWORD,
    Waiting,
    as_alice,
    ask,
    converse,
    generation,
    own_failures,
    pieces,
    request,
    tcp,
    verify,
)
from images import places
from machine import CONFIGURATION, HELPER, KEY, STORE
from process import children, in_locks, wait_for
from scenario import NEW, PASSWORD, RIGHT, WRONG
from tool import DONE


def unharmed(bed, before):
    return bed.record("alice") == before and verify().kind == GRANTED


# MARK: Whose


@pytest.mark.parametrize("operation", [LOOK, VERIFY, STATUS, CHANGE, REMOVE, ENROLL, UNLOCK, PROVE])
@pytest.mark.parametrize("about", ["bob", "root"])
def test_nobody_elses(own, operation, about):
    before = own.record("bob")
    secrets = {VERIFY: {"passcode": RIGHT}, CHANGE: {"passcode": RIGHT, "new": NEW}, REMOVE: {"passcode": RIGHT},
               ENROLL: {"new": NEW, "password": "x"}, UNLOCK: {"password": "x"}, PROVE: {"passcode": RIGHT}}  # fmt: skip
    assert ask(operation, about, user="alice", **secrets.get(operation, {})).kind == FORBIDDEN
    assert own.record("bob") == before


def test_root_may_ask_about_anybody_but_not_in_their_place(own):
    assert ask(VERIFY, "alice", user="root", passcode=RIGHT).kind == GRANTED
    assert ask(REMOVE, "alice", user="root", passcode=RIGHT).kind == FORBIDDEN


# MARK: The request


def malformed():
    good = request(VERIFY, uid("alice"), passcode=RIGHT)
    yield "nothing", b""
    for length in (1, 9, 10, 13):
        yield f"only {length} bytes", good[:length]
    yield "a byte more", good + b"\0"
    yield "two of them", good + good
    for offset, value in [(0, 0), (0, 2), (1, 0), (1, 9), (6, 4), (6, 132), (6, 255), (7, 5), (7, 0x44), (8, 1), (9, 255)]:
        yield f"byte {offset} is {value}", good[:offset] + bytes([value]) + good[offset + 1 :]
    for code in (b"abcd", b"047\n", b"\0\0\0\0", b"04 1"):
        yield f"passcode {code!r}", good[:10] + code
    for code in ("abcd", "047\n", "04 1"):
        yield f"new passcode {code!r}", request(CHANGE, uid("alice"), passcode=RIGHT, new=code)
    yield "a password too long", request(UNLOCK, uid("alice"), password="x" * 513)
    yield "HTTP", b"GET / HTTP/1.0\r\n\r\n"


def test_what_is_no_request_is_not_answered(own):
    before = own.record("alice")
    for name, data in malformed():
        assert converse(data, user="alice") is None, name
    assert unharmed(own, before)


def test_a_hundred_megabytes(own):
    start = time.monotonic()
    before = own.record("alice")
    assert converse(request(VERIFY, uid("alice"), passcode=RIGHT) + b"0" * 100_000_000, user="alice") is None
    assert time.monotonic() - start < 5 and unharmed(own, before)


def test_a_request_in_pieces(own):
    helper, ours = pieces(request(VERIFY, uid("alice"), passcode=RIGHT), 0.005)
    ours.shutdown(socket.SHUT_WR)
    assert ours.recv(4096)[1] == GRANTED and helper.wait(20) == 0


def test_it_replies_after_it_gave_record_and_slot_back(own):
    files = own.record_file("alice"), machines.STORE / "places"
    for code in (RIGHT, WRONG[0], RIGHT) * 5:
        helper, ours = pieces(request(VERIFY, uid("alice"), passcode=code), 0)
        ours.shutdown(socket.SHUT_WR)
        assert ours.recv(1)
        locks = pathlib.Path("/proc/locks").read_text()
        assert not [file for file in files if re.search(f" {in_locks(file)} ", locks)]
        ours.close()
        helper.wait(20)


def test_a_reply_that_nobody_reads(own):
    helper, ours = pieces(request(VERIFY, uid("alice"), passcode=WRONG[0]), 0)
    ours.shutdown(socket.SHUT_RDWR)
    ours.close()
    helper.wait(10)
    assert own.failures("alice") <= 1 and verify().kind == GRANTED


# MARK: What is inherited


@pytest.mark.parametrize("stdin", ["terminal", "file", "pipe", "nothing", "directory"])
def test_only_a_socket_is_answered(own, stdin):
    main, terminal = os.openpty()
    ends = {"terminal": terminal, "file": os.open("/etc/passwd", os.O_RDONLY), "pipe": os.pipe()[0],
            "nothing": None, "directory": os.open("/", os.O_RDONLY)}  # fmt: skip
    close = (lambda: os.close(0)) if stdin == "nothing" else None
    done = subprocess.run(
        [HELPER], stdin=ends[stdin], capture_output=True, preexec_fn=close, timeout=10, **person("alice")
    )
    assert done.returncode == 1 and done.stdout == b"" and b"not by hand" in done.stderr


def test_a_stream_of_the_network_is_not_answered(own):
    """Another machine could be at its other end."""
    ours, theirs, listener = tcp()
    with ours, theirs, listener:
        helper = subprocess.Popen([HELPER], stdin=theirs, stderr=subprocess.PIPE, cwd="/", **person("alice"))
        theirs.close()
        ours.settimeout(10)
        try:
            ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
            ours.shutdown(socket.SHUT_WR)
            answer = ours.recv(4096)
        except OSError:
            answer = b""  # it left the request unread
        assert answer == b"" and b"not by hand" in helper.communicate(timeout=10)[1] and helper.returncode == 1


HOSTILE = {
    "LD_PRELOAD": "/run/passcode-evil/evil.so", "LD_LIBRARY_PATH": "/run/passcode-evil", "LD_AUDIT": "evil.so",
    "LD_DEBUG": "all", "LD_DEBUG_OUTPUT": "/run/passcode-evil/debug", "LD_PROFILE": "libc.so.6", "LD_BIND_NOT": "1",
    "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "MALLOC_TRACE": "/run/passcode-evil/trace",
    "GLIBC_TUNABLES": "glibc.malloc.check=3", "LC_ALL": "../../evil", "LANG": "xx", "LOCPATH": "/run/passcode-evil",
    "NLSPATH": "/run/passcode-evil/%N", "GCONV_PATH": "/run/passcode-evil", "HOME": "/run/passcode-evil", "TZ": ":/evil",
    "TZDIR": "/run/passcode-evil", "TMPDIR": "/run/passcode-evil", "HOSTALIASES": "/etc/shadow", "USER": "root",
    "LOGNAME": "root", "SUDO_USER": "root", "PATH": "/run/passcode-evil", "IFS": "/", "SHELLOPTS": "xtrace",
    "PASSCODE_CONF": "/run/passcode-evil/passcode.conf", "STORE": "/run/passcode-evil", "RES_OPTIONS": "debug",
    "SWIFT_BACKTRACE": "enable=yes", "LIBPAM_DEBUG": "1", "A" * 1000: "B" * 100_000,
}  # fmt: skip


def test_a_hostile_environment_changes_nothing(own):
    folder = pathlib.Path("/run/passcode-evil")
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        (folder / "evil.so").write_bytes(b"not a library")
        assert verify(env=HOSTILE).kind == GRANTED
        assert verify(WRONG[0], env=HOSTILE).kind == WRONG_ONE and own.failures("alice") == 1
        assert [file.name for file in folder.iterdir()] == ["evil.so"]
    finally:
        machines.shutil.rmtree(folder)


@pytest.mark.parametrize(
    "arguments",
    [[], [""], ["-sh"], ["--help"], ["passcode", "--conf", "/tmp/evil.conf", "status"], ["x" * 100_000], ["a"] * 5_000],
    ids=["none", "empty", "login shell", "help", "conf", "long", "many"],
)
def test_arguments_change_nothing(own, arguments):
    def start():
        """execve itself: Python's own refuses an empty first argument."""
        texts = (ctypes.c_char_p * (len(arguments) + 1))(*[text.encode() for text in arguments], None)
        become("alice")()
        ctypes.CDLL(None).execve(bytes(HELPER), texts, (ctypes.c_char_p * 1)(None))

    ours, theirs = socket.socketpair()
    helper = subprocess.Popen(["/bin/false"], stdin=theirs, preexec_fn=start)
    theirs.close()
    ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
    ours.shutdown(socket.SHUT_WR)
    assert ours.recv(4096)[1] == GRANTED and helper.wait(20) == 0


def inherited(name):
    """For preexec_fn: one kind of bad inheritance."""
    everything = range(1, signal.NSIG)
    settable = [number for number in everything if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33)]

    def limit(which, value):
        return lambda: resource.setrlimit(which, (value, value))

    def ignore():
        for number in settable:
            signal.signal(number, signal.SIG_IGN)

    def descriptors():
        for _ in range(200):
            os.set_inheritable(os.open("/etc/passwd", os.O_RDONLY), True)

    return {
        "signals blocked": lambda: signal.pthread_sigmask(signal.SIG_SETMASK, settable),
        "signals ignored": ignore,
        "umask 0": lambda: os.umask(0),
        "umask 777": lambda: os.umask(0o777),
        "another folder": lambda: os.chdir("/root" if os.geteuid() == 0 else "/run"),
        "closed output": lambda: (os.close(1), os.close(2)),
        "many descriptors": descriptors,
        "niceness": lambda: os.nice(19),
        "core dumps": limit(resource.RLIMIT_CORE, resource.RLIM_INFINITY),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["signals blocked", "signals ignored", "umask 0", "umask 777", "another folder", "closed output",
     "many descriptors", "niceness", "core dumps"],
)  # fmt: skip
def test_what_is_inherited_changes_nothing(own, name):
    own.configure(opslimit="3", memlimit="32M")
    own.enroll("alice", RIGHT)
    assert verify(preexec_fn=inherited(name)).kind == GRANTED
    assert verify(WRONG[0], preexec_fn=inherited(name)).kind == WRONG_ONE
    status = own.record_file("alice").stat()
    assert (status.st_mode & 0o7777, status.st_size, own.failures("alice")) == (0o600, 8192, 1)


@pytest.mark.parametrize(
    "timer, seconds, clock",
    [(signal.ITIMER_REAL, 2, time.monotonic), (signal.ITIMER_PROF, 0.25, processor_seconds)],
    ids=["a timer", "a processor timer"],
)
def test_an_inherited_timer_ends_no_attempt(own, timer, seconds, clock):
    """It would go off during the attempt. A helper starts in a few milliseconds, and has stopped it by then, on a
    busy machine, too."""
    own.configure(opslimit="8", memlimit="256M")
    own.enroll("alice", RIGHT)
    for code, kind in ((RIGHT, GRANTED), (WRONG[0], WRONG_ONE)):
        start = clock()
        waiting = Waiting(own, code, preexec_fn=lambda: signal.setitimer(timer, seconds, seconds))
        time.sleep(seconds)
        assert waiting.answer() == kind
        assert clock() - start > seconds, "the timer had no time to go off"


@pytest.mark.parametrize(
    "which, value",
    [("FSIZE", 0), ("FSIZE", 100), ("FSIZE", 5000), ("NOFILE", 3), ("NOFILE", 5), ("AS", 8 << 20), ("AS", 24 << 20),
     ("DATA", 1 << 20), ("NPROC", 0), ("STACK", 1 << 16), ("MEMLOCK", 0), ("CPU", 1), ("SIGPENDING", 0)],
)  # fmt: skip
def test_tight_limits_refuse_or_count_and_never_refund(own, which, value):
    """A wrong one under any limit is refused, or counted; the record stays whole."""
    own.configure(memlimit="16M")
    own.enroll("alice", RIGHT)
    assert verify(WRONG[0]).kind == WRONG_ONE
    for failures in range(1, 3):
        limits = lambda: resource.setrlimit(getattr(resource, "RLIMIT_" + which), (value, value))  # noqa: E731
        try:
            reply = verify(WRONG[failures], preexec_fn=limits)
        except (OSError, subprocess.SubprocessError):
            reply = None  # it could not even be started
        assert reply is None or reply.kind in (WRONG_ONE, UNAVAILABLE, 3, 5)
        assert own.failures("alice") >= (failures + 1 if reply and reply.kind in (WRONG_ONE, 3) else 1)
    assert own.status("alice")["state"] in ("ok", "locked")


# MARK: While it runs


def test_its_caller_cannot_signal_trace_or_read_it(own):
    waiting = Waiting(own)
    libc = ctypes.CDLL(None, use_errno=True)

    def attach():
        if libc.ptrace(16, waiting.pid, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def resume():
        if libc.prlimit(waiting.pid, 7, None, ctypes.create_string_buffer(16)) != 0:
            raise OSError(ctypes.get_errno(), "prlimit")

    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGINT, signal.SIGALRM, 64):
        assert as_alice(lambda number=number: os.kill(waiting.pid, number)) == 1
    assert as_alice(attach) == 1 and as_alice(resume) == 1
    assert as_alice(lambda: os.setpriority(os.PRIO_PROCESS, waiting.pid, 19)) == 1
    for name in ("mem", "environ", "maps", "auxv", "stack", "syscall", "io", "fd", "cwd", "exe", "map_files"):
        path = f"/proc/{waiting.pid}/{name}"
        look = os.listdir if name in ("fd", "map_files") else os.readlink if name in ("cwd", "exe") else open
        assert as_alice(lambda look=look, path=path: look(path)) in (1, 13), name
    assert waiting.answer() == GRANTED


def test_what_it_is_while_it_waits(own):
    waiting = Waiting(own, env={"SECRET": "x"}, preexec_fn=inherited("many descriptors"))
    service = str(uid("_passcode"))
    assert waiting.status("Uid") == [service] * 4
    assert len(set(waiting.status("Gid"))) == 1 and waiting.status("Groups") == []
    assert waiting.status("SigIgn") == [f"{1 << signal.SIGXFSZ - 1:016x}"]
    assert waiting.status("SigCgt") == ["0" * 16]
    assert waiting.status("Umask") == ["0077"] and waiting.status("CapPrm") == waiting.status("CapEff") == ["0" * 16]
    process = pathlib.Path(f"/proc/{waiting.pid}")
    stat = (process / "stat").read_text().rsplit(")", 1)[1].split()
    assert stat[3] == str(waiting.pid) and stat[4] == "0", "a session of its own, without a terminal"
    assert os.readlink(process / "cwd") == "/" and (process / "environ").stat().st_uid == 0
    targets = {os.readlink(process / "fd" / fd) for fd in os.listdir(process / "fd")}
    assert not any("passwd" in target for target in targets) and len(targets) <= 6
    assert RIGHT.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    core = [line.split() for line in (process / "limits").read_text().splitlines() if "core file" in line]
    assert core[0][4:6] == ["0", "0"]
    assert waiting.answer() == GRANTED


def test_it_dumps_no_core(own):
    waiting = Waiting(own, preexec_fn=inherited("core dumps"))
    os.kill(waiting.pid, signal.SIGSEGV)
    _, status = os.waitpid(waiting.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGSEGV and not os.WCOREDUMP(status)
    os.close(waiting.held)
    assert verify().kind == GRANTED


def test_its_secrets_are_not_dumped_and_are_in_guarded_memory_only(own):
    """Root reads all of its memory: the code is nowhere but in the arena, which a dump leaves out (dd)."""
    code = "830517"
    own.enroll("alice", code)
    waiting = Waiting(own, code)
    assert ["dd" in flags for flags in places(waiting.pid, code.encode())] == [True]
    assert waiting.answer() == GRANTED


def test_stopped_before_it_is_somebody_else_it_holds_nothing(own):
    """Its caller can stop it until then: nobody waits for it, not even the caller's own next attempt."""
    helper, ours = pieces(b"\1", 0)
    assert as_alice(lambda: os.kill(helper.pid, signal.SIGSTOP)) == 0
    start = time.monotonic()
    assert verify().kind == GRANTED and time.monotonic() - start < 2
    assert as_alice(lambda: os.kill(helper.pid, signal.SIGKILL)) == 0
    helper.wait(20)
    ours.close()


def test_killed_while_hashing_the_attempt_counts(own):
    own.configure(opslimit="8", memlimit="256M")
    own.enroll("alice", RIGHT)
    helper, ours = pieces(request(VERIFY, uid("alice"), passcode=RIGHT), 0)
    ours.shutdown(socket.SHUT_WR)
    wait_for(lambda: own_failures(own) == 1)
    os.kill(helper.pid, signal.SIGKILL)
    assert ours.recv(4096) == b"" and helper.wait(20) == -signal.SIGKILL
    assert own.failures("alice") == 1 and verify(seconds=60).kind == GRANTED


def test_a_caller_that_is_killed_leaves_a_counted_attempt(own):
    """Ending one's lock screen in time doesn't take the attempt back."""
    own.configure(opslimit="8", memlimit="256M")
    own.enroll("alice", RIGHT)
    host = own.start("alice", WRONG[0], prepare=become("alice"))
    wait_for(lambda: own_failures(own) == 1)
    [helper] = map(os.pidfd_open, children(host.child))
    os.kill(host.child, signal.SIGKILL)
    host.wait()
    assert select.select([helper], [], [], 100)[0], "the helper goes on"
    assert own.failures("alice") == 1


# MARK: Links, and stores that somebody put there


@pytest.mark.parametrize("path", [CONFIGURATION, KEY, STORE, CONFIGURATION.parent, KEY.parent], ids=str)
def test_a_symbolic_link_in_a_path_is_refused(own, path):
    real = path.with_name(path.name + "-real")
    path.rename(real)
    path.symlink_to(real)
    try:
        assert verify().kind == UNAVAILABLE
    finally:
        path.unlink()
        real.rename(path)
    assert verify().kind == GRANTED


@pytest.mark.parametrize("how", ["symbolic", "hard"])
def test_a_link_to_a_record_is_refused(own, how):
    mine, bobs = own.record_file("alice"), own.record_file("bob")
    before = own.record("bob")
    mine.unlink()
    mine.symlink_to(bobs) if how == "symbolic" else os.link(bobs, mine)
    assert verify().kind == UNAVAILABLE and own.record("bob") == before


@pytest.mark.parametrize("what", ["store", "record", "key", "configuration"])
def test_what_belongs_to_the_person_is_not_trusted(own, what):
    path = {"store": STORE, "record": own.record_file("alice"), "key": KEY, "configuration": CONFIGURATION}[what]
    machines.shutil.chown(path, "alice")
    assert verify().kind == UNAVAILABLE


def test_the_store_is_closed_to_its_person(own):
    assert as_alice(lambda: os.listdir(STORE)) == as_alice(lambda: open(own.record_file("alice"))) == 13
    assert as_alice(lambda: open(KEY)) == 13
    own.tool("status", user="alice", check=DONE)


# MARK: Between the proof and the deed


def delayed(operation, call, number, seconds=2, **secrets):
    """A helper of alice's whose so-manieth call is held up for so long; its process, and our end."""
    command = ["strace", "-o", "/dev/null", "-e", f"inject={call}:delay_enter={seconds}000000:when={number}",
               "-u", "alice", str(HELPER)]  # fmt: skip
    ours, theirs = socket.socketpair()
    helper = subprocess.Popen(command, stdin=theirs, cwd="/", env={})
    theirs.close()
    ours.settimeout(20)
    ours.sendall(request(operation, uid("alice"), **secrets))
    ours.shutdown(socket.SHUT_WR)
    return helper, ours


def test_a_proof_of_the_old_passcode_removes_no_new_one(own):
    """An administrator sets another one, because the old one is known, and its thief froze a removal after the proof."""
    before = generation(own)
    helper, ours = delayed(REMOVE, "flock", 3, passcode=RIGHT)  # lock, unlock; lock
    wait_for(lambda: generation(own) == before + 2)  # charged and settled
    own.enroll("alice", "8305")
    assert ours.recv(4096)[1] == UNAVAILABLE
    helper.wait(10)
    assert own.authenticate("alice", "8305").result == "SUCCESS"


def test_of_many_changes_one_is_made(own):
    """All prove the same old passcode; who comes second finds another one there, and is told or counted so."""
    new = ["8305", "2950", "6183", "9427"]
    running = []
    for code in new:
        helper, ours = pieces(request(CHANGE, uid("alice"), passcode=RIGHT, new=code), 0)
        ours.shutdown(socket.SHUT_WR)
        running.append((helper, ours))
    kinds = [ours.recv(4096)[1] for _, ours in running]
    assert kinds.count(DONE_IT) == 1 and set(kinds) <= {DONE_IT, WRONG_ONE, UNAVAILABLE}
    assert verify(new[kinds.index(DONE_IT)]).kind == GRANTED
    assert own.failures("alice") == 0 and all(helper.wait(20) == 0 for helper, _ in running)


def test_a_password_check_that_its_person_ends_proves_nothing(own):
    """pam_unix's own helper has their real uid: they may signal it, as they may in every program that asks it."""
    machines.sh("chpasswd", "-c", "SHA512", "-s", "3000000", input=f"alice:{PASSWORD}".encode())
    before = own.record("alice")
    for number in (signal.SIGKILL, signal.SIGSEGV):
        whole = request(ENROLL, uid("alice"), new=NEW, password=PASSWORD)
        helper, ours = pieces(whole, 0)
        ours.shutdown(socket.SHUT_WR)
        wait_for(lambda: children(helper.pid))
        [checker] = children(helper.pid)
        wait_for(lambda: os.readlink(f"/proc/{checker}/exe").endswith("unix_chkpwd"))
        assert as_alice(lambda: os.kill(checker, number)) == 0
        assert ours.recv(4096)[1] == WRONG_PASSWORD and helper.wait(20) == 0
    assert own.record("alice") == before
