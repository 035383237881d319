"""The tool in scripts: exit statuses, what it says and what it writes."""

import contextlib
import json
import pwd
import re
import stat
import subprocess

import pytest

from bed import TOOL, uid
from tool import (
    CANCELLED,
    DONE,
    LOCKED,
    NOT_ENROLLED,
    NOT_PERMITTED,
    POLICY,
    UNUSABLE,
    USAGE,
    WRONG_CODE,
    one_line,
)

# MARK: The configuration


def test_conf_before_or_after_the_command(alice):
    for arguments in (
        ["--conf", alice.configuration, "status", "alice"],
        ["status", "alice", "--conf", alice.configuration],
    ):
        assert subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True).returncode == DONE


# MARK: Machine key


def test_key_init_makes_a_key_once(bed):
    assert bed.tool("key", "status").status == UNUSABLE
    bed.tool("key", "init", check=DONE)
    key = bed.key.read_bytes()
    assert len(key) == 32 and stat.S_IMODE(bed.key.stat().st_mode) & 0o337 == 0
    bed.tool("key", "status", check=DONE)
    bed.tool("key", "init")
    assert bed.key.read_bytes() == key


def test_two_keys_differ(make_bed):
    beds = make_bed(), make_bed()
    for bed in beds:
        bed.tool("key", "init", check=DONE)
    assert beds[0].key.read_bytes() != beds[1].key.read_bytes()


def test_no_key_is_made_while_a_credential_is_there(alice):
    alice.key.unlink()
    answer = alice.tool("key", "init")
    assert answer.status in (POLICY, UNUSABLE) and one_line(answer.errors) and not alice.key.exists()


def test_an_enrolment_makes_no_key(bed):
    answer = bed.tool("enroll", "--stdin", "alice", stdin="0471\n", check=UNUSABLE)
    assert one_line(answer.errors) and "passcode key init" in answer.errors and not bed.key.exists()


def test_remove_and_unlock_need_no_key(alice):
    for code in ("1593", "2604", "3715"):
        alice.authenticate("alice", code)
    alice.key.unlink()
    alice.tool("unlock", "alice", check=DONE)
    alice.tool("remove", "alice", check=DONE)
    alice.tool("key", "init", check=DONE)


# MARK: Enrolment


@pytest.mark.parametrize("code", ["0471", "004711", "0000"])
def test_enroll_and_verify(bed, code):
    bed.enroll("alice", code)
    bed.tool("verify", "--stdin", "alice", stdin=code + "\n", check=DONE)


@pytest.mark.parametrize(
    "typed",
    [
        "", "\n", "047\n", "04711\n", "0471123\n", "abcd\n", "٠٤٧١\n", "０４７１\n", " 0471\n", "0471 \n", "0471\r\n",
        "04\x0071\n", "0471\x00\n", "\x000471\n", "1" * 100_000,
    ],
    ids=lambda typed: repr(typed[:12]),
)  # fmt: skip
def test_what_is_no_passcode_is_not_enrolled(bed, typed):
    bed.tool("key", "init", check=DONE)
    answer = bed.tool("enroll", "--stdin", "alice", stdin=typed)
    assert answer.status in ((POLICY, CANCELLED) if typed == "" else (POLICY,)), answer
    assert one_line(answer.errors) and bed.status("alice")["enrolled"] is False


def test_a_last_line_without_its_end_is_a_line(bed):
    bed.tool("key", "init", check=DONE)
    bed.tool("enroll", "--stdin", "alice", stdin="0471", check=DONE)
    bed.tool("verify", "--stdin", "alice", stdin="0471", check=DONE)


@pytest.mark.parametrize(
    "lengths, code, status", [("4", "0471", 0), ("4", "004711", 5), ("6", "004711", 0), ("6", "0471", 5)]
)
def test_lengths_govern_new_passcodes(bed, lengths, code, status):
    bed.configure(lengths=lengths)
    bed.tool("key", "init", check=DONE)
    bed.tool("enroll", "--stdin", "alice", stdin=code + "\n", check=status)


def test_lengths_do_not_govern_old_passcodes(alice):
    alice.configure(lengths="6")
    assert alice.authenticate("alice", "0471").result == "SUCCESS"


def test_enrolling_again_replaces_and_ends_a_lock(alice):
    for code in ("1593", "2604", "3715"):
        alice.authenticate("alice", code)
    alice.enroll("alice", "004711")
    assert alice.authenticate("alice", "0471").result == "AUTH_ERR"
    assert alice.authenticate("alice", "004711").result == "SUCCESS"
    assert alice.status("alice")["length"] == 6


def test_an_unknown_account_is_not_enrolled(bed):
    bed.tool("key", "init", check=DONE)
    answer = bed.tool("enroll", "--stdin", "nosuchuser", stdin="0471\n")
    assert answer.status not in (DONE, USAGE) and one_line(answer.errors) and "nosuchuser" in answer.errors


def test_two_passcodes_alike_look_different(alice):
    """A salt, a nonce: nothing in the store tells that two people chose the same."""
    alice.enroll("bob", "0471")
    sealed = [
        re.search(rb"^sealed=(\w{64,})$", alice.record(name), re.MULTILINE)[1] for name in ("alice", "bob")
    ]
    assert sealed[0] != sealed[1] and sealed[0][:32] != sealed[1][:32]


def test_a_store_without_the_service_account_is_its_makers_alone(alice):
    assert stat.S_IMODE(alice.store.stat().st_mode) == 0o700
    assert stat.S_IMODE(alice.record_file("alice").stat().st_mode) == 0o600


@contextlib.contextmanager
def service_account():
    subprocess.run(["useradd", "--badname", "--system", "--user-group", "_passcode"], check=True)
    try:
        yield pwd.getpwnam("_passcode")
    finally:
        subprocess.run(["userdel", "--force", "_passcode"], check=True)


def test_a_store_with_the_service_account_is_its_alone(bed):
    with service_account() as account:
        bed.enroll("alice", "0471")
        for path, mode in ((bed.store, 0o700), (bed.record_file("alice"), 0o600)):
            status = path.stat()
            assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (account.pw_uid, 0, mode)
        key = bed.key.stat()
        assert (key.st_uid, key.st_gid, stat.S_IMODE(key.st_mode)) == (0, account.pw_gid, 0o440)
        assert bed.authenticate("alice", "0471").result == "SUCCESS"


# MARK: Remove, unlock, verify, status


def test_remove_wipes_the_credential(alice):
    alice.authenticate("alice", "1593")
    sealed = re.findall(rb"^sealed=(\w+)$", alice.record("alice"), re.MULTILINE)
    alice.tool("remove", "alice", check=DONE)
    assert alice.record_file("alice").exists() and sealed
    assert not any(text in alice.record("alice") for text in sealed)
    assert alice.status("alice")["enrolled"] is False


def test_remove_says_whether_one_was_removed(alice):
    first, second = alice.tool("remove", "alice"), alice.tool("remove", "alice")
    assert first.status == DONE and second.status in (DONE, NOT_ENROLLED)
    assert first.output + first.errors != second.output + second.errors


def test_verify_counts_like_any_attempt(alice):
    for code, status in (("1593", WRONG_CODE), ("2604", WRONG_CODE), ("3715", WRONG_CODE), ("0471", LOCKED)):
        answer = alice.tool("verify", "--stdin", "alice", stdin=code + "\n")
        assert answer.status == status, answer
    assert "left to unlock" in answer.errors + answer.output
    assert alice.authenticate("alice", "0471").result == "AUTH_ERR"
    alice.tool("unlock", "alice", check=DONE)
    alice.tool("verify", "--stdin", "alice", stdin="0471\n", check=DONE)


def test_exhausted(make_bed):
    bed = make_bed(lockout="1:reset")
    bed.enroll("alice", "0471")
    bed.tool("verify", "--stdin", "alice", stdin="1593\n", check=WRONG_CODE)
    bed.tool("verify", "--stdin", "alice", stdin="0471\n", check=LOCKED)
    assert bed.status("alice")["state"] == "exhausted"
    bed.tool("unlock", "alice", check=DONE)
    bed.tool("verify", "--stdin", "alice", stdin="0471\n", check=DONE)


def test_not_enrolled(alice):
    alice.tool("verify", "--stdin", "bob", stdin="0471\n", check=NOT_ENROLLED)
    alice.tool("unlock", "bob", check=NOT_ENROLLED)


def test_status_in_json(alice):
    status = alice.status("alice")
    assert list(status) == (
        "version user uid enrolled length state failures seconds_left locked_until enrolled_at last_success last_failure "
        "last_failure_service expires_at must_change finger fingers finger_services".split()
    )
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert (status["user"], status["uid"], status["enrolled"]) == ("alice", uid("alice"), True)
    assert (status["length"], status["state"], status["failures"]) == (4, "ok", 0)
    assert re.fullmatch(stamp, status["enrolled_at"]) and status["last_success"] is None
    for code in ("1593", "2604", "3715"):
        alice.authenticate("alice", code)
    status = alice.status("alice")
    assert (status["state"], status["failures"]) == ("locked", 3) and 50 <= status["seconds_left"] <= 60
    assert re.fullmatch(stamp, status["locked_until"])
    alice.tool("disable", "alice", check=DONE)
    status = alice.status("alice")
    assert (status["state"], status["seconds_left"], status["locked_until"]) == ("disabled", 0, None)


def test_status_of_somebody_without_a_passcode(alice):
    status = alice.status("bob")
    assert (status["user"], status["enrolled"], status["state"]) == ("bob", False, "ok")


def test_status_shows_no_secret(alice):
    answer = alice.tool("status", "alice", check=DONE)
    assert (
        "alice" in answer.output
        and "0471" not in answer.output
        and not re.search(r"[0-9a-f]{32}", answer.output)
    )


def test_a_damaged_record_is_shown_and_can_be_removed(alice):
    alice.record_file("alice").write_bytes(b"\0" * 8192)
    assert json.loads(alice.tool("status", "--json", "alice").output)["state"] == "corrupt"
    alice.tool("verify", "--stdin", "alice", stdin="0471\n", check=UNUSABLE)
    alice.tool("remove", "alice", check=DONE)
    alice.enroll("alice", "0471")
    assert alice.authenticate("alice", "0471").result == "SUCCESS"


# MARK: What can't be used, and who may not


@pytest.mark.parametrize("command", ["enroll", "verify", "remove", "unlock", "status"])
def test_a_bad_configuration_is_told_with_its_line(alice, command):
    alice.configure("colour=red")
    number = alice.configuration.read_text().rstrip("\n").count("\n") + 1
    stdin = ["--stdin"] if command in ("enroll", "verify") else []
    answer = alice.tool(command, *stdin, "alice", stdin="0471\n", check=UNUSABLE)
    assert one_line(answer.errors) and f"{alice.configuration}:{number}: " in answer.errors


def test_a_missing_configuration(alice):
    alice.configuration.unlink()
    answer = alice.tool("status", "alice", check=UNUSABLE)
    assert one_line(answer.errors) and str(alice.configuration) in answer.errors


def test_a_missing_key(alice):
    alice.key.unlink()
    answer = alice.tool("verify", "--stdin", "alice", stdin="0471\n", check=UNUSABLE)
    assert one_line(answer.errors) and str(alice.key) in answer.errors


def test_a_person_has_a_store_of_their_own_and_nobody_elses(make_bed):
    bed = make_bed(owner="alice")
    bed.enroll("alice", "0471")
    bed.tool("verify", "--stdin", stdin="0471\n", user="alice", check=DONE)
    for command in (["enroll", "--stdin"], ["verify", "--stdin"], ["remove"], ["unlock"]):
        bed.tool(*command, "bob", stdin="0471\n", user="alice", check=NOT_PERMITTED)


@pytest.mark.parametrize("command", ["enroll", "verify", "remove", "unlock", "status"])
def test_a_person_cannot_reach_roots_store(alice, command):
    before = alice.record("alice")
    stdin = ["--stdin"] if command in ("enroll", "verify") else []
    answer = alice.tool(command, *stdin, "alice", stdin="0471\n", user="alice")
    assert answer.status in (NOT_PERMITTED, UNUSABLE) and one_line(answer.errors)
    assert alice.record("alice") == before


def test_quiet_says_nothing(alice):
    for command in (["unlock", "alice"], ["verify", "--stdin", "alice"], ["remove", "alice"]):
        answer = alice.tool("--quiet", *command, stdin="0471\n", check=DONE)
        assert answer.output == ""
