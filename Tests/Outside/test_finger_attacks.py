"""passcode-finger against others on the bus, and against its environment: only fprintd's own results count."""

import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import dbus
import dbus.lowlevel
import pytest
from finger import Finger, Match, descriptors, touches, watching
from reader import BUS, DEVICE, SERVICE, connect, connections, driver, forge

# Owns fprintd's name as somebody else, and says so.
IMPOSTOR = textwrap.dedent("""
    import os, sys, time
    import dbus
    os.setresuid(*[int(sys.argv[1])] * 3)
    bus = dbus.SystemBus()
    print(bus.request_name("net.reactivated.Fprint"), flush=True)
    time.sleep(60)
""")
ALLOWED = """<busconfig><policy context="default"><allow own="net.reactivated.Fprint"/></policy></busconfig>"""


@pytest.mark.parametrize("sender", ["alice", "bob", "root"])
@pytest.mark.parametrize("directly", [True, False])
def test_a_forged_result_is_not_believed(reader, sender, directly):
    with watching() as finger:
        target = connections()[finger.program.pid] if directly else None
        for result in ("verify-match", "verify-no-match", "verify-disconnected"):
            forge(sender, target, result)
        assert finger.hears_nothing()
        assert touches() == 1  # the one that the reader waits for
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)


def test_a_forged_loss_of_fprintd_is_not_believed(reader):
    with watching() as finger:
        command = [
            "dbus-send", "--system", "--type=signal", f"--dest={connections()[finger.program.pid]}",
            "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged",
            f"string:{SERVICE}", f"string:{driver('GetNameOwner', 's', SERVICE).split()[1][1:-1]}", "string:",
        ]  # fmt: skip
        # The bus forbids that one itself; by another interface it lets it through.
        subprocess.run(command, check=False, capture_output=True)
        command[5] = "org.example.NameOwnerChanged"
        subprocess.run(command, check=True)
        assert finger.hears_nothing()
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)


def test_another_object_s_result_is_not_believed(reader):
    with watching() as finger:
        for path in ("/net/reactivated/Fprint/Device/1", "/net/reactivated/Fprint/Manager"):
            forge("root", connections()[finger.program.pid], path=path)
        forge("root", connections()[finger.program.pid], path=DEVICE, interface="net.reactivated.Fprint.Manager")
        assert finger.hears_nothing()


def test_a_service_that_is_not_root_s_is_not_believed(restored):
    """Even where a policy lets everybody own the name."""
    policy = pathlib.Path("/etc/dbus-1/system.d/impostor.conf")
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(ALLOWED)
    restored.stop_bus()
    restored.start_bus()
    alice = subprocess.check_output(["id", "-u", "alice"], text=True).strip()
    impostor = subprocess.Popen([sys.executable, "-c", IMPOSTOR, alice], stdout=subprocess.PIPE, text=True)
    try:
        assert impostor.stdout.readline() == "1\n"
        with Finger() as finger:
            assert finger.events() == ["failed"]
    finally:
        policy.unlink()
        impostor.kill()
        impostor.wait()


def test_the_environment_names_no_other_bus(reader, tmp_path):
    """As root, and as a setuid program."""
    trap = socket.socket(socket.AF_UNIX)
    trap.bind(str(tmp_path / "trap"))
    trap.listen()
    trap.settimeout(0.2)
    address = f"unix:path={tmp_path}/trap"
    names = ("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS", "DBUS_STARTER_ADDRESS")
    environment = {name: address for name in names} | {"DBUS_STARTER_BUS_TYPE": "system"}
    with watching(env=environment) as finger:
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)
    with pytest.raises(TimeoutError):
        trap.accept()
    trap.close()


@pytest.mark.parametrize("said", [b"", b"REJECTED\r\n", b"\0" * 4096, b"OK x\r\n", b"A" * 100_000], ids=lambda said: repr(said[:8]))
def test_a_bus_that_says_nonsense_is_no_service(restored, said):
    restored.stop_bus()
    BUS.mkdir()
    bus = socket.socket(socket.AF_UNIX)
    bus.bind(str(BUS / "system_bus_socket"))
    bus.listen()

    def answer():
        connection, _ = bus.accept()
        connection.settimeout(2)
        try:
            connection.sendall(said)
            while connection.recv(4096):
                pass
        except OSError:
            pass
        connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with Finger() as finger:
            assert finger.events() in (["no service"], ["slow"])
    finally:
        thread.join()
        bus.close()
        shutil.rmtree(BUS)


@pytest.mark.alone
def test_forged_results_at_every_moment_of_a_prompt_open_nothing(reader):
    """While it connects, claims, starts: 20 prompts, with forgeries all the time. A reader that is slow to start, because
    the forgeries keep the bus busy, isn't offered."""
    stop, offered = threading.Event(), 0

    def flood():
        while not stop.is_set():
            for name in connections().values():
                forge("alice", name)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        for _ in range(20):
            with Finger() as finger:
                if (event := finger.event()) == "watching":
                    offered += 1
                    assert finger.hears_nothing(0.05)
                else:
                    assert [event, *finger.events()] == ["slow"]
        assert offered >= 10
    finally:
        stop.set()
        thread.join()
    with watching() as finger:
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)
    assert touches() == 0


# Sends signals to one connection as fast as it can.
FLOOD = textwrap.dedent("""
    import os, sys
    import dbus, dbus.lowlevel
    os.setresuid(*[int(sys.argv[1])] * 3)
    bus = dbus.SystemBus()
    message = dbus.lowlevel.SignalMessage("/net/reactivated/Fprint/Device/0", "net.reactivated.Fprint.Device", "VerifyStatus")
    message.set_destination(sys.argv[2])
    message.append("verify-match", True, signature="sb")
    print("ready", flush=True)
    while True:
        bus.send_message(message)
        bus.flush()
""")


@pytest.mark.alone
def test_a_flood_of_forged_results_does_not_keep_the_reader(reader):
    alice = subprocess.check_output(["id", "-u", "alice"], text=True).strip()
    with watching() as finger:
        name = connections()[finger.program.pid]
        floods = [
            subprocess.Popen([sys.executable, "-c", FLOOD, alice, name], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        try:
            for flood in floods:
                assert flood.stdout.readline() == "ready\n"
            assert finger.hears_nothing(0.5)
            # What comes meanwhile waits for it: more than it can read before the next comes.
            finger.program.send_signal(signal.SIGSTOP)
            time.sleep(3)
            finger.program.send_signal(signal.SIGCONT)
            begin = time.monotonic()
            finger.close()
            ended = time.monotonic() - begin
        finally:
            for flood in floods:
                flood.kill()
                flood.wait()
    print(f"\nended after {ended:.3f} s")
    # A touch that might have been decided stays charged where fprintd isn't heard any longer.
    assert ended < 2 and touches() <= 1


def test_nobody_can_send_it_descriptors(reader):
    """They would use up those that it may have: the bus refuses the message."""
    with watching() as finger:
        [name] = [name for pid, name in connections().items() if pid == finger.program.pid]
        bus = connect()
        message = dbus.lowlevel.SignalMessage("/a", "a.b", "C")
        message.set_destination(name)
        with open("/dev/null") as file:
            message.append(dbus.types.UnixFd(file), signature="h")
        before = descriptors(finger.program.pid)
        bus.send_message(message)
        bus.flush()
        assert finger.hears_nothing()
        assert descriptors(finger.program.pid) == before
        bus.close()
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)
