"""A workstation of a fleet with somebody else where its verifier should be; and people who ask passcode-fleet themselves."""

import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import fleet as fleets
import pytest
from bed import SERVICE, uid
from fleet import VERIFY
from helper import fault, request
from liar import Liar, alice_gets, reply
from machine import ACCOUNT, ALICE
from scenario import PROMPT, RIGHT, refused_unasked
from ward import NOTE, PLACE, PROGRAM, SOCKET, UNAVAILABLE, ask_program, install_fleet, leave, make_folder


@pytest.fixture
def folder(workstation):
    """Where the socket has to be; with nothing in it."""
    leave()
    make_folder(PLACE)
    workstation.configure(verifier=SOCKET)
    yield PLACE
    leave()


LIES = {
    "nothing": b"",
    "granted to a look": reply(1),
    "cut": reply(22)[:-1],
    "without its end": reply(1)[:-1] + b"\0",
    "more than one": reply(22) + reply(1),
    "the helper's own": reply(16)[:-1],
    "another version": b"\2" + reply(22)[1:],
    "unknown kind": reply(99),
    "too long": b"\0" * 5000,
    "no number": b"\1\1\4",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("how", [{}, ALICE], ids=["direct", "helper"])
def test_what_isn_t_one_whole_reply_is_unavailable(machine, folder, lie, how):
    with Liar(folder / "verifier.sock", lie) as liar:
        assert refused_unasked(machine.authenticate("alice", RIGHT, **how), UNAVAILABLE)
        assert len(liar.heard) == 1


def test_a_request_is_sent_once_and_says_no_more_than_it_must(machine, folder):
    with Liar(folder / "verifier.sock", reply(22)) as liar:
        outcome = machine.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts) == (UNAVAILABLE, [PROMPT]), "an open look, and no verdict"
        head = b"\2\5alice"
        service = SERVICE.encode()
        look, verify = liar.heard
        bits = len(service) << 2
        assert look == head + struct.pack("<BBIBBH", 1, 1, fleets.NOBODY, bits, 0, 0) + service
        assert verify == head + struct.pack("<BBIBBH", 1, VERIFY, fleets.NOBODY, bits, 4, 0) + service + RIGHT.encode()


HEAD = b"\2\5alice"


def test_the_connection_of_a_look_serves_the_attempt(machine, folder):
    """No part of the code is sent before the verifier has shown that it is still there."""
    for how in ({}, ALICE):
        with Liar(folder / "verifier.sock", reply(16), then=(b"\0", b"\0\0" + reply(1))) as liar:
            assert machine.authenticate("alice", RIGHT, **how).result == "SUCCESS"
            look, name, rest = liar.heard
            assert look.startswith(HEAD) and name == HEAD and rest.endswith(RIGHT.encode())
        (folder / "verifier.sock").unlink()


@pytest.mark.parametrize("then", [None, (), (b"\1", b"")], ids=["before", "after the name", "no sign"])
def test_a_connection_that_was_lost_meanwhile_is_opened_again(machine, folder, then):
    """Before anything of the code was sent; and nothing is asked a third time."""
    with Liar(folder / "verifier.sock", reply(16), then=then) as liar:
        started = time.monotonic()
        outcome = machine.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts) == (UNAVAILABLE, [PROMPT]), "open to an attempt is no verdict"
        assert time.monotonic() - started < 5
        assert sum(RIGHT.encode() in part for part in liar.heard) == 1
        assert liar.heard[-1].startswith(HEAD) or liar.heard[-2].startswith(HEAD)


NO_ETCD = reply(11, text=fault("noEtcd", "etcd"))
UNCHARGED = NO_ETCD[:-1] + b"\5"


def test_what_isn_t_charged_is_sent_to_one_other_server_once(machine, folder):
    for second, result in ((reply(1), "SUCCESS"), (UNCHARGED, UNAVAILABLE), (b"", UNAVAILABLE)):
        first = Liar(folder / "verifier.sock", reply(16), then=(b"\0", UNCHARGED))
        with first, Liar(folder / "verifier.sock.2", second) as other:
            assert machine.authenticate("alice", RIGHT).result == result
            assert [RIGHT.encode() in part for part in first.heard] == [False, False, True]
            assert len(other.heard) == 1 and other.heard[0].startswith(HEAD) and other.heard[0].endswith(RIGHT.encode())
        for name in ("verifier.sock", "verifier.sock.2"):
            (folder / name).unlink()
        pathlib.Path(NOTE).unlink()


NOT_UNCHARGED = {
    "unavailable": NO_ETCD,
    "cut before its end": UNCHARGED[:-1],
    "cut in its text": UNCHARGED[:30] + b"\5",
    "nothing": b"",
    "only the end": b"\5",
    "the end of a sign": b"\0\5",
    "granted": reply(1)[:-1] + b"\5",
    "wrong": reply(2, 1, 2)[:-1] + b"\5",
    "locked": reply(5, 60_000, 3)[:-1] + b"\5",
    "more than one": UNCHARGED + UNCHARGED,
    "one after another": NO_ETCD + UNCHARGED,
}


@pytest.mark.parametrize("lie", NOT_UNCHARGED.values(), ids=NOT_UNCHARGED)
def test_only_a_whole_reply_says_that_nothing_is_charged(machine, folder, lie):
    first = Liar(folder / "verifier.sock", reply(16), then=(b"\0", lie))
    with first, Liar(folder / "verifier.sock.2", reply(1)) as other:
        assert machine.authenticate("alice", RIGHT).result == UNAVAILABLE
        assert sum(RIGHT.encode() in part for part in first.heard) == 1
        assert other.heard == []


def test_what_to_do_is_told_even_if_the_second_server_hangs(machine, folder):
    """The first one says that the workstation isn't on its list, and is asked first again."""
    path = b"/etc/passcode/workstations"
    told = (bytes([69, len(path)]) + bytes(10)).hex().encode() + path
    with Liar(folder / "verifier.sock", reply(11, text=told)) as first, Liar(folder / "verifier.sock.2", b"", hold=20) as second:
        for number in (1, 2):
            assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
            assert "this workstation is not on the servers' list" in machine.log()[-1].message
            assert len(first.heard) == number and second.heard


def test_silence_ends_after_five_seconds(machine, folder):
    with Liar(folder / "verifier.sock", b"", hold=20):
        started = time.monotonic()
        assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
        assert 4.5 < time.monotonic() - started < 8


def test_a_socket_that_others_could_have_put_there_is_not_used(machine, folder):
    with Liar(folder / "verifier.sock", reply(1)) as liar:
        for owner, mode in (("alice", 0o750), ("root", 0o770)):
            shutil.chown(folder, owner, ACCOUNT)
            folder.chmod(mode)
            assert machine.authenticate("alice", RIGHT).result in (UNAVAILABLE, "SERVICE_ERR")
        assert liar.heard == []


def test_a_socket_that_everyone_can_reach_is_not_used(machine, folder):
    """They could ask about anybody, as often as the budget lets them: the TLS program asks nobody who they are."""
    with Liar(folder / "verifier.sock", reply(1)) as liar:
        for mode in (0o751, 0o755, 0o754):
            folder.chmod(mode)
            assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
            assert refused_unasked(machine.authenticate("alice", RIGHT, **ALICE), UNAVAILABLE)
        assert liar.heard == []
        assert f"{folder / 'verifier.sock'}: Permission denied" in machine.log()[-1].message


def test_nobody_but_root_and_the_tls_program_is_believed_at_the_socket(machine, folder):
    with Liar(folder / "verifier.sock", reply(1), listener=uid("nobody")) as liar:
        assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
        assert refused_unasked(machine.authenticate("alice", RIGHT, **ALICE), UNAVAILABLE)
        assert set(liar.heard) <= {b""}, "connected, and gone without a word"


def connects(path):
    try:
        socket.socket(socket.AF_UNIX).connect(str(path))
    except PermissionError:
        return False
    return True


def test_without_root_the_socket_is_out_of_reach(machine, folder):
    with Liar(folder / "verifier.sock", reply(22)):
        assert not alice_gets(lambda: connects(folder / "verifier.sock"))


@pytest.fixture
def crowd_of_root_s(machine, folder):
    """Forty of root's programs ask about alice, as `su alice` does, while the servers are silent."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "verifier.sock"))
        (folder / "verifier.sock").chmod(0o666)
        door.listen(200)  # and it never says a word
        crowd = []
        for _ in range(40):
            ours, theirs = socket.socketpair()
            with theirs:
                crowd.append((subprocess.Popen([PROGRAM], stdin=theirs), ours))
            ours.sendall(request(fleets.LOOK, uid("alice")))
        time.sleep(0.5)
        yield [process for process, _ in crowd]
        for process, ours in crowd:
            process.kill()
            process.wait()
            ours.close()


def test_one_person_delays_nobody_else_while_the_servers_are_silent(crowd_of_root_s):
    """At most half of the slots for connecting are for one account."""
    started = time.monotonic()
    assert ask_program(request(fleets.LOOK, uid("bob")))[0][1] == fleets.UNAVAILABLE
    assert 4.5 < time.monotonic() - started < 8, "it waited for alice's"


@pytest.mark.parametrize("how, limit", [(ALICE, 8), ({}, 28)], ids=["helper", "direct"])
def test_somebody_else_s_su_keeps_an_owner_waiting_for_a_short_time(machine, crowd_of_root_s, how, limit):
    """The programs are stopped as they connect. Alice's helpers have slots of their own, and root's programs wait 20 s at
    most before they ask; then they find that the servers are silent."""
    for process in crowd_of_root_s:
        process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert refused_unasked(machine.authenticate("alice", RIGHT, **how), UNAVAILABLE)
    assert 4.5 < time.monotonic() - started < limit


def test_without_root_the_program_asks_nothing(machine, folder):
    """Not even about oneself: that is the helper's to decide."""
    with Liar(folder / "verifier.sock", reply(1)) as liar:
        own = request(VERIFY, uid("alice"), passcode=RIGHT)
        assert alice_gets(lambda: ask_program(own)[0][1]) == fleets.FORBIDDEN
        assert liar.heard == []


def test_the_program_asks_only_about_the_fleet_s_accounts(machine, folder):
    machine.configure(verifier=SOCKET, verifier_uids=f"{uid('alice')}-")
    with Liar(folder / "verifier.sock", reply(1)) as liar:
        for account in (0, uid("alice") - 1, uid("nobody"), fleets.NOBODY):
            assert ask_program(request(VERIFY, account, passcode=RIGHT))[0][1] == fleets.UNAVAILABLE
        assert liar.heard == []
        assert ask_program(request(VERIFY, uid("alice"), passcode=RIGHT)) == (reply(1)[:-1], 0)
    for data in (b"", b"\2", request(VERIFY, uid("alice")), request(VERIFY, uid("alice"), passcode=RIGHT) + b"1"):
        assert ask_program(data) == (b"", 1)


def test_a_program_that_isn_t_root_s_alone_is_not_started(machine, folder):
    with Liar(folder / "verifier.sock", reply(1)) as liar:
        for owner, mode in ((ACCOUNT, 0o755), ("root", 0o775), ("root", 0o757), ("root", 0o4755)):
            install_fleet(owner, mode)
            assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
            assert refused_unasked(machine.authenticate("alice", RIGHT, **ALICE), UNAVAILABLE)
        PROGRAM.unlink()
        assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
        assert liar.heard == []
        install_fleet()
