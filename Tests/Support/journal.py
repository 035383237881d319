"""What programs send to /dev/log."""

import contextlib
import dataclasses
import os
import re
import select
import signal
import socket
import struct
import time

SIZE = struct.Struct("I")  # before each datagram, in the order of their coming


@dataclasses.dataclass(frozen=True)
class Line:
    facility: int
    text: str  # all of it, as it was sent
    time: str  # as the sender wrote it: in its own time zone
    message: str


def parsed(text):
    """One datagram: "<priority>time name: message"; a program that writes it otherwise gives no more than its text."""
    found = re.match(r"<(\d+)>(.*?): (.*)", text, re.DOTALL)
    if not found:
        return Line(-1, text, "", text)
    priority, header, message = found.groups()
    return Line(int(priority) // 8, text, header[:15], message)


def collect(door, kept, told, tests):
    """The process that does, until the tests have ended."""
    for number in set(map(int, os.listdir("/proc/self/fd"))) - {door.fileno(), kept, told, tests, 0, 1, 2}:
        with contextlib.suppress(OSError):  # the one that listed them
            os.close(number)
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while tests not in select.select([door, tests], [], [])[0]:
        data = door.recv(65536)
        os.write(kept, SIZE.pack(len(data)) + data)
        os.eventfd_write(told, 1)
    os._exit(0)


class Journal:
    """Collects what is sent to /dev/log (syslog's datagrams, RFC 3164), in a process of its own: a thread would be beside
    every fork of a test, and whatever lock it held then would be held in the child for ever."""

    def __init__(self, path="/dev/log"):
        self._lines, self._path, self._read = [], str(path), 0
        self._kept, self._told = os.memfd_create("journal"), os.eventfd(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
            door.bind(self._path)
            os.chmod(self._path, 0o666)
            tests = os.pidfd_open(os.getpid())
            between = os.fork()
            if between == 0:
                if os.fork() == 0:  # nobody's child, so that it isn't taken for a program of a test's
                    collect(door, self._kept, self._told, tests)
                os._exit(0)
            os.waitpid(between, 0)
            os.close(tests)

    def _fetch(self):
        """What has come since the last time."""
        new = []
        kept = os.pread(self._kept, 1 << 20, self._read)
        while len(kept) >= SIZE.size and len(kept) >= (end := SIZE.size + SIZE.unpack_from(kept)[0]):
            new.append(parsed(kept[SIZE.size : end].decode(errors="backslashreplace")))
            kept, self._read = kept[end:], self._read + end
        self._lines += [line for line in new if not line.message.startswith("mark ")]
        return new

    def lines(self):
        """All lines that were sent before now."""
        mark, deadline = f"mark {time.monotonic_ns()}", time.monotonic() + 20
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(f"<0>mark: {mark}".encode(), self._path)
        while mark not in (new := [line.message for line in self._fetch()]):
            if not new:
                assert select.select([self._told], [], [], max(0, deadline - time.monotonic()))[0], "the log has no mark"
                os.eventfd_read(self._told)
        return list(self._lines)

    def __del__(self):
        os.close(self._kept)
        os.close(self._told)
