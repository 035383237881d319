"""Several runs of the same tests side by side. With PASSCODE_SHARED, a directory that they have in common, each test file
belongs to the run that comes to it first, and so does what is made once for all of them."""

import contextlib
import fcntl
import functools
import os
import pathlib

import pytest

FOLDER = os.environ.get("PASSCODE_SHARED")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A hook of a conftest.py. True, as if it were done, where another run has the file: it counts there."""
    if is_ours(part(item)):
        return None
    # What the test before it left for the next one, which may be this one's neighbour and is not run here.
    item.session._setupstate.teardown_exact(nextitem)
    return True


def part(item):
    """The name of its file, and of the Debian release that it is for: those tests are not beside the file's others."""
    release = item.callspec.params.get("release", "") if hasattr(item, "callspec") else ""
    return f"{item.nodeid.partition('::')[0].replace('/', '-')}{release}"


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


@contextlib.contextmanager
def locked(path):
    """One run at a time; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
