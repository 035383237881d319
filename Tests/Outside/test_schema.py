"""Every JSON object is what the installed schema says; and `list --state`, `--since`."""

import json
import pathlib

import jsonschema
import pytest

from scenario import RIGHT, fail
from tool import DONE, NOT_ENROLLED, SOME_FAILED, USAGE, one_line

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "Sources/system/schema/passcode-1.json").read_text())


def validated(kind, output):
    """The objects, each valid against the schema and this part of it, without a name that the part doesn't have."""
    part = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}
    rows = [json.loads(line) for line in output.splitlines()]
    for row in rows:
        jsonschema.Draft202012Validator(part).validate(row)
        jsonschema.Draft202012Validator(SCHEMA).validate(row)
        assert list(row) == SCHEMA["$defs"][kind]["required"]
    return rows


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for part in SCHEMA["$defs"].values():
        assert set(part.get("required", [])) == set(part.get("properties", {}))


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
