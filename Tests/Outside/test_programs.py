"""Real programs, as they are installed: each with a stack of the module and pam_unix."""

import datetime
import os
import pathlib
import re
import signal
import subprocess
import time

import pexpect
import pytest

import machine as machines
from bed import MODULE, become, person, uid
from clock import by_wall_clock
from debian_machine import prompted
from dialogue import has_a_shell
from process import end_child, wait_for
from machine import RUN
from scenario import PASSWORD, RIGHT, WRONG

SUDO = "password for alice: "
FOLDER = pathlib.Path("/etc/pam.d")
STACK = f"""auth [success=done default=ignore] {MODULE}
auth required pam_unix.so
account required pam_permit.so
session optional {MODULE}
session required pam_permit.so
"""
# The profile's line: the passcode or the password, whichever is typed.
ONE_FIELD = STACK.replace("default=ignore]", "auth_err=die conv_err=die default=ignore]", 1)
ONE_FIELD = ONE_FIELD.replace(f"{MODULE}\nauth", f"{MODULE} either\nauth").replace("unix.so\n", "unix.so try_first_pass\n")


@pytest.fixture
def own(machine):
    for name in ("alice", "bob"):
        machines.set_password(name)
        machine.enroll(name, RIGHT)
    machine.typed |= {PASSWORD, *WRONG[:3]}
    kept = {}
    for service in ("sudo", "su", "login", "i3lock", "pamtester"):
        path = FOLDER / service
        kept[path] = path.read_bytes() if path.exists() else None
        path.write_text(STACK)
    sudoers = pathlib.Path("/etc/sudoers")
    kept[sudoers] = sudoers.read_bytes()
    sudoers.write_text("Defaults timestamp_timeout=0, !lecture\nalice ALL=(ALL) ALL\nroot ALL=(ALL) ALL\n")
    yield machine
    for path, content in kept.items():
        path.unlink() if content is None else path.write_bytes(content)


def run(*command, stdin="", user="alice", **how):
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=60, cwd="/", **{**person(user), **how}
    )


def terminal(*command, user="alice"):
    return pexpect.spawn(command[0], list(command[1:]), preexec_fn=become(user), encoding="utf-8", timeout=30, cwd="/")


def test_pamtester_as_an_ordinary_user(own):
    assert run("pamtester", "pamtester", "alice", "authenticate", stdin=RIGHT).returncode == 0
    assert run("pamtester", "pamtester", "alice", "authenticate", stdin=WRONG[0]).returncode != 0
    assert own.failures("alice") == 1


def test_no_new_privileges_is_a_clear_refusal(own):
    """systemd's NoNewPrivileges=: no helper can help, and the log says why."""
    assert run("setpriv", "--no-new-privs", "pamtester", "pamtester", "alice", "authenticate", stdin=RIGHT).returncode
    assert any("no_new_privs" in line.message for line in own.log())
    assert own.failures("alice") == 0


# MARK: sudo


def test_sudo(own):
    child = terminal("sudo", "id", "-u")
    prompted(child, ("Passcode: ", RIGHT))
    child.expect(r"\b0\r\n")
    child.expect(pexpect.EOF)


def test_sudo_falls_through_to_the_password(own):
    child = terminal("sudo", "id", "-u")
    prompted(child, ("Passcode: ", ""), (SUDO, PASSWORD))
    child.expect(r"\b0\r\n")
    assert own.failures("alice") == 0


def test_sudo_reads_its_standard_input(own):
    """The passcode there; or the password, which the module doesn't count, and then once more for pam_unix."""
    assert run("sudo", "-S", "id", "-u", stdin=f"{RIGHT}\n").stdout == "0\n"
    assert run("sudo", "-S", "id", "-u", stdin=f"{PASSWORD}\n{PASSWORD}\n").stdout == "0\n"
    assert own.failures("alice") == 0


def test_sudo_locks_and_the_password_goes_on(own):
    child = terminal("sudo", "id", "-u")
    prompts = "Passcode: ", r"Passcode \(2 attempts left\): ", r"Passcode \(1 attempt left\): "
    for prompt, code in zip(prompts, WRONG[:3], strict=True):
        prompted(child, (prompt, code), (SUDO, "no"))
    child.expect(pexpect.EOF)
    assert own.status("alice")["state"] == "locked"
    child = terminal("sudo", "id", "-u")
    prompted(child, (SUDO, PASSWORD))
    child.expect(r"\b0\r\n")


@pytest.fixture
def field(own):
    """One field for both, in all programs."""
    for service in ("sudo", "su", "login", "i3lock"):
        (FOLDER / service).write_text(ONE_FIELD)
    return own


@pytest.mark.parametrize("lines", [[PASSWORD], [RIGHT], [WRONG[0], RIGHT], [WRONG[0], PASSWORD]], ids=str)
def test_sudo_s_standard_input_is_passcode_or_password(field, lines):
    """After a wrong passcode sudo asks again, and nothing else does."""
    done = run("sudo", "-S", "id", "-u", stdin="".join(f"{line}\n" for line in lines))
    assert done.stdout == "0\n", done.stderr
    assert field.failures("alice") == (1 if lines == [WRONG[0], PASSWORD] else 0)


def test_sudo_s_standard_input_while_the_passcode_is_locked(field):
    for code in WRONG[:3]:
        assert run("sudo", "-S", "id", "-u", stdin=f"{code}\n").returncode == 1
    assert field.status("alice")["state"] == "locked"
    assert run("sudo", "-S", "id", "-u", stdin=f"{PASSWORD}\n").stdout == "0\n"
    assert run("sudo", "-S", "id", "-u", stdin="battery staple\n").returncode == 1


@pytest.mark.parametrize("typed", [PASSWORD, RIGHT])
def test_sudo_s_askpass_is_asked_once(field, typed):
    asked, program = pathlib.Path("/tmp/passcode-test-asked"), pathlib.Path("/tmp/passcode-test-askpass")
    program.write_text(f"#!/bin/sh\necho >>{asked}\necho '{typed}'\n")
    program.chmod(0o755)
    try:
        environment = {"SUDO_ASKPASS": str(program), "PATH": os.environ["PATH"]}
        assert run("sudo", "-A", "id", "-u", env=environment).stdout == "0\n"
        assert asked.read_text() == "\n"
    finally:
        program.unlink()
        asked.unlink(missing_ok=True)


def test_sudo_with_one_field(field):
    child = terminal("sudo", "id", "-u")
    prompted(child, ("Passcode or password: ", WRONG[0]), (r"Passcode \(2 attempts left\) or password: ", PASSWORD))
    child.expect(r"\b0\r\n")
    child = terminal("sudo", "id", "-u")
    prompted(child, (r"Passcode \(2 attempts left\) or password: ", ""), (SUDO, PASSWORD))
    child.expect(r"\b0\r\n")


def test_su_and_login_with_one_field(field):
    for typed in (RIGHT, PASSWORD):
        child = terminal("su", "alice", "-c", "id -un")
        prompted(child, ("^Passcode or password: ", typed))
        child.expect(r"\balice\r\n")
        log_in(("Passcode or password: ", typed))
    child = terminal("su", "alice", "-c", "id -un")
    prompted(child, ("^Passcode or password: ", WRONG[0]))
    child.expect("failure")


# MARK: su


def test_su_to_oneself(own):
    child = terminal("su", "alice", "-c", "id -un")
    prompted(child, ("Passcode: ", RIGHT))
    child.expect(r"\balice\r\n")


def test_su_to_another_asks_the_password_only(own):
    before = own.record("bob")
    child = terminal("su", "bob", "-c", "id -un")
    prompted(child, ("^Password: ", PASSWORD))
    child.expect(r"\bbob\r\n")
    child = terminal("su", "bob", "-c", "id -un")
    prompted(child, ("^Password: ", RIGHT))
    child.expect("failure")
    assert own.record("bob") == before


def test_su_by_root_asks_the_passcode_where_pam_asks_at_all(own):
    child = terminal("su", "bob", "-c", "id -un", user="root")
    prompted(child, ("Passcode: ", RIGHT))
    child.expect(r"\bbob\r\n")


def test_a_name_that_a_caller_chose_counts_for_nothing(own):
    """Whatever it is called: sudo runs with more privilege than who started it."""
    link = pathlib.Path("/run/gdm-session-worker")
    link.symlink_to("/usr/bin/sudo")
    child = terminal("env", "GDM_SESSION_FOR_REAUTH=1", str(link), "id", "-u")
    prompted(child, ("Passcode: ", RIGHT))
    child.expect(r"\b0\r\n")
    link.unlink()


# MARK: login


def log_in(*dialogue):
    """login hangs its terminal up when it begins (Debian 13), or when it opens the session (12)."""
    child = terminal("login", "alice", user="root")
    assert child.waitnoecho(timeout=20)  # without reading: it has begun, and asks
    prompted(child, *dialogue)
    assert has_a_shell(child) == str(uid("alice"))
    child.sendline("exit")
    end_child(child)


def test_login(own):
    log_in(("Passcode: ", RIGHT))


def test_the_first_login_after_a_boot(own):
    """The password, once; sudo doesn't count for one, even to oneself."""
    own.configure(first_login="deny")
    child = terminal("sudo", "id", "-u")
    prompted(child, (r"^\[sudo\] " + SUDO, PASSWORD))  # why, sudo keeps to itself: it calls PAM silently
    child.expect(pexpect.EOF)
    assert run("sudo", "-u", "alice", "id", "-un").stdout == "alice\n"
    assert list(RUN.glob("*.login")) == []
    log_in(("Log in with your password first.\r\nPassword: ", PASSWORD))
    assert [path.name for path in RUN.glob("*.login")] == [f"{uid('alice')}.login"]
    log_in(("Passcode: ", RIGHT))
    assert run("sudo", "-S", "id", "-u", stdin=f"{RIGHT}\n").stdout == "0\n"


# MARK: Passcodes that are given out

CHANGE = re.escape("Use your password now, then set your own passcode (passcode change).")


def give(bed, *terms):
    bed.tool("enroll", "--stdin", *terms, "alice", stdin=f"{RIGHT}\n", check=0)


@pytest.mark.parametrize("first", ["sudo", "sudo -v", "su", "login"])
def test_one_login_by_any_program_and_then_the_password(own, first):
    give(own, "--must-change")
    if first == "login":
        log_in(("Passcode: ", RIGHT))
    elif first == "su":
        prompted(child := terminal("su", "alice", "-c", "id -un"), ("^Passcode: ", RIGHT))
        child.expect(r"\balice\r\n")
    else:
        more = ["-v"] if first == "sudo -v" else ["id", "-u"]
        assert run("sudo", "-S", *more, stdin=f"{RIGHT}\n").returncode == 0
    # sudo calls PAM silently; su and login show why.
    prompted(child := terminal("sudo", "id", "-u"), (rf"^\[sudo\] {SUDO}", PASSWORD))
    child.expect(r"\b0\r\n")
    prompted(child := terminal("su", "alice", "-c", "id -un"), (rf"^{CHANGE}\r\nPassword: ", PASSWORD))
    child.expect(r"\balice\r\n")
    log_in((f"{CHANGE}\r\nPassword: ", PASSWORD))
    assert run("sudo", "-S", "id", "-u", stdin=f"{RIGHT}\n" * 3).returncode == 1


def test_a_new_passcode_of_ones_own_opens_again(field):
    give(field, "--must-change", "--expires", "1d")
    assert run("sudo", "-S", "id", "-u", stdin=f"{RIGHT}\n").stdout == "0\n"
    assert run("sudo", "-S", "id", "-u", stdin=f"{PASSWORD}\n").stdout == "0\n"
    field.typed.add("8264")
    field.tool("change", "--stdin", stdin=f"{RIGHT}\n8264\n", user="alice", check=0)
    for _ in range(2):
        assert run("sudo", "-S", "id", "-u", stdin="8264\n").stdout == "0\n"


def test_an_expired_one_is_not_asked_for(field):
    give(field, "--expires", "1m")
    assert run("sudo", "-S", "id", "-u", stdin=f"{RIGHT}\n").stdout == "0\n"
    over = by_wall_clock((datetime.datetime.now() + datetime.timedelta(minutes=2)).strftime("%Y-%m-%d %H:%M:%S"))
    assert field.status("alice", setting=over)["state"] == "expired"
    for command, words in ((("su", "alice", "-c", "id -un"), "alice"), (("sudo", "id", "-u"), "0")):
        seen = "Passcode expired. Use your password.\r\n" if command[0] == "su" else ""
        prompted(child := terminal(*command), (rf"^{seen}.*[Pp]assword[^\r]*: ", PASSWORD))
        assert "Passcode or password" not in child.before + child.after
        child.expect(rf"\b{words}\r\n")


# MARK: A lock screen that really runs without root


@pytest.fixture
def screen():
    """An X server of alice's, without a screen; it finds a number of its own. It isn't set up anew, refusing everybody
    meanwhile, whenever xdotool was the only one there."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "320x200x24", "-nolisten", "tcp", "-ac", "-noreset"],
        pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **person("alice"),
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as told:
        yield f":{int(told.readline())}"
    server.terminate()
    server.wait(10)


def test_i3lock(own, screen):
    environment = {"DISPLAY": screen, "PATH": os.environ["PATH"], "HOME": "/"}
    locker = subprocess.Popen(["i3lock", "-n"], env=environment, **person("alice"))
    try:
        def type(text):
            run("xdotool", "type", "--delay", "20", text, env=environment)
            run("xdotool", "key", "Return", env=environment)

        wait_for(lambda: run("xdotool", "search", "--onlyvisible", "--class", "i3lock", env=environment).returncode == 0)
        time.sleep(1)  # it grabs the keyboard
        type(WRONG[0])
        wait_for(lambda: own.failures("alice") == 1)
        time.sleep(1)
        assert locker.poll() is None, "a wrong one opens nothing"
        time.sleep(2)
        type(RIGHT)
        assert locker.wait(20) == 0
        assert own.failures("alice") == 0
    finally:
        if locker.poll() is None:
            locker.send_signal(signal.SIGKILL)
            locker.wait()
