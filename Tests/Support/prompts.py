"""What the prompt says: the table in Sources/PROMPT.md, and what each row of it promises (test_prompt.py,
test_finger_prompt.py, test_workstation.py)."""

import pathlib

import pytest

from pam import SILENT
from scenario import PASSWORD, RIGHT
from states import disable, exhaust, expire, fail_once, forget, lock_for_an_hour, lose_key, pause, spend

PAGE = pathlib.Path(__file__).parents[2] / "Sources/PROMPT.md"


def wait_for_login(bed):
    bed.configure(first_login="deny")


def let_the_password_be_due(bed):
    bed.configure(password_every="1h")


def have_none_before_login(bed):
    forget(bed)
    wait_for_login(bed)


def stay(bed):
    pass


STATES = {
    "not enrolled": forget,
    "not enrolled, first login": have_none_before_login,
    "open": stay,
    "open after failures": fail_once,
    "locked": lock_for_an_hour,
    "locked out": exhaust,
    "disabled": disable,
    "expired": expire,
    "to be changed": spend,
    "first login": wait_for_login,
    "first login in a fleet": wait_for_login,
    "paused": pause,
    "password due": let_the_password_be_due,
    "key missing": lose_key,
    "remote": stay,
    "another's account": stay,
    "open, fingerprint": stay,
    "open after failures, fingerprint": fail_once,
}


def let_the_passcode_come_first(bed):
    bed.configure(finger_for="72h")


STATES["open, fingerprint waits"] = let_the_passcode_come_first


def want_both(bed):
    bed.configure(finger="both")


STATES |= {f"both, {what}": want_both for what in ("touched", "not touched", "no reader")}
ITEMS = {"remote": {"RHOST": "192.0.2.1"}, "another's account": {"RUSER": "bob"}}
PERSON = {"RUSER": "alice"}
# What stands behind the module: with `either` as in the profile.
BEHIND = {
    "yes": "auth [success=done auth_err=die conv_err=die default=ignore] {module}\nauth required pam_unix.so try_first_pass",
    "no": "auth sufficient {module}\nauth required pam_unix.so try_first_pass",
}


def table():
    """{(state, either, hidden): the other cells}"""
    rows = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] not in STATES:
            continue
        state, either, hidden, *said = cells
        for one in ("no", "yes") if either == "any" else (either,):
            for other in ("no", "yes") if hidden == "any" else (hidden,):
                assert (state, one, other) not in rows, line
                rows[state, one, other] = [cell.removeprefix("`").removesuffix("`") for cell in said]
    return rows


TABLE = table()
WAITS = [case for case in TABLE if case[0].endswith("fingerprint waits")]
READERS = [case for case in TABLE if case[0].endswith("fingerprint")]
FLEETS = [case for case in TABLE if case[0].endswith("fleet")]
# Without a reader, and with the passcode on this machine.
BOTH = [case for case in TABLE if case[0].startswith("both")]
PLAIN = [case for case in TABLE if case not in READERS + WAITS + FLEETS + BOTH]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=["-".join(case).replace(" ", "_") for case in cases])


def listed(cell):
    return [] if cell == "–" else [cell]


def ask(bed, either, hidden, *answers, more=(), stack=None, items=PERSON, **how):
    bed.service(*(["either"] if either == "yes" else []), *more, **({"stack": stack} if stack else {}))
    return bed.authenticate("alice", *answers, flags=SILENT if hidden == "yes" else 0, items=items, **how)


def as_the_table_says(bed, case, fail_again=fail_once, typing=lambda text: text, after_enter=(), after_digits=(), **how):
    """The bed is in the state. A success forgets the failures: `fail_again` brings them back.

    - `typing`: what is answered in place of a text.
    - `after_enter`, `after_digits`: what is told after Enter alone, or the passcode, where notices are shown.
    """
    state, either, hidden = case
    prompt, notice, *results, _ = TABLE[case]
    how = {"items": ITEMS.get(state, PERSON), **how}
    for typed, result in zip((RIGHT, PASSWORD, ""), results, strict=True):
        outcome = ask(bed, either, hidden, typing(typed), **how)
        assert (outcome.prompts, outcome.result) == (listed(prompt), result), typed
        more = list({"": after_enter, RIGHT: after_digits}.get(typed, ())) if hidden == "no" else []
        assert outcome.texts == listed(notice) + more, typed
        forgets = state.startswith("open after failures") and typed == RIGHT
        if forgets:
            fail_again(bed)
        next_module(bed, case, typed, typing, **how)
        if forgets:
            fail_again(bed)


def next_module(bed, case, typed, typing, **how):
    """Whether it asks, and that the text that it is left is taken."""
    _, either, hidden = case
    prompt, _, digits, _, _, behind = TABLE[case]
    assert behind in ("asks", "takes text")
    answers = [*([typing(typed)] if listed(prompt) else []), PASSWORD]
    outcome = ask(bed, either, hidden, *answers, stack=BEHIND[either], **how)
    if typed == RIGHT and listed(prompt) and digits != "PERM_DENIED" and (behind == "takes text" or digits == "SUCCESS"):
        own, result = [], "SUCCESS" if digits == "SUCCESS" else "AUTH_ERR"
    elif typed == PASSWORD and behind == "takes text":
        own, result = [], "SUCCESS"
    else:
        own, result = ["Password: "], "SUCCESS"
    assert (outcome.prompts, outcome.result) == (listed(prompt) + own, result), typed
