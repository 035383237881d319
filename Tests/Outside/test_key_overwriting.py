"""What remains of a key that goes: nothing on a file system that overwrites in place; and who may be overtaken by that."""

import contextlib
import os
import subprocess
import time

import pytest

from compare.logins import loop_devices
from keys import openers
from machine import KEY, STORE, sh
from process import wait_for
from recovery import key_of, recovery_copy
from scenario import RIGHT
from sealed import LOADED_NEXT, SEALED, SEALED_NEXT, boot, everybody_logs_in, key, killed, logs_in, status
from sealing import LOADED
from tool import DONE, UNUSABLE, one_line

GONE = KEY.with_name("key.gone")


# MARK: What is left


def test_a_disk_that_fails_while_it_overwrites_ends_no_rotation(own):
    """The new key is in use by then. `status` names what is left, and the next command overwrites it."""
    for number in range(1, 100):
        command = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", f"inject=pwrite64:error=EIO:when={number}",
                   *own.tool_words(), "key", "rotate"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        assert everybody_logs_in(own)
        if done.returncode == 0 and GONE.exists():
            break
        key(own, "rotate")
    assert "key.gone" in status(own) and "was overwritten" not in done.stdout
    key(own, "rotate")
    assert everybody_logs_in(own) and status(own) == "" and not GONE.exists()


def test_an_unseal_that_was_killed_while_it_overwrote_is_finished_by_the_same_command(own, tpm):
    key(own, "seal")
    left = SEALED.with_name(f"{SEALED.name}.gone")
    for number in range(1, 100):
        assert killed(own, "pwrite64", number, "unseal")[1]
        if left.exists():
            break
        key(own, "seal")
    assert not SEALED.exists() and everybody_logs_in(own)
    key(own, "unseal")
    assert status(own) == "" and not left.exists()
    assert "not sealed" in key(own, "unseal", check=UNUSABLE).errors


def test_another_name_of_the_key_in_use_is_no_old_key(own):
    """A command that was killed before it had replaced anything left it: to destroy it would destroy the key."""
    os.link(KEY, GONE)
    assert status(own) == ""
    key(own, "rotate")
    assert everybody_logs_in(own) and not GONE.exists()


def test_where_a_left_file_can_t_be_overwritten_there_is_nothing_to_load_all_the_same(own):
    GONE.write_bytes(os.urandom(32))
    sh("mount", "--bind", KEY.parent, KEY.parent)
    try:
        sh("mount", "-o", "remount,bind,ro", KEY.parent)
        key(own, "load")
    finally:
        sh("umount", KEY.parent)
    key(own, "load")
    assert not GONE.exists() and everybody_logs_in(own)


# MARK: The raw disk


@contextlib.contextmanager
def disk(folder, kind):
    """Key and store on a file system of their own. Answers with its image."""
    image, place = folder / "disk", folder / "mounted"
    with image.open("wb") as file:
        file.truncate(128 << 20)
    sh(f"mkfs.{kind}", "-q", image)
    place.mkdir()
    with loop_devices():
        sh("mount", "-o", "loop", image, place)
        try:
            for name, path in (("key", KEY.parent), ("store", STORE)):
                sh("cp", "-a", path, place / name)
                sh("mount", "--bind", place / name, path)
            yield image
        finally:
            sh("umount", "--lazy", "--recursive", KEY.parent, STORE, place)


@pytest.fixture
def ext4(own, tpm, tmp_path):
    with disk(tmp_path, "ext4") as image:
        yield image


def places(image, secret):
    """How often these bytes are on the device, in use or not."""
    sh("sync", "-f", KEY.parent)
    return image.read_bytes().count(secret)


@pytest.mark.parametrize("kind", ["ext4", "btrfs"])
def test_on_ext4_nothing_is_left_of_what_was_replaced_and_on_btrfs_it_is_said(own, tpm, tmp_path, kind):
    with disk(tmp_path, kind) as image:
        search(own, image, in_place=kind == "ext4")


def search(own, image, *, in_place):
    """The control: a planted file that was only unlinked is found."""
    planted = os.urandom(32)
    (KEY.parent / "planted").write_bytes(planted)
    plain = KEY.read_bytes()
    assert places(image, planted) and places(image, plain)
    (KEY.parent / "planted").unlink()
    said = key(own, "seal").output
    assert places(image, planted), "the control: what is only unlinked is found"
    assert ("The old key's file was overwritten." in said) == in_place
    assert ("the old key may still be on the disk" in said) != in_place
    assert "run: passcode key rotate --must-change" in said
    assert bool(places(image, plain)) != in_place
    # (Sealed again, the same key is the same with the stand-in.)
    for action in ("rotate", "unseal"):
        before = SEALED.read_bytes().strip()
        assert places(image, before)
        key(own, action)
        if in_place:
            assert places(image, before) == 0, action
    first = KEY.read_bytes()
    key(own, "rotate")
    assert bool(places(image, first)) != in_place and everybody_logs_in(own)


def test_killed_at_each_step_the_next_command_overwrites_it(own, ext4):
    """Nobody is lost, and `status` names what is left until then."""
    seen = 0
    for call in ("linkat", "renameat", "unlinkat", "fsync", "pwrite64", "fchmod"):
        number, was_killed = 1, True
        while was_killed:
            plain = KEY.read_bytes()
            was_killed = killed(own, call, number, "seal")[1]
            assert everybody_logs_in(own)
            if GONE.exists():
                seen += 1
                assert f"warning: {GONE}: an old key, which an interrupted command did not overwrite" in status(own)
                key(own, "load")
            if not KEY.exists():
                assert not GONE.exists() and places(ext4, plain) == 0
                boot(own)
                assert everybody_logs_in(own)
                key(own, "unseal")
            number += 1
    assert seen >= 3


def test_and_of_a_plain_one_that_is_replaced(own, ext4):
    seen = 0
    for call in ("linkat", "renameat", "unlinkat", "fsync", "pwrite64"):
        number, was_killed = 1, True
        while was_killed:
            before = KEY.read_bytes()
            was_killed = killed(own, call, number, "rotate")[1]
            assert everybody_logs_in(own)
            if GONE.exists():
                seen += 1
                key(own, "load")
                assert not GONE.exists() and everybody_logs_in(own)
            if KEY.read_bytes() != before:
                assert places(ext4, before) == 0
            number += 1
    assert seen >= 3


# MARK: Overtaken


def stopped_at(bed, call, path, *words, stdin):
    """The command, stopped when it has opened that file and before it reads it."""
    run = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", f"trace={call}", "-e", f"inject={call}:delay_enter=4000000",
         *bed.tool_words(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    run.stdin.write(stdin)
    run.stdin.flush()
    return run


@pytest.mark.parametrize("action", ["seal", "rotate"])
def test_an_enrolment_that_had_the_file_open_is_not_sealed_under_zeros(own, tpm, action):
    """It reads the key after that was overwritten: what it read isn't taken."""
    run = stopped_at(own, "pread64", KEY, "enroll", "--stdin", "carol", stdin=f"{RIGHT}\n")
    own.typed.add(RIGHT)
    # Its first reading is before anything is made, the second one under the record's lock.
    wait_for(lambda: own.record_file("carol").exists())
    time.sleep(1)
    key(own, action)
    _, errors = run.communicate()
    assert run.returncode == DONE, errors
    current = LOADED.read_bytes() if action == "seal" else KEY.read_bytes()
    zeros = {"current": current, "zeros": bytes(32)}
    assert all(copy == {"current"} for copies in openers(own, zeros).values() for copy in copies)
    assert everybody_logs_in(own) and logs_in(own, "carol")


def test_a_look_that_had_the_file_open_reads_the_one_that_is_there_now(own):
    run = stopped_at(own, "pread64", KEY, "verify", "--stdin", "alice", stdin=f"{RIGHT}\n")
    own.typed.add(RIGHT)
    time.sleep(1)
    key(own, "rotate")
    _, errors = run.communicate()
    assert run.returncode == DONE, errors


def test_a_prompt_that_was_open_before_the_key_was_sealed_takes_the_passcode(own, tpm):
    """What it has open is zeros at Enter."""
    def seal_meanwhile(_):
        key(own, "seal")
        return RIGHT

    assert own.authenticate("alice", seal_meanwhile).result == "SUCCESS"


def test_a_key_of_zeros_is_none(own):
    """As a file may be after a power cut; and with nobody enrolled it would be taken for a key."""
    for user in ("alice", "bob"):
        own.tool("remove", user, check=DONE)
    kept = KEY.read_bytes()
    KEY.chmod(0o640)
    KEY.write_bytes(bytes(32))
    answer = own.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=UNUSABLE)
    assert f"{KEY}: wrong size, or damaged" in answer.errors
    KEY.write_bytes(kept)
    KEY.chmod(0o440)
    own.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
    assert logs_in(own)


# MARK: Papers


@pytest.mark.parametrize("action", ["seal", "rotate"])
def test_a_paper_is_printed_on_a_terminal_or_by_force(own, tpm, action):
    if action == "rotate":
        key(own, "seal")
    before = {path: path.read_bytes() for path in (KEY, SEALED, LOADED) if path.exists()}
    answer = own.tool("key", action, check=UNUSABLE)
    assert one_line(answer.errors) and "which is no terminal; nothing was changed" in answer.errors
    assert "    1  " not in answer.output and not LOADED_NEXT.exists() and not SEALED_NEXT.exists()
    assert {path: path.read_bytes() for path in (KEY, SEALED, LOADED) if path.exists()} == before
    command = " ".join(str(word) for word in [*own.tool_words(), "key", action])
    run = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True)
    assert run.returncode == DONE
    assert LOADED.read_bytes() == key_of(recovery_copy(run.stdout.replace("\r", "")))
    assert everybody_logs_in(own)


def test_a_plain_key_is_rotated_without_a_terminal(own):
    assert own.tool("key", "rotate", check=DONE).errors == ""


# MARK: Passcodes that somebody may know


def test_everybody_must_change_after_one_more_login(own, tpm):
    key(own, "seal")
    own.tool("enroll", "--stdin", "--expires", "1d", "carol", stdin=f"{RIGHT}\n", check=DONE)
    own.tool("disable", "bob", check=DONE)
    expires = own.status("carol")["expires_at"]
    said = key(own, "rotate", "--must-change").output
    assert "3 passcodes are under the new machine key" in said
    assert "Each passcode is good for one more login and must then be changed." in said
    own.tool("enable", "bob", check=DONE)
    for user in ("alice", "bob", "carol"):
        assert own.authenticate(user, RIGHT).result == "SUCCESS"
        assert own.status(user)["state"] == "must_change"
        assert own.authenticate(user, RIGHT).result != "SUCCESS"
    assert own.status("carol")["expires_at"] == expires
    # One that has opened its login opens no second one.
    key(own, "rotate", "--must-change")
    assert own.authenticate("alice", RIGHT).result != "SUCCESS"
    own.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n8305\n", user="alice", check=DONE)
    own.typed.add("8305")
    assert own.authenticate("alice", "8305").result == own.authenticate("alice", "8305").result == "SUCCESS"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_killed_amid_that_the_same_command_goes_on(own, number):
    killed(own, "fdatasync", number, "rotate", "--must-change")
    key(own, "rotate", "--must-change")
    for user in ("alice", "bob"):
        assert own.authenticate(user, RIGHT).result == "SUCCESS" and own.status(user)["state"] == "must_change"


@pytest.mark.parametrize("options", [{"second_factor": "yes"}, {"finger": "both", "self_enroll": "no"}], ids="-".join)
def test_it_is_refused_where_nobody_could_change_anything(own, options):
    own.configure(**options)
    before = KEY.read_bytes(), own.record("alice")
    answer = key(own, "rotate", "--must-change", check=UNUSABLE)
    assert one_line(answer.errors) and "nobody can change a passcode that must be changed; nothing was changed" in answer.errors
    assert (KEY.read_bytes(), own.record("alice")) == before
