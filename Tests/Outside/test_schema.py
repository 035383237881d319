"""Every JSON object is what the installed schema says, and what the last released one said; `list --state`, `--since`."""

import copy
import json
import pathlib

import jsonschema
import pytest

from scenario import RIGHT, fail
from schema import SCHEMA, names, validated
from tool import DONE, NOT_ENROLLED, SOME_FAILED, USAGE, one_line

TREE = pathlib.Path(__file__).parents[2]
# A copy as of the last release, or of 0.2.0 before the first: Tests/release compares them.
RELEASED = json.loads((TREE / "Tests/Outside/released/passcode-1.json").read_text())


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for part in SCHEMA["anyOf"]:
        kind = part["$ref"].rpartition("/")[2]
        assert set(names(kind)) == set(names(kind, "properties"))


def broken(old, new, place=""):
    """Where the new schema lacks something of the old one, or says something else about it: names may be added, and
    nothing more. A description is what a name means, so it stays as it is, too."""
    if isinstance(old, dict) and isinstance(new, dict):
        added = new.keys() - old.keys() if place.rpartition("/")[2] not in ("properties", "$defs") else set()
        lost = [place for name in old.keys() - new.keys() | added]
        return lost + [found for name in old.keys() & new.keys() for found in broken(old[name], new[name], f"{place}/{name}")]
    if place.rpartition("/")[2] in ("required", "anyOf"):
        return [] if all(item in new for item in old) else [place]
    return [] if old == new else [place]


def test_nothing_of_the_released_schema_is_gone_or_means_something_else():
    assert RELEASED["$defs"]["version"] == {"const": 1}
    assert broken(RELEASED, SCHEMA) == []


LISTED, TIME = ("$defs", "listed", "properties"), ("$defs", "time")


@pytest.mark.parametrize(
    "path, value, is_broken",
    [
        ((*LISTED, "uid"), None, True),
        ((*LISTED, "length", "enum"), [4, 6], True),
        ((*LISTED, "state", "enum"), ["ok"], True),
        ((*LISTED, "must_change", "type"), "string", True),
        ((*LISTED, "uid", "description"), "the name of its group", True),
        ((*TIME, "description"), "in local time", True),
        ((*TIME, "pattern"), None, True),
        (("$defs", "status", "$ref"), "#/$defs/fleet", True),
        (("$defs", "summary"), None, True),
        (("$defs", "version", "const"), 2, True),
        (("$defs", "status", "required"), ["finger", "fingers"], True),
        (("anyOf",), SCHEMA["anyOf"][1:], True),
        ((*LISTED, "shell"), {"type": "string"}, False),
        (("$defs", "status", "required"), ["finger", "fingers", "finger_services", "shell"], False),
        (("$defs", "greeting"), {"type": "object"}, False),
    ],
)  # fmt: skip
def test_what_breaks_a_front_end_is_found(path, value, is_broken):
    changed = copy.deepcopy(RELEASED)
    place = changed
    for name in path[:-1]:
        place = place[name]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert bool(broken(RELEASED, changed)) == is_broken


def test_status_and_list(alice):
    alice.configure(lockout="1:1h,2:reset")
    for user in ("bob", "carol"):
        alice.enroll(user, RIGHT)
    for user in ("alice", "bob"):
        fail(alice, 1, user)
    alice.tool("disable", "carol", check=DONE)
    (alice.store / "300000").write_bytes(b"\0" * 8192)
    (alice.store / "300000").chmod(0o600)
    rows = validated("listed", alice.tool("list", "--json", check=DONE).output)
    assert {row["user"]: row["state"] for row in rows} == {
        "alice": "locked", "bob": "locked", "carol": "disabled", "": "corrupt",
    }  # fmt: skip
    for state, users in (
        ("locked", ["alice", "bob"]), ("disabled", ["carol"]), ("corrupt", [""]), ("ok", []), ("exhausted", []),
    ):  # fmt: skip
        rows = validated("listed", alice.tool("list", "--json", "--state", state, check=DONE).output)
        assert [row["user"] for row in rows] == users, state
    [row] = validated("status", alice.tool("status", "--json", "alice", check=DONE).output)
    assert row["last_failure_service"] and row["length"] == 4
    alice.tool("remove", "bob", check=DONE)
    validated("status", alice.tool("status", "--json", "bob", check=NOT_ENROLLED).output)
    alice.configure(lockout="1:reset")
    alice.key.unlink()
    rows = validated("listed", alice.tool("list", "--json", check=DONE).output)
    assert all(row["length"] is None for row in rows)


def test_since_names_those_to_whom_something_happened(alice):
    alice.enroll("bob", RIGHT)

    def age(body):
        lines = [b"enrolled_time=1000000" if line.startswith(b"enrolled_time=") else line for line in body.split(b"\n")]
        return b"\n".join(lines)

    alice.rewrite("bob", age)
    rows = validated("listed", alice.tool("list", "--json", "--since", "1h", check=DONE).output)
    assert [row["user"] for row in rows] == ["alice"]
    assert alice.tool("list", "--since", "365d", check=DONE).output.count("\n") == 2
    fail(alice, 1, "bob")
    rows = validated("listed", alice.tool("list", "--json", "--since", "1h", "--state", "ok", check=DONE).output)
    assert [row["user"] for row in rows] == ["alice", "bob"]


@pytest.mark.parametrize(
    "arguments", [["--state", "open"], ["--state", ""], ["--since", "yesterday"], ["--since", ""], ["--since", "366d"]]
)
def test_what_cannot_be_asked(alice, arguments):
    assert one_line(alice.tool("list", *arguments, check=USAGE).errors)


def test_check_weak(bed):
    rows = validated("judgement", bed.tool("check-weak", "--json", stdin='1234\n8305\nx"\n', check=DONE).output)
    assert [row["weak"] for row in rows] == [True, False, True]


def test_check(alice):
    alice.key.unlink()
    rows = validated("finding", alice.tool("check", "--json").output)
    assert {"ok", "error"} <= {row["level"] for row in rows}
    assert str(alice.key) in [row["path"] for row in rows]


def test_a_batch(keyed):
    keyed.configure(weak="refuse", lengths="4")
    keyed.typed |= {"8305", "1234", "260417"}
    text = "alice:8305\nalice:8305\nbob:1234\nbob\ncarol:260417\nnobody-here:8305\n"
    answer = keyed.tool("enroll", "--batch", "-", "--json", stdin=text, check=SOME_FAILED)
    *rows, summary = answer.output.splitlines(keepends=True)
    assert len(validated("line", "".join(rows))) == 6
    validated("summary", summary)
    for command in ("unlock", "disable", "enable", "remove"):
        answer = keyed.tool(command, "--batch", "-", "--json", stdin="alice\nbob\n", check=SOME_FAILED)
        *rows, summary = answer.output.splitlines(keepends=True)
        assert len(validated("line", "".join(rows))) == 2
        validated("summary", summary)
