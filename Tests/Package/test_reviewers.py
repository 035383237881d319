"""What Debian's reviewers run: lintian, blhc, piuparts and autopkgtest of sid, on the package as it was built."""

import re
import shutil
import subprocess

import pytest

from debian_machine import MACHINES, TREE, Machine, root, sh
from package import build, output

pytestmark = pytest.mark.on_request

TOOLS = "autopkgtest blhc ca-certificates dpkg-dev iproute2 lintian mmdebstrap piuparts uidmap"
# The last commit whose package has been installed anywhere; it was built the same way.
BEFORE = "d135205"


class Connected(Machine):
    """With this machine's network. Its root is one by pivot_root: in a chroot, nobody may make a user namespace."""

    namespaces = tuple(name for name in Machine.namespaces if name != "net")
    boot = Machine.boot.replace('exec chroot "$root"', 'cd "$root"; pivot_root . mnt; umount --lazy /mnt; exec')


@pytest.fixture(scope="module")
def tools(built, builds):
    """sid, with what was built in /built, its source package in /source, and minimal roots of Debian 12 and 13."""
    machine = Connected(root("sid", TOOLS))
    sh("cp", "/etc/resolv.conf", machine.path / "etc/resolv.conf")
    (machine.path / "built").mkdir()
    sh("cp", *built.glob("*.*deb"), *built.glob("*.changes"), *built.glob("*.buildinfo"), built / "log", machine.path / "built")
    yield machine
    machine.remove()


@pytest.fixture(scope="module")
def source(tools):
    """The source package, as debian/make-orig and dpkg-source make it."""
    folder = MACHINES / "source-package"
    sh("git", "-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", TREE, folder / "source")
    sh("debian/make-orig", cwd=folder / "source", stdout=subprocess.DEVNULL)
    sh("dpkg-source", "--build", "source", cwd=folder, stdout=subprocess.DEVNULL)
    sh("cp", "--recursive", folder, tools.path / "source")
    shutil.rmtree(folder)
    return tools.path / "source"


@pytest.fixture(scope="module")
def before(tools):
    """A repository with the packages of that commit."""
    folder = MACHINES / "before"
    (folder / "source").mkdir(parents=True)
    archive = sh("git", "-c", "safe.directory=*", "archive", BEFORE, cwd=TREE, capture_output=True).stdout
    sh("tar", "-x", cwd=folder / "source", input=archive)
    build(folder, lambda source: source)
    (tools.path / "before").mkdir()
    sh("cp", *(path for path in folder.glob("*.deb") if "-dbgsym_" not in path.name), tools.path / "before")
    shutil.rmtree(folder)
    tools.run("sh", "-c", "cd /before && dpkg-scanpackages . > Packages")


@pytest.fixture
def tarball(tools, release):
    """A minimal system, as piuparts and autopkgtest want one."""
    sh("tar", "-c", "-f", tools.path / f"{release}.tar", "-C", root(release, "apt"), ".")
    return f"/{release}.tar"


def test_lintian(tools, source):
    """Binary packages and source: no tag of any severity that isn't overridden, with its reason beside it."""
    said = tools.run("sh", "-c", "lintian -EI --pedantic --allow-root /built/*.changes /source/*.dsc", status=None, timeout=600)
    assert not re.search("^[A-Z]: (?!N)", said.replace("\nN: ", "\n"), re.MULTILINE), said


def test_blhc(tools, built):
    """It knows gcc and not clang, so it reads gcc's words for the same. With -pie it wants -fPIE, which gcc needs in
    link-time optimisation; clang has it from the objects, which are compiled with -fPIC. swift-build compiles and links
    Package.swift, too, which nobody installs."""
    commands = [
        re.sub(r"-Xlinker (\S+) -Xlinker (now|relro)\b", r"-Wl,\1,\2", f"gcc {line.partition(' ')[2]}").replace(" -pie ", " -fPIE -pie ")
        for line in (built / "log").read_text().splitlines()
        if re.match(r"\S+/clang .* -o \S+(?<!-manifest)$", line)
    ]  # fmt: skip
    assert sum(" -c " in line for line in commands) == len(list((TREE / "Sources").glob("C*/*.c")))
    assert sum(" -c " not in line for line in commands) == 6
    (tools.path / "log").write_text("\n".join(("dpkg-buildpackage: info: source package pam-passcode", *commands, "")))
    assert tools.run("blhc", "--all", "/log", status=None) == ""


def test_piuparts(tools, before, tarball, release):
    """Installation, removal and purge of all four packages; the same after an upgrade from an earlier build."""
    mirror = "--mirror=http://deb.debian.org/debian", "--extra-repo=deb [trusted=yes] file:///before ./", "--bindmount=/before"
    debs = [f"/built/{path.name}" for path in (tools.path / "built").glob("*.deb") if "-dbgsym_" not in path.name]
    said = tools.run("piuparts", f"--basetgz={tarball}", f"--distribution={release}", "--no-eatmydata", *mirror, *debs, timeout=900)
    for what in ("Installation and purging test", "Installation, upgrade and purging tests", "All tests"):
        assert f"PASS: {what}." in said


def test_autopkgtest_in_a_user_namespace(tools, tarball, release):
    """debian/tests/stack, with the runner "unshare". The other tests need systemd: test_autopkgtest.py."""
    who = f"tester-{release}"
    tools.run("useradd", "--create-home", who)
    (tools.path / "home" / who / "tree").mkdir()
    sh("cp", "--recursive", TREE / "debian", tools.path / "home" / who / "tree")
    sh("cp", *(tools.path / "built").glob("libpam-passcode_*.deb"), tools.path / "home" / who)
    tools.run("chown", "--recursive", who, f"/home/{who}")
    run = "autopkgtest --no-built-binaries --setup-commands='apt-get update' ./libpam-passcode_*.deb ./tree/"
    said = tools.run("sh", "-c", f"cd && {run} -- unshare --tarball {tarball} --release {release} 2>&1 | cat", user=who, timeout=900)
    assert re.search(r"^stack +PASS$", said, re.MULTILINE), said
    assert set(re.findall(r"^(\w+) +SKIP ", said, re.MULTILINE)) == {"finger", "fleet"}
