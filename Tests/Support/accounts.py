"""Accounts that change while their passcodes stay."""

import contextlib
import pathlib
import re

from bed import uid


@contextlib.contextmanager
def accounts_changed(change):
    """Rewrites the lines of /etc/passwd, in the tests' own namespace (usermod asks who runs elsewhere)."""
    file = pathlib.Path("/etc/passwd")
    before = file.read_text(errors="surrogateescape")
    file.write_text("".join(change(before.splitlines(keepends=True))), errors="surrogateescape")
    try:
        yield
    finally:
        file.write_text(before, errors="surrogateescape")


@contextlib.contextmanager
def renamed():
    """alice is called alicia today."""
    with accounts_changed(lambda lines: [re.sub("^alice:", "alicia:", line) for line in lines]):
        yield "alicia"


@contextlib.contextmanager
def replaced():
    """alice is gone, and somebody else has her uid."""
    line = f"mallory:x:{uid('alice')}:100::/nonexistent:/bin/sh\n"
    with accounts_changed(lambda lines: [old for old in lines if not old.startswith("alice:")] + [line]):
        yield "mallory"
