"""Where passcode-finger's caller runs for a person, the reader is used only while that person is at this machine.

The caller belongs to no session here: what counts is the person's display session."""

import pytest
from finger import SESSION, Finger, Match, count_file, uid
from logind import Logind

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
}


def test_a_person_at_this_machine_is_offered_the_reader(reader):
    with Logind():
        with Finger(operation=SESSION) as finger:
            assert finger.events() == ["present"]
        with Finger(wants_session=True) as finger:
            assert finger.event() == "watching"
            reader.touch("alice-finger")
            assert isinstance(finger.event(), Match)


@pytest.mark.parametrize("absence", ABSENT)
def test_nobody_else_is(reader, absence):
    with Logind(**ABSENT[absence]):
        with Finger(operation=SESSION) as finger:
            assert finger.events() == ["no session"]
        with Finger(wants_session=True) as finger:
            assert finger.events() == ["no session"]
    assert reader.is_free() and not count_file().exists()


def test_without_logind_nobody_is(reader):
    with Finger(operation=SESSION) as finger:
        assert finger.events() == ["no session"]


def test_another_account_s_session_is_not_one_s_own(reader):
    assert uid("bob") != uid("alice")
    with Logind(), Finger("bob", SESSION) as finger:
        assert finger.events() == ["no session"]


def test_a_login_program_runs_for_nobody_yet(reader):
    with Finger(wants_session=False) as finger:
        assert finger.event() == "watching"

