"""A workstation of a fleet: passcode-fleet asks a verifier through Debian's stunnel, for the module and for the helper."""

import pathlib
import socket

import fleet as fleets
import pexpect
from bed import MODULE, become, uid
from fleet import VERIFY
from liar import alice_gets
from machine import ALICE
from process import wait_for
from prompts import FLEETS, STATES, TABLE, as_the_table_says
from scenario import PASSWORD, RIGHT, WRONG, asked_once, refused_unasked
from tool import LOCKED, UNUSABLE, alone
from ward import SOCKET, STACK, UNAVAILABLE, at, within_five_seconds


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
    machine.configure(verifier=SOCKET, verifier_uids=f"{uid('alice') + 1}-")
    assert machine.authenticate("alice", RIGHT).result == "USER_UNKNOWN", "not the fleet's any more, and not enrolled here"


def test_servers_in_turn_and_none_at_all(with_passwords, ward):
    """By a program of root's, by one without root (as a locker), and by sudo and su; the password works in any case."""
    machine = with_passwords
    programs = Programs()
    ward.stop("server0")
    ward.fleet.members[0].kill()
    wait_for(lambda: ward.fleet.leader() is not None, 30)
    for how in ({}, ALICE):
        assert within_five_seconds(lambda how=how: machine.authenticate("alice", RIGHT, **how)).result == "SUCCESS"
    for program in programs.all:
        assert within_five_seconds(lambda program=program: program(RIGHT)) == ["Passcode: "]
    for number in (1, 2):
        ward.stop(f"server{number}")
    for how in ({}, ALICE):
        assert refused_unasked(within_five_seconds(lambda how=how: machine.authenticate("alice", RIGHT, **how)), UNAVAILABLE)
    machine.service(stack=STACK)
    for stopped in (None, "ws1"):
        if stopped:
            ward.stop(stopped)
        for how in ({}, ALICE):
            outcome = within_five_seconds(lambda how=how: machine.authenticate("alice", PASSWORD, **how))
            assert (outcome.result, outcome.prompts) == ("SUCCESS", ["Password: "])
        for program in programs.all:
            [prompt] = within_five_seconds(lambda program=program: program(PASSWORD))
            assert prompt in ("Password: ", "[sudo] password for alice: ")
    programs.end()


class Programs:
    """sudo and su, with the module before pam_unix; in the tests' own /etc."""

    def __init__(self):
        self.kept = {}
        stack = STACK.format(module=MODULE) + "\naccount required pam_permit.so\nsession required pam_permit.so\n"
        sudoers = "Defaults timestamp_timeout=0, !lecture\nalice ALL=(ALL) ALL\n"
        for path, text in (("pam.d/sudo", stack), ("pam.d/su", stack), ("sudoers", sudoers)):
            path = pathlib.Path("/etc") / path
            self.kept[path] = path.read_bytes() if path.exists() else None
            path.write_text(text)
        self.all = [self.sudo, self.su]

    def end(self):
        for path, content in self.kept.items():
            path.unlink() if content is None else path.write_bytes(content)

    def sudo(self, answer):
        return self._asked("sudo", "id", answer=answer)

    def su(self, answer):
        """Her own account: one may try one's own passcode only."""
        return self._asked("su", "alice", "-c", "id", answer=answer)

    def _asked(self, *command, answer):
        """The prompts of a program that alice starts, until it has printed who she is then."""
        child = pexpect.spawn(command[0], list(command[1:]), preexec_fn=become("alice"), encoding="utf-8", timeout=30, cwd="/")
        prompts = []
        while child.expect([r"([^\r\n]*: )$", r"uid="]) == 0:
            prompts.append(child.match.group(1))
            assert child.waitnoecho(timeout=20)
            child.send(answer + "\r")
        child.expect(pexpect.EOF)
        return prompts


def test_the_table_in_a_fleet(with_passwords, ward):
    """Sources/PROMPT.md: before the first login nothing is asked of a verifier; its answer to a look has the attempts left."""
    machine, codes = with_passwords, iter(WRONG)

    def fail_again(_):
        ward.fleet.servers[0].verify(next(codes))

    fail_again(machine)
    for case in [case for case in TABLE if case[0] == "open after failures" and case[2] == "yes"]:
        as_the_table_says(machine, case, fail_again)
    as_the_table_says(machine, ("open after failures", "yes", "yes"), fail_again, items={}, **ALICE)
    for number in range(3):
        ward.stop(f"server{number}")
    for case in FLEETS:
        STATES[case[0]](machine)
        as_the_table_says(machine, case)
        as_the_table_says(machine, case, items={}, **ALICE)


def test_a_workstation_that_isn_t_on_the_list_gets_nothing_and_says_why(machine, ward):
    at(machine, "ws3")
    remedy = "this workstation is not on the servers' list: add its name, as a server's log shows it, to /etc/passcode/workstations on each server"
    for how in ({}, ALICE):
        assert refused_unasked(machine.authenticate("alice", RIGHT, **how), UNAVAILABLE)
        assert remedy in machine.log()[-1].message
    for user in ("alice", None):
        assert remedy in machine.tool("status", "alice", user=user, check=UNUSABLE).errors
    assert ward.fleet.servers[0].failures() == 0


def test_a_visitor_stops_a_workstation_for_strangers_and_not_for_those_who_work_there(machine, ward):
    """Alice works at ws1. Both are told; a server's timer says once that many accounts were tried."""
    server = ward.fleet.servers[0]
    nurses = [f"nurse{number}" for number in range(12)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:8264\n" for name in nurses))
    at(machine, "ws1")
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
    for workstation, code in (("CN=ws1", WRONG[0]), ("CN=ws2", WRONG[1])):
        for name in nurses:
            assert server.verify(code, name, name=workstation).kind == fleets.WRONG
    for how in ({}, ALICE):
        assert machine.authenticate("alice", RIGHT, **how).result == "SUCCESS"
    at(machine, "ws2")
    for how in ({}, ALICE):
        outcome = machine.authenticate("alice", RIGHT, **how)
        assert (outcome.result, outcome.prompts) == ("PERM_DENIED", [])
        assert outcome.texts == ["Too many wrong passcodes on this workstation. Use your password."]
        assert "passcode locked on this workstation" in machine.log()[-1].message
    alone(machine, "verify", RIGHT, check=LOCKED)
    assert server.run("unlock", "--workstation", "CN=ws2").stdout == "Workstation unlocked: CN=ws2.\n"
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
    server.write("verifier.conf", "fleet=ward-7\netcd=2379\netcd_user=passcode\nalarm_accounts=12\n")
    told = "passcode-verifier: wrong passcodes for many accounts within an hour accounts=12"
    for _ in range(2):
        server.run("seen")
        assert [line.message for line in machine.log() if "many accounts" in line.message] == [told]


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
