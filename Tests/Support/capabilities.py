"""What a machine may lack, and what tests need of it: hooks for a conftest.py. A mark names it. Where it is missing the
test is left out and counted; where nothing is missing, nothing is ever left out: then a skipped test has failed."""

import contextlib
import os
import pathlib
import time

import pytest

NAMES = {
    "mounts": "mount(2), which needs CAP_SYS_ADMIN",
    "namespaces": "namespaces, which need CAP_SYS_ADMIN",
    "cgroups": "a cgroup of its own",
    "privileges": "what only a privileged container has, such as CAP_SYS_PTRACE to look into a setuid program",
    "setuid": "setuid programs, which no-new-privileges forbids",
    "roots": "Debian roots, which need mounts and namespaces",
}
MISSING = os.environ.get("PASSCODE_MISSING", "").split()
BUSY = "too busy to measure"
# Processors. If all other programs together use less, what is measured isn't disturbed by them.
MUCH = 0.5
# What a fixture does, its tests need.
OF_FIXTURES = {
    "fleet": "namespaces", "running_fleet": "namespaces", "apart": "namespaces", "ward": "namespaces",
    "reader": "mounts", "enrolled_reader": "mounts", "free_reader": "mounts", "installed_reader": "mounts",
    "touchable": "mounts", "peers": "mounts", "installation": "setuid", "release": "roots",
}  # fmt: skip


# Tests that need something without such a fixture, a line each: what, and the test's id, or how that begins.
LIST = pathlib.Path(__file__).with_name("needs")


def listed():
    """(what, the file, the rest of the id) of each line."""
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            what, _, test = line.partition(" ")
            file, _, rest = test.partition("::")
            yield what, file, rest


def mark(items):
    """By the list. A line that names no test is a mistake."""
    there = {item.nodeid.partition("::")[0] for item in items}
    for what, file, rest in listed():
        if file in there:
            for item in items:
                path, _, name = item.nodeid.partition("::")
                if path == file and (name == rest or name.startswith(f"{rest}[")):
                    item.add_marker(what)


def add_marks(config):
    for name, what in NAMES.items():
        config.addinivalue_line("markers", f"{name}: needs {what}")


def needs(item):
    """The names of what a test needs."""
    marked = {mark.name for mark in item.iter_markers() if mark.name in NAMES}
    return marked | {OF_FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in OF_FIXTURES}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for name in sorted(needs(item)):
        if name in MISSING:
            pytest.skip(f"needs {NAMES[name]}")


def processes():
    """{pid: (parent, its ticks of processor time, its mount namespace)}."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            found[int(path.name)] = int(fields[1]), int(fields[11]) + int(fields[12]), os.readlink(path / "ns/mnt")
    return found


def foreign(before, after):
    """{pid: ticks between the two} of the programs that aren't of this run: neither in its mount namespace nor started here."""
    here, found = os.readlink("/proc/self/ns/mnt"), {}
    for pid in before.keys() & after.keys():
        ancestor = pid
        while ancestor in after and ancestor != os.getpid():
            ancestor = after[ancestor][0]
        if ancestor != os.getpid() and after[pid][2] != here:
            found[pid] = after[pid][1] - before[pid][1]
    return found


def used_by_others():
    """Processors that other programs use just now. In a container that can mount nothing there are none to be told apart."""
    before, begin = processes(), time.monotonic()
    time.sleep(1)
    ticks = sum(foreign(before, processes()).values())
    return ticks / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begin)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    missed = report.failed and call.when == "call" and call.excinfo.errisinstance(AssertionError)
    if missed and item.get_closest_marker("alone") and (used := used_by_others()) > MUCH:
        why = f"{BUSY}: other programs use {used:.1f} processors"
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], f"Skipped: {why}")
        return
    reason = str(call.excinfo.value) if report.skipped and call.excinfo else ""
    if report.skipped and not (needs(item) & set(MISSING)) and not reason.startswith(BUSY):
        report.outcome, report.longrepr = "failed", f"left out, though nothing that it needs is missing: {reason}"
