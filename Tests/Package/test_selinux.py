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
TOUCH = """#!/usr/bin/perl
socket S, 1, 1, 0; connect S, pack "S a108", 1, "/run/reader/socket" or die;
syswrite S, "SCAN @ARGV"; shutdown S, 1; sysread S, $answer, 10;
"""
# The reader forgets a touch that comes before it waits.
ENROLL = """#!/bin/sh
fprintd-enroll -f right-index-finger $1 >/root/enrolled 2>&1 &
for second in $(seq 60); do sleep 1; touch-reader $1-finger
grep -q enroll-completed /root/enrolled && exit 0; done; cat /root/enrolled; exit 1
"""
READER = """[Service]
ExecStart=
ExecStart=/usr/libexec/fprintd --no-timeout
Environment=FP_VIRTUAL_DEVICE=/run/reader/socket
RuntimeDirectory=reader
"""
FILES = {
    "usr/local/bin/touch-reader": TOUCH,
    "usr/local/bin/enroll-finger": ENROLL,
    "etc/systemd/system/fprintd.service.d/virtual.conf": READER,
    # Debian's policy knows nothing of libfprint's virtual reader.
    "root/reader.cil": "(typepermissive fprintd_t)\n",
    "etc/pam.d/locker": "auth include common-auth\naccount include common-account\n",
    "var/lib/selinux/default/active/seusers.local": "bob:staff_u:s0-s0:c0.c1023\n",
}
ASKED, SUCCESS = "Passcode or password: ", "pamtester: successfully authenticated"


def prepare(machine, *debs):
    """Our policy, built by Debian's tools; the packages; root's shell, which login puts into its domain."""
    shutil.copytree(TREE / "Sources/system/selinux", machine.path / "root/selinux")
    machine.run("make", "-C", "/root/selinux", "-f", "/usr/share/selinux/devel/Makefile", "passcode.pp")
    machine.run("semodule", "--noreload", "--install", "/root/selinux/passcode.pp", "/root/reader.cil")
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


def test_a_loaded_key_and_a_prompt_with_the_reader(guest, before):
    """The key as it lies when a TPM has unsealed it. An emulated processor is too slow for the prompt to offer the reader."""
    guest.run("mkdir -p /run/passcode-key && mount -t ramfs -o mode=0750 ramfs /run/passcode-key")
    guest.run("cp /etc/passcode/key /run/passcode-key/ && chgrp -R _passcode /run/passcode-key && chmod 0440 /run/passcode-key/key")
    guest.run("mv /etc/passcode/key /root/key && echo finger=yes >> /etc/security/passcode.conf")
    for name in ("alice", "bob"):
        log_out(play(guest, name, RIGHT, "[Pp]asscode.*password.*: "))
    guest.run("mv /root/key /etc/passcode/key && umount /run/passcode-key && sed -i /finger/d /etc/security/passcode.conf")
    assert "finger=" in guest.run("journalctl -b --no-pager -o cat | grep 'passcode granted'")
    lines = denials(guest)
    assert ours(lines) == [] and of_programs(lines) - before == set()


# What root may do anywhere else, in Perl, and what the kernel says when it is denied.
FORBIDDEN = {
    'open F, "/etc/shadow"': '{ read } .* name="shadow" .*:shadow_t:',
    'open F, "/root/secret"': "{ (read|search) } .*:user_home(_dir)?_t:",
    'open F, ">>/etc/security/passcode.conf"': '{ append } .* name="passcode.conf"',
    'open F, "/dev/vda"': "{ read } .*:fixed_disk_device_t:",
    'exec "/usr/bin/sh", "-c", "exit"': "{ (execute|search) } .*:(shell_exec|bin)_t:",
    'socket S, 2, 1, 0; connect S, pack "S n C4 x8", 2, 22, 127, 0, 0, 1': "{ name_connect } .*:ssh_port_t:",
}
FORBIDDEN_TO_THE_FINGER = {
    'open F, "/etc/passcode/key"': "{ search } .*:passcode_key_t:",
    'open F, "/var/lib/passcode/1000"': "{ search } .*:passcode_var_lib_t:",
    'open F, ">>/var/lib/fprint/alice/virtual_device/0/7"': "{ append } .*:fprintd_var_lib_t:.* tclass=file",
}
EACCES = 13


def test_what_our_programs_have_no_use_for_is_denied(guest, before):
    """To a program of root's in their domains, whom the modes of files don't stop: the control of all tests above."""
    guest.run("enroll-finger alice")
    assert ours(denials(guest)) == []
    guest.run("cd /usr/local/bin; for name in spy helper-spy finger-spy; do cp /usr/bin/perl $name; done; echo > /root/secret")
    guest.run("cd /usr/local/bin; for name in helper finger; do chcon -t passcode_${name}_exec_t $name-spy; done")
    finger = "systemd-run -q --wait /usr/local/bin/finger-spy"
    spies = {"helper-spy": ("helper", FORBIDDEN), finger: ("finger", FORBIDDEN | FORBIDDEN_TO_THE_FINGER)}
    for act in FORBIDDEN | FORBIDDEN_TO_THE_FINGER:
        guest.run(f"spy -e '{act} or die'")
    for program, (domain, acts) in spies.items():
        for act in acts:
            guest.run(f"{program} -e '{act} or die'", EACCES)
    lines = denials(guest)
    for domain, acts in spies.values():
        for act, denied in acts.items():
            found = [line for line in lines if f'comm="{domain}-spy"' in line and re.search(denied, line)]
            assert found and all(f":passcode_{domain}_t:" in line for line in found), (domain, act, lines)
    # They do run there, and may do what they are for.
    guest.run("helper-spy -e 'open F, \"/etc/passcode/key\" or die'")
    guest.run(f"{finger} -e 'open F, \"/sys/class/tty/tty0/active\" or die'")
