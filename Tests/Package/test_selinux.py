"""On a kernel of its own with SELinux in force: Debian's policy, and ours from Sources/system/selinux.

With Debian's policy people are unconfined, as alice is; bob is confined (staff_u), and so are his sudo and su.
"""

import re
import shutil

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, TREE, WRONG, sh
from guest import Guest, disk

pytestmark = pytest.mark.on_request

PROGRAMS = (
    " auditd checkpolicy fprintd m4 make openssh-client openssh-server policycoreutils selinux-policy-default"
    " selinux-policy-dev semodule-utils"
)
FILES = {
    "etc/pam.d/locker": "auth include common-auth\naccount include common-account\n",
    "var/lib/selinux/default/active/seusers.local": "bob:staff_u:s0-s0:c0.c1023\n",
}
ASKED, SUCCESS = "Passcode or password: ", "pamtester: successfully authenticated"


def prepare(machine, *debs):
    """Our policy, built by Debian's tools; the packages; root's shell, which login puts into its domain."""
    shutil.copytree(TREE / "Sources/system/selinux", machine.path / "root/selinux")
    machine.run("make", "-C", "/root/selinux", "-f", "/usr/share/selinux/devel/Makefile", "passcode.pp")
    machine.run("semodule", "--noreload", "--install", "/root/selinux/passcode.pp")
    machine.run("sed", "-i", "s/^SELINUX=.*/SELINUX=enforcing/", "/etc/selinux/config")
    machine.run("usermod", "-aG", "sudo", "bob")
    for deb in debs:
        machine.install(deb)
    machine.configure(opslimit=1, memlimit="8M")
    for user in ("alice", "bob"):
        machine.enroll(user)
    shell = machine.path / "etc/systemd/system/serial-getty@ttyS0.service.d/shell.conf"
    shell.write_text("[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin root ttyS0 dumb\n")


def label(root):
    """One by one: setfiles takes the files of an overlay for those of another file system."""
    contexts = "/etc/selinux/default/contexts/files/file_contexts"
    sh("chroot", root, "sh", "-c", f"find / -print0 | setfiles -0 -m -f - {contexts}")


@pytest.fixture(scope="module")
def guest(deb, finger_deb):
    folder = disk("trixie", programs=PROGRAMS, files=FILES, name="guest-selinux", label=label,
                  prepare=lambda machine: prepare(machine, deb, finger_deb))  # fmt: skip
    guest = Guest(folder, security="security=selinux selinux=1 enforcing=1")
    yield guest
    guest.cut()


def denials(guest):
    """What was denied since the boot: before auditd, and to auditd."""
    command = "(journalctl -b --no-pager -o cat; cat /var/log/audit/audit.log) | grep 'avc:  denied'"
    return set(re.findall(r"avc:  denied .*", guest.run(command, None)))


def of_programs(lines):
    """Those of the programs that ask, without process ids and inodes."""
    programs = "login|su|sudo|pamtester|sshd[-\\w]*"
    return {re.sub(r"(pid|ino)=\d+ ", "", line) for line in lines if re.search(f'comm="({programs})"', line)}


def ours(lines):
    return [line for line in lines if "passcode" in line]


def log_out(shell):
    shell.line.send("exit\r")


def acts(name, right, prompt=ASKED):
    """Of a person with that passcode or password: what they are asked where, and the answer."""
    asked = (prompt, right)
    return {"sudo -k true": None, "sudo id -u": asked, f"su {name} -c 'id -u'": asked, f"pamtester locker {name} authenticate": asked}


def play(guest, name, secret, prompt):
    shell = guest.log_in(name, (prompt, secret))
    for command, asked in acts(name, secret, prompt).items():
        if asked:
            text, status = shell.run(command, asked)
            assert status == 0, (command, text)
    return shell


PASSWORD_PROMPT = "assword.*: "


@pytest.fixture(scope="module")
def before(guest):
    """What Debian's policy denies these programs without us, by a password."""
    assert guest.run("getenforce") == "Enforcing\n"
    for name in ("alice", "bob"):
        log_out(play(guest, name, PASSWORD, PASSWORD_PROMPT))
    lines = denials(guest)
    assert ours(lines) == []
    guest.run("pam-auth-update --enable passcode")
    return of_programs(lines)


@pytest.mark.parametrize("name, context", [("alice", "unconfined_u:unconfined_r"), ("bob", "staff_u:staff_r")])
def test_everything_works_and_nothing_is_denied(guest, before, name, context):
    shell = play(guest, name, RIGHT, ASKED)
    assert shell.run("id -Z")[0].startswith(f"{context}:")
    locker = f"pamtester locker {name} authenticate"
    more = [
        (locker, [(ASKED, WRONG[0])], "Wrong passcode, 2 attempts left.", 1),
        ("passcode status", [], "failures since the last success: 1", 0),
        ("passcode change", [("Old passcode: ", RIGHT), ("New .*: ", OTHER), ("Repeat .*: ", OTHER)], "Passcode changed", 0),
        *[(locker, [(ASKED, code)], "Authentication failure", 1) for code in WRONG[:3]],
        (locker, [("left to unlock.*Password: ", PASSWORD)], SUCCESS, 0),
        ("passcode unlock", [("Password: ", PASSWORD)], "Passcode unlocked", 0),
        ("passcode remove", [(ASKED, OTHER)], "Passcode removed", 0),
        ("passcode enroll", [("Password: ", PASSWORD), ("New .*: ", RIGHT), ("Repeat .*: ", RIGHT)], "Passcode set", 0),
        ("passcode check", [], "helper", 0),
    ]  # fmt: skip
    for command, dialogue, expected, status in more:
        text, result = shell.run(command, *dialogue)
        assert expected in text and result == status, (command, text)
    log_out(shell)
    lines = denials(guest)
    assert ours(lines) == [] and of_programs(lines) - before == set()


def test_root_s_tool_and_what_it_makes_is_labelled(guest, before):
    assert "✗" not in guest.run("passcode check")
    guest.run(f"useradd carol; echo {RIGHT} | passcode enroll carol --stdin; echo {RIGHT} | passcode verify carol --stdin")
    types = {"/run/passcode": "runtime", "/run/passcode/waiting": "runtime", "/run/passcode-finger.socket": "finger_runtime",
             "/var/lib/passcode": "var_lib", "/var/lib/passcode/1002": "var_lib", "/etc/passcode/key": "key"}  # fmt: skip
    for path, name in types.items():
        assert guest.run(f"stat -c %C {path}").split(":")[2] == f"passcode_{name}_t", path
    assert ours(denials(guest)) == []
