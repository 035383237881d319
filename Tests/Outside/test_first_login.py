"""first_login=deny: after a boot, a login by other means comes first."""

import contextlib
import shutil
import subprocess

import pytest

import host
import machine as machines
import pam
import strace
from bed import SERVICE, become, uid
from helper import A_RUN, ENROLL, ask
from machine import ALICE, RUN
from process import wait_for
from scenario import PASSWORD, RIGHT, WRONG, refused_unasked
from tool import DONE, alone

FIRST = "Log in with your password first."
# What stands after the module lets everybody in: a password, as far as these tests go.
STACK = "auth sufficient {module}\nauth required pam_permit.so\nsession optional {module}"
LOGIN = ["authenticate", "open_session", "close_session"]


@pytest.fixture
def own(machine):
    machine.enroll("alice", RIGHT)
    machine.configure(first_login="deny")
    machine.service(stack=STACK)
    return machine


def waits(bed, user="alice", **how):
    """The passcode is refused, and without a prompt."""
    bed.service()
    refused = bed.authenticate(user, RIGHT, **how)
    bed.service(stack=STACK)
    return refused_unasked(refused, "PERM_DENIED", FIRST)


def works(bed, **how):
    """The module alone grants."""
    bed.service()
    outcome = bed.authenticate("alice", RIGHT, **how)
    bed.service(stack=STACK)
    return outcome.result == "SUCCESS"


def log_in(bed, user="alice", calls=LOGIN, **how):
    outcome = bed.authenticate(user, calls=calls, **how)
    assert outcome.results == ["SUCCESS"] * len(calls)


@pytest.mark.parametrize("by", [{}, ALICE], ids=["root", "alice"])
def test_a_login_by_other_means_comes_first(own, by):
    assert waits(own, **by)
    log_in(own)
    assert works(own, **by)
    RUN.joinpath(f"{uid('alice')}.login").unlink()  # as a boot does
    assert waits(own, **by)


def test_without_the_option_nobody_waits(own):
    own.configure(first_login="allow")
    assert works(own)


def test_a_module_line_may_say_it(own):
    own.configure(first_login="allow")
    own.service("first_login=deny")
    assert refused_unasked(own.authenticate("alice", RIGHT), "PERM_DENIED", FIRST)


def test_who_is_not_enrolled_or_locked_gets_the_mark_all_the_same(own):
    own.tool("remove", "alice", check=DONE)
    log_in(own)
    own.enroll("alice", RIGHT)
    assert works(own)


@pytest.mark.parametrize(
    "calls", [["open_session"], ["setcred", "open_session"]], ids=["cron, lingering", "autologin"]
)
def test_a_session_without_our_refusal_sets_no_mark(own, calls):
    log_in(own, calls=calls)
    assert waits(own)


@pytest.mark.parametrize("requester", ["alice", "root"])
def test_a_session_on_somebodys_behalf_sets_no_mark(own, requester):
    """sudo and su say by PAM_RUSER who asks."""
    log_in(own, items={"RUSER": requester})
    assert waits(own)


def test_a_session_of_another_account_sets_no_mark(own):
    own.enroll("bob", RIGHT)

    outcome = machines.pam_run_switched(own, "alice", "bob")
    assert outcome == ["SUCCESS", "SUCCESS"]
    assert waits(own) and waits(own, "bob")


def test_a_refused_login_without_a_session_sets_no_mark(own):
    log_in(own, calls=["authenticate"])
    assert waits(own)


def test_a_person_cannot_set_it_alone(own):
    log_in(own, **ALICE)
    assert waits(own)


@pytest.mark.parametrize("mode", [0o700, 0o000], ids=oct)
def test_a_runtime_directory_whose_maker_was_killed_is_put_right(own, mode):
    """Between mkdir and chown it is root's, and the helper sees no mark in it; with a strange umask nobody else may."""
    shutil.rmtree(RUN)
    RUN.mkdir()
    RUN.chmod(mode)
    assert waits(own, **ALICE)
    log_in(own)
    assert works(own, **ALICE)
    status = RUN.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (uid(machines.ACCOUNT), 0, 0o700)


def test_whoever_finds_that_another_was_faster_to_make_the_runtime_directory_uses_that(own, tmp_path):
    own.configure(first_login="allow")
    own.service()
    shutil.rmtree(RUN)
    trace = tmp_path / "trace"
    slow = strace.record(trace, "-e", "trace=openat,mkdir,mkdirat", "-e", "inject=?mkdir,?mkdirat:delay_enter=3000000")
    login = subprocess.Popen([*slow, *host.one(own, WRONG[0])], stdout=subprocess.PIPE)
    wait_for(lambda: trace.exists() and f'"{RUN}", ' in trace.read_text())
    RUN.mkdir(0o700)
    assert host.named(login.communicate()[0]) == ["AUTH_ERR"]
    assert "EEXIST" in trace.read_text()
    assert (RUN / str(uid("alice"))).exists(), "the last wrong passcode is kept"


@contextlib.contextmanager
def full_run():
    """No file can be made in the runtime directory."""
    options = f"nr_inodes=1,mode=0700,uid={uid(machines.ACCOUNT)}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", RUN], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", RUN], check=True)


@pytest.mark.parametrize("calls", [["open_session"], []], ids=["opened", "never opened"])
def test_a_mark_that_could_not_be_set_is_set_when_that_session_ends(own, calls):
    outcome = pam.Outcome()
    handle = pam.Handle(SERVICE, "alice", own.services, [], outcome)
    handle.call("authenticate")
    with full_run():
        for call in calls:
            handle.call(call)
        assert waits(own)
    assert waits(own)
    handle.call("close_session")
    handle.end()
    assert outcome.results == ["SUCCESS"] * (2 + len(calls))
    assert works(own) == bool(calls)


def test_a_mark_that_could_not_be_set_is_set_by_the_next_login(own):
    with full_run():
        log_in(own)
        assert waits(own)
    log_in(own)
    assert works(own)


def test_an_enrolment_that_proved_the_password_sets_it(own):
    machines.set_password("alice")
    own.typed.add(PASSWORD)
    assert waits(own)
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    assert works(own, **ALICE)


def test_an_enrolment_that_was_refused_does_not(own):
    """The password was right, and the passcode weak."""
    machines.set_password("alice")
    own.typed.add(PASSWORD)
    own.configure(weak="refuse")
    assert ask(ENROLL, "alice", user="alice", new="1234", password=PASSWORD).refuses(A_RUN)
    assert waits(own) and waits(own, **ALICE)


def test_an_enrolment_by_root_does_not(own):
    own.enroll("alice", RIGHT)
    assert waits(own)


@pytest.mark.parametrize("harm", ["link", "folder", "open to all", "gone"])
def test_what_cannot_be_trusted_is_no_mark(own, harm):
    log_in(own)
    mark = RUN / f"{uid('alice')}.login"
    assert mark.stat().st_size == 0
    if harm == "link":
        mark.rename(mark.with_name("elsewhere"))
        mark.symlink_to("elsewhere")
    elif harm == "folder":
        mark.unlink()
        mark.mkdir()
    elif harm == "open to all":
        RUN.chmod(0o2777)
    else:
        RUN.rename(own.folder / "run")
    assert waits(own) and waits(own, **ALICE)
    if harm == "gone":
        log_in(own)  # root's caller makes it
        assert works(own, **ALICE)
        machines.shutil.rmtree(own.folder / "run")


def test_sessions_succeed_whatever_is_wrong(own):
    own.configure("colour=green")
    own.service(stack="auth required pam_permit.so\nsession required {module}")
    log_in(own)
    RUN.chmod(0)
    log_in(own, prepare=become("alice"))
