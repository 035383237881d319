"""A long list: whose the records are today, found in one pass through the user database."""

import contextlib
import json
import pathlib
import subprocess

import pytest

import bench
import forge
from bed import uid
from tool import DONE, NOT_ENROLLED, UNUSABLE

# Of uids that nobody has; more than are worth a look-up each.
GONE = [(300_000 + number, f"gone{number}") for number in range(40)]
SWITCH = pathlib.Path("/etc/nsswitch.conf")  # in the tests' own namespace
DIRECTORY = r"""
#include <nss.h>
#include <pwd.h>
#include <string.h>
/* Knows one account, and doesn't enumerate. */
enum nss_status _nss_test_getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, int *error) {
  (void)error;
  if (uid != 300007 || size < 8) return NSS_STATUS_NOTFOUND;
  char *name = strcpy(buffer, "zoe"), *none = name + 3;
  *entry = (struct passwd){name, none, uid, uid, none, none, none};
  return NSS_STATUS_SUCCESS;
}
"""


@contextlib.contextmanager
def sources(line):
    """Where accounts come from: the passwd line of nsswitch.conf."""
    before = SWITCH.read_text()
    SWITCH.write_text(f"group: files\n{line}\n")
    try:
        yield
    finally:
        SWITCH.write_text(before)


def listed(bed, **setting):
    """{uid: name} of the list, and what was said about it."""
    answer = bed.tool("list", "--json", setting=setting, check=DONE)
    rows = map(json.loads, answer.output.splitlines())
    return {row["uid"]: row["user"] for row in rows}, answer.errors


@pytest.fixture
def many(alice):
    forge.enroll_numbers_like(alice, "alice", GONE)
    return alice


@pytest.mark.parametrize(
    "line", ["passwd: files", "passwd:\tfiles systemd", "passwd: files nosuchsource", ""]
)
def test_who_is_gone_keeps_the_name_of_the_record(many, line):
    with sources(line):
        assert listed(many) == ({uid("alice"): "alice", **dict(GONE)}, "")


def test_a_uid_that_was_given_away_is_not_listed(many):
    forge.enroll_numbers_like(many, "alice", [(uid("bob"), "robert"), (uid("carol"), "carol")])
    rows, errors = listed(many)
    assert rows == {uid("alice"): "alice", uid("carol"): "carol", **dict(GONE)}
    [line] = errors.splitlines()
    assert "bob: the record was made for another account name" in line


def test_of_two_names_with_one_uid_the_first_one_counts(many):
    with bench.accounts([(300_000, "gone0"), (300_000, "second"), (300_001, "first"), (300_001, "gone1")]):
        rows, _ = listed(many)
    assert rows == {uid("alice"): "alice", **dict(GONE[:1] + GONE[2:])}


def test_a_directory_that_does_not_enumerate_is_asked(many):
    source = many.folder / "directory.c"
    source.write_text(DIRECTORY)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", many.folder / "libnss_test.so.2", source],
        check=True,
    )
    with sources("passwd: files test"):
        rows, errors = listed(many, LD_LIBRARY_PATH=str(many.folder))
    assert rows == {uid("alice"): "alice", **dict(GONE[:7] + GONE[8:])}
    assert "zoe: the record was made for another account name" in errors


def test_a_damaged_record_of_somebody_gone_is_listed_without_a_name(many):
    (many.store / "300003").write_bytes(b"\0" * 8192)
    rows = [json.loads(line) for line in many.tool("list", "--json", check=DONE).output.splitlines()]
    [damaged] = [row for row in rows if row["state"] == "corrupt"]
    assert (damaged["uid"], damaged["user"], damaged["enrolled"]) == (300_003, "", True)


@pytest.mark.parametrize("name", ["300003", "1000000"])
def test_one_file_that_is_not_trusted_ends_no_list(many, name):
    path = many.store / name
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/null")
    answer = many.tool("list", "--json", check=DONE)
    rows = [json.loads(line) for line in answer.output.splitlines()]
    assert len(rows) == 41 + (name == "1000000")
    assert [row["uid"] for row in rows if row["state"] == "corrupt"] == [int(name)]
    assert f"{path}: must not be a symbolic link" in answer.errors


def test_root_removes_by_number_who_is_gone(many):
    """Or a lost key could never be replaced."""
    (many.store / "300003").write_bytes(b"\0" * 8192)
    many.key.unlink()
    for number in ("1", str(uid("bob")), "299999", "0300000", "4294967295"):
        many.tool("remove", number, check=NOT_ENROLLED)
    many.tool("remove", "300000", user="alice", check=UNUSABLE)
    assert len(listed(many)[0]) == 41
    for number, _ in GONE:
        assert many.tool("remove", str(number), check=DONE).output == f"Passcode removed for {number}.\n"
    many.tool("remove", "alice", check=DONE)
    many.tool("key", "init", check=DONE)
