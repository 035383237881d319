#!/usr/bin/python3
"""What a test runner counted, from the files that it writes for machines: pytest's --junit-xml, swift's --xunit-output.

    results.py count FILE       passed, failed and skipped, as three numbers
    results.py failed FILE...   the names of what failed, a line each
    results.py left-out FILE... the names of what was skipped
    results.py skipped FILE...  how many were skipped for each reason
"""

import collections
import contextlib
import pathlib
import re
import sys
import xml.etree.ElementTree


def results(path):
    """(name, outcome, reason) of each test."""
    for case in xml.etree.ElementTree.fromstring(well_formed(pathlib.Path(path).read_text())).iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        outcome, reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error"):
                outcome = "failed"
            elif child.tag == "skipped" and outcome == "passed":
                outcome, reason = "skipped", child.get("message", "")
        yield name, outcome, reason


def well_formed(text):
    """Swift Testing writes the names of its tests as they are: also with quotation marks in them."""
    def quoted(match):
        return match[1] + match[2].replace('"', "&quot;") + match[3]

    return re.sub(r'(<testcase classname="[^"]*" name=")(.*?)(" time="[^"]*" ?/?>)$', quoted, text, flags=re.MULTILINE)


def count(path):
    counts = collections.Counter(outcome for _, outcome, _ in results(path))
    print(*(counts[outcome] for outcome in ("passed", "failed", "skipped")))


def names(outcome, *paths):
    for path in paths:
        for name, how, _ in results(path):
            if how == outcome:
                print(name)


def skipped(*paths):
    reasons = collections.Counter()
    for path in paths:
        with contextlib.suppress(xml.etree.ElementTree.ParseError):  # of a part that died
            reasons.update(reason for _, outcome, reason in results(path) if outcome == "skipped")
    for reason, number in reasons.most_common():
        print(f"{number} left out: {reason}")


if __name__ == "__main__":
    act, *paths = sys.argv[1:]
    if act in ("failed", "left-out"):
        names({"failed": "failed", "left-out": "skipped"}[act], *paths)
    else:
        {"count": count, "skipped": skipped}[act](*paths)
