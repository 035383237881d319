"""Stands between a fleet's verifiers and their server's etcd: it can do something before a request is passed on, or lose
the request or its answer."""

import base64
import contextlib
import re
import socket
import threading
import time

CUT, LOST = "cut", "lost"
RECORD = "/passcode/1/u/" + b"alice".hex()
PUT = b'"request_put":{"key":"' + base64.b64encode(RECORD.encode()) + b'"'
BUSY = b'"request_put":{"key":"' + base64.b64encode(f"{RECORD}/busy".encode()) + b'"'
LAST_CHUNK = re.compile(rb"\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n\Z")  # after an error there is a trailer
LATE = 3  # seconds: a verifier waits for two


class Between:
    """On a server, a port that leads to its etcd. `before(path, body)` is called before each request is passed on; it returns
    CUT for one that isn't to arrive, and LOST for one whose answer isn't."""

    def __init__(self, server, etcd, before):
        self.etcd, self.before = etcd, before
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(server, ready), daemon=True).start()
        ready.wait()

    def _serve(self, server, ready):
        server.enter()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        ready.set()
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client):
        with client, socket.create_connection(("127.0.0.1", self.etcd)) as etcd:
            while request := self._request(client):
                head, _, body = request.partition(b"\r\n\r\n")
                fate = self.before(head.split()[1].decode(), body)
                if fate == CUT:
                    return
                etcd.sendall(request)
                answer = self._message(etcd)
                if fate == LOST:
                    return
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it no longer waits
                    client.sendall(answer)

    def _request(self, client):
        try:
            return self._message(client)
        except ConnectionResetError:
            return b""

    def _message(self, peer):
        """A whole request or answer."""
        data = b""
        while more := peer.recv(65536):
            data += more
            head, end, body = data.partition(b"\r\n\r\n")
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if end and (len(body) >= int(length[0].split(b":")[1]) if length else LAST_CHUNK.search(body)):
                return data
        return b""

    def end(self):
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()


@contextlib.contextmanager
def between(server, before):
    """Its verifiers ask by way of this."""
    fleet = server.fleet
    plain = (server.files / "verifier.conf").read_text()
    etcd = fleet.client(server.number)
    made = Between(server, etcd, before)
    server.write("verifier.conf", plain.replace(f"etcd={etcd}\n", f"etcd={made.port}\n"))
    yield made
    server.write("verifier.conf", plain)
    made.end()


class Fates:
    """What becomes of each charge, and of each fence, in their order; the others arrive."""

    def __init__(self, charges=(), fences=()):
        self.charges, self.fences = list(charges), list(fences)
        self.charged, self.fenced = [], []

    def __call__(self, path, body):
        if path != "/v3/kv/txn" or PUT not in body:
            return None
        if BUSY in body:
            fates, seen = self.charges, self.charged
        elif b'"failure":[{' in body:
            fates, seen = self.fences, self.fenced
        else:
            return None
        seen.append(body)
        fate = fates.pop(0) if fates else None
        if fate == "late":
            time.sleep(LATE)
            return LOST
        return fate
