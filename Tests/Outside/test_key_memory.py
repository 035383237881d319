"""Where an opened key lies: in memory that is never swapped out, and nowhere else. And the key that is nowhere else."""

import os
import shutil
import subprocess

import pytest

import sealing
from machine import ACCOUNT, KEY, STORE, sh
from recovery import key_of, recovery_copy
from sealed import LOADED_NEXT, SEALED, boot, everybody_logs_in, key, killed, logs_in, recover, status
from sealing import LOADED
from tool import DONE, UNUSABLE, one_line


def file_system(path):
    return sh("stat", "-f", "-c", "%T", path, stdout=subprocess.PIPE).stdout.decode().strip()


def unmount():
    """As an earlier version had it: what is loaded lies in /run's own tmpfs."""
    loaded = {path: path.read_bytes() for path in LOADED.parent.iterdir()}
    sealing.boot()
    LOADED.parent.mkdir(mode=0o750)
    shutil.chown(LOADED.parent, "root", ACCOUNT)
    for path, content in loaded.items():
        path.write_bytes(content)
        path.chmod(0o440)
        shutil.chown(path, "root", ACCOUNT)


def without_mounting(bed, *action, **how):
    before = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=mount", "-e", "inject=mount:error=EPERM"]
    return key(bed, *action, before=before, **how)


# MARK: Never swapped out


def test_an_opened_key_is_on_a_ramfs_that_root_alone_writes(sealed):
    for _ in range(2):
        assert file_system(LOADED.parent) == "ramfs" and LOADED.parent.is_mount()
        assert LOADED.parent.stat().st_mode & 0o7777 == 0o750 and LOADED.stat().st_mode & 0o7777 == 0o440
        for account in ("alice", ACCOUNT):
            command = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", "touch", LOADED.parent / "x"]
            assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0
        boot(sealed)
    key(sealed, "load")
    key(sealed, "rotate")
    mounts = open("/proc/mounts").read().count(str(LOADED.parent))
    assert mounts == 1 and file_system(LOADED) == "ramfs" and everybody_logs_in(sealed)


def test_where_none_can_be_mounted_nothing_is_sealed_or_loaded(own, tpm):
    before = KEY.read_bytes()
    answer = without_mounting(own, "seal", check=UNUSABLE)
    assert "a ramfs can't be mounted there: Operation not permitted; nothing was loaded" in answer.errors
    assert one_line(answer.errors) and recovery_free(answer.output)
    assert KEY.read_bytes() == before and not SEALED.exists() and not LOADED.exists()
    copy = recovery_copy(key(own, "seal").output)
    sealing.boot()
    for action, how in (("load", {}), ("mount", {}), ("recover", {"stdin": copy})):
        words = (action, "--stdin") if how else (action,)
        assert "a ramfs can't be mounted" in without_mounting(own, *words, check=UNUSABLE, **how).errors
        assert not LOADED.exists() and not logs_in(own) and own.failures("alice") == 0
    boot(own)
    assert everybody_logs_in(own)


def recovery_free(output):
    return "    1  " not in output


def test_the_unit_mounts_outside_of_its_sandbox_and_opens_within_it(sealed):
    sealing.boot()
    key(sealed, "mount")
    assert file_system(LOADED.parent) == "ramfs" and not LOADED.exists()
    without_mounting(sealed, "load")
    assert everybody_logs_in(sealed)


def test_nothing_is_mounted_where_no_key_is_sealed(own, tpm):
    key(own, "mount")
    key(own, "load")
    assert not LOADED.parent.exists()


@pytest.mark.parametrize("is_rotating", [False, True], ids=["one key", "two keys"])
def test_what_an_earlier_version_loaded_into_a_tmpfs_is_told_and_moves(sealed, is_rotating):
    if is_rotating:
        killed(sealed, "fdatasync", 1, "rotate")
    loaded = [path for path in (LOADED, LOADED_NEXT) if path.exists()]
    kept = [path.read_bytes() for path in loaded]
    assert len(kept) == 1 + is_rotating
    unmount()
    assert everybody_logs_in(sealed)
    assert f"{LOADED}: lies in memory that may be swapped to the disk; run: passcode key load" in status(sealed)
    below = os.open(LOADED.parent, os.O_RDONLY)
    key(sealed, "load")
    assert [path.read_bytes() for path in loaded] == kept and file_system(LOADED) == "ramfs"
    assert os.listdir(below) == [] and everybody_logs_in(sealed) and "swapped" not in status(sealed)
    os.close(below)


@pytest.mark.parametrize("call", ["mount", "linkat", "unlinkat", "fchmod", "fchown"])
def test_killed_while_it_moves_the_next_load_opens_everything(sealed, call):
    number = 1
    while True:
        unmount()
        was_killed = killed(sealed, call, number, "load")[1]
        key(sealed, "load")
        assert everybody_logs_in(sealed) and status(sealed) == ""
        number += 1
        if not was_killed:
            break
    assert number > 2


def test_nothing_moves_from_a_folder_that_is_not_root_s(sealed):
    """Somebody else's key, in what would be trusted afterwards."""
    unmount()
    LOADED.chmod(0o640)
    LOADED.write_bytes(os.urandom(32))
    shutil.chown(LOADED.parent, "alice")
    key(sealed, "load")
    assert LOADED.read_bytes() == key_of(sealed.copy) and everybody_logs_in(sealed)


# MARK: Nowhere else


def test_a_key_that_is_in_memory_only_is_an_error_that_says_what_to_do(sealed):
    """/etc came back from a backup, or rsync --delete took the sealed key away."""
    SEALED.unlink()
    assert everybody_logs_in(sealed)
    answer = key(sealed, "status", check=UNUSABLE)
    assert one_line(answer.errors) and answer.output == ""
    assert f"{SEALED}: is gone, so the key is only in memory, until the next boot" in answer.errors
    assert "run: passcode key seal" in answer.errors and "passcode key unseal" in answer.errors
    assert "only in memory" in key(sealed, "load", check=UNUSABLE).errors
    assert "only in memory" in sealed.tool("check", check=None).output


@pytest.mark.parametrize("way", ["seal", "unseal"])
def test_and_each_of_the_two_ways_saves_it(sealed, way):
    SEALED.unlink()
    key(sealed, way)
    assert status(sealed) == "" and KEY.exists() == (way == "unseal")
    boot(sealed)
    assert everybody_logs_in(sealed)


def test_the_unit_fails_where_passcodes_need_a_key_and_there_is_none(sealed):
    SEALED.unlink()
    answer = boot(sealed, check=UNUSABLE)
    assert one_line(answer.errors)
    assert f"{KEY}: no machine key, plain or sealed, but 2 enrolled passcodes need it" in answer.errors
    assert "use your recovery copy: passcode key recover" in answer.errors
    assert not logs_in(sealed)
    assert "sealed again" in recover(sealed, sealed.copy).output and everybody_logs_in(sealed)


def test_it_does_not_fail_where_nobody_needs_one(own, tpm):
    """A plain key; none at all, and nobody enrolled; not even a store, as on a fleet's workstation."""
    key(own, "load")
    for user in ("alice", "bob"):
        own.tool("remove", user, check=DONE)
    KEY.unlink()
    key(own, "load")
    STORE.rename(STORE.with_name("elsewhere"))
    try:
        key(own, "load")
    finally:
        STORE.with_name("elsewhere").rename(STORE)
