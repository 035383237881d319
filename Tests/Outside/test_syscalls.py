"""The attempt protocol as the kernel sees it: what is synced when, and what follows where a call fails."""

import collections
import pathlib
import re
import subprocess
import sys

import pytest

import client
from bed import SERVICE, TOOL
from scenario import RIGHT, WRONG

MARK = "getppid"


def traced(bed, *codes, options=(), stack=None):
    """The results, and for each call of pam_authenticate the system calls [name, line] that it made."""
    trace = bed.folder / "trace"
    trace.unlink(missing_ok=True)
    bed.typed |= set(codes)
    done = subprocess.run(
        ["strace", "-f", "-o", str(trace), *options, sys.executable, "-B", "-I", "-c", RUN, SERVICE, str(bed.services), "alice", *codes],
        capture_output=True, text=True, timeout=60, env={"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    lines = re.findall(r"^\d+ +((\w+)\(.*)$", trace.read_text(), re.MULTILINE)
    calls, current = [], None
    for line, name in lines:
        if name == MARK:
            current = None if current is not None else []
            if current is not None:
                calls.append(current)
        elif current is not None:
            current.append((name, line))
    return done.stdout.split(), calls, [name for _, name in lines]


RUN = f"import sys, runpy; sys.path.insert(0, {str(pathlib.Path(client.__file__).parent)!r})\n" + (
    f"runpy.run_path({client.__file__!r}, run_name='__main__')"
)


def names(call):
    return collections.Counter(name for name, _ in call)


def test_one_sync_for_a_wrong_code_and_two_for_a_right_one(alice):
    results, (wrong, right), _ = traced(alice, WRONG[0], RIGHT)
    assert results == ["AUTH_ERR", "SUCCESS"]
    for call, times in ((wrong, 1), (right, 2)):
        order = [name for name, _ in call if name in ("pwrite64", "fdatasync")]
        assert order == ["pwrite64", "fdatasync"] * times
        assert names(call)["fsync"] == 0


def test_an_attempt_makes_few_system_calls(machine, capsys):
    """As it is installed; after the first call on a handle. Left out: libpam's own, and Argon2's memory (4: reserved
    before the charge, and used).

    6 are libc's look at the account, 13 the record, looked at before the prompt and locked again after it; the rest
    is files opened and checked.
    """
    machine.enroll("alice", RIGHT)
    _, calls, _ = traced(machine, RIGHT, RIGHT, RIGHT)
    machine.service(stack="auth required pam_permit.so")
    _, libpams, _ = traced(machine, RIGHT, RIGHT, RIGHT)
    ours = sum(names(calls[-1]).values()) - sum(names(libpams[-1]).values()) - 4
    with capsys.disabled():
        print(f"\n  system calls of an attempt: {ours} (at most 50)")
    assert ours <= 50, "\n".join(line[:100] for _, line in calls[-1])


def test_nothing_is_written_but_the_charge_and_the_reset(alice):
    _, calls, _ = traced(alice, WRONG[0], RIGHT)
    for call in calls:
        for name, line in call:
            assert name not in ("ftruncate", "rename", "renameat2", "unlink", "unlinkat", "linkat"), line
            assert "O_CREAT" not in line and "O_TRUNC" not in line, line
            if name == "openat":
                assert "O_CLOEXEC" in line, line


def fails(name, error, when):
    return ["-e", f"trace={name},{MARK}", "-e", f"inject={name}:error={error}:when={when}"]


@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
@pytest.mark.parametrize(
    "name, error", [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("pwrite64", "EROFS")]
)
def test_a_charge_that_cannot_be_written_is_a_refusal(alice, name, error, code):
    results, _, _ = traced(alice, code, options=fails(name, error, 1))
    assert results == ["AUTHINFO_UNAVAIL"]
    assert alice.failures("alice") <= 1
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("name, error", [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO")])
def test_a_reset_that_cannot_be_written_never_changes_the_verdict(alice, name, error):
    results, _, _ = traced(alice, RIGHT, options=fails(name, error, 2))
    assert results == ["SUCCESS"]
    assert alice.failures("alice") <= 1
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    assert alice.failures("alice") == 0


def test_a_new_record_is_whole_and_synced_before_it_has_a_name(keyed):
    """Written, synced, named, and the folder synced; only then locked and filled with the credential."""
    keyed.typed.add(RIGHT)
    trace = keyed.folder / "trace"
    command = ["strace", "-o", trace, TOOL, "--conf", keyed.configuration, "enroll", "--stdin", "alice"]
    subprocess.run(list(map(str, command)), input=f"{RIGHT}\n".encode(), check=True, capture_output=True)
    names = re.findall(
        r"^(pwrite64|fsync|fdatasync|linkat|flock|rename\w*|unlink\w*)\(", trace.read_text(), re.MULTILINE
    )
    assert names == ["pwrite64", "fsync", "linkat", "fsync", "flock", *["pwrite64", "fdatasync"] * 2, "flock"]


def test_a_key_is_whole_and_synced_before_it_has_a_name(bed):
    """And so is every other file that is made with it: after a power loss it is the key, or there is none."""
    trace = bed.folder / "trace"
    calls = "openat,pwrite64,fsync,linkat,ftruncate,fallocate"
    bed.tool("key", "init", before=["strace", "-o", str(trace), "-e", f"trace={calls}"], check=0)
    history, made = {}, {}  # of each open file: what was done to it
    for name, rest, result in re.findall(r"^(\w+)\((.*)\) += (\d+)", trace.read_text(), re.MULTILINE):
        if name == "openat":
            history[result] = ["nameless"] if "O_TMPFILE" in rest else []
        elif name == "linkat":
            file, folder, path = re.fullmatch(r'.*"/proc/self/fd/(\d+)", (\d+), "(.*)", \S+', rest).groups()
            history[folder].clear()
            made[path] = (history[file], history[folder])
        else:
            history[rest.split(",")[0]].append(name)
    assert bed.key.name in made
    for path, (file, folder) in made.items():
        assert file == ["nameless", "pwrite64", "fsync"], path
        assert folder[:1] == ["fsync"], path
