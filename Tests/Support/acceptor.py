"""`passcode-verifier accept`, as its unit runs it."""

import socket

from fleet import ACCOUNT, DOOR, VERIFIER, decode
from process import children, start_at_socket, wait_for


class Acceptor:
    """Started by the first connection to a socket of that name."""

    def __init__(self, server, *before, name="accept"):
        self.path = server.door / name
        self.path.unlink(missing_ok=True)
        start = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", *before, VERIFIER, "accept"]
        command = server.command("systemd-socket-activate", "--listen", f"{DOOR}/{name}", *start)
        self.process = start_at_socket(command)

    def start(self):
        """The first connection starts it, which has taken that one from the queue, too, once it is answered."""
        with self.connect() as connection:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
        self.idle()

    @property
    def pid(self):
        return self.process.pid

    def children(self):
        return children(self.pid)

    def idle(self):
        """It has begun, and nothing that it has started is left, not even as a zombie."""
        wait_for(lambda: b"accept" in command_line(self.pid).split(b"\0")[1:2] and not self.children())

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        connection.connect(str(self.path))
        return connection

    def ask(self, data):
        with self.connect() as connection:
            return converse(connection, data)

    def end(self):
        self.process.kill()
        self.process.wait()


def converse(connection, data):
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
    return decode(b"".join(iter(lambda: connection.recv(4096), b"")))


def command_line(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
