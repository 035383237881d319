"""A fleet in which things go wrong at random: members killed, stopped and cut off, verifiers killed, links cut. See
Tests/Support/history.py; histories.py has many."""

import copy
import random

import judgement
import pytest
from fleet import GRANTED, STATUS_REPLY, WRONG, WRONG_AND_LOCKED
from helper import Reply
from history import Asked, History, Written, play
from scenario import RIGHT
from tally import BREACHES, Row, attack


def test_a_history_with_faults(apart, capsys):
    """A busy machine answers few in one: then there are more."""
    answered, histories = 0, 0
    while answered <= 20:
        histories += 1
        assert histories <= 5, answered
        seed = random.randrange(10**9)
        history = play(apart, seed, 8)
        with capsys.disabled():
            print(f"\n  seed {seed}: {judgement.summary(history)}")
        with attack("a fleet's history with faults") as row:
            row.run()
            judgement.judge(history, row, seed)
        answered += sum(one.kind is not None for one in history.asked)


# What the judgement would find. Nothing is wrong with this one:
KEY = "/passcode/1/u/" + b"alice".hex()


def record(revision, failures):
    return Written(revision, KEY, f"failures={failures}\n".encode())


SOUND = History(
    asked=[
        Asked("alice", "1000", "CN=a", 1.0, 1.1, WRONG, 1),
        Asked("alice", "1001", "CN=a", 2.0, 2.1, WRONG_AND_LOCKED, 2),
        Asked("alice", "1002", "CN=a", 11.0, 11.1, WRONG_AND_LOCKED, 3),
        Asked("alice", RIGHT, "CN=a", 21.0, 21.1, GRANTED, 3),
        Asked("alice", "1003", "CN=a", 22.0, 22.1),
    ],
    unlocked=[],
    written=[
        record(2, 1), record(3, 2), Written(3, KEY + "/wait", b""), Written(4, KEY + "/wait", None), record(5, 3),
        Written(5, KEY + "/wait", b""), Written(6, KEY + "/wait", None), record(7, 4), record(8, 0), record(9, 1),
    ],  # fmt: skip
    statuses={"alice": Reply(STATUS_REPLY, (0, 1), b"")},
)  # fmt: skip


def breaches(history):
    row = Row("")
    judgement.judge(history, row, "")
    return {kind for kind, times in row.breaches.items() if times}


def test_nothing_is_wrong_with_a_sound_history():
    assert breaches(SOUND) == set()


def forged(change):
    history = copy.deepcopy(SOUND)
    change(history)
    return history


FORGERIES = {
    "a right one is called wrong": ("refused", lambda past: past.asked.append(Asked("alice", RIGHT, "CN=b", 30, 31, WRONG, 1))),
    "a wrong one is granted": ("beyond", lambda past: past.asked.append(Asked("alice", "1004", "CN=b", 30, 31, GRANTED))),
    "verified without a charge": ("beyond", lambda past: past.asked.append(Asked("alice", "1004", "CN=b", 30, 31, WRONG, 2))),
    "two of one charge": ("beyond", lambda past: past.asked.append(Asked("alice", "1004", "CN=b", 22, 31, WRONG, 3))),
    "charged while locked": ("beyond", lambda past: past.written.pop(3)),
    "verified while locked": ("beyond", lambda past: setattr(past.asked[2], "end", 9.9)),
    "granted while locked": ("beyond", lambda past: setattr(past.asked[3], "end", 18.9)),
    "a refund": ("refund", lambda past: past.written.append(record(10, 0))),
    "a failure that is lost": ("beyond", lambda past: past.written.insert(4, record(5, 1))),
    "another number in the end": ("refund", lambda past: past.statuses.update(alice=Reply(STATUS_REPLY, (0, 0), b""))),
    "no record in the end": ("lost", lambda past: past.statuses.update(alice=Reply(8, (0, 0), b""))),
    "no answer in the end": ("unreadable", lambda past: past.statuses.update(alice=None)),
    "a workstation's twenty-first": (
        "beyond", lambda past: (past.asked.extend(Asked("bob", str(n), "CN=b", 1, 2, WRONG, 1) for n in range(21))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind, change", FORGERIES.values(), ids=FORGERIES)
def test_the_judgement_finds_what_is_wrong(kind, change):
    assert kind in BREACHES
    assert kind in breaches(forged(change))
