"""A fleet with many accounts."""

import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time

import pytest
from fleet import GRANTED, LOOK, OPEN, VERIFIER, WARD
from messages import TREE
from process import wait_for
from scenario import RIGHT

pytestmark = pytest.mark.alone
ACCOUNTS = "/passcode/1/u/"
# Puts values, 100 at a time, with the token; from standard input.
PUT = r"""if True:
    import base64, http.client, json, sys
    known = json.load(sys.stdin)
    text = lambda words: base64.b64encode(words.encode()).decode()
    etcd = http.client.HTTPConnection("127.0.0.1", known["port"])
    puts = [{"request_put": {"key": text(key), "value": text(value)}} for key, value in known["values"].items()]
    for first in range(0, len(puts), 100):
        body = json.dumps({"success": puts[first:first + 100]})
        etcd.request("POST", "/v3/kv/txn", body, {"Authorization": known["token"]})
        answer = etcd.getresponse()
        body = answer.read()
        assert answer.status == 200, body
"""


def put(fleet, values):
    server = fleet.servers[0]
    server.run("list")
    known = {"port": fleet.client(0), "token": (server.state / "token").read_text(), "values": values}
    command = [*fleet.inside(0), sys.executable, "-c", PUT]
    subprocess.run(command, input=json.dumps(known), text=True, check=True)
    shrink(fleet)


def shrink(fleet):
    """etcd 3.4 copies, for each request, the whole buffer of what it hasn't yet written to its file. Thousands of values at
    once make the buffer so large that a login takes four times as long; it shrinks as soon as etcd writes to its file what
    changes no value. Nothing that these tests measure writes so much at once: people don't."""
    time.sleep(1)
    fleet.etcdctl(0, "lease", "grant", "1")
    time.sleep(1)


def enroll_many(fleet, count):
    """More accounts like alice's."""
    record = fleet.etcdctl(0, "get", "--print-value-only", ACCOUNTS + b"alice".hex()).rstrip("\n") + "\n"
    assert "name=alice\n" in record
    values = {}
    for number in range(count):
        name = f"n{number:06}"
        lines = record.replace("name=alice", f"name={name}").splitlines(keepends=True)
        own = "".join(lines[2:-1])
        digest = hashlib.blake2b(own.encode(), digest_size=32).hexdigest()
        values[ACCOUNTS + name.encode().hex()] = "".join(lines[:2]) + own + f"checksum={digest}\n"
    put(fleet, values)


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


def stations_too(fleet, listed, count):
    """A list of so many workstations; and for some of them what etcd keeps of one: who was let in there, and a count."""
    names = [f"CN=station{number:05}" for number in range(listed)]
    for server in fleet.servers:
        server.write("workstations", "".join(f"{name}\n" for name in [*names, *WARD]))
        server.run("seen")
    owners = "".join(f"{number:016x} {int(time.time()) // 86400}\n" for number in range(64))
    values = {}
    for name in names[:count]:
        key = "/passcode/1/s/" + hashlib.blake2b(name.encode(), digest_size=32).hexdigest()
        values[key] = f"failures=1\nwindow={'5' * 32}\n"
        values[key + "/o"] = owners
    put(fleet, values)


def median(job, times=161):
    taken = []
    for _ in range(times):
        started = time.monotonic()
        job()
        taken.append(time.monotonic() - started)
    return statistics.median(taken)


@pytest.mark.on_request
def test_a_large_fleet_costs_a_login_no_more(fleet, capsys):
    """100,000 accounts and 20,000 workstations, of 100,000 on the list, against 100 accounts and two; measured before, and
    again afterwards."""
    # A workstation may ask 1,000 questions an hour.
    server, names = fleet.servers[0], itertools.cycle(WARD)

    def look():
        assert server.ask(LOOK, "alice", name=next(names)).kind == OPEN

    def login():
        assert server.verify(RIGHT, name=next(names)).kind == GRANTED

    def measured():
        return median(look), median(login)

    enroll_many(fleet, 100)
    small = measured()
    before = bytes_in(fleet)
    for _ in range(200):
        login()
    each = (bytes_in(fleet) - before) / 200
    enroll_many(fleet, 100_000)
    stations_too(fleet, 100_000, 20_000)
    large = measured()
    fleet.etcdctl(0, "del", "--prefix", ACCOUNTS + b"n".hex())
    fleet.etcdctl(0, "del", "--prefix", "/passcode/1/s/")
    for server in fleet.servers:
        server.write("workstations", "".join(f"{name}\n" for name in WARD))
    shrink(fleet)
    small = [(one + other) / 2 for one, other in zip(small, measured())]
    ratios = [many / few for many, few in zip(large, small)]
    with capsys.disabled():
        print(f"\n  a look {large[0] * 1e3:.1f} / {small[0] * 1e3:.1f} ms = {ratios[0]:.2f}, "
              f"a login {large[1] * 1e3:.1f} / {small[1] * 1e3:.1f} ms = {ratios[1]:.2f}; {each:.0f} bytes a login")  # fmt: skip
    assert max(ratios) <= 1.1


@pytest.mark.on_request
def test_a_day_of_100_000_logins(fleet, capsys):
    """Of eight people at 200 workstations, four at once. Each is let in, as fast at the end as at the beginning; and nothing of
    them is left once etcd's history is cut, which it is by itself every ten minutes. PASSCODE_LOGINS: so many."""
    server, count = fleet.servers[0], int(os.environ.get("PASSCODE_LOGINS", "100000"))
    people = [f"person{number}" for number in range(8)]
    for person in people:
        server.enroll(person, RIGHT)
    shrink(fleet)
    names = [f"CN=station{number:03}" for number in range(200)]
    server.write("workstations", "".join(f"{name}\n" for name in [*names, *WARD]))
    server.run("seen")

    def log_in(mine):
        """Those of one of the four, with people of its own: nobody waits for another's attempt on the same passcode."""
        kinds, seconds = collections.Counter(), []
        for number in range(mine, count, 4):
            started = time.monotonic()
            reply = server.verify(RIGHT, people[number % len(people)], name=names[number // 4 % len(names)])
            seconds.append(time.monotonic() - started)
            kinds[reply and reply.kind] += 1
        return kinds, seconds

    before, started = bytes_in(fleet), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(log_in, range(4)))
    taken, most = time.monotonic() - started, bytes_in(fleet)
    few = min(500, count // 16)
    first = statistics.median(one for _, seconds in done for one in seconds[:few])
    last = statistics.median(one for _, seconds in done for one in seconds[-few:])
    fleet.etcdctl(0, "compact", "--physical", str(status(fleet)["header"]["revision"]))
    fleet.etcdctl(0, "defrag")
    left = len(fleet.etcdctl(0, "lease", "list").splitlines()) - 1
    with capsys.disabled():
        print(f"\n  {count} logins in {taken:.0f} s: {first * 1e3:.1f} ms at first, {last * 1e3:.1f} at last; "
              f"etcd {before >> 10} KiB before, {most >> 10} at most, {bytes_in(fleet) >> 10} after; {left} leases")  # fmt: skip
    assert sum((kinds for kinds, _ in done), collections.Counter()) == {GRANTED: count}
    assert last <= 1.1 * first
    assert bytes_in(fleet) < before + (1 << 20)


@pytest.mark.on_request
def test_the_sample_makes_etcd_cut_its_history(fleet):
    """With a minute in place of its ten."""
    sample = (TREE / "Sources/system/etcd/etcd").read_text().replace("RETENTION=10m\n", "RETENTION=1m\n")
    settings = re.findall(r"^ETCD_((?:AUTO|QUOTA)_\w+)=(.*)$", sample, re.MULTILINE)
    assert ("AUTO_COMPACTION_RETENTION", "1m") in settings and len(settings) == 3
    fleet.start_anew(*(f"--{name.lower().replace('_', '-')}={value}" for name, value in settings))
    first = status(fleet)["header"]["revision"]

    def is_cut():
        assert fleet.servers[0].verify(RIGHT).kind == GRANTED
        time.sleep(0.2)
        return not fleet.knows(first)

    assert fleet.servers[0].verify(RIGHT).kind == GRANTED and fleet.knows(first)
    wait_for(is_cut, 300)
    fleet.start_anew()


def bytes_in(fleet):
    return status(fleet)["dbSize"]


def status(fleet):
    [answer] = json.loads(fleet.etcdctl(0, "endpoint", "status", "--write-out=json"))
    return answer["Status"]
