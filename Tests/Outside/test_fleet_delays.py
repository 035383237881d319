"""A fleet's delays last as long as they say, with Debian's etcd."""

import base64
import os
import signal
import threading
import time

from between import between
from fleet import VERIFY, WAIT, WRONG_AND_LOCKED, decode, left, request
from scenario import WRONG as CODES

DELAY, LATE = 60, 12


def test_a_charge_that_is_late_shortens_no_delay(fleet):
    """The verifier is stopped once it has the delay's lease, and while its charge is on the way."""
    server = fleet.servers[0]
    for code in CODES[:2]:
        server.verify(code)
    charged, put = [], b'"request_put":{"key":"' + base64.b64encode(WAIT.encode()) + b'"'

    def before(path, body):
        if path == "/v3/kv/txn" and put in body and not charged:
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(LATE)
            charged.append(time.monotonic())
            threading.Timer(1, os.kill, (process.pid, signal.SIGCONT)).start()

    with between(server, before):
        process, ours = server.start(request(VERIFY, "alice", passcode=CODES[2]))
        with ours:
            ours.settimeout(30)
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
        process.wait(30)
    reply = decode(answer)
    assert (reply.kind, reply.numbers[0]) == (WRONG_AND_LOCKED, 3), reply
    assert left(fleet, WAIT) + (time.monotonic() - charged[0]) >= DELAY - 1
