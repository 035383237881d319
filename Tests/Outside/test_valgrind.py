"""The module that ships, under valgrind: nothing is lost, and nothing is read that was never written.

By request with 1,000 rounds, which is 10,000 calls of pam_authenticate, in a few minutes:

    PASSCODE_ROUNDS=1000 Tests/outside Tests/Outside/test_valgrind.py
"""

import os
import re
import subprocess

import host
import pam
import pytest
from bed import SERVICE

pytestmark = pytest.mark.shipped

ROUNDS = int(os.environ.get("PASSCODE_ROUNDS", "30"))
CODE = "274916"  # as logins.c types it
# Of ten calls: right twice, wrong or no passcode or locked out, cancelled, and nobody enrolled.
EACH = {"SUCCESS": 2, "AUTH_ERR": 6, "CONV_ERR": 1, "USER_UNKNOWN": 1}


def valgrind(*command):
    """Its exit status, its report, and what the program printed."""
    done = subprocess.run(
        ["valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
         "--errors-for-leak-kinds=definite,indirect,possible", "--error-exitcode=99", *command],
        capture_output=True, timeout=3_000, text=True,
    )  # fmt: skip
    return done.returncode, done.stderr, done.stdout


def lost(report):
    """Bytes of each kind; nothing where every block was freed."""
    if "All heap blocks were freed" in report:
        return {}
    assert "LEAK SUMMARY" in report, report
    kinds = re.findall(r"(\w+) lost: ([\d,]+) bytes", report)
    return {kind: int(number.replace(",", "")) for kind, number in kinds}


def test_no_login_loses_memory_or_reads_what_was_never_written(make_bed):
    bed = make_bed(memlimit="8K", lockout="3:1m,4:reset")
    for user in ("alice", "bob"):
        bed.enroll(user, CODE)
    bed.rewrite("bob", lambda text: text.replace(b"failures=0", b"failures=4"))
    status, report, output = valgrind(host.compiled("logins"), SERVICE, str(bed.services), str(ROUNDS))
    results = {pam.RESULTS[int(line.split()[0])]: int(line.split()[1]) for line in output.splitlines()}
    print(f"\n  {10 * ROUNDS} logins: {results}, lost: {lost(report)}")
    assert results == {name: count * ROUNDS for name, count in EACH.items()}, report
    assert status == 0 and "ERROR SUMMARY: 0 errors" in report, report
    assert not any(lost(report).values()), report


@pytest.mark.parametrize("what", ["LEAK", "READ"])
def test_valgrind_finds_a_planted_fault(tmp_path, what):
    """Or the test above would say nothing."""
    source = tmp_path / "fault.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int main(void) {\n"
        "  volatile char *block = malloc(32);\n"
        "#ifdef READ\n"
        "  if (block[5]) block[6] = 1;\n"
        "  free((void *)block);\n"
        "#else\n"
        "  block[0] = 1, block = 0;\n"
        "#endif\n"
        "  return 0;\n"
        "}\n"
    )
    subprocess.run(["gcc", "-O0", f"-D{what}", "-o", tmp_path / "fault", source], check=True)
    status, report, _ = valgrind(str(tmp_path / "fault"))
    assert status == 99, report
    assert (lost(report).get("definitely") == 32) == (what == "LEAK"), report
