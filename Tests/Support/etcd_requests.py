"""Random requests to an etcd, in the words of etcd-answers.txt, and what Debian's etcd answers: for FakeEtcd, which must
answer the same.

    lease NAME SECONDS            a lease, of at least so long
    wait SECONDS
    left NAME                     = lasts, or = over
    txn CONDITIONS ? ACTIONS ! ACTIONS        otherwise the second ones; each with "," between
        at KEY REVISION           last written then, counted from the sequence's beginning; 0: not there
        holds KEY VALUE
        read KEY, count PREFIX, list FROM PREFIX LIMIT, put KEY VALUE LEASE, delete KEY        "-": without a lease
    = yes REVISION RESULT, …      or no; a result is COUNT and for each entry KEY VALUE REVISION LEASE; = none: refused
"""

import base64
import contextlib
import json
import pathlib
import random
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import fleet
from process import wait_for

ANSWERS = pathlib.Path(__file__).with_name("etcd-answers.txt")
KEYS = ["a", "a/1", "a/2", "b"]


def sequences(count=40, length=25, seed=4):
    """Each begins in an empty etcd. A quarter of them has leases that end."""
    chance = random.Random(seed)
    return [list(sequence(chance, length, number % 4 == 0)) for number in range(count)]


def sequence(chance, length, ends):
    leases, revision = [], 0
    for number in range(length):
        kind = chance.random()
        if kind < 0.1 or not leases:
            leases.append(f"L{len(leases) + 1}")
            yield f"lease {leases[-1]} {2 if ends and len(leases) % 2 else 600}"
        elif kind < 0.2:
            yield f"left {chance.choice(leases)}"
        elif ends and number == length // 2:
            yield "wait 5"
        else:
            revision += 1
            conditions = [condition(chance, revision) for _ in range(chance.randrange(3))]
            parts = [actions(chance, leases) for _ in range(2)]
            yield f"txn {', '.join(conditions)} ? {', '.join(parts[0])} ! {', '.join(parts[1])}"


def condition(chance, revision):
    key = chance.choice(KEYS)
    return chance.choice([f"at {key} {chance.randrange(revision + 1)}", f"at {key} 0", f"holds {key} v{chance.randrange(3)}"])


def actions(chance, leases):
    """At most one that writes each key: etcd refuses two."""
    said = []
    for key in chance.sample(KEYS, chance.randrange(1, 4)):
        said.append(chance.choice([
            f"read {key}", f"put {key} v{chance.randrange(3)} {chance.choice([*leases, '-'])}",
            f"put {key} v{chance.randrange(3)} -", f"delete {key}", "count a/", f"list a/ a/ {chance.randrange(1, 3)}",
        ]))  # fmt: skip
    return said


# MARK: Debian's etcd


@contextlib.contextmanager
def etcd():
    """One member, and how it is asked: (path, body) → the answer, or None where it is an error."""
    fleet.fetch()
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        command = [fleet.UNPACKED / "usr/bin/etcd", "--data-dir", folder, "--listen-client-urls", client,
                   "--advertise-client-urls", client, "--listen-peer-urls", peer,
                   "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]  # fmt: skip
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

        def ask(path, body):
            request = urllib.request.Request(f"{client}/v3/{path}", json.dumps(body).encode())
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return json.load(answer)
            except urllib.error.URLError:
                return None

        try:
            wait_for(lambda: ask("kv/range", {"key": coded("a")}))
            yield ask
        finally:
            running.kill()
            running.wait()


def free_ports(count):
    """All are held at once: one that was given back might come again."""
    with contextlib.ExitStack() as doors:
        return [doors.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def coded(text):
    return base64.b64encode(text.encode()).decode()


def plain(text):
    return base64.b64decode(text).decode()


def after(prefix):
    """The first key that doesn't begin with it."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class Answers:
    """What one etcd answers to one sequence."""

    def __init__(self, ask):
        self.ask, self.leases = ask, {}
        ask("kv/deleterange", {"key": coded("\0"), "range_end": coded("\0")})
        self.base = int(ask("kv/range", {"key": coded("a")})["header"]["revision"])

    def answer(self, line):
        word, _, rest = line.partition(" ")
        return getattr(self, word)(rest)

    def lease(self, rest):
        name, seconds = rest.split()
        self.leases[name] = self.ask("lease/grant", {"TTL": seconds})["ID"]

    def wait(self, rest):
        time.sleep(int(rest))

    def left(self, name):
        return "= lasts" if int(self.ask("lease/timetolive", {"ID": self.leases[name]}).get("TTL", 0)) > 0 else "= over"

    def txn(self, rest):
        conditions, _, parts = rest.partition(" ? ")
        first, _, second = parts.partition(" ! ")
        said = [part.split(", ") for part in (first, second)]
        answer = self.ask("kv/txn", {
            "compare": [self.compare(*one.split()) for one in conditions.split(", ") if one],
            "success": [self.action(*one.split()) for one in said[0]],
            "failure": [self.action(*one.split()) for one in said[1]],
        })  # fmt: skip
        if answer is None:
            return "= none"
        succeeded = answer.get("succeeded", False)
        results = [self.result(one) for one in answer["responses"]]
        return f"= {'yes' if succeeded else 'no'} {self.revision(answer['header']['revision'])} {', '.join(results)}"

    def revision(self, number):
        return int(number) - self.base

    def compare(self, word, key, value):
        if word == "at":
            revision = self.base + int(value) if int(value) else 0
            return {"key": coded(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
        return {"key": coded(key), "target": "VALUE", "result": "EQUAL", "value": coded(value)}

    def action(self, word, key, *more):
        if word == "put":
            lease = {"lease": self.leases[more[1]]} if more[1] != "-" else {}
            return {"request_put": {"key": coded(key), "value": coded(more[0]), **lease}}
        if word == "delete":
            return {"request_delete_range": {"key": coded(key)}}
        if word == "count":
            return {"request_range": {"key": coded(key), "range_end": coded(after(key)), "count_only": True}}
        if word == "list":
            return {"request_range": {"key": coded(key), "range_end": coded(after(more[0])), "limit": more[1]}}
        return {"request_range": {"key": coded(key)}}

    def result(self, response):
        found = response.get("response_range")
        if found is None:
            return "done"
        names = {lease: name for name, lease in self.leases.items()}
        entries = [
            f"{plain(one['key'])} {plain(one['value'])} {self.revision(one['mod_revision'])} {names.get(one.get('lease'), '-')}"
            for one in found.get("kvs", [])
        ]
        return " ".join([found.get("count", "0"), *entries])


def recorded():
    """All sequences with Debian's etcd's answers, as they are kept for the unit tests."""
    lines = []
    with etcd() as ask:
        for sequence in sequences():
            lines.append("begin")
            answers = Answers(ask)
            for line in sequence:
                lines.append(line)
                answer = answers.answer(line)
                if answer:
                    lines.append(answer)
    return "\n".join(lines) + "\n"
