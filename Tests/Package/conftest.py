"""Fixtures. What is missing fails loudly: nothing here is ever skipped."""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(__file__)), "Support"))

import compiled  # noqa: E402, F401, I001
import capabilities  # noqa: E402
import debian_machine as machines  # noqa: E402
import shared  # noqa: E402
from package import build_once, build_otherwise  # noqa: E402
from process import heed_signals  # noqa: E402
from capabilities import pytest_runtest_makereport, pytest_runtest_setup  # noqa: E402, F401
from shared import begin_with, pytest_runtest_protocol  # noqa: E402, F401

RELEASES = ("bookworm", "trixie")
FIRST = [f"test_{name}.py" for name in "lifecycle key help_desk scripts ansible_tasks every_program finger_deb fleet_deb".split()]
BUILDS = pathlib.Path(shared.FOLDER or machines.MACHINES)


def pytest_configure(config):
    capabilities.add_marks(config)
    config.addinivalue_line("markers", "on_request: takes long, or needs large programs; see Tests/package")
    config.addinivalue_line("markers", "only(RELEASE): of the tests for each release, the one that has the program")
    if not os.environ.get("PASSCODE_NAMESPACE"):
        pytest.exit("run these by Tests/package, which makes a mount namespace for them", 1)
    heed_signals()


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker("roots")
    items[:] = [item for item in items if not (mark := item.get_closest_marker("only")) or of(item) in mark.args]
    begin_with(FIRST, items)


def of(item):
    """The release that a test is for."""
    return item.callspec.params["release"]


@pytest.fixture(scope="session")
def pool():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield pool


@pytest.fixture(scope="session")
def builds(request, pool):
    """The folder of the package's build, and a second build to wait for: if a test needs that, it begins when the first
    one has ended, and goes on beside the tests. Meanwhile the roots are made, too."""
    roots = pool.map(machines.root, RELEASES)
    first = build_once(BUILDS / "build")
    is_needed = any("built_again" in item.fixturenames for item in request.session.items)
    second = pool.submit(build_once, BUILDS / "another-folder", build_otherwise) if is_needed else None
    list(roots)  # waits, and raises what went wrong
    return first, second


@pytest.fixture(scope="session")
def built(builds):
    """The folder of the package's build: the .deb, its .changes, the tree."""
    return builds[0]


@pytest.fixture(scope="session")
def built_again(builds):
    """The same in a folder of another name, at another time, by another user."""
    return builds[1].result()


@pytest.fixture(scope="session")
def deb(built):
    (path,) = built.glob("libpam-passcode_*.deb")
    return path


@pytest.fixture(scope="session")
def finger_deb(built):
    """The package of the program for the fingerprint reader."""
    (path,) = built.glob("passcode-finger_*.deb")
    return path


@pytest.fixture(scope="session")
def fleet_debs(built):
    """The packages of a fleet: the workstation's and the server's."""
    return [next(built.glob(f"{name}_*.deb")) for name in ("passcode-fleet", "passcode-verifier")]


@pytest.fixture(scope="session")
def other_version(deb):
    """The same package under another version: for upgrades and downgrades; `change`: what else it has otherwise; `of`:
    another package."""

    @functools.cache
    def make(version, change=None, of=deb):
        name = of.name.partition("_")[0]
        folder = machines.MACHINES / f"{name}-{version}"
        machines.sh("dpkg-deb", "-R", of, folder)
        if change:
            change(folder)
        control = folder / "DEBIAN/control"
        control.write_text(re.sub("(?m)^Version:.*$", f"Version: {version}", control.read_text()))
        path = machines.MACHINES / f"{name}_{version}.deb"
        machines.sh("dpkg-deb", "--root-owner-group", "-b", folder, path, stdout=subprocess.DEVNULL)
        return path

    return make


@pytest.fixture(scope="session", params=RELEASES)
def release(request):
    return request.param


@pytest.fixture(scope="session")
def bare(release):
    """Makes machines of that release with people, and without the package."""
    first = machines.Machine(machines.root(release))
    first.people()
    return first.copy()


@pytest.fixture(scope="session")
def packaged(bare, deb):
    """Makes machines where it is installed."""
    first = bare()
    first.install(deb)
    return first.copy()


@pytest.fixture(scope="session")
def enabled(packaged):
    """Makes machines where alice is enrolled, too, and the profile enabled."""
    first = packaged()
    first.enroll()
    first.enable()
    return first.copy()


@pytest.fixture
def fresh(bare):
    machine = bare()
    yield machine
    machine.remove()


@pytest.fixture
def installed(packaged):
    machine = packaged()
    yield machine
    machine.remove()


@pytest.fixture
def machine(enabled):
    machine = enabled()
    yield machine
    machine.remove()


@pytest.fixture(scope="session")
def bookworm():
    """Bare machines of one release, where another one would show nothing new."""
    first = machines.Machine(machines.root("bookworm"))
    first.people()
    return first.copy()
