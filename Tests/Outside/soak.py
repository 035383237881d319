"""Everything at once, at random, for minutes: Tests/soak [MINUTES].

Each round does one thing to alice's record while it may be killed, run out of disk or descriptors, be torn, be
answered by a crowd, or find itself after a reboot or a suspend. A model of a few lines says between which counts
the record must lie afterwards; whatever happened, she is never refunded, never unreadable and never forgotten.
"""

import os
import random
import re
import signal
import subprocess
import time
import uuid

import host
import strace
from bed import SLOT
from clock import BOOT_ID, later
from every_call import ERRORS, Bench
from scenario import RIGHT, valid_slots
from tally import attack

# Delays of a second, and never exhausted: the rounds are to go on.
LOCKOUT = "3:1s,6:2s"
CALLS = [
    "openat",
    "read",
    "pread64",
    "pwrite64",
    "fdatasync",
    "flock",
    "fcntl",
    "close",
    "mmap",
    "newfstatat",
]


class Soak:
    def __init__(self, bed, generator):
        self.bed, self.random = bed, generator
        self.least = self.most = 0  # failures that the record may say
        self.boot = bed.folder / "boot_id"

    def code(self):
        """A wrong passcode that wasn't the last one."""
        return f"{self.random.randrange(1000, 9999):04}".replace(RIGHT, "1111")

    def charged(self, results):
        """What so many finished attempts say about the count."""
        for result in results:
            if result == "SUCCESS":
                self.least = self.most = 0
            elif result == "AUTH_ERR":
                self.most += 1

    # MARK: Rounds. Each returns what to call it.

    def attempts(self):
        codes = [self.random.choice([self.code(), RIGHT]) for _ in range(self.random.randrange(1, 4))]
        before = later(self.random.choice([0, 0, 3, 10]))
        crowd = host.results(self.bed, *codes, before=before)
        self.charged(crowd)
        return "attempts"

    def crowd(self):
        count = self.random.choice([5, 20, 60])
        codes = [RIGHT if self.random.random() < 0.2 else self.code() for _ in range(count)]
        started = self.bed.status("alice")
        begun = time.monotonic()
        crowd = host.crowd(self.bed, [("alice", code, 0) for code in codes])
        failures, first = started["failures"], started["state"] != "locked"
        verified_wrong = sum(code != RIGHT for code in crowd.verified)
        # Each delay lets one attempt through when it is over; before the first, there are three.
        passed = 1 + (time.monotonic() - begun) / 1.0
        granted = len(crowd.verified) - verified_wrong
        budget = (max(3 - failures, 1) if first else 0) + 3 * granted + passed
        self.row.breach("beyond", (failures, crowd.verified), verified_wrong > budget)
        assert crowd.count("SUCCESS") == granted
        self.least, self.most = 0, self.most + verified_wrong
        if not granted:
            self.least = min(self.most, failures + verified_wrong)
        return f"crowd of {count}"

    def killed(self):
        call, when = self.random.choice(CALLS), self.random.randrange(1, 25)
        code = self.random.choice([RIGHT, self.code()])
        self.injected(code, f"inject={call}:signal=KILL:when={when}", call)
        return f"killed at {call} {when}"

    def failing(self):
        call, when = self.random.choice(CALLS), self.random.randrange(1, 25)
        error = self.random.choice(ERRORS)
        # Once, or from there on; but nobody is interrupted for ever.
        every = "" if error == "EINTR" else self.random.choice(["", "+"])
        code = self.random.choice([RIGHT, self.code()])
        self.injected(code, f"inject={call}:error={error}:when={when}{every}", call)
        return f"{error} at {call} {when}{every}"

    def injected(self, code, injection, call):
        """One attempt, which may have been charged or not, and if it was right and verified, reset."""
        trace = self.bed.folder / "trace"
        traced = f"trace={call},pwrite64,getsid"
        done = subprocess.run(
            [*strace.record(trace, "-e", traced, "-e", injection), *host.one(self.bed, code)],
            capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert done.returncode in (0, 127, -signal.SIGKILL, -signal.SIGABRT), (injection, done)
        verified = any(call.name == strace.VERIFYING for call in strace.calls(trace))
        granted = host.named(done.stdout) == ["SUCCESS"]
        self.row.breach("beyond", (injection, code), granted and (code != RIGHT or not verified))
        if verified and code != RIGHT:
            self.least += 1
        if verified and code == RIGHT:
            self.least = 0
        self.most += 1

    def torn(self):
        """The power went while the next write was half done: the slot that isn't the record."""
        whole = bytearray(self.bed.record("alice"))
        valid = valid_slots(whole)
        generations = {slot: int(re.search(rb"generation=(\d+)", whole[slot * SLOT :])[1]) for slot in valid}
        older = min(generations, key=generations.get) if len(valid) == 2 else 1 - valid[0]
        start = older * SLOT + self.random.choice([0, 512])
        whole[start : start + 512] = bytes(self.random.randrange(256) for _ in range(512))
        assert valid_slots(bytes(whole)) == [1 - older]
        with open(self.bed.record_file("alice"), "r+b") as file:
            file.write(whole)
        return "torn"

    def rebooted(self):
        self.boot.write_text(f"{uuid.UUID(int=self.random.getrandbits(128), version=4)}\n")
        return "rebooted"

    def administered(self):
        act = self.random.choice(["unlock", "enroll", "disable", "status"])
        running = [self.bed.start("alice", self.code()) for _ in range(self.random.choice([0, 3]))]
        if act == "enroll":
            self.bed.enroll("alice", RIGHT)
        else:
            self.bed.tool(act, "alice", check=0)
        for run in running:
            run.wait()
        if act == "disable":
            assert host.results(self.bed, RIGHT) == ["AUTH_ERR"]
            self.bed.tool("enable", "alice", check=0)
        self.most += len(running)
        if act in ("unlock", "enroll"):
            self.least = 0
            self.most = max(len(running), 0)
        return act

    # MARK: What must be true after each

    def judge(self, what):
        status = self.bed.status("alice")
        where = (what, status, self.least, self.most)
        self.row.run()
        self.row.breach("unreadable", where, status["state"] == "corrupt")
        self.row.breach("lost", where, not status["enrolled"])
        self.row.breach("refund", where, status["failures"] < self.least)
        assert status["failures"] <= self.most, where
        self.least = self.most = status["failures"]
        if self.random.random() < 0.3 or self.most > 900:
            self.open()

    def open(self):
        """When the delay is over, the right one works."""
        left = self.bed.status("alice")["seconds_left"]
        deadline = time.monotonic() + left + 3
        while host.results(self.bed, RIGHT) != ["SUCCESS"]:
            if time.monotonic() > deadline:
                self.row.breach("refused", left)
                self.bed.tool("unlock", "alice", check=0)
                break
            time.sleep(0.1)
        self.least = self.most = 0


def test_soak(make_bed):
    seed = int(os.environ.get("PASSCODE_SEED") or random.SystemRandom().randrange(10**6))
    minutes = float(os.environ["PASSCODE_SOAK_MINUTES"])
    print(f"PASSCODE_SEED={seed}, {minutes:g} minutes")
    bed = make_bed(lockout=LOCKOUT)
    Bench(bed)
    bed.tool("unlock", "alice", check=0)
    soak = Soak(bed, random.Random(seed))
    soak.rebooted()
    subprocess.run(["mount", "--bind", str(soak.boot), BOOT_ID], check=True)
    rounds = [soak.attempts] * 3 + [soak.killed] * 6 + [soak.failing] * 6 + [soak.crowd, soak.torn] * 2
    rounds += [soak.rebooted, soak.administered]
    deadline = time.monotonic() + 60 * minutes
    try:
        with attack(f"soak, seed {seed}") as soak.row:
            while time.monotonic() < deadline:
                soak.judge(soak.random.choice(rounds)())
    finally:
        subprocess.run(["umount", BOOT_ID], check=True)
