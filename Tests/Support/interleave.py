"""Every interleaving of two operations: each schedule is run from the start, and from what happened in it follow the next.

A schedule says which operation begins, and has a decision for some steps; a step is a visible call that is about to be made
(traced.py). Where there is none, the operation goes on, until it ends or sleeps, which is to wait for the other one.

    SWITCH    the other one goes on instead: a preemption
    STOP      the same, and this one doesn't go on before the other one has ended, however long that waits
    KILL      the process is killed before the call
    EIO …     the call isn't made, and fails with that errno

With at most so many preemptions and so many faults (STOP, KILL, errnos) nothing is left out, but for what is the same: if the
call before which an operation was preempted can be swapped with all that the other one did then, a preemption after that call
leads to the same states (Call.touches says what calls are about).
"""

import dataclasses
import errno
import time

from traced import conflict

SWITCH, STOP, KILL = "switch", "stop", "kill"
MOST_STEPS = 6000


@dataclasses.dataclass(frozen=True)
class Step:
    actor: int
    call: object
    result: int  # None: the process ended in it
    fault: str = ""
    slept: bool = False  # after it

    @property
    def failed_lock(self):
        return self.call.name in ("flock", "fcntl") and self.result is not None and self.result < 0


@dataclasses.dataclass(frozen=True)
class Schedule:
    first: int
    decisions: tuple = ()  # (step, decision), in order

    @property
    def preemptions(self):
        return sum(decision == SWITCH for _, decision in self.decisions)

    def __str__(self):
        return f"{'AB'[self.first]} first" + "".join(f", {decision} at {step}" for step, decision in self.decisions)


class Run:
    """One schedule, carried out; `monitor` sees each step and judges."""

    def __init__(self, schedule, actors, monitor):
        self.actors, self.monitor, self.steps = actors, monitor, []
        self.stopped, self.ended = set(), set()
        self.refused = set()  # who didn't get a lock, the last time it tried
        try:
            self.carry_out(list(schedule.decisions), schedule.first)
        finally:
            for actor in actors:
                actor.kill()

    def carry_out(self, decisions, current):
        actors = self.actors
        while any(actor.next for actor in actors) and len(self.steps) < MOST_STEPS:
            current = self.turn(current)
            fault = ""
            while decisions and decisions[0][0] == len(self.steps):
                _, decision = decisions.pop(0)
                if decision == STOP:
                    self.stopped.add(current)
                    self.monitor.stopped = True
                if decision in (SWITCH, STOP):
                    current = 1 - current
                else:
                    fault = decision
            self.step(current, fault)
        self.monitor.end(self)

    def turn(self, current):
        """Whose turn it is if nothing is decided."""
        one, other = self.actors[current], self.actors[1 - current]
        if not one.next:
            self.stopped.clear()
            return 1 - current
        waits = one.sleeping and current in self.refused and other.next and 1 - current not in self.stopped
        return 1 - current if waits else current

    def step(self, current, decision):
        actor = self.actors[current]
        call = actor.next
        self.monitor.before(current, call, decision)
        if decision == KILL:
            actor.kill(call.pid)
            result = None
        elif decision:
            result = actor.step(-getattr(errno, decision))
        else:
            result = actor.step(self.monitor.lie(current, call))
        self.steps.append(Step(current, call, result, decision, actor.sleeping))
        self.monitor.after(self.steps[-1])
        if self.steps[-1].failed_lock:
            self.refused.add(current)
        elif call.name in ("flock", "fcntl"):
            self.refused.discard(current)
        for number, one in enumerate(self.actors):
            if not one.next and number not in self.ended:
                self.ended.add(number)
                self.monitor.over(number, one.status)

    def path(self):
        """What tells two runs apart."""
        return [(step.actor, step.call.name, step.call.path) for step in self.steps]

    def can_switch(self, step):
        """Whether the other one could go on instead at this step."""
        current = self.steps[step].actor
        return any(later.actor != current for later in self.steps[step:])

    def segment(self, step):
        """What the one that goes on at this step does before the other one goes on."""
        current, calls = self.steps[step].actor, []
        for later in self.steps[step:]:
            if later.actor != current:
                break
            calls.append(later)
        return calls


def same(step, segment):
    """Whether this step could as well come before the segment as after it."""
    if all(done.failed_lock or not any(changes for *_, changes in done.call.touches) for done in segment):
        # It looked, and didn't get a lock: that matters where the step gives the lock back.
        locks = {done.call.path for done in segment if done.failed_lock}
        if segment[-1].slept and locks and step.call.name in ("flock", "fcntl"):
            return step.call.path not in locks
        if segment[-1].slept and locks:
            return True
    return not any(conflict(step.call, done.call) for done in segment)


class Exploration:
    """All schedules with so many preemptions and faults. `begin()` makes two fresh actors and their monitor."""

    def __init__(self, begin, preemptions=2, faults=0, kinds=(), until=None):
        self.begin, self.preemptions, self.faults, self.kinds = begin, preemptions, faults, kinds
        self.until = until  # what time.monotonic says when the rest is left out
        self.is_complete = True
        self.schedules = self.steps = self.astray = 0
        self.outcomes = set()

    def explore(self):
        for first in (0, 1):
            self.visit(Schedule(first))
        return self

    def visit(self, schedule, parent=None):
        if self.until and time.monotonic() > self.until:
            self.is_complete = False
            return None
        last, decision = schedule.decisions[-1] if schedule.decisions else (-1, "")
        try:
            run = Run(schedule, *self.begin())
        except AssertionError as breach:
            raise AssertionError(*breach.args, str(schedule)) from breach
        self.schedules += 1
        self.steps += len(run.steps)
        self.outcomes.add(run.monitor.outcome)
        if parent and run.path()[:last] != parent.path()[:last]:
            self.astray += 1
        if schedule.preemptions < self.preemptions:
            self.preempt(schedule, run, last + 1)
        if len(schedule.decisions) - schedule.preemptions < self.faults:
            for step in range(last if decision == SWITCH else last + 1, len(run.steps)):
                self.fail(schedule, run, step)
        return run

    def preempt(self, schedule, run, first):
        segment = None  # of the last one that was run, with which all steps since could be swapped
        for step in range(first, len(run.steps)):
            if not run.can_switch(step):
                continue
            before = run.steps[step - 1] if step else None
            if before and before.actor != run.steps[step].actor:
                segment = None  # it is the other one's turn anyway
                if before.slept:
                    continue  # it would look once more at what hasn't changed
            if segment and not before.fault and same(before, segment):
                continue
            done = self.visit(Schedule(schedule.first, (*schedule.decisions, (step, SWITCH))), run)
            segment = done and done.segment(step)

    def fail(self, schedule, run, step):
        before = run.steps[step - 1] if step else None
        # Others can't tell whether it was ended or stopped before it looked, or after.
        has_looked = before and before.actor == run.steps[step].actor and not any(changes for *_, changes in before.call.touches)
        for kind in self.kinds:
            if kind in (STOP, KILL) and has_looked:
                continue
            if kind == STOP and not run.can_switch(step):
                continue
            if kind not in (STOP, KILL) and run.steps[step].call.name == "getsid":
                continue
            self.visit(Schedule(schedule.first, (*schedule.decisions, (step, kind))), run)

