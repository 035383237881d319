"""A workstation that asks a server as often as it can: what a login at another one takes meanwhile."""

import contextlib
import hashlib
import signal
import statistics
import struct
import subprocess
import sys
import time

import bench
import pytest
from acceptor import Acceptor
from fleet import FOLDER, LOOK, request
from scenario import RIGHT
from ward import SOCKETS, at

pytestmark = [pytest.mark.alone, pytest.mark.shipped]
# Four loops, for each of which something computes at any moment, and a login share two processors here: 2.5 times would be
# fair. A login that waits for them, or for a server that gives no sign, takes more.
LOOPS, BAR = 4, 3

LOOP = """if True:
    import socket, sys
    while True:
        with socket.socket(socket.AF_UNIX) as asker:
            asker.connect(sys.argv[1])
            asker.sendall(bytes.fromhex(sys.argv[2])), asker.shutdown(socket.SHUT_WR)
            while asker.recv(4096): pass
"""


@pytest.fixture
def acceptor(ward):
    """The flooded server's, in place of the tests' own listener, which would compute in this process."""
    ward.listeners[0].end()
    made = Acceptor(ward.fleet.servers[0], name="socket")
    made.start()
    yield
    made.end()


@contextlib.contextmanager
def flood(name):
    """From a workstation, about alice's passcode; yields what sends each loop a signal."""
    command = [sys.executable, "-c", LOOP, SOCKETS / name / "verifier.sock", request(LOOK, "alice", name="")[3:].hex()]
    loops = [subprocess.Popen(command) for _ in range(LOOPS)]
    try:
        yield lambda number: [loop.send_signal(number) for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def has_asked(server, times):
    """Sets what the first workstation has asked by now (`FleetTurn`)."""
    digest = hashlib.blake2b(b"CN=ws1", digest_size=32).digest()
    with (server.state / "asked").open("r+b") as file:
        file.seek(8 * int.from_bytes(digest[:2], "little"))
        file.write(struct.pack("<Q", time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 + times * 1_000))


@pytest.mark.usefixtures("acceptor")
@pytest.mark.parametrize("name, asked", [("ws1", 0), ("ws1", 1000), ("ws3", 0)], ids=["listed", "past its limit", "not listed"])
def test_a_flood_from_one_workstation_takes_its_share_of_the_processors_and_no_more(machine, ward, name, asked, capsys):
    """Which are this machine's, for all that both and three members of etcd do. Each login at the other one is granted."""
    server, log = ward.fleet.servers[0], FOLDER / f"{name}.log"
    machine.configure(opslimit=3, memlimit="64M")
    server.enroll("alice", RIGHT)
    at(machine, "ws2")
    login = bench.login(machine, "alice", RIGHT, "SUCCESS")
    login(), login()

    def counts():
        return log.read_text().count(" accepted connection"), sum("too many requests" in line.message for line in machine.log())

    def measure():
        has_asked(server, asked)
        login.inner.clear()
        before = counts()
        for number in [signal.SIGCONT, signal.SIGSTOP] * 11:
            send(number)
            login()
        connections, refused = (now - then for now, then in zip(counts(), before, strict=True))
        beside, calm = login.inner[::2], login.inner[1::2]
        ratio = bench.median_ratio(beside, calm)
        with capsys.disabled():
            print(f"\n  login beside a flood / without: {statistics.median(beside) * 1e3:.0f} ms / {statistics.median(calm) * 1e3:.0f} ms, "
                  f"{ratio:.2f} as the median of the ratios (at most {BAR}), the longest {max(beside) * 1e3:.0f} ms; "
                  f"{connections} connections, {connections / sum(beside):.0f} a second, {refused} were too many")  # fmt: skip
        assert connections > 10 * len(beside) and (refused > connections / 2) == (asked > 0)
        return ratio

    with flood(name) as send:
        assert bench.settled(measure, BAR) <= BAR
