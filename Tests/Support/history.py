"""A history of a fleet in which things go wrong: what goes wrong, and who asks what, is drawn from a seed; what was asked,
answered and written is recorded. What must hold of it is in judgement.py."""

import base64
import dataclasses
import json
import random
import signal
import subprocess
import threading
import time

import fleet as fleets
from fleet import GRANTED, LOOK, VERIFY, WRONG, WRONG_AND_LOCKED
from process import wait_for
from scenario import RIGHT

LOCKOUT = "2:1s,4:2s,6:3s"
DELAYS = {2: 1, 3: 1, 4: 2, 5: 2}  # seconds after so many failures; 3 after more
PATIENCE = 7  # seconds until a person gives up
WORKERS = 6


@dataclasses.dataclass
class Asked:
    account: str
    code: str
    workstation: str
    begin: float
    end: float = 0.0  # of the answer, or when nobody listened any more
    kind: int | None = None  # None: no whole answer came
    failures: int = 0  # that the answer tells

    @property
    def is_right(self):
        return self.code == RIGHT

    @property
    def is_wrong(self):
        return self.kind in (WRONG, WRONG_AND_LOCKED)


@dataclasses.dataclass
class Written:
    """A key that was written or deleted, as etcd itself remembers it, in the order of its revisions."""

    revision: int
    key: str
    value: bytes | None  # None: deleted


@dataclasses.dataclass
class History:
    asked: list
    unlocked: list  # (account, begin, end): perhaps
    written: list
    statuses: dict  # account: the reply, afterwards


class Plan:
    """All that is drawn from a seed."""

    def __init__(self, seed, seconds):
        self.seed, self.seconds = seed, seconds
        draw = random.Random(f"{seed}/faults")
        self.accounts = [f"h{seed}x{number}" for number in range(8)]
        self.workstations = [f"CN=w{seed}x{number}" for number in range(2)]
        self.faults, at = [], draw.uniform(0.3, 1.5)
        while at < seconds - 1:
            kind = draw.choice(["kill leader", "stop leader", "stop", "cut off", "cut off leader", "stop two", "kill"])
            lasts = draw.uniform(0.5, 4)
            self.faults.append((at, kind, draw.randrange(3), lasts))
            # Most of them end before the next one begins.
            at += lasts * draw.choice([0.5, 1, 1, 1.3]) + draw.uniform(0.2, 2.5)
        self.unlocks, at = [], draw.uniform(1, 3)
        while at < seconds:
            self.unlocks.append((at, draw.choice(self.accounts), draw.randrange(3)))
            at += draw.uniform(0.5, 2)

    def requests(self, worker):
        """Endless: (pause, account, code, workstation, server, harm) one after the other."""
        draw = random.Random(f"{self.seed}/{worker}")
        codes = [f"{number:04}" for number in range(worker, 10_000, WORKERS)]
        draw.shuffle(codes)
        wrong = (code for code in codes if code != RIGHT)
        while True:
            number = draw.randrange(len(self.accounts))
            # Of some, nobody has the right one; of one, hardly anybody mistypes.
            is_right = draw.random() < (0, 0, 0, 0.3, 0.4, 0.5, 0.6, 0.95)[number]
            code = RIGHT if is_right else next(wrong)
            harm = draw.choices(
                [("none", 0), ("kill", draw.uniform(0, 0.15)), ("leave", draw.uniform(0, 0.1)), ("cut", draw.randrange(1, 50))],
                [82, 6, 6, 6],
            )[0]  # fmt: skip
            yield (
                draw.uniform(0, 0.1), self.accounts[number], code, draw.choice(self.workstations), draw.randrange(3), harm,
            )  # fmt: skip


class Play:
    def __init__(self, fleet, plan):
        self.fleet, self.plan = fleet, plan
        self.asked, self.unlocked, self.processes, self.lock = [], [], [], threading.Lock()
        self.stopped = set()

    def run(self):
        fleet, plan = self.fleet, self.plan
        for server in fleet.servers:
            server.write("workstations", "".join(name + "\n" for name in plan.workstations + fleets.WARD))
        for account in plan.accounts:
            fleet.servers[0].enroll(account, RIGHT)
        first = revision(fleet)
        self.started = time.monotonic()
        self.deadline = self.started + plan.seconds
        threads = [threading.Thread(target=self._ask_all, args=(worker,)) for worker in range(WORKERS)]
        threads += [threading.Thread(target=self._unlock_all), threading.Thread(target=self._harm_all)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._kill_the_rest()
        fleet.restart()
        # A member that comes back may have others choose a leader anew.
        statuses = {account: fleet.servers[1].status(account) for account in plan.accounts}
        return History(self.asked, self.unlocked, written(fleet, first), statuses)

    def _kill_the_rest(self):
        for process in self.processes:
            process.kill()
            process.wait()

    # MARK: Requests

    def _ask_all(self, worker):
        for pause, account, code, workstation, server, harm in self.plan.requests(worker):
            time.sleep(pause)
            if time.monotonic() >= self.deadline:
                return
            self._ask(Asked(account, code, workstation, time.monotonic()), self.fleet.servers[server], harm)

    def _ask(self, asked, server, harm):
        data = fleets.request(VERIFY, asked.account, passcode=asked.code, name=asked.workstation)
        kind, amount = harm
        with self.lock:
            self.asked.append(asked)
        process, ours = server.start(data[:-amount] if kind == "cut" else data)
        with self.lock:
            self.processes.append(process)
        with ours:
            if kind in ("kill", "leave"):
                time.sleep(amount)
            if kind == "kill":
                process.kill()
            reply = fleets.decode(self._answer(ours)) if kind in ("none", "kill") else None
        asked.end = time.monotonic()
        if reply is not None:
            asked.kind, asked.failures = reply.kind, reply.numbers[0]

    def _answer(self, ours):
        """All that comes until a person gives up."""
        answer, end = b"", min(time.monotonic() + PATIENCE, self.deadline + 1)
        try:
            while (left := end - time.monotonic()) > 0:
                ours.settimeout(left)
                part = ours.recv(4096)
                if not part:
                    break
                answer += part
        except (TimeoutError, ConnectionResetError):
            pass
        return answer

    # MARK: Unlocking

    def _unlock_all(self):
        for at, account, server in self.plan.unlocks:
            self._wait_until(at)
            begin = time.monotonic()
            command = self.fleet.servers[server].command(fleets.VERIFIER, "unlock", account)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.unlocked.append((account, begin, time.monotonic()))

    def _wait_until(self, at):
        time.sleep(max(0, self.started + at - time.monotonic()))

    # MARK: Faults

    def _harm_all(self):
        acts = []
        for at, kind, member, lasts in self.plan.faults:
            acts += [(at, kind, member, True), (min(at + lasts, self.plan.seconds), kind, member, False)]
        hurt = {}
        for at, kind, member, begins in sorted(acts):
            self._wait_until(at)
            if begins:
                if "leader" in kind:
                    leader = self.fleet.leader(self.stopped)
                    hurt[kind, member] = [member if leader is None else leader]
                else:
                    hurt[kind, member] = [member, (member + 1) % 3] if kind == "stop two" else [member]
            for number in hurt.get((kind, member), []):
                self._harm(kind.split()[0], number) if begins else self._undo(kind.split()[0], number)

    def _harm(self, kind, number):
        if kind == "kill":
            self.fleet.members[number].kill()
            self.fleet.members[number].wait()
        elif kind == "stop":
            self.fleet.members[number].send_signal(signal.SIGSTOP)
        else:
            self.fleet.cut_off(number)
        self.stopped.add(number)

    def _undo(self, kind, number):
        if kind == "kill":
            if self.fleet.members[number].poll() is not None:
                self.fleet.members[number] = self.fleet.start_member(number, "existing")
        elif kind == "stop":
            self.fleet.members[number].send_signal(signal.SIGCONT)
        else:
            self.fleet.connect(number)
        self.stopped.discard(number)


# MARK: What etcd remembers


def revision(fleet):
    [status] = json.loads(fleet.etcdctl(0, "endpoint", "status", "--write-out=json"))
    return status["Status"]["header"]["revision"]


def written(fleet, first):
    """All that was written since a revision."""
    fleet.etcdctl(0, "put", "/passcode/0/end", str(first))
    command = [*fleet.etcdctl_words(0), *fleet.credentials, "watch", "--prefix", f"--rev={first + 1}", "--write-out=json", "/passcode/"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = []
    try:
        for line in watch.stdout:
            for event in json.loads(line)["Events"] or []:
                pair = event["kv"]
                value = None if event.get("type") else base64.b64decode(pair.get("value", ""))
                key = base64.b64decode(pair["key"]).decode()
                if key == "/passcode/0/end" and value == str(first).encode():
                    return found
                found.append(Written(pair["mod_revision"], key, value))
    finally:
        watch.kill()
        watch.wait()
        watch.stdout.close()
    raise AssertionError("etcd's history ended early")


def play(fleet, seed, seconds):
    return Play(fleet, Plan(seed, seconds)).run()


def opens_again(fleet, account):
    """As soon as a dead attempt's lease is over."""
    fleet.servers[0].run("unlock", account)
    wait_for(lambda: fleet.servers[1].ask(LOOK, account) is not None)
    return fleet.servers[2].verify(RIGHT, account).kind == GRANTED
