"""Where passcode-finger's caller runs for a person, the reader is used only while that person is at this machine.

The caller belongs to no session here: what counts is the person's display session."""

import pathlib
import subprocess
import sys
import textwrap

import pytest
from bed import uid
from finger import (
    LOGIN_SCREEN, OTHER, PROGRAM, SESSION, Finger, Match, count_file, decode, display, request, touches, waits, watching,
)  # fmt: skip
from logind import Logind, scope
from process import wait_for

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
        with watching(wants_session=True) as finger:
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


GREETER = {"CLASS": "greeter", "UID": 0, "TYPE": "x11", "DISPLAY": ":0"}
OWN = {"TYPE": "x11", "DISPLAY": ":0"}
# Where the prompt is, and what is seen on the machine's first seat.
AT_THE_SCREEN = {
    "a login screen": (display(0), GREETER),
    "a login screen beside others": (display(1), GREETER | {"DISPLAY": ":1"}),
    "a login screen on the last display that has a number": (display(190), GREETER | {"DISPLAY": ":190"}),
    "a login screen that names no display": (LOGIN_SCREEN, GREETER),
    "a login screen without a display": (LOGIN_SCREEN, GREETER | {"DISPLAY": None, "TYPE": "wayland"}),
    "the person's own display": (display(0), OWN),
}
SOMEWHERE_ELSE = {
    "VNC's display while a login screen is seen": (display(1), GREETER),
    "another one of VNC's": (display(99), GREETER),
    "VNC's display while the person's own is seen": (display(1), OWN),
    "a display without a number while a login screen is seen": (OTHER, GREETER),
    "a display without a number while the person's own is seen": (OTHER, OWN),
    "somebody else's display": (display(0), OWN | {"UID": 4711}),
    "a display of nobody's": (display(0), OWN | {"UID": None}),
    "the person's own display, locked": (display(0), OWN | {"lock": "locked"}),
    "the person's own display, and nobody tells whether it is locked": (display(0), OWN | {"lock": None}),
    "a login screen that is locked": (display(0), GREETER | {"lock": "locked"}),
    "a login screen, and nobody tells": (LOGIN_SCREEN, GREETER | {"lock": None}),
    "a screen that locks": (display(0), GREETER | {"CLASS": "lock-screen"}),
    "a unit's display": (display(0), OWN | {"CLASS": "background"}),
    "a display of no class": (display(0), OWN | {"CLASS": None}),
    "a login screen in the background": (display(0), GREETER | {"ACTIVE": 0, "STATE": "online"}),
    "a login screen that is remote": (display(0), GREETER | {"REMOTE": 1}),
    "a login screen on no seat": (display(0), GREETER | {"SEAT": None}),
    "a login screen whose display nobody tells": (display(0), GREETER | {"DISPLAY": None}),
    "a login screen on another machine's display": (display(0), GREETER | {"DISPLAY": "vnc:0"}),
    "a login screen on a display with a screen": (display(0), GREETER | {"DISPLAY": ":0.0"}),
    "a login screen on a display that isn't one": (display(0), GREETER | {"DISPLAY": "0"}),
    "a login screen that isn't seen": (display(0), GREETER | {"front": None}),
    "a login screen that names no display, and isn't seen": (LOGIN_SCREEN, GREETER | {"front": None}),
    "a login screen that has gone": (display(0), GREETER | {"front": "8"}),
    "a login screen that names no display, while the person's own is seen": (LOGIN_SCREEN, OWN),
}


@pytest.mark.parametrize("case", AT_THE_SCREEN | SOMEWHERE_ELSE)
def test_a_display_is_one_while_the_first_seat_shows_it(reader, case):
    """LightDM's VNC server, to which anyone connects, starts a display and asks for alice's finger."""
    terminal, seen = (AT_THE_SCREEN | SOMEWHERE_ELSE)[case]
    is_there = case in AT_THE_SCREEN
    with Logind(**seen):
        with Finger(operation=SESSION, terminal=terminal) as finger:
            assert finger.events() == ["present" if is_there else "no session"]
        with Finger(terminal=terminal) as finger:
            assert finger.event() == ("watching" if is_there else "no session")
    assert is_there or reader.is_free()


@pytest.mark.parametrize("terminal", [display(0), LOGIN_SCREEN])
def test_without_logind_no_display_is_one(reader, terminal):
    with Finger(operation=SESSION, terminal=terminal) as finger:
        assert finger.events() == ["no session"]


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


@pytest.mark.parametrize("terminal", [OTHER, 2, display(0), LOGIN_SCREEN])
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
    with Logind() as before, watching(wants_session=True) as finger:
        before.end()
        with Logind(**LATER[change]):
            reader.touch("alice-finger")
            assert finger.events() == ["no session"]
    assert touches() == 0 and reader.is_free()


def test_a_touch_at_another_console_is_none(reader, foreground):
    with watching(terminal=1) as finger:
        foreground("tty7")
        reader.touch("alice-finger")
        assert finger.hears_nothing(1)
        assert reader.is_free()
        foreground("tty1")
        waits(reader)
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)


@pytest.mark.parametrize("later", [OWN | {"UID": 4711}, GREETER | {"DISPLAY": ":1"}, GREETER | {"front": None}])
def test_a_touch_for_another_display_is_none(reader, later):
    """Somebody else's session was brought to the foreground: the touch is for what is seen there. The login screen waits."""
    with Logind(**GREETER) as before, watching(terminal=display(0)) as finger:
        before.end()
        with Logind(**later):
            waits(reader)
            reader.touch("alice-finger")
            wait_for(reader.is_free)
            assert finger.hears_nothing(1)
        with Logind(**GREETER):
            waits(reader)
            reader.touch("alice-finger")
            assert isinstance(finger.match(reader), Match)
