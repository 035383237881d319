"""Whatever ends an attempt early: never a refund, never a trap, never a wrong passcode out of nothing."""

import collections
import re
import signal
import subprocess

import pytest

from bed import TOOL, more_memory_than, uid, wait_for
from scenario import RIGHT, WRONG, fail, unavailable_uncharged


def test_a_killed_attempt_is_not_refunded(bed):
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    for failures in (1, 2):
        running = bed.start("alice", RIGHT)
        wait_for(lambda: bed.record("alice") != before)
        running.kill(signal.SIGKILL)
        assert running.wait().killed_by == signal.SIGKILL
        before = bed.record("alice")
        assert bed.failures("alice") == failures
    bed.configure(memlimit="64K", opslimit="1")
    assert bed.status("alice")["state"] == "ok"


def test_too_little_memory_is_never_a_wrong_passcode(bed):
    bed.configure(memlimit="64M")
    bed.enroll("alice", RIGHT)
    for code in (RIGHT, WRONG[0]):
        unavailable_uncharged(bed, code=code, prepare=more_memory_than(48 << 20))
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("kibibytes", range(64, 1536, 64))
def test_hardly_any_memory_is_no_crash(alice, kibibytes):
    """Wherever it runs out: refused or let in, but never a trap and never a wrong passcode."""
    outcome = alice.authenticate("alice", RIGHT, prepare=more_memory_than(kibibytes << 10))
    assert outcome.killed_by == 0
    assert outcome.result in (
        "SUCCESS",
        "AUTHINFO_UNAVAIL",
        "MODULE_UNKNOWN",
        "SYSTEM_ERR",
        "BUF_ERR",
        "ABORT",
        "OPEN_ERR",
    )
    assert alice.failures("alice") == 0


ACTS = {
    "enroll": (["enroll", "--stdin", "alice"], "8260\n"),
    "remove": (["remove", "alice"], ""),
    "unlock": (["unlock", "alice"], ""),
    "disable": (["disable", "alice"], ""),
}


def traced_tool(bed, command, stdin, *options):
    trace = bed.folder / "trace"
    words = ["strace", "-f", "-o", trace, *options, TOOL, "--conf", bed.configuration, *command]
    done = subprocess.run(list(map(str, words)), input=stdin.encode(), capture_output=True, timeout=60)
    return done.returncode, re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("before", ["locked", "nothing"])
def test_the_tool_killed_at_any_system_call_leaves_before_or_after(bed, act, before):
    """Never a lost enrolment, an unreadable record or a rest that stops the next try."""
    command, stdin = ACTS[act]
    bed.typed |= {RIGHT, "8260"}
    bed.tool("key", "init", check=0)
    set_up(bed, before)
    _, names = traced_tool(bed, command, stdin)
    seen, points = collections.Counter(), []
    for name in names:
        seen[name] += 1
        if name in FILE_CALLS:
            points.append((name, seen[name]))
    assert points
    for name, when in points:
        set_up(bed, before)
        status, _ = traced_tool(
            bed, command, stdin, "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={when}"
        )
        assert status == -signal.SIGKILL, (act, name, when)
        state = bed.status("alice")
        where = (act, name, when, state)
        assert state["state"] in ("ok", "locked", "disabled"), where
        if before == "nothing":
            assert act == "enroll" or not state["enrolled"], where
        elif act != "remove":
            assert state["enrolled"], where
        assert {path.name for path in bed.store.iterdir()} <= {str(uid("alice")), "places"}, where
    set_up(bed, before)
    bed.tool("enroll", "--stdin", "alice", stdin="8260\n", check=0)
    bed.tool("enable", "alice", check=0)
    assert bed.authenticate("alice", "8260").result == "SUCCESS"


FILE_CALLS = [
    "openat",
    "linkat",
    "flock",
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "fchmod",
    "fchown",
    "close",
]


def set_up(bed, before):
    bed.record_file("alice").unlink(missing_ok=True)
    if before == "locked":
        if not hasattr(bed, "locked_record"):
            bed.enroll("alice", RIGHT)
            fail(bed, 3)
            bed.locked_record = bed.record("alice")
        bed.record_file("alice").write_bytes(bed.locked_record)
        bed.record_file("alice").chmod(0o600)
