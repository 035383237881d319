"""passcode-verifier, killed at its system calls: the count is right or one too many, and the passcode works again."""

import subprocess
import time

import fleet as fleets
import pytest
import strace
from every_call import points
from fleet import FOLDER, GRANTED, VERIFY, WRONG, at_once, request
from scenario import RIGHT
from scenario import WRONG as CODES
from tally import attack

# What another process can see; to be killed at any other one is the same as at the next of these.
SEEN = {"connect", "sendto", "shutdown", "pwrite64", "fcntl"}
FEW = 15  # at once, since a workstation has 20 wrong ones
BUSY = 20  # seconds: a dead attempt's lease
ACTS = {"wrong": (CODES[0], WRONG), "right": (RIGHT, GRANTED)}


class Run:
    """A verifier under strace, which may kill it; for an account of its own."""

    def __init__(self, server, account, code, *options):
        self.account = account
        trace = FOLDER / f"{account}.trace"
        ours, theirs = fleets.socket.socketpair()
        with ours:
            with theirs:
                command = server.command(*strace.record(trace, "-s", "4096", *options), fleets.VERIFIER)
                process = subprocess.Popen(command, stdin=theirs, cwd="/", stderr=subprocess.DEVNULL)
            ours.sendall(request(VERIFY, account, passcode=code))
            ours.settimeout(30)
            try:
                answer = b"".join(iter(lambda: ours.recv(4096), b""))
            except ConnectionResetError:
                answer = b""
        self.status = process.wait(30)
        self.reply = fleets.decode(answer)
        self.calls = strace.calls(trace)

    def expected(self, act):
        """Which counts of failures are right. The first transaction with a put that succeeded is the charge; a right one's
        second takes it back. One that was sent and not answered may have been carried out or not."""
        counts, carried_out, is_pending = [0, 1, 0 if act == "right" else 1], 0, False
        for call in self.calls:
            if call.name == "sendto" and "request_put" in call.line and call.result:
                is_pending = True
            elif call.name == "recvfrom" and call.result and is_pending:
                carried_out += '"succeeded' in call.line.replace("\\", "")
                is_pending = False
        return {counts[carried_out], counts[carried_out + is_pending]}


def undisturbed(fleet, act):
    code, kind = ACTS[act]
    # The workstation's count and the token of etcd's account are there before, as they are for those that are killed.
    fleet.servers[0].enroll("before", RIGHT)
    fleet.servers[0].verify(CODES[0], "before")
    fleet.servers[0].enroll("whole", RIGHT)
    run = Run(fleet.servers[0], "whole", code)
    assert run.reply.kind == kind and fleet.servers[1].failures("whole") == (act == "wrong")
    # Before it reads the request, it has done nothing.
    return points(run, "recvfrom")


def killed(fleet, act, chosen):
    """The accounts of those that were killed."""
    code, kind = ACTS[act]
    accounts = [f"{act}{number}" for number in range(len(chosen))]
    at_once([lambda name=name: fleet.servers[1].enroll(name, RIGHT) for name in accounts], 2)

    def work(number):
        call, when, _ = chosen[number]
        traced = ",".join({call, "sendto", "recvfrom"})
        server = fleet.servers[number % 3]
        run = Run(server, accounts[number], code, "-e", f"trace={traced}", "-e", f"inject={call}:signal=KILL:when={when}")
        if run.status != -9:
            return None
        where, failures = (act, call, when), fleet.servers[1].failures(run.account)
        row.run()
        row.breach("refund", (where, failures, run.expected(act)), failures < min(run.expected(act)))
        assert failures in run.expected(act), where
        assert run.reply is None or run.reply.kind == kind, (where, run.reply)
        return run.account

    with attack(f"a verifier killed at its system calls: {act}") as row:
        hit = []
        for start in range(0, len(chosen), FEW):
            numbers = range(start, min(start + FEW, len(chosen)))
            hit += [name for name in at_once([lambda number=number: work(number) for number in numbers], 3) if name]
            fleet.etcdctl(0, "del", "--prefix", "/passcode/1/s/")
    # What it waits for may move a call; all but a few must have been hit.
    assert len(hit) >= len(chosen) * 0.9 and len(hit) > 15, (len(hit), len(chosen))
    return hit


def works_again(fleet, accounts):
    replies = at_once([lambda name=name: fleet.servers[2].verify(RIGHT, name) for name in accounts], 4)
    assert [reply.kind for reply in replies] == [GRANTED] * len(accounts)


@pytest.mark.parametrize("act", ACTS)
def test_killed_at_each_call_that_others_see(fleet, act):
    chosen = [point for point in undisturbed(fleet, act) if point[0] in SEEN]
    accounts = killed(fleet, act, chosen)
    for name in accounts:
        fleet.etcdctl(0, "del", f"/passcode/1/u/{name.encode().hex()}/busy")  # as its lease would
    works_again(fleet, accounts)


@pytest.mark.on_request
@pytest.mark.parametrize("act", ACTS)
def test_killed_at_every_system_call(fleet, act):
    accounts = killed(fleet, act, undisturbed(fleet, act))
    time.sleep(BUSY + 1)
    works_again(fleet, accounts)
