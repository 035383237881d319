"""`passcode try --demo`: the whole thing in a throw-away store, through the real libpam and the real module."""

import os
import pathlib
import shutil
import subprocess

import pytest

from bed import MODULE, TOOL, become

STORY = [
    "Passcode: ",
    "Wrong passcode, 2 attempts left.",
    "Wrong passcode, 1 attempt left.",
    "Passcode locked (1 minute left to unlock).",
]


def demo(tool, folder, **how):
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "HOME": "/nonexistent"}
    return subprocess.run(
        [str(tool), "try", "--demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        env=environment, cwd="/", **how,
    )  # fmt: skip


@pytest.fixture
def copies(bed):
    """The two programs side by side, in a folder of their own."""
    for program in (TOOL, MODULE):
        shutil.copy2(program, bed.folder)
    return bed.folder


def told(output):
    """True if the story is told in its order."""
    place = 0
    for words in STORY:
        place = output.find(words, place)
        if place < 0:
            return False
    return True


def everything_in(*folders):
    return {
        (str(path), path.lstat().st_mtime_ns)
        for folder in folders
        for path in [folder, *pathlib.Path(folder).rglob("*")]
    }


@pytest.mark.parametrize("who", ["root", "alice"])
def test_the_demo_plays_to_its_end_and_leaves_nothing(bed, who):
    temporary = bed.folder / "temporary"
    temporary.mkdir(mode=0o755)
    shutil.chown(temporary, who)
    watched = [pathlib.Path(folder) for folder in ("/etc", "/run", temporary)]
    before = everything_in(*watched)
    done = demo(TOOL, temporary, preexec_fn=None if who == "root" else become(who))
    assert done.returncode == 0, done.stdout + done.stderr
    assert told(done.stdout), done.stdout
    assert not pathlib.Path("/var/lib/passcode").exists()
    assert list(temporary.iterdir()) == []
    after = everything_in(*watched)
    assert {path for path, _ in before ^ after} <= {str(temporary)}


def test_the_demo_notices_a_module_that_lets_everybody_in(copies):
    [permit] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_permit.so")
    shutil.copy2(permit, copies / MODULE.name)
    done = demo(copies / TOOL.name, copies)
    assert done.returncode == 1


def test_the_demo_notices_a_module_that_lets_nobody_in(copies):
    [deny] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_deny.so")
    shutil.copy2(deny, copies / MODULE.name)
    done = demo(copies / TOOL.name, copies)
    assert done.returncode == 1


def test_without_a_terminal_try_is_the_demo(bed):
    done = subprocess.run(
        ["setsid", str(TOOL), "try"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and told(done.stdout)
