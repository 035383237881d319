"""What the scripts here share: the product's own verdicts, the frequency files, and the choice from them."""

import csv
import json
import math
import subprocess

# The product's words for what comes from the table and not from a rule.
MOST_USED = {4: 1_000, 6: 3_000}
FROM_TABLE = ["this is a date"] + [
    "this is among the {:,} most used codes".format(most) for most in MOST_USED.values()
]

DATE_BONUS = 0.15


def every_code(length):
    return ["%0*d" % (length, value) for value in range(10**length)]


def counts(path):
    """{code: count} of a file with the columns passcode,count, with or without a line that says so."""
    with open(path, newline="", encoding="ascii") as file:
        return {code: int(count) for code, count in csv.reader(file) if code.isdigit()}


def verdicts(command, codes):
    """{code: reason} of the codes that the command calls weak.

    The command reads candidates, one a line, and answers with JSON objects, one a line, in that order.
    """
    answer = subprocess.run(
        command, input="\n".join(codes) + "\n", stdout=subprocess.PIPE, text=True, check=True
    )
    objects = [json.loads(line) for line in answer.stdout.splitlines()]
    if [each["passcode"] for each in objects] != list(codes):
        raise SystemExit("the command didn't answer for every candidate in order")
    return {each["passcode"]: each["reason"] for each in objects if each["weak"]}


def ranked(numbers):
    """Codes by falling number; equal ones by code, so that the same files give the same order."""
    return sorted(numbers, key=lambda code: (-numbers[code], code))


def is_date(code):
    """As Weakness.readsAsDate: DDMM or MMDD, in six digits with a year after it."""
    first, second = int(code[:2]), int(code[2:4])
    return (1 <= first <= 12 and 1 <= second <= 31) or (1 <= first <= 31 and 1 <= second <= 12)


def chosen(count_of, covered, size):
    """The values of the codes for a table of that size, ascending: see make-popular-codes."""
    score = {
        code: math.log(count) + (DATE_BONUS if is_date(code) else 0)
        for code, count in count_of.items()
        if code not in covered
    }
    return sorted(int(code) for code in ranked(score)[:size])
