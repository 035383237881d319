"""arm64: the package, built on amd64, checked against the one for amd64, and played in an emulated machine of arm64."""

import re
import shutil

import pytest

import arm64
from debian_machine import MACHINES, OTHER, PASSWORD, RIGHT, Machine, root, sh
from package import copy_tree

pytestmark = pytest.mark.on_request

BUILD = (
    "adduser build-essential crossbuild-essential-arm64 debhelper dh-apparmor iproute2 libpam0g-dev:arm64"
    " libsodium-dev:arm64 libsystemd-dev:arm64 lintian passwd sudo swiftlang"
)
# The Embedded standard library for arm64, which only the compiler's package for arm64 has.
EMBEDDED = (
    '--customize-hook=chroot "$1" sh -ec "cd /tmp && apt-get download swiftlang:arm64'
    " && dpkg-deb --fsys-tarfile swiftlang_*.deb | tar -x -C / --wildcards './usr/libexec/swift/lib/swift/embedded/*'"
    ' && rm swiftlang_*.deb"'
)
FILES = "test_helper", "test_tool", "test_module", "test_lockout"
PROGRAMS = "pam_passcode.so", "passcode", "passcode-helper", "passcode-finger", "passcode-fleet", "passcode-verifier"
PACKAGES = "libpam-passcode", "passcode-finger", "passcode-fleet", "passcode-verifier"
FOLDERS = "bin", "libexec", "sbin", "security"
# The others need libpam. Each needs libc and libsodium, and ld.so, from which arm64's stack protector reads.
MORE = {"passcode-finger": {"libsystemd.so.0"}, "passcode-fleet": set(), "passcode-verifier": set()}


@pytest.fixture(scope="module")
def builder():
    machine = Machine(root("sid", BUILD, "--architectures=amd64,arm64", EMBEDDED))
    machine.people()
    copy_tree(machine.path / "home/alice/build/tree")
    machine.run("chown", "-R", "alice:alice", "/home/alice/build")
    print(machine.run(
        "sh", "-c", "cd ~/build/tree && DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b -aarm64 -Pcross,nocheck",
        user="alice", timeout=3_600,
    ))  # fmt: skip
    yield machine
    machine.remove()


def built(builder, name):
    [path] = builder.path.glob(f"home/alice/build/{name}_*_arm64.deb")
    return path


@pytest.fixture(scope="module")
def package(builder):
    return built(builder, "libpam-passcode")


@pytest.fixture(scope="module")
def programs(builder):
    folder = MACHINES / "arm64-programs"
    folder.mkdir()
    for name in PACKAGES:
        sh("dpkg-deb", "-x", built(builder, name), folder / "content")
    for name in PROGRAMS:
        # Completions and a PAM service have the tool's name, too.
        [path] = (path for path in (folder / "content").rglob(name) if path.parent.name in FOLDERS)
        shutil.copy(path, folder)
    shutil.rmtree(folder / "content")
    return folder


@pytest.fixture(scope="module")
def guest(package, programs):
    copy_tree(MACHINES / "arm64-tree")
    guest = arm64.Guest(arm64.disk(package, programs, MACHINES / "arm64-tree", downloads=["etcd-server"]))
    yield guest
    guest.remove()


def readelf(option, path):
    return sh("readelf", "--wide", option, path, capture_output=True, text=True).stdout


def test_lintian(builder):
    [changes] = builder.path.glob("home/alice/build/*_arm64.changes")
    assert all(f" {built(builder, name).name}\n" in changes.read_text() for name in PACKAGES)
    said = builder.run(
        "sh", "-c", "cd ~/build && lintian --fail-on error,warning *_arm64.changes", user="alice", timeout=600
    )
    assert not re.search("^[EW]:", said, re.MULTILINE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hardening_and_libraries_as_on_amd64(programs, name):
    """As test_binaries.py demands there."""
    path = programs / name
    dynamic, segments = readelf("--dynamic", path), readelf("--program-headers", path)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    wanted = MORE.get(name, {"libpam.so.0"}) | {"libsodium.so.26", "libc.so.6"}
    assert wanted <= needed <= wanted | {"ld-linux-aarch64.so.1"}
    assert "RUNPATH" not in dynamic and "TEXTREL" not in dynamic
    assert "BIND_NOW" in dynamic or "NOW" in dynamic
    assert "GNU_RELRO" in segments and re.search(r"GNU_STACK .* RW  ", segments)
    assert not re.search(r"LOAD .* RWE ", segments) and "DYN" in readelf("--file-header", path)
    # Pages of 64 KiB.
    assert set(re.findall(r"LOAD .* (0x\w+)$", segments, re.MULTILINE)) == {"0x10000"}
    symbols = readelf("--dyn-syms", path)
    assert "__stack_chk_fail" in symbols
    # Of the functions with a checked form passcode-finger calls none, on amd64 neither.
    assert "_chk@" in symbols or name == "passcode-finger"


def test_the_module_exports_pam_entries_and_is_small(programs):
    symbols = readelf("--dyn-syms", programs / "pam_passcode.so").splitlines()
    # Swift 6.2 makes them weak, 6.3 global: dlsym finds both.
    defined = [line for line in symbols if re.search(r"(?:GLOBAL|WEAK) +\w+ +\d+ ", line)]
    exported = {line.split()[-1].partition("@")[0] for line in defined}
    names = "authenticate", "setcred", "open_session", "close_session"
    assert exported == {f"pam_sm_{name}" for name in names}
    size = (programs / "pam_passcode.so").stat().st_size
    print(f"{size} bytes")
    assert size <= 98_304


def test_the_machine_is_what_it_should_be(guest):
    assert guest.run("uname -m; getconf PAGESIZE; dpkg --print-architecture") == "aarch64\n16384\narm64\n"
    assert "undefined" not in guest.run("ldd -r /root/arm64-programs/pam_passcode.so")


def test_the_demo(guest):
    assert re.search(r"^All \d+ steps worked\.$", guest.run("/root/arm64-programs/passcode try --demo"), re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_from_outside(guest, name):
    said = guest.run(
        "cd /root/arm64-tree && PASSCODE_BUILD=/root/arm64-programs"
        f" Tests/outside Tests/Outside/{name}.py 2>&1 | tail -n 60"
    )
    assert re.match(r"\d+ passed(, \d+ warnings?)? in ", said.splitlines()[-1]), said


@pytest.fixture(scope="module")
def installed(guest):
    """The package, and sudo for alice."""
    guest.run("useradd --create-home --shell /bin/bash alice")
    guest.run(f"echo alice:{PASSWORD} | chpasswd")
    guest.run("echo 'Defaults timestamp_timeout=0, !lecture' >/etc/sudoers.d/alice")
    guest.run("echo 'alice ALL=(ALL) ALL' >>/etc/sudoers.d/alice")
    guest.run("dpkg -i /root/libpam-passcode_*_arm64.deb")
    guest.run(f"echo {RIGHT} | passcode enroll alice --stdin && pam-auth-update --enable passcode")
    return guest


PROMPT, AGAIN = "Passcode or password: ", r"Passcode \(2 attempts left\) or password: "
# su -c would take the terminal away.
SUDO = "setpriv --reuid=alice --regid=alice --init-groups sudo id -un"


def test_the_installed_package_with_real_sudo(installed):
    """sudo asks as root; the helper serves alice herself."""
    assert "root" in installed.run(SUDO, (PROMPT, RIGHT))
    assert "root" in installed.run(SUDO, (PROMPT, OTHER), (AGAIN, PASSWORD))
    assert '"failures":1' in installed.run("su alice -c 'passcode status --json'")
    assert "✗" not in installed.run("passcode check")


def test_a_server_of_a_fleet(installed):
    """The verifier, with Debian's etcd for arm64."""
    program = "/root/arm64-tree/Tests/Support/lone_server.py"
    said = installed.run(f"python3 {program} /root/etcd /root/arm64-programs/passcode-verifier alice 274163")
    assert "alice: enrolled, wrong passcodes in a row: 0\n" in said
