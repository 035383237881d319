"""Installed and enabled, in a fresh root: what people see in real programs (what all have in common:
test_every_program.py)."""

import subprocess
import time

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, WRONG, finished, prompted
from dialogue import EITHER as ASKED
from dialogue import has_a_shell
from process import end_child, wait_for


# MARK: sudo and su


def test_the_password_by_standard_input(machine):
    """As scripts have always given it to sudo; and su's by a terminal."""
    for line in (PASSWORD, RIGHT):
        assert machine.run("sudo", "-S", "id", "-u", user="alice", input=f"{line}\n").endswith("0\n")
    assert machine.state()["failures"] == 0
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{ASKED}", PASSWORD))
    assert finished(child) == ("\r\nalice\r\n", 0)


def test_su_to_oneself_and_to_another(machine):
    machine.enroll("bob", OTHER)
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{ASKED}", RIGHT))
    assert finished(child) == ("\r\nalice\r\n", 0)
    child = machine.terminal("su", "bob", "-c", "id -un")
    prompted(child, ("^Password: ", PASSWORD))
    assert finished(child) == ("\r\nbob\r\n", 0)


def test_somebody_without_a_passcode_notices_nothing(machine):
    child = machine.terminal("su", "bob", "-c", "id -un", user="bob")
    prompted(child, ("^Password: ", PASSWORD))
    assert finished(child) == ("\r\nbob\r\n", 0)


def test_one_field(machine):
    path = machine.path / "etc/pam.d/sudo"
    path.write_text((machine.path / "usr/share/doc/libpam-passcode/examples/one-field").read_text())
    for answer in (RIGHT, PASSWORD):
        child = machine.terminal("sudo", "id", "-u")
        prompted(child, (f"^{ASKED}", answer))
        assert finished(child) == ("\r\n0\r\n", 0)


# MARK: A console


def log_in(machine, *dialogue):
    """login hangs its terminal up when it begins (trixie), or when it opens the session."""
    child = machine.terminal("login", "alice", user="root")
    assert child.waitnoecho(timeout=20)  # without reading: it has begun
    prompted(child, *dialogue)
    assert has_a_shell(child) != "0"
    end_child(child)


def test_the_first_login_after_a_boot(machine):
    """The session line of the profile sets the mark."""
    machine.configure(first_login="deny")
    log_in(machine, (r"Log in with your password first\.\r\nPassword: ", PASSWORD))
    log_in(machine, (ASKED, RIGHT))
    machine.restart()
    log_in(machine, (r"Log in with your password first\.\r\nPassword: ", PASSWORD))


# MARK: sshd


@pytest.fixture
def remote(machine):
    """Makes a client of an sshd on loopback; answers with its terminal."""
    configuration = machine.path / "etc/ssh/sshd_config.d/test.conf"
    configuration.write_text("UsePAM yes\nKbdInteractiveAuthentication yes\nPasswordAuthentication no\n")
    machine.run("/usr/sbin/sshd")
    wait_for((machine.inside / "run/sshd.pid").exists)  # it goes to the background before it listens, and writes that after

    def connect():
        return machine.terminal(
            "ssh", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
            "-o", "NumberOfPasswordPrompts=1", "alice@127.0.0.1", "id -un",
        )  # fmt: skip

    return connect


def test_sshd_asks_the_password(machine, remote):
    child = remote()
    prompted(child, ("Password: ", PASSWORD))
    text, status = finished(child)
    assert (text.strip(), status) == ("alice", 0) and "asscode" not in text
    child = remote()
    prompted(child, ("Password: ", RIGHT))
    assert finished(child)[1] != 0
    assert machine.state()["failures"] == 0


def test_sshd_with_the_passcode_as_second_factor(machine, remote):
    machine.run("pam-auth-update", "--disable", "passcode")
    path = machine.path / "etc/pam.d/sshd"
    path.write_text("@include common-auth\nauth required pam_passcode.so remote=allow\n" + "".join(
        line for line in path.read_text().splitlines(keepends=True) if "common-auth" not in line
    ))  # fmt: skip
    child = remote()
    prompted(child, ("Password: ", PASSWORD), ("Passcode: ", RIGHT))
    text, status = finished(child)
    assert (text.strip(), status) == ("alice", 0)
    child = remote()
    prompted(child, ("Password: ", PASSWORD), ("Passcode: ", WRONG[0]))
    assert finished(child)[1] != 0
    assert machine.state()["failures"] == 1


# MARK: Without root


def test_a_locker(machine):
    """i3lock, which is no root: through the installed helper."""
    display = machine.command("Xvfb", ":7", "-displayfd", "1", "-screen", "0", "320x200x24", "-ac", "-noreset", user="alice")
    server = subprocess.Popen(display, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout.readline() == b"7\n"  # it listens
    command = machine.command("env", "DISPLAY=:7", "i3lock", "-n", user="alice")
    locker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def type(text):
        machine.run("env", "DISPLAY=:7", "xdotool", "type", "--delay", "20", text, user="alice")
        machine.run("env", "DISPLAY=:7", "xdotool", "key", "Return", user="alice")

    try:
        # Once it has grabbed the keyboard, it starts the one that keeps its window on top.
        wait_for(lambda: len(machine.run("pgrep", "--exact", "i3lock", status=None).split()) == 2)
        type(WRONG[0])
        wait_for(lambda: machine.state()["failures"] == 1)
        time.sleep(5)  # the delay after a wrong one
        assert locker.poll() is None
        type(RIGHT)
        assert locker.wait(20) == 0
        assert machine.state()["failures"] == 0
    finally:
        machine.run("pkill", "-9", "i3lock|Xvfb", status=None)
        server.wait()


def test_people_help_themselves(machine):
    machine.run("passcode", "change", "--stdin", user="alice", input=f"{RIGHT}\n{OTHER}\n")
    child = machine.terminal("passcode", "enroll", user="bob")
    prompted(child, ("assword: ", PASSWORD), ("New passcode", OTHER), ("Repeat new passcode", OTHER))
    assert finished(child)[1] == 0
    child = machine.terminal("su", "bob", "-c", "id -un", user="bob")
    prompted(child, (f"^{ASKED}", OTHER))
    assert finished(child) == ("\r\nbob\r\n", 0)


def test_passwd_is_as_before(machine):
    child = machine.terminal("passwd")
    prompted(child, ("Current password: ", PASSWORD), ("New password: ", "battery staple"))
    prompted(child, ("Retype new password: ", "battery staple"))
    assert finished(child)[1] == 0
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{ASKED}", ""), ("Password: ", "battery staple"))
    assert finished(child) == ("\r\nalice\r\n", 0)


# MARK: A restart


def test_a_lock_survives_a_restart(machine):
    for code in WRONG[:3]:
        machine.run("passcode", "verify", "alice", "--stdin", input=f"{code}\n", status=1)
    machine.restart()
    child = machine.terminal("su", "alice", "-c", "id -un")
    child.expect(r"Passcode locked \((60|59|58|57) seconds left|Passcode locked \(1 minute left")
    child.close()
    machine.run("passcode", "unlock", "alice")
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{ASKED}", RIGHT))
    assert finished(child) == ("\r\nalice\r\n", 0)


def test_polkit_s_service_can_count(machine):
    """As in polkit 127 and later: everything is read-only, but for what the drop-in names."""
    (dropin,) = machine.path.glob("usr/lib/systemd/system/polkit-agent-helper@.service.d/*")
    (writable,) = [line for line in dropin.read_text().splitlines() if line.startswith("ReadWritePaths=")]
    paths = [path.lstrip("-") for path in writable.split("=")[1].split()]
    assert paths == ["/var/lib/passcode", "/run/passcode"]
    script = 'for path in {paths}; do mount --bind "$path" "$path"; done; {readonly} && exec pamtester -I ruser=root sudo alice authenticate'
    readonly = "mount -o remount,ro,bind / && mount -o remount,ro /run"
    for writable, expected in ((paths, True), ([], False)):
        command = script.format(paths=" ".join(writable), readonly=readonly)
        said = machine.run("unshare", "--mount", "sh", "-c", command, input=f"{RIGHT}\n", status=None)
        assert ("successfully authenticated" in said) == expected, said
    assert machine.state()["failures"] == 0
