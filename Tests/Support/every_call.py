"""One program, disturbed at each of its system calls in turn: what the tests of crashes and of failing calls share.

strace's `when=N` counts per name of a call, so a point is (name, N).
"""

import collections
import concurrent.futures
import dataclasses
import os
import re
import subprocess

import host
import strace
from bed import MEMORY
from scenario import RIGHT, WRONG

NEW = "8260"
# What a person can bring about for others, or for a program that they start: no limit may lapse because of it.
SHORTAGES = ["EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "EDQUOT"]
ERRORS = [*SHORTAGES, "EIO", "EROFS", "EINTR", "EACCES"]


@dataclasses.dataclass(frozen=True)
class Act:
    """Something that is done to alice's record, and what her record says before and after it."""

    command: object  # of a bed: the words
    stdin: str
    before: dict  # what a status must say
    after: list  # what it may say where the act was completed, or charged
    codes: tuple  # which passcode works before and after


def attempt(code):
    return lambda bed: host.one(bed, code)


def tool(*words):
    return lambda bed: [*bed.tool_words(), *words]


NOTHING = {"enrolled": False, "state": "ok", "failures": 0}
ONCE = {"enrolled": True, "state": "ok", "failures": 1}
LOCKED = {"enrolled": True, "state": "locked", "failures": 3}
FRESH = {"enrolled": True, "state": "ok", "failures": 0}
PAUSED = {**ONCE, "state": "paused"}
TWICE = {"enrolled": True, "state": "ok", "failures": 2}

# Given out for one login, which is open, was spent by the act, or was spent before.
GIVEN = {**FRESH, "must_change": True}
SPENT = {**GIVEN, "state": "must_change"}
CHARGED = {**ONCE, "must_change": True}

ACTS = {
    "wrong attempt": Act(attempt(WRONG[5]), "", ONCE, [TWICE], (RIGHT, RIGHT)),
    "right attempt": Act(attempt(RIGHT), "", ONCE, [TWICE, FRESH], (RIGHT, RIGHT)),
    "the one attempt": Act(attempt(RIGHT), "", GIVEN, [CHARGED, SPENT, SPENT], (RIGHT, None)),
    "give out": Act(tool("enroll", "--stdin", "--must-change", "alice"), NEW, LOCKED, [GIVEN], (RIGHT, NEW)),
    "enrol the first": Act(tool("enroll", "--stdin", "alice"), NEW, NOTHING, [FRESH], (None, NEW)),
    "enrol again": Act(tool("enroll", "--stdin", "alice"), NEW, LOCKED, [FRESH], (RIGHT, NEW)),
    "change": Act(tool("change", "--stdin", "alice"), f"{RIGHT}\n{NEW}", ONCE, [TWICE, FRESH], (RIGHT, NEW)),
    "remove": Act(tool("remove", "alice"), "", LOCKED, [NOTHING], (RIGHT, None)),
    "unlock": Act(tool("unlock", "alice"), "", LOCKED, [FRESH], (RIGHT, RIGHT)),
    "disable": Act(tool("disable", "alice"), "", ONCE, [{**ONCE, "state": "disabled"}], (RIGHT, RIGHT)),
    "pause": Act(tool("pause", "alice", "--even-locked-out"), "", ONCE, [{**ONCE, "state": "paused"}], (RIGHT, RIGHT)),
    "resume": Act(tool("resume", "alice"), "", PAUSED, [ONCE], (RIGHT, RIGHT)),
}


class Bench:
    """A bed with alice's record in each state that an act begins with."""

    def __init__(self, bed):
        self.bed = bed
        bed.typed |= {NEW, RIGHT, *WRONG}
        bed.enroll("alice", RIGHT)
        self._states = {}  # by failures; with none, it must be changed
        for failures in (1, 3):
            while bed.failures("alice") < failures:
                bed.tool("verify", "--stdin", "alice", stdin=WRONG[bed.failures("alice")] + "\n")
            self._states[failures] = bed.record("alice")
        bed.record_file("alice").write_bytes(self._states[1])
        bed.tool("pause", "alice", "--even-locked-out", check=0)
        self._states["paused"] = bed.record("alice")
        bed.tool("enroll", "--stdin", "--must-change", "alice", stdin=f"{RIGHT}\n", check=0)
        self._states[0] = bed.record("alice")
        self.others = set()  # what else the store holds
        self.judged = {}  # by what is on the disk: what a status says, once it was found that what must work works

    def begin(self, act):
        path = self.bed.record_file("alice")
        if act.before["enrolled"]:
            if not path.exists():
                path.touch(mode=0o600)
            is_paused = act.before["state"] == "paused"
            path.write_bytes(self._states["paused" if is_paused else act.before["failures"]])
        else:
            path.unlink(missing_ok=True)
        if MEMORY.exists():
            for file in MEMORY.iterdir():
                file.unlink()
        return path.read_bytes() if path.exists() else None

    def left(self):
        """All that a run leaves to later ones."""
        folders = [folder for folder in (self.bed.store, MEMORY) if folder.exists()]
        return frozenset((path, path.read_bytes()) for folder in folders for path in folder.iterdir())

    def files(self):
        """The store's files, but for alice's record."""
        return {file.name for file in self.bed.store.iterdir()} - {self.bed.record_file("alice").name}

    def run(self, act, *options):
        trace = self.bed.folder / "trace"
        done = subprocess.run(
            [*strace.record(trace, *options), *act.command(self.bed)],
            input=act.stdin.encode() + b"\n", capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        return Run(done.returncode, done.stdout, done.stderr.decode(), strace.calls(trace))

    def says(self):
        """What a status tells, of what the acts change. Where all is as it was once before, it said it then."""
        if said := self.judged.get(self.left()):
            return said
        status = self.bed.status("alice")
        said = {name: status[name] for name in ("enrolled", "state", "failures")}
        return said | ({"must_change": True} if status["must_change"] else {})


@dataclasses.dataclass
class Run:
    status: int
    output: bytes
    errors: str
    calls: list

    @property
    def verified(self):
        return any(name == strace.VERIFYING for name, _ in self.calls)

    @property
    def had_slot(self):
        """Whether it ever had a hashing slot."""
        return any("F_OFD_SETLK" in line and "F_WRLCK" in line and line.endswith(" = 0") for _, line in self.calls)

    def completed(self, name):
        """How many calls of that name did what they were asked."""
        return sum(
            called == name and re.search(r"\) += -1 ", line) is None and line.rstrip()[-1] != "?"
            for called, line in self.calls
        )


def points(run, begin="getresuid"):
    """(name, N, index) of each call that is the act's own: from the program's own beginning to its end."""
    calls, seen, found = run.calls, collections.Counter(), []
    marks = [index for index, (name, _) in enumerate(calls) if name == strace.MARK]
    # The tool begins where it asks who it is; what comes before is the dynamic linker's.
    first = marks[0] if marks else [name for name, _ in calls].index(begin)
    last = marks[1] if marks else len(calls)
    for index, (name, _) in enumerate(calls):
        seen[name] += 1
        if first < index < last and name not in (strace.MARK, strace.VERIFYING, "exit_group"):
            found.append((name, seen[name], index))
    return found


def share(cases, benches, work):
    """Does `work(bench, case)` for each case, a thread for each bench."""

    def worker(number):
        for case in cases[number :: len(benches)]:
            work(benches[number], case)

    with concurrent.futures.ThreadPoolExecutor(len(benches)) as pool:
        for done in [pool.submit(worker, number) for number in range(len(benches))]:
            done.result()
