"""A fleet with many accounts."""

import base64
import json
import resource
import subprocess
import sys
import time

import pytest
from fleet import VERIFIER

pytestmark = pytest.mark.alone
ACCOUNTS = "/passcode/1/u/"
# Puts records, 100 at a time, with the token and the template of standard input.
PUT = r"""if True:
    import base64, hashlib, http.client, json, sys
    known = json.load(sys.stdin)
    text = lambda data: base64.b64encode(data).decode()
    etcd = http.client.HTTPConnection("127.0.0.1", known["port"])
    for first in range(0, known["count"], 100):
        puts = []
        for number in range(first, first + 100):
            name = f"n{number:06}"
            lines = known["record"].replace("name=alice", f"name={name}").splitlines(keepends=True)
            text_of_record = "".join(lines[2:-1]).encode()
            digest = hashlib.blake2b(text_of_record, digest_size=32).hexdigest()
            value = "".join(lines[:2]).encode() + text_of_record + f"checksum={digest}\n".encode()
            key = (known["accounts"] + name.encode().hex()).encode()
            puts.append({"request_put": {"key": text(key), "value": text(value)}})
        etcd.request("POST", "/v3/kv/txn", json.dumps({"success": puts}), {"Authorization": known["token"]})
        answer = etcd.getresponse()
        body = answer.read()
        assert answer.status == 200, body
"""


def enroll_many(fleet, count):
    server = fleet.servers[0]
    server.run("list")
    record = fleet.etcdctl(0, "get", "--print-value-only", ACCOUNTS + b"alice".hex()).rstrip("\n") + "\n"
    assert "name=alice\n" in record
    known = {
        "port": fleet.client(0), "count": count, "record": record, "accounts": ACCOUNTS,
        "token": (server.state / "token").read_text(),
    }  # fmt: skip
    command = [*fleet.inside(0), sys.executable, "-c", PUT]
    subprocess.run(command, input=json.dumps(known), text=True, check=True)


@pytest.mark.parametrize("count, seconds", [(3_000, 5), pytest.param(100_000, 5, marks=pytest.mark.on_request)])
def test_a_list_is_read_in_pages(fleet, capsys, count, seconds):
    enroll_many(fleet, count)
    started = time.monotonic()
    lines = fleet.servers[0].run("list").stdout.splitlines()
    taken = time.monotonic() - started
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    own = rss(fleet)
    with capsys.disabled():
        print(f"\n  a list of {count}: {taken:.2f} s, {own:.0f} MiB ({most:.0f} with everything else)")
    assert len(lines) == count + 2
    assert taken < seconds and own < 48


def rss(fleet):
    """The most memory of a list, in MiB."""
    script = "import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = fleet.servers[0].command(sys.executable, "-c", script, VERIFIER, "list")
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024
