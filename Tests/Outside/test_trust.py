"""What somebody else could have put there is not trusted."""

import os

import pytest

from bed import uid
from scenario import RIGHT, refused_unasked


@pytest.mark.parametrize("part", ["key", "store", "folder"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_can_write_is_not_trusted(alice, part, mode):
    path = getattr(alice, part)
    if part == "store":
        os.chown(path, 0, uid("bob"))
    path.chmod(path.stat().st_mode & 0o7777 | mode)
    outcome = alice.authenticate("alice", RIGHT)
    assert (
        outcome.result == ("SERVICE_ERR" if part == "folder" else "AUTHINFO_UNAVAIL")
        and outcome.prompts == []
    )


@pytest.mark.parametrize("part", ["key", "store", "configuration"])
def test_anothers_file_is_not_trusted(alice, part):
    os.chown(getattr(alice, part), uid("bob"), -1)
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result == ("SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL")
    assert outcome.prompts == []


@pytest.mark.parametrize("part", ["key", "store", "configuration"])
def test_a_symbolic_link_is_not_followed(alice, part):
    path = getattr(alice, part)
    real = path.with_name("real")
    path.rename(real)
    path.symlink_to(real)
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result == ("SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL")
    assert outcome.prompts == []


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_write_refuses(alice, mode):
    alice.configuration.chmod(mode)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
