"""Hosts without root: the module asks the helper, which counts, verifies and answers."""

import subprocess

import pytest

import machine as machines
from bed import SERVICE, become, person, uid
from helper import UNAVAILABLE, VERIFY, ask, fault
from machine import ALICE, HELPER
from scenario import PROMPT, RIGHT, WRONG, asked_once, refused_unasked


def test_right_passcode(own):
    outcome = own.authenticate("alice", RIGHT, **ALICE)
    assert outcome.result == "SUCCESS" and asked_once(outcome) and outcome.messages == []


def test_wrong_passcodes_count_and_lock(own):
    # "2 minutes" stays true for a whole minute: long enough for a slow machine, too.
    own.configure(lockout="3:2m")
    left = ["Wrong passcode, 2 attempts left.", "Wrong passcode, 1 attempt left."]
    for text in left:
        outcome = own.authenticate("alice", WRONG[left.index(text)], **ALICE)
        assert outcome.result == "AUTH_ERR" and outcome.texts == [text]
    own.authenticate("alice", WRONG[2], **ALICE)
    assert own.failures("alice") == 3
    locked = own.authenticate("alice", RIGHT, **ALICE)
    assert refused_unasked(locked, "AUTH_ERR", "Passcode locked (2 minutes left to unlock).")
    assert own.authenticate("alice", RIGHT).result == "AUTH_ERR", "the same count for root's hosts"


def test_success_clears_the_failures(own):
    own.authenticate("alice", WRONG[0], **ALICE)
    assert own.authenticate("alice", RIGHT, **ALICE).result == "SUCCESS"
    assert own.failures("alice") == 0


@pytest.mark.parametrize("typed", ["", "abcd", "04711", "hunter22", "1" * 10_000])
def test_what_is_no_passcode_is_no_attempt(own, typed):
    before = own.record("alice")
    outcome = own.authenticate("alice", typed, **ALICE)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert own.record("alice") == before


def test_not_enrolled(machine):
    assert refused_unasked(machine.authenticate("alice", RIGHT, **ALICE), "USER_UNKNOWN")


def test_disabled(own):
    own.tool("disable", "alice", check=0)
    outcome = own.authenticate("alice", RIGHT, **ALICE)
    assert refused_unasked(outcome, "AUTH_ERR", "Passcode disabled by the administrator.")


@pytest.mark.parametrize("name", ["bob", "root"])
def test_another_users_name_is_refused_without_a_prompt(own, name):
    before = own.record("bob")
    assert refused_unasked(own.authenticate(name, RIGHT, **ALICE), "PERM_DENIED")
    assert own.record("bob") == before


def test_the_record_stays_the_accounts(own):
    own.authenticate("alice", WRONG[0], **ALICE)
    status = own.record_file("alice").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (uid("_passcode"), 0, 0o600)


def test_a_bad_configuration_is_said_so(own):
    own.configure("colour=green")
    assert refused_unasked(own.authenticate("alice", RIGHT, **ALICE), "SERVICE_ERR")


# MARK: What may be wrong with the helper


def unusable(machine, cause, how=ALICE):
    """A refusal without a prompt, and one log line that names the cause."""
    outcome = machine.authenticate("alice", RIGHT, **how)
    assert refused_unasked(outcome, "AUTHINFO_UNAVAIL")
    [line] = [line for line in machine.module_log() if "user=alice" in line.message]
    assert str(HELPER) in line.message and cause in line.message


def test_no_helper(own):
    HELPER.unlink()
    unusable(own, "No such file")


@pytest.mark.parametrize("mode", [0o755, 0o4755, 0o2755, 0o6775, 0o6757])
def test_a_helper_without_its_bits(own, mode):
    machines.install_helper(mode)
    unusable(own, "6755")


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_it_goes_on_with_both_bits_only(own, mode):
    """Whoever starts it doesn't look first."""
    machines.install_helper(mode)
    answer = ask(VERIFY, "alice", user="alice", passcode=RIGHT)
    assert (answer.kind, answer.text[:2]) == (UNAVAILABLE, fault("helperPrivilege")[:2])


@pytest.mark.parametrize("owner", ["root", "alice"])
def test_a_helper_of_somebody_else(own, owner):
    machines.install_helper(owner=owner)
    unusable(own, "6755")


def test_a_link_instead_of_a_helper(own):
    HELPER.rename(HELPER.with_name("elsewhere"))
    HELPER.symlink_to("elsewhere")
    unusable(own, "6755")


def test_real_root_does_not_start_it(own):
    """Whoever took _passcode over can replace it, and would be root by a host that only set its effective uid."""
    unusable(own, "root must not run it", {"prepare": become("root", "alice")})


def test_no_new_privileges(own):
    """As systemd's NoNewPrivileges= has it: the kernel ignores the helper's bits."""
    service = machines.pathlib.Path("/etc/pam.d/locker")
    service.write_text((own.services / SERVICE).read_text())
    try:
        done = subprocess.run(
            ["setpriv", "--no-new-privs", "pamtester", "locker", "alice", "authenticate"],
            input=RIGHT, capture_output=True, text=True, timeout=30, **person("alice"),
        )  # fmt: skip
    finally:
        service.unlink()
    assert done.returncode != 0
    assert any("no_new_privs" in line.message for line in own.log())


@pytest.mark.parametrize(
    "program, cause",
    [
        ("exit 0", "without a reply"),
        ("kill -9 $$", "without a reply"),
        ("printf '\\001\\001' >&0", "invalid reply"),
        ("head -c 3000 /dev/zero >&0", "invalid reply"),
        ("head -c 100000000 /dev/zero >&0", "invalid reply"),
        ("{ printf '\\001\\001'; head -c 41 /dev/zero; } >&0", "invalid reply"),
        ("{ printf '\\001\\001'; head -c 40 /dev/zero; } >&0", "invalid reply"),
    ],
    ids=["silent", "killed", "torn", "zeros", "flood", "longer", "granted unasked"],
)
def test_a_lying_helper(own, program, cause):
    """To a look, `granted` makes no sense either. (A script can't be setuid; its bits are all that is looked at.)"""
    HELPER.write_text(f"#!/bin/sh\nhead -c 10 >/dev/null\n{program}\n")
    machines.shutil.chown(HELPER, "_passcode", "_passcode")
    HELPER.chmod(0o6755)
    unusable(own, cause)


def test_by_hand_it_says_what_it_is(own):
    done = subprocess.run([HELPER], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    assert done.returncode == 1 and "not by hand" in done.stderr


def test_the_prompt_is_the_configured_one(own):
    own.configure(prompt="Code?")
    assert own.authenticate("alice", RIGHT, **ALICE).prompts == ["Code? "] != [PROMPT]
