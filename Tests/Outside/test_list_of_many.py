"""`passcode list` of many: a copy of the process makes every other part, and that shows nowhere."""

import json
import os
import re
import signal
import subprocess

import pytest

import bench
from process import children, wait_for
from scenario import fail

MANY = 10_000


# A copy takes a second processor. This run may have one of several only.
ALL_PROCESSORS = ["taskset", "--cpu-list", f"0-{os.cpu_count() - 1}"]


@pytest.fixture(scope="module")
def one_processor():
    return ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]


@pytest.fixture
def many(bed):
    """Every 100th record is damaged, or isn't to be trusted; so there are some in each part."""
    with bench.crowd(bed, MANY) as others:
        for number, (uid, _) in enumerate(others[::100]):
            file = bed.store / str(uid)
            if number % 2:
                file.chmod(0o666)
            else:
                content = file.read_bytes()
                file.write_bytes(content.replace(b"failures=0", b"failures=1"))
        yield bed


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--json", "--state", "corrupt"]], ids=" ".join)
def test_two_processes_say_what_one_says(many, one_processor, arguments):
    alone, both = (many.tool("list", *arguments, check=0, before=before) for before in (one_processor, ALL_PROCESSORS))
    assert both.output == alone.output
    assert sorted(both.errors.splitlines()) == sorted(alone.errors.splitlines()) and "writable" in both.errors
    if "--json" in arguments:
        found = [json.loads(line) for line in both.output.splitlines()]
        assert [row["uid"] for row in found] == sorted(row["uid"] for row in found)
        assert len(found) == (MANY // 100 if "corrupt" in arguments else MANY + 1)
        assert sum(row["state"] == "corrupt" for row in found) == MANY // 100


def test_nothing_is_missing_if_the_copy_dies(many, one_processor):
    whole = many.tool("list", "--json", check=0, before=one_processor).output
    words = [*ALL_PROCESSORS, *many.tool_words(), "list", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        # It has filled the pipe by now, and waits.
        wait_for(lambda: list(children(run.pid).values()) == ["S"])
        [copy] = children(run.pid)
        os.kill(copy, signal.SIGKILL)
        assert run.communicate()[0] == whole and run.returncode == 0


def test_an_error_that_only_one_of_them_meets_ends_both(many):
    """Alice, who is the first, is locked since another boot, and that can't be written; the copy has more to say than its
    pipe holds."""
    fail(many, 3)
    many.rewrite("alice", lambda body: re.sub(rb"_boot=\w+", b"_boot=" + b"0" * 32, body))
    only_this = ["strace", "-o", str(many.folder / "trace"), "-e", "inject=pwrite64:error=EIO"]
    done = subprocess.run([*ALL_PROCESSORS, *only_this, *many.tool_words(), "list", "--json"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (7, "") and str(many.record_file("alice")) in done.stderr


def test_it_ends_with_its_reader(many):
    words = [*ALL_PROCESSORS, *many.tool_words(), "list", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        wait_for(lambda: children(run.pid))
        [copy] = children(run.pid)
        run.stdout.close()
        run.wait()
        wait_for(lambda: not os.path.exists(f"/proc/{copy}"))
