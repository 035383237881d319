"""Whose passcode it is: renamed accounts, uids that were given away, several names, no name."""

import pathlib

import pytest

import bench
import host
import strace
from accounts import renamed, replaced
from bed import become, uid
from pam import FAILS, NULL
from scenario import PROMPT, RIGHT, WRONG, asked_once, refused_unasked
from tool import DONE, NOT_ENROLLED, UNUSABLE, listed

BOTH = pytest.mark.parametrize("happen", [renamed, replaced])


@BOTH
def test_whoever_has_the_uid_today_is_not_enrolled(alice, happen):
    """Nothing of the record is used, changed or told; and it is logged."""
    file = alice.record_file("alice")
    before = file.read_bytes()
    with happen() as today:
        assert refused_unasked(alice.authenticate(today, RIGHT), "USER_UNKNOWN")
        for command in ("verify --stdin", "change --stdin"):
            answer = alice.tool(*command.split(), today, stdin=f"{RIGHT}\n8305\n", check=NOT_ENROLLED)
            assert RIGHT not in answer.output + answer.errors
        assert alice.status(today)["enrolled"] is False and listed(alice) == []
        assert file.read_bytes() == before
        alice.tool("unlock", today, check=NOT_ENROLLED)
        lines = [line.message for line in alice.module_log() if "another account name" in line.message]
        assert len(lines) == 1 and f"user={today}" in lines[0]
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS", "the name again, and it is hers again"


@BOTH
def test_whoever_has_the_uid_today_enrols_anew(alice, happen):
    alice.tool("disable", "alice", check=DONE)
    with happen() as today:
        alice.enroll(today, "8305")
        assert alice.authenticate(today, RIGHT).result == "AUTH_ERR"
        assert alice.authenticate(today, "8305").result == "SUCCESS", "the suspension was somebody else's"
        assert listed(alice) == [today]
    assert refused_unasked(alice.authenticate("alice", RIGHT), "USER_UNKNOWN")


@BOTH
def test_through_the_helper_it_is_the_same(machine, happen):
    machine.enroll("alice", RIGHT)
    file = machine.record_file("alice")
    before = file.read_bytes()
    with happen() as today:
        outcome = machine.authenticate(today, RIGHT, prepare=become(today))
        assert refused_unasked(outcome, "USER_UNKNOWN")
        machine.tool("verify", "--stdin", stdin=f"{RIGHT}\n", user=today, check=NOT_ENROLLED)
        machine.tool("status", user=today, check=NOT_ENROLLED)
    assert file.read_bytes() == before


def test_another_name_of_the_same_account(alice):
    """A directory may have several names for one uid: the record is of the first."""
    with bench.accounts([(uid("alice"), "lise")]):
        assert alice.authenticate("lise", RIGHT).result == "SUCCESS"
        assert alice.authenticate("lise", WRONG[0]).result == "AUTH_ERR"
        assert alice.failures("alice") == 1
        assert listed(alice) == ["alice"]


def test_an_account_that_can_no_longer_be_looked_up_is_not_one_without_a_passcode(alice):
    """The record has another name of the same account; whose uid it is can't be told after the prompt any more."""
    number = uid("alice")
    alice.service("nullok")

    def lose(_):
        file = pathlib.Path("/etc/passwd")
        file.write_text("".join(line for line in file.read_text().splitlines(True) if f":{number}:" not in line))
        return RIGHT

    with bench.accounts([(number, "lise")]):
        outcome = alice.authenticate("lise", lose)
    assert outcome.result == "AUTHINFO_UNAVAIL" and asked_once(outcome)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_an_account_whose_look_up_fails_is_not_an_unknown_one(alice):
    """Of several databases the last one decides what glibc says: here there is one."""
    alice.service("nullok")
    databases = pathlib.Path("/etc/nsswitch.conf")
    before = databases.read_text()
    databases.write_text("passwd: files\n")
    try:
        failing = strace.record("/dev/null", "-P", "/etc/passwd", "-e", "inject=openat:error=EIO")
        assert host.results(alice, RIGHT, before=failing) == ["AUTHINFO_UNAVAIL"]
    finally:
        databases.write_text(before)
    assert "Input/output error" in alice.module_log()[-1].message


# MARK: Names that are numbers


@pytest.fixture
def numbered(alice):
    """bob has a passcode; so has somebody else, whose name is the number of bob's uid. Answers with that name."""
    alice.enroll("bob", RIGHT)
    name = str(uid("bob"))
    with bench.accounts([(61_234, name)]):
        alice.enroll(name, "8305")
        yield name


def test_a_name_is_a_name_though_it_is_a_number(alice, numbered):
    before = alice.record("bob")
    assert alice.authenticate(numbered, "8305").result == "SUCCESS"
    assert alice.authenticate(numbered, RIGHT).result == "AUTH_ERR"
    assert alice.status(numbered)["failures"] == 1
    assert sorted(listed(alice)) == sorted(["alice", "bob", numbered])
    for command in (["unlock"], ["disable"], ["enable"], ["verify", "--stdin"], ["change", "--stdin"], ["remove"]):
        alice.tool(*command, numbered, stdin="8305\n2950\n", check=DONE)
    alice.tool("remove", numbered, check=NOT_ENROLLED)
    assert refused_unasked(alice.authenticate(numbered, RIGHT), "USER_UNKNOWN")
    assert alice.record("bob") == before
    assert f"user={numbered} uid=61234 " in alice.log()[-2].message


def test_who_asks_is_a_name_though_it_is_a_number(alice, numbered):
    outcome = alice.authenticate("bob", RIGHT, items={"RUSER": numbered})
    assert refused_unasked(outcome, "PERM_DENIED")


def test_a_person_whose_name_is_a_number_has_their_own(machine):
    machine.enroll("bob", RIGHT)
    before, name = machine.record("bob"), str(uid("bob"))
    with bench.accounts([(61_234, name)]):
        machine.enroll(name, "8305")
        assert machine.authenticate(name, "8305", prepare=become(name)).result == "SUCCESS"
        assert refused_unasked(machine.authenticate("bob", RIGHT, prepare=become(name)), "PERM_DENIED")
        machine.tool("remove", "--stdin", stdin="8305\n", user=name, check=DONE)
        machine.tool("status", user=name, check=NOT_ENROLLED)
    assert machine.record("bob") == before


def test_a_uid_is_no_name(alice):
    """But for removing what an account left that is gone."""
    before, number = alice.record("alice"), str(uid("alice"))
    assert refused_unasked(alice.authenticate(number, RIGHT), "USER_UNKNOWN")
    assert refused_unasked(alice.authenticate("alice", RIGHT, items={"RUSER": number}), "PERM_DENIED")
    for command in ("status", "verify", "remove", "unlock", "disable", "enable", "enroll", "change"):
        alice.tool(command, number, check=NOT_ENROLLED if command == "remove" else UNUSABLE)
    assert alice.record("alice") == before


def test_the_number_of_an_account_that_is_gone_may_be_a_name(alice):
    """A name goes first: the record that lies under this number isn't meant."""
    with bench.accounts([(61_235, "gone")]):
        alice.enroll("gone", RIGHT)
    left = alice.store / "61235"
    before = left.read_bytes()
    with bench.accounts([(61_234, "61235")]):
        alice.tool("remove", "61235", check=NOT_ENROLLED)
        assert left.read_bytes() == before
    alice.tool("remove", "61235", check=DONE)


# MARK: PAM_USER


@pytest.mark.parametrize("other", ["bob", "nosuchuser", "alice "])
def test_a_user_changed_during_the_conversation(alice, other):
    alice.enroll("bob", RIGHT)
    before = alice.record("alice"), alice.record("bob")

    def change_user(handle):
        handle.set("USER", other)
        return RIGHT

    outcome = alice.authenticate("alice", change_user)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert (alice.record("alice"), alice.record("bob")) == before


def test_a_user_changed_during_the_conversation_of_a_host_without_root(machine):
    machine.enroll("alice", RIGHT)
    before = machine.record("alice")

    def change_user(handle):
        handle.set("USER", "bob")
        return RIGHT

    outcome = machine.authenticate("alice", change_user, prepare=become("alice"))
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert machine.record("alice") == before


@pytest.mark.parametrize("answer, result", [(FAILS, "CONV_ERR"), (NULL, "CONV_ERR"), ("", "USER_UNKNOWN")])
def test_no_user_and_no_answer_who_it_is(alice, answer, result):
    before = alice.record("alice")
    outcome = alice.authenticate(None, answer, RIGHT)
    assert outcome.result == result and PROMPT not in outcome.prompts
    assert alice.record("alice") == before


def test_no_user_and_a_name_that_nobody_has(alice):
    outcome = alice.authenticate(None, "nosuchuser", RIGHT)
    assert outcome.result == "USER_UNKNOWN" and PROMPT not in outcome.prompts


def test_an_empty_user_is_nobody(alice):
    assert refused_unasked(alice.authenticate("", "alice", RIGHT), "USER_UNKNOWN")


@pytest.mark.parametrize("name", ["nosuchuser", "", "0", "alice\nroot", "a" * 300, "../root"], ids=lambda name: name[:10])
def test_the_tool_knows_no_such_account(alice, name):
    for command in ("status", "verify", "remove", "unlock", "disable", "enable", "enroll", "change"):
        # Removing, there may be a record of a deleted account.
        answer = alice.tool(command, name, check=NOT_ENROLLED if command == "remove" else UNUSABLE)
        assert answer.errors.startswith(("passcode: no account ", "passcode: there is no account ")) and answer.errors.count("\n") == 1


def test_root_s_record_is_root_s(machine):
    """Whoever takes the service account over can make anybody's record, with its key; but not root's."""
    import forge  # it brings libsodium, which test_figures.py wants to be the first to load

    machine.enroll("alice", RIGHT)
    forge.enroll_like(machine, "alice", ["root"])
    assert refused_unasked(machine.authenticate("root", RIGHT), "AUTHINFO_UNAVAIL")
    assert any("must be owned by root" in line.message for line in machine.log())
    machine.record_file("root").unlink()
    machine.enroll("root", RIGHT)
    status = machine.record_file("root").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600)
    assert machine.authenticate("root", RIGHT).result == "SUCCESS"
