"""A pause, and `password_every`: the passcode opens nothing until the password was proven."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import time

import pytest

import host
import machine
import pam
from bed import SERVICE, become, person, uid
from clock import by_wall_clock, later
from helper import (
    CHANGE, DONE_IT, FORBIDDEN, PAUSE, PROVE, REMOVE, RESUME, VERIFY, WRONG_PASSWORD, ask, converse, reply, request,
)  # fmt: skip
from machine import ALICE, ACCOUNT, RUN
from messages import TREE
from pam import SILENT
from process import wait_for
from scenario import NEW, PASSWORD, PROVEN as STACK, RIGHT, WRONG, refused_unasked
from tool import DONE, LOCKED, NOT_ENROLLED, NOT_PERMITTED, WRONG_CODE, alone, listed

PAUSED = "Passcode paused. Use your password."
DUE = "Use your password this time. It is required from time to time."
# pam_unix only asks, and something else lets everybody in, as a fingerprint does.
OTHERS = (
    "auth [success=3 auth_err=die conv_err=die default=ignore] {module} either\n"
    "auth [default=ignore] pam_unix.so nodelay try_first_pass\n"
    "auth [success=1 default=ignore] pam_permit.so\n"
    "auth requisite pam_deny.so\n"
    "auth required pam_permit.so\n"
    "auth optional {module} proven"
)
BY = pytest.mark.parametrize("by", [{}, ALICE], ids=["root", "alice"])


@pytest.fixture(scope="module", autouse=True)
def tool():
    with machine.installed_tool() as path:
        yield path


@pytest.fixture
def own(with_passwords):
    with_passwords.enroll("alice", RIGHT)
    return with_passwords


def pause(bed, user="alice"):
    assert "Passcode paused for alice." in bed.tool("pause", "alice", user=user, check=DONE).output


def forget_tries():
    """As a minute later."""
    (RUN / f"{uid('alice')}.passwords").unlink(missing_ok=True)


def is_refused(bed, text=PAUSED, **how):
    bed.service()
    return refused_unasked(bed.authenticate("alice", RIGHT, **how), "PERM_DENIED", text)


def works(bed, **how):
    bed.service()
    return bed.authenticate("alice", RIGHT, **how).result == "SUCCESS"


def state(bed):
    return bed.status("alice")["state"]


def log_in(bed, secret, stack=STACK, **how):
    """Whether the stack lets alice in, with one answer."""
    bed.service(stack=stack)
    return bed.authenticate("alice", secret, **how).result == "SUCCESS"


@BY
@pytest.mark.parametrize("who", ["root", "alice"])
def test_a_paused_passcode_opens_nothing_until_the_password_resumes_it(own, who, by):
    pause(own, who)
    assert is_refused(own, **by) and state(own) == "paused"
    assert "state: paused; to end the pause: passcode resume" in own.tool("status", "alice", user=who, check=DONE).output
    for command in ("verify", "change"):
        told = alone(own, command, RIGHT, check=LOCKED).errors
        assert told == "passcode: paused; to end the pause: passcode resume alice\n"
    alone(own, "resume", WRONG[0], check=WRONG_CODE)
    alone(own, "resume", RIGHT, check=WRONG_CODE)
    assert is_refused(own, **by) and own.failures("alice") == 0
    alone(own, "resume", PASSWORD, check=DONE)
    assert works(own, **by) and state(own) == "ok"
    said = [line.message for line in own.log()]
    assert any("passcode paused user=alice" in line for line in said)
    assert any("passcode resumed user=alice" in line for line in said)


def test_a_pause_outlives_a_boot_and_root_ends_it(own):
    pause(own)
    for file in RUN.iterdir():
        file.unlink()
    assert is_refused(own)
    assert "Passcode resumed for alice." in own.tool("resume", "alice", check=DONE).output
    assert "isn't paused" in own.tool("resume", "alice", check=DONE).output
    assert works(own)


def test_it_is_told_what_is_so_already(own):
    pause(own)
    assert "already paused" in own.tool("pause", user="alice", check=DONE).output
    alone(own, "resume", PASSWORD, check=DONE)
    assert "isn't paused" in own.tool("resume", user="alice", check=DONE).output
    own.tool("pause", "bob", check=NOT_ENROLLED)


def test_nobody_pauses_or_resumes_another(own):
    own.tool("pause", "alice", user="bob", check=NOT_PERMITTED)
    assert ask(PAUSE, about="alice", user="bob").kind == FORBIDDEN
    pause(own)
    assert ask(RESUME, about="alice", user="bob", password=PASSWORD).kind == FORBIDDEN
    assert ask(RESUME, about="alice", user="alice", password="x").kind == WRONG_PASSWORD
    assert is_refused(own)
    assert ask(RESUME, about="alice", user="alice", password=PASSWORD).kind == DONE_IT
    assert works(own)


def test_both_copies_are_of_a_version_that_older_packages_refuse(own):
    def versions():
        whole = own.record("alice")
        return [whole[start:].split(b"\n", 1)[0] for start in (0, 4_096)]

    assert versions() == [b"passcode_record=2"] * 2
    pause(own)
    assert versions() == [b"passcode_record=3"] * 2
    own.tool("resume", "alice", check=DONE)
    assert versions() == [b"passcode_record=2"] * 2


def test_disabled_and_paused_are_two_things(own):
    pause(own)
    own.tool("disable", "alice", check=DONE)
    assert state(own) == "disabled" and is_refused_as_disabled(own)
    own.tool("enable", "alice", check=DONE)
    assert is_refused(own)
    own.tool("disable", "alice", check=DONE)
    own.tool("resume", "alice", check=DONE)
    assert is_refused_as_disabled(own)
    own.tool("enable", "alice", check=DONE)
    assert works(own)


def is_refused_as_disabled(bed):
    bed.service()
    return bed.authenticate("alice", RIGHT).texts == ["Passcode disabled by the administrator."]


def test_the_old_passcode_ends_no_pause_but_the_password_does(own):
    pause(own)
    alone(own, "change", RIGHT, NEW, check=LOCKED)
    alone(own, "remove", RIGHT, check=WRONG_CODE)
    assert is_refused(own)
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    assert works(own)


def test_the_password_ends_it_where_it_may_set_no_passcode(own):
    own.configure(self_enroll="no")
    pause(own, "alice")
    alone(own, "unlock", PASSWORD, check=NOT_PERMITTED)
    alone(own, "resume", PASSWORD, check=DONE)
    assert works(own)


def test_beside_a_second_factor_there_is_no_pause(own):
    """The password opens nothing alone there, and would end no pause."""
    own.configure(second_factor="yes")
    for user in ("root", "alice"):
        answer = own.tool("pause", "alice", user=user, check=NOT_PERMITTED)
        assert "passcode disable" in answer.errors
    assert ask(PAUSE, about="alice", user="alice").kind == 20
    assert state(own) == "ok"


def test_a_list_is_paused_and_resumed(own):
    own.enroll("bob", RIGHT)
    own.tool("pause", "--batch", "-", stdin="alice\nbob\n", check=DONE)
    assert listed(own) == ["alice", "bob"] and state(own) == "paused" and own.status("bob")["state"] == "paused"
    own.tool("resume", "--batch", "-", stdin="alice\nbob\n", check=DONE)
    assert state(own) == "ok" and own.status("bob")["state"] == "ok"


def test_systemd_finds_no_fault_with_the_example_for_suspending(own, tmp_path):
    """And what it starts pauses her passcode."""
    example = TREE / "debian/examples/passcode-pause-on-suspend@.service"
    unit = tmp_path / "passcode-pause-on-suspend@alice.service"
    unit.write_bytes(example.read_bytes())
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    [command] = re.findall("^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    words = command.replace("%i", "alice").split()
    assert subprocess.run(words, capture_output=True).returncode == 0 and state(own) == "paused"


# MARK: The proof


@BY
def test_a_login_by_the_password_ends_a_pause(own, by):
    pause(own)
    assert not log_in(own, WRONG[0], **by) and state(own) == "paused"
    # It was checked once, by the stack: the line comes after it.
    checks = [line.message for line in own.log() if re.search(r"pam_unix\(\w+:auth\): auth", line.message)]
    assert len(checks) == 1 and f"pam_unix({SERVICE}:auth)" in checks[0], checks
    assert log_in(own, PASSWORD, **by) and state(own) == "ok"
    assert log_in(own, RIGHT, **by)


@BY
def test_so_does_one_at_the_prompt_that_stands_in_for_hidden_notices(own, by):
    """As sudo's, which takes the password."""
    pause(own)
    own.service(stack=STACK)
    outcome = own.authenticate("alice", PASSWORD, flags=SILENT, items={"RUSER": "alice"}, **by)
    assert outcome.result == "SUCCESS" and outcome.prompts == ["Passcode paused. Password: "]
    assert state(own) == "ok"


@BY
def test_a_login_by_the_password_is_this_boot_s_first_login(own, by):
    """Of a locker, too, which opens no session."""
    own.configure(first_login="deny")
    assert not works(own, **by)
    assert log_in(own, PASSWORD, **by)
    assert works(own, **by)


@BY
@pytest.mark.parametrize("typed", [RIGHT + "x", PASSWORD + " ", "x" * 512, ""], ids=["other", "nearly", "long", "nothing"])
def test_another_module_s_word_is_no_proof(own, by, typed):
    """Whatever was typed isn't her password."""
    own.configure(first_login="deny")
    pause(own)
    assert log_in(own, typed, OTHERS, **by)
    assert state(own) == "paused" and is_refused(own, "Log in with your password first.", **by)


@BY
def test_who_is_let_in_without_a_password_ends_no_pause(own, by):
    """By a key, or as a member of a group that needs none: nothing was typed."""
    pause(own)
    own.service(stack="auth [default=ignore] {module}\nauth required pam_permit.so\nauth optional {module} proven")
    outcome = own.authenticate("alice", **by)
    assert (outcome.result, outcome.prompts, state(own)) == ("SUCCESS", [], "paused")


def test_a_session_is_a_first_login_and_no_proof(own):
    own.configure(first_login="deny", password_every="1h", finger_for="1h")
    pause(own)
    own.service(stack="auth sufficient {module}\nauth required pam_permit.so\nsession optional {module}")
    assert own.authenticate("alice", calls=["authenticate", "open_session"]).results == ["SUCCESS"] * 2
    assert {file.suffix for file in RUN.glob(f"{uid('alice')}.*")} & {".login", ".proof", ".use"} == {".login"}
    assert state(own) == "paused" and is_refused(own)


@BY
def test_the_password_is_checked_only_where_it_ends_something(own, by):
    """Else a typing error would count twice where pam_faillock or a directory counts."""
    for paused in (False, True):
        if paused:
            pause(own)
        assert log_in(own, "anything", OTHERS, **by)
        checked = [line for line in own.log() if "passcode: wrong password" in line.message]
        assert len(checked) == paused and (state(own) == "paused") == paused


def test_a_proof_without_its_service_is_none_and_lets_in_all_the_same(own):
    pause(own)
    machine.PROOF.unlink()
    assert log_in(own, PASSWORD) and state(own) == "paused"
    assert any("/etc/pam.d/passcode" in line.message for line in own.log())


def test_the_line_decides_nothing(own):
    """PAM_IGNORE: alone it lets nobody in."""
    pause(own)
    for line in ("auth required {module} proven", "auth sufficient {module} proven"):
        own.service(stack=line)
        outcome = own.authenticate("alice", PASSWORD)
        assert outcome.result != "SUCCESS" and outcome.prompts == []
    own.service(stack="auth required pam_deny.so\nauth sufficient {module} proven")
    assert own.authenticate("alice", PASSWORD).result != "SUCCESS"


# MARK: password_every


def proof():
    return RUN / f"{uid('alice')}.proof"


def prove(milliseconds_ago):
    """Writes the time of a proof as the module does."""
    now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1_000)
    proof().write_bytes(struct.pack("<Q", max(0, now - milliseconds_ago)))
    proof().chmod(0o600)
    subprocess.run(["chown", f"{ACCOUNT}:root", proof()], check=True)


@BY
def test_after_that_time_the_passcode_waits_for_the_password(own, by):
    own.configure(password_every="1h")
    assert is_refused(own, DUE, **by)
    assert log_in(own, PASSWORD, **by)
    assert works(own, **by)
    proof().unlink()  # as a boot does
    assert is_refused(own, DUE, **by)


@pytest.mark.parametrize("option", [{"password_every": "1h"}, {"finger": "both"}], ids=["every", "both"])
def test_who_has_no_password_is_told_of_when_enrolled(own, option):
    own.configure(**option)
    told = "passcode: alice has no password: password_every and finger=both need one\n"
    for hash_, note in ("!", told), ("", told), (None, ""):
        if hash_ is None:
            machine.set_password("alice")
        else:
            subprocess.run(["usermod", "-p", hash_, "alice"], check=True)
        for quiet in ([], ["--quiet"]):
            answer = own.tool("enroll", "alice", "--stdin", *quiet, stdin=f"{RIGHT}\n", check=DONE)
            assert answer.errors == ("" if quiet else note)
    own.configure(password_every="never", finger="no")
    subprocess.run(["usermod", "-p", "!", "alice"], check=True)
    assert own.tool("enroll", "alice", "--stdin", stdin=f"{RIGHT}\n", check=DONE).errors == ""


@BY
def test_only_the_time_since_the_proof_counts(own, by):
    own.configure(password_every="1h")
    prove(0)
    for seconds, result in [(3_590, "SUCCESS"), (3_601, "PERM_DENIED")]:
        person = ["setpriv", "--reuid", "alice", "--regid", "alice", "--clear-groups"] if by else []
        done = subprocess.run([*later(seconds), *person, *host.one(own, RIGHT)], capture_output=True, timeout=60)
        assert host.named(done.stdout) == [result]
    prove(-60_000)
    assert is_refused(own, DUE, **by)


@pytest.mark.parametrize("moment", ["1970-01-01 00:00:01", "2106-02-07 06:28:17"])
def test_the_wall_clock_lengthens_and_shortens_nothing(own, moment):
    own.configure(password_every="1h")
    prove(0)
    assert host.results(own, RIGHT, env=by_wall_clock(moment)) == ["SUCCESS"]
    proof().unlink()
    assert host.results(own, RIGHT, env=by_wall_clock(moment)) == ["PERM_DENIED"]


@pytest.mark.parametrize("spoil", ["short", "long", "open", "link", "two names", "pipe", "folder"])
def test_what_can_t_be_trusted_is_no_proof(own, spoil):
    own.configure(password_every="1h")
    prove(0)
    whole = proof().read_bytes()
    if spoil == "short":
        proof().write_bytes(whole[:7])
    elif spoil == "long":
        proof().write_bytes(whole + b"\0")
    elif spoil == "open":
        proof().chmod(0o660)
    elif spoil == "link":
        proof().rename(RUN / "other")
        proof().symlink_to(RUN / "other")
    elif spoil == "two names":
        os.link(proof(), RUN / "other")
    elif spoil == "pipe":
        proof().unlink()
        os.mkfifo(proof(), 0o600)
    else:
        RUN.chmod(0o777)
    assert is_refused(own, DUE)


def test_without_the_option_nothing_is_kept(own):
    pause(own)
    assert log_in(own, PASSWORD) and works(own)
    assert not proof().exists()


def test_the_password_of_an_enrolment_is_a_proof(own):
    own.configure(password_every="30d")
    alone(own, "enroll", PASSWORD, RIGHT, check=DONE)
    assert works(own)


def test_a_second_factor_has_the_password_each_time(own):
    own.configure(password_every="1h", second_factor="yes")
    assert works(own)


# MARK: Attacks


# After the password-or-passcode prompt that stands in for notices, as of a locker that hides them.
QUIET = {"flags": SILENT, "items": {"RUSER": "alice"}}


@BY
def test_a_passcode_at_that_prompt_ends_nothing(own, by):
    pause(own)
    own.service(stack=STACK)
    assert own.authenticate("alice", RIGHT, **QUIET, **by).result != "SUCCESS"
    assert state(own) == "paused" and is_refused(own, **by)


@pytest.mark.parametrize("words", ["proven", "quiet proven", "proven either", "conf=/nothing proven"])
def test_the_line_asks_for_nothing_wherever_its_word_stands(own, words):
    own.service(stack=f"auth optional {{module}} {words}\nauth required pam_permit.so")
    outcome = own.authenticate("alice", RIGHT)
    assert outcome.prompts == [] and outcome.messages == [] and outcome.result == "SUCCESS"


def test_a_refusal_of_an_earlier_call_is_no_reason_to_check(own):
    """One handle: she is refused, then root ends the pause, and what is typed next isn't checked once more."""
    pause(own)
    own.service(stack=OTHERS)
    outcome = pam.Outcome()
    handle = pam.Handle(SERVICE, "alice", own.services, [pam.FAILS, "anything"], outcome)
    own.service(stack="auth required {module} either")
    handle.call("authenticate")
    own.tool("resume", "alice", check=DONE)
    handle.call("authenticate")
    handle.end()
    assert not any("wrong password" in line.message for line in own.log())


def test_another_s_password_ends_no_pause(own):
    """PAM_USER becomes bob's while the password is typed."""
    machine.set_password("bob", "bob's own password")
    own.enroll("bob", RIGHT)
    pause(own)
    own.tool("pause", "bob", check=DONE)

    def switch(handle):
        handle.set("USER", "bob")
        return PASSWORD

    own.service(stack=OTHERS)
    own.authenticate("alice", switch)
    assert state(own) == "paused" and own.status("bob")["state"] == "paused"
    assert log_in(own, "bob's own password", OTHERS)
    assert state(own) == "paused"


@BY
def test_a_blank_password_ends_no_pause(own, by):
    """pam_unix lets such an account in unasked, where it may: nothing was proven."""
    subprocess.run(["passwd", "-q", "-d", "alice"], check=True)
    pause(own)
    for options in ("", " nullok"):
        machine.PROOF.write_text(f"auth required pam_unix.so nodelay{options}\n")
        for typed in ("", "x", PASSWORD):
            log_in(own, typed, OTHERS, **by)
            forget_tries()
        assert ask(RESUME, about="alice", user="alice", password="x").kind == WRONG_PASSWORD
    assert state(own) == "paused"


@BY
@pytest.mark.parametrize("result", ["success", "authinfo_unavail", "acct_expired", "maxtries", "abort"])
def test_what_the_service_can_t_or_won_t_check_is_no_proof(own, by, result):
    """A directory that doesn't answer, or that refuses the account: nothing changes, and the login goes on."""
    pause(own)
    machine.PROOF.write_text(f"auth required pam_unix.so\nauth required pam_debug.so auth={result}\n")
    assert log_in(own, PASSWORD, **by)
    assert state(own) == ("ok" if result == "success" else "paused")


@pytest.fixture
def expired():
    """The command that sets alice's dates in the shadow database; they are put back."""
    yield lambda *dates: subprocess.run(["chage", *dates, "alice"], check=True)
    subprocess.run(["chage", "-d", "2026-01-01", "-E", "-1", "-I", "-1", "-M", "99999", "alice"], check=True)


@BY
@pytest.mark.parametrize(
    ("dates", "result"),
    [
        (["-d", "0"], "NEW_AUTHTOK_REQD"),
        (["-d", "2026-01-01", "-M", "1"], "NEW_AUTHTOK_REQD"),
        (["-d", "2026-01-01", "-M", "1", "-I", "1"], "AUTHTOK_EXPIRED"),
        (["-E", "2026-01-01"], "ACCT_EXPIRED"),
    ],
    ids=["must-change", "old", "too-old", "account"],
)  # fmt: skip
def test_an_expired_password_or_account_ends_a_pause_and_gets_in_nowhere(own, by, expired, dates, result):
    """It is the account lines that refuse, before and after, the passcode like the password."""
    expired(*dates)
    pause(own)
    own.service(stack=STACK + "\naccount required pam_unix.so")
    both = {"calls": ("authenticate", "acct_mgmt"), **by}
    assert own.authenticate("alice", PASSWORD, **both).results == ["SUCCESS", result]
    assert state(own) == "ok"
    assert own.authenticate("alice", RIGHT, **by).result == "SUCCESS"
    assert own.authenticate("alice", RIGHT, **both).results == ["SUCCESS", result]


@pytest.mark.parametrize(
    "stack",
    [
        "auth required pam_permit.so",
        "auth [default=1] pam_unix.so\nauth required pam_permit.so\nauth required pam_deny.so",
        "auth optional pam_unix.so\nauth required pam_unix.so",
    ],
    ids=["nothing", "jump", "twice"],
)  # fmt: skip
@BY
def test_a_service_that_asks_otherwise_proves_nothing(own, by, stack):
    pause(own)
    machine.PROOF.write_text(stack + "\n")
    assert log_in(own, "not it", OTHERS, **by)
    assert state(own) == "paused"


def test_a_setuid_program_takes_the_proof_of_its_caller(own):
    """As su: the real user is alice, and all that she can give it doesn't matter."""
    pause(own)

    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        become("alice", "root", "root")()

    assert log_in(own, PASSWORD, prepare=prepare)
    assert state(own) == "ok"


def begin_proof(data, tool="/usr/bin/passcode", before=(), **how):
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([*before, tool, "take-proof"], stdin=theirs, cwd="/", **how)
    theirs.close()
    ours.settimeout(20)
    with contextlib.suppress(BrokenPipeError):
        ours.sendall(data)
    return process, ours


def answer(process, ours):
    with contextlib.suppress(OSError):
        ours.shutdown(socket.SHUT_WR)
    try:
        data = b"".join(iter(lambda: ours.recv(4096), b""))
    except ConnectionResetError:
        data = b""
    process.wait(20)
    ours.close()
    return reply(data) if data else None


def test_what_root_s_programs_start_lays_down_what_it_inherits(own):
    """Else a blocked SIGALRM would let it wait for ever, and a descriptor of the program's lead into it."""

    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM})
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    with open("/etc/passwd") as leak:
        process, ours = begin_proof(b"\x01", preexec_fn=prepare, pass_fds=[leak.fileno()], umask=0, env={"LANG": "x"})
        folder = pathlib.Path(f"/proc/{process.pid}")
        # The last that is done.
        wait_for(lambda: "Umask:\t0077" in folder.joinpath("status").read_text())
        said = dict(line.split(":", 1) for line in folder.joinpath("status").read_text().splitlines())
        files = {one.name: os.readlink(one) for one in folder.joinpath("fd").iterdir()}
        limits = folder.joinpath("limits").read_text()
        assert int(said["SigBlk"], 16) == 0 and not int(said["SigIgn"], 16) & 1 << signal.SIGCHLD - 1
        assert "/etc/passwd" not in files.values()
        assert {files["1"], files["2"]} == {"/dev/null"}
        assert "Max file size             unlimited" in limits
        assert answer(process, ours) is None


@pytest.mark.parametrize("disturbed", ["signal=KILL", "error=ENOSPC", "error=EIO"])
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "ftruncate", "fchown", "unlinkat"])
def test_disturbed_at_each_call_it_ends_the_pause_or_not_and_another_proof_does(own, call, disturbed):
    own.configure(password_every="1h")
    seen = []
    for number in range(1, 50):
        own.tool("resume", "alice", check=DONE)
        pause(own)
        for file in RUN.glob(f"{uid('alice')}.*"):
            file.unlink()
        strace = ["strace", "-qq", "-o", own.folder / "trace", "-e", f"trace={call}", "-e", f"inject={call}:{disturbed}:when={number}"]
        answer(*begin_proof(request(RESUME, uid("alice"), password=PASSWORD), before=strace))
        trace = (own.folder / "trace").read_text()
        if "KILL" not in trace and "(INJECTED)" not in trace:
            break
        seen.append(state(own))
        assert seen[-1] in ("ok", "paused")
        assert log_in(own, PASSWORD) and state(own) == "ok" and works(own)
    assert len(seen) < 49 and (call != "pwrite64" or {"ok", "paused"} == set(seen))


@pytest.mark.parametrize("operation", [*range(0, 11), 12, 255])
def test_it_takes_no_other_request(own, operation):
    pause(own)
    before = own.record("alice")
    for secrets in ({"password": PASSWORD}, {"passcode": RIGHT}, {"passcode": RIGHT, "new": NEW}, {"password": PASSWORD, "new": NEW}, {}):
        assert answer(*begin_proof(request(operation, uid("alice"), **secrets))) is None
    assert own.record("alice") == before


def test_it_takes_no_malformed_request(own):
    machine.set_password("bob", "bob's own password")
    pause(own)
    right = request(RESUME, uid("alice"), password=PASSWORD)
    wrong = [
        right[:-1], right + b"x", right[:5], b"", b"\2" + right[1:], request(RESUME, uid("alice")),
        request(RESUME, uid("alice"), passcode=RIGHT), request(RESUME, uid("alice"), password="x" * 5_000),
        request(RESUME, uid("alice"), passcode=RIGHT, password=PASSWORD),
    ]  # fmt: skip
    for data in wrong:
        assert answer(*begin_proof(data)) is None, data
    # Refused, with a reply: a NUL that would cut it, nobody's, another's.
    for data in (
        request(RESUME, uid("alice"), password=PASSWORD + "\0x"),
        request(RESUME, uid("alice"), password=PASSWORD + "\n"),
        request(RESUME, 4_000_000_000, password=PASSWORD),
        request(RESUME, uid("bob"), password=PASSWORD),
    ):
        assert answer(*begin_proof(data)).kind != DONE_IT, data
    assert state(own) == "paused"
    assert answer(*begin_proof(right)).kind == DONE_IT and state(own) == "ok"


def test_it_answers_root_alone(own):
    pause(own)
    assert answer(*begin_proof(request(RESUME, uid("alice"), password=PASSWORD), **person("alice"))) is None
    assert state(own) == "paused"


@pytest.mark.parametrize("spoil", ["another's", "writable", "link"])
def test_no_program_of_others_is_started_for_a_proof(own, tool, spoil, tmp_path):
    pause(own)
    whole = tool.read_bytes()
    try:
        if spoil == "another's":
            os.chown(tool, uid("alice"), 0)
        elif spoil == "writable":
            tool.chmod(0o777)
        else:
            tool.rename(tool.with_name("passcode-real"))
            tool.symlink_to("passcode-real")
        assert log_in(own, PASSWORD)
        assert state(own) == "paused"
    finally:
        tool.unlink()
        tool.with_name("passcode-real").unlink(missing_ok=True)
        tool.write_bytes(whole)
        tool.chmod(0o755)


def test_the_helper_takes_no_malformed_request(own):
    pause(own)
    for data in (
        request(RESUME, uid("alice")), request(RESUME, uid("alice"), passcode=RIGHT),
        request(PAUSE, uid("alice"), password=PASSWORD), request(PAUSE, uid("alice"), passcode=RIGHT),
        request(RESUME, uid("alice"), password=PASSWORD)[:-1], request(RESUME, uid("alice"), password=PASSWORD) + b"x",
    ):  # fmt: skip
        assert converse(data, user="alice") is None, data
    answered = converse(request(RESUME, uid("alice"), password=PASSWORD + "\0x"), user="alice")
    assert answered.kind == WRONG_PASSWORD and state(own) == "paused"


def test_a_paused_passcode_proves_nothing_to_the_helper(own):
    pause(own)
    before = own.record("alice")
    for operation, secrets in [(VERIFY, {}), (PROVE, {}), (CHANGE, {"new": NEW}), (REMOVE, {})]:
        assert ask(operation, about="alice", user="alice", passcode=RIGHT, **secrets).kind == 29
    assert own.record("alice") == before


def test_a_full_run_ends_the_pause_and_proves_no_time(own):
    """What can't be noted is no proof: the password is asked for once more."""
    own.configure(password_every="1h")
    pause(own)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2,mode=0700", "full", RUN], check=True)
    try:
        os.chown(RUN, uid(ACCOUNT), 0)
        (RUN / "filler").write_bytes(b"x")
        assert log_in(own, PASSWORD) and state(own) == "ok"
        assert is_refused(own, DUE)
    finally:
        subprocess.run(["umount", RUN], check=True)


def test_a_time_whose_maker_was_killed_becomes_the_helper_s_with_the_next_proof(own):
    """Made by root, and not yet given away."""
    own.configure(password_every="1h")
    proof().touch(mode=0o600)
    assert is_refused(own, DUE, **ALICE) and log_in(own, PASSWORD)
    assert works(own, **ALICE) and works(own)


@BY
def test_only_the_end_of_a_pause_is_logged_as_one(own, by):
    own.configure(first_login="deny")
    assert log_in(own, PASSWORD, **by) and works(own, **by)
    assert ask(RESUME, about="alice", user="alice", password=PASSWORD).kind == DONE_IT
    assert not any("passcode resumed" in line.message for line in own.log())


def test_many_at_once(own):
    pause(own)
    data = [request(RESUME, uid("alice"), password=word) for word in (PASSWORD, WRONG[0]) * 4]
    begun = [begin_proof(one) for one in data]
    kinds = [answer(*one).kind for one in begun]
    assert kinds == [DONE_IT, WRONG_PASSWORD] * 4 and state(own) == "ok" and works(own)
