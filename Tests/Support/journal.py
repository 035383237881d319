"""What programs send to /dev/log."""

import dataclasses
import os
import re
import socket
import threading
import time

from process import wait_for


@dataclasses.dataclass(frozen=True)
class Line:
    facility: int
    severity: int
    text: str  # all of it, as it was sent
    time: str  # as the sender wrote it: in its own time zone
    message: str


def parsed(text):
    """One datagram: "<priority>time name: message"; a program that writes it otherwise gives no more than its text."""
    found = re.match(r"<(\d+)>(.*?): (.*)", text, re.DOTALL)
    if not found:
        return Line(-1, -1, text, "", text)
    priority, header, message = found.groups()
    return Line(int(priority) // 8, int(priority) % 8, text, header[:15], message)


class Journal:
    """Collects what is sent to /dev/log (syslog's datagrams, RFC 3164)."""

    def __init__(self, path="/dev/log"):
        self._lines, self._path = [], str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self._path)
        os.chmod(self._path, 0o666)
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        while True:
            text = self._socket.recv(65536).decode(errors="backslashreplace")
            self._lines.append(parsed(text))

    def lines(self):
        """All lines that were sent before now."""
        mark = f"mark {time.monotonic_ns()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(f"<0>mark: {mark}".encode(), self._path)
        wait_for(lambda: any(line.message == mark for line in self._lines))
        self._lines = [line for line in self._lines if not line.message.startswith("mark ")]
        return list(self._lines)
