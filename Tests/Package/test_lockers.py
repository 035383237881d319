"""Lockers and login screens of Debian with the profile: one prompt per call, for passcode and password. On request."""

import functools
import re

import pytest

import debian_machine as machines
from conversation import Conversation
from debian_machine import PASSWORD, RIGHT, WRONG
from lockers import ASKED, LOCKERS
from process import wait_for

pytestmark = pytest.mark.on_request

PROGRAMS = "at cron dbus-x11 fonts-dejavu-core greetd lightdm lightdm-gtk-greeter screen vlock xscreensaver"
# In trixie only.
NEWER = "gnome-settings-daemon-common gtklock phoc phosh sway wtype xfce4-screensaver xfconf"
PASSWORD_ONLY = "Password: "


@pytest.fixture(scope="session")
def prepared(deb):
    """Makes machines of a release with all of them, the package, alice enrolled, and the profile enabled."""

    @functools.cache
    def prepare(release):
        more = f" {NEWER}" if release == "trixie" else ""
        first = machines.Machine(machines.root(release, f"{machines.PROGRAMS} {PROGRAMS}{more}"))
        first.people()
        first.install(deb)
        first.enroll()
        first.enable()
        return first.copy()

    return prepare


@pytest.fixture(
    params=[(kind, release) for kind in LOCKERS for release in kind.releases],
    ids=lambda pair: f"{pair[0].service}-{pair[1]}",
)
def locker(request, prepared):
    kind, release = request.param
    machine = prepared(release)()
    locker = kind(machine)
    yield locker
    locker.stop()
    machine.remove()


def opens(locker, *calls):
    """It opens after these calls, each with these prompts."""
    wait_for(locker.is_open, 30)
    assert [call.prompts for call in locker.calls()] == list(calls)
    assert locker.calls()[-1].result == "Success"


@pytest.mark.parametrize("typed", [RIGHT, PASSWORD], ids=["passcode", "password"])
def test_either_opens_it(locker, typed):
    locker.lock()
    locker.answer(typed)
    opens(locker, [ASKED])
    assert locker.machine.state()["failures"] == 0


def test_a_wrong_passcode_then_the_right_one(locker):
    """At the very next prompt."""
    locker.lock()
    locker.answer(WRONG[0])
    wait_for(lambda: locker.ended() == 1, 30)
    (call,) = locker.calls()[:1]
    assert (call.prompts, call.result) == ([ASKED], "Authentication failure")
    assert call.messages[-1] == "Wrong passcode, 2 attempts left."
    assert not locker.is_open() and locker.machine.state()["failures"] == 1
    locker.again()
    locker.answer(RIGHT)
    wait_for(locker.is_open, 30)
    mine = [call.prompts for call in locker.calls() if call.prompts != [PASSWORD_ONLY]]
    assert mine == [[ASKED], [ASKED]] and locker.calls()[-1].result == "Success"
    assert locker.machine.state()["failures"] == 0


def test_while_locked_it_says_so_and_the_password_opens_it(locker):
    for code in WRONG[:3]:
        locker.machine.run("passcode", "verify", "alice", "--stdin", input=f"{code}\n", status=None)
    assert locker.machine.state()["state"] == "locked"
    locker.lock()
    locker.answer(PASSWORD)
    opens(locker, [PASSWORD_ONLY])
    assert locker.calls()[0].messages[-1].startswith("Passcode locked (")
    assert locker.machine.state()["state"] == "locked"


def test_enter_alone(locker):
    """Is counted nowhere, and the password can be typed after it."""
    locker.lock()
    locker.answer("")
    if locker.ignores_enter:
        locker.answer(PASSWORD)
        opens(locker, [ASKED])
    elif locker.answers_once:
        wait_for(lambda: locker.ended() == 1, 30)
        locker.again()
        locker.answer(PASSWORD)
        opens(locker, [ASKED, PASSWORD_ONLY], [ASKED])
    else:
        locker.wait_for_prompt(1)
        locker.answer(PASSWORD)
        opens(locker, [ASKED, PASSWORD_ONLY])
    assert locker.machine.state()["failures"] == 0


def test_cancelling_opens_nothing_and_is_not_counted(locker):
    locker.lock()
    locker.cancel()
    assert not locker.is_open()
    assert locker.machine.state()["failures"] == 0


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_jobs_ask_nobody(prepared, release):
    """cron's and at's: their stacks include common-auth, and they never authenticate."""
    machine = prepared(release)()
    try:
        talk = Conversation(machine)
        machine.run("crontab", "-", user="alice", input="* * * * * touch /var/tmp/by-cron\n")
        machine.run("sh", "-c", "cron && atd")
        machine.run("sh", "-c", "cd /var/tmp && echo touch /var/tmp/by-at | at now", user="alice")
        for name in ("by-at", "by-cron"):
            wait_for((machine.path / "var/tmp" / name).exists, 90)
        assert talk.calls("cron") == talk.calls("atd") == []
    finally:
        machine.remove()


def by_hand(machine):
    machine.run("runuser", "-u", "alice", "--", "passcode", "pause")


def by_suspend(machine):
    """What systemd starts before the machine sleeps, with the package's example."""
    example = machine.path / "usr/share/doc/libpam-passcode/examples/passcode-pause-on-suspend@.service"
    [command] = re.findall("^ExecStart=(.*)$", example.read_text(), re.MULTILINE)
    machine.run(*command.replace("%i", "alice").split())


@pytest.mark.parametrize("pause", [by_hand, by_suspend])
def test_a_pause_lasts_until_the_password(locker, pause):
    """A locker without root opens no session: what proves the password is the line `proven`."""
    locker.machine.run("pam-auth-update", "--enable", "passcode-proven")
    pause(locker.machine)
    assert locker.machine.state()["state"] == "paused"
    locker.lock()
    locker.answer(PASSWORD)
    wait_for(locker.is_open, 30)
    assert locker.machine.state()["state"] == "ok"
    locker.lock_again()
    locker.answer(RIGHT)
    wait_for(locker.is_open, 30)
