"""README.Debian's pages "Help desk" and "Be told of failures": each command is run as it stands there, and gives the answer
it is there for."""

import re
import subprocess

import pytest

import documents
import systemd_journal
from debian_machine import OTHER, PASSWORD, WRONG, finished, prompted
from dialogue import put_faillock_around
from package import only_the_password_is_asked, passcode_works, su

JOURNAL = "journalctl SYSLOG_FACILITY=10"
LOCKED = r"""^alice: a passcode is set, 6 digits
  state: locked, (1 minute|\d+ seconds) left
  failures since the last success: 3
(.*\n)*  last wrong passcode: .*, by sudo
Asked for by: (.*\n)*.*\bsudo\b"""
WRONG_LINE = r".* passcode wrong user=alice service=sudo ruid=1000 tty=/dev/pts/\d+ ruser=alice failures=%s\n"
LOCKING = "1 attempts_left=2", "2 attempts_left=1", "3 seconds_left=60"

# What only reads, with alice locked out of sudo and bob fine: each command, and its answer.
ANSWERS = {
    "passcode status alice": LOCKED,
    f'{JOURNAL} -g "passcode wrong user=alice "': "^" + "".join(WRONG_LINE % rest for rest in LOCKING) + "$",
    f'{JOURNAL} -g "passcode .* user=alice service="': "passcode locked user=alice service=sudo .*failures=3 ",
    f'{JOURNAL} -t passcode -g "user=alice "': "passcode enrolled user=alice uid=1000 by_uid=0",
    "passcode list --state locked": r"^USER.*\nalice .*\n$",
    "passcode list --since 1h": r"^USER.*\nalice .*\nbob .*\n$",
}  # fmt: skip
# What changes something, or needs another state. Each has a test of its own.
UNLOCK = "passcode unlock alice"
FORGOTTEN = ["passcode enroll alice --generate", "passcode remove alice"]
STOLEN = ["passcode disable alice", "passcode enable alice"]
EXHAUSTED = "passcode list --state exhausted"
FAILLOCK = "faillock --user alice"


def answer(machine, command):
    return machine.run("sh", "-c", command, status=None)


def sudo(machine, *answers):
    """alice types these at sudo's prompts; it asks three times."""
    child = machine.terminal("sudo", "true")
    prompted(child, *[("assword[^\n]*: ", text) for text in answers])
    return finished(child)


@pytest.fixture
def desk(machine):
    """alice was locked out of sudo by three wrong passcodes, and met that once more. All of it is in the journal."""
    systemd_journal.start(machine)
    machine.configure(fail_delay="0")
    machine.enroll()
    machine.enroll("bob", OTHER)
    sudo(machine, *WRONG[:3])
    sudo(machine, "not the password", "nor this", "nor that")
    return machine


def test_every_command_of_the_page_is_here(machine):
    page = documents.blocks(documents.page(machine, "Help desk"))
    commands = [line for block in page for line in block.splitlines()]
    assert sorted(commands) == sorted([*ANSWERS, UNLOCK, *FORGOTTEN, *STOLEN, EXHAUSTED, FAILLOCK])


def test_what_happened_is_in_the_answers(desk):
    """Looking costs nothing."""
    before = desk.state()
    for command, expected in ANSWERS.items():
        systemd_journal.matches(desk, command, expected)
    assert desk.state()["failures"] == before["failures"] == 3


def test_who_is_locked_out_until_unlocked_is_listed(desk):
    desk.configure(lockout="1:reset")
    assert "bob" not in (said := answer(desk, EXHAUSTED)) and "alice" in said


def test_failures_are_told_as_they_happen_and_looked_up(desk):
    follow, locks = documents.blocks(documents.page(desk, "Be told of failures"))[0].splitlines()
    systemd_journal.matches(desk, locks, "^" + WRONG_LINE % "3 seconds_left=60" + "$")
    watcher = subprocess.Popen(desk.command("sh", "-c", follow + " -n all"), stdout=subprocess.PIPE, text=True)
    # It says what there is, and looks for more from then on.
    for rest in LOCKING:
        assert re.fullmatch(WRONG_LINE % rest, watcher.stdout.readline())
    desk.run("passcode", "unlock", "alice")
    sudo(desk, WRONG[0], PASSWORD)
    assert re.fullmatch(WRONG_LINE % "1 attempts_left=2", watcher.stdout.readline())
    watcher.kill()
    watcher.wait()


def test_unlocking(desk):
    answer(desk, UNLOCK)
    assert desk.state()["state"] == "ok" and desk.state()["failures"] == 0
    passcode_works(desk)


def test_a_forgotten_passcode(desk):
    generate, remove = FORGOTTEN
    code = answer(desk, generate).splitlines()[0]
    assert sudo(desk, code)[1] == 0
    answer(desk, remove)
    only_the_password_is_asked(desk)


def test_a_passcode_that_somebody_knows(machine):
    disable, enable = STOLEN
    answer(machine, disable)
    su(machine, r"Passcode disabled by the administrator\.\s+Password: ", PASSWORD)
    machine.run("passcode", "enroll", "--stdin", user="alice", input=f"{PASSWORD}\n{OTHER}\n", status=4)
    answer(machine, enable)
    passcode_works(machine)


def test_the_password_s_own_lock_is_another_one(machine):
    put_faillock_around(machine)
    machine.configure(fail_delay="0")
    sudo(machine, *WRONG[:3])
    assert "pts" not in answer(machine, FAILLOCK)
    sudo(machine, "not the password", "nor this", "nor that")
    assert answer(machine, FAILLOCK).count("/dev/pts/") == 3
