"""Two operations of the built programs at once, along every schedule with so many preemptions: what must be true in each state is in
together.py, what a schedule is in interleave.py. With faults, and deeper: interleavings.py.
"""

import os
import signal

import pytest

import operations
import together
from operations import OPERATIONS, PAIRS
from saved import FOLDERS
from tally import attack
from traced import World

pytestmark = [pytest.mark.mounts, pytest.mark.privileges]
# Preempted twice even in the short form: what guesses, resets, and takes back.
DEEP = [
    ("one try left", ("wrong", "wrong too")),
    ("one try left", ("right", "wrong")),
    ("one try left", ("disable", "right")),
    ("one try left", ("pause", "right")),
    ("paused", ("resume", "right")),
    ("for one login", ("right", "right")),
    ("two people", ("right", "bob")),
]


@pytest.mark.parametrize("scene", PAIRS)
def test_every_interleaving_of_two_operations(stage, scene):
    with attack("every interleaving of two operations") as row:
        for pair in PAIRS[scene]:
            row.run(stage.judge(scene, pair, 2 if (scene, pair) in DEEP else 1).schedules)


# MARK: Planted


def of(name, actor=None, path=None, then=0):
    """This call isn't made, and says that it was."""

    def lie(monitor, current, call):
        if call.name != name or actor not in (None, current) or path and not call.path.endswith(path):
            return None
        return then(call) if callable(then) else then

    return lie


def is_written(call):
    return call.arguments[2]


def settled(monitor, current, call):
    """Only the charge is written, not what comes after the hash."""
    if call.name == "pwrite64" and monitor.ghosts[current].charged and call.path in monitor.scene.paths:
        return is_written(call)
    return None


def scrawl(monitor, current, call):
    """A write goes over both copies."""
    if call.name == "pwrite64" and call.path in monitor.scene.paths:
        with open(call.path, "r+b") as file:
            file.write(b"x" * 8192)
        return is_written(call)
    return None


def crash(monitor, current, call):
    if call.name == "flock":
        os.kill(call.pid, signal.SIGSEGV)


class StoppedClock(World):
    """No sleep moves it."""

    now = property(lambda self: 0, lambda self, value: None)


CHARGES = of("pwrite64", path="/20001", then=is_written)
FIRST_S = of("pwrite64", 0, "/20001", then=is_written)
TWO = ("one try left", ("wrong", "wrong too"))
# The rule, where and by whom it is broken, how, and after how many preemptions that is found.
PLANTED = {
    together.CHARGED: (*TWO, CHARGES, 0),
    together.DURABLE: (*TWO, of("fdatasync"), 0),
    together.ONWARDS: ("one try left", ("disable", "right"), of("flock", 0), 1),
    together.READABLE: (*TWO, scrawl, 0),
    together.OPENS: ("one try left", ("rotate", "right"), FIRST_S, 0),
    together.LOST: ("one try left", ("enrol", "right"), FIRST_S, 0),
    together.MOST_HASHES: ("two people", ("right", "bob"), of("fcntl", path="places"), 1),
    together.ONE_LOGIN: ("for one login", ("right", "right"), settled, 0),
    together.REVOKED: ("one try left", ("disable", "right"), FIRST_S, 0),
    together.CRASHES: (*TWO, crash, 0),
}
# The rule, what both are believed to do, what they do, and what else is planted.
BELIEVED = {
    together.REFUSED: ("two people", "right", "wrong", None),
    together.REFUND: ("two people", "wrong", "right", None),
    together.GRANTED: ("two people", "wrong", "right", settled),
    together.DISABLED: ("locked", "unlock", "disable", None),
    together.PAUSED: ("locked", "unlock", "pause", None),
}


def broken(stage, rule, *arguments, **how):
    with pytest.raises(AssertionError) as found:
        stage.explore(*arguments, **how)
    assert found.value.args[0] == rule, found.value.args


@pytest.mark.parametrize("rule", PLANTED)
def test_what_is_planted_is_found(stage, rule):
    scene, pair, lie, preemptions = PLANTED[rule]
    broken(stage, rule, scene, pair, preemptions, lie=lie)


@pytest.mark.parametrize("rule", BELIEVED)
def test_what_is_believed_wrongly_is_found(stage, monkeypatch, rule):
    scene, believed, done, lie = BELIEVED[rule]
    plain = operations.Operation.command
    monkeypatch.setattr(operations.Operation, "command", lambda self, bed: plain(OPERATIONS[done], bed))
    broken(stage, rule, scene, (believed, believed), 0, lie=lie)


def test_a_wait_without_an_end_is_found(stage):
    how = {"faults": 1, "kinds": ["stop"], "world": StoppedClock(FOLDERS)}
    broken(stage, together.WAITS, *TWO, 0, **how)


def test_a_guess_too_many_is_found(stage):
    stage.bed.configure(lockout="9:1h")
    broken(stage, together.BUDGETED, *TWO, 0)


def test_each_rule_was_broken_by_something_planted():
    rules = {value for name, value in vars(together).items() if name.isupper() and isinstance(value, str) and " " in value}
    assert rules == {*PLANTED, *BELIEVED, together.WAITS, together.BUDGETED}
