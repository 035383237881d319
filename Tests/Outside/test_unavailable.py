"""What can't be used is unavailable, and never counts: key, record, store."""

import re

import pytest

import host
import strace
from accounts import accounts_changed
from bed import become, uid
from scenario import RIGHT, WRONG, fail, overwrite, replace_line, unavailable_uncharged


@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
def test_a_missing_machine_key(alice, code):
    alice.key.unlink()
    unavailable_uncharged(alice, code=code)
    assert not alice.key.exists(), "an authentication never makes a key"
    assert any(str(alice.key) in line.message for line in alice.log())


@pytest.mark.parametrize("scarce", [False, True])
def test_where_memory_is_scarce_it_is_touched_before_the_charge(alice, scarce):
    """Better killed there than with a failure on the record. Elsewhere that would cost each login some milliseconds."""
    alice.configure(memlimit="8M")
    alice.enroll("alice", RIGHT)
    trace = alice.folder / "trace"
    how = {"before": strace.record(trace, "-e", "trace=mmap,pwrite64"), "env": {"SCARCE": "1"} if scarce else {}}
    assert host.results(alice, RIGHT, **how) == ["SUCCESS"]
    lines = [call.line for call in strace.calls(trace)]
    charge = next(place for place, line in enumerate(lines) if line.startswith("pwrite64"))
    reserved = [place for place, line in enumerate(lines[:charge]) if f"mmap(NULL, {(8 << 20) + (1 << 18)}," in line]
    assert len(reserved) == 1 and ("MAP_POPULATE" in lines[reserved[0]]) == scarce


@pytest.mark.parametrize("key", [b"\x55" * 32, b"", b"\x55" * 31, b"\x55" * 33], ids=len)
def test_another_machine_key(alice, key):
    overwrite(alice.key, key)
    unavailable_uncharged(alice)
    unavailable_uncharged(alice, code=WRONG[0])


def no_key(bed):
    bed.key.unlink()


def another_key(bed):
    overwrite(bed.key, b"\x55" * 32)


def altered_credential(bed):
    """The seal doesn't open."""
    other = lambda found: found[1] + (b"11" if found[2] == b"00" else b"00")  # noqa: E731
    bed.rewrite("alice", lambda body: re.sub(rb"(\nsealed=.{100})(..)", other, body))


def anothers_credential(bed):
    bed.enroll("bob", "8260")
    [sealed] = set(re.findall(rb"^sealed=.*\n", bed.record("bob"), re.MULTILINE))
    bed.rewrite("alice", lambda body: replace_line(body, b"sealed", sealed))


@pytest.mark.parametrize("happen", [no_key, another_key, altered_credential, anothers_credential])
@pytest.mark.parametrize("by", ["root", "alice"])
def test_whoever_cannot_be_verified_is_not_even_asked(machine, happen, by):
    """The look before the prompt opens the credential."""
    machine.enroll("alice", RIGHT)
    happen(machine)
    outcome = unavailable_uncharged(machine, prepare=become(by))
    assert outcome.prompts == []


# MARK: Moved credentials. The checksum is right: only the seal tells whose it is.


def uid_changed(bed):
    """alice has another uid today, and somebody moved her record there."""
    line = "alice:x:61234:61234::/nonexistent:/bin/sh\n"
    bed.record_file("alice").rename(bed.store / "61234")
    return "alice", lambda old: line, b"uid", b"uid=61234\n"


def name_changed(bed):
    """Somebody else has alice's uid today, and her record got their name."""
    return "mallory", lambda old: old.replace("alice", "mallory"), b"name", b"name=mallory\n"


@pytest.mark.parametrize("happen", [uid_changed, name_changed])
@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
def test_a_credential_moved_to_another_uid_or_another_name(alice, happen, code):
    """One at a time: both are in the associated data."""
    today, change, field, forged = happen(alice)
    lines = lambda all: [change(line) if line.startswith("alice:") else line for line in all]  # noqa: E731
    with accounts_changed(lines):
        alice.rewrite(today, lambda body: replace_line(body, field, forged))
        unavailable_uncharged(alice, today, code)
        assert alice.failures(today) == 0


def test_anothers_record_copied_over(alice):
    alice.enroll("bob", "8260")
    alice.record_file("bob").write_bytes(alice.record("alice"))
    unavailable_uncharged(alice, "bob")
    unavailable_uncharged(alice, "bob", "8260")


def test_anothers_credential_under_ones_own_name(alice):
    """A record forged to the last checksum: only the seal tells whose it is."""
    alice.enroll("bob", "8260")
    own = f"uid={uid('bob')}\n".encode()
    alice.rewrite(
        "bob",
        lambda body: replace_line(replace_line(body, b"uid", own), b"name", b"name=bob\n"),
        source="alice",
    )
    unavailable_uncharged(alice, "bob")


def test_a_forged_ledger_line_with_a_wrong_checksum(alice):
    whole = bytearray(alice.record("alice"))
    for slot in (0, 4096):
        whole[slot + 20] ^= 1
    alice.record_file("alice").write_bytes(whole)
    unavailable_uncharged(alice)


@pytest.mark.parametrize("length", [0, 1, 4096, 8191, 8193])
def test_a_record_of_another_length(alice, length):
    whole = alice.record("alice")
    alice.record_file("alice").write_bytes((whole + b"\0")[:length])
    unavailable_uncharged(alice)


def test_one_torn_slot_is_the_other_slot(alice):
    fail(alice, 1)
    for start in (0, 4096):
        whole = bytearray(alice.record("alice"))
        whole[start : start + 512] = b"\0" * 512
        alice.record_file("alice").write_bytes(whole)
        assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_the_store_is_not_there(alice):
    alice.store.rename(alice.folder / "elsewhere")
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result in ("AUTHINFO_UNAVAIL", "USER_UNKNOWN") and outcome.prompts == []
    assert not alice.store.exists(), "an authentication never makes a store"
