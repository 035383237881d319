"""Crowds at two workstations of a fleet."""

import random

import host
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


def test_prompts_at_two_workstations_have_one_budget(machine, ward):
    """At each of them all are open before the first is answered; those that the other one has locked by then are refused
    unasked. The right one comes last, and is refused."""
    count = 40
    guesses = [f"{number:04}" for number in random.sample(range(1000, 10000), count - 1)]
    halves = [[("alice", code, 0) for code in guesses[half::2]] for half in (0, 1)]
    halves[1].append(("alice", RIGHT, 1))
    first, second = crowds(machine, halves)
    logins = first.logins + second.logins
    assert [login.result for login in logins] == ["AUTH_ERR"] * count
    assert ward.fleet.servers[1].failures() == 3
    wrong = sorted(login.text for login in logins if login.text.startswith("Wrong"))
    # The third one is told of the lock, as are those after it.
    assert wrong == ["Wrong passcode, 1 attempt left.", "Wrong passcode, 2 attempts left."]


def test_right_ones_at_two_workstations_all_pass(machine, ward):
    for crowd in crowds(machine, [[("alice", RIGHT, 0)] * 30] * 2):
        assert crowd.count("SUCCESS") == 30
    assert ward.fleet.servers[1].failures() == 0
