"""Finger or passcode in real programs on a terminal, with Debian's fprintd: what the person does decides."""

import os
import pathlib
import signal
import subprocess
import time

import machine as machines
import pexpect
import pytest
from bed import MODULE, person, uid
from dialogue import has_a_shell
from finger import LIMIT, charged, matched, missed, set_count
from logind import Logind
from process import children, wait_for
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
PROMPT, ALONE = "^Passcode or finger: ", "^Passcode: "
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
    with Logind():
        yield machine
    for path, content in kept.items():
        path.unlink() if content is None else path.write_bytes(content)


def sudo():
    return terminal("sudo", "id", "-u")


def su():
    return terminal("su", "alice", "-c", "id -u")


def login():
    child = terminal("login", "alice", user="root")
    assert child.waitnoecho(timeout=20)  # without reading: it has begun, and asks
    return child


def terminal(*command, user="alice"):
    who = person(user)

    def become():
        os.setgroups([])
        os.setresgid(*[who["group"]] * 3)
        os.setresuid(*[who["user"]] * 3)

    return pexpect.spawn(command[0], list(command[1:]), preexec_fn=become, encoding="utf-8", timeout=30, cwd="/")


def waits(child, prompt=PROMPT):
    child.expect(prompt)
    assert child.waitnoecho(timeout=5)


def is_let_in(child, name):
    if name == "login":
        assert has_a_shell(child) == str(uid("alice"))
        child.sendline("exit")
        child.close()
    else:
        child.expect(r"\b0\r\n" if name == "sudo" else rf"\b{uid('alice')}\r\n")
        child.expect(pexpect.EOF)


PROGRAMS = {"sudo": sudo, "su": su, "login": login}
EACH = pytest.mark.parametrize("name", PROGRAMS)


@EACH
def test_a_match_and_enter(own, name):
    child = PROGRAMS[name]()
    waits(child, PROMPT if name != "login" else "Passcode or finger: ")
    matched(own.reader)
    child.send("\r")
    is_let_in(child, name)
    assert charged() == 0 and own.failures("alice") == 0
    assert [line for line in own.log() if "finger granted" in line.message and "finger=match" in line.message]
