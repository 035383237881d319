"""Several runs of the same tests side by side. With PASSCODE_SHARED, a directory that they have in common, each test file
belongs to the run that comes to it first, and so does what is made once for all of them."""

import contextlib
import fcntl
import functools
import itertools
import os
import pathlib

import pytest

FOLDER = os.environ.get("PASSCODE_SHARED")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A hook for a conftest.py. True, as if the test had run, where another run has the file: it counts there."""
    if is_ours(part(item)):
        return None
    # The test before it has kept the fixtures that this one shares with it; this one isn't run, so they end here.
    item.session._setupstate.teardown_exact(nextitem)
    return True


def part(item):
    """The name of its file, and of the Debian release that it is for: each release's tests run by themselves. Those that wait
    and are few are shared one by one."""
    if item.get_closest_marker("calm"):
        return item.nodeid.replace("/", "-")
    release = item.callspec.params.get("release", "") if hasattr(item, "callspec") else ""
    return f"{item.nodeid.partition('::')[0].replace('/', '-')}{release}"


def begin_with(files, items):
    """The tests of these files come first, in this order, where runs share the files: so these end at about the same time."""
    if FOLDER is not None:
        items.sort(key=lambda item: files.index(item.path.name) if item.path.name in files else len(files))


@functools.cache
def is_ours(name):
    """Whether this run has that part: it does if it can make a file of that name."""
    if FOLDER is None:
        return True
    try:
        (pathlib.Path(FOLDER) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@functools.cache
def place():
    """Which of these runs this one is, from 0 on."""
    return next(number for number in itertools.count() if is_ours(f"place-{number}"))


@contextlib.contextmanager
def locked(path):
    """One run at a time; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
