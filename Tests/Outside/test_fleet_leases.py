"""After a change of etcd's leader, what lasts for a time doesn't begin anew: with Debian's etcd and its accounts."""

import json
import time

from fleet import GRANTED, LOCKED, VERIFY, WAIT, at_once, left
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


def test_a_right_passcode_leaves_no_lease_of_an_hour(fleet):
    """A crowd of them would leave as many, for an hour."""

    def hours():
        leases = json.loads(fleet.etcdctl(0, "lease", "list", "--write-out=json"))["leases"]
        told = [fleet.etcdctl(0, "lease", "timetolive", f"{lease['id']:x}", "--write-out=json") for lease in leases]
        return [json.loads(text) for text in told if json.loads(text)["granted-ttl"] >= 3_600]

    before = len(hours())
    assert [server.verify(RIGHT).kind for server in fleet.servers] == [GRANTED] * 3
    assert len(hours()) == before
    fleet.servers[0].verify(CODES[0])
    # The workstation's count, and the wrong passcode itself.
    assert len(hours()) == before + 2
