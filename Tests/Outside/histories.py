"""On request (half an hour): a hundred histories of a fleet with faults. `Tests/outside Tests/Outside/histories.py`

PASSCODE_HISTORIES= says how many, PASSCODE_SEED= which is the first one's seed: a seed repeats its faults and requests.
"""

import os
import random

import judgement
from history import opens_again, play
from tally import attack

MANY = int(os.environ.get("PASSCODE_HISTORIES", "100"))
SEED = int(os.environ.get("PASSCODE_SEED", random.randrange(10**9)))


def test_no_guess_is_beyond_the_budget(apart, capsys):
    accounts = []
    with attack("histories of a fleet with faults") as row:
        for seed in range(SEED, SEED + MANY):
            history = play(apart, seed, 12)
            with capsys.disabled():
                print(f"\n  seed {seed}: {judgement.summary(history)}", end="", flush=True)
            row.run()
            judgement.judge(history, row, seed)
            accounts += history.statuses
        for account in accounts:
            row.breach("refused", (SEED, account), not opens_again(apart, account))
