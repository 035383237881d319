"""What `--json` prints, by the installed schema."""

import json
import pathlib

import jsonschema

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "Sources/system/schema/passcode-1.json").read_text())


def names(kind, field="required"):
    """Of a part of the schema and of the one that it extends, in their order."""
    part = SCHEMA["$defs"][kind]
    return (names(part["$ref"].rpartition("/")[2], field) if "$ref" in part else []) + list(part.get(field, []))


def validated(kind, output):
    """The objects, each valid against the schema and this part of it, without a name that the part doesn't have."""
    part = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}
    rows = [json.loads(line) for line in output.splitlines()]
    for row in rows:
        jsonschema.Draft202012Validator(part).validate(row)
        jsonschema.Draft202012Validator(SCHEMA).validate(row)
        assert list(row) == names(kind)
    return rows
