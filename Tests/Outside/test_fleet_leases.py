"""After a change of etcd's leader, what lasts for a time doesn't begin anew: with Debian's etcd and its accounts."""

import json
import struct
import time

from fleet import GRANTED, LOCKED, VERIFY, WAIT, WRONG, at_once, left
from process import wait_for
from scenario import RIGHT
from scenario import WRONG as CODES

PASSED = 12  # seconds before another one leads
NOTED = 40  # what a timer would have noted by and by


def lease_of(fleet, key):
    [pair] = json.loads(fleet.etcdctl(0, "get", key, "--write-out=json"))["kvs"]
    return pair["lease"]


def lead_anew(fleet):
    before = fleet.leader()
    other = (before + 1) % 3
    [status] = json.loads(fleet.etcdctl(other, "endpoint", "status", "--write-out=json"))
    fleet.etcdctl(before, "move-leader", f"{status['Status']['header']['member_id']:x}")


def test_a_delay_goes_on_after_a_change_of_leader(fleet):
    for code in CODES[:3]:
        fleet.servers[0].verify(code)
    lease = lease_of(fleet, WAIT)
    fleet.servers[1].run("seen")
    note = fleet.etcdctl(0, "get", "--print-value-only", f"/passcode/1/l/{lease}")
    noted, term = (int(line.split("=")[1]) for line in note.split())
    assert 55 <= noted <= 68 and lease_of(fleet, WAIT) == lease
    fleet.etcdctl(0, "put", f"--lease={lease:x}", f"/passcode/1/l/{lease}", f"left={NOTED}\nterm={term}\n")
    time.sleep(PASSED)
    lead_anew(fleet)
    assert left(fleet, WAIT) > noted - PASSED, "it has begun anew"
    at_once([lambda server=server: server.run("seen") for server in fleet.servers], 3)
    moved = lease_of(fleet, WAIT)
    assert moved != lease and NOTED - 15 < left(fleet, WAIT) <= NOTED
    old = json.loads(fleet.etcdctl(0, "lease", "timetolive", f"{lease:x}", "--write-out=json"))
    assert old["ttl"] > 0, "and isn't revoked"
    reply = fleet.servers[2].ask(VERIFY, "alice", passcode=RIGHT)
    assert reply.kind == LOCKED
    fleet.servers[0].run("seen")
    assert lease_of(fleet, WAIT) == moved, "once is enough"


def end_spares(server):
    """Makes the spare leases a minute older, and does what the timer does."""
    file = server.state / "leases"
    if file.exists():
        content = file.read_bytes()
        rows = [(max(0, since - 61_000), lease) for since, lease in struct.iter_unpack("<QQ", content[36:])]
        file.write_bytes(content[:36] + b"".join(struct.pack("<QQ", *row) for row in rows))
    server.run("seen")


def test_right_passcodes_leave_one_lease_for_the_next_one(fleet):
    """A crowd of them would leave as many, for an hour. The timer ends that one, too, where nobody has used it."""

    def hours():
        leases = json.loads(fleet.etcdctl(0, "lease", "list", "--write-out=json"))["leases"]
        told = [fleet.etcdctl(0, "lease", "timetolive", f"{lease['id']:x}", "--write-out=json") for lease in leases]
        return [json.loads(text) for text in told if json.loads(text)["granted-ttl"] >= 3_600]

    for server in fleet.servers:
        end_spares(server)
    before, server = len(hours()), fleet.servers[0]
    assert [server.verify(RIGHT).kind for _ in range(4)] == [GRANTED] * 4
    wait_for(lambda: len(hours()) == before + 1)
    assert server.verify(CODES[0]).kind == WRONG
    # The workstation's count has that one now; the other is the wrong passcode's own.
    wait_for(lambda: len(hours()) == before + 2)
    assert server.verify(RIGHT, name="CN=ws2").kind == GRANTED
    wait_for(lambda: len(hours()) == before + 3)
    end_spares(server)
    assert len(hours()) == before + 2
