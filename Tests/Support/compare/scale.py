"""6. Stores of many: what grows with the number of people, and what doesn't."""

import contextlib
import os
import subprocess
import tempfile
import time

import bench
import forge
from compare.figures import MEBIBYTE, counted, figure, taking_turns
from compare.logins import call
from compare.peers import sh
from scenario import RIGHT

FEW = 10
FIRST = 200_000  # their uids; they need no accounts


def figures(kit):
    """Each in turns with the same in a store of ten; what has to read all records, with reading all files."""
    many, few = kit.make_bed(), kit.make_bed()
    sizes = kit.effort.of((FEW, 1_000, 100_000, 1_000_000), (FEW, 100, 200, 400))
    with filled(few, FEW), filled(many, 0) as more:
        for size in sizes:
            more(size)
            yield from at_size(kit, many, few, f"{size:,}")


@contextlib.contextmanager
def filled(bed, count):
    """Alice is enrolled, and so many others; yields what enrols others up to a number. On a tmpfs: 8 KiB each."""
    bed.store.mkdir(mode=0o700)
    sh("mount", "-t", "tmpfs", "-o", "mode=0700,size=90%,nr_inodes=0", "tmpfs", bed.store)
    enrolled = 0

    def more(total):
        nonlocal enrolled
        people = [(FIRST + number, f"person{number}") for number in range(enrolled, total)]
        forge.enroll_numbers_like(bed, "alice", people)
        enrolled = total

    try:
        bed.enroll("alice", RIGHT)
        more(count)
        yield more
    finally:
        sh("umount", bed.store)


def at_size(kit, many, few, people):
    rounds, how = kit.effort.of(31, 3), {"variant": people, "scale": 1e3}
    logins = [call(bed, "alice", RIGHT, "SUCCESS") for bed in (many, few)]
    yield figure("authenticate", "a store of 10", "ms", taking_turns(rounds, *logins), **how)
    commands = {"status": (["status", "alice"], ""), "enrol": (["enroll", "--stdin", "alice"], f"{RIGHT}\n")}
    for name, (words, typed) in commands.items():
        runs = [timed(bed, words, typed) for bed in (many, few)]
        yield figure(name, "a store of 10", "ms", taking_turns(rounds, *runs), **how)
    lists = taking_turns(kit.effort.of(3, 1), timed(many, ["list"], ""), lambda: bench.reading(many))
    yield figure("list", "reading its files", "ms", lists, **how)
    sizes = [sum(entry.stat().st_blocks for entry in os.scandir(bed.store)) * 512 / MEBIBYTE for bed in (many, few)]
    yield counted("disk space", "a store of 10", "MiB", *sizes, variant=people)


def timed(bed, words, typed):
    """Runs the tool, and returns the seconds from its start to its end."""

    def work():
        with tempfile.TemporaryFile() as output:
            start = time.perf_counter()
            command = [*bed.tool_words(), *words]
            subprocess.run(command, check=True, input=typed.encode(), stdout=output, stderr=output)
            return time.perf_counter() - start

    return work
