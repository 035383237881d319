"""The translations where the package has put them: people hear their own language, the log and JSON are in English."""

import json

import pytest

from debian_machine import RIGHT
from languages import languages, told

LANGUAGES = languages()


@pytest.fixture
def german(machine):
    """With a locale: Debian's roots have only C.UTF-8."""
    machine.run("cp", "-a", "/usr/lib/locale/C.utf8", "/usr/lib/locale/de_DE.utf8")
    return machine


def test_everybody_is_told_in_their_language(german):
    for language in LANGUAGES:
        locale = ("env", "LC_ALL=de_DE.UTF-8", f"LANGUAGE={language}")
        text = german.run(*locale, "passcode", "status", user="alice")
        assert text.startswith(told(language, "%1: a passcode is set, %2 digits", p1="alice", p2=len(RIGHT))), text
        text = german.run(*locale, "sudo", "-S", "id", user="alice", input=RIGHT + "\n")
        assert text.startswith(told(language, "Passcode or password:") + " ") and "uid=0" in text, text
    rows = [json.loads(line) for line in german.run("env", "LC_ALL=de_DE.UTF-8", "passcode", "check", "--json").splitlines()]
    english = [json.loads(line) for line in german.run("passcode", "check", "--json").splitlines()]
    assert [row["level"] for row in rows] == [row["level"] for row in english]
    assert "passcode granted" in "".join(line.message for line in german.log.lines())


def test_with_lc_all_alone_status_is_german(german):
    text = german.run("env", "LC_ALL=de_DE.UTF-8", "passcode", "status", user="alice")
    assert told("de", "state: %1", p1=told("de", "ok")) in text and "LANGUAGE" not in text


def test_another_root_without_locales_is_english(machine):
    assert machine.run("env", "LC_ALL=de_DE.UTF-8", "passcode", "status", user="alice").startswith("alice: a passcode is set")
