"""On request: every command that changes keys, killed at random, with a stand-in for the TPM. No passcode may be lost.

    PASSCODE_KILLS=500 PASSCODE_SEED=7 Tests/outside --quick Tests/Outside/key_kills.py

It prints its seed first, and then how many commands were killed, by their names. The same seed makes the same choices: a
kill comes at the N-th system call of a name, and not after a time. In between, machines boot, TPMs are cleared, backups
bring plain keys back, and people enrol. After each command, every copy of every record must open with a key that is on
the disk, plain or sealed by this TPM; after the TPM was cleared, with one whose recovery copy was printed whole.
"""

import base64
import collections
import hashlib
import os
import random
import re
import subprocess

import pytest

import sealing
from keys import copies, opens, records
from machine import KEY
from recovery import key_of, printed
from sealed import LOADED_NEXT, NEXT, SEALED, SEALED_NEXT, put_back
from sealing import LOADED
from tool import DONE

pytestmark = pytest.mark.alone
KILLS = int(os.environ.get("PASSCODE_KILLS", "300"))
# How often a command makes each of these calls, at most.
CALLS = {
    "openat": 70, "pwrite64": 12, "fdatasync": 8, "fsync": 14, "linkat": 5, "renameat": 7, "unlinkat": 12, "fchmod": 8,
    "fchown": 5, "flock": 8, "write": 12, "mkdirat": 2, "mount": 1, "close": 70, "pread64": 40, "clone3": 4, "wait4": 4,
}  # fmt: skip
ACTIONS = {"seal": 5, "rotate": 6, "unseal": 3, "load": 3, "recover": 3, "rotate --must-change": 1, "init --forget-sealed": 1}
BETWEEN = {"boot": 4, "enrol": 4, "old plain key": 2, "clear the TPM": 1, "nothing": 8}


def sealed_key(path, tpm):
    """The key in a sealed file, if this TPM opens it."""
    if not path.exists():
        return None
    sealed = base64.b64decode(path.read_bytes())
    seed = bytes.fromhex(tpm.seed)
    if sealed[16:32] != seed:
        return None
    return bytes(a ^ b for a, b in zip(sealed[88:], hashlib.sha512(seed).digest(), strict=False))


class Kills:
    def __init__(self, bed, tpm, chance):
        self.bed, self.tpm, self.chance = bed, tpm, chance
        self.codes = {"alice": "0471", "bob": "0471"}
        self.papers = {}
        self.killed = collections.Counter()
        self.failed = collections.Counter()  # of the loads that nobody killed, by what they said
        self.history = []
        self.is_cleared = False

    def choose(self, weights):
        return self.chance.choices(list(weights), weights.values())[0]

    def told(self):
        return "\n" + "\n".join(map(str, self.history[-20:]))

    # MARK: What is there

    def on_disk(self):
        found = [path.read_bytes() for path in (KEY, NEXT) if path.exists()]
        found += [key for path in (SEALED, SEALED_NEXT) if (key := sealed_key(path, self.tpm))]
        return found + (list(self.papers) if self.is_cleared else [])

    def check(self):
        """Each copy of each record opens, and nothing is under zeros."""
        there = self.on_disk()
        for path in records(self.bed):
            for uid, name, sealed in copies(path):
                assert any(opens(sealed, uid, name, key) for key in there), (name, self.told())
                assert not opens(sealed, uid, name, bytes(32)), name

    # MARK: What is done

    def run(self, action, kill=True):
        """Once, perhaps killed; what it printed of a recovery copy is kept if it is whole."""
        words, typed = action.split(), ""
        if words[0] == "recover":
            if not self.papers:
                return None
            typed = self.papers[self.chance.choice((not kill and self.needed()) or list(self.papers))]
            words.append("--stdin")
        if words[0] == "init":
            typed = "no\n"
            words.append("--stdin")
        command = [*self.bed.tool_words(), "key", *printed(*words)]
        if kill:
            call = self.choose(CALLS)
            number = self.chance.randint(1, CALLS[call])
            command = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                       "-e", f"inject={call}:signal=KILL:when={number}", *command]  # fmt: skip
        done = subprocess.run(command, input=typed, capture_output=True, text=True)
        lines = re.findall(r"^    (\d  (?:[0-9a-f]{4} ){4} [0-9a-f])$", done.stdout, re.MULTILINE)
        if len(lines) == 4:
            copy = "".join(f"{line}\n" for line in lines)
            self.papers[key_of(copy)] = copy
        self.history.append((" ".join(words), f"{call} {number}" if kill else "", done.returncode, done.stderr[-300:]))
        if words[0] == "load" and not kill and done.returncode != DONE:
            self.failed[re.sub(r"[0-9a-f]{8,}", "…", done.stderr.strip())] += 1
        if done.returncode in (-9, 137):
            self.killed[words[0]] += 1
        return done

    def needed(self):
        """The keys of papers that open a record, and aren't loaded."""
        loaded = [path.read_bytes() for path in (LOADED, LOADED_NEXT) if path.exists()]
        held = [copy for path in records(self.bed) for copy in copies(path)]
        return [
            key for key in self.papers
            if key not in loaded and any(opens(sealed, uid, name, key) for uid, name, sealed in held)
        ]  # fmt: skip

    def is_another_there(self):
        """A plain key that a backup brought back: what is enrolled then is under it, and which key goes is for people to say."""
        return KEY.exists() and SEALED.exists() and KEY.read_bytes() != sealed_key(SEALED, self.tpm)

    def between(self):
        what = self.choose(BETWEEN)
        if what == "boot":
            sealing.boot()
            self.run("load", kill=False)
        elif what == "enrol" and not self.is_another_there():
            user, code = self.chance.choice(["alice", "bob", "carol"]), f"{self.chance.randrange(10_000):04}"
            answer = self.bed.tool("enroll", "--stdin", user, stdin=f"{code}\n", check=None)
            if answer.status == DONE:
                self.codes[user] = code
        elif what == "old plain key" and SEALED.exists() and not KEY.exists():
            put_back(self.chance.randbytes(32))
        elif what == "clear the TPM" and self.papers and SEALED.exists():
            # The owner puts that right before anything else: to do more first is to lose more keys than there are papers.
            self.tpm.clear()
            self.is_cleared = True
            self.history.append((what,))
            sealing.boot()
            self.mend()
            return
        self.history.append((what,))

    # MARK: What an administrator does about it

    def mend(self):
        """Until everybody logs in, the next boot included, by what the commands themselves advise."""
        self.run("load", kill=False)
        for _ in range(6):
            if self.is_whole():
                break
            for action in self.advised():
                self.run(action, kill=False)
        assert self.is_whole(), self.told()
        self.is_cleared = False
        sealing.boot()
        self.run("load", kill=False)
        self.everybody_logs_in()

    def is_whole(self):
        return self.run("status", kill=False).returncode == DONE and not SEALED_NEXT.exists() and not NEXT.exists() and not (
            KEY.exists() and SEALED.exists()
        )

    def advised(self):
        if self.papers and any(sealed_key(path, self.tpm) is None for path in (SEALED, SEALED_NEXT) if path.exists()):
            return ["recover"] * 2 + (["rotate"] if SEALED_NEXT.exists() else ["unseal", "rotate"] if NEXT.exists() else ["seal"])
        if NEXT.exists() and (SEALED_NEXT.exists() or SEALED.exists()):
            return ["unseal", "rotate"]
        if SEALED_NEXT.exists() or NEXT.exists():
            return ["load", "rotate"]
        return ["load", "seal"]

    def everybody_logs_in(self):
        for user, code in self.codes.items():
            answer = self.bed.tool("verify", "--stdin", user, stdin=f"{code}\n", check=None)
            if "set your own passcode" in answer.errors:  # its one login was the last time here
                self.bed.tool("enroll", "--stdin", user, stdin=f"{code}\n", check=DONE)
                continue
            assert answer.status == DONE, (user, code, answer, self.told())


def test_no_passcode_is_lost(own, tpm, capsys):
    seed = int(os.environ.get("PASSCODE_SEED") or random.SystemRandom().randrange(1 << 32))
    with capsys.disabled():
        print(f"\n  seed {seed}", flush=True)
    kills = Kills(own, tpm, random.Random(seed))
    rounds = 0
    while kills.killed.total() < KILLS:
        rounds += 1
        kills.run(kills.choose(ACTIONS))
        kills.check()
        kills.between()
        kills.check()
        if rounds % 8 == 0:
            kills.mend()
            kills.check()
    kills.mend()
    with capsys.disabled():
        print(f"  {kills.killed.total()} killed in {rounds} commands: {dict(kills.killed)}; no passcode lost")
        print("".join(f"  {count} loads failed: {said}\n" for said, count in kills.failed.items()), end="")
