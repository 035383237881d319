"""Somebody else in a verifier's place."""

import os
import socket
import struct
import threading
import time

from bed import become
from cost import in_child


class Liar:
    """A verifier's socket with somebody else behind it; counts who comes, and keeps what they say."""

    def __init__(self, path, answer, hold=0, listener=0, then=None):
        """`then`: what it says on the first connection when an attempt comes there: to the name, and to the rest."""
        self.answer, self.hold, self.heard, self.then = answer, hold, [], then
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(path))
        os.chmod(path, 0o666)
        os.seteuid(listener)
        self.door.listen(8)
        os.seteuid(0)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            with connection:
                self.heard.append(self._all(connection))
                try:
                    connection.sendall(self.answer)
                    if self.then is not None:
                        self._go_on(connection)
                except BrokenPipeError:
                    pass
                time.sleep(self.hold)

    def _go_on(self, connection):
        then, self.then = self.then, None
        self.heard.append(connection.recv(4096))
        if self.heard[-1] and then:
            connection.sendall(then[0])
            self.heard.append(self._all(connection))
            connection.sendall(then[1])

    def _all(self, connection):
        """A request comes in parts, and has no end of stream: all of it, and what else comes soon after it."""
        heard = more = connection.recv(4096)
        try:
            while more:
                connection.settimeout(0.2 if is_whole(heard) else 20)
                more = connection.recv(4096)
                heard += more
        except TimeoutError:
            pass
        connection.settimeout(None)
        return heard

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Not closed as long as the thread may call accept(): by then the number may be another socket's.
        self.door.shutdown(socket.SHUT_RDWR)


def is_whole(heard):
    """Whether these bytes are a request, after the account's name or without it (FleetMessage.swift)."""
    if heard[:1] == b"\2":
        heard = heard[2 + heard[1] :] if len(heard) > 1 else b""
    if len(heard) < 10:
        return False
    conditions, codes, password = struct.unpack_from("<BBH", heard, 6)
    return len(heard) >= 10 + (conditions >> 2) + (codes & 15) + (codes >> 4) + password


def reply(kind, *numbers, text=b""):
    numbers = (*numbers, 0, 0, 0, 0, 0)[:5]
    return bytes([1, kind]) + struct.pack("<5Q", *numbers) + text + b"\4"


def alice_gets(function):
    """What it returns in a process of hers."""

    def hers():
        become("alice")()
        return function()

    return in_child(hers)
