"""Which tests that the contract's rows name were shown by a run of Tests/all: that they ran, and none of them failed."""

import collections
import functools
import os
import re
from xml.etree import ElementTree

from contract import TREE, shown_by_rows
from results import results


@functools.cache
def test_files():
    """{path: text} of the tests of programs and package."""
    files = [*TREE.glob("Tests/Outside/*.py"), *TREE.glob("Tests/Package/*.py")]
    return {path: path.read_text() for path in files}


def every_test():
    """All that a page may name: functions and files of tests, suites and files of unit tests, fuzz targets."""
    found = {"Tests/Fuzz", *(path.stem for path in TREE.glob("Tests/Fuzz/Fuzz*.swift"))}
    for path, text in test_files().items():
        found |= {path.name, *re.findall(r"^\s*def (test_\w+)", text, re.MULTILINE)}
    for path in TREE.glob("Tests/*Tests/**/*.swift"):
        found |= {path.parent.name, path.stem, *re.findall(r"^(?:struct|final class) (\w+Tests)\b", path.read_text(), re.MULTILINE)}
    return found | {path.name for path in TREE.glob("Tests/*Tests")}


def on_request():
    """Files and functions that Tests/all leaves out."""
    found = set()
    for path, text in test_files().items():
        if re.search(r"^pytestmark = .*on_request", text, re.MULTILINE):
            found |= {path.name, *re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
        found |= set(re.findall(r"^@pytest\.mark\.on_request\n(?:@.*\n)*def (test_\w+)", text, re.MULTILINE))
    return found


@functools.cache
def suites():
    """{file of unit tests: its suites, which may have other names}."""
    files = TREE.glob("Tests/*Tests/**/*.swift")
    return {path.stem: re.findall(r"^(?:@\S+ )*(?:struct|final class) (\w+)", path.read_text(), re.MULTILINE) for path in files}


def whole(path):
    """What a runner wrote; of a file that it didn't finish, nothing counts as run."""
    try:
        return list(results(path))
    except ElementTree.ParseError:
        return []


def outcomes(folder):
    """{test: how often it passed, failed or was skipped}, by each name that a row may give it."""
    found = collections.defaultdict(collections.Counter)
    for path in folder.glob("*.xml"):
        for name, outcome, _ in whole(path):
            group, _, function = name.partition("::")
            parts = group.split(".")
            names = {re.split(r"[\[(]", function)[0], *(f"{part}.py" if part.startswith("test_") else part for part in parts)}
            for each in names:
                found[each][outcome] += 1
    if (log := folder / "fuzz.log").exists():
        for word, target in re.findall(r"^(ok|FAILED) +(Fuzz\w+):", log.read_text(), re.MULTILINE):
            for each in (target, "Tests/Fuzz"):
                found[each]["passed" if word == "ok" else "failed"] += 1
    for file, names in suites().items():
        found[file] = sum((found[name] for name in {file, *names}), collections.Counter())
    return found


def unshown(folder):
    """A line for each named test that failed or didn't run, and each row of which nothing ran. What is left out by its
    nature isn't missed: tests on request, and in a container that may mount nothing, those that are skipped there."""
    found, later, lines = outcomes(folder), on_request(), []
    for test, rows in sorted(shown_by_rows().items()):
        count = found[test]
        if count["failed"]:
            lines.append(f"{test} failed: {', '.join(rows)}")
        elif not count["passed"] and test not in later and not (count["skipped"] and os.environ.get("PASSCODE_PLAIN")):
            lines.append(f"{test} did not run: {', '.join(rows)}")
    return lines
