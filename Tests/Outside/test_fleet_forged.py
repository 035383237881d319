"""Answers of etcd that were forged or cut: none of them is believed, and nothing is hashed after it."""

import base64
import json
import subprocess

import pytest
from fleet import UNAVAILABLE
from scenario import RIGHT

RECORD = "/passcode/1/u/" + b"alice".hex()

# Answers each connection's first request with the last line of standard input, in Base64, and ends the connection.
FORGER = """if True:
    import base64, socket, sys, threading
    door = socket.create_server(("127.0.0.1", 2379))
    answer = b""

    def serve(peer):
        with peer:
            heard = b""
            while b"failure" not in heard and (more := peer.recv(65536)): heard += more
            peer.sendall(answer)

    def accept():
        while True:
            threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        answer = base64.b64decode(line)
        print("ready", flush=True)
"""


def true_answer(fleet):
    """To a read of all that decides about alice."""
    value = base64.b64encode(fleet.etcdctl(0, "get", "--print-value-only", RECORD).rstrip("\n").encode() + b"\n").decode()
    [status] = json.loads(fleet.etcdctl(0, "endpoint", "status", "--write-out=json"))
    header = {name: str(number) for name, number in status["Status"]["header"].items()}
    pair = {"key": base64.b64encode(RECORD.encode()).decode(), "mod_revision": header["revision"], "value": value}
    ranges = [{"kvs": [pair], "count": "1"}] + [{}] * 6
    return {"header": header, "succeeded": True, "responses": [{"response_range": one} for one in ranges]}


def http(body, head=""):
    text = body if isinstance(body, str) else json.dumps(body)
    return f"HTTP/1.1 200 OK\r\n{head or f'Content-Length: {len(text)}'}\r\n\r\n{text}".encode()


def changed(answer, change):
    copy = json.loads(json.dumps(answer))
    change(copy)
    return http(copy)


def forgeries(answer, step):
    whole = http(answer)
    yield from (whole[:cut] for cut in range(1, len(whole), step))
    first = "responses", 0, "response_range"

    def reach(copy, path):
        for name in path:
            copy = copy[name]
        return copy

    for path, name, value in [
        (("header",), "cluster_id", "1"), (("header",), "cluster_id", "9" * 30), (("header",), "revision", "1"),
        (("header",), "revision", "-5"), (("header",), "revision", "1e3"), (("header",), "raft_term", "0"),
        ((), "succeeded", "true"), ((), "succeeded", None), ((), "responses", []), ((), "header", []),
        (first, "count", "2"), (first, "count", "18446744073709551616"), (first, "kvs", []), (first, "kvs", {}),
        ((*first, "kvs", 0), "mod_revision", "0"), ((*first, "kvs", 0), "value", "!"), ((*first, "kvs", 0), "key", "eA=="),
    ]:  # fmt: skip
        yield changed(answer, lambda copy, path=path, name=name, value=value: reach(copy, path).update({name: value}))
    yield changed(answer, lambda copy: copy.pop("succeeded"))
    yield changed(answer, lambda copy: copy["responses"].append({"response_range": {}}))
    yield changed(answer, lambda copy: copy["responses"][0]["response_range"]["kvs"].append(copy["responses"][0]["response_range"]["kvs"][0]))
    text, chunked = json.dumps(answer), "Transfer-Encoding: chunked"
    for body in (
        f"{len(text):x}\r\n{text}\r\n", f"{len(text):x}\r\n{text}", f"ffffffffffffffff\r\n{text}\r\n0\r\n\r\n",
        f"-1\r\n{text}\r\n0\r\n\r\n", f"{len(text) - 1:x}\r\n{text}\r\n0\r\n\r\n", f"{len(text):x};x=y\r\n{text}\r\n0\r\n\r\n",
    ):  # fmt: skip
        yield http(body, chunked)
    yield http(text, f"{chunked}\r\nContent-Length: {len(text)}")
    yield http(text, f"Content-Length: {len(text)}\r\nContent-Length: {len(text) - 1}")
    yield http(text, "Content-Length: 99999999999999999999")
    yield whole + whole


@pytest.mark.parametrize("step", [211, pytest.param(1, marks=pytest.mark.on_request)])
def test_no_forged_or_cut_answer_is_believed(fleet, step):
    answer = true_answer(fleet)
    fleet.members[0].kill()
    fleet.members[0].wait()
    command = fleet.servers[0].command("python3", "-c", FORGER)
    forger = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert forger.stdout.readline() == "ready\n"
        tried = 0
        for forged in forgeries(answer, step):
            forger.stdin.write(base64.b64encode(forged).decode() + "\n")
            forger.stdin.flush()
            assert forger.stdout.readline() == "ready\n"
            reply = fleet.servers[0].verify(RIGHT)
            assert reply.kind == UNAVAILABLE, (forged, reply)
            tried += 1
    finally:
        forger.kill()
        forger.communicate()
    assert tried > 30
    assert fleet.servers[1].failures() == 0
