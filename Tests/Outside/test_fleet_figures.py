"""What a fleet costs, with its bars."""

import pathlib
import statistics
import threading
import time

import bench
import host
import pytest
from acceptor import Acceptor
from accounts import accounts_changed
from bed import uid
from fleet import at_once
from scenario import RIGHT
from ward import crowds

pytestmark = [pytest.mark.alone, pytest.mark.shipped]
BAR = 1.25
COST = {"opslimit": 3, "memlimit": "64M"}
# As their packages make them. An account that isn't in /etc/passwd is also looked for by systemd's NSS modules, which
# takes each program another millisecond.
ACCOUNTS = [f"{name}:x:{number}:65534::/nonexistent:/usr/sbin/nologin\n" for name, number in (("etcd", 990), ("stunnel4", 991))]


def load():
    return " ".join(pathlib.Path("/proc/loadavg").read_text().split()[:3])


@pytest.fixture
def acceptors(ward):
    """In place of the tests' own listeners, whose starts take a millisecond longer."""
    for listener in ward.listeners:
        listener.end()
    made = [Acceptor(server, name="socket") for server in ward.fleet.servers]
    for acceptor in made:
        acceptor.start()
    yield
    for acceptor in made:
        acceptor.end()


@pytest.mark.usefixtures("acceptors")
def test_a_login_through_a_healthy_fleet_costs_little_more_than_one_here(machine, ward, capsys):
    """Three members of etcd, stunnel at both ends, loopback, and what systemd starts on a server; alice's passcode is the
    fleet's, bob's this machine's."""
    machine.configure(**COST, verifier_uids=uid("alice"))
    ward.fleet.servers[0].enroll("alice", RIGHT)
    machine.enroll("bob", RIGHT)
    fleets, own = bench.login(machine, "alice", RIGHT, "SUCCESS"), bench.login(machine, "bob", RIGHT, "SUCCESS")

    def measure():
        fleets.inner.clear(), own.inner.clear()
        bench.interleaved(31, fleets, own)
        ratio = bench.median_ratio(fleets.inner, own.inner)
        ours, theirs = statistics.median(fleets.inner), statistics.median(own.inner)
        with capsys.disabled():
            print(f"\n  login through a fleet / the same here: {ours * 1e3:.1f} ms / {theirs * 1e3:.1f} ms, "
                  f"{ratio:.3f} as the median of the ratios (at most {BAR}), load {load()}")  # fmt: skip
        return ratio

    with accounts_changed(lambda old: old + ACCOUNTS):
        bench.interleaved(3, fleets, own)
        # As in test_figures.py: what else goes on disturbs one measurement, a slower program is slower in all of them.
        first = measure()
        assert first <= BAR or statistics.median([first, measure(), measure()]) <= BAR


class Memory:
    """The most that this server's verifiers had for themselves at any moment, in MiB, and how many of them there were."""

    def __init__(self, ward):
        self.ward, self.most, self.processes, self.ended = ward, 0, 0, False
        self.thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self.ended:
            sizes = [size for child in self._children() if (size := private(child.pid))]
            self.most, self.processes = max(self.most, sum(sizes) / 1024), max(self.processes, len(sizes))
            time.sleep(0.3)

    def _children(self):
        return [child for listener in self.ward.listeners for child in listener.children if child.poll() is None]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


def private(process):
    """KiB; 0 where it has ended."""
    try:
        text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


@pytest.mark.on_request
def test_a_storm_is_bounded_by_the_servers_slots(machine, ward, capsys):
    """200 people at two workstations, all at the same moment; the first server has all of them."""
    people = [f"nurse{number}" for number in range(200)]
    lines = [f"{name}:x:{30000 + number}:100::/nonexistent:/bin/sh\n" for number, name in enumerate(people)]
    machine.configure(**COST)
    with accounts_changed(lambda old: old + lines):
        at_once([lambda name=name: ward.fleet.servers[0].enroll(name, RIGHT) for name in people], 4)
        with Memory(ward) as memory:
            halves = crowds(machine, [[(name, RIGHT, 0) for name in people[half::2]] for half in (0, 1)])
        assert [crowd.count("SUCCESS") for crowd in halves] == [100, 100]
        # The first prompts appear while the last ones are still being asked for: from there on it is counted.
        taken = max(login.seconds for crowd in halves for login in crowd.logins)
    slots = 2
    bare = host.bare_hashing(200, slots, 3, 64 << 20)
    with capsys.disabled():
        print(f"\n  200 people: {taken:.1f} s / {bare:.1f} s of bare hashes in {slots} slots = {taken / bare:.2f}; "
              f"{memory.processes} verifiers at once, with {memory.most:.0f} MiB of their own; load {load()}")  # fmt: skip
    # Two hash at once, and after 8 s as many more in overflow slots: 64 MiB each.
    assert memory.most < 4 * 70 + 4 * memory.processes
    assert taken / bare < 2
