"""On request: test_interleavings.py with two preemptions and one fault. `Tests/outside Tests/Outside/interleavings.py`

PASSCODE_SECONDS= says how long each pair may take (30); what was left out for that is said. PASSCODE_DEPTH=PREEMPTIONS,FAULTS.
PASSCODE_FAULTS= says which faults, of stop,kill,EIO,ENOMEM and other errnos.
"""

import os
import time

import pytest

from operations import PAIRS
from tally import attack

pytestmark = [pytest.mark.mounts, pytest.mark.privileges]
SECONDS = float(os.environ.get("PASSCODE_SECONDS", "30"))
KINDS = os.environ.get("PASSCODE_FAULTS", "stop,kill,EIO,ENOMEM").split(",")
PREEMPTIONS, FAULTS = map(int, os.environ.get("PASSCODE_DEPTH", "2,1").split(","))


@pytest.mark.parametrize("scene", PAIRS)
def test_every_interleaving_with_faults(stage, capsys, scene):
    with attack("every interleaving, with faults") as row:
        for pair in PAIRS[scene]:
            found = stage.judge(scene, pair, PREEMPTIONS, FAULTS, kinds=KINDS, until=time.monotonic() + SECONDS)
            row.run(found.schedules)
            with capsys.disabled():
                how = "all" if found.is_complete else "not all"
                print(f"\n  {scene}: {' and '.join(pair)}: {found.schedules} schedules, {found.steps} calls, {how}", end="", flush=True)
