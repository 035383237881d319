"""Outside Debian's packaging: Sources/system/install with other settings than Debian's, into an empty root."""

import os
import re
import subprocess

import pytest

from debian_machine import MACHINES, OTHER, RIGHT, TREE, Machine, root, sh
from package import copy_tree

pytestmark = pytest.mark.on_request

MODULES, ACCOUNT = "/usr/lib/security", "pass_code"
HELPER, FINGER = "/usr/lib/pam-passcode/helper-1", "/usr/lib/pam-passcode/finger-1"
SETTINGS = {
    "PASSCODE_MODULE_DIRECTORY": MODULES, "PASSCODE_HELPER_PATH": HELPER, "PASSCODE_FINGER_PATH": FINGER,
    "PASSCODE_ACCOUNT": ACCOUNT,
}  # fmt: skip
UNITS = "/usr/lib/systemd/system"


def run(tree, **setting):
    """As an ordinary user, as packages are built."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **setting}
    who = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    return subprocess.run(
        [*who, "Sources/system/install"], cwd=tree, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def install(tree, destination, **more):
    """Answers with the commands for after the installation."""
    destination.mkdir()
    sh("chown", "-R", "nobody:nogroup", destination)
    done = run(tree, DESTDIR=str(destination), **SETTINGS, **more)
    assert done.returncode == 0, done.stdout
    sh("chown", "-R", "root:root", destination)
    return done.stdout.split("run as root:\n")[1].splitlines()


@pytest.fixture(scope="module")
def tree():
    tree = copy_tree(MACHINES / "install" / "tree")
    sh("chown", "-R", "nobody:nogroup", tree)
    return tree


@pytest.fixture(scope="module")
def installed(tree):
    """The root with everything in it, and the commands."""
    destination = MACHINES / "install" / "root"
    return destination, install(tree, destination, PASSCODE_FINGER="yes")


@pytest.fixture(scope="module")
def system(installed):
    """A machine of a distribution without our package, on which that root lies."""
    destination, commands = installed
    machine = Machine(destination, root("trixie"))
    machine.people()
    yield machine, commands
    machine.remove()


def test_a_missing_or_bad_setting_is_named(tmp_path):
    tree = copy_tree(tmp_path / "tree")
    for path in (tmp_path, *tmp_path.parents):
        path.chmod(path.stat().st_mode | 0o111)
    done = run(tree)
    assert done.returncode == 2 and "set PASSCODE_MODULE_DIRECTORY" in done.stdout
    for name in ("PASSCODE_MODULE_DIRECTORY", "PASSCODE_HELPER_PATH", "PASSCODE_FINGER_PATH"):
        for bad in ("lib", "/a b", "/a&b", "/a|b"):
            done = run(tree, **{**SETTINGS, name: bad})
            assert done.returncode == 2
            assert f"not an absolute path of letters, digits and /._+-: {bad}" in done.stdout


def files_below(destination):
    return {f"/{path.relative_to(destination)}": path for path in destination.rglob("*") if path.is_file()}


def test_nothing_is_left_out(installed):
    destination, _ = installed
    files = files_below(destination)
    assert {f"{MODULES}/pam_passcode.so", HELPER, FINGER, "/usr/bin/passcode"} <= files.keys()
    assert {f"{UNITS}/passcode-finger.socket", f"{UNITS}/passcode-finger@.service"} <= files.keys()
    link = destination / UNITS[1:] / "multi-user.target.wants/passcode-key.service"
    assert link.is_symlink() and link.resolve() == files[f"{UNITS}/passcode-key.service"]
    sources = [path for folder in ("Sources/system", "pam.d") for path in (TREE / folder).rglob("*") if path.is_file()]
    names = {path.name for path in files.values()}
    assert {path.name for path in sources if path.parent.name != "po"} - names == {"install"}
    languages = {path.stem for path in sources if path.suffix == ".po"}
    catalogues = {f"/usr/share/locale/{language}/LC_MESSAGES/libpam-passcode.mo" for language in languages}
    assert languages and catalogues <= files.keys()


def test_the_reader_is_left_out_unless_it_is_wanted(tree, installed):
    everything = files_below(installed[0])
    destination = MACHINES / "install" / "less"
    commands = install(tree, destination)
    left_out = everything.keys() - files_below(destination).keys()
    assert left_out == {name for name in everything if "finger" in name}
    assert commands == installed[1][:-1] and installed[1][-1] == "systemctl enable passcode-finger.socket"


def test_every_setting_is_in_every_file(installed):
    destination, _ = installed
    files = files_below(destination)
    for name, path in files.items():
        if "completion" in name or "site-functions" in name:  # a function's name
            continue
        content = path.read_bytes()
        assert not re.search(rb"(?<!\w)_passcode\b|/usr/libexec/passcode|linux-gnu/security", content), name
        assert b"/nonexistent" not in content and bytes(destination) not in content, name
    for name, program in (("helper", HELPER), ("finger", FINGER)):
        page = files[f"/usr/share/man/man8/passcode-{name}.8"].read_text()
        assert program.replace("-", r"\-") in page
        profile = files[f"/etc/apparmor.d/usr.libexec.passcode-{name}"].read_text()
        assert f"profile passcode-{name} {program} {{" in profile and f"  {program} mr," in profile
    assert ACCOUNT in files["/usr/share/man/man8/passcode-helper.8"].read_text()
    assert f"ExecStart=-{FINGER}\n" in files[f"{UNITS}/passcode-finger@.service"].read_text()
    profile = files["/etc/apparmor.d/usr.libexec.passcode-helper"].read_text()
    assert f"{MODULES}/pam_*.so mr," in profile


def test_the_demo_plays_there(system):
    machine, _ = system
    said = machine.run("passcode", "try", "--demo", user="alice")
    assert re.search(r"^All \d+ steps worked\.$", said, re.MULTILINE), said


def test_a_login_through_the_helper_after_the_commands_that_it_prints(system):
    """Each of them, as it stands there."""
    machine, commands = system
    for command in commands:
        machine.run("sh", "-c", command)
    (machine.path / "etc/pam.d/locker").write_text(f"auth required {MODULES}/pam_passcode.so\n")
    machine.enroll()
    for code, status in ((OTHER, 1), (RIGHT, 0)):
        machine.run("pamtester", "locker", "alice", "authenticate", user="alice", input=f"{code}\n", status=status)
    assert machine.state()["enrolled"]
    assert machine.run("stat", "-c", "%U:%G %a", HELPER) == f"{ACCOUNT}:{ACCOUNT} 6755\n"
    assert machine.run("stat", "-c", "%U %a", "/var/lib/passcode") == f"{ACCOUNT} 700\n"
    assert machine.run("systemctl", "is-enabled", "passcode-finger.socket") == "enabled\n"
    # Its group has no members, everything is where it looks for it, and nothing is an error.
    findings = machine.run("passcode", "check")
    assert "✗" not in findings, findings
