"""Root's socket between the module and passcode-finger: nobody else's other end counts, and whoever runs sudo reaches
only what is in a cgroup of theirs. systemd-socket-activate stands in for the first process."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

import pytest
from bed import become, uid
from finger import INSTALLED, LENGTH, SOCKET, charged, count_file, decode, matched, missed, request, running, waits
from logind import Logind, cgroups
from pam import Handle
from process import children, state, wait_for
from scenario import PROMPT, RIGHT

FINGER = "Passcode or fingerprint: "
UNITS = pathlib.Path(__file__).parents[2] / "Sources/system/systemd"


@pytest.fixture
def own(touchable):
    yield touchable
    wait_for(touchable.reader.is_free)


@pytest.fixture
def theirs():
    """A cgroup that is alice's, as everybody's below their user@UID.service is."""
    folder = cgroups() / f"passcode-alice-{os.getpid()}"
    folder.mkdir()
    for path in (folder, folder / "cgroup.procs", folder / "cgroup.freeze", folder / "cgroup.kill"):
        shutil.chown(path, "alice")
    yield folder
    (folder / "cgroup.kill").write_text("1")
    wait_for(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


def as_alice(path, text):
    command = ["setpriv", "--reuid=alice", "--clear-groups", "sh", "-c", f"echo {text} > {path}"]
    subprocess.run(command, check=True)


def inside(folder):
    """As sudo: a program of root's, in her cgroup."""

    def prepare():
        (folder / "cgroup.procs").write_text(str(os.getpid()))

    return prepare


@pytest.fixture
def prompt(own, theirs):
    """A prompt in her cgroup, once the reader waits."""
    asked, go = own.folder / "asked", own.folder / "go"

    def answer(_):
        asked.touch()
        wait_for(go.exists, 60)
        return ""

    with Logind():
        program = own.start("alice", answer, prepare=inside(theirs), items={"RUSER": "alice"})
        wait_for(asked.exists)
        waits(own.reader)
        program.go = go.touch
        yield program


def test_she_can_freeze_and_kill_root_s_programs_in_her_cgroup(theirs):
    """What the unit is for: kill(2) says no, and the file doesn't ask."""
    program = subprocess.Popen(["sleep", "60"], preexec_fn=inside(theirs))
    refused = subprocess.run(
        ["setpriv", "--reuid=alice", "--clear-groups", "sh", "-c", f"kill -9 {program.pid}"], capture_output=True
    )
    assert refused.returncode
    as_alice(theirs / "cgroup.kill", 1)
    assert program.wait(20) == -signal.SIGKILL


def test_the_program_is_not_in_the_cgroup_of_its_caller(prompt, theirs):
    [program] = running()
    members = (theirs / "cgroup.procs").read_text().split()
    assert members and str(program) not in members
    prompt.go()
    prompt.wait()


@pytest.mark.on_request
def test_a_touch_of_long_ago_is_none_however_long_she_freezes_the_module(own, prompt, theirs):
    """Frozen in the prompt, thawed after 11 s: the program went on, and stamped the match with its own time."""
    as_alice(theirs / "cgroup.freeze", 1)
    matched(own.reader)
    time.sleep(11)
    as_alice(theirs / "cgroup.freeze", 0)
    prompt.go()
    assert prompt.wait().result == "AUTH_ERR" and charged() == 0


def test_a_frozen_caller_gains_no_touch(own, prompt, theirs):
    as_alice(theirs / "cgroup.freeze", 1)
    missed(own.reader)
    assert charged() == 2  # and one for the touch that is waited for now
    as_alice(theirs / "cgroup.freeze", 0)
    prompt.go()
    assert prompt.wait().result == "AUTH_ERR"
    wait_for(lambda: not running())
    assert charged() == 1 and own.reader.is_free()


@pytest.mark.on_request
def test_a_frozen_caller_holds_the_reader_for_its_time_only(own, prompt, theirs):
    as_alice(theirs / "cgroup.freeze", 1)
    missed(own.reader)
    assert charged() == 2  # and one for the touch that is waited for now
    wait_for(lambda: not running(), 35)
    assert charged() == 1 and own.reader.is_free()
    as_alice(theirs / "cgroup.freeze", 0)
    prompt.go()
    assert prompt.wait().result == "AUTH_ERR"


def test_killed_with_its_cgroup_the_caller_gains_no_touch(own, theirs):
    """The wrong touch is on the bus, and all of hers is killed."""
    for touch in range(1, 6):
        asked = own.folder / "asked"
        program = own.start("alice", lambda _: (asked.touch(), time.sleep(60)), prepare=inside(theirs))
        wait_for(asked.exists)
        waits(own.reader)
        own.reader.touch("somebody-else")
        as_alice(theirs / "cgroup.kill", 1)
        program.wait()
        wait_for(own.reader.is_free)
        wait_for(lambda: not running())
        assert charged() == touch
        asked.unlink()
    assert own.authenticate("alice", "").prompts == [PROMPT]


# MARK: Who is at the other end

LISTENER = textwrap.dedent("""
    import os, socket, sys, time
    os.setresuid(*[int(sys.argv[2])] * 3)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o666)
    listener.listen()
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.sendall(bytes([1, 2] + [0] * 14))
    time.sleep(60)
""")


@pytest.mark.parametrize("who, offered", [("alice", False), ("root", True)])
def test_a_listener_that_is_not_root_s_is_not_asked(own, tmp_path_factory, who, offered):
    """Even where somebody could put one there; root's shows that it would be heard."""
    own.listener.close()
    folder = pathlib.Path("/run/trap")
    folder.mkdir()
    folder.chmod(0o777)
    command = [sys.executable, "-c", LISTENER, folder / "socket", str(uid(who) if who != "root" else 0)]
    trap = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert trap.stdout.readline() == "ready\n"
        SOCKET.symlink_to(folder / "socket")
        outcome = own.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts) == ("SUCCESS", [FINGER if offered else PROMPT])
    finally:
        trap.kill()
        trap.wait()
        SOCKET.unlink(missing_ok=True)
        shutil.rmtree(folder)


def test_the_socket_is_root_s_alone(own):
    """As the unit says."""
    assert SOCKET.stat().st_mode & 0o777 == 0o600
    assert "SocketMode=0600" in (UNITS / "passcode-finger.socket").read_text()
    for name in ("alice", "_passcode"):
        command = [sys.executable, "-c", f"import socket; socket.socket(socket.AF_UNIX).connect('{SOCKET}')"]
        done = subprocess.run(command, preexec_fn=become(name), capture_output=True, text=True)
        assert "PermissionError" in done.stderr


def test_the_program_answers_root_alone(own):
    """Who connected as somebody else gets nothing, whoever listens, and whatever it becomes later."""
    SOCKET.chmod(0o666)
    os.setresuid(0, uid("alice"), 0)
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(SOCKET))
    finally:
        os.setresuid(0, 0, 0)
    with connection:
        connection.settimeout(5)
        try:
            connection.sendall(request())
            assert connection.recv(LENGTH) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert own.reader.is_free()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(SOCKET))
        connection.sendall(request())
        connection.settimeout(20)
        while (event := decode(connection.recv(LENGTH))) == "starting":  # on a busy machine any reader joins late
            pass
        assert event == "watching"


def test_a_connection_that_the_host_closed_is_no_longer_heard(own, monkeypatch):
    """Its number may be another file's by then: nothing is read from it, not even the match that would be the right one,
    and nothing is written to it."""

    def match():
        """Of the touch that is charged now."""
        charge = struct.unpack("<BBHI", count_file().read_bytes())
        return struct.pack("<BBHIQ", 1, 4, 0, charge[3], int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))

    def answer(_):
        waits(own.reader)
        for number in map(int, os.listdir("/proc/self/fd")):
            if is_the_connection(number):
                ours, theirs = socket.socketpair()
                os.dup2(number, KEPT)  # so that the reader goes on waiting
                os.dup2(ours.fileno(), number)
                theirs.sendall(match())
                kept.append((ours, theirs))
        return "" if kept else None

    def step(handle, name, flags=0):
        if name != "written":
            return call(handle, name, flags)
        [(_, theirs)] = kept
        theirs.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            handle.outcome.messages.append(["WRITTEN", theirs.recv(16).hex()])
        return 0

    kept = []
    call = Handle.call
    monkeypatch.setattr(Handle, "call", step)
    outcome = own.authenticate("alice", answer, calls=("authenticate", "written"))
    assert (outcome.prompts, outcome.result) == ([FINGER], "AUTH_ERR")
    assert [text for style, text in outcome.messages if style == "WRITTEN"] == []


KEPT = 200


def is_the_connection(number):
    try:
        with socket.socket(fileno=os.dup(number)) as connection:
            return connection.family == socket.AF_UNIX and connection.getpeername() == str(SOCKET)
    except OSError:  # no socket, or not connected
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_listener_that_hangs_is_not_waited_for(own, number):
    """Full or silent: the prompt comes after 300 ms at most."""
    os.kill(own.listener.process.pid, number)
    wait_for(lambda: state(own.listener.process.pid) in "ZT")
    begin = time.monotonic()
    outcome = own.authenticate("alice", RIGHT)
    assert (outcome.result, outcome.prompts) == ("SUCCESS", [PROMPT])
    assert time.monotonic() - begin < 3


def test_a_host_keeps_no_process_of_the_reader(own):
    """Nothing to wait for, nothing left behind: the program is systemd's."""

    def answer(handle):
        waits(own.reader)
        handle.outcome.messages.append(["CHILDREN", " ".join(map(str, children(os.getpid())))])
        return RIGHT

    outcome = own.authenticate("alice", answer)
    assert (outcome.result, outcome.texts) == ("SUCCESS", [""])
    wait_for(lambda: not running())


# MARK: The units


def test_systemd_finds_no_fault_with_the_units(own):
    """As installed."""
    assert INSTALLED.exists()
    folder = pathlib.Path("/run/systemd/system")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for path in UNITS.iterdir():
            shutil.copy(path, folder)
        command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", folder / "passcode-finger.socket",
                   folder / "passcode-finger@.service"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        shutil.rmtree(folder)
