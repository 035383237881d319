#!/usr/bin/python3
"""What a test runner counted, from the files that it writes for machines: pytest's --junit-xml, swift's --xunit-output.

    results.py count FILE       passed, failed and skipped, as three numbers
    results.py failed FILE...   the names of what failed, a line each
    results.py left-out FILE... the names of what was skipped
    results.py skipped FILE...  how many were skipped for each reason
    results.py why FILE...      what failed and what it said first, a line each
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
                outcome, reason = "failed", child.get("message", "")
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


def reasons(outcome, paths):
    """(name, reason) of each test with this outcome."""
    for path in paths:
        with contextlib.suppress(xml.etree.ElementTree.ParseError):  # of a part that died
            yield from ((name, reason) for name, how, reason in results(path) if how == outcome)


def skipped(*paths):
    for reason, number in collections.Counter(reason for _, reason in reasons("skipped", paths)).most_common():
        print(f"{number} left out: {reason}")


def why(*paths):
    for name, reason in reasons("failed", paths):
        print(f"{name}: {reason.partition(chr(10))[0][:300]}")


if __name__ == "__main__":
    act, *paths = sys.argv[1:]
    if act in ("failed", "left-out"):
        names({"failed": "failed", "left-out": "skipped"}[act], *paths)
    else:
        {"count": count, "skipped": skipped, "why": why}[act](*paths)
