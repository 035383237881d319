"""Crowds at two workstations of a fleet."""

import collections
import contextlib
import random
import re
import subprocess
import sys
import time

import pytest
from fleet import TREE
from scenario import RIGHT
from ward import FIRST_PORT, SOCKETS, at, crowds


def causes(machine):
    """Why passcodes were unavailable, and how often."""
    return collections.Counter(re.findall('cause="(.*)"', "\n".join(line.message for line in machine.log())))


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.on_request)])
def test_prompts_at_two_workstations_have_one_budget(machine, ward, count):
    """At each of them all are open before the first is answered; those that the other one has locked by then are refused
    unasked. The right one comes last, and is refused."""
    guesses = [f"{number:04}" for number in random.sample(range(1000, 10000), count - 1)]
    halves = [[("alice", code, 0) for code in guesses[half::2]] for half in (0, 1)]
    halves[1].append(("alice", RIGHT, 1))
    first, second = crowds(machine, halves)
    logins = first.logins + second.logins
    assert collections.Counter(login.result for login in logins) == {"AUTH_ERR": count}, causes(machine)
    assert ward.fleet.servers[1].failures() == 3
    wrong = sorted(login.text for login in logins if login.text.startswith("Wrong"))
    # The third one is told of the lock, as are those after it.
    assert wrong == ["Wrong passcode, 1 attempt left.", "Wrong passcode, 2 attempts left."]


def test_right_ones_at_two_workstations_all_pass(machine, ward):
    for crowd in crowds(machine, [[("alice", RIGHT, 0)] * 30] * 2):
        assert crowd.count("SUCCESS") == 30
    assert ward.fleet.servers[1].failures() == 0


# MARK: Which server

PAGE = TREE / "debian/passcode-verifier.README.Debian"
SAMPLE = TREE / "Sources/system/stunnel/passcode-fleet.conf"


def test_the_page_puts_each_server_first_for_a_third_of_the_workstations():
    """One of these orders, each as likely as the others. The second socket begins with another server."""
    [(edit, orders)] = re.findall(r'^    sed "(.*)\$\(shuf -n 1 -e (.*)\)/"', PAGE.read_text(), re.MULTILINE)
    firsts = []
    for order in orders.split():
        done = subprocess.run(["sed", f"{edit}{order}/", SAMPLE], check=True, capture_output=True, text=True).stdout
        found = [re.findall(r"^connect = (server\d)\.example\.org:7470$", part, re.MULTILINE) for part in done.split("\n[")]
        before, *sections = found
        assert before == [] and [sorted(section) for section in sections] == [["server1", "server2", "server3"]] * 2
        assert sections[0][0] != sections[1][0] and done.count("checkHost") == SAMPLE.read_text().count("checkHost")
        firsts.append(sections[0][0])
    assert sorted(firsts) == ["server1", "server2", "server3"]


def test_workstations_with_another_server_first_share_the_load(machine, ward):
    """How many verifiers each server has started for three logins at each of two workstations."""
    ward.connect("another", "ws2", first=1)
    for name in ("ws1", "another"):
        at(machine, name)
        assert [machine.authenticate("alice", RIGHT).result for _ in range(3)] == ["SUCCESS"] * 3
    assert [len(listener.children) for listener in ward.listeners] == [3, 3, 0]


# MARK: Silent connections

HOLD = """if True:
    import socket, sys, time
    family, place, count = socket.AF_UNIX, sys.argv[1], int(sys.argv[2])
    if place.isdigit():
        family, place = socket.AF_INET, ("127.0.0.1", int(place))
    held = []
    for _ in range(count):
        held.append(socket.socket(family))
        while held[-1].connect_ex(place):
            time.sleep(0.01)
    print("ready", flush=True)
    time.sleep(600)
"""


@contextlib.contextmanager
def idle(ward, place, count):
    """As many connections as that, to a workstation's socket or to a port."""
    command = ["prlimit", "--nofile=4096", *ward.fleet.inside(0), sys.executable, "-c", HOLD, str(place), str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield
    process.kill()
    process.communicate()


@pytest.mark.on_request
def test_idle_connections_of_one_workstation_stop_no_other_one(machine, ward):
    """More connections than a server has verifiers, all with one certificate, and all silent."""
    at(machine, "ws2")
    with idle(ward, SOCKETS / "ws1/verifier.sock", 600):
        for _ in range(3):
            started = time.monotonic()
            assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
            assert time.monotonic() - started < 5


# It asks nothing, and never says that it has ended. Prints how many seconds the server waits for that.
NEVER_ENDS = """if True:
    import os, socket, ssl, sys, time
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(f"{sys.argv[2]}/ws3.pem", f"{sys.argv[2]}/ws3.key")
    connection = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    while connection.recv(4096):
        pass
    refused = time.monotonic()
    beneath = socket.socket(fileno=os.dup(connection.fileno()))
    beneath.settimeout(60)
    while beneath.recv(4096):
        pass
    print(time.monotonic() - refused)
"""


def test_a_workstation_that_was_taken_off_the_list_holds_no_connection(ward):
    """With its certificate it could otherwise hold as many as stunnel accepts, with 35 connections a second."""
    command = [*ward.fleet.inside(0), sys.executable, "-c", NEVER_ENDS, str(FIRST_PORT), ward.certificates.folder]
    assert float(subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout) < 8


@pytest.mark.on_request
def test_connections_without_a_certificate_end_soon(machine, ward):
    """More connections than stunnel accepts, at the only server that runs: stunnel ends each one after TIMEOUTbusy."""
    for number in (1, 2):
        ward.stop(f"server{number}")
    started = time.monotonic()
    with idle(ward, FIRST_PORT, 2500):
        flooded = time.monotonic()
        while machine.authenticate("alice", RIGHT).result != "SUCCESS":
            assert time.monotonic() - flooded < 15
    print(f"connected after {flooded - started:.1f} s, granted {time.monotonic() - flooded:.1f} s later")
    ward.serve(ward.fleet.servers[1])
    with idle(ward, FIRST_PORT, 2500):
        started = time.monotonic()
        assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
        assert time.monotonic() - started < 5, "another server answers meanwhile"
