"""Credentials of two versions: 2 is under a key that is derived from the machine key, 1 under that itself. Old ones open."""

import hashlib

import pytest

import forge
import host
from keys import copies
from machine import ALICE, KEY, RUN
from scenario import RIGHT, WRONG, replace_line, unavailable_uncharged
from tool import DONE, UNUSABLE


@pytest.fixture
def old(alice):
    """Alice's credential as version 0.1 and the first builds of 0.2 sealed it."""
    forge.reseal(alice, "alice", forge.credential(alice, "alice"), alice.key.read_bytes(), version=1)
    assert versions(alice) == [1, 1]
    return alice


def versions(bed, user="alice"):
    return [forge.version(sealed) for _, _, sealed in copies(bed.record_file(user))]


def test_what_is_enrolled_is_of_version_2_and_under_the_derived_key_alone(alice):
    assert versions(alice) == [2, 2]
    (uid, name, sealed), _ = copies(alice.record_file("alice"))
    key = alice.key.read_bytes()
    assert forge.opened(sealed, uid, name, key) is not None
    for wrong in (key, forge.derived(key, 2)):
        assert forge.opened(sealed[1:], uid, name, wrong) is None


@pytest.mark.parametrize("act, after", [("right", 1), ("wrong", 1), ("change", 2), ("new cost", 2), ("rotate", 2)])
def test_an_old_one_opens_and_whatever_seals_it_again_makes_it_new(old, act, after):
    if act in ("right", "wrong"):
        assert host.results(old, RIGHT if act == "right" else WRONG[1]) == ["SUCCESS" if act == "right" else "AUTH_ERR"]
    elif act == "change":
        old.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n8260\n", check=DONE)
        old.typed.add("8260")
    elif act == "new cost":
        old.configure(opslimit=2)
        assert host.results(old, RIGHT) == ["SUCCESS"]
    else:
        old.tool("key", "rotate", check=DONE)
    assert set(versions(old)) == {after}
    assert host.results(old, "8260" if act == "change" else RIGHT) == ["SUCCESS"]
    assert old.status("alice")["length"] == 4


def test_both_in_one_record_are_one_passcode(alice):
    """Whichever copy is damaged: a rotation may have been killed between them."""
    (uid, name, sealed), _ = copies(alice.record_file("alice"))
    plain, key = forge.credential(alice, "alice"), alice.key.read_bytes()
    forms = [forge.seal(plain, uid, name, key, version).hex().encode() for version in (1, 2)]
    alice.rewrite("alice", lambda body: replace_line(body, b"sealed", b"sealed=" + forms.pop() + b"\n"))
    assert sorted(versions(alice)) == [1, 2]
    whole = alice.record("alice")
    for copy in (0, 1):
        damaged = bytearray(whole)
        damaged[copy * len(whole) // 2 + 40] ^= 1
        alice.record_file("alice").write_bytes(damaged)
        assert host.results(alice, RIGHT) == ["SUCCESS"]


FORGED = {
    "cut to version 1": lambda sealed: sealed[1:],
    "later": lambda sealed: b"\x03" + sealed[1:],
    "none": lambda sealed: b"\x00" + sealed[1:],
    "1 in front": lambda sealed: b"\x01" + sealed[1:],
    "longer": lambda sealed: sealed + b"\x00",
    "short": lambda sealed: sealed[:1],
}


@pytest.mark.parametrize("how", FORGED)
def test_a_version_that_was_changed_opens_nothing_and_counts_nothing(alice, how):
    (_, _, sealed), _ = copies(alice.record_file("alice"))
    forged = FORGED[how](sealed).hex().encode()
    alice.rewrite("alice", lambda body: replace_line(body, b"sealed", b"sealed=" + forged + b"\n"))
    unavailable_uncharged(alice)
    assert "sealed under another machine key" in alice.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=UNUSABLE).errors


def test_an_old_one_is_not_taken_for_a_new_one(old):
    """A version in front of it makes nothing of it."""
    (_, _, sealed), _ = copies(old.record_file("alice"))
    forged = (b"\x02" + sealed).hex().encode()
    old.rewrite("alice", lambda body: replace_line(body, b"sealed", b"sealed=" + forged + b"\n"))
    unavailable_uncharged(old)


def test_the_last_wrong_passcode_is_kept_under_the_key_for_digests(own):
    """Not under the machine key, and not under the one for sealing."""
    assert own.authenticate("alice", WRONG[0], **ALICE).result == "AUTH_ERR"
    (uid, name, sealed), _ = copies(own.record_file("alice"))
    salt = forge.opened(sealed, uid, name, KEY.read_bytes())[forge.SALT]
    kept = (RUN / str(uid)).read_bytes()[8:]
    text = f"pam_passcode last wrong\n{uid}\n".encode() + salt + WRONG[0].encode()
    made = {
        which: hashlib.blake2b(text, digest_size=32, key=key).digest()
        for which, key in {"machine": KEY.read_bytes(), 1: forge.derived(KEY.read_bytes(), 1), 2: forge.derived(KEY.read_bytes(), 2)}.items()
    }
    assert [which for which, digest in made.items() if digest == kept] == [2]
