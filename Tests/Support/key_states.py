"""The states in which the files of the machine key may be found, with the stand-in for the TPM: made, told, and left by what
the commands advise.

A state is written as `key=a key.cred=a loaded=a: a a`: which key is in which file, and under which keys alice's and bob's
records are. `A`: what is sealed there is another TPM's.
"""

import base64
import hashlib
import itertools
import os
import re
import subprocess

import forge
from keys import copies, opens
from machine import KEY
from recovery import key_of, printed, recovery_copy
from sealed import LOADED_NEXT, NEXT, SEALED, SEALED_NEXT, everybody_logs_in, put_back
from sealing import LOADED
from tool import DONE

PLACES = {
    "key": KEY, "key.new": NEXT, "key.cred": SEALED, "key.cred.new": SEALED_NEXT, "loaded": LOADED, "loaded.new": LOADED_NEXT,
}  # fmt: skip
USERS = ("alice", "bob")
LETTERS = "abcd"
ACTIONS = ("status", "seal", "rotate", "unseal", "load", "recover")
CALLS = ("linkat", "renameat", "unlinkat", "fdatasync")
TPMS = {
    "answers": lambda tpm: None,
    "cleared": lambda tpm: tpm.clear(),
    "locked": lambda tpm: tpm.start(lockout=True),
}
COMMAND = re.compile(r"passcode key ((?!status)\w+(?: --pcrs \d+)?)|(tpm2_dictionarylockout|move it away)")


def mixed(seed, key):
    return bytes(a ^ b for a, b in zip(key, hashlib.sha512(seed).digest(), strict=False))


class States:
    def __init__(self, bed, tpm):
        self.bed, self.tpm, self.other, self.papers = bed, tpm, os.urandom(16), {}
        self.plain = {user: forge.credential(bed, user) for user in USERS}
        for action in ("seal", *["rotate"] * (len(LETTERS) - 1)):
            assert self.run(action).returncode == DONE
        self.keys = dict(zip(LETTERS, self.papers, strict=True))
        self.sealed = base64.b64decode(SEALED.read_bytes())

    # MARK: Files

    def clean(self):
        for folder in (KEY.parent, LOADED.parent):
            for path in folder.iterdir():
                path.unlink()

    def make(self, state):
        self.tpm.start()
        self.clean()
        files, letters = state.split(":")
        for place, letter in (part.split("=") for part in files.split()):
            if ".cred" in place:
                seed = bytes.fromhex(self.tpm.seed) if letter.islower() else self.other
                sealed = self.sealed[:16] + seed + self.sealed[32:88] + mixed(seed, self.keys[letter.lower()])
                PLACES[place].write_bytes(base64.b64encode(sealed))
                PLACES[place].chmod(0o400)
            else:
                put_back(self.keys[letter], PLACES[place])
        for user, letter in zip(USERS, letters.split(), strict=True):
            forge.reseal(self.bed, user, self.plain[user], self.keys[letter])

    def held(self):
        """{place: (key, whether this TPM opens it)}"""
        found = {}
        for place, path in PLACES.items():
            if path.exists():
                content, is_open = path.read_bytes(), True
                if ".cred" in place:
                    sealed = base64.b64decode(content)
                    content, is_open = mixed(sealed[16:32], sealed[88:]), sealed[16:32].hex() == self.tpm.seed
                found[place] = content, is_open
        return found

    def records(self):
        """For each, the keys of its copies."""
        known = [*(key for key, _ in self.held().values()), *self.papers]
        return [
            {next(key for key in known if opens(sealed, uid, name, key))
             for uid, name, sealed in copies(self.bed.record_file(user))} for user in USERS
        ]  # fmt: skip

    def read(self):
        """The state; None where a record's copies are under different keys: its current one counts then."""
        records, letters = self.records(), {}
        if any(len(keys) > 1 for keys in records):
            return None

        def letter(key, is_open=True):
            found = letters.setdefault(key, "abcdefgh"[len(letters)])
            return found if is_open else found.upper()

        under = " ".join(letter(*keys) for keys in records)
        files = " ".join(f"{place}={letter(*each)}" for place, each in self.held().items())
        return f"{files}: {under}" if len(letters) <= len(LETTERS) else None

    # MARK: Commands

    def run(self, action, *before, typed=""):
        words = printed(*action.split())
        words = [*words, "--stdin"] if words[0] == "recover" else words
        command = [*before, *self.bed.tool_words(), "key", *words]
        done = subprocess.run(command, input=typed, capture_output=True, text=True)
        if "\n    1  " in done.stdout and "\n    4  " in done.stdout:
            copy = recovery_copy(done.stdout)
            self.papers[key_of(copy)] = copy
        return done

    def needed(self):
        """The papers to try: first of keys that no file gives, last of those that are loaded."""
        needed = set().union(*self.records()) & set(self.papers)
        there = [{key for place, (key, is_open) in self.held().items() if is_open and place.startswith(start)} for start in ("loaded", "key")]
        return [self.papers[key] for key in sorted(needed, key=lambda key: [key in keys for keys in there])]

    def follow(self, action):
        """What it complains of."""
        if action == "tpm2_dictionarylockout":
            self.tpm.start()
        elif action == "move it away":
            KEY.unlink()
        elif action == "recover":
            for paper in self.needed():
                done = self.run(action, typed=paper)
                if done.returncode == DONE:
                    break
            return done.stderr
        else:
            return self.run(action).stderr
        return ""

    def everything(self):
        folders = [KEY.parent, LOADED.parent, self.bed.store]
        files = [path for folder in folders for path in folder.iterdir() if path.is_file()]
        return {path: path.read_bytes() for path in files}

    def named(self, said):
        """What it names, in its order; what it says of a TPM that works, and of a plain key that fits nothing, only if so."""
        if not all(is_open for _, is_open in self.held().values()):
            said = re.sub(r"Once the TPM works[^.;]*[.;]", "", said)
        plain = {path.read_bytes() for path in (KEY, NEXT) if path.exists()}
        if plain & set().union(*self.records()):
            said = said.replace("move it away", "")
        return [one or other for one, other in COMMAND.findall(said)]

    def walk(self, state, tpm, first):
        """Follows what is advised until nothing is wrong: what was advised, and all that was said."""
        self.make(state)
        TPMS[tpm](self.tpm)
        action, steps, told, refused = first, [], [], []
        while len(steps) < 9:
            before = self.everything()
            said = self.follow(action)
            told.append(f"{action}: {said}")
            if action == "status" and not said and everybody_logs_in(self.bed):
                return steps if self.survives_a_boot() else None, told
            refused = [*refused, action] if self.everything() == before and not action.startswith("tpm2_") else []
            ways = [way for way in self.named(said) if way not in refused]
            if not ways and action == "status":
                break
            action = ways[0] if ways else "status"
            steps += [action] if ways and action != "tpm2_dictionarylockout" else []
        return None, told

    def survives_a_boot(self):
        for path in LOADED.parent.iterdir():
            path.unlink()
        return self.run("load").returncode == DONE and not self.run("status").stderr and everybody_logs_in(self.bed)

    # MARK: All of them

    def reached(self, accidents):
        """{state: how}, by commands, boots and so many accidents."""
        found = {"key=a: a a": (0, "plain"), "key.cred=a loaded=a: a a": (0, "sealed")}
        queue = list(found)
        for state in queue:
            cost, how = found[state]
            for change, extra in self.changes(state, has_accidents=cost < accidents):
                reached = self.read()
                if reached and found.get(reached, (9, ""))[0] > cost + extra:
                    found[reached] = cost + extra, f"{how}, {change}"
                    queue.append(reached)
        return {state: how for state, (_, how) in found.items()}

    def changes(self, state, has_accidents):
        """Makes each change to it, and yields what it was, and how many accidents."""
        for action in ACTIONS[1:]:
            self.make(state)
            for paper in self.needed() if action == "recover" else [""]:
                self.make(state)
                self.run(action, typed=paper)
                yield action, 0
                for call, number in self.kills(state, action, paper) if has_accidents else ():
                    yield f"{action} killed at {call} {number}", 1
        if "loaded" in state:
            self.make(re.sub(r" ?loaded\S*=\w", "", state))
            yield "boot", 0
        if "cred" in state and has_accidents:
            self.make(re.sub(r"(cred\S*=\w)", lambda found: found[1][:-1] + found[1][-1].upper(), state))
            yield "the TPM is cleared", 1
            self.make(re.sub(r"key.cred=\w", "", state))
            yield "key.cred is gone", 1
            if "key=" not in state:
                self.make("key=d " + state)
                yield "a plain key comes back", 1

    def kills(self, state, action, paper):
        """At each call of the kinds that change a file."""
        for call in CALLS:
            for number in itertools.count(1):
                self.make(state)
                inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
                if self.run(action, "strace", "-qq", "-o", "/dev/null", *inject, typed=paper).returncode >= 0:
                    break
                yield call, number
