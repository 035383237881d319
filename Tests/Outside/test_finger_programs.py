"""Finger or passcode in real programs on a terminal, with Debian's fprintd: what the person does decides."""

import grp
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time

import machine as machines
import pexpect
import pytest
from bed import MODULE, person, uid
from dialogue import has_a_shell
from finger import LIMIT, charged, matched, missed, missed_last, running, set_count
from logind import Logind, scope
from process import end_child, wait_for
from scenario import PASSWORD, RIGHT, WRONG

FOLDER = pathlib.Path("/etc/pam.d")
STACK = f"""auth [success=done default=ignore] {MODULE} finger
auth required pam_unix.so
account required pam_permit.so
session optional {MODULE}
session required pam_permit.so
"""
ONE_FIELD = STACK.replace("default=ignore] " + str(MODULE), f"auth_err=die conv_err=die default=ignore] {MODULE} either", 1)
ONE_FIELD = ONE_FIELD.replace("unix.so\n", "unix.so try_first_pass\n", 1)
SUDOERS = "Defaults timestamp_timeout=0, !lecture\nalice ALL=(ALL) ALL\nroot ALL=(ALL) ALL\n"
PROMPTS = {
    "sudo": "^Passcode or fingerprint: ", "su": "^Passcode or fingerprint: ", "login": "Passcode or fingerprint: ",
    "either": "^Passcode, password or fingerprint: ",
}  # fmt: skip
ALONE = "^Passcode: "
SUDO_PASSWORD = "password for alice: "


@pytest.fixture
def own(touchable):
    machine = touchable
    for name in ("alice", "bob"):
        machines.set_password(name)
    machine.typed |= {PASSWORD, *WRONG[:3]}
    kept = {path: path.read_bytes() if path.exists() else None for path in map(FOLDER.joinpath, ("sudo", "su", "login"))}
    for path in kept:
        path.write_text(STACK)
    sudoers = pathlib.Path("/etc/sudoers")
    kept[sudoers] = sudoers.read_bytes()
    sudoers.write_text(SUDOERS)
    machine.sudoers = sudoers
    with Logind() as machine.logind, scope() as join:
        IN_SESSION.append(join)
        yield machine
        IN_SESSION.clear()
    for path, content in kept.items():
        path.unlink() if content is None else path.write_bytes(content)


def sudo():
    return terminal("sudo", "id", "-u")


def su():
    return terminal("su", "alice", "-c", "id -u")


IN_SESSION = []


def login():
    """In a session at this machine: on a pseudo-terminal alone its user could be anywhere."""
    child = terminal("login", "alice", user="root", join=IN_SESSION[0])
    assert child.waitnoecho(timeout=20)  # without reading: it has begun, and asks
    return child


def terminal(*command, user="alice", groups=(), join=lambda: None):
    who = person(user)

    def become():
        join()
        os.setgroups(groups)
        os.setresgid(*[who["group"]] * 3)
        os.setresuid(*[who["user"]] * 3)

    return pexpect.spawn(command[0], list(command[1:]), preexec_fn=become, encoding="utf-8", timeout=30, cwd="/")


def waits(child, name):
    """With the prompt of that program, and without echo."""
    child.expect(PROMPTS[name])
    assert child.waitnoecho(timeout=20)


def is_let_in(child, name):
    if name == "login":
        assert has_a_shell(child) == str(uid("alice"))
        child.sendline("exit")
        end_child(child)
    else:
        child.expect(r"\b0\r\n" if name == "sudo" else rf"\b{uid('alice')}\r\n")
        child.expect(pexpect.EOF)


PROGRAMS = {"sudo": sudo, "su": su, "login": login}
EACH = pytest.mark.parametrize("name", PROGRAMS)


@EACH
def test_a_match_and_enter(own, name):
    child = PROGRAMS[name]()
    waits(child, name)
    matched(own.reader)
    child.send("\r")
    is_let_in(child, name)
    assert charged() == 0 and own.failures("alice") == 0
    assert [line for line in own.log() if "finger granted" in line.message and "finger=match" in line.message]


@EACH
@pytest.mark.parametrize("typed", [RIGHT, PASSWORD])
def test_what_is_typed_counts_even_if_the_finger_matches_meanwhile(own, name, typed):
    child = PROGRAMS[name]()
    waits(child, name)
    child.send(typed[:2])
    matched(own.reader)
    child.send(typed[2:] + "\r")
    if typed == PASSWORD:
        child.expect("[Pp]assword[^:]*: ")
        assert child.waitnoecho(timeout=20)
        child.send(PASSWORD + "\r")
    is_let_in(child, name)
    said = [line.message for line in own.log() if "finger=" in line.message]
    # login is told of a match at Enter alone.
    assert len(said) == 1 and f"finger={'no-touch' if name == 'login' else 'unused'}" in said[0]
    assert "finger granted" not in said[0]
    # Both turn the finger on again: the passcode, and the password of a program that opens a session.
    assert charged() == 0


@EACH
def test_the_passcode_while_the_reader_waits(own, name):
    child = PROGRAMS[name]()
    waits(child, name)
    child.send(RIGHT + "\r")
    is_let_in(child, name)
    wait_for(own.reader.is_free)


def test_five_touches_over_two_prompts_then_off_and_on_again(own):
    for prompt, misses in ((1, 3), (2, 2)):
        child = sudo()
        waits(child, "sudo")
        for _ in range(misses - 1):
            missed(own.reader)
        missed_last(own.reader)
        child.send("\r")
        child.expect(SUDO_PASSWORD)
        end_child(child)
    assert charged() == LIMIT
    for answer, prompt in ((WRONG[0], ALONE), (RIGHT, r"^Passcode \(2 attempts left\): ")):
        child = sudo()
        child.expect(prompt)
        assert child.waitnoecho(timeout=20)
        child.send(answer + "\r")
        if answer == RIGHT:
            is_let_in(child, "sudo")
        else:
            child.expect(SUDO_PASSWORD)
        end_child(child)
    assert charged() == 0
    test_a_match_and_enter(own, "sudo")


@EACH
def test_the_password_turns_it_on_again(own, name):
    set_count(LIMIT)
    child = PROGRAMS[name]()
    child.expect("Passcode: ")
    assert child.waitnoecho(timeout=20)
    child.send("\r")
    child.expect("[Pp]assword[^:]*: ")
    assert child.waitnoecho(timeout=20)
    assert charged() == LIMIT
    child.send(PASSWORD + "\r")
    is_let_in(child, name)
    assert charged() == 0


def test_with_one_field(own):
    for path in map(FOLDER.joinpath, ("sudo", "su")):
        path.write_text(ONE_FIELD)
    for name in ("sudo", "su"):
        child = PROGRAMS[name]()
        waits(child, "either")
        matched(own.reader)
        child.send("\r")
        is_let_in(child, name)
        child = PROGRAMS[name]()
        waits(child, "either")
        child.send(PASSWORD + "\r")
        is_let_in(child, name)


def test_two_at_once(own):
    """One holds the reader, both take passcodes."""
    first = sudo()
    waits(first, "sudo")
    second = sudo()
    second.expect(ALONE)
    assert second.waitnoecho(timeout=20)
    second.send(RIGHT + "\r")
    is_let_in(second, "sudo")
    matched(own.reader)
    first.send("\r")
    is_let_in(first, "sudo")


@pytest.mark.parametrize("absence", [{"REMOTE": 1, "REMOTE_HOST": "elsewhere"}, {"lock": "locked"}, {"ACTIVE": 0}], ids=str)
def test_where_the_person_is_not_it_is_not_offered(own, absence):
    """Over ssh, from behind the locked screen, from another session."""
    own.logind.__exit__()
    with Logind(**absence):
        for name in ("sudo", "su"):
            child = PROGRAMS[name]()
            child.expect(ALONE)
            assert child.waitnoecho(timeout=20)
            child.send(RIGHT + "\r")
            is_let_in(child, name)
    assert [line for line in own.log() if "finger=no-session" in line.message]


def test_the_environment_names_no_other_bus(own, tmp_path):
    tmp_path.chmod(0o755)
    trap = socket.socket(socket.AF_UNIX)
    trap.bind(str(tmp_path / "trap"))
    (tmp_path / "trap").chmod(0o777)
    trap.listen()
    trap.settimeout(0.1)
    own.sudoers.write_text(SUDOERS + "Defaults env_keep += DBUS_SYSTEM_BUS_ADDRESS\n")
    child = terminal("env", f"DBUS_SYSTEM_BUS_ADDRESS=unix:path={tmp_path}/trap", "sudo", "id", "-u")
    waits(child, "sudo")
    matched(own.reader)
    child.send("\r")
    is_let_in(child, "sudo")
    with pytest.raises(TimeoutError):
        trap.accept()
    trap.close()


CANCEL = {"Ctrl-C": "\x03", "end of file": "\x04"}


@pytest.mark.parametrize("key", CANCEL)
@pytest.mark.parametrize("name", ["sudo", "su"])
def test_a_prompt_that_is_cancelled_frees_the_reader_and_lets_nobody_in(own, name, key):
    child = PROGRAMS[name]()
    waits(child, name)
    matched(own.reader)
    child.send(CANCEL[key])
    child.expect([pexpect.EOF, "[Pp]assword[^:]*: "])
    end_child(child)
    assert not [line for line in own.log() if "granted" in line.message]
    wait_for(own.reader.is_free)
    assert charged() == 0


@pytest.mark.alone
@EACH
def test_a_program_that_is_killed_frees_the_reader(own, name):
    child = PROGRAMS[name]()
    waits(child, name)
    wait_for(own.reader.waits)
    begin = time.monotonic()
    os.kill(child.pid, signal.SIGKILL)
    wait_for(own.reader.is_free)
    taken = time.monotonic() - begin
    end_child(child)
    print(f"\n{name}: free after {taken:.3f} s")
    assert taken < 0.1 and charged() == 0


LOST = {
    "unplugged": lambda own: own.reader.tell("UNPLUG"),
    "fprintd killed": lambda own: own.reader.stop(),
    "bus gone": lambda own: own.reader.stop_bus(),
}


@pytest.mark.parametrize("loss", LOST)
def test_a_reader_that_goes_leaves_passcode_and_password(own, loss):
    try:
        child = su()
        waits(child, "su")
        wait_for(own.reader.waits)
        LOST[loss](own)
        wait_for(lambda: not running())
        child.send("\r")
        child.expect("The fingerprint reader was disconnected. Use your passcode.\r\n")
        child.expect("Password: ")
        assert child.waitnoecho(timeout=20)
        child.send(PASSWORD + "\r")
        is_let_in(child, "su")
    finally:
        own.reader.restore()


@pytest.fixture
def pkexec(own):
    """polkit's agent on a terminal; alice is an administrator."""
    path = FOLDER / "polkit-1"
    before = path.read_bytes() if path.exists() else None
    path.write_text(STACK)
    machines.sh("usermod", "-aG", "sudo", "alice")
    # pkexec's own agent registers as root in Debian 12, and polkitd then finds no session for it.
    script = (
        "mkfifo $0/ready; pkttyagent --process $$ --notify-fd 3 3>$0/ready & cat $0/ready; rm $0/ready;"
        " pkexec --disable-internal-agent id -u"
    )
    folder = pathlib.Path(tempfile.mkdtemp(prefix="passcode-test-", dir="/run"))
    shutil.chown(folder, "alice")
    yield lambda: terminal("sh", "-c", script, str(folder), groups=[grp.getgrnam("sudo").gr_gid])
    machines.sh("gpasswd", "-d", "alice", "sudo")
    shutil.rmtree(folder)
    path.unlink() if before is None else path.write_bytes(before)


def test_polkit_s_agent_on_a_terminal(own, pkexec):
    child = pkexec()
    child.expect("Passcode or fingerprint: ")
    assert child.waitnoecho(timeout=20)
    matched(own.reader)
    child.send("\r")
    child.expect("COMPLETE.*0\r\n")
    child = pkexec()
    child.expect("Passcode or fingerprint: ")
    assert child.waitnoecho(timeout=20)
    child.send(RIGHT + "\r")
    child.expect("COMPLETE.*0\r\n")
    own.logind.__exit__()
    child = pkexec()
    child.expect("Passcode: ")
    end_child(child)
