"""A workstation of a fleet: passcode-fleet asks a verifier through Debian's stunnel, for the module and for the helper."""

import socket
import time

import fleet as fleets
from bed import uid
from fleet import VERIFY
from liar import alice_gets
from machine import ALICE
from process import wait_for
from scenario import RIGHT, WRONG, asked_once, refused_unasked
from ward import at

UNAVAILABLE = "AUTHINFO_UNAVAIL"


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
    machine.configure(verifier=uid("alice") + 1)
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


def ask_on_server(path):
    """The kind of the reply that somebody gets who speaks as the relay does."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    connection.sendall(fleets.request(VERIFY, "alice", passcode=RIGHT))
    connection.settimeout(20)
    return fleets.decode(b"".join(iter(lambda: connection.recv(4096), b""))).kind


def test_on_a_server_only_root_and_the_relay_s_account_are_answered(ward):
    door = ward.fleet.servers[0].door / "socket"
    door.chmod(0o666)  # the unit's socket is 0660
    assert alice_gets(lambda: ask_on_server(door)) == fleets.FORBIDDEN
    assert ask_on_server(door) == fleets.GRANTED
    assert ward.fleet.servers[0].failures() == 0
