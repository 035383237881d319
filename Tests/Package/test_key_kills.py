"""On request: the commands that change keys, killed at random, with a TPM in software and each release's own systemd.

PASSCODE_KILLS=300 PASSCODE_SEED=7: so many, and the same choices again. Tests/Outside/key_kills.py does more, with a
stand-in for the TPM.
"""

import collections
import os
import random
import re

import pytest

from debian_machine import OTHER, RIGHT
from recovery import printed
from test_key import KEY, LOADED, SEALED, boot, installed, logs_in, machine, tpm

pytestmark = pytest.mark.on_request
__all__ = ["installed", "machine", "tpm"]
KILLS = int(os.environ.get("PASSCODE_KILLS", "300"))
ACTIONS = ["seal", "seal", "rotate", "rotate", "rotate", "unseal", "load"]
# How often a command makes each of these calls, at most.
CALLS = {
    "openat": 40, "pwrite64": 10, "fdatasync": 6, "fsync": 12, "linkat": 4, "renameat": 6, "unlinkat": 8, "fchmod": 6,
    "flock": 6, "write": 8, "pread64": 30, "wait4": 3,
}  # fmt: skip


class Kills:
    def __init__(self, machine, tpm, chance):
        self.machine, self.tpm, self.chance = machine, tpm, chance
        self.killed, self.history = collections.Counter(), []

    def kill(self):
        """One action at one of its calls."""
        action, call = self.chance.choice(ACTIONS), self.chance.choice(list(CALLS))
        number = self.chance.randint(1, CALLS[call])
        if self.tpm.leaks:
            self.tpm.restart()
        said = self.tpm.run(
            "sh", "-c",
            f"strace -qq -o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={number}"
            f' passcode key {" ".join(printed(action))}; echo "ended: $?"', status=None,
        )  # fmt: skip
        status = int(re.search(r"ended: (\d+)", said)[1])
        self.history.append((action, call, number, status, said[-200:]))
        self.killed[action] += status == 137

    def log_in(self):
        """Both, after what the unit does where nothing is loaded."""
        if self.exists(SEALED) and not self.exists(LOADED):
            self.tpm.key("load", status=None)
        assert logs_in(self.machine, [RIGHT]) and logs_in(self.machine, [OTHER], user="bob"), self.history[-8:]

    def exists(self, path):
        return (self.machine.path / path).exists() or (self.machine.inside / path).exists()

    def finish(self):
        """As the commands advise."""
        if self.exists(f"{KEY}.new") and self.exists(f"{SEALED}.new"):
            self.tpm.key("unseal")
        for action in ["rotate"] if self.exists(f"{KEY}.new") or self.exists(f"{SEALED}.new") else ["seal"]:
            self.tpm.key("load", status=None)
            self.tpm.key(action)
        assert "warning" not in self.tpm.key("status"), self.history[-8:]


def test_no_passcode_is_lost(machine, tpm, release, capsys):
    seed = int(os.environ.get("PASSCODE_SEED") or random.SystemRandom().randrange(1 << 32))
    with capsys.disabled():
        print(f"\n  {release}: seed {seed}", flush=True)
    kills, rounds = Kills(machine, tpm, random.Random(seed)), 0
    while kills.killed.total() < KILLS:
        rounds += 1
        kills.kill()
        if kills.chance.random() < 0.2:
            boot(machine, tpm, "firmware")
            kills.tpm.boot_unit(status=None)
        kills.log_in()
        if rounds % 6 == 0:
            kills.finish()
    kills.finish()
    boot(machine, tpm, "firmware")
    tpm.boot_unit()
    kills.log_in()
    with capsys.disabled():
        print(f"  {release}: {kills.killed.total()} killed in {rounds} commands: {dict(kills.killed)}; no passcode lost")
