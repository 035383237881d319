"""The tool on a pseudo-terminal: asked how often, echo off, and the terminal restored on every way out."""

import os
import pathlib
import signal
import subprocess

import pexpect
import pytest

from bed import TOOL
from process import children, close_window, state, wait_for
from terminal import Shell, Terminal
from tool import CANCELLED, DONE, POLICY, USAGE


def test_enroll_asks_twice(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.type("0471\r")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


def test_a_mismatch_is_told_and_asked_again(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    for typed in ("0471", "0472", "004711", "004711"):
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "004711").result == "SUCCESS"


def test_three_mismatches_are_enough(keyed):
    terminal = Terminal(keyed, "enroll", "alice")
    for typed in ("0471", "0472") * 3:
        terminal.type(typed + "\r")
    assert terminal.ends()[0] == POLICY
    assert keyed.status("alice")["enrolled"] is False


@pytest.mark.parametrize("typed", ["12345", "abcd", "", "٠٤٧١", "1" * 300], ids=lambda text: text[:5])
def test_what_is_no_passcode_is_told_and_asked_again(keyed, typed):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.type(typed + "\r")
    terminal.type("0471\r")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


def test_verify_asks_once(alice):
    terminal = Terminal(alice, "verify", "alice")
    terminal.type("0471\r")
    assert terminal.ends()[0] == DONE and terminal.prompts == 1


@pytest.mark.parametrize("prompt", [1, 2])
@pytest.mark.parametrize("typed", ["", "047"])
@pytest.mark.parametrize("key", ["\x03", "\x04\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_cancelling_restores_the_terminal(keyed, prompt, typed, key):
    terminal = Terminal(keyed, "enroll", "alice")
    for _ in range(prompt - 1):
        terminal.type("0471\r")
    terminal.type(typed + key)
    status, _ = terminal.ends()
    assert status == (CANCELLED if typed == "" or key == "\x03" else status) != DONE
    assert keyed.status("alice")["enrolled"] is False


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name
)
def test_a_signal_restores_the_terminal(keyed, number):
    terminal = Terminal(keyed, "enroll", "alice")
    terminal.child.expect(r": $")
    assert terminal.child.waitnoecho(timeout=20)
    [process] = children(terminal.child.pid)
    os.kill(process, number)
    status, _ = terminal.ends()
    assert status in (CANCELLED, 128 + number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_just_before_the_reading_is_not_lost(keyed, number):
    """It arrives after the question was written, and before anything waits for an answer."""
    held_up = ["strace", "-o", "/dev/null", "-P", "/dev/tty", "-e", "inject=write:delay_exit=500000:when=1"]
    child = pexpect.spawn(held_up[0], [*held_up[1:], *keyed.tool_words(), "enroll", "alice"], timeout=10)
    child.expect(r": $")
    [process] = children(child.pid)
    os.kill(process, number)
    child.expect(pexpect.EOF)
    assert not pathlib.Path(f"/proc/{process}").exists()


def test_what_is_typed_after_ctrl_c_reaches_no_other_program(keyed):
    """The rest of a passcode would be shown on the shell's prompt, or be taken for a command."""
    following = 'trap : INT; "$@"; read -r -t 1 line; echo "read=<$line>"'
    command = ["-c", following, "-", *keyed.tool_words(), "enroll", "alice"]
    child = pexpect.spawn("/bin/bash", command, encoding="utf-8", timeout=30)
    child.expect(r": $")
    assert child.waitnoecho(timeout=20)
    [process] = children(child.pid)
    # It is held up, so that all of it is there before it can put the terminal back.
    os.kill(process, signal.SIGSTOP)
    wait_for(lambda: state(process) == "T")
    child.send("04\x0371\r")
    child.expect("\r\n")
    os.kill(process, signal.SIGCONT)
    child.expect("read=<(.*)>")
    assert child.match[1] == ""


def test_what_was_typed_before_the_question_is_no_answer(keyed):
    """It was shown."""
    command = ["-c", 'kill -STOP $$; exec "$@"', "-", *keyed.tool_words(), "enroll", "alice"]
    child = pexpect.spawn("/bin/bash", command, encoding="utf-8", timeout=30)
    wait_for(lambda: state(child.pid) == "T")
    child.send("0471\r")
    child.expect("0471\r\n")
    os.kill(child.pid, signal.SIGCONT)
    for _ in range(2):
        child.expect(r": $")
        assert child.waitnoecho(timeout=20)
        child.send("8305\r")
    child.expect(pexpect.EOF)
    assert keyed.authenticate("alice", "8305").result == "SUCCESS"


def test_without_a_terminal_and_without_stdin_nothing_is_guessed(keyed):
    """A pipe is no terminal: whoever means it says --stdin."""
    done = subprocess.run(
        ["setsid", str(TOOL), "--conf", str(keyed.configuration), "enroll", "alice"],
        input=b"0471\n0471\n", capture_output=True, timeout=30,
    )  # fmt: skip
    assert done.returncode not in (DONE, 128 + signal.SIGABRT) and keyed.status("alice")["enrolled"] is False


# MARK: Job control, and a terminal that goes away


@pytest.mark.parametrize("prompt", [1, 2])
@pytest.mark.parametrize("typed", ["", "11"])
def test_ctrl_z_restores_the_terminal_and_fg_goes_on(keyed, prompt, typed):
    shell = Shell(*keyed.tool_words(), "enroll", "alice")
    for _ in range(prompt - 1):
        shell.waits_hidden("0471\r")
    for _ in range(2):
        shell.waits_hidden(typed, "\x1a")
        shell.child.expect("Stopped")
        shell.has_the_terminal()
        assert keyed.status("alice")["enrolled"] is False
        shell.run("fg")
    for _ in range(3 - prompt):
        shell.waits_hidden("0471\r")
    shell.child.expect("Passcode set for alice.")
    shell.has_the_terminal()
    assert keyed.authenticate("alice", "0471").result == "SUCCESS"


def test_in_the_background_it_waits_for_its_turn(keyed):
    """It neither asks, nor takes the terminal from the shell, nor switches its echo off."""
    shell = Shell(*keyed.tool_words(), "enroll", "alice", "&")
    shell.has_the_terminal()
    wait_for(lambda: state(shell.process()) == "T")
    shell.run("fg")
    shell.waits_hidden("\x1a")
    assert shell.child.before.count("New passcode") == 1
    shell.has_the_terminal()
    os.kill(shell.process(), signal.SIGCONT)
    wait_for(lambda: state(shell.process()) == "T")
    assert shell.child.getecho(), "echo is off"
    shell.run("fg")
    shell.waits_hidden("0471\r")
    shell.waits_hidden("0471\r")
    shell.child.expect("Passcode set for alice.")
    shell.has_the_terminal()


def has_ended(process):
    """Whether or not anybody has reaped it: in a container these tests may be the first process, which does not."""
    try:
        return state(process) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("typed", ["", "0471"])
@pytest.mark.parametrize("prompt", [1, 2, 3])
def test_a_closed_window_changes_nothing(alice, prompt, typed):
    shell = Shell(*alice.tool_words(), "change", "alice")
    for _ in range(prompt - 1):
        shell.waits_hidden("0471\r")
    shell.waits_hidden(typed)
    process, before = shell.process(), alice.record("alice")
    close_window(shell.child)
    wait_for(lambda: has_ended(process))
    assert alice.record("alice") == before and alice.failures("alice") == 0


def test_a_window_closed_while_it_is_stopped(keyed):
    shell = Shell(*keyed.tool_words(), "enroll", "alice")
    shell.waits_hidden("\x1a")
    shell.has_the_terminal()
    process = shell.process()
    close_window(shell.child)
    wait_for(lambda: has_ended(process))
    assert keyed.status("alice")["enrolled"] is False


def test_what_ends_it_is_not_lost_to_what_stops_it(keyed):
    """Two signals at once: it ends."""
    shell = Shell(*keyed.tool_words(), "enroll", "alice")
    shell.waits_hidden()
    process = shell.process()
    os.kill(process, signal.SIGSTOP)
    for number in (signal.SIGTERM, signal.SIGTSTP, signal.SIGCONT):
        os.kill(process, number)
    wait_for(lambda: has_ended(process))
    assert keyed.status("alice")["enrolled"] is False


@pytest.mark.parametrize("answer", ["", "y", "YES", "no", "0471"])
def test_root_without_a_name_sets_no_passcode_of_root(keyed, answer):
    """Commands that are pasted as root mean somebody else."""
    child = pexpect.spawn(str(TOOL), [*keyed.tool_words()[1:], "enroll"], encoding="utf-8", timeout=30)
    child.expect_exact("Set a passcode for root, and not for another user? Type yes to go on: ")
    child.send(f"{answer}\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == CANCELLED and keyed.status("root")["enrolled"] is False


def test_root_confirms_that_it_is_root_who_is_meant(keyed):
    child = pexpect.spawn(str(TOOL), [*keyed.tool_words()[1:], "enroll"], encoding="utf-8", timeout=30)
    child.expect_exact("Type yes to go on: ")
    child.send("yes\r")
    for _ in range(2):
        child.expect("passcode.*: ")
        assert child.waitnoecho(timeout=20)
        child.send("0471\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == DONE and keyed.status("root")["enrolled"] is True


@pytest.mark.parametrize("options", [["--stdin"], ["--generate"], []])
def test_without_a_terminal_root_names_whose_passcode_it_is(keyed, options):
    answer = keyed.tool("enroll", *options, stdin="0471\n", check=USAGE)
    assert "passcode enroll USER" in answer.errors and "passcode enroll root" in answer.errors
    assert keyed.status("root")["enrolled"] is False
    keyed.tool("enroll", "--stdin", "root", stdin="0471\n", check=DONE)
