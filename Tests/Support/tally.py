"""The table of the attacks: what was tried how often, and how often it did what it never may.

A test opens its row by `with attack("name") as row`, counts runs, and reports each breach with where it was; the
row fails the test at its end, so that the table shows all of it. Printed at the end of a test run.
"""

import contextlib
import dataclasses

BREACHES = {
    "beyond": "verified beyond the budget",
    "refund": "refunds",
    "unreadable": "unreadable records",
    "lost": "lost enrolments",
    "refused": "right codes refused wrongly",
}


@dataclasses.dataclass
class Row:
    name: str
    runs: int = 0
    breaches: dict = dataclasses.field(default_factory=lambda: {kind: 0 for kind in BREACHES})
    details: list = dataclasses.field(default_factory=list)

    def run(self, times=1):
        self.runs += times

    def breach(self, kind, where, times=1):
        if times > 0:
            self.breaches[kind] += times
            self.details.append((kind, where))


rows = []


@contextlib.contextmanager
def attack(name):
    row = next((row for row in rows if row.name == name), None)
    if row is None:
        row = Row(name)
        rows.append(row)
    before = len(row.details)
    yield row
    found = row.details[before:]
    assert not found, f"{name}: {len(found)} times, first {found[:3]}"


def others(name):
    """A row for somebody else's module, beside ours: nothing is asserted of it."""
    rows.append(Row(name))
    return rows[-1]


def table():
    if not rows:
        return []
    width = max(len(row.name) for row in rows)
    heads = ["runs", *BREACHES.values()]
    lines = ["  ".join(["attack".ljust(width), *heads])]
    for row in rows:
        numbers = [row.runs, *row.breaches.values()]
        cells = [str(number).rjust(len(head)) for number, head in zip(numbers, heads, strict=True)]
        lines.append("  ".join([row.name.ljust(width), *cells]))
    return lines
