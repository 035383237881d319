"""Which source files have instructions in the module and in the helper: what an auditor of the passcode reads.

Found in the built programs, by the lines that their instructions come from: what is compiled and then dropped by the
linker doesn't count, and neither does a declaration without code.
"""

import pathlib
import re
import shutil
import subprocess

TREE = pathlib.Path(__file__).parents[2]
PACKAGE = TREE / ".build/ship/package"  # with symbols
PROGRAMS = ("pam_passcode.so", "passcode-helper")
LIST = TREE / "Sources/TRUSTED"
HEAD = """\
# The source files that have instructions in the module or in the helper, and their lines: all that runs as root in a login
# program, or answers its callers as _passcode. Tests/trusted writes this list from a build (debian/build);
# test_trusted_base.py compares it. A commit that makes it longer says why.
"""


def run(*command, stdin=""):
    return subprocess.run(list(map(str, command)), input=stdin, check=True, capture_output=True, text=True).stdout


def files(program):
    """The files, by their paths in Sources. By Swift's own symbolizer, as in test_traps.py."""
    symbolizer = pathlib.Path(shutil.which("swift")).resolve().parent / "llvm-symbolizer"
    code = run("objdump", "--disassemble", "--no-show-raw-insn", program)
    addresses = re.findall(r"^\s*([0-9a-f]+):\t", code, re.MULTILINE)
    text = run(symbolizer, f"--obj={program}", "--inlines", stdin="".join(f"0x{address}\n" for address in addresses))
    return set(re.findall(r"^.*\bSources/(\S+?):\d+:\d+$", text, re.MULTILINE))


def trusted():
    """The list as it should be."""
    found = sorted(set().union(*(files(PACKAGE / name) for name in PROGRAMS)))
    lines = {file: len((TREE / "Sources" / file).read_text().splitlines()) for file in found}
    rows = [f"{count:5} {file}\n" for file, count in lines.items()]
    return f"{HEAD}{''.join(rows)}{sum(lines.values()):5} lines in {len(found)} files\n"
