"""The MUST rows in the heads of the sources, the tables that pages have of them, and the tests that rows name.

A head has rows of a table below a line with `MUST (NAME)`, in whatever file they are kept true:

    // MUST (attempt), and what shows it:
    //  3  Lockout is decided under the record's lock, after the passcode was
    //     typed.                                  test_the_lock_is_decided_after_the_typing

A row ends with the tests that show it; an empty comment line ends the block. Rows of one table may stand in several
files. Heads are found by what is in them, so files may move.
"""

import functools
import os
import pathlib
import re

TREE = pathlib.Path(__file__).parents[2]
PAGES = sorted([*(TREE / "Sources").glob("*.md"), *TREE.glob(".github/*.md")])
TEST = r"test_\w+(?:\.py)?|[A-Z]\w*Tests\b|Fuzz[A-Z][a-z]\w*|Tests/Fuzz"
HEAD = re.compile(r"^\s*(?://+|#) .*\bMUST \(([\w '-]+)\)")
ROW = re.compile(r"^ {0,2}(\d+)  (\S.*)$")
SHOWN = re.compile(rf"^(.*?)\s*((?:`?(?:{TEST})`?(?:,\s*)?)+)$", re.DOTALL)
TABLE = re.compile(r"<!-- MUST \(([\w '-]+)\), written by Tests/contract -->\n(.*?)<!-- until here -->\n", re.DOTALL)


class Row:
    def __init__(self, path, number, text):
        self.path, self.number = path, int(number)
        found = SHOWN.match(" ".join(text.split()))
        self.text, tail = found.groups() if found else (text, "")
        self.tests = re.findall(TEST, tail)

    @property
    def line(self):
        tests = ", ".join(test if test[0].isupper() else f"`{test}`" for test in self.tests)
        return "| {} | {} | {} |".format(self.number, self.text.replace("|", "\\|"), tests)


@functools.cache
def sources():
    """{path: text} of what may have a head: sources, and scripts that are installed beside the programs."""
    found = [path for path in (TREE / "Sources").rglob("*") if path.suffix in (".swift", ".h", ".c")]
    return {path: path.read_text() for path in sorted(found)}


@functools.cache
def tables():
    """{name: rows, by their number}."""
    found = {}
    for path, text in sources().items():
        name, rows = None, []
        for line in [*text.splitlines(), ""]:
            comment = re.match(r"^\s*//+ ?(.*)$", line)
            if head := HEAD.match(line):
                name = head[1]
            elif name and (not comment or not comment[1].strip()):
                found.setdefault(name, []).extend(Row(path, *row) for row in rows)
                name, rows = None, []
            elif name and (row := ROW.match(comment[1])):
                rows.append([row[1], row[2]])
            elif rows:
                rows[-1][1] += "\n" + comment[1]
    return {name: sorted(rows, key=lambda row: row.number) for name, rows in found.items()}


def table(name, page):
    """What stands between the marks of a page."""
    rows = tables()[name]
    files = dict.fromkeys(row.path for row in rows)
    links = ", ".join(f"[{path.name}]({os.path.relpath(path, page.parent)})" for path in files)
    return "\n".join(["| # | MUST | shown by |", "|---|---|---|", *[row.line for row in rows], "", f"From {links}.", ""])


def moved(text, page):
    """The page with its links to files of Sources that have moved put right, where a name is only one file's."""
    there = {}
    for path in (TREE / "Sources").rglob("*.*"):
        there.setdefault(path.name, []).append(path)

    def link(match):
        target, anchor = match[1], match[2] or ""
        files = there.get(os.path.basename(target), [])
        if (page.parent / target).exists() or len(files) != 1:
            return match[0]
        return f"]({os.path.relpath(files[0], page.parent)}{anchor})"

    return re.sub(r"\]\(([^)#:\s]+)(#[^)]+)?\)", link, text)


def current(page):
    """The page as it should be."""
    def written(match):
        return f"<!-- MUST ({match[1]}), written by Tests/contract -->\n{table(match[1], page)}<!-- until here -->\n"

    return moved(TABLE.sub(written, page.read_text()), page)


def shown_by_rows():
    """{test: the rows that name it}, a row as "attempt 3"."""
    found = {}
    for name, rows in tables().items():
        for row in rows:
            for test in row.tests:
                found.setdefault(test, []).append(f"{name} {row.number}")
    return found
