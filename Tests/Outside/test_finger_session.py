"""Where passcode-finger's caller runs for a person, the reader is used only while that person is at this machine.

The caller belongs to no session here: what counts is the person's display session."""

import pathlib
import subprocess
import sys
import textwrap

import pytest
from finger import DISPLAY, OTHER, PROGRAM, SESSION, WATCH, Finger, Match, count_file, decode, request, touches, uid, waits
from logind import Logind, scope

ACTIVE = "/sys/devices/virtual/tty/tty0/active"

ABSENT = {
    "locked": {"lock": "locked"},
    "nobody tells whether it is locked": {"lock": None},
    "in the background": {"ACTIVE": 0, "STATE": "online"},
    "remote": {"REMOTE": 1, "REMOTE_HOST": "elsewhere"},
    "somebody else's": {"UID": 4711},
    "without an owner": {"UID": None},
    "neither active nor not": {"ACTIVE": None},
    "neither remote nor not": {"REMOTE": None},
    "no display session": {"display": False},
    "without a seat": {"SEAT": None},
    "a unit's": {"CLASS": "background"},
    "a login screen's": {"CLASS": "greeter"},
    "of no class": {"CLASS": None},
}


def test_a_person_at_this_machine_is_offered_the_reader(reader):
    with Logind():
        with Finger(operation=SESSION, wants_session=True) as finger:
            assert finger.events() == ["present"]
        with Finger(wants_session=True) as finger:
            assert finger.event() == "watching"
            reader.touch("alice-finger")
            assert isinstance(finger.event(), Match)


@pytest.mark.parametrize("absence", ABSENT)
def test_nobody_else_is(reader, absence):
    with Logind(**ABSENT[absence]):
        with Finger(operation=SESSION, wants_session=True) as finger:
            assert finger.events() == ["no session"]
        with Finger(wants_session=True) as finger:
            assert finger.events() == ["no session"]
    assert reader.is_free() and not count_file().exists()


def test_without_logind_nobody_is(reader):
    with Finger(operation=SESSION, wants_session=True) as finger:
        assert finger.events() == ["no session"]


def test_another_account_s_session_is_not_one_s_own(reader):
    assert uid("bob") != uid("alice")
    with Logind(), Finger("bob", SESSION, wants_session=True) as finger:
        assert finger.events() == ["no session"]


# MARK: Programs that run for the machine: login, login screens, su of root's


@pytest.fixture
def foreground():
    """Sets the virtual console whose screen is seen."""
    file = pathlib.Path("/run/foreground")
    subprocess.run(["mount", "--bind", shown(file, "tty1"), ACTIVE], check=True)
    yield lambda text: shown(file, text)
    subprocess.run(["umount", ACTIVE], check=True)


def shown(file, text):
    file.write_text(f"{text}\n")
    return file


def test_a_display_is_somebody_s_place(reader):
    for operation, said in ((SESSION, "present"), (WATCH, "watching")):
        with Finger(operation=operation, terminal=DISPLAY) as finger:
            assert finger.event() == said


@pytest.mark.parametrize("seen, number, said", [
    ("tty1", 1, "present"), ("tty12", 12, "present"), ("tty63", 63, "present"), ("tty2", 1, "no session"),
    ("tty1", 2, "no session"), ("", 1, "no session"), ("tty0", 1, "no session"), ("ttyS1", 1, "no session"),
    ("tty64", 63, "no session"), ("ttyS0 tty1", 1, "no session"), ("tty1", OTHER, "no session"), ("tty", OTHER, "no session"),
])  # fmt: skip
def test_a_virtual_console_is_one_while_it_is_in_the_foreground(foreground, seen, number, said):
    foreground(seen)
    with Finger(operation=SESSION, terminal=number) as finger:
        assert finger.events() == [said]


def test_no_other_terminal_is_one(reader):
    """A serial line, a pseudo-terminal: su of root's over ssh."""
    with Logind(), Finger(terminal=OTHER) as finger:
        assert finger.events() == ["no session"]
    assert reader.is_free()


ASKING = textwrap.dedent("""
    import os, socket, subprocess, sys
    ours, theirs = socket.socketpair()
    program = subprocess.Popen([sys.argv[1]], stdin=theirs, env={})
    theirs.close()
    ours.sendall(bytes.fromhex(sys.argv[2]))
    print(ours.recv(16).hex())
    ours.close()
    program.wait()
""")


@pytest.mark.parametrize("terminal", [OTHER, 2, DISPLAY])
@pytest.mark.parametrize("absence", [None, *list(ABSENT)[:4], "neither active nor not", "neither remote nor not", *list(ABSENT)[-4:]])
def test_a_session_of_the_caller_s_own_counts_whosever_it_is(reader, absence, terminal):
    """Root's su in a session of ssh: another terminal makes it no better. At the machine it needs none."""
    command = [sys.executable, "-c", ASKING, PROGRAM, request("bob", SESSION, terminal=terminal).hex()]
    with Logind(**ABSENT.get(absence, {})), scope() as join:
        said = subprocess.run(command, preexec_fn=join, capture_output=True, text=True, check=True).stdout
    assert decode(bytes.fromhex(said)) == ("no session" if absence else "present")


# MARK: While the reader waits


LATER = {"locked": {"lock": "locked"}, "in the background": {"ACTIVE": 0, "STATE": "online"}}


@pytest.mark.parametrize("change", LATER)
def test_a_touch_for_something_else_is_none(reader, change):
    """The screen was locked meanwhile, or another session came to the foreground: the owner's touch is for that."""
    with Logind() as before, Finger(wants_session=True) as finger:
        assert finger.event() == "watching"
        before.end()
        with Logind(**LATER[change]):
            reader.touch("alice-finger")
            assert finger.events() == ["no session"]
    assert touches() == 0 and reader.is_free()


def test_a_touch_at_another_console_is_none(reader, foreground):
    with Finger(terminal=1) as finger:
        assert finger.event() == "watching"
        foreground("tty7")
        reader.touch("alice-finger")
        assert finger.hears_nothing(1)
        assert reader.is_free()
        foreground("tty1")
        waits(reader)
        reader.touch("alice-finger")
        assert isinstance(finger.event(), Match)
