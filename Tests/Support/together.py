"""Two operations on a passcode at once: what must be true in each state between their calls, and of each run.

The Monitor knows of each credential which passcode it is for, and of each operation which passcodes it was given.
"""

import collections
import dataclasses
import fcntl
import os
import signal

import host
import traced
from interleave import KILL
from tool import LOCKED, NOT_ENROLLED, WRONG_CODE

BUDGET = 3  # wrong passcodes, by the configured lockout
LONGEST = 260 * 10**9  # a wait for a record, and one for a slot

# What must be true in each state, and of each run.
BUDGETED = "no more wrong passcodes are verified than the budget has"
CHARGED = "a guess is charged before it is hashed"
DURABLE = "a charge is durable before the hash"
GRANTED = "granted only after a match of a charged attempt"
REFUND = "a charge is undone by its own grant only"
LOST = "no enrolment is lost"
READABLE = "each record can be read"
OPENS = "a key on the device opens each passcode"
REFUSED = "a right passcode is refused as unavailable only"
MOST_HASHES = "no more hash at once than there are slots"
WAITS = "every wait ends"
REVOKED = "what was taken back lets nobody in"
ONE_LOGIN = "a passcode for one login opens one"
ONWARDS = "a record goes on, never back"
DISABLED = "a disabled passcode stays disabled"
PAUSED = "a pause lasts, and from its end on nothing that began before it is granted"
CRASHES = "nothing crashes"


class Breach(AssertionError):
    """(the rule, details)"""


@dataclasses.dataclass
class Ghost:
    """What the monitor knows of one of the two."""

    hashing: int = 0  # the process that does
    holder: int = 0  # the process that has the record's lock
    charged: bool = False  # since it locked the record
    matched: bool = False  # since then it hashed a passcode that was right, charged
    matched_at: int = -1  # the last such step
    uncharged_hashes: int = 0
    refusable: bool = False  # a right passcode may be refused: it was no longer one, locked, disabled
    gone: bool = False  # there was a moment without a passcode


def runs(process):
    """It may have been ended by the other one."""
    return process != 0 and os.path.exists(f"/proc/{process}") and traced.stat(process)[0] not in "XZ"


class Monitor:
    def __init__(self, device, operations, scene, lie=None):
        self.device, self.operations, self.scene, self.plant = device, operations, scene, lie
        self.known = dict(scene.known)  # of an opened credential: its passcode
        self.records = {user: device.record(number) for user, number in scene.numbers.items()}
        self.begun = dict(self.records)
        self.guesses = {user: saved.failures for user, saved in self.records.items()}  # verified wrong ones since a reset
        self.grants = collections.Counter()
        self.unsynced = set()
        self.ghosts = (Ghost(), Ghost())
        self.stopped = False
        self.revoked_at = {}  # when a command said that a passcode is taken back, or its mark was set
        self.paused_at = {}  # when a command said that a passcode is paused
        self.taken_back = set()  # whose passcode, as a command has said
        self.steps = 0
        self.outcome = self.lied = None
        self.look()

    def lie(self, current, call):
        self.lied = self.plant(self, current, call) if self.plant else None
        return self.lied

    def breach(self, rule, *details):
        raise Breach(rule, *details)

    # MARK: Around each call

    def before(self, current, call, fault):
        ghost, operation = self.ghosts[current], self.operations[current]
        ghost.hashing = call.pid if call.name == "getsid" and fault != KILL else 0
        if not ghost.hashing:
            return
        if sum(runs(one.hashing) for one in self.ghosts) > (2 if self.stopped else 1):
            self.breach(MOST_HASHES, operation.name)
        if operation.kind in ("login", "change"):
            self.hash_begins(ghost, operation)

    def hash_begins(self, ghost, operation):
        saved = self.records[operation.user]
        if not ghost.charged or saved.failures <= self.guesses[operation.user]:
            ghost.uncharged_hashes += 1
            # A change hashes its new passcode, too.
            if operation.kind == "login" or ghost.uncharged_hashes > 1:
                self.breach(CHARGED, operation.name)
            return
        if self.scene.path(operation.user) in self.unsynced:
            self.breach(DURABLE, operation.name)
        if self.known.get(saved.plain) == operation.code:
            ghost.matched, ghost.matched_at = True, self.steps
            return
        self.guesses[operation.user] += 1
        if self.guesses[operation.user] > BUDGET:
            self.breach(BUDGETED, operation.name)

    def after(self, step):
        self.steps += 1
        ghost, operation = self.ghosts[step.actor], self.operations[step.actor]
        name, path = step.call.name, step.call.path
        is_done = step.result is not None and step.result >= 0 and not step.fault
        if name == "flock" and is_done and path in self.scene.paths:
            ghost.holder = 0 if step.call.arguments[1] & fcntl.LOCK_UN else step.call.pid
            ghost.charged = ghost.matched = False
        if name == "pwrite64" and is_done and path in self.scene.paths:
            self.unsynced.add(path)
        if name in ("fdatasync", "fsync") and is_done and self.lied is None:
            self.unsynced.discard(path)
        if step.result is None:
            ghost.hashing = ghost.holder = 0
        if name in traced.CHANGES or step.result is None:
            self.changed(ghost, operation)
        self.look()

    def over(self, current, status):
        """Its program has ended."""
        operation = self.operations[current]
        if operation.kind == "pause" and status == 0:
            self.paused_at.setdefault(operation.user, self.steps)
            if runs(self.ghosts[1 - current].holder) and self.operations[1 - current].kind == "login":
                self.breach(PAUSED, operation.name, "said to be done while an attempt holds the record")
        if operation.kind in ("disable", "remove") and status == 0:
            self.revoked_at.setdefault(operation.user, self.steps)
            self.taken_back.add(operation.user)
            if runs(self.ghosts[1 - current].holder):
                self.breach(REVOKED, operation.name, "said to be done while another one holds the record")

    def look(self):
        """What is true of this state and lets a right passcode be refused."""
        for ghost, operation in zip(self.ghosts, self.operations, strict=True):
            saved = self.records.get(operation.user)
            if saved is None:
                continue  # not about one passcode
            if self.known.get(saved.plain) != operation.code or saved.failures >= BUDGET:
                ghost.refusable = True
            if self.marked(operation.user):
                self.revoked_at.setdefault(operation.user, self.steps)
                ghost.refusable = True
            if saved.disabled or saved.paused or saved.must_change != "no":
                ghost.refusable = True
            if saved.state != "enrolled" or saved.name != operation.user or operation.user in self.scene.deleted:
                ghost.gone = True

    def marked(self, user):
        try:
            return os.stat(self.scene.path(user)).st_mode & 0o1100 != 0
        except FileNotFoundError:
            return False

    # MARK: Each change of a record

    def changed(self, ghost, operation):
        for user, number in self.scene.numbers.items():
            old, new = self.records[user], self.device.record(number)
            if new is None:
                self.breach(READABLE, operation.name)
            if new.plain is None:
                self.breach(OPENS, operation.name)
            if new != old:
                self.records[user] = new
                self.judge(user, ghost, operation, old, new)

    def judge(self, user, ghost, operation, old, new):
        kind = operation.kind
        if old.state != "none" and new.generation <= old.generation:
            self.breach(ONWARDS, operation.name, old, new)
        if new.failures > old.failures:
            ghost.charged = True
            if kind not in ("login", "change") or user in self.taken_back:
                self.breach(REVOKED if user in self.taken_back else CHARGED, operation.name)
        if new.failures < old.failures:
            self.reset(user, ghost, operation, old, new)
        if new.plain != old.plain:
            self.replaced(operation, new)
        if new.disabled != old.disabled and kind not in ("disable", "enable", "deleted"):
            self.breach(DISABLED, operation.name)
        if new.paused != old.paused and kind not in (("pause",) if new.paused else ("resume", "enroll", "remove", "deleted")):
            self.breach(PAUSED, operation.name)
        if old.paused and new.failures > old.failures:
            self.breach(PAUSED, operation.name, "charged")

    def reset(self, user, ghost, operation, old, new):
        kind = operation.kind
        is_granted = ghost.charged and ghost.matched and kind in ("login", "change")
        is_set = kind == "change" and new.plain != old.plain
        if not is_granted and not is_set and kind not in ("enroll", "unlock", "remove", "deleted"):
            self.breach(REFUND, operation.name, old.failures, new.failures)
        self.guesses[user] = new.failures

    def replaced(self, operation, new):
        if new.state != "enrolled":
            if operation.kind not in ("remove", "deleted"):
                self.breach(LOST, operation.name)
        elif operation.kind not in ("enroll", "change"):
            self.breach(LOST, operation.name, "another passcode")
        else:
            self.known[new.plain] = operation.new

    # MARK: The end

    def end(self, run):
        for actor in run.actors:
            if actor.next or actor.world.now > LONGEST:
                self.breach(WAITS, actor.world.now)
        answers = [self.answer(number, actor) for number, actor in enumerate(run.actors)]
        self.keep_promises(answers)
        self.outcome = (*answers, *(self.final(user) for user in self.records))

    def final(self, user):
        saved = self.records[user]
        code = self.known.get(saved.plain, "")
        return (saved.name, saved.state, code, saved.failures, saved.disabled, saved.must_change, self.marked(user), saved.paused)

    def answer(self, number, actor):
        operation, ghost = self.operations[number], self.ghosts[number]
        said = actor.said()
        if actor.status == -signal.SIGKILL:
            return "KILLED"
        if actor.status < 0:
            self.breach(CRASHES, operation.name, actor.status)
        answer = host.named(said)[0] if operation.kind == "login" else actor.status
        if answer == "SUCCESS":
            if ghost.matched_at < 0:
                self.breach(GRANTED, operation.name)
            self.grants[operation.user] += 1
        is_right = operation.code in self.scene.known.values()
        if is_right and answer in ("AUTH_ERR", WRONG_CODE, LOCKED) and not ghost.refusable:
            self.breach(REFUSED, operation.name, answer)
        if is_right and answer in ("USER_UNKNOWN", NOT_ENROLLED) and not ghost.gone:
            self.breach(REFUSED, operation.name, answer)
        return answer

    def keep_promises(self, answers):
        for number, (operation, answer) in enumerate(zip(self.operations, answers, strict=True)):
            user, saved = operation.user, self.records.get(operation.user)
            if saved is None:
                continue
            other = self.operations[1 - number].kind
            if operation.kind == "login" and answer == "SUCCESS":
                if self.ghosts[number].matched_at > self.revoked_at.get(user, self.steps):
                    self.breach(REVOKED, operation.name, "let in afterwards")
                if self.ghosts[number].matched_at > self.paused_at.get(user, self.steps) and other != "resume":
                    self.breach(PAUSED, operation.name, "let in afterwards")
            if self.begun[user].must_change == "yes" and self.grants[user] > 1 and other == "login":
                self.breach(ONE_LOGIN, operation.name)
            if operation.kind == "disable" and answer == 0 and other not in ("enable", "deleted"):
                if not saved.disabled or self.marked(user):
                    self.breach(REVOKED, operation.name, "not disabled")
            if operation.kind == "pause" and answer == 0 and other not in ("resume", "enroll", "remove", "deleted"):
                if not saved.paused:
                    self.breach(PAUSED, operation.name, "not paused")
            if operation.kind in ("remove", "deleted") and answer == 0 and other not in ("enroll", "change"):
                if saved.state not in ("removed", "none") or self.marked(user):
                    self.breach(REVOKED, operation.name, "not removed")
            if operation.kind in ("enroll", "change") and answer == 0 and other not in ("enroll", "change", "remove", "deleted"):
                if self.known.get(saved.plain) != operation.new:
                    self.breach(LOST, operation.name)
