"""The helper has at most three passwords a minute checked for a caller."""

import errno
import resource
import shutil
import socket
import subprocess

import machine as machines
import pytest
from bed import person, uid
from helper import (
    DONE_IT, ENROLL, HELPER, REMOVE, RESUME, UNAVAILABLE, UNLOCK, WRONG_PASSWORD, ask, converse, fault, reply, request,
)  # fmt: skip
from machine import PROOF, RUN
from process import wait_for
from scenario import NEW, PASSWORD, RIGHT
from tool import UNUSABLE, alone

TOO_MANY = fault("tooManyPasswords")


@pytest.fixture
def own(with_passwords):
    with_passwords.enroll("alice", RIGHT)
    return with_passwords


def wrong(operation=RESUME, **secrets):
    return ask(operation, "alice", user="alice", password="wrong", **secrets)


def right(operation=UNLOCK):
    return ask(operation, "alice", user="alice", password=PASSWORD)


def is_closed(answer):
    return (answer.kind, answer.text) == (UNAVAILABLE, TOO_MANY)


def file():
    return RUN / f"{uid('alice')}.passwords"


def checked(bed):
    return sum("passcode: wrong password" in line.message for line in bed.log())


def test_the_fourth_wrong_one_in_a_minute_is_not_checked(own):
    """Whatever they are to prove. Nor is the right one then; other people's are."""
    for operation, secrets in ((RESUME, {}), (UNLOCK, {}), (ENROLL, {"new": NEW})):
        assert wrong(operation, **secrets).kind == WRONG_PASSWORD
    assert checked(own) == 3
    for operation in (RESUME, UNLOCK, REMOVE):
        assert is_closed(wrong(operation)) and is_closed(right(operation))
    assert checked(own) == 3
    assert "too many wrong passwords: wait a minute, and try again" in alone(own, "unlock", PASSWORD, check=UNUSABLE).errors
    assert ask(UNLOCK, "bob", user="bob", password="wrong").kind == WRONG_PASSWORD
    assert own.authenticate("alice", RIGHT, **machines.ALICE).result == "SUCCESS", "a passcode is counted elsewhere"


def age(*ages):
    """When they were checked, in milliseconds before the first one."""
    first = int.from_bytes(file().read_bytes()[:8], "little")
    file().write_bytes(b"".join((first - age).to_bytes(8, "little") for age in ages))


def test_after_a_minute_there_is_one_again_and_a_right_one_takes_all_back(own):
    for _ in range(3):
        wrong()
    age(60_000, 30_000, 1)
    assert wrong().kind == WRONG_PASSWORD and is_closed(wrong())
    age(60_000, 30_000, 1)
    assert right().kind == DONE_IT and file().stat().st_size == 0
    assert [wrong().kind for _ in range(3)] == [WRONG_PASSWORD] * 3 and is_closed(wrong())


def test_times_that_lie_ahead_are_of_an_earlier_boot(own):
    file().write_bytes((2**63).to_bytes(8, "little") * 3)
    file().chmod(0o600)
    shutil.chown(file(), machines.ACCOUNT)
    assert [wrong().kind for _ in range(3)] == [WRONG_PASSWORD] * 3 and is_closed(wrong())


def begin():
    ours, theirs = socket.socketpair()
    with theirs:
        helper = subprocess.Popen([HELPER], stdin=theirs, cwd="/", **person("alice"))
    ours.sendall(request(RESUME, uid("alice"), password="wrong"))
    ours.shutdown(socket.SHUT_WR)
    return helper, ours


def test_twenty_at_once_are_three(own):
    kinds = []
    for helper, ours in [begin() for _ in range(20)]:
        with ours:
            kinds.append(reply(b"".join(iter(lambda ours=ours: ours.recv(4096), b""))).kind)
        helper.wait(20)
    assert sorted(kinds) == [UNAVAILABLE] * 17 + [WRONG_PASSWORD] * 3 and checked(own) == 3


def test_a_helper_that_is_killed_while_it_checks_has_counted(own):
    """Their caller sees by the delay that the password was wrong, and wants the next one."""
    before = PROOF.read_text()
    PROOF.write_text("auth required pam_unix.so\n")
    for number in (1, 2, 3):
        helper, ours = begin()
        wait_for(lambda number=number: file().exists() and file().stat().st_size == 8 * number, 10)
        helper.kill()
        helper.wait()
        ours.close()
    PROOF.write_text(before)
    assert is_closed(wrong()) and is_closed(right())


def test_what_can_not_be_checked_does_not_count(own):
    content = PROOF.read_text()
    PROOF.unlink()
    answers = [right() for _ in range(5)]
    assert all(answer.kind == UNAVAILABLE and answer.text != TOO_MANY for answer in answers)
    PROOF.write_text(content)
    assert right().kind == DONE_IT


@pytest.mark.parametrize("size", [0, 8, 12])
def test_a_limit_of_file_sizes_checks_no_more(own, size):
    """Where its caller's limit leaves no room for the count, the password isn't checked."""
    asks = request(RESUME, uid("alice"), password="wrong")
    how = {"user": "alice", "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}
    kinds = [converse(asks, **how).kind for _ in range(5)]
    assert kinds == [WRONG_PASSWORD] * (size // 8) + [UNAVAILABLE] * (5 - size // 8) and checked(own) == size // 8


def test_a_full_disk_checks_none(own):
    """There is the file in which helpers have their slots, and no room for another one."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=3,mode=0700", "full", RUN], check=True)
    try:
        for path in (RUN, RUN / "waiting", RUN / "filler"):
            path.touch(mode=0o700 if path == RUN else 0o600)
            shutil.chown(path, machines.ACCOUNT)
        answer = right()
        assert (answer.kind, answer.text) == (UNAVAILABLE, fault("failed", str(file()), error=errno.ENOSPC))
        assert checked(own) == 0
        (RUN / "filler").unlink()
        assert right().kind == DONE_IT
    finally:
        subprocess.run(["umount", RUN], check=True)
