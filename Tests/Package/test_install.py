"""Outside Debian's packaging: Sources/system/install with other settings than Debian's, into an empty root."""

import os
import re
import subprocess

import pytest

from debian_machine import MACHINES, OTHER, RIGHT, Machine, root, sh
from package import copy_tree

MODULES, HELPER, ACCOUNT = "/usr/lib/security", "/usr/lib/pam-passcode/helper-1", "pass_code"
SETTINGS = {"PASSCODE_MODULE_DIRECTORY": MODULES, "PASSCODE_HELPER_PATH": HELPER, "PASSCODE_ACCOUNT": ACCOUNT}


def run(tree, **setting):
    """As an ordinary user, as packages are built."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **setting}
    who = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    return subprocess.run(
        [*who, "Sources/system/install"], cwd=tree, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def installed():
    """The root, and the commands for after the installation."""
    tree = copy_tree(MACHINES / "install" / "tree")
    destination = MACHINES / "install" / "root"
    destination.mkdir()
    sh("chown", "-R", "nobody:nogroup", tree, destination)
    done = run(tree, DESTDIR=str(destination), **SETTINGS)
    assert done.returncode == 0, done.stdout
    sh("chown", "-R", "root:root", destination)
    return destination, done.stdout.split("run as root:\n")[1].splitlines()


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
    for bad in ("lib", "/a b", "/a&b", "/a|b"):
        done = run(tree, PASSCODE_MODULE_DIRECTORY=bad)
        assert done.returncode == 2 and f"not an absolute path of letters, digits and /._+-: {bad}" in done.stdout


def test_every_setting_is_in_every_file(installed):
    destination, _ = installed
    files = {f"/{path.relative_to(destination)}": path for path in destination.rglob("*") if path.is_file()}
    assert {f"{MODULES}/pam_passcode.so", HELPER, "/usr/bin/passcode", "/etc/pam.d/passcode"} <= files.keys()
    for name, path in files.items():
        if "completion" in name or "site-functions" in name:  # a function's name
            continue
        content = path.read_bytes()
        assert not re.search(rb"(?<!\w)_passcode\b|/usr/libexec/passcode|linux-gnu/security", content), name
        assert b"/nonexistent" not in content and bytes(destination) not in content, name
    page = files["/usr/share/man/man8/passcode-helper.8"].read_text()
    assert HELPER.replace("-", r"\-") in page and ACCOUNT in page
    profile = files["/etc/apparmor.d/usr.libexec.passcode-helper"].read_text()
    assert f"profile passcode-helper {HELPER} {{" in profile and f"{MODULES}/pam_*.so mr," in profile


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
    # Its group has no members, everything is where it looks for it, and nothing is an error.
    findings = machine.run("passcode", "check")
    assert "✗" not in findings, findings
