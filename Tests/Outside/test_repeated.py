"""The same wrong passcode again: it doesn't count again, and nothing can be learned or gained from that."""

import contextlib
import os
import shutil
import subprocess

import pytest

import forge
import host
import strace
from bed import MEMORY, become, uid
from clock import later
from machine import ACCOUNT
from scenario import RIGHT, WRONG, fail, overwrite
from tally import attack

SAID = "Wrong passcode, 2 attempts left."


def hashes(bed, *codes):
    """How many of the codes were verified, one after the other."""
    return len(host.crowd(bed, [("alice", code, wave) for wave, code in enumerate(codes)]).verified)


def test_the_same_wrong_passcode_again_does_not_count(usual):
    outcomes = [usual.authenticate("alice", WRONG[0]) for _ in range(5)]
    assert [(outcome.result, outcome.texts) for outcome in outcomes] == [("AUTH_ERR", [SAID])] * 5
    assert usual.failures("alice") == 1
    before = usual.record("alice")
    assert hashes(usual, WRONG[0], WRONG[0]) == 0, "hashed, though the answer was known"
    assert usual.record("alice") == before


def test_only_the_last_wrong_one_is_remembered(usual):
    for code, failures in ((WRONG[0], 1), (WRONG[1], 2), (WRONG[1], 2), (WRONG[0], 3)):
        usual.authenticate("alice", code)
        assert usual.failures("alice") == failures


def test_the_right_one_is_never_taken_for_a_repetition(usual):
    with attack("same wrong code again, then the right one") as row:
        for code in WRONG:
            usual.authenticate("alice", code)
            usual.authenticate("alice", code)
            row.run()
            row.breach("refused", code, host.results(usual, RIGHT) != ["SUCCESS"])
            usual.tool("unlock", "alice", check=0)


@pytest.mark.parametrize("seconds, failures", [(0, 1), (290, 1), (301, 2), (10**7, 2)])
def test_it_is_forgotten_after_five_minutes(usual, seconds, failures):
    assert host.results(usual, WRONG[0]) == ["AUTH_ERR"]
    assert host.results(usual, WRONG[0], before=later(seconds)) == ["AUTH_ERR"]
    assert usual.failures("alice") == failures


def test_what_lies_ahead_is_not_believed(usual):
    host.results(usual, WRONG[0], before=later(100))
    host.results(usual, WRONG[0])
    assert usual.failures("alice") == 2


@pytest.mark.parametrize("act", ["enrolled again", "removed and enrolled", "changed"])
def test_another_credential_makes_it_stale(usual, act):
    usual.authenticate("alice", WRONG[0])
    if act == "removed and enrolled":
        usual.tool("remove", "alice", check=0)
    if act == "changed":
        usual.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n{RIGHT}\n", check=0)
    else:
        usual.enroll("alice", RIGHT)
    assert usual.failures("alice") == 0
    usual.authenticate("alice", WRONG[0])
    assert usual.failures("alice") == 1, "the old credential's memory answered"


def test_what_was_wrong_may_become_right(usual):
    """Wrong a moment ago, enrolled now."""
    usual.authenticate("alice", WRONG[0])
    usual.enroll("alice", WRONG[0])
    assert usual.authenticate("alice", WRONG[0]).result == "SUCCESS"


@pytest.mark.parametrize("code", [WRONG[2], WRONG[1], WRONG[9], RIGHT])
def test_while_locked_it_answers_nothing(usual, code):
    """Prompts that were open before the lock can't ask it whether a code was the last wrong one."""

    def lock_meanwhile(_):
        assert [outcome.result for outcome in fail(usual, 3)] == ["AUTH_ERR"] * 3
        return code

    outcome = usual.authenticate("alice", lock_meanwhile)
    assert outcome.result == "AUTH_ERR" and "left to unlock" in outcome.texts[0]
    assert usual.failures("alice") == 3
    crowd = host.crowd(usual, [("alice", code, 0)] * 20)
    assert crowd.hashes == 0 and all("left to unlock" in login.text for login in crowd.logins)
    assert usual.failures("alice") == 3


def test_anothers_wrong_passcode_is_not_mine(usual):
    usual.enroll("bob", RIGHT)
    usual.authenticate("alice", WRONG[0])
    usual.authenticate("bob", WRONG[0])
    assert (usual.failures("alice"), usual.failures("bob")) == (1, 1)


@contextlib.contextmanager
def memory_is(kind):
    """/run/passcode as it shouldn't be."""
    shutil.rmtree(MEMORY, ignore_errors=True)
    if kind == "a file":
        MEMORY.write_text("")
    else:
        MEMORY.mkdir(mode=0o755)
        size = "size=4k,nr_inodes=1" if kind == "full" else "ro"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(MEMORY)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(MEMORY)], check=False, capture_output=True)
        if MEMORY.is_file():
            MEMORY.unlink()
        shutil.rmtree(MEMORY, ignore_errors=True)


@pytest.mark.parametrize("kind", ["a file", "full", "read-only"])
def test_without_a_memory_everything_works_and_counts(usual, kind):
    with memory_is(kind), attack("same wrong code again, without /run") as row:
        row.run()
        for failures in (1, 2):
            assert usual.authenticate("alice", WRONG[0]).result == "AUTH_ERR"
            row.breach("refund", kind, usual.failures("alice") < failures)
        row.breach("refused", kind, usual.authenticate("alice", RIGHT).result != "SUCCESS")
        assert usual.failures("alice") == 0


def test_the_memory_is_nobody_elses_and_tells_nothing(usual):
    usual.authenticate("alice", WRONG[0])
    usual.authenticate("alice", WRONG[0])
    assert MEMORY.stat().st_mode & 0o077 == 0
    files = [path for path in MEMORY.rglob("*") if path.is_file()]
    assert files, "nothing is remembered"
    for path in files:
        assert path.stat().st_mode & 0o077 == 0
        assert WRONG[0].encode() not in path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"\xff" * 4096, None], ids=["nothing", "zeros", "ones", "none"])
def test_a_damaged_memory_only_counts(usual, content):
    usual.authenticate("alice", WRONG[0])
    for path in MEMORY.rglob("*"):
        if path.is_file():
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(bytes(data) if content is None else content)
    usual.authenticate("alice", WRONG[0])
    assert usual.failures("alice") == 2
    assert usual.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["another name", "a symbolic link"])
def test_the_memory_is_no_way_to_write_into_another_file(usual, link):
    """Whoever may write under /run/passcode could have root write over what only root can write."""
    victim = MEMORY.with_name("victim")
    victim.write_bytes(b"root's own\n" * 100)
    MEMORY.mkdir()
    link(victim, MEMORY / str(uid("alice")))
    try:
        for failures in (1, 2):
            usual.authenticate("alice", WRONG[0])
            assert usual.failures("alice") == failures, "remembered somewhere"
        assert victim.read_bytes() == b"root's own\n" * 100
    finally:
        victim.unlink()


def test_without_the_machine_key_the_memory_cannot_be_searched(usual):
    """Everything is as it was but the key: the same code, for the same credential, isn't what is remembered."""
    usual.authenticate("alice", WRONG[0])
    plain, key = forge.credential(usual, "alice"), os.urandom(32)
    forge.reseal(usual, "alice", plain, key)
    overwrite(usual.key, key)
    usual.authenticate("alice", WRONG[0])
    assert usual.failures("alice") == 2
    assert usual.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("umask", [0o022, 0o777], ids=oct)
def test_what_a_program_of_roots_remembers_the_helper_knows(machine, umask):
    """Whatever that program's umask is: the file is the service account's alone."""
    machine.enroll("alice", RIGHT)
    machine.authenticate("alice", WRONG[0], prepare=lambda: os.umask(umask))
    status = (MEMORY / str(uid("alice"))).stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (uid(ACCOUNT), 0, 0o600)
    machine.authenticate("alice", WRONG[0], prepare=become("alice"))
    assert machine.failures("alice") == 1


@pytest.mark.parametrize("call", ["fchmod", "fchown"])
@pytest.mark.parametrize("what", ["directory", "file"])
def test_nothing_is_kept_where_it_cannot_be_made_the_service_accounts(machine, what, call):
    machine.enroll("alice", RIGHT)
    if what == "directory":  # its maker was killed
        shutil.rmtree(MEMORY)
        MEMORY.mkdir(mode=0o700)
    failing = strace.record("/dev/null", "-e", f"inject={call}:error=EPERM")
    assert host.results(machine, WRONG[0], before=failing) == ["AUTH_ERR"]
    assert [path.read_bytes() for path in MEMORY.iterdir()] == ([] if what == "directory" else [b""])
    assert machine.failures("alice") == 1


def test_without_root_it_counts(make_bed):
    """A person with a store of their own has no place under /run."""
    own = make_bed(owner="bob")
    own.enroll("bob", RIGHT)
    for failures in (1, 2):
        own.authenticate("bob", WRONG[0], prepare=become("bob"))
        assert own.failures("bob") == failures


def test_a_configuration_of_ones_own_leaves_nothing_under_run(alice):
    """Trying is not to leave traces, so nothing is remembered there, and everything counts."""
    shutil.rmtree(MEMORY, ignore_errors=True)
    for failures in (1, 2):
        alice.authenticate("alice", WRONG[0])
        assert alice.failures("alice") == failures
    assert not MEMORY.exists()


def test_a_crowd_of_the_same_wrong_passcode_counts_once(usual):
    """100 prompts, one code: verified once, charged once; then as many others as the budget has left."""
    with attack("prompts opened first, the same wrong code") as row:
        crowd = host.crowd(usual, [("alice", WRONG[0], 0)] * 100)
        row.run(100)
        row.breach("beyond", crowd.hashes, crowd.hashes - 1)
        row.breach("refund", "", usual.failures("alice") < 1)
    assert usual.failures("alice") == 1
    assert {login.text for login in crowd.logins} == {SAID}
