"""A wrong passcode takes the same time, whatever its digits and its length.

Each round makes one attempt of each kind, in random order, and ranks them by the time from the prompt to the result. If
the kinds take the same time, every order is as likely as any other: then a kind's mean rank over many rounds is normally
distributed, with a variance that is known (as in Friedman's test). Ranks within a round depend neither on what the
machine does for a while, nor on single disturbances. One more kind is planted: wrong passcodes that are slower by a few per cent.

What may be seen by design: whether there is a prompt at all (enrolled, locked), and that the wrong passcode is the one
that was typed last, which isn't counted and not hashed (MUST 11). Those are compared among themselves.
"""

import random
import statistics
import subprocess

import pytest

import host
import pam
from bed import SERVICE, person

pytestmark = pytest.mark.alone

CODE = "830517"
LENGTH = len(CODE)
# Six attempts each. To start a helper takes longer, and never quite the same time.
ROUNDS = {"directly": 400, "by the helper": 500}
LIKELY, OBVIOUS = 4.5, 5.0  # standard deviations: once in 150,000 times, once in a million
PLANTED = {"directly": 0.05, "by the helper": 0.1}  # of the time of an attempt


def wrong(*known):
    """A code that has the digits of the enrolled one at these places, and other ones everywhere else."""
    return "".join(
        digit if place in known else random.choice([other for other in "0123456789" if other != digit])
        for place, digit in enumerate(CODE)
    )


KINDS = {
    "no digit right": wrong,
    "the first right": lambda: wrong(0),
    "the last right": lambda: wrong(LENGTH - 1),
    "all but the last right": lambda: wrong(*range(LENGTH - 1)),
    "four digits": lambda: "".join(random.choices("0123456789", k=4)),
}


def attempts(rounds):
    """(kind, code) in order; never the same code twice in a row."""
    last = None
    for _ in range(rounds):
        for kind in random.sample([*KINDS, "planted"], len(KINDS) + 1):
            code = last
            while code == last:
                code = KINDS.get(kind, wrong)()
            yield kind, code
            last = code


def timed(bed, lines, **who):
    """Of each (code, nanoseconds): the seconds until it is refused; and the enrolled one now and then in between, so
    that nothing is ever locked."""
    text = ""
    for place, (code, delay) in enumerate(lines):
        text += (f"{CODE} 0\n" if place % 100 == 0 else "") + f"{code} {delay}\n"
    done = subprocess.run(
        [host.compiled("timed"), SERVICE, str(bed.services), "alice"],
        input=text, text=True, capture_output=True, timeout=150, check=True, cwd="/", **who,
    )  # fmt: skip
    taken = []
    for line, (code, _) in zip(done.stdout.splitlines(), map(str.split, text.splitlines()), strict=True):
        result, nanoseconds, _ = map(int, line.split())
        assert pam.RESULTS[result] == ("SUCCESS" if code == CODE else "AUTH_ERR") and nanoseconds > 0
        if code != CODE:
            taken.append(nanoseconds / 1e9)
    return taken


def differences(rows):
    """Of a list of rounds, each {kind: seconds}: by how many standard deviations a kind's mean rank is off."""
    kinds = list(rows[0])
    deviation = ((len(kinds) ** 2 - 1) / 12 / len(rows)) ** 0.5
    ranks = {kind: 0 for kind in kinds}
    for row in rows:
        for rank, kind in enumerate(sorted(kinds, key=row.get), 1):
            ranks[kind] += rank
    return {kind: (sum / len(rows) - (len(kinds) + 1) / 2) / deviation for kind, sum in ranks.items()}


def measured(bed, rounds, repeated, planted, **who):
    """The rounds: each {kind: seconds}."""

    def run(rounds, delay):
        lines = list(attempts(rounds))
        # A code that is repeated is typed once before, without a look at the clock.
        times = 2 if repeated else 1
        planned = [(code, delay if kind == "planted" else 0) for kind, code in lines for _ in range(times)]
        taken = timed(bed, planned, **who)[times - 1 :: times]
        size = len(KINDS) + 1
        return [
            dict(zip([kind for kind, _ in lines[start : start + size]], taken[start : start + size], strict=True))
            for start in range(0, len(lines), size)
        ]

    usual = statistics.median(row[kind] for row in run(20, 0) for kind in KINDS)
    return run(rounds, round(usual * planted * 1e9))


def judged(rows):
    """{kind: standard deviations}, where that of the planted kind is against all others."""
    clean = [{kind: row[kind] for kind in KINDS} for row in rows]
    return differences(clean) | {"planted": differences(rows)["planted"]}


def fits(deviations):
    return deviations["planted"] > OBVIOUS and all(abs(deviations[kind]) < LIKELY for kind in KINDS)


def settled(measure):
    """One measurement if it fits; else that and two more, all their rounds together: there a real difference stands out more,
    by the same factor as the planted one."""
    rows = measure()
    if not fits(judged(rows)):
        rows += measure() + measure()
    return judged(rows)


@pytest.mark.parametrize("repeated", [False, True], ids=["another code each time", "the same code again"])
@pytest.mark.parametrize("way", ["directly", "by the helper"])
def test_wrong_codes_take_the_same_time_whatever_their_digits_and_length(machine, capsys, way, repeated):
    machine.configure(lockout="1000:1s")
    machine.enroll("alice", CODE)
    who = {} if way == "directly" else person("alice")
    rounds = ROUNDS[way] // 2 if repeated else ROUNDS[way]

    def measure():
        rows = measured(machine, rounds, repeated, PLANTED[way], **who)
        with capsys.disabled():
            print(f"\n  {way}, {'the same code again' if repeated else 'another code each time'}:")
            for kind, deviation in judged(rows).items():
                median = statistics.median(row[kind] for row in rows) * 1e6
                print(f"    {kind:<24} {median:9.1f} µs {deviation:7.1f} standard deviations")
        return rows

    result = settled(measure)
    assert fits(result), result
