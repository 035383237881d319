"""The built module, called by the real libpam: result, messages, and how often it asked."""

import os
import re
import shutil
import socket
import subprocess

import pexpect
import pytest

import host
from bed import SERVICE, become, person, uid
from pam import FAILS, NO_ANSWERS, NULL
from scenario import PROMPT, RIGHT, WRONG, asked_once, fail, refused_unasked


@pytest.mark.parametrize("code", ["1593", "0471", "0000", "9999", "159371", "004711", "000000"])
def test_right_passcode(bed, code):
    bed.enroll("alice", code)
    outcome = bed.authenticate("alice", code)
    assert outcome.result == "SUCCESS" and asked_once(outcome) and outcome.messages == []


@pytest.mark.parametrize("nearly", ["4710", "0472", "1471", "0471"[::-1], "4711"])
def test_wrong_passcode(alice, nearly):
    outcome = alice.authenticate("alice", nearly)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert outcome.messages == [["TEXT_INFO", "Wrong passcode, 2 attempts left."]]
    assert alice.failures("alice") == 1


@pytest.mark.parametrize("enrolled, other", [("0471", "004710"), ("0471", "047100"), ("004711", "0047")])
def test_the_other_length_is_an_attempt_like_any_other(bed, enrolled, other):
    bed.enroll("alice", enrolled)
    outcome = bed.authenticate("alice", other)
    assert outcome.result == "AUTH_ERR" and outcome.texts == ["Wrong passcode, 2 attempts left."]
    assert bed.failures("alice") == 1


def test_success_clears_the_failures(alice):
    fail(alice, 2)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    assert alice.failures("alice") == 0


@pytest.mark.parametrize(
    "typed",
    [
        "", "0", "047", "04711", "0471123", "abcd", "047a", " 0471", "0471 ", "0471\n", "0471\r", "-471", "+471", "4.71",
        "0x1f", "٤", "٠٤٧١", "４", "０４７１", "٤٤", "correct horse battery staple", b"\xff\xfe\xfd\xfc", "1" * 513,
        "1" * 10_000, b"\xff" * 10_000,
    ],
    ids=lambda typed: repr(typed[:12]) + ("..." if len(typed) > 12 else ""),
)  # fmt: skip
def test_what_is_no_passcode_is_no_attempt(alice, typed):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", typed)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome) and outcome.messages == []
    assert alice.record("alice") == before


@pytest.mark.parametrize("answer", [FAILS, NULL, NO_ANSWERS], ids=["error", "NULL", "no answers"])
def test_a_failed_conversation_is_no_attempt(alice, answer):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", answer)
    assert outcome.result == "CONV_ERR" and asked_once(outcome) and outcome.messages == []
    assert alice.record("alice") == before


def test_one_handle_can_be_used_again(alice):
    outcome = alice.authenticate("alice", WRONG[0], "", RIGHT, calls=["authenticate"] * 3)
    assert outcome.results == ["AUTH_ERR", "AUTH_ERR", "SUCCESS"] and outcome.prompts == [PROMPT] * 3


def test_setcred_succeeds(alice):
    assert alice.authenticate("alice", RIGHT, calls=["authenticate", "setcred"]).results == ["SUCCESS"] * 2


# MARK: Who, and from where


def test_not_enrolled(alice):
    assert refused_unasked(alice.authenticate("bob", RIGHT), "USER_UNKNOWN")


def test_unknown_user(alice):
    for name in ["nosuchuser", "alice ", "ALICE", "../alice", "a" * 300, "alice\nbob", "\udcff"]:
        assert refused_unasked(alice.authenticate(name, RIGHT), "USER_UNKNOWN")


def test_removed(alice):
    alice.tool("remove", "alice", check=0)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "USER_UNKNOWN")


def test_nullok_ignores_the_not_enrolled_and_nobody_else(alice):
    stack = "auth [ignore=1 default=die] {module}\nauth requisite pam_deny.so\nauth required pam_permit.so"
    alice.service("nullok", stack=stack)
    assert refused_unasked(alice.authenticate("bob"), "SUCCESS")
    assert alice.authenticate("alice", WRONG[0]).result == "AUTH_ERR"
    assert alice.authenticate("alice", FAILS).result == "CONV_ERR"
    assert alice.authenticate("alice", items={"RHOST": "192.0.2.1"}).result == "PERM_DENIED"
    alice.key.unlink()
    assert alice.authenticate("alice", RIGHT).result == "AUTHINFO_UNAVAIL"


@pytest.mark.parametrize(
    "real, requester, result",
    [
        ("root", None, "SUCCESS"),
        ("root", "root", "SUCCESS"),
        ("root", "alice", "SUCCESS"),
        ("alice", None, "SUCCESS"),
        ("alice", "alice", "SUCCESS"),
        ("alice", "root", "SUCCESS"),
        ("root", "bob", "PERM_DENIED"),
        ("root", "nosuchuser", "PERM_DENIED"),
        ("bob", None, "PERM_DENIED"),
        ("bob", "bob", "PERM_DENIED"),
        ("bob", "alice", "PERM_DENIED"),
        ("bob", "root", "PERM_DENIED"),
        ("alice", "bob", "PERM_DENIED"),
    ],
)
def test_only_for_ones_own_account_or_by_real_root(alice, real, requester, result):
    """The real uid decides, whatever the effective one: this is sudo, su or a setuid agent."""
    before = alice.record("alice")
    items = {"RUSER": requester} if requester else {}
    outcome = alice.authenticate("alice", RIGHT, items=items, prepare=become(real, "root", "root"))
    assert outcome.result == result and outcome.messages == []
    assert outcome.prompts == ([PROMPT] if result == "SUCCESS" else [])
    assert (alice.record("alice") == before) == (result != "SUCCESS")


def connected_by(name):
    """For `prepare`: standard input is a connection that this person made."""

    def prepare():
        os.seteuid(uid(name))
        ends = socket.socketpair()
        os.seteuid(0)
        os.dup2(ends[0].detach(), 0)
        ends[1].detach()

    return prepare


@pytest.mark.parametrize(
    "service, connected, result",
    [
        ("polkit-1", "alice", "SUCCESS"),
        ("polkit-1", "root", "PERM_DENIED"),  # pkexec, asking on a terminal for whoever started it
        ("polkit-1", "bob", "PERM_DENIED"),
        ("su", "bob", "SUCCESS"),  # only of polkit is it known who is there
    ],
)
def test_polkit_s_helper_asks_for_whoever_connected(alice, service, connected, result):
    """Since polkit 127 it is root's, serves everybody on this machine, and has the account itself for PAM_RUSER."""
    shutil.copy(alice.services / SERVICE, alice.services / service)
    items = {"SERVICE": service, "RUSER": "alice"}
    outcome = alice.authenticate("alice", RIGHT, items=items, prepare=connected_by(connected))
    assert outcome.result == result
    assert outcome.prompts == ([PROMPT] if result == "SUCCESS" else [])


# Besides the host itself: a label in place of a terminal, and root's programs that tell nothing at all.
REMOTE = [
    {"RHOST": "192.0.2.1"}, {"RHOST": "localhost"}, {"TTY": "ssh"}, {"TTY": SERVICE}, {"TTY": None}, {"TTY": ""},
    {"TTY": "dovecot"},
]  # fmt: skip


@pytest.mark.parametrize("items", REMOTE, ids=str)
def test_remote_callers_are_refused_unless_allowed(alice, items):
    assert refused_unasked(alice.authenticate("alice", RIGHT, items=items), "PERM_DENIED")
    alice.service("remote=allow")
    assert alice.authenticate("alice", RIGHT, items=items).result == "SUCCESS"
    alice.service("remote=deny")
    alice.configure(remote="allow")
    assert refused_unasked(alice.authenticate("alice", RIGHT, items=items), "PERM_DENIED")


@pytest.mark.parametrize("items", [{"SERVICE": "ppp"}, {"SERVICE": "greetd", "TTY": None}], ids=str)
def test_services_that_are_remote(alice, items):
    """pppd names a terminal; and whoever isn't greetd may give its name to saslauthd."""
    shutil.copy(alice.services / SERVICE, alice.services / items["SERVICE"])
    assert refused_unasked(alice.authenticate("alice", RIGHT, items=items), "PERM_DENIED")


LOCAL = [
    {"RHOST": ""}, {"TTY": "/dev/tty1"}, {"TTY": ":0"}, {"TTY": "pts/ptmx"}, {"TTY": None, "XDISPLAY": ":0"},
    {"TTY": None, "RUSER": "alice"}, {"TTY": "", "RUSER": "root"},
]  # fmt: skip


@pytest.mark.parametrize("items", LOCAL, ids=str)
def test_local_callers_are_not_remote(alice, items):
    assert alice.authenticate("alice", RIGHT, items=items).result == "SUCCESS"


def test_a_terminal_that_is_merely_named_proves_nothing(alice):
    """A program of root's that isn't in Broker's table, and names nobody: it serves anyone who found it."""
    shutil.copy(alice.services / SERVICE, alice.services / "su")
    for name in ("tty1", "/dev/tty1", ":0"):
        outcome = alice.authenticate("alice", RIGHT, items={"SERVICE": "su", "TTY": name, "RUSER": None})
        assert refused_unasked(outcome, "PERM_DENIED")
    shutil.copy(alice.services / SERVICE, "/etc/pam.d/backup")  # a copy of /etc
    for name, is_own in (("$(tty)", True), ("/dev/ptmx", False), ("/dev/null", False)):
        command = f"exec pamtester -I tty={name} backup alice authenticate"
        child = pexpect.spawn("sh", ["-c", command], encoding="utf-8", timeout=30)
        if is_own:
            child.expect(re.escape(PROMPT))
            child.sendline(RIGHT)
        child.expect(pexpect.EOF)
        child.close()
        assert (child.exitstatus == 0) == is_own, child.before


def test_a_person_s_own_program_needs_no_terminal(own):
    """A screen locker."""
    outcome = own.authenticate("alice", RIGHT, items={"TTY": None}, prepare=become("alice"))
    assert outcome.result == "SUCCESS"


def test_a_person_may_try_it_in_a_store_of_their_own(make_bed):
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    assert bed.authenticate("alice", RIGHT, prepare=become("alice")).result == "SUCCESS"
    assert bed.authenticate("alice", WRONG[0], prepare=become("alice")).texts == [
        "Wrong passcode, 2 attempts left."
    ]
    assert bed.authenticate("bob", RIGHT, prepare=become("alice")).result == "PERM_DENIED"


def test_a_person_cannot_use_roots_store(alice):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", RIGHT, prepare=become("alice"))
    assert outcome.result in ("AUTHINFO_UNAVAIL", "SERVICE_ERR") and outcome.prompts == []
    assert alice.record("alice") == before


def test_borrowed_privilege_cannot_name_a_configuration(make_bed):
    bed = make_bed(owner="carol")
    bed.enroll("carol", RIGHT)
    outcome = bed.authenticate("alice", RIGHT, prepare=become("alice", "carol", "carol"))
    assert refused_unasked(outcome, "SERVICE_ERR")


@pytest.mark.parametrize("saved", ["root", "carol"])
def test_privilege_that_is_laid_aside_cannot_name_one_either(make_bed, saved):
    """Real and effective uid are alice's, but the process can become somebody else again."""
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    outcome = bed.authenticate("alice", RIGHT, prepare=become("alice", "alice", saved))
    assert refused_unasked(outcome, "SERVICE_ERR")


@pytest.mark.parametrize("mode, result", [(0o755, "SUCCESS"), (0o2755, "SERVICE_ERR")], ids=["0755", "2755"])
def test_a_setgid_program_cannot_name_one_either(make_bed, mode, result):
    """All its uids are alice's: only the kernel knows that it has more than she has (AT_SECURE)."""
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    program, *arguments = host.one(bed, RIGHT)
    copy = shutil.copy(program, f"{program}-{mode:o}")
    shutil.chown(copy, "root", "bob")
    os.chmod(copy, mode)
    done = subprocess.run([copy, *arguments], capture_output=True, timeout=30, **person("alice"))
    assert host.named(done.stdout) == [result]


def test_a_name_asked_for_by_libpam(alice):
    outcome = alice.authenticate(None, "alice", RIGHT)
    assert outcome.result == "SUCCESS" and outcome.prompts[1:] == [PROMPT]


# MARK: What stays behind


HAND_ON = "auth optional {module}\nauth required pam_exec.so quiet expose_authtok {probe}"
HANDED = "auth required pam_exec.so quiet expose_authtok /bin/true\n" + HAND_ON


def probe(bed):
    """A program for pam_exec that keeps the token it is given."""
    program = bed.folder / "probe"
    program.write_text(f"#!/bin/sh\ncat >{bed.folder}/token\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("typed", [RIGHT, WRONG[0], "", "hunter22", "04711"])
def test_nothing_is_left_in_the_token(alice, typed):
    """pam_exec asks for itself where no module before it left a token."""
    alice.service(stack=HAND_ON.replace("{probe}", str(probe(alice))))
    outcome = alice.authenticate("alice", typed, "the password")
    assert outcome.prompts == [PROMPT, "Password: "]
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == b"the password"


@pytest.mark.parametrize("typed", [RIGHT, WRONG[0], "", "hunter22"])
def test_an_earlier_modules_token_stays(alice, typed):
    alice.service(stack=HANDED.replace("{probe}", str(probe(alice))))
    outcome = alice.authenticate("alice", "the password", typed)
    assert outcome.prompts == ["Password: ", PROMPT]
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == b"the password"
