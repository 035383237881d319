"""A pause of a fleet's account on one workstation: from there no server is asked to accept or to change its passcode."""

import struct
import subprocess

import fleet as fleets
import machine as machines
import pytest
import strace
import ward as wards
from apparmor import CALLS, Profile, needed
from bed import uid
from helper import DONE_IT, PAUSE, RESUME, WRONG_PASSWORD, ask, request
from liar import Liar, reply
from machine import ACCOUNT, ALICE
from messages import TREE
from process import wait_for
from scenario import NEW, PASSWORD, PROMPT, RIGHT, refused_unasked
from tool import DONE, LOCKED, NOT_PERMITTED, SOME_FAILED, WRONG_CODE, alone
from ward import PLACE, SOCKET, UNAVAILABLE, ask_program, leave, make_folder

PAUSED = "Passcode paused. Use your password."
STACK = (
    "auth [success=1 auth_err=die conv_err=die default=ignore] {module} either\n"
    "auth required pam_unix.so nodelay try_first_pass\n"
    "auth optional {module} proven"
)

BY = pytest.mark.parametrize("by", [{}, ALICE], ids=["root", "alice"])
WHO = pytest.mark.parametrize("who", [None, "alice"], ids=["root", "alice"])
HERE = "On this workstation only"
GRANTED = 1
STATUS = b"\1\x11" + struct.pack("<6Q", 8 | 4 << 4, 2, 0, 0, 0, 0) + b"\4"


@pytest.fixture
def own(with_passwords, workstation):
    leave()
    make_folder(PLACE)
    workstation.configure(verifier=SOCKET)
    with machines.installed_tool():
        yield workstation
    leave()


def server(answer=None):
    return Liar(PLACE / "verifier.sock", reply(16) if answer is None else answer)


def remove_socket():
    (PLACE / "verifier.sock").unlink()


def file():
    return machines.STORE / f"{uid('alice')}.paused"


def asks_more_than_status(request):
    return request[:9] != b"\2\5alice\1\3"


def pause(bed, who=None):
    assert HERE in bed.tool("pause", "alice", user=who, check=DONE).output


def is_refused(bed, **how):
    bed.service()
    return refused_unasked(bed.authenticate("alice", RIGHT, **how), "PERM_DENIED", PAUSED)


def is_asked(bed, **how):
    bed.service()
    return bed.authenticate("alice", RIGHT, **how).prompts == [PROMPT]


@WHO
@BY
def test_a_paused_passcode_is_not_asked_for_until_the_password_resumes_it(own, who, by):
    with server() as servers:
        assert is_asked(own, **by)
        heard = len(servers.heard)
        pause(own, who)
        assert "already paused" in own.tool("pause", "alice", user=who, check=DONE).output
        assert is_refused(own, **by) and is_refused(own, **by)
        alone(own, "verify", RIGHT, check=LOCKED)
        alone(own, "change", RIGHT, NEW, check=LOCKED)
        assert not any(asks_more_than_status(part) for part in servers.heard[heard:])
        alone(own, "resume", "qwertz", check=WRONG_CODE)
        assert is_refused(own, **by)
        assert "resumed for alice" in alone(own, "resume", PASSWORD, check=DONE).output
        assert is_asked(own, **by) and len(servers.heard) > heard
    said = [line.message for line in own.log()]
    assert any("passcode paused user=alice" in line for line in said)
    assert any("passcode resumed user=alice" in line for line in said)


def test_it_outlives_a_boot_and_root_ends_it_while_no_server_answers(own):
    pause(own)
    status = file().stat()
    assert (status.st_uid, status.st_size, status.st_mode & 0o7777) == (uid(ACCOUNT), 0, 0o600)
    for path in machines.RUN.iterdir():
        path.unlink()
    assert is_refused(own)
    assert "resumed for alice" in own.tool("resume", "alice", check=DONE).output
    assert not file().exists() and own.authenticate("alice", RIGHT).result == UNAVAILABLE
    assert "isn't paused" in own.tool("resume", "alice", check=DONE).output


@BY
def test_a_login_by_the_password_ends_it(own, by):
    own.service(stack=STACK)
    pause(own)
    assert own.authenticate("alice", PASSWORD, **by).result == "SUCCESS"
    with server():
        assert not file().exists() and is_asked(own, **by)


@WHO
def test_status_tells_of_it_also_while_no_server_answers(own, who):
    pause(own)
    with server(STATUS):
        own.tool("status", "alice", user=who, check=DONE)
        answer = own.tool("status", "alice", user=who, check=DONE).output
        assert "state: paused; to end the pause: passcode resume" in answer and "failures since the last success: 2" in answer
        assert own.tool("status", "--json", "alice", user=who, check=DONE).output.count('"paused"') == 1
    remove_socket()
    assert "state: paused" in own.tool("status", "alice", user=who, check=DONE).output
    assert "passcode resume: " in own.tool(user="alice", check=DONE).output


def test_nobody_asks_around_it(own):
    """Neither the helper nor passcode-fleet, in whatever order; a pause between the look and the attempt holds, too."""
    pause(own)
    with server() as servers:
        for operation, secrets in (
            (fleets.LOOK, {}), (fleets.VERIFY, {"passcode": RIGHT}), (8, {"passcode": RIGHT}),
            (fleets.CHANGE, {"passcode": RIGHT, "new": NEW}), (fleets.ENROLL_BY_CODE, {"passcode": "AAAABBBB", "new": NEW}),
        ):  # fmt: skip
            assert ask(operation, "alice", user="alice", **secrets).kind == 29, operation
        for operation, code in ((fleets.LOOK, ""), (fleets.VERIFY, RIGHT)):
            assert ask_program(request(operation, uid("alice"), passcode=code))[0][1] == 29
        assert servers.heard == []
        own.tool("resume", "alice", check=DONE)

        def typed(_):
            pause(own)
            return RIGHT

        outcome = own.authenticate("alice", typed)
        assert (outcome.result, outcome.prompts) == ("PERM_DENIED", [PROMPT])
        assert not any(RIGHT.encode() in part for part in servers.heard)


@BY
def test_what_a_server_grants_after_the_pause_is_refused(own, by):
    class Slow(Liar):
        def _all(self, connection):
            heard = super()._all(connection)
            if RIGHT.encode() in heard:
                self.answer = reply(GRANTED)
                act()
            return heard

    for act, result in ((lambda: None, "SUCCESS"), (lambda: pause(own), "PERM_DENIED")):
        with Slow(PLACE / "verifier.sock", reply(16)) as servers:
            assert own.authenticate("alice", RIGHT, **by).result == result
            assert sum(RIGHT.encode() in part for part in servers.heard) == 1
        remove_socket()


def test_a_pause_that_was_cut_off_before_it_was_durable_is_finished_by_repeating_it(own, tmp_path):
    kill = strace.record(tmp_path / "kill", "-e", "trace=linkat,fsync", "-e", "inject=fsync:signal=KILL:when=2")
    own.tool("pause", "alice", before=kill)
    assert [call.name for call in strace.calls(tmp_path / "kill")] == ["fsync", "linkat", "fsync"] and file().exists()
    again = strace.record(tmp_path / "again", "-e", "trace=fsync")
    assert "already paused" in own.tool("pause", "alice", before=again, check=DONE).output
    assert len(strace.calls(tmp_path / "again")) == 1


@pytest.mark.parametrize("fault", ["signal=KILL", "error=ENOSPC", "error=EIO"])
@pytest.mark.parametrize("act", ["pause", "resume"])
def test_disturbed_at_each_call_it_is_paused_or_not_and_repeating_it_finishes(own, tmp_path, act, fault):
    """What it says is so."""
    other = "resume" if act == "pause" else "pause"
    for call in ("openat", "linkat", "unlinkat", "fsync"):
        for number in range(1, 200):
            own.tool(other, "alice", check=DONE)
            trace = tmp_path / "trace"
            options = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={number}", "-P", file(), "-P", file().parent]
            done = own.tool(act, "alice", before=strace.record(trace, *options))
            text = trace.read_text()
            if "INJECTED" not in text and "KILL" not in text:
                break
            if done.status == DONE:
                assert file().exists() == (act == "pause")
            assert own.tool(act, "alice", check=DONE) and file().exists() == (act == "pause")
        assert number < 199 and (number > 1 or call in ("linkat", "unlinkat"))


def test_nobody_pauses_or_resumes_another(own):
    own.tool("pause", "alice", user="bob", check=NOT_PERMITTED)
    assert ask(PAUSE, about="alice", user="bob").kind == 9
    assert not file().exists()
    pause(own)
    assert ask(RESUME, about="alice", user="bob", password=PASSWORD).kind == 9
    assert ask(RESUME, about="alice", user="alice", password="x").kind == WRONG_PASSWORD
    assert is_refused(own)
    assert ask(RESUME, about="alice", user="alice", password=PASSWORD).kind == DONE_IT
    assert not file().exists()


def test_what_can_not_be_read_is_a_refusal(own):
    with server() as servers:
        file().symlink_to("/dev/null")
        for by in ({}, ALICE):
            assert refused_unasked(own.authenticate("alice", RIGHT, **by), UNAVAILABLE)
        assert servers.heard == []
        file().unlink()
        file().mkdir()
        assert is_refused(own), "whatever it is"
        file().rmdir()
        assert is_asked(own)


def test_a_list_and_an_account_without_a_password(own):
    subprocess.run(["usermod", "-L", "bob"], check=True)
    answer = own.tool("pause", "--batch", "-", stdin="alice\nbob\n", check=SOME_FAILED)
    assert "bob: not paused: no password could end the pause" in answer.errors and is_refused(own)
    own.tool("pause", "--even-locked-out", "bob", check=DONE)
    own.tool("resume", "--batch", "-", stdin="alice\nbob\n", check=DONE)
    assert not file().exists()


def test_check_knows_such_a_file_while_the_account_is_the_fleet_s(own):
    pause(own)
    assert ".paused" not in own.tool("check").output
    left = machines.STORE / "54321.paused"
    left.touch(mode=0o600)
    assert f"{left}: is not a record" in own.tool("check").output, "of a deleted account"
    left.unlink()
    own.configure(verifier="none")
    assert f"{uid('alice')}.paused" in own.tool("check").output


def test_passcode_fleet_needs_no_more_than_its_apparmor_profile_allows(own, tmp_path):
    """(No kernel enforces it here.)"""
    profile, needed_paths = Profile(TREE / "Sources/system/apparmor/usr.libexec.passcode-fleet"), set()
    for command, kind in (("resume", 16), ("pause", 29)):
        own.tool(command, "alice", check=DONE)
        trace = tmp_path / command
        strace = ["strace", "-D", "-y", "-q", "-s", "300", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", trace, "-f"]
        with server():
            assert ask_program(request(fleets.LOOK, uid("alice")), strace)[0][1] == kind
        remove_socket()
        wait_for(lambda trace=trace: "+++ exited" in trace.read_text())
        lines = [line for line in trace.read_text().splitlines() if "+++" not in line][1:]
        needed_paths |= {more for line in lines if (more := needed(line))}
    assert (str(file()), "r") in needed_paths and (str(PLACE / "verifier.sock"), "w") in needed_paths
    assert {more for more in needed_paths if not profile.allows(*more)} == set()


def test_another_workstation_knows_nothing_of_it(machine, ward):
    with machines.installed_tool():
        machine.tool("pause", "alice", check=DONE)
        assert is_refused(machine)
        wards.at(machine, "ws2")
        machine.tool("resume", "alice", check=DONE)
        assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
