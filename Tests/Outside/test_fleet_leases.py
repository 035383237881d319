"""After a change of etcd's leader, what lasts for a time doesn't begin anew: with Debian's etcd and its accounts."""

import hashlib
import json
import struct
import time

from fleet import DONE, ENROLL_BY_CODE, GRANTED, LOCKED, STATION_LOCKED, WAIT, WRONG, at_once, left
from process import wait_for
from scenario import RIGHT
from scenario import WRONG as CODES

# A delay, a one-time code and a full count: their keys, and for about how many seconds they were made.
CODE = "/passcode/1/u/" + b"carol".hex() + "/code"
COUNT = "/passcode/1/s/" + hashlib.blake2b(b"CN=ws1", digest_size=32).hexdigest() + "/n"
LASTING = {WAIT: 60, CODE: 720, COUNT: 3_660}
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


def test_what_lasts_goes_on_after_a_change_of_leader(fleet):
    server = fleet.servers[0]
    visitors = [f"visitor{number}" for number in range(12)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:{RIGHT}\n" for name in visitors))
    code = server.invite("carol", "--expires", "12m")
    for name in visitors:
        assert server.verify(CODES[0], name).kind == WRONG
    for wrong in CODES[:3]:
        server.verify(wrong, name="CN=ws2")
    leases = {key: lease_of(fleet, key) for key in LASTING}
    fleet.servers[1].run("seen")
    for key, lease in leases.items():
        note = fleet.etcdctl(0, "get", "--print-value-only", f"/passcode/1/l/{lease}")
        noted, term = (int(line.split("=")[1]) for line in note.split())
        assert LASTING[key] - 15 <= noted <= LASTING[key] + 8 and lease_of(fleet, key) == lease
        fleet.etcdctl(0, "put", f"--lease={lease:x}", f"/passcode/1/l/{lease}", f"left={NOTED}\nterm={term}\n")
    time.sleep(PASSED)
    lead_anew(fleet)
    assert all(left(fleet, key) > LASTING[key] - 15 for key in LASTING), "they have begun anew"
    at_once([lambda server=server: server.run("seen") for server in fleet.servers], 3)
    moved = {key: lease_of(fleet, key) for key in LASTING}
    for key, lease in leases.items():
        assert moved[key] != lease and NOTED - 15 < left(fleet, key) <= NOTED, key
        old = json.loads(fleet.etcdctl(0, "lease", "timetolive", f"{lease:x}", "--write-out=json"))
        assert old["ttl"] > 0, "and isn't revoked"
    assert fleet.servers[2].verify(RIGHT, name="CN=ws2").kind == LOCKED
    assert fleet.servers[2].verify(RIGHT, "bob").kind == STATION_LOCKED
    fleet.servers[0].run("seen")
    assert {key: lease_of(fleet, key) for key in LASTING} == moved, "once is enough"
    assert fleet.servers[1].ask(ENROLL_BY_CODE, "carol", passcode=code, new="8264", name="CN=ws2").kind == DONE


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
