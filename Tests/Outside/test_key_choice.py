"""Which key goes and which stays, where a mistake would be seen only later: papers that weren't printed, damaged records,
second processes, and what a power cut may leave."""

import os
import re
import subprocess
import threading
import time

import pytest

from keys import records
from machine import KEY, STORE
from recovery import key_of, recovery_copy
from scenario import RIGHT
from sealed import (
    LOADED_NEXT, SEALED, SEALED_NEXT, another_sealed_key, boot, everybody_logs_in, key, killed, logs_in, put_back, recover,
    status,
)
from sealing import LOADED
from tool import DONE, UNUSABLE


@pytest.mark.parametrize("action", ["seal", "rotate"])
def test_a_key_whose_recovery_copy_cannot_be_printed_takes_nobody_s_place(own, tpm, action):
    if action == "rotate":
        key(own, "seal")
    before = {path: path.read_bytes() for path in (KEY, SEALED, LOADED) if path.exists()}
    with open("/dev/full", "w") as full:
        run = subprocess.run([*own.tool_words(), "key", action, "--force"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == UNUSABLE and "recovery copy can't be written" in run.stderr
    there = KEY if action == "seal" else LOADED
    assert there.read_bytes() == before[there] and not SEALED_NEXT.exists() and not LOADED_NEXT.exists()
    assert everybody_logs_in(own)
    boot(own)
    assert everybody_logs_in(own)


def nobody_readable(bed):
    """One record, which is damaged: nobody knows under which key it is."""
    bed.tool("remove", "bob", check=DONE)
    record = bed.record_file("alice")
    record.write_bytes(bytes(len(record.read_bytes())))
    assert len(records(bed)) == 2


def test_a_damaged_record_keeps_the_sealed_key_beside_a_plain_one(sealed):
    before = SEALED.read_bytes()
    nobody_readable(sealed)
    put_back(os.urandom(32))
    answer = key(sealed, "seal", check=UNUSABLE)
    assert "another key" in answer.errors and SEALED.read_bytes() == before and KEY.exists()


@pytest.mark.parametrize("is_loaded", [True, False], ids=["loaded", "not loaded"])
def test_and_from_a_paper_of_another_key(sealed, is_loaded):
    old = sealed.copy
    key(sealed, "rotate")
    before = SEALED.read_bytes()
    nobody_readable(sealed)
    if not is_loaded:
        LOADED.unlink()
    assert "another key is there" in recover(sealed, old, check=UNUSABLE).errors and SEALED.read_bytes() == before


def test_no_key_is_made_beside_a_sealed_one(sealed):
    """Even while nobody is enrolled: its paper is in the safe."""
    for user in ("alice", "bob"):
        sealed.tool("remove", user, check=DONE)
    assert f"{SEALED}: already exists" in key(sealed, "init", check=UNUSABLE).errors and not KEY.exists()


def test_no_rotation_begins_with_two_keys(sealed):
    put_back(LOADED.read_bytes())
    before = SEALED.read_bytes(), KEY.read_bytes(), LOADED.read_bytes()
    assert "a plain key exists as well as the sealed one" in key(sealed, "rotate", check=UNUSABLE).errors
    assert (SEALED.read_bytes(), KEY.read_bytes(), LOADED.read_bytes()) == before
    assert not SEALED_NEXT.exists() and not KEY.with_name("key.new").exists()


def test_who_is_enrolled_under_the_key_that_goes_is_kept(sealed):
    """Another process enrols carol under a plain key that came back, after the records were counted."""
    needed = LOADED.read_bytes()
    put_back(os.urandom(32))
    run = []
    command = ["strace", "-qq", "-f", "-o", "/dev/null", "-e", "trace=unlinkat", "-e", "inject=unlinkat:delay_enter=1500000"]
    thread = threading.Thread(
        target=lambda: run.append(subprocess.run([*command, *sealed.tool_words(), "key", "seal", "--force"], capture_output=True))
    )
    before = SEALED.stat().st_ino
    thread.start()
    while SEALED.stat().st_ino == before:
        time.sleep(0.01)
    sealed.tool("enroll", "--stdin", "carol", stdin=f"{RIGHT}\n", check=DONE)
    assert KEY.exists(), "it was too late"
    thread.join()
    assert run[0].returncode == DONE and not KEY.exists() and LOADED.read_bytes() == needed
    boot(sealed)
    assert everybody_logs_in(sealed) and logs_in(sealed, "carol") and status(sealed) == ""


def test_a_next_key_that_is_only_loaded_is_used_and_not_forgotten(sealed):
    """Alice's passcode is under it, and its sealed file is gone."""
    killed(sealed, "fdatasync", 2, "rotate")
    new = LOADED_NEXT.read_bytes()
    SEALED_NEXT.unlink()
    assert key_of(recovery_copy(key(sealed, "rotate").output)) == new
    boot(sealed)
    assert everybody_logs_in(sealed) and LOADED.read_bytes() == new and status(sealed) == ""


def test_a_rotation_that_was_killed_at_its_end_says_how_it_is_finished(sealed):
    """Everything is under the next key then. What is sealed as the next one goes last: until then status finds both."""
    advised = {}
    for number in range(1, 9):
        if not killed(sealed, "renameat", number, "rotate")[1]:
            break
        advised[number] = []
        while said := key(sealed, "status", check=None).errors:
            advised[number].append(re.search(r"run: passcode key (\w+)\n$", said)[1])
            key(sealed, advised[number][-1])
        assert everybody_logs_in(sealed)
        boot(sealed)
        assert everybody_logs_in(sealed) and not SEALED_NEXT.exists() and not LOADED_NEXT.exists()
    assert advised == {1: [], 2: ["rotate"], 3: ["load", "rotate"]}


@pytest.mark.parametrize("action", ["seal", "rotate"])
def test_what_is_sealed_is_on_the_device_before_it_has_its_name_and_its_name_before_anything_goes(sealed, tmp_path, action):
    if action == "seal":
        put_back(LOADED.read_bytes())
    trace = tmp_path / "trace"
    key(sealed, action, before=["strace", "-y", "-o", trace, "-e", "trace=fsync,renameat,unlinkat,pwrite64"])
    calls = trace.read_text().splitlines()

    def places(pattern):
        return [place for place, call in enumerate(calls) if re.search(pattern, call)]

    written = places(r"pwrite64\(\d+<[^>]*key\.cred[^>]*\.part>")
    synced = places(r"fsync\(\d+<[^>]*key\.cred[^>]*\.part>")
    named = places(rf'renameat\(\d+<{KEY.parent}>, "key\.cred[^"]*", \d+<[^>]*>, "key\.cred')
    folder = places(rf"fsync\(\d+<{KEY.parent}>\)")
    assert written and len(synced) == len(written)
    assert all(write < sync < name for write, sync, name in zip(written, synced, named, strict=False))
    # Each new name is on the device before the next step.
    assert named and all(name + 1 in folder for name in named), calls


def test_a_sealed_key_of_another_machine_takes_no_loaded_one_s_place(sealed):
    right = SEALED.read_bytes()
    SEALED.write_bytes(another_sealed_key(os.urandom(32)))
    key(sealed, "load", check=UNUSABLE)
    assert LOADED.read_bytes() == key_of(sealed.copy) and len(list(STORE.glob("[0-9]*"))) == 2
    SEALED.write_bytes(right)
    assert status(sealed) == ""
