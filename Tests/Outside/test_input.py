"""What comes through pipes: 100 MB, NULs within, and no end."""

import subprocess

import pytest

import machine as machines
from bed import person
from cost import processor_seconds
from scenario import PASSWORD, RIGHT
from tool import DONE, POLICY, WRONG_CODE, one_line

HUNDRED_MB = 100_000_000
# Where nothing of this size can be kept: the tool runs within so much address space.
LITTLE = ("prlimit", f"--as={64 << 20}")
# Shell commands that write it.
HUGE = {
    "zeros": "head -c {size} /dev/zero",
    "digits": "head -c {size} /dev/zero | tr '\\0' 7",
    "a code, then zeros": "printf 0471; head -c {size} /dev/zero",
    "lines of digits": "yes 047 | head -c {size}",
}


def run(bed, arguments, script, user=None):
    """The tool at the end of a pipe; with little memory, and within seconds of processor time: the machine may be busy."""
    writer = subprocess.Popen(["/bin/sh", "-c", script.format(size=HUNDRED_MB)], stdout=subprocess.PIPE)
    before = processor_seconds()
    who = person(user) if user else {}
    with writer:
        done = subprocess.run(
            [*LITTLE, *bed.tool_words(), *arguments],
            stdin=writer.stdout, capture_output=True, text=True, timeout=60, cwd="/", **who,
        )  # fmt: skip
        assert processor_seconds() - before < 2
        writer.stdout.close()
        writer.kill()
    return done


@pytest.mark.parametrize("script", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("before", [[], [RIGHT]], ids=["first line", "second line"])
@pytest.mark.parametrize("command", ["enroll", "change", "verify"])
def test_a_hundred_megabytes_are_no_passcode(alice, command, before, script):
    if before and command != "change":
        script = f"printf '\\n'; {script}"
    elif before:
        script = f"printf '{RIGHT}\\n'; {script}"
    sealed = [line for line in alice.record("alice").splitlines() if line.startswith(b"sealed=")]
    done = run(alice, [command, "--stdin", "alice"], script)
    assert done.returncode == POLICY and done.stdout == "" and one_line(done.stderr), done
    assert [line for line in alice.record("alice").splitlines() if line.startswith(b"sealed=")] == sealed
    assert alice.failures("alice") == 0


def test_a_hundred_megabytes_after_the_last_line_are_somebody_elses(alice):
    done = run(alice, ["verify", "--stdin", "alice"], f"echo {RIGHT}; head -c {{size}} /dev/zero")
    assert done.returncode == DONE


@pytest.mark.parametrize("command", ["enroll", "remove", "unlock"])
def test_a_hundred_megabytes_are_no_password(own, command):
    before = own.record("alice")
    done = run(own, [command, "--stdin"], HUGE["digits"], user="alice")
    assert done.returncode == POLICY and one_line(done.stderr), done
    assert own.record("alice") == before


@pytest.mark.shipped
@pytest.mark.parametrize("script", ["head -c {size} /dev/zero", "yes 047 | head -c 4000000"])
def test_any_number_of_candidates_takes_little_memory(alice, script):
    """What is longer than a line comes in pieces."""
    done = run(alice, ["check-weak"], script)
    assert done.returncode == DONE and "not 4 or 6 digits" in done.stdout


# MARK: NUL


@pytest.mark.parametrize("typed", ["04\x0071", "0471\x00", "\x000471", "0471\x00\x00", "\x00", "0471\x0071"])
@pytest.mark.parametrize("command, first", [("verify", ""), ("change", ""), ("change", f"{RIGHT}\n")])
def test_a_passcode_with_a_nul_is_none(alice, command, first, typed):
    before = alice.record("alice") if not first else None
    answer = alice.tool(command, "--stdin", "alice", stdin=f"{first}{typed}\n", check=POLICY)
    assert one_line(answer.errors) and alice.failures("alice") == 0
    assert before in (None, alice.record("alice"))
    alice.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)


@pytest.fixture
def own(machine):
    """Alice has a password and a passcode."""
    machines.set_password("alice")
    machine.enroll("alice", RIGHT)
    return machine


@pytest.mark.parametrize("typed", [f"{PASSWORD}\0", f"{PASSWORD}\0more", f"\0{PASSWORD}", "\0"])
@pytest.mark.parametrize("command", ["enroll", "remove", "unlock"])
def test_a_password_with_a_nul_is_not_the_one_before_it(own, command, typed):
    before = own.record("alice")
    own.tool(command, "--stdin", stdin=f"{typed}\n8305\n", user="alice", check=WRONG_CODE)
    assert own.record("alice") == before
