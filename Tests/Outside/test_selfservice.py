"""One's own passcode without root: what proves it, and what an administrator closed."""

import json
import os
import re
import subprocess

import pytest

import forge
import machine as machines
from bed import MODULE, TOOL, uid
from helper import A_PHONE, A_ROOM, A_RUN, BACKWARDS, BAD_LENGTH, CHANGE, DONE_IT, ENROLL, ON_THE_LIST
from helper import GRANTED, PASSWORD_IS_DIGITS, PROVE, VERIFY, WRONG_ONE, WRONG_PASSWORD, ask
from machine import ALICE, PROOF
from scenario import NEW, PASSWORD, RIGHT, WRONG, fail, refused_unasked
from tool import DONE, LOCKED, NOT_ENROLLED, NOT_PERMITTED, POLICY, UNUSABLE, WRONG_CODE, alone


@pytest.fixture
def own(with_passwords):
    return with_passwords


def state(bed):
    return json.loads(bed.tool("status", "--json", user="alice").output)


def test_the_old_passcode_of_a_change_is_logged_as_no_login(own):
    """A cancelled change would otherwise look like a login."""
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    asks = {"about": "alice", "user": "alice"}
    assert ask(PROVE, passcode=RIGHT, **asks).kind == GRANTED
    assert ask(PROVE, passcode=WRONG[0], **asks).kind == WRONG_ONE
    assert ask(VERIFY, passcode=RIGHT, **asks).kind == GRANTED
    said = [line.message for line in own.log() if "user=alice" in line.message]
    words = ["passcode proven", "passcode wrong", "passcode granted"]
    assert [word for line in said for word in words if word in line] == words, said


def test_all_of_it(own):
    """Turn on by the password, use, change by the passcode, lock, unlock by the password, turn off."""
    assert bed_says(own.tool("status", user="alice", check=NOT_ENROLLED), "no passcode is set")
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    assert own.authenticate("alice", RIGHT, **ALICE).result == "SUCCESS"
    assert own.authenticate("alice", RIGHT).result == "SUCCESS", "and for root's hosts"
    alone(own, "verify", RIGHT, check=DONE)
    alone(own, "change", RIGHT, NEW, check=DONE)
    assert own.authenticate("alice", RIGHT, **ALICE).result == "AUTH_ERR"
    assert own.authenticate("alice", NEW, **ALICE).result == "SUCCESS"
    fail(own, 3)
    alone(own, "verify", NEW, check=LOCKED)
    assert state(own)["state"] == "locked" and 0 < state(own)["seconds_left"] <= 60
    alone(own, "unlock", PASSWORD, check=DONE)
    alone(own, "verify", NEW, check=DONE)
    alone(own, "remove", NEW, check=DONE)
    assert refused_unasked(own.authenticate("alice", NEW, **ALICE), "USER_UNKNOWN")


def bed_says(answer, text):
    return text in answer.output + answer.errors


def test_status_tells_what_root_is_told(own):
    alone(own, "enroll", PASSWORD, "830517", check=DONE)
    own.authenticate("alice", WRONG[0], **ALICE)
    mine, roots = state(own), own.status("alice")
    assert mine == roots and mine["length"] == 6 and mine["failures"] == 1


@pytest.mark.parametrize("command, rest", [("enroll", [NEW]), ("unlock", [])])
@pytest.mark.parametrize("password", [RIGHT, "correct horsf", "x" * 511], ids=["passcode", "nearly", "long"])
def test_a_wrong_password_changes_nothing(own, command, rest, password):
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    fail(own, 1)
    before = own.record("alice")
    alone(own, command, password, *rest, check=WRONG_CODE)
    assert own.record("alice") == before
    [line] = [line.message for line in own.log() if "wrong password" in line.message]
    assert f"passcode: wrong password user=alice uid={uid('alice')} by_uid={uid('alice')}" in line


def test_the_old_passcode_is_an_attempt_like_any_other(own):
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    alone(own, "change", WRONG[0], NEW, check=WRONG_CODE)
    assert state(own)["failures"] == 1
    alone(own, "change", WRONG[1], NEW, check=WRONG_CODE)
    alone(own, "change", WRONG[2], NEW, check=WRONG_CODE)
    alone(own, "change", RIGHT, NEW, check=LOCKED)


def test_a_password_removes_it_too(own):
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    fail(own, 3)
    alone(own, "remove", "hunter22", check=WRONG_CODE)
    alone(own, "remove", PASSWORD, check=DONE)
    assert not state(own)["enrolled"]
    alone(own, "remove", PASSWORD, check=NOT_ENROLLED)


def test_a_wrong_passcode_does_not_remove_it(own):
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    alone(own, "remove", WRONG[0], check=WRONG_CODE)
    assert state(own)["failures"] == 1 and state(own)["enrolled"]


def test_self_enroll_no_leaves_what_the_passcode_proves(own):
    own.enroll("alice", RIGHT)
    own.configure(self_enroll="no")
    before = own.record("alice")
    for command, rest in [("enroll", [NEW]), ("unlock", [])]:
        alone(own, command, PASSWORD, *rest, check=NOT_PERMITTED)
    assert alone(own, "remove", PASSWORD).status == POLICY
    assert own.record("alice") == before
    alone(own, "change", RIGHT, NEW, check=DONE)
    alone(own, "remove", NEW, check=DONE)


def test_the_helper_itself_closes_it(own):
    """Whoever writes another tool gets no further."""
    own.enroll("alice", RIGHT)
    own.configure(self_enroll="no")
    reply = ask(ENROLL, "alice", new=NEW, password=PASSWORD, user="alice")
    assert reply.kind == 20
    own.configure(self_enroll="password")
    own.tool("disable", "alice", check=DONE)
    for operation, how in [(6, {"new": NEW, "password": PASSWORD}), (7, {"password": PASSWORD}),
                           (4, {"passcode": RIGHT, "new": NEW}), (5, {"passcode": RIGHT})]:  # fmt: skip
        assert ask(operation, "alice", user="alice", **how).kind == 7


def test_a_disabled_person_has_the_status_only(own):
    own.enroll("alice", RIGHT)
    own.tool("disable", "alice", check=DONE)
    before = own.record("alice")
    assert state(own)["state"] == "disabled"
    for command, lines in [("enroll", [PASSWORD, NEW]), ("change", [RIGHT, NEW]), ("remove", [RIGHT]),
                           ("unlock", [PASSWORD]), ("verify", [RIGHT])]:  # fmt: skip
        alone(own, command, *lines, check=LOCKED)
    assert own.record("alice") == before


@pytest.mark.parametrize("command", ["enroll", "change", "remove", "unlock", "status", "verify"])
def test_nobody_elses(own, command):
    own.enroll("bob", RIGHT)
    before = own.record("bob")
    arguments = [command, "bob"] + ([] if command == "status" else ["--stdin"])
    answer = own.tool(*arguments, stdin=f"{PASSWORD}\n{NEW}\n", user="alice", check=NOT_PERMITTED)
    assert own.record("bob") == before and "only" in answer.errors


@pytest.mark.parametrize("command", ["list", "disable alice", "enable alice", "key init", "key status"])
def test_what_is_roots(own, command):
    own.tool(*command.split(), user="alice", check=NOT_PERMITTED)


def test_a_length_that_is_not_allowed(own):
    own.configure(lengths="6")
    alone(own, "enroll", PASSWORD, RIGHT, check=POLICY)
    reply = ask(ENROLL, "alice", new=RIGHT, password=PASSWORD, user="alice")
    assert reply.refuses(BAD_LENGTH)


def test_a_weak_one(own):
    """By the tool, before anything is asked of the helper; and by the helper, whoever asks."""
    own.configure(weak="refuse")
    alone(own, "enroll", PASSWORD, "1234", check=POLICY)
    reply = ask(ENROLL, "alice", new="1234", password=PASSWORD, user="alice")
    assert reply.refuses(A_RUN)
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    alone(own, "change", RIGHT, RIGHT[::-1], check=POLICY)
    reply = ask(CHANGE, "alice", passcode=RIGHT, new=RIGHT[::-1], user="alice")
    assert reply.refuses(BACKWARDS)
    own.configure(weak="allow")
    alone(own, "change", RIGHT, "1234", check=DONE)


@pytest.mark.parametrize(
    "code, reason", [("619407", ON_THE_LIST), ("4629", A_ROOM), ("5746", A_PHONE)]
)
def test_the_helper_itself_knows_what_is_weak_on_this_machine_only(own, code, reason):
    """Asked directly, by whoever writes another tool."""
    codes = own.folder / "codes"
    codes.write_text("619407\n")
    own.enroll("alice", RIGHT)
    own.configure(weak="refuse", weak_list=codes)
    machines.sh("usermod", "-c", "Alice,4629,0171-8305-7462,,", "alice")
    own.typed.add("830562")
    try:
        for operation, proof in ((ENROLL, {"password": PASSWORD}), (CHANGE, {"passcode": RIGHT})):
            before = forge.credential(own, "alice")
            reply = ask(operation, "alice", user="alice", new=code, **proof)
            assert reply.refuses(reason), reply
            assert forge.credential(own, "alice") == before
        assert ask(CHANGE, "alice", user="alice", passcode=RIGHT, new="830562").kind == DONE_IT
    finally:
        machines.sh("usermod", "-c", "", "alice")


@pytest.mark.parametrize("password", ["8305", "830517"])
def test_a_password_of_digits_is_no_proof_for_an_enrolment(own, password):
    """Where one prompt takes both it would be a wrong passcode each time. Root may; and it goes on proving the rest."""
    machines.set_password("alice", password)
    own.typed.add(password)
    assert ask(ENROLL, "alice", new=RIGHT, password="x", user="alice").kind == WRONG_PASSWORD
    answer = alone(own, "enroll", password, RIGHT, check=POLICY)
    assert "your password is itself 4 or 6 digits" in answer.errors and answer.errors.count("\n") == 1
    assert ask(ENROLL, "alice", new=RIGHT, password=password, user="alice").kind == PASSWORD_IS_DIGITS
    said = [line.message for line in own.log() if "not enrolled: the password could be taken for one" in line.message]
    assert len(said) == 2 and all(f"user=alice uid={uid('alice')} by_uid={uid('alice')}" in line for line in said)
    for wrong in ("8306", "830518"):
        assert ask(ENROLL, "alice", new=RIGHT, password=wrong, user="alice").kind == WRONG_PASSWORD
    assert not state(own)["enrolled"]
    alone(own, "enroll", password, RIGHT, check=NOT_PERMITTED, arguments=["--force"])
    own.tool("enroll", "--force", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
    fail(own, 3)
    alone(own, "unlock", password, check=DONE)
    own.tool("remove", "alice", check=DONE)
    own.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)


@pytest.mark.parametrize("password", ["830", "83051", "8305172", "8305x", " 8305", "83 05"])
def test_another_password_with_digits_is_one(own, password):
    machines.set_password("alice", password)
    own.typed.add(password)
    alone(own, "enroll", password, RIGHT, check=DONE)


def test_a_generated_one(own):
    answer = alone(own, "enroll", PASSWORD, check=DONE, arguments=["--generate"])
    code = answer.output.split()[-1]
    own.typed.add(code)
    assert own.authenticate("alice", code, **ALICE).result == "SUCCESS"


def test_only_the_services_own_stack_is_a_proof(own):
    """Missing: a refusal, whatever `other` would say. Granting without a question: none, either."""
    other = machines.pathlib.Path("/etc/pam.d/other")
    kept = other.read_text() if other.exists() else None
    try:
        other.write_text("auth required pam_permit.so\n")
        PROOF.unlink()
        answer = alone(own, "enroll", PASSWORD, RIGHT, check=UNUSABLE)
        assert str(PROOF) in answer.errors
        [said] = [line.message for line in own.log() if "passcode unavailable" in line.message]
        assert f"by_uid={uid('alice')}" in said and str(PROOF) in said
        PROOF.write_text("auth required pam_permit.so\n")
        alone(own, "enroll", PASSWORD, RIGHT, check=WRONG_CODE)
        PROOF.write_text("auth required pam_unix.so\n")
        PROOF.chmod(0o666)
        alone(own, "enroll", PASSWORD, RIGHT, check=UNUSABLE)
    finally:
        other.unlink() if kept is None else other.write_text(kept)


WELCOME = """
#include <stdio.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **arguments) {
  return pam_info(handle, "Welcome.") == PAM_SUCCESS ? PAM_IGNORE : PAM_AUTH_ERR;
}
"""


def test_what_the_stack_says_is_no_question(own):
    module = own.folder / "pam_welcome.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(module), "-lpam"], input=WELCOME, text=True, check=True)
    PROOF.write_text(f"auth required {module}\nauth required pam_unix.so\n")
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)


def test_the_module_is_no_proof_of_itself(own):
    own.enroll("alice", RIGHT)
    PROOF.write_text(f"auth sufficient {MODULE}\nauth required pam_unix.so\n")
    alone(own, "enroll", RIGHT, NEW, check=WRONG_CODE)
    assert own.authenticate("alice", RIGHT, **ALICE).result == "SUCCESS"
    assert own.failures("alice") == 0


def test_a_damaged_record_is_roots_to_mend(own):
    """Nobody knows whether root has disabled it."""
    own.enroll("alice", RIGHT)
    own.tool("disable", "alice", check=DONE)
    own.record_file("alice").write_bytes(b"\0" * 8192)
    alone(own, "verify", RIGHT, check=UNUSABLE)
    alone(own, "enroll", PASSWORD, NEW, check=UNUSABLE)
    alone(own, "remove", PASSWORD, check=UNUSABLE)
    assert state(own)["state"] == "corrupt" and own.record("alice") == b"\0" * 8192


def test_the_secrets_are_in_no_argument_and_no_environment(own):
    """What the tool starts gets its secrets by the socket alone."""
    own.enroll("alice", RIGHT)
    trace = own.folder / "trace"
    subprocess.run(
        ["strace", "-f", "-v", "-s", "256", "-e", "trace=execve", "-o", trace, TOOL, "verify", "--stdin", "alice"],
        input=f"{RIGHT}\n", text=True, capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    # Each line begins with a process's number.
    assert RIGHT not in re.sub(r"(?m)^\d+ +|si_pid=\d+", "", trace.read_text())
