"""Fixtures. What is missing fails loudly: nothing here is ever skipped."""

import concurrent.futures
import functools
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(__file__)), "Support"))

import debian_machine as machines  # noqa: E402
from package import build  # noqa: E402
from process import heed_signals  # noqa: E402

RELEASES = ("bookworm", "trixie")


def pytest_configure(config):
    config.addinivalue_line("markers", "on_request: takes long, or needs large programs; see Tests/package")
    config.addinivalue_line("markers", "only(RELEASE): of the tests for each release, the one that has the program")
    if not os.environ.get("PASSCODE_NAMESPACE"):
        pytest.exit("run these by Tests/package, which makes a mount namespace for them", 1)
    heed_signals()


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not (mark := item.get_closest_marker("only")) or of(item) in mark.args]


def of(item):
    """The release that a test is for."""
    return item.callspec.params["release"]


@pytest.fixture(scope="session")
def built():
    """The folder of the package's build: the .deb, its .changes, the tree. Meanwhile the roots are made, too."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        roots = pool.map(machines.root, RELEASES)
        folder = build(machines.MACHINES / "build")
        list(roots)  # waits, and raises what went wrong
    return folder


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
        text = control.read_text()
        control.write_text(
            "".join(
                f"Version: {version}\n" if line.startswith("Version:") else line
                for line in text.splitlines(keepends=True)
            )
        )
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
def enabled(bare, deb):
    """Makes machines where it is installed, alice enrolled, and the profile enabled."""
    first = bare()
    first.install(deb)
    first.enroll()
    first.enable()
    return first.copy()


@pytest.fixture
def fresh(bare):
    machine = bare()
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
