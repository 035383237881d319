"""`passcode` alone: one's own state, and what can be done next; on a terminal one chooses it there."""

import re

import pexpect
import pytest

from bed import TOOL, become
from scenario import NEW, PASSWORD, RIGHT, WRONG, fail
from tool import CANCELLED, DONE, LOCKED, WRONG_CODE

ON, OFF, CHANGE, UNLOCK = "set a passcode", "remove the passcode", "change the passcode", "unlock the passcode"
TEST, FORGOTTEN = "test the passcode", "I forgot it: set a new one with my password"
PAUSE, RESUME = "pause the passcode", "end the pause with my password"


class Menu:
    """The tool as alice runs it on a terminal."""

    def __init__(self, *choices):
        self.child = pexpect.spawn(
            str(TOOL), preexec_fn=become("alice"), encoding="utf-8", timeout=30, cwd="/"
        )
        if not choices:
            return
        self.child.expect(r"Choose a number, or press Enter to quit: $")
        assert re.findall(r"^  (\d)  (.*)\r$", self.child.before, re.MULTILINE) == [
            (str(number), title) for number, title in enumerate(choices, 1)
        ]

    def chooses(self, key, *answers):
        """Then each question, with echo off, and its answer."""
        self.child.send(f"{key}\r")
        for question, answer in answers:
            self.child.expect_exact(question)
            assert self.child.waitnoecho(timeout=20), "what is typed would be shown"
            self.child.send(f"{answer}\r")

    def ends(self):
        """The exit status, and what was said since the last question."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus, self.child.before


TWICE = [("New passcode (4 or 6 digits): ", NEW), ("Repeat new passcode: ", NEW)]


@pytest.fixture
def own(with_passwords):
    return with_passwords


@pytest.fixture
def enrolled(own):
    own.enroll("alice", RIGHT)
    return own


def verifies(bed, code):
    return bed.tool("verify", "--stdin", stdin=f"{code}\n", user="alice").status


def test_turning_it_on(own):
    menu = Menu(ON)
    menu.chooses(1, ("Password: ", PASSWORD), *TWICE)
    status, said = menu.ends()
    assert status == DONE and "Passcode set for alice." in said and verifies(own, NEW) == DONE


def test_changing_it(enrolled):
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(1, ("Old passcode: ", RIGHT), *TWICE)
    status, said = menu.ends()
    assert status == DONE and "Passcode changed for alice." in said and verifies(enrolled, NEW) == DONE


@pytest.mark.parametrize("proof", [RIGHT, PASSWORD], ids=["passcode", "password"])
def test_turning_it_off(enrolled, proof):
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(2, ("Passcode or password: ", proof))
    status, said = menu.ends()
    assert status == DONE and "Passcode removed for alice." in said
    assert enrolled.status("alice")["enrolled"] is False


@pytest.mark.parametrize("typed, expected, said", [(RIGHT, DONE, "Correct passcode."), (WRONG[0], WRONG_CODE, "Wrong passcode, ")])
def test_testing_it(enrolled, typed, expected, said):
    """Counted like any other attempt."""
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(3, ("Passcode: ", typed))
    status, text = menu.ends()
    assert status == expected and said in text and enrolled.failures("alice") == (0 if typed == RIGHT else 1)


def test_a_mismatch_is_told_and_asked_again(own):
    menu = Menu(ON)
    repeated = [TWICE[0], ("Repeat new passcode: ", WRONG[0])]
    menu.chooses(1, ("Password: ", PASSWORD), *repeated)
    menu.child.expect_exact("The passcodes do not match. Start again.")
    for question, answer in TWICE:
        menu.child.expect_exact(question)
        assert menu.child.waitnoecho(timeout=20)
        menu.child.send(f"{answer}\r")
    status, said = menu.ends()
    assert status == DONE and "Passcode set for alice." in said and verifies(own, NEW) == DONE


@pytest.mark.parametrize("failures, setting", [(0, "on (4 digits)"), (3, "locked")])
def test_the_setting_is_shown_above_the_choices(enrolled, failures, setting):
    fail(enrolled, failures)
    assert f"\nPasscode: {setting}\n  passcode " in enrolled.tool(user="alice", check=DONE).output
    enrolled.tool("disable", "alice", check=DONE)
    assert enrolled.tool(user="alice", check=DONE).output.endswith("\nPasscode: disabled\n")
    enrolled.tool("enable", "alice", check=DONE)
    enrolled.tool("remove", "alice", check=DONE)
    assert f"\nPasscode: off\n  passcode enroll: {ON}\n" in enrolled.tool(user="alice", check=DONE).output


def test_unlocking_it(enrolled):
    fail(enrolled, 3)
    menu = Menu(UNLOCK, OFF, FORGOTTEN)
    menu.chooses(1, ("Password: ", PASSWORD))
    status, said = menu.ends()
    assert status == DONE and "Passcode unlocked for alice." in said and verifies(enrolled, RIGHT) == DONE


def test_pausing_it_and_ending_the_pause(enrolled):
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(4)
    status, said = menu.ends()
    assert status == DONE and "Passcode paused for alice." in said and verifies(enrolled, RIGHT) == LOCKED
    menu = Menu(RESUME, OFF, FORGOTTEN)
    menu.chooses(1, ("Password: ", PASSWORD))
    status, said = menu.ends()
    assert status == DONE and "Passcode resumed for alice." in said and verifies(enrolled, RIGHT) == DONE


@pytest.mark.parametrize("self_enroll, choices", [("no", [RESUME]), ("password", [RESUME, OFF, FORGOTTEN])])
def test_a_paused_person_can_end_the_pause(enrolled, self_enroll, choices):
    enrolled.configure(self_enroll=self_enroll)
    enrolled.tool("pause", "alice", "--even-locked-out", check=DONE)
    assert "\nPasscode: paused\n  passcode resume: " in enrolled.tool(user="alice", check=DONE).output
    menu = Menu(*choices)
    menu.chooses("")
    assert menu.ends()[0] == DONE


def test_a_wrong_proof(enrolled):
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(2, ("Passcode or password: ", WRONG[0]))
    assert menu.ends()[0] == WRONG_CODE and enrolled.failures("alice") == 1


def test_cancelling(enrolled):
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(2, ("Passcode or password: ", "\x03"))
    assert menu.ends()[0] == CANCELLED and verifies(enrolled, RIGHT) == DONE


@pytest.mark.parametrize("key", ["", "0", "6", "-1", "q", "1 ", "01", "1" * 600], ids=lambda text: text[:3])
def test_what_is_no_choice_is_nothing(enrolled, key):
    before = enrolled.record("alice")
    menu = Menu(CHANGE, OFF, TEST, PAUSE, FORGOTTEN)
    menu.chooses(key)
    status, said = menu.ends()
    assert status == DONE and "passcode:" not in said and enrolled.record("alice") == before


def test_a_disabled_person_has_no_choice(enrolled):
    enrolled.tool("disable", "alice", check=DONE)
    status, said = Menu().ends()
    assert status == DONE and "disabled" in said and "Choose a number" not in said
    assert verifies(enrolled, RIGHT) == LOCKED


def test_what_is_closed_is_not_offered(enrolled):
    """self_enroll=no: root sets and unlocks; the passcode itself proves the rest."""
    enrolled.configure(self_enroll="no")
    Menu(CHANGE, OFF, TEST, PAUSE).chooses("")
    fail(enrolled, 3)
    status, said = Menu().ends()
    assert status == DONE and "locked" in said and "Choose a number" not in said
    enrolled.tool("remove", "alice", check=DONE)
    status, said = Menu().ends()
    assert status == DONE and "no passcode is set" in said and "Choose a number" not in said


def test_without_a_terminal_it_tells(enrolled):
    answer = enrolled.tool(user="alice", check=DONE)
    assert "alice: a passcode is set, 4 digits\n" in answer.output
    assert answer.output.endswith(
        f"Passcode: on (4 digits)\n  passcode change: {CHANGE}\n  passcode remove: {OFF}\n  passcode verify: {TEST}\n"
        f"  passcode pause: {PAUSE}\n  passcode enroll: {FORGOTTEN}\n"
    )


@pytest.mark.parametrize("failures, lockout", [(0, "3:1m"), (3, "3:1m"), (1, "1:reset")])
def test_a_forgotten_passcode_is_replaced_with_the_password(enrolled, failures, lockout):
    """Also while it is locked, or locked out, which ends then."""
    enrolled.configure(lockout=lockout)
    fail(enrolled, failures)
    menu = Menu(*([CHANGE, OFF, TEST, PAUSE] if failures == 0 else [UNLOCK, OFF]), FORGOTTEN)
    menu.chooses(5 if failures == 0 else 3, ("Password: ", PASSWORD), *TWICE)
    status, said = menu.ends()
    assert status == DONE and "Passcode set for alice." in said
    assert enrolled.failures("alice") == 0 and verifies(enrolled, NEW) == DONE


def test_a_change_while_it_is_locked_tells_of_the_password(enrolled):
    advice = "Forgotten? Set a new one with your password: passcode enroll"
    wrong = enrolled.tool("change", "--stdin", stdin=f"{WRONG[0]}\n{NEW}\n", user="alice", check=WRONG_CODE)
    assert advice not in wrong.errors
    fail(enrolled, 2)
    locked = enrolled.tool("change", "--stdin", stdin=f"{RIGHT}\n{NEW}\n", user="alice", check=LOCKED)
    assert locked.errors.splitlines()[-1] == f"passcode: {advice}"
    enrolled.configure(self_enroll="no", lockout="3:1m")
    assert advice not in enrolled.tool("change", "--stdin", stdin=f"{RIGHT}\n{NEW}\n", user="alice", check=LOCKED).errors
