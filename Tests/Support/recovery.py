"""The recovery copy of a machine key."""

import re


def printed(*action):
    """With what prints the recovery copy into a pipe, too."""
    return [*action, "--force"] if action[0] in ("seal", "rotate") else action


def recovery_copy(output):
    """The lines that `key seal` printed."""
    lines = re.findall(r"^    (\d  (?:[0-9a-f]{4} ){4} [0-9a-f])$", output, re.MULTILINE)
    assert [line[0] for line in lines] == list("1234")
    return "".join(f"{line}\n" for line in lines)


def key_of(copy):
    """The 32 bytes of a recovery copy."""
    return bytes.fromhex("".join(re.sub(r"^\d|\S$|\s", "", line) for line in copy.splitlines()))
