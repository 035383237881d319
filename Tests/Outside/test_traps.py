"""Where the module and the helper can trap: only in files that Sources/BUILD.md lists with the reason why they don't.

A trap in the module kills sudo or login. Swift makes one of each arithmetic, index and conversion that it can't prove
itself; what is left of them in the built programs is found here, by the instruction that traps and the lines that lead
to it. After a change there, review the new ones: `PASSCODE_TRAPS=1 Tests/outside -s Tests/Outside/test_traps.py` prints all.
"""

import os
import pathlib
import re
import shutil

import pytest

from trusted import PACKAGE, TREE, run

pytestmark = pytest.mark.shipped

TRAP = re.compile(r"^\s*([0-9a-f]+):\s+(?:ud2|brk|udf)\b")
# An instruction, and where it may lead.
STEP = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s.*?\b([0-9a-f]+) <)?")
DECIDES_NOTHING = {"call", "ret", "jmp", "bl", "blr", "b", "br"}


def sites(program):
    """The addresses of the instructions that decide about a trap."""
    traps, before, jumps = {}, None, []
    for line in run("objdump", "--disassemble", "--no-show-raw-insn", program).splitlines():
        if trap := TRAP.match(line):
            traps[int(trap[1], 16)] = before
        if step := STEP.match(line):
            address = int(step[1], 16)
            decides = step[2] not in DECIDES_NOTHING
            if decides and step[3]:
                jumps.append((address, int(step[3], 16)))
            before = address if decides else None
        elif line.endswith(">:"):
            before = None
    assert len(traps) > 20 and len(jumps) > 1_000
    reached = {address for address, target in jumps if target in traps}
    return sorted(reached | {address for address in traps.values() if address})


def calls(program, addresses):
    """For each address the places in the sources that it comes from, the innermost first. By Swift's own symbolizer:
    binutils and gdb find few of them after link-time optimisation."""
    symbolizer = pathlib.Path(shutil.which("swift")).resolve().parent / "llvm-symbolizer"
    text = run(symbolizer, f"--obj={program}", "--inlines", stdin="".join(f"{address:#x}\n" for address in addresses))
    blocks = text.strip().split("\n\n")
    assert len(blocks) == len(addresses)
    for block in blocks:
        yield [place.rsplit(":", 2) for place in block.splitlines()[1::2]]


def trapping(program):
    """{file: lines} of the sources, and how many places are in the standard library's own code alone."""
    found, library = {}, 0
    for places in calls(program, sites(program)):
        ours = [(file.split("Sources/")[1], number) for file, number, _ in places if "Sources/" in file]
        if ours:
            found.setdefault(ours[0][0], set()).add(ours[0][1])
        else:
            library += 1
    return found, library


def listed():
    """The files in the table under "What doesn't trap"."""
    text = (TREE / "Sources/BUILD.md").read_text()
    table = text.split("\n## What doesn't trap\n")[1].split("\n## ")[0]
    return set(re.findall(r"\]\(([\w/+-]+\.swift)\)", table))


@pytest.mark.parametrize("name", ["pam_passcode.so", "passcode-helper"])
def test_each_place_that_could_trap_is_in_a_file_that_was_reviewed(name, capsys):
    found, library = trapping(PACKAGE / name)
    if os.environ.get("PASSCODE_TRAPS"):
        with capsys.disabled():
            print(f"\n{name}: {library} places in the standard library's code, and")
            for file, numbers in sorted(found.items()):
                print(f"  {file}: {', '.join(sorted(numbers))}")
    assert len(found) > 15, "the search finds them"
    unlisted = found.keys() - listed()
    assert not unlisted


def test_no_file_is_listed_that_cannot_trap():
    found = trapping(PACKAGE / "pam_passcode.so")[0] | trapping(PACKAGE / "passcode-helper")[0]
    stale = listed() - found.keys()
    assert not stale
