"""What the prompt says: the table in Sources/PROMPT.md, row by row, and attacks on the prompts that it adds."""

import os
import re
import time

import pytest

import languages
import machine as machines
from machine import ALICE
from messages import messages
from pam import FAILS, SILENT
from prompts import BEHIND, ITEMS, PERSON, PLAIN, STATES, TABLE, as_the_table_says, ask, named, wait_for_login
from scenario import PASSWORD, PROMPT, RIGHT, WRONG, fail
from states import fail_once, forget, lock_for_an_hour, lose_key

EITHER = "Passcode or password: "
SIX_DIGITS = "918273"


@pytest.fixture
def house(machine):
    """Alice has the passcode 0471, and she and bob have passwords."""
    for name in ("alice", "bob"):
        machines.set_password(name)
    machine.typed.add(PASSWORD)
    machine.enroll("alice", RIGHT)
    return machine


def hidden_prompt(bed, *answers, **how):
    return ask(bed, "yes", "yes", *answers, **how)


def test_the_table_has_every_case():
    assert sorted(TABLE) == sorted((state, either, hidden) for state in STATES for either in ("no", "yes")
                                   for hidden in ("no", "yes"))  # fmt: skip


@named(PLAIN)
def test_the_table(house, case):
    STATES[case[0]](house)
    as_the_table_says(house, case)


# Whose process it is says who asks.
@named([case for case in PLAIN if case[0] not in ITEMS])
def test_the_table_through_the_helper(house, case):
    STATES[case[0]](house)
    as_the_table_says(house, case, items={}, **ALICE)


# MARK: The look chooses only the prompt


LOCKED = "Passcode locked (60 minutes left to unlock). Password: "
BY = pytest.mark.parametrize("how", [{}, ALICE], ids=["root", "helper"])


@BY
@pytest.mark.parametrize("typed, result, failures", [(RIGHT, "SUCCESS", 0), (WRONG[1], "AUTH_ERR", 2)])
def test_a_lock_that_is_over_by_then_makes_it_an_attempt(house, how, typed, result, failures):
    house.configure(lockout="1:3s,9:reset")
    fail(house, 1)

    def type_it(_):
        time.sleep(3.1)
        return typed

    outcome = hidden_prompt(house, type_it, **how)
    assert re.fullmatch(r"Passcode locked \([1-3] seconds? left to unlock\)\. Password: ", *outcome.prompts)
    assert outcome.result == result
    assert house.failures("alice") == failures


def meanwhile(house, typed, act, **how):
    """`act` happens while the prompt stands."""
    asked, go = os.pipe(), os.pipe()

    def type_it(_):
        os.write(asked[1], b".")
        os.read(go[0], 1)
        return typed

    house.service("either")
    running = house.start("alice", type_it, flags=SILENT, items=PERSON, **how)
    os.close(asked[1])
    assert os.read(asked[0], 1), "no prompt"
    act()
    os.write(go[1], b".")
    for one in (asked[0], *go):
        os.close(one)
    return running.wait()


@BY
def test_what_is_still_locked_is_neither_read_nor_written(house, how):
    lock_for_an_hour(house)
    before = house.record("alice")
    # Without the key, hashing would be unavailable, and no refusal.
    outcome = meanwhile(house, RIGHT, lambda: lose_key(house), **how)
    assert (outcome.prompts, outcome.result) == ([LOCKED], "AUTH_ERR")
    assert house.record("alice") == before


@BY
def test_an_administrator_who_unlocks_or_disables_meanwhile_decides(house, how):
    def does(word):
        return lambda: house.tool(word, "alice", check=0)

    lock_for_an_hour(house)
    assert meanwhile(house, RIGHT, does("unlock"), **how).result == "SUCCESS"
    lock_for_an_hour(house)
    outcome = meanwhile(house, RIGHT, does("disable"), **how)
    assert (outcome.prompts, outcome.result) == ([LOCKED], "AUTH_ERR")
    outcome = meanwhile(house, RIGHT, does("enable"), **how)
    assert (outcome.prompts, outcome.result) == (["Passcode disabled by the administrator. Password: "], "AUTH_ERR")
    assert house.failures("alice") == 1


@BY
def test_a_first_login_meanwhile_makes_it_an_attempt(house, how):
    wait_for_login(house)

    def log_in():
        assert house.authenticate("alice", calls=["authenticate", "open_session"]).results == ["SUCCESS"] * 2

    log_in_first = "auth sufficient {module}\nauth required pam_permit.so\nsession optional {module}"
    outcome = meanwhile(house, RIGHT, lambda: (house.service(stack=log_in_first), log_in()), **how)
    assert (outcome.prompts, outcome.result) == (["Log in with your password first. Password: "], "SUCCESS")


def test_another_user_or_nothing_at_such_a_prompt(house):
    lock_for_an_hour(house)

    def become_bob(handle):
        handle.set("USER", "bob")
        return PASSWORD

    assert hidden_prompt(house, become_bob).result == "AUTH_ERR"
    assert hidden_prompt(house, FAILS).result == "CONV_ERR"
    outcome = hidden_prompt(house, "x" * 10_000, PASSWORD, stack=BEHIND["yes"])
    assert (outcome.prompts[1:], outcome.result) == (["Password: "], "SUCCESS")


@pytest.mark.parametrize("state", ["locked", "locked out", "disabled", "expired", "to be changed", "first login", "paused", "password due",
                                   "key missing"])  # fmt: skip
def test_a_password_of_digits_is_typed_after_enter(house, state):
    machines.set_password("alice", SIX_DIGITS)
    STATES[state](house)
    assert hidden_prompt(house, SIX_DIGITS, stack=BEHIND["yes"]).result == "AUTH_ERR"
    outcome = hidden_prompt(house, "", SIX_DIGITS, stack=BEHIND["yes"])
    assert (outcome.prompts[1:], outcome.result) == (["Password: "], "SUCCESS")


def test_what_is_told_is_logged_as_ever(house):
    lock_for_an_hour(house)
    hidden_prompt(house, PASSWORD)
    [line] = [line.message for line in house.module_log() if "passcode locked" in line.message]
    assert "user=alice" in line and re.search(r"seconds_left=3[56]\d\d", line)


# MARK: To whom


@pytest.mark.parametrize("asker", [None, "root"])
def test_a_stranger_is_told_no_more_than_by_notices(house, asker):
    """A login screen asks for anyone who types a name."""
    by = {"items": {"RUSER": asker}}
    fail_once(house)
    assert hidden_prompt(house, "", **by).prompts == [EITHER]
    assert ask(house, "no", "yes", "", **by).prompts == [PROMPT]
    lock_for_an_hour(house)
    assert hidden_prompt(house, PASSWORD, stack=BEHIND["yes"], **by).prompts == ["Password: "]
    lose_key(house)
    house.tool("unlock", "alice", check=0)
    assert hidden_prompt(house, PASSWORD, stack=BEHIND["yes"], **by).prompts == ["Password: "]
    wait_for_login(house)
    for act in (lambda bed: None, forget):
        act(house)
        assert hidden_prompt(house, PASSWORD, stack=BEHIND["yes"], **by).prompts == ["Password: "]
        outcome = ask(house, "yes", "no", **by)
        assert (outcome.result, outcome.texts) == ("PERM_DENIED", ["Log in with your password first."])


# MARK: What the administrator chose


@pytest.mark.parametrize("more", [["[prompt=Your PIN:]"], ["quiet"]], ids=["prompt", "quiet"])
def test_what_the_administrator_chose_stays(house, more):
    own = "Your PIN: " if "quiet" not in more else EITHER
    fail_once(house)
    assert hidden_prompt(house, "", more=more).prompts == [own]
    for state in ("locked", "disabled", "key missing", "first login", "password due", "paused"):
        STATES[state](house)
        outcome = hidden_prompt(house, PASSWORD, more=more, stack=BEHIND["yes"])
        assert (outcome.prompts, outcome.texts, outcome.result) == (["Password: "], [], "SUCCESS")


@pytest.mark.parametrize("option", ["try_first_pass", "use_first_pass"])
@pytest.mark.parametrize("typed", [RIGHT, PASSWORD], ids=["digits", "text"])
def test_where_an_earlier_module_may_have_asked_there_is_no_prompt(house, option, typed):
    """pam_unix asked before, and lets nobody in; the token stays for who stands behind."""
    lock_for_an_hour(house)
    before = "auth [success=ok default=ignore] pam_unix.so\n"
    outcome = hidden_prompt(house, typed, more=[option], stack=before + BEHIND["yes"])
    assert outcome.prompts == ["Password: "]
    assert outcome.result == ("SUCCESS" if typed == PASSWORD else "AUTH_ERR")


# MARK: Words


SORTED_BY_SDDM = re.compile(r"\b(re-?(enter|type)|again|confirm|repeat|new|old|current)\b", re.IGNORECASE)
LONGEST = {"minute": 90, "second": 59, "hours": 48, "days": 30}


def patterns():
    """What stands before "Password:"; and with attempts left, or a finger that is needed, the whole prompt."""
    texts = list(messages())
    reasons = [text for text in texts if text.startswith("Passcode locked (")]
    reasons += [prompt.removesuffix(" Password: ") for prompt, *_ in TABLE.values()
                if prompt.endswith(". Password: ") and not prompt.startswith("Passcode locked (")]  # fmt: skip
    return sorted(set(reasons)), [text for text in texts if re.match(r"Passcode (\(%d attempt left\)|and )", text)]


@pytest.mark.parametrize("language", ["en", *languages.languages()])
def test_prompts_fit_a_line_and_sort_as_a_password_s(language):
    reasons, counted = patterns()
    assert len(reasons) == 13 and len(counted) == 6
    password = said(language, "Password:")
    assert said(language, "Passcode or password:").casefold().endswith(password.casefold())
    for text in (*reasons, *counted):
        ends = text in reasons
        for whole in prompts(language, text):
            whole = f"{whole} {password} " if ends else f"{whole} "
            assert languages.width(whole) <= 80, whole
            assert not SORTED_BY_SDDM.search(whole), whole
            if language == "en" and "assword" in whole:
                assert whole.endswith("fingerprint: " if "or fingerprint" in whole else "assword: ")


def said(language, text):
    return text if language == "en" else languages.told(language, text)


def prompts(language, text):
    """Its longest forms."""
    message = messages()[text]
    if not message.plural:
        return [said(language, text)]
    number = next((most for unit, most in LONGEST.items() if unit in text), 4_294_967_295)
    if language == "en":
        return [text.replace("%d", "1"), message.plural.replace("%d", str(number))]
    return [form.replace("%d", str(number)) for form in languages.forms(language, message).values()]
