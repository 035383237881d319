"""The installed helper as its callers have it: requests, replies, and what they can do to it meanwhile."""

import contextlib
import dataclasses
import fcntl
import os
import pathlib
import re
import socket
import struct
import subprocess
import time

from bed import SLOT, become, person, uid
from process import open_files, wait_for
from machine import ACCOUNT, HELPER, STORE
from scenario import RIGHT

# HelperMessage.swift: the operations, and the kinds of replies.
LOOK, VERIFY, STATUS, CHANGE, REMOVE, ENROLL, UNLOCK, PROVE = range(1, 9)
PAUSE, RESUME = 10, 11
GRANTED, WRONG_ONE, FORBIDDEN, UNAVAILABLE, OPEN, DONE_IT, WRONG_PASSWORD = 1, 2, 9, 11, 16, 18, 19
REFUSED = 21  # a passcode that may not be chosen
OPEN_WITHOUT_WAITING = 22
PASSWORD_IS_DIGITS = 23
EXPIRED, MUST_CHANGE = 24, 25
# HelperMessage+Fault.swift: the numbers of a refusal.
BAD_LENGTH, A_RUN, A_PHONE, A_ROOM, ON_THE_LIST, BACKWARDS = 1, 7, 14, 15, 23, 25


@dataclasses.dataclass(frozen=True)
class Reply:
    kind: int
    numbers: tuple
    text: bytes

    def refuses(self, number):
        """A number, and no word."""
        return (self.kind, self.numbers, self.text) == (REFUSED, (number, 0, 0, 0, 0), b"")


def fault(reason, path="", name="", *, error=0, number=0):
    """The text of an `unavailable` (HelperMessage+Fault.swift)."""
    reasons = (pathlib.Path(__file__).parents[2] / "Sources/PasscodePolicy/Fault/Fault.swift").read_text()
    code = int(re.search(rf"    case {reason} = (\d+)\b", reasons)[1])
    return (struct.pack("<BBHQ", code, len(path), error, number).hex() + path + name).encode()


def request(operation, uid, *, passcode="", new="", password="", service=""):
    """The bytes of a request (HelperMessage.swift)."""
    head = struct.pack("<BBIBBH", 1, operation, uid, len(service) << 2, len(passcode) | len(new) << 4, len(password))
    return head + (service + passcode + new + password).encode()


def ask(operation, about, *, user, seconds=30, **secrets):
    """One question to the installed helper, by that person; None where it gives no reply."""
    return converse(request(operation, uid(about), **secrets), user=user, seconds=seconds)


def converse(data, *, user, seconds=30, **how):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **{**person(user), **how})
        theirs.close()
        ours.settimeout(seconds)
        try:
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        helper.wait(seconds)
    return reply(answer) if answer else None


def reply(answer):
    count = {17: 6, 26: 7}.get(answer[1], 5)
    return Reply(answer[1], struct.unpack_from(f"<{count}Q", answer, 2), answer[2 + count * 8 :])


def verify(code=RIGHT, **how):
    return converse(request(VERIFY, uid("alice"), passcode=code), user="alice", **how)


def pieces(data, pause, **how):
    """Sends it byte by byte; the process, and our end."""
    ours, theirs = socket.socketpair()
    helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **{**person("alice"), **how})
    theirs.close()
    for index in range(len(data)):
        ours.sendall(data[index : index + 1])
        time.sleep(pause)
    return helper, ours


def look():
    """A helper of alice's that answered a look, and waits."""
    helper, ours = pieces(request(LOOK, uid("alice")), 0)
    assert ours.recv(4096)[1] == OPEN
    return helper, ours


class Waiting:
    """A helper that waits for the record, which is held meanwhile: `_passcode` wholly, the secret in its memory."""

    def __init__(self, bed, code=RIGHT, **how):
        self.held = os.open(bed.record_file("alice"), os.O_RDWR)
        fcntl.flock(self.held, fcntl.LOCK_EX)
        self.helper, self.ours = pieces(request(VERIFY, uid("alice"), passcode=code), 0, **how)
        self.ours.shutdown(socket.SHUT_WR)
        wait_for(lambda: self.uids() == {str(uid(ACCOUNT))})
        wait_for(self.opened)
        self.pid = self.helper.pid

    def uids(self):
        return set(self.status("Uid"))

    def status(self, name):
        for line in pathlib.Path(f"/proc/{self.helper.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split()[1:]

    def opened(self):
        return [path for path in open_files(self.helper.pid) if path.startswith(str(STORE))]

    def answer(self):
        os.close(self.held)
        data = self.ours.recv(4096)
        self.helper.wait(10)
        return data[1] if data else None


def as_alice(work):
    """What it returns, done by alice: an errno, or 0."""
    child = os.fork()
    if child == 0:
        become("alice")()
        try:
            work()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tcp():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    return one, listener.accept()[0], listener


def lingering():
    """A connection whose last close takes 100 s, and what must stay open for that."""
    one, *others = tcp()
    one.settimeout(0.2)  # the other end's room grows for a while
    with contextlib.suppress(TimeoutError):
        while True:
            one.send(b"x" * 65536)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 100))
    return one, others


def number(slot, name):
    return int(slot.split(name + b"=")[1].split(b"\n")[0])


def generation(bed):
    return max(number(bed.record("alice")[start : start + 4096], b"generation") for start in (0, 4096))


def own_failures(bed):
    """Without waiting for the record's lock."""
    slots = [bed.record("alice")[start : start + SLOT] for start in (0, SLOT)]
    return number(max(slots, key=lambda slot: number(slot, b"generation")), b"failures")
