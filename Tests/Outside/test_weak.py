"""Weak passcodes where they are chosen: refused, warned of or allowed, with the reason in words."""

import json
import subprocess
import time

import pytest

from bed import TOOL, uid
from terminal import Terminal
from tool import DONE, POLICY, UNUSABLE

STRONG, STRONG_SIX = "8305", "830562"


@pytest.fixture
def strict(keyed):
    """A bed as administrators have it: the rules in force."""
    del keyed.options["weak"]
    keyed.configure()
    return keyed


@pytest.mark.parametrize(
    "code, reason",
    [
        ("1111", "digits are the same"),
        ("1234", "follow one another"),
        ("1212", "repeated"),
        ("2580", "keypad"),
        ("1987", "a year"),
        ("123456", "follow one another"),
        ("121212", "repeated"),
        ("2512", "a date"),
    ],
)
def test_a_weak_passcode_is_refused_with_its_reason(strict, code, reason):
    strict.typed.add(code)
    answer = strict.tool("enroll", "--stdin", "alice", stdin=code + "\n", check=POLICY)
    assert answer.errors.startswith("passcode: Too easy to guess: ") and reason in answer.errors
    assert strict.status("alice")["enrolled"] is False


@pytest.mark.parametrize("weak, told", [("warn", True), ("allow", False)])
def test_warned_of_or_allowed(strict, weak, told):
    strict.configure(weak=weak)
    strict.typed.add("1234")
    terminal = Terminal(strict, "enroll", "alice")
    terminal.type("1234\n")
    terminal.type("1234\n")
    assert ("Easy to guess: these digits follow one another." in terminal.child.before) == told
    assert terminal.ends()[0] == DONE
    assert strict.authenticate("alice", "1234").result == "SUCCESS"


def test_asked_again_up_to_three_times(strict):
    terminal = Terminal(strict, "enroll", "alice")
    for code in ("1111", "2222", "3333"):
        terminal.type(code + "\n")
    status, said = terminal.ends()
    assert status == POLICY and "Too easy to guess: all its digits are the same." in said
    assert terminal.prompts == 3


def test_the_old_one_and_its_variations_are_refused_at_change(strict):
    strict.typed |= {STRONG, "5038", "8306", "3058", STRONG_SIX}
    strict.tool("enroll", "--stdin", "alice", stdin=STRONG + "\n", check=DONE)
    for new, reason in (
        (STRONG, "your old passcode"),
        ("5038", "backwards"),
        ("8306", "one digit changed by one"),
        ("3058", "starting at another digit"),
        (STRONG_SIX, "longer or shorter"),
    ):
        answer = strict.tool("change", "--stdin", "alice", stdin=f"{STRONG}\n{new}\n", check=POLICY)
        assert reason in answer.errors, new
    assert strict.authenticate("alice", STRONG).result == "SUCCESS"
    strict.typed.add("619407")
    strict.tool("change", "--stdin", "alice", stdin=f"{STRONG}\n619407\n", check=DONE)


def test_what_the_system_knows_of_somebody_is_refused(strict):
    subprocess.run(["usermod", "-c", "Alice,4629,0171-8305-7462,,", "alice"], check=True)
    strict.typed |= {"4629", "5746", "830574"}
    try:
        for code, reason in (("4629", "room"), ("5746", "phone"), ("830574", "phone")):
            answer = strict.tool("enroll", "--stdin", "alice", stdin=code + "\n", check=POLICY)
            assert reason in answer.errors, code
            # It is nobody else's.
            strict.tool("enroll", "--stdin", "bob", stdin=code + "\n", check=DONE)
    finally:
        subprocess.run(["usermod", "-c", "", "alice"], check=True)


def test_the_administrators_list(strict):
    codes = strict.folder / "codes"
    codes.write_text("# The street number, the switchboard\n8305\n830562 # postcode\n")
    strict.configure(weak_list=codes)
    strict.typed |= {STRONG, STRONG_SIX}
    for code in (STRONG, STRONG_SIX):
        answer = strict.tool("enroll", "--stdin", "alice", stdin=code + "\n", check=POLICY)
        assert "administrator's list" in answer.errors
    assert "administrator's list" in strict.tool("check-weak", stdin=STRONG + "\n", check=DONE).output


@pytest.mark.parametrize("content, complaint", [("8305\n830\n", ":2: "), (None, "no such file")])
def test_a_list_that_cannot_be_read_whole_lets_nobody_choose(strict, content, complaint):
    codes = strict.folder / "codes"
    if content is not None:
        codes.write_text(content)
    strict.configure(weak_list=codes)
    strict.typed.add("619407")
    answer = strict.tool("enroll", "--stdin", "alice", stdin="619407\n", check=UNUSABLE)
    assert f"{codes}" in answer.errors and complaint in answer.errors


def test_a_broken_list_keeps_nobody_out(strict):
    strict.enroll("alice", "619407")
    strict.configure(weak_list="/nonexistent")
    assert strict.authenticate("alice", "619407").result == "SUCCESS"


def test_a_made_up_passcode_is_never_weak(strict):
    made = set()
    for length in ("4", "6"):
        for _ in range(40):
            code = strict.tool("enroll", "--generate", "--length", length, "alice", check=DONE).output.strip()
            assert len(code) == int(length)
            made.add(code)
    strict.typed |= made
    answer = strict.tool("check-weak", "--json", stdin="".join(code + "\n" for code in made), check=DONE)
    assert [json.loads(line)["weak"] for line in answer.output.splitlines()] == [False] * len(made)


def test_made_up_passcodes_have_every_digit_in_every_place(strict):
    """300 of them: of the codes that aren't weak, each digit has at least 9.8% of each place, so chance leaves one of
    10 out of one of 6 places in 60 × 0.902^300 = 2e-12 of all runs."""
    made = [
        strict.tool("enroll", "--generate", "--length", "6", "alice", check=DONE).output.strip()
        for _ in range(300)
    ]
    strict.typed |= set(made)
    for place, digits in enumerate(zip(*made, strict=True)):
        assert set(digits) == set("0123456789"), f"place {place}"


def test_check_weak_judges_every_line(bed):
    lines = ["1234", "8305", "abc", "", "12345", 'a"b\\', "x" * 5000, "830562"]
    answer = bed.tool("check-weak", "--json", stdin="\n".join(lines), check=DONE)
    judged = [json.loads(line) for line in answer.output.splitlines()]
    assert [set(each) for each in judged] == [{"version", "passcode", "weak", "reason"}] * len(judged)
    assert [each["passcode"] for each in judged[:6]] == lines[:6]
    assert [each["weak"] for each in judged[:6]] == [True, False, True, True, True, True]
    assert judged[0]["reason"] == "these digits follow one another" and judged[1]["reason"] is None
    assert judged[-1] == {"version": 1, "passcode": "830562", "weak": False, "reason": None}
    assert bed.tool("check-weak", stdin="8305\n", check=DONE).output == "8305: not weak\n"


def test_anybody_may_ask_check_weak(bed):
    bed.tool("check-weak", stdin="8305\n", user="alice", check=DONE)
    done = subprocess.run([TOOL, "check-weak"], input=b"1234\n", capture_output=True, user=uid("alice"))
    assert done.returncode == DONE and b"follow one another" in done.stdout


@pytest.mark.parametrize("digits, most", [(4, 0.125), (6, 0.015)])
def test_a_million_candidates_in_seconds_and_the_share_refused(bed, digits, most):
    codes = "".join(f"{number:0{digits}}\n" for number in range(10**digits))
    started = time.monotonic()
    answer = bed.tool("check-weak", stdin=codes, check=DONE)
    assert time.monotonic() - started < 10
    weak = sum(not line.endswith(": not weak") for line in answer.output.splitlines())
    assert answer.output.count("\n") == 10**digits
    assert 0 < weak / 10**digits <= most
