"""What was typed is nowhere afterwards: not in the memory of the program that asked, nor in its /proc, nor in the log."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess

import pytest

import forge
import host
import pam
from bed import SERVICE, person
from images import passcode_forms, stands
from process import children, open_files, wait_for
from helper import look
from scenario import NEW, RIGHT
from terminal import Terminal
from tool import DONE

pytestmark = pytest.mark.shipped

SIX = ["830517", "295064", "718342"]  # long enough to be nowhere else; that is looked at first


def regions(pid):
    """Name and content of everything in a process's memory that can be read."""
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, _, _, _, *name = line.split(maxsplit=5)
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("r") and not (name and name[0].startswith("[v")):
                memory.seek(start)
                with contextlib.suppress(OSError):  # a part of a file that is shorter by now
                    yield name[0] if name else "anonymous", memory.read(end - start)


def found(pid, *texts):
    """Where any of them stands."""
    everywhere = [*regions(pid)]
    everywhere += [
        (name, pathlib.Path(f"/proc/{pid}/{name}").read_bytes()) for name in ("cmdline", "environ", "comm")
    ]
    assert sum(len(content) for _, content in everywhere) > 1 << 20
    return [(name, text) for text in texts for name, content in everywhere if stands(text, content)]


@pytest.mark.parametrize("content, is_it", [
    (b"alice:830517\n", True), (b"830517", True), (b"\x00830517abcde", True), (b"830517" * 2 + b"\n830517\n", True),
    (b"140830517123456789", False), (b"sealed=ab12830517cdef0", False), (b"8305170830517", False), (b"83051", False),
])  # fmt: skip
def test_six_digits_of_a_longer_number_are_no_passcode(content, is_it):
    assert stands(b"830517", content) == is_it


@contextlib.contextmanager
def program(bed, **who):
    command = [host.program(), "typed", SERVICE, str(bed.services), "alice"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, cwd="/", **who
    ) as process:
        assert process.stdout.readline() == b"started\n"
        yield process
        process.kill()


def type_in(process, code):
    process.stdin.write(code.encode() + b"\n")
    process.stdin.flush()
    return pam.RESULTS[int(process.stdout.readline())]


def end(process):
    process.stdin.close()
    assert process.stdout.readline() == b"ended\n"


@pytest.fixture(params=["directly", "by the helper"])
def who(request, machine):
    machine.configure(opslimit="2", memlimit="8M")
    return person("alice") if request.param == "by the helper" else {}


def leaves_nothing(bed, who, results, codes):
    bed.typed |= set(codes)
    texts = [data for code in codes for data in passcode_forms(code).values()]
    with program(bed, **who) as process:
        assert not found(process.pid, *texts), "the codes are well chosen"
        for code, result in zip(codes, results, strict=True):
            assert type_in(process, code) == result
            assert not found(process.pid, *texts), f"after {result}"
        end(process)
        assert not found(process.pid, *texts)
    bed.assert_nothing_typed_was_logged()


def test_right_and_wrong_codes(machine, who):
    machine.enroll("alice", SIX[0])
    leaves_nothing(machine, who, ["AUTH_ERR", "SUCCESS", "AUTH_ERR"], [SIX[1], SIX[0], SIX[2]])


def test_without_a_passcode(machine, who):
    leaves_nothing(machine, who, ["USER_UNKNOWN"], SIX[:1])


def test_while_locked(machine, who):
    machine.enroll("alice", RIGHT)
    leaves_nothing(machine, who, ["AUTH_ERR"] * 4, [*SIX, "604829"])


def test_what_another_module_asked_for(machine, who):
    """It stands in PAM_AUTHTOK, and is taken from there."""
    machine.enroll("alice", SIX[0])
    machine.service("use_first_pass", stack="auth optional pam_unix.so\nauth required {module}")
    leaves_nothing(machine, who, ["SUCCESS", "AUTH_ERR"], SIX[:2])


def test_the_search_finds_what_is_left(machine):
    """The program's own line, before its end was typed."""
    with program(machine) as process:
        process.stdin.write(SIX[0].encode())
        process.stdin.flush()
        wait_for(lambda: found(process.pid, SIX[0].encode()))


def sealed_secrets(bed):
    """The machine key, what is derived from it, and the hash of alice's passcode that it protects."""
    key = bed.key.read_bytes()
    return key, forge.derived(key, 1), forge.derived(key, 2), forge.credential(bed, "alice")[forge.HASH]


def test_while_a_program_of_roots_prompts_it_has_neither_key_nor_credential(alice):
    """It looked at the record before, and opened the credential; a person may take their time."""
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()

    def slowly(_):
        os.write(ask, b"?")
        os.read(answered, 1)
        return RIGHT

    running = alice.start("alice", slowly)  # a copy of this process, which hasn't read the key yet
    try:
        assert os.read(asked, 1) == b"?"
        assert not found(running.child, *sealed_secrets(alice))
    finally:
        os.write(answer, b".")
        assert running.wait().result == "SUCCESS"
        for number in (asked, ask, answered, answer):
            os.close(number)


def test_a_forked_copy_of_a_program_locks_its_secrets_again(alice, monkeypatch):
    """A lock isn't inherited (mlock(2)), and memory that the last login left for the next one would be."""
    call, (reading, writing) = pam.Handle.call, os.pipe()

    def locked(_):
        [line] = [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if "VmLck" in line]
        os.write(writing, f"{line.split()[1]}\n".encode())
        return RIGHT

    def step(handle, name, flags=0):
        if name != "fork":
            call(handle, name, flags)
        elif child := os.fork():
            os.waitpid(child, 0)
            os._exit(0)

    monkeypatch.setattr(pam.Handle, "call", step)
    outcome = alice.authenticate("alice", locked, locked, calls=("authenticate", "fork", "authenticate"))
    before, after = os.read(reading, 100).split()
    os.close(reading), os.close(writing)
    assert outcome.results == ["SUCCESS"] * 2 and int(before) == int(after) > 0


def test_while_the_tool_asks_for_a_new_passcode_it_has_neither_key_nor_credential(alice):
    """It has just verified the old one."""
    terminal = Terminal(alice, "change", "alice")
    terminal.type(RIGHT + "\r")
    terminal.child.expect(r"New passcode.*: $")
    [tool] = children(terminal.child.pid)
    assert not found(tool, *sealed_secrets(alice))
    for _ in range(2):
        terminal.child.send(NEW + "\r")
        terminal.child.expect(r"Repeat.*: $|changed")
    assert terminal.ends()[0] == DONE


def test_between_look_and_attempt_the_helper_has_neither_key_nor_credential(machine):
    machine.enroll("alice", RIGHT)
    helper, ours = look()
    assert not found(helper.pid, *sealed_secrets(machine))
    ours.close()
    assert helper.wait(20) == 0


def test_of_a_list_only_lines_that_are_not_done_are_in_memory(keyed):
    """The tool while it waits for the next line."""
    codes = {"alice": "739158", "bob": "840269", "carol": "951370"}
    keyed.typed |= set(codes.values())
    command = [*keyed.tool_words(), "enroll", "--batch", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/") as run:
        for user, code in codes.items():
            run.stdin.write(f"{user}:{code}\n".encode())
            run.stdin.flush()
            assert b"passcode enrolled" in run.stdout.readline()
        assert not found(run.pid, *[code.encode() for code in codes.values()])
        run.stdin.close()
        assert run.wait() == 0


def test_a_worker_has_the_passcode_of_its_line_only(keyed):
    """It waits for alice's record; the other lines have come with hers."""
    codes = {"alice": "739158", "bob": "840269", "carol": "951370"}
    keyed.typed |= set(codes.values())
    keyed.enroll("alice", RIGHT)
    keyed.configure(max_parallel=2)
    command = [*keyed.tool_words(), "enroll", "--batch", "-"]
    with keyed.record_file("alice").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/") as run:
            run.stdin.write("".join(f"{user}:{code}\n" for user, code in codes.items()).encode())
            run.stdin.close()
            waiting = lambda: [pid for pid in children(run.pid) if str(held.name) in open_files(pid)]  # noqa: E731
            wait_for(waiting)
            [worker] = waiting()
            in_worker = found(worker, *[code.encode() for code in codes.values()])
            fcntl.flock(held, fcntl.LOCK_UN)
            assert run.wait() == 0
    assert {code for _, code in in_worker} == {codes["alice"].encode()}, in_worker


def test_a_worker_has_the_passcode_of_its_line_only_and_made_up_ones_are_nowhere_else(keyed):
    keyed.configure(opslimit=4, memlimit="64M", max_parallel=3)
    path = keyed.folder / "codes"
    command = [*keyed.tool_words(), "enroll", "--batch", "-", "--generate", "--output", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/") as run:
        run.stdin.write(b"alice\nbob\ncarol\n")
        run.stdin.flush()
        wait_for(lambda: path.exists() and path.read_text().count("\n") == 3)
        # The last line is begun: its worker has it, too.
        wait_for(lambda: "poll" in pathlib.Path(f"/proc/{run.pid}/wchan").read_text())
        os.kill(run.pid, signal.SIGSTOP)
        for pid in children(run.pid):
            os.kill(pid, signal.SIGSTOP)
        codes = [line.split(b":")[1] for line in path.read_bytes().splitlines()]
        alive = children(run.pid)
        in_tool = found(run.pid, *codes)
        in_workers = [{code for _, code in found(pid, *codes)} for pid in alive]
        for pid in [*alive, run.pid]:
            os.kill(pid, signal.SIGCONT)
        run.stdin.close()
        assert run.wait() == 0
    assert not in_tool and in_workers and all(len(found) <= 1 for found in in_workers), (in_tool, in_workers)
