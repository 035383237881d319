"""Crowds at two workstations of a fleet."""

import collections
import random
import re

import pytest
from scenario import RIGHT
from ward import crowds


def causes(machine):
    """Why passcodes were unavailable, and how often."""
    return collections.Counter(re.findall('cause="(.*)"', "\n".join(line.message for line in machine.log())))


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.on_request)])
def test_prompts_at_two_workstations_have_one_budget(machine, ward, count):
    """At each of them all are open before the first is answered; those that the other one has locked by then are refused
    unasked. The right one comes last, and is refused."""
    guesses = [f"{number:04}" for number in random.sample(range(1000, 10000), count - 1)]
    halves = [[("alice", code, 0) for code in guesses[half::2]] for half in (0, 1)]
    halves[1].append(("alice", RIGHT, 1))
    first, second = crowds(machine, halves)
    logins = first.logins + second.logins
    assert collections.Counter(login.result for login in logins) == {"AUTH_ERR": count}, causes(machine)
    assert ward.fleet.servers[1].failures() == 3
    wrong = sorted(login.text for login in logins if login.text.startswith("Wrong"))
    # The third one is told of the lock, as are those after it.
    assert wrong == ["Wrong passcode, 1 attempt left.", "Wrong passcode, 2 attempts left."]


def test_right_ones_at_two_workstations_all_pass(machine, ward):
    for crowd in crowds(machine, [[("alice", RIGHT, 0)] * 30] * 2):
        assert crowd.count("SUCCESS") == 30
    assert ward.fleet.servers[1].failures() == 0
