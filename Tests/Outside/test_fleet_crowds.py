"""Crowds at two workstations of a fleet, and what a login there takes beside one of the machine's own."""

import random

import bench
import host
import pytest
from fleet import at_once
from scenario import RIGHT
from ward import PLACE, SOCKETS


def crowds(machine, halves, **how):
    """A crowd of logins at each workstation, both at the same time: each has its own socket in a mount namespace."""
    jobs = []
    for name, logins in zip(("ws1", "ws2"), halves, strict=True):
        script = f'mount --bind {SOCKETS / name} {PLACE} && exec "$@"'
        before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        jobs.append(lambda logins=logins, before=before: host.crowd(machine, logins, before=before, **how))
    return at_once(jobs, 2)


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.on_request)])
def test_prompts_that_are_open_at_two_workstations_have_one_budget(machine, ward, count):
    """All are open before the first is answered. The right one comes last, and is refused."""
    guesses = [f"{number:04}" for number in random.sample(range(1000, 10000), count - 1)]
    halves = [[("alice", code, 0) for code in guesses[half::2]] for half in (0, 1)]
    halves[1].append(("alice", RIGHT, 1))
    first, second = crowds(machine, halves)
    logins = first.logins + second.logins
    assert [login.prompts for login in logins] == [1] * count
    assert [login.result for login in logins] == ["AUTH_ERR"] * count
    assert ward.fleet.servers[1].failures() == 3
    wrong = sorted(login.text for login in logins if login.text.startswith("Wrong"))
    assert wrong[-2:] == ["Wrong passcode, 1 attempt left.", "Wrong passcode, 2 attempts left."] and len(wrong) == 3


def test_right_ones_at_two_workstations_all_pass(machine, ward):
    for crowd in crowds(machine, [[("alice", RIGHT, 0)] * 30] * 2):
        assert crowd.count("SUCCESS") == 30
    assert ward.fleet.servers[1].failures() == 0


@pytest.mark.alone
def test_a_login_by_a_fleet_takes_little_longer_than_one_of_the_machine_s_own(machine, ward):
    """At the default cost of hashing; three members of etcd and both ends of stunnel on this machine."""
    machine.configure(opslimit=3, memlimit="64M")
    machine.enroll("bob", RIGHT)
    # Theirs are the fleet's; and bob's uid is the higher one.
    assert bench.uid("alice") < bench.uid("bob")
    ward.fleet.servers[0].enroll("alice", RIGHT)
    own, fleet = (bench.login(machine, name, RIGHT, "SUCCESS") for name in ("bob", "alice"))
    own(), fleet()
    own.inner.clear(), fleet.inner.clear()
    bench.interleaved(21, own, fleet)
    local, remote = bench.quartile(own.inner), bench.quartile(fleet.inner)
    print(f"by the fleet {remote * 1000:.1f} ms, the machine's own {local * 1000:.1f} ms: {remote / local:.3f}")
    assert remote / local <= 1.25
