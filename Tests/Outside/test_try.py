"""`passcode try --demo`: the whole thing in a temporary store, through the real libpam and the real module."""

import os
import pathlib
import re
import shutil
import subprocess

import pexpect
import pytest

from bed import MODULE, TOOL, become
from process import close_window, wait_for
from terminal import Shell

STORY = [
    "Passcode: ",
    "Wrong passcode, 2 attempts left.",
    "Wrong passcode, 1 attempt left.",
    "Passcode locked (1 minute left to unlock).",
]


def demo(tool, folder, **how):
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "HOME": "/nonexistent"}
    return subprocess.run(
        [str(tool), "try", "--demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        env=environment, cwd="/", **how,
    )  # fmt: skip


@pytest.fixture
def copies(bed):
    """The two programs side by side, in a folder of their own."""
    for program in (TOOL, MODULE):
        shutil.copy2(program, bed.folder)
    return bed.folder


def told(output):
    """True if the story is told in its order."""
    place = 0
    for words in STORY:
        place = output.find(words, place)
        if place < 0:
            return False
    return True


def everything_in(*folders):
    """With its times; but for devices, which others use, too."""
    return {
        (str(path), path.is_char_device() or path.lstat().st_mtime_ns)
        for folder in folders
        for path in [folder, *pathlib.Path(folder).rglob("*")]
    }


@pytest.mark.parametrize("who", ["root", "alice"])
def test_the_demo_plays_to_its_end_and_leaves_nothing(bed, who):
    temporary = bed.folder / "temporary"
    temporary.mkdir(mode=0o755)
    shutil.chown(temporary, who)
    watched = [pathlib.Path(folder) for folder in ("/etc", "/run", temporary)]
    before = everything_in(*watched)
    done = demo(TOOL, temporary, preexec_fn=None if who == "root" else become(who))
    assert done.returncode == 0, done.stdout + done.stderr
    assert told(done.stdout), done.stdout
    assert not pathlib.Path("/var/lib/passcode").exists()
    assert list(temporary.iterdir()) == []
    after = everything_in(*watched)
    assert {path for path, _ in before ^ after} <= {str(temporary)}
    # The module says whose service it was; nothing is told of enrolments and removals that weren't real.
    logged = [line.message for line in bed.log() if not line.message.startswith("PAM ")]
    assert logged and all("(passcode-try:auth): " in message for message in logged), logged


def test_where_its_files_can_not_be_written_it_says_so(bed):
    how = ["strace", "-f", "-o", str(bed.folder / "trace"), "-e", "inject=pwrite64:error=ENOSPC:when=1"]
    done = subprocess.run([*how, TOOL, "try", "--demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 7 and re.fullmatch(r"passcode: /tmp/passcode-try\.\w+: No space left on device\n", done.stderr)


def test_the_demo_notices_a_module_that_lets_everybody_in(copies):
    [permit] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_permit.so")
    shutil.copy2(permit, copies / MODULE.name)
    done = demo(copies / TOOL.name, copies)
    assert done.returncode == 1


def test_the_demo_notices_a_module_that_lets_nobody_in(copies):
    [deny] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_deny.so")
    shutil.copy2(deny, copies / MODULE.name)
    done = demo(copies / TOOL.name, copies)
    assert done.returncode == 1


def test_without_a_terminal_try_is_the_demo(bed):
    done = subprocess.run(
        ["setsid", str(TOOL), "try"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and told(done.stdout)


# MARK: The menu


@pytest.fixture
def temporary():
    """A /tmp of the tests' own: other people try it, too."""
    folder = pathlib.Path("/tmp")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


class Menu:
    """`passcode try` on a terminal."""

    def __init__(self):
        self.child = pexpect.spawn(str(TOOL), ["try"], encoding="utf-8", timeout=30, echo=True)
        self.child.expect("nothing on this system changes")

    def choose(self, key):
        """Waits for the menu; the state that is told above it."""
        for title in MENU:
            self.child.expect_exact(title)
            if title is MENU[0]:
                state = self.child.before
        self.child.expect("Your choice: $")
        self.child.send(key + "\r")
        self.child.expect_exact(key + "\r\n")
        return state

    def answer(self, question, *typed):
        for text in typed:
            self.child.expect(question)
            assert self.child.waitnoecho(timeout=20), "what is typed would be shown"
            self.child.send(text + "\r")

    def says(self, *texts):
        for text in texts:
            self.child.expect_exact(text)

    def ends(self):
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


MENU = [
    "  1  set a passcode\r\n", "  2  log in, with the correct passcode or a wrong one\r\n", "  3  watch the lock count down\r\n",
    "  4  unlock the passcode\r\n", "  5  change the passcode\r\n", "  6  remove the passcode\r\n",
    "  q  quit and remove the store\r\n",
]  # fmt: skip
NEW, AGAIN = r"New passcode \(4 or 6 digits\): $", "Repeat new passcode: $"


def test_the_menu_from_enrolment_to_removal(temporary):
    menu = Menu()
    assert len(list(temporary.iterdir())) == 1
    assert "root: no passcode is set" in menu.choose("2")
    menu.says("(no prompt)", "PAM: User not known to the underlying authentication module")
    menu.choose("1")
    menu.answer(NEW, "8305")
    menu.answer(AGAIN, "8305")
    menu.says("Passcode set for root.")
    state = menu.choose("2")
    assert "root: a passcode is set, 4 digits" in state and "state: ok" in state
    menu.answer("Passcode: $", "8305")
    menu.says("PAM: Success")
    for code, notice in [
        ("5926", "Wrong passcode, 2 attempts left."),
        ("6072", "Wrong passcode, 1 attempt left."),
        ("9481", "Passcode locked (1 minute left to unlock)."),
    ]:
        menu.choose("2")
        menu.answer("Passcode: $", code)
        menu.says(notice, "PAM: Authentication failure")
    assert "failures since the last success: 3" in menu.choose("2")
    menu.says("Passcode locked (", "(no prompt)", "PAM: Authentication failure")
    assert "state: locked, " in menu.choose("3")
    left = []
    while len(left) < 3:
        menu.child.expect(r"\r    locked, (\d+) seconds left \(Enter: back\)")
        left.append(int(menu.child.match[1]))
    assert left[0] > left[1] > left[2] > 30
    menu.child.send("\r")
    menu.choose("4")
    menu.says("    unlocked")
    assert "state: ok" in menu.choose("4")
    menu.says("    nothing to unlock")
    menu.choose("3")
    menu.says("    not locked")
    menu.choose("5")
    menu.answer("Old passcode: $", "8305")
    menu.answer(NEW, "047291")
    menu.answer(AGAIN, "047291")
    menu.says("Passcode changed for root.")
    assert "6 digits" in menu.choose("2")
    menu.answer("Passcode: $", "047291")
    menu.says("PAM: Success")
    menu.choose("6")
    menu.says("    removed")
    assert "no passcode is set" in menu.choose("6")
    menu.says("    nothing to remove")
    menu.choose("q")
    assert menu.ends() == 0 and list(temporary.iterdir()) == []


def test_what_goes_wrong_in_the_menu_is_part_of_it():
    menu = Menu()
    menu.choose("7")
    menu.choose("5")
    menu.says("passcode: no passcode is set for root")
    menu.choose("1")
    menu.answer(NEW, "1234")
    menu.says("Too easy to guess")
    menu.answer(NEW, "\x03")
    menu.says("passcode: cancelled; nothing was changed")
    menu.choose("2" * 600)
    menu.child.expect("Your choice: $")
    menu.child.sendeof()
    assert menu.ends() == 0


@pytest.mark.parametrize("where", ["menu", "enrolment", "log-in"])
def test_nothing_is_left_where_the_window_was_closed(temporary, where):
    menu = Menu()
    if where != "menu":
        menu.choose("1")
        menu.child.expect(NEW)
    if where == "log-in":
        menu.answer("", "8305")
        menu.answer(AGAIN, "8305")
        menu.choose("2")
        menu.child.expect("Passcode: $")
    close_window(menu.child)
    wait_for(lambda: list(temporary.iterdir()) == [])


def try_in_a_shell():
    shell = Shell(str(TOOL), "try")
    shell.child.expect("Your choice: $")
    return shell


@pytest.mark.parametrize("key", ["\x03", "\x1a"], ids=["Ctrl-C", "Ctrl-Z"])
def test_a_log_in_cut_off_restores_the_terminal(key):
    shell = try_in_a_shell()
    shell.run("1")
    shell.waits_hidden("8305\r")
    shell.waits_hidden("8305\r")
    shell.child.expect("Your choice: $")
    shell.run("2")
    shell.waits_hidden("83" + key)
    if key == "\x03":
        shell.child.expect("PAM: Conversation error")
    else:
        shell.child.expect("Stopped")
        shell.has_the_terminal()
        shell.run("fg")
        shell.waits_hidden("8305\r")
        shell.child.expect("PAM: Success")
    shell.child.expect("Your choice: $")
    assert shell.child.getecho(), "echo is off"
    shell.run("q")
    shell.has_the_terminal()


def test_ctrl_z_in_the_menu_and_fg():
    shell = try_in_a_shell()
    for _ in range(2):
        shell.child.send("\x1a")
        shell.child.expect("Stopped")
        shell.has_the_terminal()
        shell.run("fg")
        shell.child.expect_exact(str(TOOL))
    shell.run("6")
    shell.child.expect("nothing to remove")
    shell.child.expect("Your choice: $")
    shell.run("q")
    shell.has_the_terminal()


def test_ctrl_c_in_the_menu_throws_the_store_away(temporary):
    shell = try_in_a_shell()
    shell.child.send("\x03")
    shell.child.expect("the temporary store has been removed")
    shell.has_the_terminal()
    assert list(temporary.iterdir()) == []
    shell.run("echo status=$?")
    shell.child.expect("status=8\r\n")
