"""Power loss: every state that a disk may be left in, replayed, and judged by the real programs.

What is written and synced is recorded by strace. A write that isn't synced yet may have reached the disk whole, not
at all, or in any subset of its sectors; a write that is synced has.
"""

import dataclasses
import itertools
import re

import pytest

import host
from every_call import ACTS, NOTHING, Bench
from scenario import valid_slots
from tally import attack

SECTORS = [512, 4096]


RECORD = "record"  # the file under alice's uid; any other is a nameless one


@dataclasses.dataclass(frozen=True)
class Write:
    file: str
    offset: int
    data: bytes


@dataclasses.dataclass(frozen=True)
class Sync:
    file: str


@dataclasses.dataclass(frozen=True)
class Link:
    """The nameless file gets its name."""

    file: str


def recorded(bench, act):
    """What the act does to alice's record, in order."""
    bench.begin(act)
    run = bench.run(act, "-xx", "-s", "10000", "-e", "trace=openat,pwrite64,fdatasync,fsync,linkat")
    steps, files = [], {}
    for number, call in enumerate(run.calls):
        name, line = call
        if call.result is None:
            continue
        texts = [bytes.fromhex(text.replace("\\x", "")) for text in re.findall(r'"((?:\\x..)*)"', line)]
        if name == "openat":
            opened = call.result
            files.pop(opened, None)
            if "O_TMPFILE" in line:
                files[opened] = f"nameless {number}"
            elif texts == [bench.bed.record_file("alice").name.encode()]:
                files[opened] = RECORD
        elif name == "linkat":
            source = files[int(texts[0].rsplit(b"/", 1)[1])]
            steps.append(Link(source))
            files = {opened: RECORD if file == source else file for opened, file in files.items()}
        elif (file := files.get(int(re.match(r"\w+\((\d+)", line)[1]))) is None:
            continue
        elif name == "pwrite64":
            assert len(texts[0]) == call.result, "a write in parts"
            steps.append(Write(file, int(re.search(r", (\d+)\) += ", line)[1]), texts[0]))
        else:
            steps.append(Sync(file))
    return steps


def torn(before, write, size):
    """The file after each subset of the write's sectors, equal ones once."""
    states = []
    sectors = range(0, len(write.data), size)
    changed = [
        start
        for start in sectors
        if before[write.offset + start : write.offset + start + size] != write.data[start : start + size]
    ]
    for count in range(len(changed) + 1):
        for chosen in itertools.combinations(changed, count):
            state = bytearray(before)
            for start in chosen:
                state[write.offset + start : write.offset + start + size] = write.data[start : start + size]
            states.append(bytes(state))
    return states


@dataclasses.dataclass(frozen=True)
class State:
    """A file that a power loss may leave, and between which completed records it lies."""

    content: bytes  # None: no such file
    older: bytes
    newer: bytes


def states(before, steps, size):
    """Every state of the record's file after every prefix of the steps. `before` None: there is no file yet.

    Never are two writes in flight at once: that is checked on the way, so the subsets are those of one write.
    """
    files, pending = {} if before is None else {RECORD: before}, None
    found = [State(before, before, before)]
    for step in steps:
        if isinstance(step, Write):
            assert pending is None, "a write before the last one was synced"
            pending = step
            if step.file == RECORD:
                old = files[RECORD]
                found += [State(content, old, written(old, step)) for content in torn(old, step, size)]
        elif isinstance(step, Link):
            assert pending is None, "named before its content was synced"
            files[RECORD] = files[step.file]
            # The name may or may not be on the disk before the folder is synced.
            found += [State(None, None, files[RECORD]), State(files[RECORD], files[RECORD], files[RECORD])]
        elif pending:
            assert step.file == pending.file
            files[step.file], pending = written(files.get(step.file, b""), pending), None
    assert pending is None, "left unsynced"
    return list(dict.fromkeys(found))


def written(before, write):
    after = bytearray(before.ljust(write.offset + len(write.data), b"\0"))
    after[write.offset : write.offset + len(write.data)] = write.data
    return bytes(after)


def put(bench, content):
    path = bench.bed.record_file("alice")
    if content is None:
        path.unlink(missing_ok=True)
        return
    if not path.exists():
        path.touch(mode=0o600)
    path.write_bytes(content)


@pytest.mark.parametrize("size", SECTORS)
@pytest.mark.parametrize("name", ACTS)
def test_after_a_power_loss_it_is_as_before_or_after(make_bed, name, size):
    bench = Bench(make_bed())
    act = ACTS[name]
    before = bench.begin(act)
    steps = recorded(bench, act)
    assert any(isinstance(step, Write) for step in steps)
    every = states(before, steps, size)
    says = {}

    def said(content):
        if content not in says:
            put(bench, content)
            says[content] = bench.says()
        return says[content]

    with attack(f"power loss: {name}") as row:
        for number, state in enumerate(every):
            where = (name, size, number)
            found = said(state.content)
            allowed = [said(content) for content in (state.older, state.newer)]
            row.run()
            row.breach("unreadable", where, found["state"] == "corrupt")
            row.breach("refund", where, found["failures"] < min(one["failures"] for one in allowed))
            lost = act.before["enrolled"] and NOTHING not in act.after and not found["enrolled"]
            row.breach("lost", (where, found), lost)
            assert found in allowed, (where, found, allowed)
            put(bench, state.content)
            if found["state"] == "ok" and found["enrolled"]:
                codes = [code for code in dict.fromkeys(act.codes) if code]
                opened = [code for code in codes if host.results(bench.bed, code) == ["SUCCESS"]]
                row.breach("refused", where, not opened)
                assert len(opened) <= 1, where
                # The next writes have repaired whatever was torn.
                assert valid_slots(bench.bed.record("alice")) == [0, 1], (where, "not repaired")
        assert row.runs >= 2


def test_a_charge_survives_as_soon_as_verification_begins(make_bed):
    """From the first system call of the hashing on, no power loss gives the attempt back."""
    bench = Bench(make_bed())
    act = ACTS["wrong attempt"]
    before = bench.begin(act)
    calls = [name for name, _ in bench.run(act, "-e", "trace=pwrite64,fdatasync,getsid").calls]
    assert calls == ["pwrite64", "fdatasync", "getsid"]
    assert bench.says()["failures"] == 2 and before is not None
