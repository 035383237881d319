"""passcode-verifier with Debian's etcd: one budget on three servers, whatever fails. See Sources/PasscodeFleet."""

import json
import pathlib
import random
import signal
import socket
import struct
import subprocess
import time

import fleet as fleets
import pytest
from fleet import (
    CHANGE, DISABLED, DONE, EXHAUSTED, FOLDER, GRANTED, LOCKED, LOOK, NOT_ENROLLED, OPEN, STATUS, STATUS_REPLY,
    UNAVAILABLE, VERIFY, WRONG, WRONG_AND_LOCKED, at_once, decode, request,
)  # fmt: skip
from helper import Reply
from process import wait_for
from scenario import RIGHT
from scenario import WRONG as CODES


def codes(count):
    return [f"{number:04}" for number in random.sample(range(1000, 10000), count + 1) if f"{number:04}" != RIGHT][:count]


def test_enrolled_once_the_passcode_works_at_every_server(fleet):
    for server in fleet.servers:
        assert server.ask(LOOK, "alice").kind == OPEN
        assert server.verify(RIGHT).kind == GRANTED
    reply = fleet.servers[1].ask(CHANGE, "alice", passcode=RIGHT, new="8264")
    assert reply.kind == DONE
    assert fleet.servers[2].verify("8264").kind == GRANTED
    wrong = fleet.servers[2].verify(RIGHT)
    assert (wrong.kind, wrong.numbers[:2]) == (WRONG, (1, 2))
    assert fleet.servers[0].run("status", "alice").stdout == "alice: enrolled, wrong passcodes in a row: 1\n"
    assert "bob: enrolled" in fleet.servers[1].run("list").stdout
    fleet.servers[0].run("disable", "alice")
    assert fleet.servers[1].verify("8264").kind == DISABLED
    fleet.servers[0].run("enable", "alice")
    fleet.servers[0].run("remove", "alice")
    assert fleet.servers[1].ask(LOOK, "alice").kind == NOT_ENROLLED
    fleet.servers[0].run("remove", "carol", check=3)


def test_a_workstation_is_told_no_times_no_service_and_of_no_codes(fleet):
    """It may ask about everybody. An administrator is told all of it."""
    server = fleet.servers[0]
    assert [server.verify(code).kind for code in (RIGHT, CODES[0])] == [GRANTED, WRONG]
    server.invite("alice")
    server.invite("carol")
    known = json.loads(server.run("status", "--json", "alice").stdout)
    times = ("enrolled_at", "last_success", "last_failure", "code_seconds_left")
    assert all(known[name] for name in times) and known["last_failure_service"] == "sudo"
    is_enrolled, failures = 8, 1
    for asked in fleet.servers:
        assert asked.status() == Reply(STATUS_REPLY, (is_enrolled, failures, 0, 0, 0, 0), b"")
        assert asked.status("carol") == asked.status("dave") == Reply(STATUS_REPLY, (0,) * 6, b"")


def look_and_attempt(server, code, meanwhile):
    """A look at alice's account, what happens then, and the attempt on the same connection."""
    process, ours = server.start(request(LOOK, "alice"))
    with ours:
        ours.settimeout(30)
        looked = b""
        while not (reply := decode(looked)):
            looked += ours.recv(4096)
        assert reply.kind == OPEN
        meanwhile()
        # The relay's head came with the look.
        ours.sendall(request(VERIFY, "alice", passcode=code)[3 + len("CN=ws1") :])
        ours.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: ours.recv(4096), b""))
    process.wait(30)
    return decode(answer).kind


def restart_etcd(fleet):
    fleet.members[0].kill()
    fleet.members[0].wait()
    fleet.restart()


@pytest.mark.parametrize(
    ("meanwhile", "kind"),
    [
        (lambda fleet: None, GRANTED),
        (restart_etcd, GRANTED),
        (lambda fleet: fleet.servers[1].verify(CODES[0]), GRANTED),
        (lambda fleet: [fleet.servers[1].verify(code) for code in codes(3)], LOCKED),
        (lambda fleet: fleet.servers[2].run("disable", "alice"), DISABLED),
        (lambda fleet: fleet.servers[2].run("remove", "alice"), NOT_ENROLLED),
        (lambda fleet: fleet.servers[2].enroll("alice", "8264"), WRONG),
    ],
    ids=["nothing", "etcd starts again", "a wrong one", "three wrong ones", "disabled", "removed", "another passcode"],
)
def test_an_attempt_counts_with_what_has_happened_since_its_look(fleet, meanwhile, kind):
    """It begins with what the look has read, and on the look's connection to etcd."""
    server = fleet.servers[0]
    assert look_and_attempt(server, RIGHT, lambda: meanwhile(fleet)) == kind
    if kind == GRANTED:
        assert server.failures() == 0


def test_many_guesses_over_all_servers_are_one_budget(fleet):
    """Three are looked at, wherever they are typed; then it is locked on all, for the right one, too."""
    guesses = codes(120) + [RIGHT]
    jobs = [
        lambda index=index, code=code: fleet.servers[index % 3].verify(code, name=fleets.WARD[index % 2])
        for index, code in enumerate(guesses)
    ]
    kinds = [reply.kind for reply in at_once(jobs)]
    assert sorted(kind for kind in kinds if kind in (WRONG, WRONG_AND_LOCKED)) == [WRONG, WRONG, WRONG_AND_LOCKED]
    assert kinds[-1] == LOCKED
    for server in fleet.servers:
        locked = server.verify(RIGHT)
        assert (locked.kind, locked.numbers[0]) == (LOCKED, 3)
        assert 30_000 < locked.numbers[1] <= 63_000
    fleet.servers[2].run("unlock", "alice")
    assert fleet.servers[0].verify(RIGHT).kind == GRANTED


def test_right_ones_at_once_all_pass(fleet):
    jobs = [
        lambda index=index: fleet.servers[index % 3].verify(RIGHT, name=fleets.WARD[index % 2]) for index in range(60)
    ]
    assert [reply.kind for reply in at_once(jobs, 30)] == [GRANTED] * 60
    assert fleet.servers[0].failures() == 0


def test_a_leader_that_is_killed_or_stopped_gives_no_guess_away(fleet):
    for harm in (signal.SIGKILL, signal.SIGSTOP):
        for server in fleet.servers[:1]:
            server.run("unlock", "alice", check=None)
        leader = fleet.leader()
        member = fleet.members[leader]
        guesses = codes(30)
        jobs = [lambda index=index, code=code: fleet.servers[index % 3].verify(code, name=fleets.WARD[index % 2])
                for index, code in enumerate(guesses)]  # fmt: skip
        jobs.insert(2, lambda: member.send_signal(harm))
        replies = [reply for reply in at_once(jobs, 4) if reply is not None]
        decided = [reply for reply in replies if reply.kind in (WRONG, WRONG_AND_LOCKED)]
        assert not [reply for reply in replies if reply.kind == GRANTED]
        assert len(decided) <= 3
        others = [server for server in fleet.servers if server.number != leader]
        wait_for(lambda: others[0].ask(STATUS, "alice").kind != UNAVAILABLE, 30)
        assert len(decided) <= others[1].failures() <= 3
        # Delays are never shorter after a change of leader.
        if others[0].failures() == 3:
            assert others[0].verify(RIGHT).kind == LOCKED
        if harm == signal.SIGKILL:
            member.wait()
            fleet.members[leader] = fleet.start_member(leader, "existing")
        else:
            member.send_signal(signal.SIGCONT)
        wait_for(lambda: fleet.servers[leader].ask(STATUS, "alice").kind != UNAVAILABLE, 30)
        assert fleet.servers[leader].failures() == others[0].failures()


def test_a_minority_decides_nothing(fleet):
    for number in (1, 2):
        fleet.members[number].send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert fleet.servers[0].verify(RIGHT).kind == UNAVAILABLE
    assert fleet.servers[0].verify(CODES[0]).kind == UNAVAILABLE
    assert time.monotonic() - started < 10
    for number in (1, 2):
        fleet.members[number].send_signal(signal.SIGCONT)
    wait_for(lambda: fleet.servers[0].verify(RIGHT).kind == GRANTED, 30)


def test_a_verifier_that_is_killed_leaves_a_charge_and_no_answer(fleet):
    """At moments all over its life: what was answered was charged, and nobody is locked out by what wasn't."""
    decided = 0
    for index in range(24):
        process, ours = fleet.servers[index % 3].start(request(VERIFY, "bob", passcode=codes(1)[0]))
        time.sleep(index * 0.002)
        process.kill()
        process.wait()
        with ours:
            ours.settimeout(5)
            try:
                reply = fleets.decode(b"".join(iter(lambda: ours.recv(4096), b"")))
            except ConnectionResetError:
                reply = None
        decided += reply is not None and reply.kind in (WRONG, WRONG_AND_LOCKED)
        if fleet.servers[0].failures("bob") >= 2:
            break
    assert decided <= fleet.servers[0].failures("bob") <= 3
    assert fleet.servers[1].ask(LOOK, "bob").kind in (OPEN, LOCKED)
    fleet.servers[1].run("unlock", "bob")
    assert fleet.servers[1].verify(RIGHT, "bob").kind == GRANTED  # after the dead one's lease


def test_etcd_s_own_accounts_keep_others_away(fleet):
    """With a role for the prefix alone; the token is kept, and asked for again when etcd has forgotten it."""
    server = fleet.servers[1]
    plain, token = (server.files / "verifier.conf").read_text(), server.state / "token"
    server.write("verifier.conf", plain.replace("etcd_user=passcode\n", ""))
    assert server.verify(RIGHT).kind == UNAVAILABLE
    server.write("verifier.conf", plain)
    token.unlink()
    server.set_password("thrice")
    assert server.verify(RIGHT).kind == UNAVAILABLE, "another password"
    server.set_password("twice")
    (server.files / "verifier.password").chmod(0o400)
    assert server.verify(RIGHT).kind == UNAVAILABLE, "_passcode can't read it"
    server.set_password("twice")
    assert server.verify(RIGHT).kind == GRANTED
    first = token.read_text()
    assert token.stat().st_mode & 0o777 == 0o600
    assert server.verify(CODES[0]).kind == WRONG and token.read_text() == first
    token.write_text("forgotten.1")
    assert server.verify(RIGHT).kind == GRANTED and token.read_text() != "forgotten.1"
    # As if etcd had been restored since it gave this one: it would wait until it has come as far again.
    token.write_text(first.split(".")[0] + ".99999999")
    assert server.verify(RIGHT).kind == GRANTED and "99999999" not in token.read_text()
    assert server.run("status", "alice").stdout.startswith("alice: enrolled")
    assert "accounts" not in server.run("check", check=None).stdout


def test_unlocking_waits_for_the_attempt_that_is_under_way(fleet):
    """What that attempt says of the attempts that are left is then true, and its failure isn't forgotten."""
    busy = "/passcode/1/u/" + b"alice".hex() + "/busy"
    server = fleet.servers[0]
    server.verify(CODES[0])
    fleet.etcdctl(0, "put", busy, "x")
    unlocking = subprocess.Popen(server.command(fleets.VERIFIER, "unlock", "alice"))
    with pytest.raises(subprocess.TimeoutExpired):
        unlocking.wait(1)
    assert server.failures() == 1
    fleet.etcdctl(0, "del", busy)
    assert unlocking.wait(10) == 0
    assert server.failures() == 0


def test_a_snapshot_that_was_restored_refunds_nothing(fleet):
    """Nor by a server that has seen nothing of what was lost, once another one was told."""
    snapshot = FOLDER / "snapshot"
    fleet.etcdctl(0, "snapshot", "save", snapshot)
    for code in CODES[:3]:
        fleet.servers[0].verify(code)
    assert fleet.servers[1].verify(RIGHT).kind == LOCKED
    for member in fleet.members:
        member.kill()
        member.wait()
    cluster = ",".join(f"m{other}=http://127.0.0.1:{2380 + 10 * other}" for other in range(3))
    for number in range(3):
        fleet.etcdctl(
            number, "snapshot", "restore", snapshot, "--name", f"m{number}", "--data-dir", FOLDER / f"restored{number}",
            "--initial-cluster", cluster, "--initial-cluster-token", "ward-7", "--initial-advertise-peer-urls",
            f"http://127.0.0.1:{2380 + 10 * number}",
        )  # fmt: skip
        fleet.data[number] = FOLDER / f"restored{number}"
        fleet.members[number] = fleet.start_member(number, "existing")
    wait_for(lambda: fleet.leader() is not None, 30)
    for server in fleet.servers[:2]:
        assert server.verify(RIGHT).kind == UNAVAILABLE
        assert "etcd was restored" in server.run("status", "alice", check=7).stderr
        assert "etcd was restored" in server.run("seen", check=7).stderr
    fleet.servers[0].run("restored")
    seen = fleet.servers[2].state / "seen"
    seen.write_bytes(seen.read_bytes()[:8] + struct.pack("<QQ", 1, 1))  # the same cluster, at its beginning
    assert fleet.servers[2].verify(RIGHT).kind == UNAVAILABLE
    assert "the fleet key is older" in fleet.servers[2].run("seen", check=7).stderr
    for server in fleet.servers[1:]:
        server.run("restored")
    for server in fleet.servers:
        assert server.verify(RIGHT).kind == EXHAUSTED
        server.run("seen")
    fleet.servers[0].run("unlock", "alice")
    assert fleet.servers[2].verify(RIGHT).kind == GRANTED
    assert fleet.servers[2].verify(RIGHT, "bob").kind == EXHAUSTED


def test_it_runs_as_the_service_account_and_shows_that_it_works(fleet):
    """Behind an attempt that never ends it waits, gives a sign of work each second, and is not root."""
    fleet.etcdctl(0, "put", "/passcode/1/u/" + b"alice".hex() + "/busy", "x")
    process, ours = fleet.servers[0].start(request(VERIFY, "alice", passcode=RIGHT))
    with ours:
        ours.settimeout(5)
        signs = [(ours.recv(4096), time.monotonic()) for _ in range(4)]
        assert all(set(sign) == {0} for sign, _ in signs)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        assert "Uid:\t0" not in status
        fleet.etcdctl(0, "del", "/passcode/1/u/" + b"alice".hex() + "/busy")
        answer = b"".join(iter(lambda: ours.recv(4096), b""))
    assert fleets.decode(answer).kind == GRANTED
    process.wait(10)
