"""A workstation of a fleet: the module and the helper ask a verifier through Debian's stunnel."""

import os
import shutil
import socket
import struct
import threading
import time

import fleet as fleets
import pytest
from bed import uid
from fleet import VERIFY
from machine import ACCOUNT, ALICE
from process import wait_for
from scenario import PROMPT, RIGHT, WRONG, asked_once, refused_unasked
from ward import SOCKETS, Ward

UNAVAILABLE = "AUTHINFO_UNAVAIL"


@pytest.fixture
def ward(machine):
    fleet = fleets.Fleet()
    made = None
    try:
        fleet.servers[0].enroll("alice", RIGHT)
        made = Ward(fleet)
        at(machine, "ws1")
        yield made
    finally:
        if made:
            made.end()
        fleet.end()


def at(machine, workstation):
    """Which of the workstations this machine is from now on."""
    machine.configure(verifier=SOCKETS / f"{workstation}.sock")


def test_enrolled_on_a_server_the_passcode_works_on_every_workstation(machine, ward):
    """For root's programs and for people's own, and wrong ones are counted together; root's own passcode is local."""
    for workstation in ("ws1", "ws2"):
        at(machine, workstation)
        for how in ({}, ALICE):
            outcome = machine.authenticate("alice", RIGHT, **how)
            assert (outcome.result, asked_once(outcome)) == ("SUCCESS", True), (workstation, how)
    assert machine.authenticate("alice", WRONG[0]).texts == ["Wrong passcode, 2 attempts left."]
    at(machine, "ws1")
    assert machine.authenticate("alice", WRONG[1], **ALICE).texts == ["Wrong passcode, 1 attempt left."]
    assert machine.authenticate("alice", WRONG[2]).result == "AUTH_ERR"
    for workstation in ("ws1", "ws2"):
        at(machine, workstation)
        for how in ({}, ALICE):
            outcome = machine.authenticate("alice", RIGHT, **how)
            assert outcome.result == "AUTH_ERR" and outcome.prompts == []
    assert ward.fleet.servers[2].failures() == 3
    assert machine.authenticate("carol", RIGHT).result == "USER_UNKNOWN"
    machine.enroll("root", "8264")
    assert machine.authenticate("root", "8264").result == "SUCCESS"
    machine.configure(verifier_uids=f"{uid('bob')}-{uid('bob')}")
    assert machine.authenticate("alice", RIGHT).result == "USER_UNKNOWN", "not the fleet's any more, and not enrolled here"


def test_servers_in_turn_and_none_at_all(machine, ward):
    ward.stop("server0")
    ward.fleet.members[0].kill()
    wait_for(lambda: ward.fleet.leader() is not None, 30)
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
    assert machine.authenticate("alice", RIGHT, **ALICE).result == "SUCCESS"
    for number in (1, 2):
        ward.stop(f"server{number}")
    started = time.monotonic()
    assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
    assert time.monotonic() - started < 6
    ward.stop("ws1")
    assert refused_unasked(machine.authenticate("alice", RIGHT, **ALICE), UNAVAILABLE)


def test_a_workstation_that_isn_t_on_the_list_gets_nothing(machine, ward):
    at(machine, "ws3")
    assert machine.authenticate("alice", RIGHT).result == "PERM_DENIED"
    assert ward.fleet.servers[0].failures() == 0


def test_a_workstation_s_certificate_can_t_pose_as_a_server(machine, ward):
    """It would answer "granted". Its authority is another one, and the name another one, too."""
    for server in ward.fleet.servers:
        ward.stop(f"server{server.number}")
        ward.serve(server, "ws2")
    assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)


class Liar:
    """A verifier's socket with somebody else behind it; counts who comes, and keeps what they say."""

    def __init__(self, path, answer, hold=0):
        self.answer, self.hold, self.heard = answer, hold, []
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(path))
        os.chmod(path, 0o666)
        self.door.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            with connection:
                self.heard.append(self._all(connection))
                connection.sendall(self.answer)
                time.sleep(self.hold)

    def _all(self, connection):
        """A request comes in parts, and has no end of stream."""
        heard = connection.recv(4096)
        connection.settimeout(0.2)
        try:
            while more := connection.recv(4096):
                heard += more
        except TimeoutError:
            pass
        connection.settimeout(None)
        return heard

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.door.close()


@pytest.fixture
def folder(machine):
    shutil.rmtree(SOCKETS, ignore_errors=True)
    SOCKETS.mkdir()
    SOCKETS.chmod(0o750)
    shutil.chown(SOCKETS, "root", ACCOUNT)
    at(machine, "liar")
    yield SOCKETS
    shutil.rmtree(SOCKETS)


def reply(kind, *numbers, text=b""):
    numbers = (*numbers, 0, 0, 0, 0, 0)[:5]
    return bytes([1, kind]) + struct.pack("<5Q", *numbers) + text + b"\4"


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
    with Liar(folder / "liar.sock", lie) as liar:
        assert refused_unasked(machine.authenticate("alice", RIGHT, **how), UNAVAILABLE)
        assert len(liar.heard) == 1


def test_a_request_is_sent_once_and_says_no_more_than_it_must(machine, folder):
    with Liar(folder / "liar.sock", reply(22)) as liar:
        outcome = machine.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts) == (UNAVAILABLE, [PROMPT]), "an open look, and no verdict"
        head = b"\2\5alice"
        service = b"passcode-test"
        look, verify = liar.heard
        bits = len(service) << 2
        assert look == head + struct.pack("<BBIBBH", 1, 1, fleets.NOBODY, bits, 0, 0) + service
        assert verify == head + struct.pack("<BBIBBH", 1, VERIFY, fleets.NOBODY, bits, 4, 0) + service + RIGHT.encode()


def test_silence_ends_after_five_seconds(machine, folder):
    with Liar(folder / "liar.sock", b"", hold=20):
        started = time.monotonic()
        assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
        assert 4.5 < time.monotonic() - started < 8


def test_a_socket_that_others_could_have_put_there_is_not_used(machine, folder):
    with Liar(folder / "liar.sock", reply(1)) as liar:
        for owner, mode in (("alice", 0o755), ("root", 0o775)):
            shutil.chown(folder, owner, ACCOUNT)
            folder.chmod(mode)
            assert machine.authenticate("alice", RIGHT).result in (UNAVAILABLE, "SERVICE_ERR")
        assert liar.heard == []


def test_without_root_the_socket_is_out_of_reach(machine, folder):
    with Liar(folder / "liar.sock", reply(22)):
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(uid("alice"))
            os.setuid(uid("alice"))
            try:
                socket.socket(socket.AF_UNIX).connect(str(folder / "liar.sock"))
            except PermissionError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
