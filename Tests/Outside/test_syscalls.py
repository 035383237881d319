"""The attempt protocol as the kernel sees it: what is synced when, and what follows where a call fails."""

import collections
import re

import pytest

import host
import strace
from scenario import RIGHT, WRONG


def traced(bed, *codes, options=()):
    """The results, and for each call of pam_authenticate the system calls that it made."""
    trace = bed.folder / "trace"
    results = host.results(bed, *codes, before=strace.record(trace, *options), env={"PATH": "/usr/bin:/bin"})
    return results, strace.between_marks(strace.calls(trace))


def names(call):
    return collections.Counter(name for name, _ in call)


def test_one_sync_for_a_wrong_code_and_two_for_a_right_one(alice):
    results, (wrong, right) = traced(alice, WRONG[0], RIGHT)
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
    _, calls = traced(machine, RIGHT, RIGHT, RIGHT)
    machine.service(stack="auth required pam_permit.so")
    _, libpams = traced(machine, RIGHT, RIGHT, RIGHT)
    ours = sum(names(calls[-1]).values()) - sum(names(libpams[-1]).values()) - 4
    with capsys.disabled():
        print(f"\n  system calls of an attempt: {ours} (at most 50)")
    assert ours <= 50, "\n".join(line[:100] for _, line in calls[-1])
    # Of options that aren't set.
    assert not [line for call in calls for _, line in call if re.search(r"\.(use|proof|prints|passwords|login)\"", line)]


def test_nothing_is_written_but_the_charge_and_the_reset(alice):
    _, calls = traced(alice, WRONG[0], RIGHT)
    for call in calls:
        for name, line in call:
            assert name not in ("ftruncate", "rename", "renameat2", "unlink", "unlinkat", "linkat"), line
            assert "O_CREAT" not in line and "O_TRUNC" not in line, line
            if name == "openat":
                assert "O_CLOEXEC" in line, line


def fails(name, error, when):
    return ["-e", f"trace={name},{strace.MARK}", "-e", f"inject={name}:error={error}:when={when}"]


@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
@pytest.mark.parametrize(
    "name, error", [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("pwrite64", "EROFS")]
)
def test_a_charge_that_cannot_be_written_is_a_refusal(alice, name, error, code):
    results, _ = traced(alice, code, options=fails(name, error, 1))
    assert results == ["AUTHINFO_UNAVAIL"]
    assert alice.failures("alice") <= 1
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("name, error", [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO")])
def test_a_reset_that_cannot_be_written_never_changes_the_verdict(alice, name, error):
    results, _ = traced(alice, RIGHT, options=fails(name, error, 2))
    assert results == ["SUCCESS"]
    assert alice.failures("alice") <= 1
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    assert alice.failures("alice") == 0


def test_a_new_record_is_whole_and_synced_before_it_has_a_name(keyed):
    """Written, synced, named, and the folder synced; only then locked and filled with the credential."""
    keyed.typed.add(RIGHT)
    trace = keyed.folder / "trace"
    keyed.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", before=strace.record(trace), check=0)
    steps = re.compile(r"pwrite64|fsync|fdatasync|linkat|flock|rename\w*|unlink\w*")
    done = [call.name for call in strace.calls(trace) if steps.fullmatch(call.name)]
    assert done == ["pwrite64", "fsync", "linkat", "fsync", "flock", *["pwrite64", "fdatasync"] * 2, "flock"]


def test_a_key_is_whole_and_synced_before_it_has_a_name(bed):
    """And so is every other file that is made with it: after a power loss it is the key, or there is none."""
    trace = bed.folder / "trace"
    calls = "openat,pwrite64,fsync,linkat,ftruncate,fallocate"
    bed.tool("key", "init", before=strace.record(trace, "-e", f"trace={calls}"), check=0)
    history, made = {}, {}  # of each open file: what was done to it
    for call in strace.calls(trace):
        if call.result is None:
            continue
        name, rest, result = call.name, call.arguments, str(call.result)
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
