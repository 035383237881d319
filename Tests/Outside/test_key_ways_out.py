"""What gets a machine out of each state of its key: papers, old keys, keys that nothing opens any more."""

import fcntl
import os
import re
import shutil
import subprocess

import pytest

import sealing
from machine import ACCOUNT, KEY, STORE
from recovery import key_of, recovery_copy
from scenario import RIGHT
from sealed import (
    LOADED_NEXT, NEXT, SEALED, SEALED_NEXT, another_sealed_key, boot, everybody_logs_in, key, killed, logs_in, put_back, recover,
    status,
)
from sealing import LOADED
from tool import DONE, UNUSABLE, one_line

WRONG_STATUS, CANCELLED = 1, 8
OLD = SEALED.with_name("key.cred.old")


def everything():
    return {path: path.read_bytes() for folder in (KEY.parent, STORE, LOADED.parent) for path in folder.rglob("*")}


# MARK: Papers


def test_a_paper_bears_host_date_and_id_and_status_shows_the_id(own, tpm):
    [identity] = re.findall(r"^Key id: ([0-9a-f]{8})\.$", key(own, "status").output, re.MULTILINE)
    said = key(own, "seal").output
    assert re.search(rf"^    {os.uname().nodename}, \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \S+, {identity}$", said, re.MULTILINE)
    assert identity not in recovery_copy(said) and f"Key id: {identity}." in key(own, "status").output
    said = killed(own, "fdatasync", 2, "rotate")[0]
    [new] = re.findall(r", ([0-9a-f]{8})$", said, re.MULTILINE)
    assert new != identity and f"Key id: {identity}, {new}." in key(own, "status").output
    key(own, "rotate")
    assert f"Key id: {new}." in key(own, "status").output


def test_a_paper_can_be_checked_and_nothing_changes(sealed):
    rotated = recovery_copy(key(sealed, "rotate").output)
    for is_loaded in (True, False):
        if not is_loaded:
            sealing.boot()
        before = everything()
        answer = key(sealed, "recover", "--check", "--stdin", stdin=rotated)
        assert "This recovery copy fits 2 of 2 passcodes." in answer.output
        answer = key(sealed, "recover", "--check", "--stdin", stdin=sealed.copy, check=WRONG_STATUS)
        assert "This recovery copy fits 0 of 2 passcodes." in answer.output
        assert everything() == before and not any("recover" in line.message for line in sealed.log())


@pytest.mark.parametrize("call", ["write", "renameat", "fsync", "pwrite64"])
def test_no_next_key_is_used_whose_paper_was_not_shown(sealed, tpm, call):
    """Cut between, and booted: what is enrolled then would be lost with the TPM."""
    number = 1
    while True:
        said, was_killed = killed(sealed, call, number, "rotate")
        is_shown = len(re.findall(r"^    \d  ", said, re.MULTILINE)) == 4
        assert is_shown or not SEALED_NEXT.exists() and not LOADED_NEXT.exists()
        boot(sealed)
        assert everybody_logs_in(sealed)
        if not was_killed:
            break
        key(sealed, "rotate")
        number += 1
    assert number > 2


# MARK: Old keys


@pytest.mark.parametrize("is_loaded", [True, False], ids=["it was loaded", "it is loaded at the boot"])
def test_a_plain_key_that_comes_back_locks_nobody_out(sealed, is_loaded):
    """A restored /etc brought it, beside the sealed one."""
    if not is_loaded:
        sealing.boot()
    put_back(os.urandom(32))
    if not is_loaded:
        key(sealed, "load")
    assert everybody_logs_in(sealed)
    assert "need another key" in key(sealed, "status", check=UNUSABLE).errors
    # Who is enrolled meanwhile is under it, and logs in, too.
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol")
    assert sealed.authenticate("alice", "9999").result == "AUTH_ERR" and sealed.failures("alice") == 1
    assert "need another key" in key(sealed, "unseal", check=UNUSABLE).errors and SEALED.exists()


@pytest.mark.parametrize("enrols", [False, True], ids=["opens nothing", "opens carol's"])
@pytest.mark.parametrize("tpm_is", ["there", "cleared"])
def test_a_plain_key_that_comes_back_amid_a_rotation_keeps_nothing_from_going_on(sealed, tpm, tpm_is, enrols):
    """Where the TPM doesn't open the sealed ones, their papers do."""
    new = recovery_copy(killed(sealed, "fdatasync", 2, "rotate")[0])
    sealing.boot()
    put_back(os.urandom(32))
    if enrols:
        sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    if tpm_is == "cleared":
        tpm.clear()
        for copy in (sealed.copy, new):
            assert "To finish its rotation" in recover(sealed, copy).output
    else:
        assert "run: passcode key load" in key(sealed, "rotate", check=UNUSABLE).errors
        assert not NEXT.exists() and "another key: restore" in key(sealed, "unseal", check=UNUSABLE).errors and not NEXT.exists()
        key(sealed, "load")
    assert everybody_logs_in(sealed)
    key(sealed, "rotate")
    assert not KEY.exists() and everybody_logs_in(sealed) and status(sealed) == ""
    boot(sealed)
    assert everybody_logs_in(sealed) and (not enrols or logs_in(sealed, "carol"))


@pytest.mark.parametrize("call", ["fdatasync", "renameat", "unlinkat", "fsync", "pwrite64"])
def test_killed_while_that_goes_on_nobody_is_lost(sealed, call):
    number = 1
    while True:
        killed(sealed, "fdatasync", 2, "rotate")
        assert SEALED_NEXT.exists()
        sealing.boot()
        put_back(os.urandom(32))
        sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
        key(sealed, "load")
        was_killed = killed(sealed, call, number, "rotate")[1]
        assert everybody_logs_in(sealed) and logs_in(sealed, "carol")
        if SEALED_NEXT.exists():
            key(sealed, "rotate")
        assert everybody_logs_in(sealed) and logs_in(sealed, "carol") and not KEY.exists()
        if not was_killed:
            break
        number += 1
    assert number > 2


@pytest.mark.parametrize("enrols", [False, True], ids=["nobody enrols", "carol enrols"])
def test_both_plain_keys_that_come_back_amid_a_rotation_replace_no_sealed_one(sealed, enrols):
    """From a backup that was made amid an older rotation. What is under the sealed next key still needs that."""
    number = 2
    while killed(sealed, "fdatasync", number, "rotate")[1]:
        sealing.boot()
        if SEALED_NEXT.exists():
            for path in (KEY, NEXT):
                put_back(os.urandom(32), path)
            if enrols:
                sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
        key(sealed, "load")
        assert everybody_logs_in(sealed)
        key(sealed, "rotate")
        assert everybody_logs_in(sealed) and (not enrols or logs_in(sealed, "carol"))
        assert not KEY.exists() and not NEXT.exists()
        number += 1
    assert number > 3


def test_what_a_killed_unseal_left_of_a_rotation_is_finished_after_the_tpm_was_cleared(sealed, tpm):
    """Both keys are plain by then, and the sealed one is still there."""
    killed(sealed, "fdatasync", 3, "rotate")
    killed(sealed, "unlinkat", 1, "unseal")
    assert KEY.exists() and NEXT.exists() and SEALED.exists() and not SEALED_NEXT.exists()
    tpm.clear()
    boot(sealed, check=UNUSABLE)
    assert everybody_logs_in(sealed) and "finish it first with: passcode key rotate" in key(sealed, "seal", check=UNUSABLE).errors
    key(sealed, "rotate")
    assert everybody_logs_in(sealed) and "run: passcode key seal" in status(sealed)
    key(sealed, "seal")
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_a_recovery_removes_a_plain_key_that_opens_nothing(sealed, tpm):
    """Left there, it would be the key of what is enrolled next, and the sealed one of the rest."""
    tpm.clear()
    sealing.boot()
    put_back(os.urandom(32))
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert not KEY.exists() and everybody_logs_in(sealed)
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_a_recovery_keeps_a_plain_key_while_a_record_is_held(sealed, tpm):
    """That record may be under it, where somebody enrolled after the recovery had counted what opens."""
    tpm.clear()
    sealing.boot()
    put_back(before := os.urandom(32))
    with sealed.record_file("alice").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "1 record still needs the old key" in recover(sealed, sealed.copy, check=UNUSABLE).errors
        assert KEY.read_bytes() == before
    recover(sealed, sealed.copy)
    assert not KEY.exists() and everybody_logs_in(sealed) and status(sealed) == ""


def test_a_recovery_keeps_what_it_replaces_until_everything_opens(sealed):
    """Carol's passcode is under another key, which is nowhere: it may come back."""
    put_back(os.urandom(32))
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    KEY.unlink()
    other = another_sealed_key(os.urandom(32))
    SEALED.write_bytes(other)
    sealing.boot()
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert OLD.read_bytes() == other and everybody_logs_in(sealed)
    sealed.tool("remove", "carol", check=DONE)
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert not OLD.exists() and everybody_logs_in(sealed)


# MARK: Nothing opens it any more


def forget(bed, typed="yes", check=DONE):
    return key(bed, "init", "--forget-sealed", "--stdin", stdin=f"{typed}\n", check=check)


@pytest.mark.parametrize("how", ["cleared", "gone"])
def test_a_sealed_key_that_nothing_opens_is_given_up_by_one_command(sealed, tpm, how):
    tpm.clear() if how == "cleared" else tpm.stop()
    boot(sealed, check=UNUSABLE)
    sealed.tool("disable", "bob", check=DONE)
    for typed in ("no", "y", "", "yes "):
        before = everything()
        forget(sealed, typed, check=CANCELLED)
        assert everything() == before
    forget(sealed)
    assert KEY.exists() and not SEALED.exists() and key(sealed, "status").output.startswith(f"{KEY}: OK.")
    assert sealed.tool("status", "bob", "--json", check=None).output.count("disabled") >= 1
    sealed.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
    assert logs_in(sealed)


def test_it_is_asked_on_a_terminal_with_what_is_lost(sealed, tpm):
    tpm.clear()
    boot(sealed, check=UNUSABLE)
    command = " ".join(str(word) for word in [*sealed.tool_words(), "key", "init", "--forget-sealed"])
    run = subprocess.run(["script", "-qec", command, "/dev/null"], input="no\n", capture_output=True, text=True)
    assert "2 passcodes: their owners must set new ones" in run.stdout and "To go on, type yes: " in run.stdout
    assert SEALED.exists() and not KEY.exists()


def test_nothing_is_given_up_while_a_key_opens(sealed, tpm):
    """Loaded, or to be opened; plain beside it; and while the TPM only refuses for now."""
    before = SEALED.read_bytes()
    assert "can still be unsealed" in forget(sealed, check=UNUSABLE).errors
    sealing.boot()
    assert "can still be unsealed" in forget(sealed, check=UNUSABLE).errors
    tpm.start(lockout=True)
    assert "dictionary attack lockout" in forget(sealed, check=UNUSABLE).errors
    tpm.clear()
    put_back(os.urandom(32))
    assert "can still be unsealed" in (answer := forget(sealed, check=UNUSABLE)).errors and one_line(answer.errors)
    assert SEALED.read_bytes() == before and len(list(STORE.glob("[0-9]*"))) == 2
    KEY.unlink()


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlinkat", "linkat", "fsync"])
def test_killed_while_it_is_given_up_the_same_command_goes_on(own, tpm, call):
    number = 1
    while True:
        for user in ("alice", "bob"):
            own.tool("enroll", "--stdin", user, stdin=f"{RIGHT}\n", check=DONE)
        key(own, "seal")
        tpm.clear()
        boot(own, check=UNUSABLE)
        run = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
             *own.tool_words(), "key", "init", "--forget-sealed", "--stdin"], input="yes\n", capture_output=True, text=True,
        )  # fmt: skip
        if SEALED.exists():
            forget(own)
        elif not KEY.exists():
            key(own, "init")
        assert key(own, "status").output.startswith(f"{KEY}: OK.")
        number += 1
        if run.returncode == 0:
            break
    assert number > 2


# MARK: Words


WRONG_LOADED = {
    "mode": (lambda: LOADED.chmod(0o400), "must be able to read it"),
    "group": (lambda: shutil.chown(LOADED, "root", "root"), "must be able to read it"),
    "folder": (lambda: LOADED.parent.chmod(0o777), "must be writable by its owner only"),
}


@pytest.mark.parametrize("wrong", WRONG_LOADED)
def test_a_loaded_key_that_not_everybody_can_use_is_told_by_its_path_and_loading_repairs_it(sealed, wrong):
    spoil, words = WRONG_LOADED[wrong]
    spoil()
    said = key(sealed, "status", check=UNUSABLE).errors
    path = LOADED.parent if wrong == "folder" else LOADED
    assert f"{path}: " in said and words in said and f"{KEY}:" not in said and "; run: ch" in said
    key(sealed, "load")
    assert status(sealed) == "" and everybody_logs_in(sealed)
    assert LOADED.parent.stat().st_mode & 0o777 == 0o750 and LOADED.stat().st_gid != 0


@pytest.mark.parametrize("wrong", ["owner", "link", "directory"])
def test_each_cause_names_itself(sealed, wrong):
    """No ": ." and no ": ;" where a cause should be."""
    content = SEALED.read_bytes()
    if wrong == "owner":
        shutil.chown(SEALED, "alice")
    else:
        SEALED.unlink()
        SEALED.symlink_to("/etc/passwd") if wrong == "link" else SEALED.mkdir()
    said = key(sealed, "status", check=None).errors
    assert f"{SEALED}: must " in said and not re.search(r": [.;]", said)
    if wrong == "directory":
        SEALED.rmdir()
    else:
        SEALED.unlink()
    SEALED.write_bytes(content)
    SEALED.chmod(0o400)
    assert status(sealed) == "" and ACCOUNT and key_of(sealed.copy) == LOADED.read_bytes()
