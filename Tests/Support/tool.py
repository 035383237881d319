"""What scripts learn from the tool: its exit statuses, and what it prints."""

import json

DONE, WRONG_CODE, USAGE, NOT_ENROLLED, LOCKED, POLICY, NOT_PERMITTED, UNUSABLE, CANCELLED, SOME_FAILED = range(10)

# What `status` has besides, in a store of one's own: `list` asks no reader.
NO_FINGER = {"finger": None, "fingers": [], "finger_services": []}


def one_line(text):
    return text.endswith("\n") and text.count("\n") == 1 and len(text) > 10


def alone(bed, command, *lines, check=None, user="alice", arguments=()):
    """The tool as that person, who types these lines."""
    bed.typed |= set(lines)
    text = "".join(line + "\n" for line in lines)
    return bed.tool(command, "--stdin", *arguments, stdin=text, user=user, check=check)


def listed(bed):
    """Whom `passcode list` names."""
    return [json.loads(line)["user"] for line in bed.tool("list", "--json", check=DONE).output.splitlines()]
