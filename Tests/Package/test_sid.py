"""Debian sid: the package as Debian would build it, by its own compiler and nothing else, without a network."""

import os
import re

import pytest

from debian_machine import Machine, root, sh
from package import copy_tree, passcode_works

pytestmark = pytest.mark.on_request

# What debian/control wants without a profile; and, for the tests that are run there, what these need.
BUILD = "build-essential debhelper dh-apparmor libpam0g-dev libsodium-dev libsystemd-dev swiftlang"
TESTS = (
    "adduser e2fsprogs git iproute2 libcrypt-dev libpam-runtime libpam-wrapper lintian pamtester passwd procps python3"
    " python3-dbus python3-pexpect python3-pytest strace sudo util-linux"
)
# What the package declares; and ip, by which a machine of the tests gets its loopback.
DECLARED = "adduser iproute2 libpam-runtime libpam0g libsodium26"
FILES = "test_binaries", "test_module", "test_lockout", "test_tool", "test_helper"


@pytest.fixture(scope="module")
def builder():
    """The machine in which an ordinary user has built it."""
    machine = Machine(root("sid", f"{BUILD} {TESTS}"))
    machine.people()
    copy_tree(machine.path / "home/alice/build/tree")
    machine.run("chown", "-R", "alice:alice", "/home/alice/build")
    said = machine.run(
        "sh", "-c", "cd ~/build/tree && dpkg-buildpackage -us -uc -b", user="alice", timeout=3_600
    )
    print(said)
    assert re.search(r"Test run with \d+ tests in \d+ suites passed", said), said
    yield machine
    machine.remove()


@pytest.fixture(scope="module")
def package(builder):
    [path] = builder.path.glob("home/alice/build/libpam-passcode_*.deb")
    return path


def test_nothing_else_compiled_it(builder):
    assert "Swift version 6.2.3" in builder.run("swift", "--version")
    found = builder.run("bash", "-c", "type -aP swift swiftc", user="alice").split()
    assert found and {os.path.dirname(path) for path in found} <= {"/usr/bin", "/bin"}, found
    assert builder.run("dpkg", "-S", "/usr/bin/swiftc").startswith("swiftlang")


def test_lintian(builder):
    said = builder.run(
        "sh", "-c", "cd ~/build && lintian --fail-on error,warning *.changes", user="alice", timeout=600
    )
    assert not re.search("^[EW]:", said, re.MULTILINE)


def test_it_needs_the_libraries_of_sid(builder, package):
    said = builder.run("dpkg-deb", "-f", f"/{package.relative_to(builder.path)}", "Depends")
    names = re.findall(r"[\w-]+(?= \(|,|$)", said.strip())
    assert set(names) == {"adduser", "libc6", "libpam-runtime", "libpam0g", "libsodium26"}


def test_the_demo(builder):
    """What a person sees who tries it in the tree."""
    said = builder.run("/home/alice/build/tree/.build/ship/out/passcode", "try", "--demo", user="alice")
    assert re.search(r"^All \d+ steps worked\.$", said, re.MULTILINE), said


@pytest.mark.parametrize("name", FILES)
def test_from_outside(builder, name):
    said = builder.run(
        "sh", "-c", f"cd /home/alice/build/tree && Tests/outside Tests/Outside/{name}.py", timeout=1_800
    )
    assert re.match(r"\d+ passed(, \d+ warnings?)? in ", said.splitlines()[-1]), said


def test_it_installs_with_what_it_declares_and_works(package):
    """The libsodium of sid, 1.0.19 or newer; bookworm and trixie have 1.0.18."""
    machine = Machine(root("sid", DECLARED))
    machine.run("useradd", "--create-home", "--shell", "/bin/bash", "alice")
    sh("cp", package, machine.path / "tmp")
    machine.run("sh", "-c", "dpkg -i /tmp/*.deb")
    assert re.search(r"^All \d+ steps worked\.$", machine.run("passcode", "try", "--demo"), re.MULTILINE)
    machine.enroll()
    machine.enable()
    passcode_works(machine)
    assert "✗" not in machine.run("passcode", "check")
    machine.remove()
