"""What strace records: the calls of a program, in order."""

import pathlib
import re
from typing import NamedTuple

MARK, VERIFYING = "getppid", "getsid"  # host.c: where a call of libpam begins and ends, and where a verification begins


class Call(NamedTuple):
    name: str
    line: str  # all of it; an injected one has "(INJECTED)" in it

    @property
    def arguments(self):
        return re.match(r"\w+\((.*?)(?:\) += .*)?$", self.line)[1]

    @property
    def result(self):
        """A number that isn't negative, or None: it failed, or the process ended in it."""
        found = re.search(r"\) += (\d+)", self.line)
        return int(found[1]) if found else None


def record(file, *options):
    """Runs the command that follows it, and its children; what they call is written into this file."""
    return ["strace", "-f", "-o", str(file), *options]


def calls(file):
    return [
        Call(name, line)
        for line, name in re.findall(r"^(?:\d+ +)?((\w+)\(.*)$", pathlib.Path(file).read_text(), re.MULTILINE)
    ]


def between_marks(calls):
    """For each pair of marks, what was called between the two."""
    spans, current = [], None
    for call in calls:
        if call.name == MARK:
            current = [] if current is None else None
            if current is not None:
                spans.append(current)
        elif current is not None and call.name != VERIFYING:
            current.append(call)
    return spans
