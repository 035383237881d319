"""The package for Fedora, built on Debian: what is in it, and its profile, applied by authselect."""

import os
import re
import subprocess

import pytest

from debian_machine import MACHINES, PASSWORD, RIGHT, TREE, WRONG, Machine, root, sh
from package import copy_tree, output

pytestmark = pytest.mark.on_request

SPEC = TREE / "Sources/system/rpm/pam_passcode.spec"
FOLDER = MACHINES / "rpm"
MODULES = "/usr/lib/x86_64-linux-gnu"  # where Debian's libpam looks for them
PROFILE = "/usr/share/authselect/vendor/passcode"
PROGRAMS = "adduser authselect iproute2 libpam-pwquality libpam-runtime libsodium23 login pamtester passwd rpm sudo systemd"
NOBODY = "setpriv --reuid=nobody --regid=nogroup --clear-groups".split()
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def rpm():
    """Built by an ordinary user, from a tarball as debian/make-orig makes it. The tree is left behind."""
    text = SPEC.read_text()
    version = re.search(r"^Version: +(.*)$", text, re.MULTILINE)[1]
    copy_tree(FOLDER / f"pam-passcode-{version}")
    (FOLDER / "SOURCES").mkdir()
    sh("tar", "--create", "--xz", f"--directory={FOLDER}", f"pam-passcode-{version}",
       f"--file={FOLDER}/SOURCES/pam-passcode_{version}.orig.tar.xz")  # fmt: skip
    sh("chown", "-R", "nobody:nogroup", FOLDER)
    done = subprocess.run(
        [*NOBODY, "rpmbuild", "-bb", "--noclean", "--nodeps", "-D", f"_topdir {FOLDER}", "-D", f"_tmppath {FOLDER}",
         "-D", f"_libdir {MODULES}", SPEC], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout[-3000:]
    [path] = FOLDER.glob("RPMS/*/*.rpm")
    return path


def test_its_version_is_that_of_the_programs(rpm):
    version = re.search(r'VERSION "(.*)"', (TREE / "Sources/CSystem/version.c").read_text())[1]
    assert output("rpm", "--query", "--qf", "%{VERSION}", "--package", rpm) == version


def test_it_has_what_the_installation_puts_there_and_runs_what_that_prints(rpm):
    [tree] = FOLDER.glob("BUILD/pam-passcode-*")
    destination = FOLDER / "installed"
    settings = {"DESTDIR": str(destination), "PASSCODE_MODULE_DIRECTORY": f"{MODULES}/security",
                "PASSCODE_AUTHSELECT": "yes", "PASSCODE_STUNNEL": "/usr/bin/stunnel"}  # fmt: skip
    said = output(*NOBODY, "Sources/system/install", cwd=tree, env={**ENVIRONMENT, **settings})
    put = {f"/{path.relative_to(destination)}": path for path in destination.rglob("*")}
    files = {name: f"{path.lstat().st_mode:o}" for name, path in put.items() if path.is_symlink() or path.is_file()}

    fields = "[%{FILEMODES:octal} %{FILEUSERNAME} %{FILEFLAGS:fflags}. %{FILENAMES}\n]"
    there = [line.split() for line in output("rpm", "--query", "--qf", fields, "--package", rpm).splitlines()]
    assert {user for _, user, _, _ in there} == {"root"}
    packed = {name: mode for mode, _, _, name in there if not mode.startswith("4")}
    documents = {name for name in packed if name.endswith(("/LICENSE", "/README.md"))}
    assert {name: packed[name] for name in packed.keys() - documents} == files
    assert len(documents) == 2 and len(files) > 40
    folders = {name for mode, _, _, name in there if mode.startswith("4")}
    assert {"/etc/passcode", "/var/lib/passcode", PROFILE, "/usr/share/passcode"} < folders
    assert {name for name in folders if "passcode" not in name and not name.endswith(".service.d")} == set()
    kept = {name for _, _, flags, name in there if flags == "cn."}
    assert kept == {name for name in files if name.startswith("/etc/")} - {"/etc/shadow-maint/userdel-post.d/passcode"}

    scripts = output("rpm", "--query", "--scripts", "--package", rpm)
    assert scripts.rstrip("\n").splitlines()[1:] == said.split("run as root:\n")[1].splitlines()


def test_rpmlint_finds_nothing(rpm):
    said = output("rpmlint", "--rpmlintrc", SPEC.with_suffix(".rpmlintrc"), SPEC, rpm)
    assert "1 packages and 1 specfiles checked; 0 errors, 0 warnings" in said, said


# MARK: Installed, on a Debian system with authselect

SERVICES = {
    "include": "auth include system-auth\naccount include system-auth\n",  # as in Fedora's sudo
    "substack": "auth substack password-auth\nauth include postlogin\naccount include password-auth\n",  # GDM's
}


@pytest.fixture(scope="module")
def machine(rpm):
    machine = Machine(root("trixie", PROGRAMS))
    machine.people()
    sh("cp", rpm, machine.path / "tmp")
    machine.run("rpm", "--install", "--nodeps", f"/tmp/{rpm.name}")
    machine.configure(opslimit=1, memlimit="8M")
    machine.enroll()
    (machine.path / "etc/authselect").mkdir()  # which Debian's package lacks
    for name, text in SERVICES.items():
        (machine.path / "etc/pam.d" / name).write_text(text)
    yield machine
    machine.remove()


def asked(machine, service, *typed, status=0):
    """As a screen locker asks, which is nobody's but hers."""
    typed = "".join(f"{line}\n" for line in typed)
    return machine.run("pamtester", service, "alice", "authenticate", "acct_mgmt", user="alice", input=typed, status=status)


def test_the_helper_is_installed_with_its_bits(machine):
    assert machine.run("stat", "-c", "%U:%G %a", "/usr/libexec/passcode-helper") == "_passcode:_passcode 6755\n"
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/passcode/key") == "root:_passcode 440\n"


@pytest.mark.parametrize("features", [(), ("with-faillock", "without-nullok", "with-mkhomedir")])
def test_authselect_applies_the_profile(machine, features):
    assert re.search(r"^- passcode\s+Local users, with a passcode", machine.run("authselect", "list"), re.MULTILINE)
    assert "passcode enroll" in machine.run("authselect", "select", "passcode", "--force", *features)
    assert "Current configuration is valid" in machine.run("authselect", "check")
    text = (machine.path / "etc/authselect/system-auth").read_text()
    assert "{" not in text
    assert {"pam_faillock" in text, "nullok" not in text, "mkhomedir" in text} == {bool(features)}
    assert "pam_lastlog" in (machine.path / "etc/authselect/postlogin").read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_passcode_or_password(machine, service):
    """With all features, after the test above. There is one prompt for both."""
    for code in (RIGHT, PASSWORD):
        assert asked(machine, service, code).count("assword: ") == 1
    said = asked(machine, service, WRONG[0], PASSWORD, status=1)
    assert "Wrong passcode, 2 attempts left." in said and said.count("assword: ") == 1
    asked(machine, service, RIGHT)


def test_the_password_s_lock_counts_no_passcode(machine):
    failures = lambda: machine.run("faillock", "--user", "alice").count("\n") - 2
    for code in WRONG[:2]:
        asked(machine, "include", code, status=1)
    assert failures() == 0
    asked(machine, "include", RIGHT)
    for wrong in (1, 2, 3):
        asked(machine, "include", f"not {PASSWORD}", status=1)
        assert failures() == wrong
    # Neither is asked for while the password is locked.
    assert "assword" not in asked(machine, "include", RIGHT, status=1)
    machine.run("faillock", "--user", "alice", "--reset")
    asked(machine, "substack", RIGHT)
