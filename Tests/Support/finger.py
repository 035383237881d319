"""`passcode-finger`, driven as the module drives it: one request, and events (Sources/PasscodePolicy/Finger)."""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from bed import built, uid
from process import make_urgent, start_at_socket, wait_for

PROGRAM = built("passcode-finger")
INSTALLED = pathlib.Path("/usr/libexec/passcode-finger")
LIMIT = 5
COUNTS = pathlib.Path("/run/passcode")
WATCH, LIST, SESSION = 1, 2, 3
KINDS = {1: "starting", 2: "watching", 3: "no match", 4: "matched", 5: "ended", 6: "listed", 7: "present"}
ENDS = {
    1: "no service", 2: "no reader", 3: "in use", 4: "denied", 5: "not enrolled", 6: "off",
    7: "slow", 8: "gone", 9: "tries", 10: "time", 11: "failed", 12: "no session", 13: "no touch", 14: "prints changed",
}  # fmt: skip
LENGTH = 16
ENTER = b"\1"
OTHER, LOGIN_SCREEN = 0, 255
SOCKET = pathlib.Path("/run/passcode-finger.socket")
Match = collections.namedtuple("Match", "serial milliseconds")


def request(name="alice", operation=WATCH, wants_session=False, terminal=None):
    """For a person's program, or for the machine's: at that terminal, or at the virtual console in the foreground."""
    if terminal is None:
        terminal = 0 if wants_session else 1
    return struct.pack("<BBBBI", 2, operation, wants_session, terminal, uid(name))


def display(number):
    """An X display, as a request names it."""
    return 64 + number


def count_file(name="alice"):
    return COUNTS / f"{uid(name)}.finger"


def set_count(number, serial=0, name="alice"):
    COUNTS.mkdir(mode=0o700, exist_ok=True)
    count_file(name).write_bytes(struct.pack("<BBHI", 1, number, 0, serial))
    count_file(name).chmod(0o600)


def charged(name="alice"):
    """As `touches`; 0 where there is no file yet."""
    return touches(name) if count_file(name).exists() else 0


def touches(name="alice"):
    """How many are charged."""
    content = count_file(name).read_bytes()
    assert len(content) == 8 and content[0] == 1 and content[2:4] == b"\0\0", content
    return content[1]


def decode(event):
    version, kind, detail, serial, milliseconds = struct.unpack("<BBHIQ", event)
    assert version == 1
    if KINDS[kind] == "ended":
        return ENDS[detail]
    if KINDS[kind] == "matched":
        return Match(serial, milliseconds)
    if KINDS[kind] == "listed":
        return {bit for bit in range(16) if detail >> bit & 1}
    return KINDS[kind]


class Finger:
    """One prompt. Use it as a context: at its end the connection is closed, and the program has ended."""

    def __init__(
        self, name="alice", operation=WATCH, ask=None, program=(PROGRAM,), wants_session=False, terminal=None, caller="root",
        **how,
    ):  # fmt: skip
        self.connection, theirs = connected_by(caller)
        how = {"env": {}, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **how}
        self.program = subprocess.Popen(program, stdin=theirs, **how)
        theirs.close()
        make_urgent(self.program.pid)
        try:
            self.connection.sendall(request(name, operation, wants_session, terminal) if ask is None else ask)
        except BrokenPipeError:
            pass  # it ended at once; there are no events then

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()
        self.program.wait(20)

    def event(self, seconds=20, starting=False):
        """The next one; None: the program closed the connection. That the reader joins late is told only to who asks: on
        a busy machine any reader is slow."""
        self.connection.settimeout(seconds)
        try:
            event = self.connection.recv(LENGTH, socket.MSG_WAITALL)
        except ConnectionResetError:  # it ended without having read everything
            return None
        assert len(event) in (0, LENGTH)
        if event and decode(event) == "starting" and not starting:
            return self.event(seconds)
        return decode(event) if event else None

    def events(self, **how):
        """All up to the end."""
        return list(iter(lambda: self.event(**how), None))

    def match(self, reader):
        """A login screen's, after a touch: it is told at Enter alone, and the reader is freed before."""
        wait_for(reader.is_free)
        self.connection.sendall(ENTER)
        return self.event()

    def hears_nothing(self, seconds=0.2):
        try:
            return self.event(seconds) is None and False
        except TimeoutError:
            return True


@contextlib.contextmanager
def watching(*about, **how):
    """One that has told that it watches."""
    with Finger(*about, **how) as finger:
        event = finger.event()
        assert event == "watching", event
        yield finger


def connected_by(name):
    """Both ends; at each the kernel says that the other one is this person's."""
    os.seteuid(uid(name) if name != "root" else 0)
    try:
        return socket.socketpair()
    finally:
        os.seteuid(0)


def descriptors(pid):
    return sorted(os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd"))


def install():
    """Where systemd looks for it, in the mount namespace of a `machine`; and the socket, at which systemd would start one
    for each connection. Returns what ends that."""
    INSTALLED.unlink(missing_ok=True)
    shutil.copyfile(PROGRAM, INSTALLED)
    INSTALLED.chmod(0o755)
    return Listener()


class Listener:
    """As systemd with the units of the package: each connection is the standard input of a process of its own."""

    def __init__(self):
        command = ["systemd-socket-activate", "--accept", "--inetd", "--listen", SOCKET, INSTALLED]
        self.process = start_at_socket(
            command, env={}, start_new_session=True, preexec_fn=make_urgent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        SOCKET.chmod(0o600)

    def close(self):
        """Whatever else stood in for the program ends, too."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        SOCKET.unlink(missing_ok=True)


def running():
    """The processes of the program, installed or not, in these tests' namespace."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if executable(pid) == PROGRAM.name]


def executable(pid):
    try:
        if os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt"):
            return None
        return pathlib.Path(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")).name
    except OSError:
        return None  # it has ended, or is the kernel's


def untouched(reader):
    """The reader, free, with fprintd running; no touch was charged yet."""
    shutil.rmtree(COUNTS, ignore_errors=True)
    wait_for(reader.is_free)
    return reader


def waits(reader):
    """The reader waits for a touch, which is charged already. It forgets one that comes before."""
    wait_for(reader.waits)


def matched(reader, name="alice"):
    """The person touches the reader with the right finger: the match has been told, and the reader freed."""
    waits(reader)
    reader.touch(f"{name}-finger")
    wait_for(reader.is_free)


def missed(reader, name="alice"):
    """With another one, which is told; the next touch is charged then."""
    waits(reader)
    before = charged(name)
    reader.touch("somebody-else")
    wait_for(lambda: charged(name) == before + 1)
    waits(reader)


def missed_last(reader):
    """With another one, and the program ends by itself after it."""
    waits(reader)
    reader.touch("somebody-else")
    wait_for(reader.is_free)


# MARK: A person at the module's prompt, and at the reader of `own`


def after(*acts, then=""):
    """An answer that is typed after these."""

    def answer(_):
        for act in acts:
            act()
        return then

    return answer


def match(own):
    return lambda: matched(own.reader)


def miss(own):
    return lambda: missed(own.reader)


def put_on(own, then=()):
    """A finger is on the reader, which needs 0.4 s from Enter to these commands."""

    def act():
        waits(own.reader)
        own.reader.tell("FINGER 1")
        time.sleep(0.1)
        if then:
            threading.Timer(0.4, lambda: [own.reader.tell(command) for command in then]).start()

    return act


def words(own):
    """What the log says of the reader, line by line."""
    lines = [line.message for line in own.module_log()]
    return [part.split("=")[1] for line in lines for part in line.split() if part.startswith("finger=")]
