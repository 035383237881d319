"""What somebody else could have put there is not trusted; what can't be read is not guessed."""

import os
import pathlib
import shutil
import socket

import pytest

from bed import become, uid
from machine import ACCOUNT
from scenario import RIGHT, refused_unasked
from tool import UNUSABLE, one_line


def is_refused(bed, part, path, person=None, words=""):
    """No passcode is asked for, and log and tool name what is wrong; `person`: who runs them, if not root."""
    result = "SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL"
    outcome = bed.authenticate("alice", RIGHT, prepare=person and become(person))
    assert refused_unasked(outcome, result)
    assert any(f"{path}: {words}" in line.message for line in bed.module_log())
    answer = bed.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", user=person, check=UNUSABLE)
    assert one_line(answer.errors) and f"{path}: {words}" in answer.errors
    assert RIGHT not in answer.errors.replace(str(bed.folder), "")


# MARK: What can be done to it


def group_writable(path):
    os.chown(path, -1, uid("bob"))
    path.chmod(path.stat().st_mode & 0o7777 | 0o020)


def world_writable(path):
    path.chmod(path.stat().st_mode & 0o7777 | 0o002)


def given_away(path):
    os.chown(path, uid("bob"), -1)


def linked(path):
    real = path.with_name("real")
    path.rename(real)
    path.symlink_to(real)


def linked_into_nothing(path):
    linked(path)
    path.with_name("real").rename(path.with_name("elsewhere"))


def replaced_by_a_file(path):
    path.rename(path.with_name("elsewhere"))
    path.write_bytes(b"")


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir(mode=0o700)


def replaced_by_a_fifo(path):
    """Whoever opens it to read waits for somebody who writes."""
    path.unlink()
    os.mkfifo(path, 0o600)


def replaced_by_a_socket(path):
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    path.chmod(0o600)


def linked_twice(path):
    os.link(path, path.with_name("second"))


ANYTHING = [group_writable, world_writable, given_away, linked, linked_into_nothing]
A_FILE = [*ANYTHING, replaced_by_a_folder, replaced_by_a_fifo, replaced_by_a_socket]
A_FOLDER = [*ANYTHING, replaced_by_a_file]
# What is told of a file.
WORDS = {
    group_writable: "must be writable by its owner only", world_writable: "must be writable by its owner only",
    given_away: "must be owned by ", linked: "must not be a symbolic link",
    linked_into_nothing: "must not be a symbolic link", replaced_by_a_folder: "must be a regular file",
    replaced_by_a_fifo: "must be a regular file", replaced_by_a_socket: "No such device", linked_twice: "must be a regular file",
}  # fmt: skip
NO_FOLDER = dict.fromkeys([linked, linked_into_nothing, replaced_by_a_file], "must be a directory, not a link or a file")
OTHERS = {"store": NO_FOLDER, "record": {replaced_by_a_folder: "Is a directory"}}
CASES = [
    (part, harm)
    for part, harms in {
        "configuration": A_FILE,
        "key": A_FILE,
        "store": A_FOLDER,
        "record": [*A_FILE, linked_twice],
    }.items()
    for harm in harms
]


@pytest.mark.parametrize(
    "part, harm", CASES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_what_is_not_as_it_was_made_is_not_used(alice, part, harm):
    path = alice.record_file("alice") if part == "record" else getattr(alice, part)
    harm(path)
    is_refused(alice, part, path, words=(WORDS | OTHERS.get(part, {}))[harm])


@pytest.mark.parametrize("part", ["configuration", "key"])
def test_the_service_account_is_trusted_with_the_store_alone(machine, part):
    """Whoever takes it over chooses neither the rules nor the key."""
    machine.enroll("alice", RIGHT)
    path = getattr(machine, part)
    shutil.chown(path, ACCOUNT)
    is_refused(machine, part, path)


@pytest.mark.parametrize("part", ["configuration", "key", "store"])
@pytest.mark.parametrize("harm", A_FOLDER, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("generation", ["parent", "grandparent"])
def test_neither_where_a_folder_above_is_not(alice, part, harm, generation):
    grandparent = alice.folder / "grandparent"
    parent = grandparent / "parent"
    parent.mkdir(parents=True)
    path = getattr(alice, part)
    path.rename(parent / path.name)
    setattr(alice, part, parent / path.name)
    if part == "configuration":
        alice.service()
    else:
        alice.configure(**{"key_file" if part == "key" else "store": parent / path.name})
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS", "before anything is wrong"
    culprit = {"parent": parent, "grandparent": grandparent}[generation]
    harm(culprit)
    is_refused(alice, part, culprit, words=(WORDS | NO_FOLDER)[harm])


@pytest.mark.parametrize("part", ["key", "store"])
def test_a_folder_is_not_trusted_for_its_name_s_likeness_to_the_configurations(alice, part):
    """`…/folder-of-conf` was found trustworthy when the configuration was read; that says nothing of `…/folder`."""
    folders = alice.folder / "folder", alice.folder / "folder-of-conf"
    for folder in folders:
        folder.mkdir()
    path = folders[0] / part
    getattr(alice, part).rename(path)
    alice.configuration = folders[1] / "passcode.conf"
    alice.configure(**{"key_file" if part == "key" else "store": path})
    alice.service()
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS", "before anything is wrong"
    world_writable(folders[0])
    is_refused(alice, part, folders[0])


# MARK: What can't be read


@pytest.fixture
def own(make_bed):
    """A bed of alice's own."""
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    return bed


def test_a_sticky_folder_is_trusted_if_it_is_roots(own):
    """As /tmp is. In one of their own anybody could make what isn't there yet."""
    own.folder.chmod(0o1777)
    is_refused(own, "configuration", own.folder, "alice", WORDS[world_writable])
    os.chown(own.folder, 0, 0)
    assert own.authenticate("alice", RIGHT, prepare=become("alice")).result == "SUCCESS"


@pytest.mark.parametrize("part", ["configuration", "key", "store", "record"])
def test_what_cannot_be_read_is_not_guessed(own, part):
    path = own.record_file("alice") if part == "record" else getattr(own, part)
    path.chmod(0)
    is_refused(own, part, path, "alice")


def test_a_part_of_a_configuration_is_none(alice):
    """It is cut while it is read. Here the kernel says that a file of its own is a page long, and gives a few bytes."""
    file = pathlib.Path("/sys/devices/system/cpu/online")
    assert len(file.read_bytes()) < file.stat().st_size
    alice.configuration = file
    alice.service()
    outcome = alice.authenticate("alice", RIGHT)
    assert refused_unasked(outcome, "SERVICE_ERR")
    assert f"{file}: Input/output error" in alice.module_log()[-1].message


@pytest.mark.parametrize("part", ["configuration", "key", "store", "record"])
def test_what_the_helper_cannot_read_is_not_guessed(machine, part):
    machine.enroll("alice", RIGHT)
    path = machine.record_file("alice") if part == "record" else getattr(machine, part)
    shutil.chown(path, "root", "root")
    path.chmod(0o700 if part == "store" else 0o600)
    outcome = machine.authenticate("alice", RIGHT, prepare=become("alice"))
    assert refused_unasked(outcome, "SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL")
    answer = machine.tool("verify", "--stdin", stdin=f"{RIGHT}\n", user="alice", check=UNUSABLE)
    assert one_line(answer.errors) and str(path) in answer.errors


# MARK: What is missing


@pytest.mark.parametrize("part", ["configuration", "key", "store"])
def test_what_is_missing_is_not_made(alice, part):
    path = getattr(alice, part)
    path.rename(path.with_name("elsewhere"))
    is_refused(alice, part, path)
    assert not path.exists()
