"""A sealed machine key, with a stand-in for the TPM: interrupted at each step, lost, recovered, replaced and attacked."""

import contextlib
import fcntl
import os
import random
import re
import shutil
import subprocess
import threading

import pytest

import sealing
from bed import become, uid
from keys import openers
from machine import ACCOUNT, ALICE, CONFIGURATION, KEY, RUN, STORE, sh
from recovery import key_of, recovery_copy
from scenario import RIGHT, WRONG
from sealed import (
    LOADED_NEXT, NEXT, SEALED, SEALED_NEXT, another_sealed_key, boot, everybody_logs_in, key, killed, logs_in, put_back,
    recover, status,
)
from sealing import LOADED
from tool import DONE, POLICY, UNUSABLE, one_line


def is_in_a_file(secret):
    folders = [KEY.parent, STORE, CONFIGURATION.parent, LOADED.parent, RUN]
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(paths) > 5
    return [path for path in paths if secret in (found := path.read_bytes()) or secret.hex().encode() in found]


# MARK: Sealed and loaded


def test_only_the_loaded_file_holds_the_key(own, tpm):
    before = KEY.read_bytes()
    assert is_in_a_file(before) == [KEY]
    said = key(own, "seal").output
    assert is_in_a_file(before) == [LOADED] and key_of(recovery_copy(said)) == before
    modes = [(path.stat().st_uid, path.stat().st_gid != 0, oct(path.stat().st_mode & 0o777)) for path in (LOADED.parent, LOADED)]
    assert modes == [(0, True, "0o750"), (0, True, "0o440")] and oct(SEALED.stat().st_mode & 0o777) == "0o400"
    assert everybody_logs_in(own)
    boot(own)
    assert everybody_logs_in(own) and status(own) == ""


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_whatever_the_umask_the_helper_reads_it(own, tpm, mask):
    before = os.umask(mask)
    try:
        key(own, "seal")
        boot(own)
        key(own, "rotate")
        key(own, "unseal")
    finally:
        os.umask(before)
    assert everybody_logs_in(own) and oct(KEY.stat().st_mode & 0o777) == "0o440"


def test_the_recovery_copy_goes_to_standard_output_alone(own, tpm, tmp_path):
    """In no argument and no environment of any process, and in no line of the log."""
    trace = tmp_path / "trace"
    said = key(own, "seal", before=["strace", "-f", "-v", "-s", "4096", "-e", "trace=execve,sendto,sendmsg", "-o", trace])
    digits = key_of(recovery_copy(said.output)).hex()
    seen = trace.read_text() + "".join(line.message for line in own.log())
    assert "systemd-creds" in seen and "machine key seal" in seen
    for start in range(0, 64, 4):
        assert digits[start : start + 8] not in seen.replace(" ", "") if start < 60 else True
    assert said.errors == ""


def test_it_is_loaded_where_nothing_can_be_written(sealed):
    """A read-only /etc: the sealed file is what is locked."""
    KEY.with_name("key.lock").unlink()
    sh("mount", "--bind", KEY.parent, KEY.parent)
    sh("mount", "-o", "remount,ro,bind", KEY.parent)
    try:
        boot(sealed)
        assert everybody_logs_in(sealed)
        with SEALED.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert "another process is changing" in key(sealed, "load", check=UNUSABLE).errors
    finally:
        sh("umount", "--lazy", KEY.parent)


def test_the_passcodes_are_moved_by_the_recovery_copy(sealed, tpm):
    """README.Debian: the store, and not the TPM, is on the other machine."""
    SEALED.unlink()
    tpm.clear()
    sealing.boot()
    assert not logs_in(sealed)
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert everybody_logs_in(sealed) and status(sealed) == ""
    boot(sealed)
    assert everybody_logs_in(sealed)


def test_and_to_one_without_a_tpm(sealed, tpm):
    SEALED.unlink()
    tpm.stop()
    sealing.boot()
    assert "to keep the key on the disk: passcode key unseal" in recover(sealed, sealed.copy, check=UNUSABLE).errors
    key(sealed, "unseal")
    sealing.boot()
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_only_the_right_recovery_copy_is_taken(sealed, tpm):
    tpm.stop()
    sealing.boot()
    before = SEALED.read_bytes()
    first, rest = sealed.copy.split("\n", 1)
    for wrong in (
        first.replace(first[3], "f" if first[3] != "f" else "0", 1) + "\n" + rest,
        "".join(f"{line}\n" for line in reversed(sealed.copy.splitlines())),
        first + "\n" + first + "\n" + rest,
        # Without its check digit alone it could be a line without its number, of which one in 16 is right.
        sealed.copy.replace(" ", "", 1)[:-5] + "\n",
        "1" * 600 + "\n" + rest,
    ):
        said = recover(sealed, wrong, check=POLICY).errors
        assert re.search(r"line \d is not from a recovery copy; nothing was changed", said)
        assert not any(word in said for word in sealed.copy.split() if len(word) == 4)
    # Lines that are all 0: the check digit is 16 minus twice the number.
    zeros = "".join(f"{number}  0000 0000 0000 0000  {check}\n" for number, check in zip("1234", "eca8", strict=True))
    assert "fits none of the 2 enrolled passcodes" in recover(sealed, zeros, check=UNUSABLE).errors
    assert SEALED.read_bytes() == before and not LOADED.exists() and not logs_in(sealed)


# MARK: Interrupted


@pytest.mark.parametrize("call", ["linkat", "renameat", "unlinkat", "fsync", "pwrite64", "mkdir"])
def test_killed_while_sealing_and_unsealing_everybody_logs_in(own, tpm, call):
    for action in ("seal", "unseal"):
        number = 1
        while killed(own, call, number, action)[1]:
            assert logs_in(own)
            both = KEY.exists() and SEALED.exists()
            assert ("a plain key exists as well as the sealed one" in status(own)) == both
            number += 1
        key(own, action, check=None)
        assert status(own) == "" and KEY.exists() == (action == "unseal") and logs_in(own)


@pytest.mark.parametrize("call", ["fdatasync", "linkat", "renameat", "unlinkat", "fsync", "pwrite64"])
def test_killed_while_replacing_a_sealed_key_every_boot_opens_everything(sealed, call):
    number = 1
    while killed(sealed, call, number, "rotate")[1]:
        if random.random() < 0.5:
            boot(sealed)
        assert everybody_logs_in(sealed)
        if SEALED_NEXT.exists() and LOADED_NEXT.exists():
            assert "still under the old machine key; run: passcode key rotate" in status(sealed)
        # From the beginning, or from where the last one was killed.
        if number % 2 == 0:
            key(sealed, "rotate")
        number += 1
    assert number > 1
    key(sealed, "rotate")
    assert status(sealed) == "" and not SEALED_NEXT.exists() and not LOADED_NEXT.exists()
    boot(sealed)
    assert everybody_logs_in(sealed)


def lose_the_tpm_while_rotating(bed, tpm, call, number):
    """The recovery copies of the old and of the new key."""
    said, was_killed = killed(bed, call, number, "rotate")
    assert was_killed and SEALED_NEXT.exists()
    tpm.stop()
    assert "the TPM did not unseal it" in boot(bed, check=UNUSABLE).errors and not logs_in(bed)
    return bed.copy, recovery_copy(said)


def between_two_records(bed, tpm):
    """Alice's is under the new key, bob's under the old one."""
    return lose_the_tpm_while_rotating(bed, tpm, "fdatasync", 2)


def test_a_tpm_that_is_lost_while_the_key_is_replaced(sealed, tpm):
    """Both keys come back from their copies, in either order, and the rotation is finished with them."""
    copies = between_two_records(sealed, tpm)
    for number, copy in enumerate(random.sample(copies, 2)):
        assert "To finish its rotation" in recover(sealed, copy).output
        assert logs_in(sealed) + logs_in(sealed, "bob") == number + 1
    tpm.clear()
    key(sealed, "rotate")
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_and_that_never_comes_back(sealed, tpm):
    """Then both keys go to the disk, and the rotation is finished there. Killed at any step of that, too."""
    for copy in between_two_records(sealed, tpm):
        recover(sealed, copy)
    assert "could not be sealed" in (said := key(sealed, "rotate", check=UNUSABLE).errors) or "nothing was changed" in said
    for call in ("linkat", "unlinkat", "fsync"):
        killed(sealed, call, random.randrange(1, 4), "unseal")
        assert everybody_logs_in(sealed)
    key(sealed, "unseal", check=None)
    assert not SEALED.exists() and not SEALED_NEXT.exists() and KEY.exists() and NEXT.exists()
    sealing.boot()
    assert everybody_logs_in(sealed) and "1 passcode is still under the old machine key" in status(sealed)
    key(sealed, "rotate")
    sealing.boot()
    assert everybody_logs_in(sealed) and status(sealed) == "" and not NEXT.exists()


def test_a_recovered_key_that_opens_everything_ends_the_rotation(sealed, tpm):
    """The last copy was written, and not yet synced."""
    old, new = lose_the_tpm_while_rotating(sealed, tpm, "fdatasync", 3)
    assert "fits none of the 2" in recover(sealed, old, check=UNUSABLE).errors
    assert "works until the next boot" in recover(sealed, new, check=UNUSABLE).errors
    assert everybody_logs_in(sealed)
    tpm.clear()
    assert "sealed again" in recover(sealed, new).output
    assert status(sealed) == "" and not SEALED_NEXT.exists()
    boot(sealed)
    assert everybody_logs_in(sealed)
    key(sealed, "rotate")
    assert everybody_logs_in(sealed)


def test_nothing_is_recovered_while_both_keys_are_loaded(sealed):
    """What is enrolled then is under the new key: to end the rotation with the old one would lose that at the next boot."""
    killed(sealed, "fdatasync", 1, "rotate")
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    answer = recover(sealed, sealed.copy, check=UNUSABLE)
    assert one_line(answer.errors) and "a key rotation is unfinished" in answer.errors
    boot(sealed)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol")
    key(sealed, "rotate")
    boot(sealed)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol") and status(sealed) == ""


def test_each_key_is_loaded_even_if_the_other_one_does_not_open(sealed, tpm):
    """The sealed file of the next one is damaged: who is under the current one logs in."""
    killed(sealed, "fdatasync", 1, "rotate")
    whole = SEALED_NEXT.read_bytes()
    SEALED_NEXT.write_bytes(b"damaged")
    assert str(SEALED_NEXT) in boot(sealed, check=UNUSABLE).errors
    assert logs_in(sealed, "bob")
    SEALED_NEXT.write_bytes(whole)
    boot(sealed)
    assert everybody_logs_in(sealed)


# MARK: Old keys


def test_no_old_key_stays_loaded_after_it_was_replaced(sealed):
    """Unsealed, what was loaded stays until the boot; a new key ends that."""
    key(sealed, "unseal")
    old = LOADED.read_bytes()
    key(sealed, "rotate")
    assert is_in_a_file(old) == [] and not LOADED.exists()
    assert everybody_logs_in(sealed)
    now = recovery_copy(key(sealed, "seal").output)
    assert LOADED.read_bytes() == key_of(now) and everybody_logs_in(sealed)


def test_a_new_key_is_new_even_after_one_that_was_killed_at_its_end(sealed):
    """Each call at which a rotation of unsealed keys can be killed; then the next key is made up."""
    for copy_number, call in enumerate(["renameat", "unlinkat", "fsync"]):
        number = 1
        while True:
            key(sealed, "seal", check=None)
            killed(sealed, "fdatasync", 1, "rotate")
            key(sealed, "unseal")
            was_killed = killed(sealed, call, number, "rotate")[1]
            if status(sealed) != "":
                key(sealed, "rotate")
            before = KEY.read_bytes()
            key(sealed, "rotate")
            assert KEY.read_bytes() != before and everybody_logs_in(sealed)
            number += 1
            if not was_killed:
                break
        assert number > 2 or copy_number


# MARK: Attacks


def as_account(command):
    """As `_passcode`, whom an intruder took over."""
    return subprocess.run(
        ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", "sh", "-c", command],
        capture_output=True,
    )  # fmt: skip


def test_the_helper_s_account_reads_the_loaded_key_and_changes_nothing(sealed):
    killed(sealed, "fdatasync", 1, "rotate")
    before = {path: path.read_bytes() for path in [*KEY.parent.iterdir(), *LOADED.parent.iterdir()]}
    assert as_account(f"cat {LOADED}").returncode == 0
    for folder in (KEY.parent, LOADED.parent):
        for command in (
            f"touch {folder}/key.new", f"ln -s /etc/passwd {folder}/x", f"ln {LOADED} {folder}/x", f"mv {folder} /run/x",
            f"mv {folder}/key {folder}/x", f"rm -f {folder}/key {folder}/key.new {folder}/key.cred", f"rmdir {folder}",
            f"chmod 777 {folder}", f"cat {folder}/key.cred", f"cat {folder}/key.lock", f"echo > {folder}/key",
        ):  # fmt: skip
            assert as_account(command).returncode != 0, command
    assert {path: path.read_bytes() for path in [*KEY.parent.iterdir(), *LOADED.parent.iterdir()]} == before
    key(sealed, "rotate")
    assert everybody_logs_in(sealed)


@contextlib.contextmanager
def locked_by(account, *paths):
    """All that this account can open, locked."""
    script = "".join(f"exec {number}<{path} && flock -x -n {number} && echo {path};" for number, path in enumerate(paths, 3))
    child = subprocess.Popen(
        ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", "bash", "-c",
         "".join(f"{{ {part}; }} 2>/dev/null;" for part in script.split(";") if part) + "echo end; read -r _"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    held = []
    while (line := child.stdout.readline().strip()) != "end":
        held.append(line)
    try:
        yield held
    finally:
        child.communicate("\n")


@pytest.mark.parametrize("account", ["alice", ACCOUNT])
def test_nobody_but_root_can_hold_up_a_rotation(sealed, account):
    """Nor loading, sealing and unsealing: whatever such an account can open, it locks."""
    paths = [KEY.parent, KEY, SEALED, KEY.with_name("key.lock"), LOADED.parent, LOADED, LOADED_NEXT]
    with locked_by(account, *paths) as held:
        assert str(KEY.parent) in held and str(KEY.with_name("key.lock")) not in held
        key(sealed, "load")
        key(sealed, "rotate")
        key(sealed, "unseal")
        key(sealed, "rotate")
        key(sealed, "seal")
    assert everybody_logs_in(sealed) and status(sealed) == ""


PLANTED = {
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "queue": os.mkfifo,
    "directory": lambda path: path.mkdir(),
    "of a user": lambda path: (path.write_bytes(bytes(8192)), os.chown(path, uid("alice"), 0)),
    "for all": lambda path: (path.write_bytes(bytes(8192)), path.chmod(0o666)),
    "later version": lambda path: path.write_bytes(b"passcode_record=9\n".ljust(8192, b"\0")),
    "damaged": lambda path: path.write_bytes(os.urandom(8192)),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_no_file_in_the_store_keeps_the_key_from_being_recovered(sealed, tpm, kind):
    """The store is the helper's account's, which may have been taken over. A rotation keeps the old key and says why."""
    path = STORE / "299999"
    PLANTED[kind](path)
    if not path.is_symlink() and kind != "of a user":
        shutil.chown(path, ACCOUNT, "root")
    tpm.clear()
    boot(sealed, check=UNUSABLE)
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert everybody_logs_in(sealed)
    answer = key(sealed, "rotate", check=UNUSABLE)
    assert str(path) in answer.errors and "still needs the old key" in answer.errors
    assert everybody_logs_in(sealed)
    status(sealed)
    sh("rm", "-rf", path)
    key(sealed, "rotate")
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_logins_go_on_while_keys_are_loaded_and_replaced(sealed):
    """The unit is run again and again beside it: one of them waits for nobody, and says so."""
    stop, outcomes = threading.Event(), []

    def people():
        while not stop.is_set():
            outcomes.append(sealed.authenticate("alice", RIGHT).result)
            outcomes.append(sealed.authenticate("bob", RIGHT, prepare=become("bob")).result)

    def load():
        while not stop.is_set():
            key(sealed, "load", check=None)

    threads = [threading.Thread(target=target) for target in (people, load)]
    for thread in threads:
        thread.start()
    try:
        done = 0
        while done < 5:
            done += key(sealed, "rotate", check=None).status == DONE
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(outcomes) >= 5 and set(outcomes) == {"SUCCESS"}
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


@pytest.mark.parametrize("is_sealed", [False, True], ids=["none is sealed", "it is sealed, too"])
def test_nor_does_it_lose_one_that_is_only_loaded(sealed, is_sealed):
    """A backup from before the last rotation brought an old key back, and the sealed one is gone, or as old."""
    needed, old = LOADED.read_bytes(), os.urandom(32)
    if is_sealed:
        seal_another_key(sealed, old)
        LOADED.chmod(0o640)
        LOADED.write_bytes(needed)
        LOADED.chmod(0o440)
    else:
        SEALED.unlink()
    put_back(old)
    assert logs_in(sealed)
    assert key_of(recovery_copy(key(sealed, "seal").output)) == needed and not KEY.exists()
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


@pytest.mark.parametrize("call", ["openat", "renameat", "unlinkat", "fsync"])
def test_killed_while_it_decides_nobody_is_lost(sealed, call):
    needed, old = LOADED.read_bytes(), os.urandom(32)
    kills = 0
    for number in range(1, 60, 6) if call == "openat" else range(1, 9):
        put_back(old)
        # Loaded is what the next boot would load.
        kills += killed(sealed, call, number, "seal")[1]
        key(sealed, "seal", check=None)
        assert not KEY.exists() and everybody_logs_in(sealed) and LOADED.read_bytes() == needed
        boot(sealed)
        assert everybody_logs_in(sealed)
    assert kills


def test_sealing_keeps_the_key_that_the_passcodes_need(sealed, tpm):
    """Beside a plain one that came back; and where that one is right, and the sealed one isn't."""
    needed = LOADED.read_bytes()
    put_back(old := os.urandom(32))
    said = key(sealed, "status", check=UNUSABLE).errors
    assert "2 enrolled passcodes need another key" in said and "To seal whichever your passcodes use, run: passcode key seal" in said
    tpm.stop()
    before = SEALED.read_bytes()
    assert "nothing was changed" in key(sealed, "seal", check=UNUSABLE).errors and SEALED.read_bytes() == before
    assert KEY.read_bytes() == old and LOADED.read_bytes() == needed
    tpm.start()
    assert key_of(recovery_copy(key(sealed, "seal").output)) == needed and not KEY.exists()
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""
    # The other way round: what is sealed opens nothing.
    wrong = seal_another_key(sealed)
    put_back(needed)
    assert everybody_logs_in(sealed) and SEALED.read_bytes() == wrong
    assert key_of(recovery_copy(key(sealed, "seal").output)) == needed
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""
    # Each opens somebody's: whichever would go is needed.
    put_back(old)
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    assert "2 enrolled passcodes need another key" in key(sealed, "seal", check=UNUSABLE).errors
    assert KEY.read_bytes() == old and LOADED.read_bytes() == needed
    # The same one twice, as an interrupted command leaves it, is finished, whatever carol's needs.
    put_back(needed)
    key(sealed, "seal")
    assert not KEY.exists() and everybody_logs_in(sealed)


def seal_another_key(bed, content=None):
    """In place of the right one, and loads it: as after a boot with an old sealed key that somebody restored."""
    SEALED.write_bytes(another_sealed_key(content or os.urandom(32)))
    sealing.boot()
    boot(bed)
    assert not logs_in(bed)
    return SEALED.read_bytes()


def test_a_wrong_key_that_is_loaded_keeps_nothing_from_being_put_right(sealed, tpm):
    right = SEALED.read_bytes()
    wrong = seal_another_key(sealed)
    SEALED.write_bytes(right)
    assert "does not hold the key in use: seal the one that the passcodes use" in key(sealed, "status", check=UNUSABLE).errors
    assert "need another key" in key(sealed, "unseal", check=UNUSABLE).errors
    assert SEALED.read_bytes() == right and not KEY.exists()
    tpm.stop()
    assert "the TPM did not unseal it" in key(sealed, "seal", check=UNUSABLE).errors and SEALED.read_bytes() == right
    tpm.start()
    assert key_of(recovery_copy(key(sealed, "seal").output)) == key_of(sealed.copy)
    assert everybody_logs_in(sealed)
    SEALED.write_bytes(wrong)
    boot(sealed)
    assert not logs_in(sealed)
    assert "sealed again" in recover(sealed, sealed.copy).output
    assert everybody_logs_in(sealed)
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_no_recovery_copy_takes_the_place_of_a_key_that_opens_something(sealed):
    """Of alice, bob and carol, hers is under an old key, of which there is a copy, too."""
    other = key_of(sealed.copy)
    key(sealed, "rotate")
    needed = LOADED.read_bytes()
    put_back(other)
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    KEY.unlink()
    assert "another key is there, loaded or sealed" in recover(sealed, sealed.copy, check=UNUSABLE).errors
    assert LOADED.read_bytes() == needed and everybody_logs_in(sealed)
    # Nor where that one is sealed, and a useless one is loaded.
    right = SEALED.read_bytes()
    seal_another_key(sealed)
    SEALED.write_bytes(right)
    assert "another key is there, loaded or sealed" in recover(sealed, sealed.copy, check=UNUSABLE).errors and SEALED.read_bytes() == right
    # Nor where none is loaded, as after a boot at which the TPM didn't answer.
    sealing.boot()
    assert "another key is there, loaded or sealed" in recover(sealed, sealed.copy, check=UNUSABLE).errors
    assert SEALED.read_bytes() == right
    key(sealed, "load")
    assert everybody_logs_in(sealed)


def test_an_old_sealed_key_isn_t_loaded_in_place_of_one_that_is_needed(sealed):
    """It was restored, and somebody starts the unit again."""
    needed = LOADED.read_bytes()
    SEALED.write_bytes(another_sealed_key(os.urandom(32)))
    assert "another key is there, loaded or sealed" in key(sealed, "load", check=UNUSABLE).errors
    assert LOADED.read_bytes() == needed and everybody_logs_in(sealed)
    assert "does not hold the key in use: seal the one that the passcodes use" in status(sealed)
    assert key_of(recovery_copy(key(sealed, "seal").output)) == needed
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_a_rotation_with_one_of_its_keys_twice_keeps_the_other(sealed, tpm):
    """The new key was recovered as the one in use, and is sealed as the next one, too: the old one is needed."""
    old = sealed.copy
    new = recovery_copy(killed(sealed, "fdatasync", 2, "rotate")[0])
    sealed_old = SEALED.read_bytes()
    tpm.stop()
    sealing.boot()
    recover(sealed, new)
    tpm.start()
    assert "another key" in key(sealed, "rotate", check=UNUSABLE).errors and SEALED.read_bytes() == sealed_old
    assert "To finish its rotation" in recover(sealed, old).output
    key(sealed, "rotate")
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


def test_sealing_again_beside_a_record_that_nothing_opens_says_how(sealed, tpm):
    """The TPM was cleared: what is sealed could be what that record needs. The recovery copy settles it."""
    needed = LOADED.read_bytes()
    put_back(os.urandom(32))
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    KEY.unlink()
    tpm.clear()
    assert "use your recovery copy: passcode key recover" in key(sealed, "seal", check=UNUSABLE).errors
    assert "sealed again" in recover(sealed, sealed.copy).output
    boot(sealed)
    assert everybody_logs_in(sealed) and LOADED.read_bytes() == needed


def test_what_is_enrolled_after_a_recovery_amid_a_rotation_opens_after_the_boot(sealed):
    """The next key is loaded, the current one is damaged and comes back from its copy."""
    killed(sealed, "fdatasync", 1, "rotate")
    SEALED.write_bytes(b"damaged")
    boot(sealed, check=UNUSABLE)
    assert "To finish its rotation" in recover(sealed, sealed.copy).output
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol")
    key(sealed, "rotate")
    boot(sealed)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol") and status(sealed) == ""


# MARK: A full disk


def test_a_full_disk_changes_nothing(own, tpm):
    """Where the keys are: no file can be made there."""
    kept = KEY.read_bytes()
    sh("mount", "-t", "tmpfs", "-o", "mode=0755,size=16k,nr_inodes=4", "tmpfs", KEY.parent)
    try:
        KEY.write_bytes(kept)
        KEY.chmod(0o440)
        shutil.chown(KEY, "root", ACCOUNT)
        (KEY.parent / "key.lock").touch(0o600)
        with contextlib.suppress(OSError), (KEY.parent / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        for action in ("rotate", "seal"):
            assert "No space left on device" in key(own, action, check=UNUSABLE).errors
            assert everybody_logs_in(own) and status(own) == "" and KEY.read_bytes() == kept
        (KEY.parent / "filler").unlink()
        for action in ("rotate", "seal", "rotate"):
            key(own, action)
            assert everybody_logs_in(own)
    finally:
        sh("umount", "--lazy", KEY.parent)


def test_wrong_passcodes_are_wrong_under_each_key(sealed):
    """What the stand-in must not change: an attempt is what it is with a plain key."""
    assert sealed.authenticate("alice", WRONG[0], **ALICE).result == "AUTH_ERR" and sealed.failures("alice") == 1
    key(sealed, "rotate")
    assert sealed.authenticate("alice", WRONG[1]).result == "AUTH_ERR" and sealed.failures("alice") == 2
    assert all(len(found) == 2 for found in openers(sealed, {"now": LOADED.read_bytes()}).values())
    assert all(each == {"now"} for found in openers(sealed, {"now": LOADED.read_bytes()}).values() for each in found)
    assert CONFIGURATION.exists()
