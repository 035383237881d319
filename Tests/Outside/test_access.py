"""Who reaches the store and the runtime directory: the service account, and root by its capability; no group."""

import ctypes
import os
import shutil
import subprocess

import pytest

import machine as machines
from bed import become, person, uid
from machine import ACCOUNT, KEY, RUN, STORE
from scenario import NEW, PASSWORD, RIGHT, WRONG, refused_unasked
from tool import DONE, UNUSABLE, WRONG_CODE, one_line


@pytest.fixture
def own(machine):
    """alice has a passcode by root, and bob one by the helper; both have typed a wrong one."""
    machines.set_password("bob")
    machine.enroll("alice", RIGHT)
    machine.tool("enroll", "--stdin", stdin=f"{PASSWORD}\n{NEW}\n", user="bob", check=DONE)
    machine.authenticate("alice", WRONG[0])
    machine.authenticate("bob", WRONG[0], prepare=become("bob"))
    return machine


def everything():
    return [path for folder in (STORE, RUN) for path in [folder, *folder.rglob("*")]]


def test_all_of_it_is_the_service_account_s_alone(own):
    found = {path.relative_to(path.anchor): path.stat() for path in everything()}
    for name in (f"{STORE}/{uid('alice')}", f"{STORE}/{uid('bob')}", f"{STORE}/places",
                 f"{RUN}/{uid('alice')}", f"{RUN}/{uid('bob')}"):  # fmt: skip
        assert os.path.relpath(name, "/") in map(str, found), name
    for path, status in found.items():
        assert status.st_uid == uid(ACCOUNT) and status.st_mode & 0o7077 == 0, path


def test_root_s_group_reaches_nothing(own):
    """carol is in the group root."""
    carol = {**person("carol"), "extra_groups": [0]}
    for path in everything():
        for wish in ("-r", "-w", "-x"):
            assert subprocess.run(["/usr/bin/test", wish, path], **carol).returncode == 1, (path, wish)


# MARK: Root without the capability


class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def without_capabilities():
    """For `prepare`: root as a service may have it, with no capability at all."""
    header, none = Header(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.capset(ctypes.byref(header), none) == 0, os.strerror(ctypes.get_errno())


WITHOUT = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
SAID = f"{STORE}: root is denied access: the program lacks CAP_DAC_OVERRIDE"


def test_root_without_its_capability_is_told_so(own):
    before = own.record("alice")
    assert refused_unasked(own.authenticate("alice", RIGHT, prepare=without_capabilities), "AUTHINFO_UNAVAIL")
    assert any(SAID in line.message for line in own.module_log())
    for command in (["verify", "--stdin", "alice"], ["key", "status"], ["list"], ["enroll", "--stdin", "carol"]):
        answer = own.tool(*command, stdin=f"{RIGHT}\n", before=WITHOUT, check=UNUSABLE)
        assert one_line(answer.errors) and SAID in answer.errors
    assert own.record("alice") == before


def test_a_record_that_root_may_not_open_is_told_so(own):
    """Where only the capability to read is left."""
    answer = own.tool(
        "verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=UNUSABLE,
        before=["setpriv", "--inh-caps=-all", "--bounding-set=-all,+dac_read_search"])  # fmt: skip
    assert one_line(answer.errors) and f"{own.record_file('alice')}: root is denied access" in answer.errors


# MARK: Stores of older versions


def make_older(*paths):
    """Root's group may read and write there."""
    for path in paths:
        shutil.chown(path, group="root")
        path.chmod(0o2770 if path.is_dir() else 0o660)


def test_an_older_store_works_and_key_status_warns(own):
    make_older(*everything())
    for by in (None, become("alice")):
        assert own.authenticate("alice", RIGHT, prepare=by).result == "SUCCESS"
        assert own.authenticate("alice", WRONG[1], prepare=by).result == "AUTH_ERR"
    own.enroll("carol", RIGHT)
    assert own.record_file("carol").stat().st_mode & 0o777 == 0o600, "new records are made as now"
    answer = own.tool("key", "status", check=DONE)
    assert answer.output.startswith(f"{KEY}: OK.\n")
    assert answer.errors.splitlines() == [
        f"passcode: warning: {path}: the group root can write there; run: chmod -R go=,g-s {path}"
        for path in (STORE, RUN)
    ]
    for line in answer.errors.splitlines():
        machines.sh(*line.partition("run: ")[2].split())
    assert own.tool("key", "status", check=DONE).errors == ""
    test_all_of_it_is_the_service_account_s_alone(own)
    own.tool("verify", "--stdin", stdin=f"{WRONG[1]}\n", user="alice", check=WRONG_CODE)
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("what", ["directory", "record"])
def test_key_status_warns_of_each(own, what):
    path = STORE if what == "directory" else own.record_file("bob")
    make_older(path)
    assert f"chmod -R go=,g-s {STORE}\n" in own.tool("key", "status", check=DONE).errors
