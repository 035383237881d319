"""A second factor beside the password: nobody comes to a passcode that counts with the password alone."""

import pytest

import machine as machines
import pam
from bed import SERVICE, become
from helper import ask
from scenario import NEW, PASSWORD, RIGHT, WRONG, fail, refused_unasked, replace_line
from tool import NOT_PERMITTED

NOTICE = "Your passcode can't be used here: ask an administrator to set a new one."


@pytest.fixture
def own(machine):
    """alice has a password; the passcode is required besides, in a line with second_factor."""
    machines.set_password("alice")
    machine.typed |= {PASSWORD, NEW}
    machine.service("second_factor")
    return machine


def alone(bed, command, *lines, check=0):
    bed.typed |= set(lines)
    return bed.tool(command, "--stdin", stdin="".join(line + "\n" for line in lines), user="alice", check=check)


def root_enrolls(bed, code=RIGHT):
    bed.enroll("alice", code)


def alice_enrolls(bed):
    alone(bed, "enroll", PASSWORD, RIGHT)


def alice_unlocks(bed):
    root_enrolls(bed)
    fail(bed, 3)
    alone(bed, "unlock", PASSWORD)


def alice_unlocks_and_changes(bed):
    alice_unlocks(bed)
    alone(bed, "change", RIGHT, NEW)
    alone(bed, "change", NEW, RIGHT)


def alice_removes_and_enrolls(bed):
    root_enrolls(bed, NEW)
    alone(bed, "remove", PASSWORD)
    alone(bed, "enroll", PASSWORD, RIGHT)


def nobody_knows(bed):
    """Enrolled by a version that didn't keep who did it."""
    root_enrolls(bed)
    bed.rewrite("alice", lambda body: replace_line(body, b"enrolled_by", b"enrolled_by=unknown\n"))


WAYS = [alice_enrolls, alice_unlocks, alice_unlocks_and_changes, alice_removes_and_enrolls, nobody_knows]
HOSTS = pytest.mark.parametrize("how", [{}, {"prepare": become("alice")}], ids=["root", "helper"])


@HOSTS
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_passcode_that_the_password_had_a_hand_in_counts_no_more(own, way, how):
    own.service()
    way(own)
    assert own.authenticate("alice", RIGHT, **how).result == "SUCCESS", "no second factor was asked for yet"
    own.configure(second_factor="yes")
    own.service("second_factor")
    before = own.failures("alice")
    for code in (RIGHT, WRONG[5]):
        assert refused_unasked(own.authenticate("alice", code, **how), "PERM_DENIED", NOTICE)
    assert own.failures("alice") == before
    assert any("an administrator must set it anew" in line.message for line in own.log())
    root_enrolls(own, "8260")
    assert own.authenticate("alice", "8260", **how).result == "SUCCESS"


@pytest.mark.parametrize("way", WAYS[:4], ids=lambda way: way.__name__)
def test_roots_unlock_vouches_for_no_such_passcode(own, way):
    own.service()
    way(own)
    own.configure(second_factor="yes")
    fail(own, 3)
    own.tool("unlock", "alice", check=0)
    assert own.authenticate("alice", RIGHT).result == "SUCCESS", "unlocked, where no second factor is asked for"
    own.service("second_factor")
    assert own.authenticate("alice", RIGHT).result == "PERM_DENIED"


@HOSTS
def test_what_root_set_counts_and_its_owner_may_change_it(own, how):
    own.configure(second_factor="yes")
    root_enrolls(own)
    assert own.authenticate("alice", RIGHT, **how).result == "SUCCESS"
    alone(own, "change", RIGHT, NEW)
    assert own.authenticate("alice", NEW, **how).result == "SUCCESS"
    fail(own, 3)
    own.tool("unlock", "alice", check=0)
    assert own.authenticate("alice", NEW, **how).result == "SUCCESS"


@pytest.mark.parametrize("command, lines", [("enroll", (PASSWORD, NEW)), ("unlock", (PASSWORD,)), ("remove", (PASSWORD,))])
def test_with_the_option_a_password_proves_nothing(own, command, lines):
    own.configure(second_factor="yes")
    root_enrolls(own)
    fail(own, 3)
    before = own.record("alice")
    answer = alone(own, command, *lines, check=NOT_PERMITTED)
    assert "second_factor" in answer.errors
    # Nor when the helper is asked without the tool.
    operations = {"enroll": (6, {"new": NEW}), "unlock": (7, {}), "remove": (5, {})}
    operation, more = operations[command]
    assert ask(operation, "alice", user="alice", password=PASSWORD, **more).kind == 20
    assert own.record("alice") == before


@HOSTS
@pytest.mark.parametrize("policy", [{}, {"second_factor": "no"}])
def test_a_line_without_the_policy_refuses_every_login(own, policy, how):
    """With the passcode alone it would be one factor for anybody who knows the password."""
    own.configure(**policy)
    root_enrolls(own)
    outcome = own.authenticate("alice", RIGHT, **how)
    assert refused_unasked(outcome, "SERVICE_ERR")
    assert any("second_factor=yes" in line.message for line in own.log())


@pytest.mark.parametrize("argument", ["second_factor=yes", "second_factor=no", "second_factors"])
def test_the_flag_has_one_spelling(own, argument):
    own.configure(second_factor="yes")
    root_enrolls(own)
    own.service(argument)
    assert own.authenticate("alice", RIGHT).result == "SERVICE_ERR"


def test_without_the_flag_the_policy_asks_no_more_of_a_passcode(own):
    """sudo by passcode alone goes on for those who enrolled themselves."""
    own.service()
    alice_enrolls(own)
    own.configure(second_factor="yes")
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"


def test_two_logins_on_one_handle_are_each_asked(own):
    own.service()
    alice_enrolls(own)
    own.configure(second_factor="yes")
    own.service("second_factor")
    outcome = pam.start(SERVICE, "alice", own.services, [RIGHT, RIGHT], calls=["authenticate"] * 2).wait()
    assert outcome.results == ["PERM_DENIED"] * 2
