"""passcode-verifier: who is answered, and who is believed to be etcd."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import socket
import struct
import subprocess
import time

import bench
import fleet as fleets
import pytest
from bed import uid
from fleet import FORBIDDEN, GRANTED, LOOK, NOT_ENROLLED, OPEN, STATUS, UNAVAILABLE, VERIFIER, VERIFY, request
from helper import OPEN_WITHOUT_WAITING
from scenario import RIGHT
from ward import Listener


@pytest.mark.parametrize("account", ["alice/wait", "root", "alice\n", "carol", "", "ALICE"])
def test_nobody_else_is_asked_for(fleet, account):
    reply = fleet.servers[0].verify(RIGHT, account)
    assert reply is None or reply.kind in (NOT_ENROLLED, UNAVAILABLE)


@pytest.mark.parametrize("name", ["CN=ws3", "CN=ws", "CN=ws1, CN=ws2", "CN=WS1", " CN=ws1", "/CN=ws1", "x"])
def test_a_name_that_the_list_doesn_t_have_is_refused(fleet, name):
    assert fleets.says_not_listed(fleet.servers[0].verify(RIGHT, name=name))


def head(name):
    """What the relay sends first."""
    return struct.pack("<BH", 3, len(name)) + name.encode()


def test_a_name_that_the_list_doesn_t_have_is_not_waited_for(fleet):
    process, ours = fleet.servers[0].start(head("CN=ws3"))
    with ours:
        ours.settimeout(8)  # a request is waited for until 10 s are over
        assert fleets.says_not_listed(fleets.decode(b"".join(iter(lambda: ours.recv(4096), b""))))
    assert process.wait(20) == 0


@pytest.mark.parametrize("name", ["CN=ws3", "CN=ws1"])
def test_for_a_name_that_the_list_doesn_t_have_the_relay_starts_nothing(fleet, name):
    """It says so itself, whatever comes; where it can't read the list, the verifier does."""
    server = fleet.servers[0]
    listener = Listener(server)
    words = server.command("setpriv", f"--reuid={uid('alice')}", "--clear-groups", VERIFIER, "relay")

    def relayed():
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = subprocess.Popen(words, stdin=theirs, stdout=theirs, cwd="/", env={**os.environ, "SSL_CLIENT_DN": name})
            ours.sendall(request(LOOK, "carol", name="")[3:])
            ours.settimeout(20)
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
            ours.shutdown(socket.SHUT_WR)
            assert process.wait(10) == 0
            return answer

    try:
        (server.door / "socket").chmod(0o666)
        for mode in (0o644, 0o600):
            (server.files / "workstations").chmod(mode)
            answer = relayed()
            reply = fleets.decode(answer)
            assert reply.kind == FORBIDDEN or fleets.says_not_listed(reply), reply
            assert answer.endswith(b"\4"), "only a verifier may say that nothing was charged"
            assert len(listener.children) == (name == "CN=ws1" or mode == 0o600) + (name == "CN=ws1" and mode == 0o600)
    finally:
        (server.files / "workstations").chmod(0o644)
        listener.end()
        (server.door / "socket").unlink()


@pytest.mark.parametrize("name, passed", [("CN=ws3", None), ("CN=ws1", b"CN=ws1\nasked")])
def test_the_issuer_hears_only_of_a_renewal_for_a_name_that_the_list_has(fleet, name, passed):
    server = fleet.servers[0]
    path = server.door / "renew"
    words = server.command("setpriv", f"--reuid={uid('alice')}", "--clear-groups", VERIFIER, "relay", "renew")
    with socket.socket(socket.AF_UNIX) as door, contextlib.ExitStack() as stack:
        door.bind(str(path))
        stack.callback(path.unlink)
        path.chmod(0o666)
        door.listen()
        door.settimeout(10 if passed else 0.5)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen(words, stdin=theirs, stdout=theirs, cwd="/", env={**os.environ, "SSL_CLIENT_DN": name})
            theirs.close()
            # A relay that has nothing to pass on may have ended.
            with contextlib.nullcontext() if passed else contextlib.suppress(BrokenPipeError):
                ours.sendall(b"asked")
            if passed:
                connection, _ = door.accept()
                with connection:
                    got = b""
                    while got != passed:
                        assert passed.startswith(got)
                        got += connection.recv(64)
                    connection.sendall(b"answer")
                ours.settimeout(10)
                assert b"".join(iter(lambda: ours.recv(64), b"")).strip(b"\0") == b"answer"
            else:
                with pytest.raises(TimeoutError):
                    door.accept()
            assert process.wait(10) == 0


def test_only_root_can_look_into_the_relay(fleet):
    """Passcodes pass there. It runs as stunnel's account, as other tunnels do."""
    server = fleet.servers[0]
    listener = Listener(server)
    listener.is_silent = True
    (server.door / "socket").chmod(0o666)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = server.command("prlimit", "--core=9", "setpriv", f"--reuid={uid('alice')}", "--clear-groups", VERIFIER, "relay")
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, cwd="/", env={**os.environ, "SSL_CLIENT_DN": "CN=ws1"})
        try:
            fleets.wait_for(lambda: listener.held)
            own = pathlib.Path("/proc", str(process.pid))
            assert (own / "environ").stat().st_uid == 0 and f"Uid:\t{uid('alice')}\t" in (own / "status").read_text()
            assert re.search(r"Max core file size +0 +0 ", (own / "limits").read_text())
        finally:
            process.kill()
            process.wait()
            listener.end()


@pytest.mark.calm
def test_one_workstation_doesn_t_use_up_the_verifiers(fleet):
    """By connections on which it asks nothing: 128 wait for a request, for 10 s, and one more is refused."""
    server = fleet.servers[0]
    assert server.verify(RIGHT).kind == GRANTED
    started = time.monotonic()
    idle = [server.start(head("CN=ws1")) for _ in range(136)]
    try:
        fleets.wait_for(lambda: sum(process.poll() is not None for process, _ in idle) == 136 - 128, 8)
        for process, ours in idle:
            if process.poll() is not None:
                assert fleets.decode(ours.recv(4096)).kind == UNAVAILABLE
        assert server.verify(RIGHT).kind == UNAVAILABLE
        assert server.verify(RIGHT, name="CN=ws2").kind == GRANTED
        fleets.wait_for(lambda: all(process.poll() is not None for process, _ in idle), 20)
        assert time.monotonic() - started < 20
        assert server.verify(RIGHT).kind == GRANTED
    finally:
        for process, ours in idle:
            process.kill()
            process.wait()
            ours.close()


def test_256_wait_for_the_attempt_after_a_look(fleet):
    """One more answers, and ends: its workstation connects anew for the attempt."""
    server = fleet.servers[0]
    assert server.verify(RIGHT).kind == GRANTED, "it makes the file"
    with (server.state / "turns").open("r+") as turns:
        fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 255)
        last, ours = server.start(request(LOOK, "alice"))
        with ours:
            ours.settimeout(10)
            look = b""
            while not (reply := fleets.decode(look)):
                look += ours.recv(4096)
            assert (reply.kind, server.ask(LOOK, "alice").kind) == (OPEN, OPEN_WITHOUT_WAITING)
        last.wait(10)
        assert server.ask(LOOK, "alice").kind == OPEN


def test_a_workstation_may_ask_a_thousand_times_and_then_once_a_second(fleet):
    """What it has asked is kept as the moment at which all of it would have been answered, one a second."""
    server = fleet.servers[0]
    digest = hashlib.blake2b(b"CN=ws1", digest_size=32).digest()
    place = 8 * int.from_bytes(digest[:2], "little")

    def asked(number):
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
        with (server.state / "asked").open("r+b") as file:
            file.seek(place)
            file.write(struct.pack("<Q", now + number * 1_000))

    assert server.ask(LOOK, "carol").kind == NOT_ENROLLED
    assert (server.state / "asked").stat().st_mode & 0o777 == 0o600
    began = time.monotonic()
    asked(996)
    kinds = [server.ask(operation, "carol").kind for operation in [LOOK, STATUS] * 10]
    answers = len(kinds) - kinds.count(UNAVAILABLE)
    assert 3 <= answers <= 5 + (time.monotonic() - began) and UNAVAILABLE not in kinds[:3], kinds
    refused = []

    def is_refused():
        """Within a second of its last answer."""
        asked(1000)
        refused[:] = [server.converse(request(VERIFY, "alice", passcode=RIGHT))]
        return fleets.decode(refused[0]).kind == UNAVAILABLE

    fleets.wait_for(is_refused)
    assert refused[0].endswith(b"\5"), "another server may be asked"
    assert server.verify(RIGHT, name="CN=ws2").kind == fleet.servers[1].verify(RIGHT).kind == GRANTED
    fleets.wait_for(lambda: server.verify(RIGHT).kind == GRANTED)
    asked(10**6)  # since the machine was started, that many can't have been asked
    assert server.verify(RIGHT).kind == GRANTED
    assert server.failures() == 0


def test_attempts_on_one_account_don_t_use_up_those_of_its_workstation(fleet):
    """96 wait for their turn, and further ones are refused: the workstation's other accounts are served."""
    server = fleet.servers[0]
    assert server.verify(RIGHT).kind == GRANTED, "it makes the file"
    attempts = []

    def refused():
        return [ours for process, ours in attempts if process.poll() is not None]

    with (server.state / "turns").open("r+") as turns:
        fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 1 << 16, 1 << 16)
        try:
            attempts += [server.start(request(VERIFY, "alice", passcode=RIGHT)) for _ in range(100)]
            fleets.wait_for(lambda: len(refused()) == 100 - 96, 40)
            for ours in refused():
                assert fleets.decode(ours.recv(4096)).kind == UNAVAILABLE
            assert server.ask(LOOK, "carol").kind == NOT_ENROLLED
        finally:
            for process, ours in attempts:
                process.kill()
                process.wait()
                ours.close()
    assert server.verify(RIGHT).kind == GRANTED


@pytest.mark.parametrize("name", ["verifier.conf", "fleet.key", "workstations"])
def test_a_file_that_somebody_else_could_have_written_is_not_used(fleet, name):
    server = fleet.servers[0]
    path = server.files / name
    before = path.stat()
    for owner, mode in ((uid("alice"), 0), (before.st_uid, 0o002), (before.st_uid, 0)):
        os.chown(path, owner, -1)
        path.chmod(before.st_mode & 0o7777 | mode)
        sound = (owner, mode) == (before.st_uid, 0)
        assert server.verify(RIGHT).kind == (GRANTED if sound else UNAVAILABLE), (owner, mode)


def test_requests_that_make_no_sense_get_no_reply(fleet):
    whole = request(VERIFY, "alice", passcode=RIGHT)
    server = fleet.servers[0]
    for data in (
        b"", b"\3", whole[:10], b"\2" + whole[1:], request(VERIFY, "alice", passcode=RIGHT, uid=1000),
        request(5, "alice", passcode=RIGHT), request(7, "alice"), request(VERIFY, "alice", passcode="04x1"),
        request(VERIFY, "", passcode=RIGHT), request(VERIFY, "alice", passcode=RIGHT, name="CN=ws1\n"),
    ):  # fmt: skip
        process, ours = server.start(data)
        with ours:
            ours.shutdown(socket.SHUT_WR)
            ours.settimeout(10)
            try:
                assert ours.recv(10) == b""
            except ConnectionResetError:
                pass  # it left some of it unread
        assert process.wait(10) == 1
    assert server.failures() == 0


def test_a_person_without_root_is_answered_nothing(fleet):
    """Somebody who reaches the program directly: it has no privilege of its own to lend."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = fleet.servers[0].command("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", fleets.VERIFIER)
        process = subprocess.Popen(command, stdin=theirs, cwd="/")
        theirs.close()
        ours.sendall(request(VERIFY, "alice", passcode=RIGHT))
        reply = fleets.decode(b"".join(iter(lambda: ours.recv(4096), b"")))
        process.wait(10)
    assert reply.kind == UNAVAILABLE


ASK = """if True:
    import socket, sys
    asker = socket.socket(socket.AF_UNIX)
    asker.connect(sys.argv[1])
    asker.sendall(bytes.fromhex(sys.argv[2]))
    asker.shutdown(socket.SHUT_WR)
    sys.stdout.buffer.write(b"".join(iter(lambda: asker.recv(4096), b"")))
"""


@pytest.mark.parametrize("has_account", [True, False], ids=["with stunnel's account", "without"])
def test_only_root_and_stunnel_s_account_are_answered(fleet, has_account):
    """Whoever else reached the socket could name any workstation."""
    server, stunnel = fleet.servers[0], 300_000
    (server.door / "socket").unlink(missing_ok=True)
    listener = Listener(server)
    (server.door / "socket").chmod(0o666)
    data = request(VERIFY, "alice", passcode=RIGHT)

    def asked_by(number):
        words = ["setpriv", f"--reuid={number}", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", ASK]
        done = subprocess.run([*words, server.door / "socket", data.hex()], capture_output=True, check=True, timeout=60, cwd="/")
        return fleets.decode(done.stdout).kind

    try:
        # This machine may have stunnel's own.
        account = f"{'stunnel4' if has_account else 'somebody'}:x:{stunnel}:{stunnel}::/nonexistent:/bin/false\n"
        with bench.accounts_changed(lambda lines: [line for line in lines if not line.startswith("stunnel4:")] + [account]):
            assert [asked_by(number) for number in (0, stunnel)] == [GRANTED, GRANTED if has_account else FORBIDDEN]
            assert [asked_by(uid(name)) for name in ("alice", "nobody", "_passcode")] == [FORBIDDEN] * 3
    finally:
        listener.end()


@pytest.mark.parametrize("account, kind", [("alice", GRANTED), ("bob", None), ("alice ", None), ("", None)])
def test_after_a_look_only_the_same_account_is_attempted(fleet, account, kind):
    """bob has the same passcode."""
    process, ours = fleet.servers[0].start(request(LOOK, "alice"))
    with ours:
        ours.settimeout(10)
        look = b""
        while not look.endswith(b"\4"):
            look += ours.recv(4096)
        assert fleets.decode(look).kind == OPEN
        ours.sendall(request(VERIFY, account, passcode=RIGHT)[len(head("CN=ws1")) :])
        ours.shutdown(socket.SHUT_WR)
        try:
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
        except ConnectionResetError:
            answer = b""  # it left the rest unread
    process.wait(10)
    assert kind == (fleets.decode(answer).kind if answer else None)
    assert fleet.servers[0].failures("bob") == 0


@pytest.mark.parametrize("pause", [0, 1], ids=["accepts at once", "accepts later"])
def test_a_program_that_took_etcd_s_port_is_not_believed(fleet, pause):
    """Anybody can bind it while etcd is down: nothing goes there, and nothing from there counts. Until somebody accepts
    the connection, kernels up to 6.15 show root as its owner."""
    fleet.members[0].kill()
    fleet.members[0].wait()
    script = f"""if True:
        import os, select, socket, sys, time
        os.setgid(65534); os.setuid(65534)
        door = socket.create_server(("127.0.0.1", 2379))
        print("ready", flush=True)
        door.settimeout(20)
        select.select([door], [], [], 20)
        time.sleep({pause})
        peer, _ = door.accept()
        peer.settimeout(5)
        sys.stdout.write(repr(peer.recv(100)))
    """
    impostor = subprocess.Popen(
        fleet.servers[0].command("python3", "-c", script), stdout=subprocess.PIPE, text=True
    )
    assert impostor.stdout.readline() == "ready\n"
    assert fleet.servers[0].verify(RIGHT).kind == UNAVAILABLE
    assert impostor.communicate(timeout=30)[0] == "b''"
    fleets.wait_for(lambda: fleet.leader() is not None, 30)  # etcd may need two elections, of two seconds each
    assert fleet.servers[1].verify(RIGHT).kind == GRANTED


FORGED = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "cut": b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"header":',
    "no body's length": b'HTTP/1.1 200 OK\r\n\r\n{"succeeded":true}',
    "no header": b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"succeeded":true}',
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 10_000,
    "an error": b'HTTP/1.1 503 X\r\nContent-Length: 24\r\n\r\n{"error":"no","code":14}',
}


@pytest.mark.parametrize("answer", FORGED.values(), ids=FORGED)
def test_an_answer_of_etcd_that_makes_no_sense_is_unavailable(fleet, answer):
    fleet.members[0].kill()
    fleet.members[0].wait()
    script = f"""if True:
        import socket
        door = socket.create_server(("127.0.0.1", 2379))
        print("ready", flush=True)
        peer, _ = door.accept()
        peer.recv(65536)
        peer.sendall({answer!r})
        peer.settimeout(10)
        while peer.recv(65536): pass
    """
    forger = subprocess.Popen(fleet.servers[0].command("python3", "-c", script), stdout=subprocess.PIPE, text=True)
    assert forger.stdout.readline() == "ready\n"
    started = time.monotonic()
    reply = fleet.servers[0].verify(RIGHT)
    assert (reply.kind, time.monotonic() - started < 5) == (UNAVAILABLE, True)
    forger.kill()
    forger.communicate()
