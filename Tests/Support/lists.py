"""Lists of users for `passcode … --batch`, and what comes of them."""

import json
import subprocess

FIRST = 300_000


def people(count):
    """Pairs of a uid and a name, for `bench.accounts`."""
    return [(FIRST + number, f"person{number}") for number in range(count)]


def code(number):
    """Nobody's uid: those are in the log."""
    return str(900_000 + number * 7919 % 100_000)


def lines(others):
    return "".join(f"{name}:{code(uid - FIRST)}\n" for uid, name in others)


def start(bed, *arguments, typed=None, **how):
    """A run that isn't waited for; its streams are text. What is `typed` is all that it reads."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    run = subprocess.Popen([*bed.tool_words(), *arguments], text=True, cwd="/", **pipes)
    if typed is not None:
        run.stdin.write(typed)
        run.stdin.close()
        run.stdin = None  # for communicate()
    return run


def results(output):
    """The results as {line: (user, result)}, and the summary."""
    rows = [json.loads(line) for line in output.splitlines()]
    *rows, summary = rows
    assert len({row["line"] for row in rows}) == len(rows)
    return {row["line"]: (row["user"], row["result"]) for row in rows}, summary


def enrolled(bed):
    """{user: uid} of everybody with a passcode."""
    rows = map(json.loads, bed.tool("list", "--json", check=0).output.splitlines())
    return {row["user"]: row["uid"] for row in rows if row["state"] == "ok"}
