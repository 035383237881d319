"""Where two operations at once are watched: the states that they begin in, and what may come of them."""

import functools
import pathlib

import traced
from bed import uid
from interleave import Exploration
from machine import STORE
from operations import OPERATIONS, OTHER
from saved import FOLDERS, Device
from scenario import NEW, RIGHT, fail
from together import BUDGET, Monitor

PASSWD = pathlib.Path("/etc/passwd")  # the tests' own


def alice(code=RIGHT, failures=0, *, disabled=False, must_change="no", paused=False):
    return ("alice", "enrolled", code, failures, disabled, must_change, False, paused)


# Refused because of root's mark, before the charge or after it.
PAUSED_MEANWHILE = [
    (0, "AUTH_ERR", alice(failures=number, must_change=change, paused=True))
    for number, change in ((2, "no"), (3, "no"), (0, "yes"), (1, "yes"))
]
# What comes of both at once, and of neither order of the two. In a row, the answers and the record.
BESIDES = {
    # Verified between the proof of the old passcode and the new one, which has no failures.
    ("change", "wrong"): [(0, "AUTH_ERR", alice(NEW))],
    # Another one was set meanwhile.
    ("change", "enrol other"): [(7, 0, alice(OTHER))],
    ("change", "change other"): [(7, 0, alice(OTHER)), (0, 7, alice(NEW))],
    # Paused between the proof of the old one and the new one, which would have ended that; or charged, and then refused
    # because of root's mark.
    ("pause", "change"): [(0, 7, alice(paused=True)), (0, 4, alice(failures=3, paused=True))],
    # Charged, and then refused because of the mark.
    ("change", "disable"): [(4, 0, alice(failures=3, disabled=True))],
    ("remove", "right"): [(0, "AUTH_ERR", ("alice", "removed", "", 0, False, "no", False, False))],
    ("disable", "right"): [(0, "AUTH_ERR", alice(failures=3, disabled=True))],
    ("disable", "right by helper"): [(0, "AUTH_ERR", alice(failures=3, disabled=True))],
    ("pause", "right"): PAUSED_MEANWHILE,
    ("pause", "right by helper"): PAUSED_MEANWHILE,
    ("pause", "wrong"): PAUSED_MEANWHILE,
    ("right", "disable"): [("AUTH_ERR", 0, alice(failures=1, disabled=True, must_change="yes"))],
    # One of them has the lock.
    ("rotate", "rotate"): [(0, 7, alice(failures=2)), (7, 0, alice(failures=2))],
}


class Scene:
    """A state that two operations begin in, as the bed is now; `numbers`: whose records there are, by today's names."""

    def __init__(self, bed, device, known, numbers, deleted=()):
        self.numbers = numbers
        self.paths = {self.path(user) for user in numbers}
        self.known, self.deleted = known, deleted
        self.device, self.bed = device, bed
        self.files = device.snapshot()
        self.passwd = PASSWD.read_text()

    def path(self, user):
        return str(STORE / str(self.numbers[user]))

    def begin(self, names, world, lie=None):
        """Two fresh actors, and what watches them."""
        operations = [OPERATIONS[name] for name in names]
        self.device.restore(self.files)
        PASSWD.write_text(self.passwd)
        world = world.again()
        actors = []
        for operation in operations:
            if operation.kind == "deleted":
                lines = self.passwd.splitlines(keepends=True)
                PASSWD.write_text("".join(line for line in lines if not line.startswith("alice:")))
            actors.append(operation.start(world, self.bed))
        return actors, Monitor(self.device, operations, self, lie)


class Stage:
    """All scenes on one bed: alice's record is as their names say, and bob has a passcode."""

    def __init__(self, bed):
        self.bed, self.device, self.scenes = bed, Device(), {}
        bed.configure(lockout=f"{BUDGET}:1h", max_parallel="1")
        bed.enroll("bob", RIGHT)
        self.keep("nothing")
        bed.enroll("alice", RIGHT)
        self.keep("two people", "alice", "bob")
        fail(bed, BUDGET - 1)
        self.keep("one try left")
        bed.tool("disable", "alice", check=0)
        self.keep("disabled")
        bed.tool("enable", "alice", check=0)
        bed.tool("pause", "alice", "--even-locked-out", check=0)
        self.keep("paused")
        bed.tool("resume", "alice", check=0)
        fail(bed, 1)
        self.keep("locked")
        bed.tool("enroll", "--stdin", "--must-change", "alice", stdin=f"{RIGHT}\n", check=0)
        self.keep("for one login")
        bed.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=0)
        self.keep("deleted", deleted=("alice",))
        plain = PASSWD.read_text()
        PASSWD.write_text(plain.replace("\nalice:", "\nalina:"))
        self.keep("renamed", "alina")
        PASSWD.write_text(plain)
        self.world = traced.World(FOLDERS)

    def keep(self, name, *users, deleted=()):
        numbers = {user: uid(user) for user in users or ("alice",)}
        known = {self.device.record(number).plain: RIGHT for number in numbers.values()}
        self.scenes[name] = Scene(self.bed, self.device, known, numbers, deleted)

    def explore(self, scene, pair, preemptions, faults=0, lie=None, world=None, **how):
        """All schedules of this pair; `how` as for Exploration."""
        begin = functools.partial(self.scenes[scene].begin, pair, world or self.world, lie)
        return Exploration(begin, preemptions, faults, **how).explore()

    def judge(self, scene, pair, preemptions, faults=0, **how):
        """Explores; without faults, what comes of it is what comes of one after the other, or is listed above."""
        serial = self.explore(scene, pair, 0)
        found = self.explore(scene, pair, preemptions, faults, **how)
        known = serial.outcomes | set(BESIDES.get(pair, []))
        assert faults or found.outcomes <= known, (scene, pair, found.outcomes - known)
        assert found.astray == 0, (scene, pair, "a schedule was not the same when it was run again")
        assert found.schedules > 2 and found.steps > 30, (scene, pair)
        return found
