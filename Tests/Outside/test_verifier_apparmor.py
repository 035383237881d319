"""What passcode-verifier's AppArmor profile lets it do as a server for workstations or as the relay, and what it does.
(No kernel enforces it here; test_fleet_kernel.py has one that does.)"""

import os
import socket
import subprocess

import fleet as fleets
import pytest
from apparmor import CALLS, Profile, needed
from fleet import CHANGE, FOLDER, GRANTED, LOOK, STATUS, TREE, VERIFIER, VERIFY, WRONG_AND_LOCKED, request
from scenario import NEW, RIGHT, WRONG
from ward import Listener

PROFILE = TREE / "Sources/system/apparmor/usr.sbin.passcode-verifier"
# Opened when it confines itself. Shared libraries are opened before that: none of our code has run then.
NARROWED = "/proc/self/attr/apparmor/current"


def traced(trace, server, *words, stdin):
    strace = ("strace", "-D", "-y", "-qq", "-s", "300", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", trace, "-f")
    command = server.command(*strace, VERIFIER, *words)
    return subprocess.Popen(command, stdin=stdin, stdout=stdin, cwd="/", env={**os.environ, "SSL_CLIENT_DN": "CN=ws1"})


def used(trace):
    """{(path, permissions)} of what worked after it tried to confine itself."""
    lines = [line for line in trace.read_text().splitlines() if "+++" not in line]
    [first] = [number for number, line in enumerate(lines) if NARROWED in line]
    assert not any("passcode" in line for line in lines[1:first]), "before that it opens nothing of ours"
    # No rule for files says which connections to a port are allowed; /proc/net is a link.
    lines = [line.replace('"/proc/net/', '"/proc/self/net/') for line in lines[first:] if "AF_INET" not in line]
    return {asked for line in lines if (asked := needed(line))}


def converse(process, ours, data):
    ours.sendall(data)
    ours.shutdown(socket.SHUT_WR)
    ours.settimeout(30)
    reply = fleets.decode(b"".join(iter(lambda: ours.recv(4096), b"")))
    process.wait(30)
    return reply


ACTS = [
    (request(LOOK, "alice"), fleets.OPEN), (request(VERIFY, "alice", passcode=RIGHT), GRANTED),
    (request(VERIFY, "alice", passcode=WRONG[0]), fleets.WRONG), (request(STATUS, "alice"), fleets.STATUS_REPLY),
    (request(CHANGE, "alice", passcode=RIGHT, new=NEW), fleets.DONE),
    (request(VERIFY, "alice", passcode=WRONG[1]), fleets.WRONG),
    (request(VERIFY, "alice", passcode=WRONG[2]), fleets.WRONG),
    (request(VERIFY, "alice", passcode=WRONG[0]), WRONG_AND_LOCKED),
]  # fmt: skip


def test_what_answers_a_workstation_needs_no_more_than_its_profile_allows(fleet):
    server, everything = fleet.servers[0], set()
    for number, (data, kind) in enumerate(ACTS):
        trace = FOLDER / f"serve{number}.trace"
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = traced(trace, server, stdin=theirs)
            assert converse(process, ours, data).kind == kind
        fleets.wait_for(trace.exists)
        everything |= used(trace)
    assert {("/etc/passcode/fleet.key", "r"), ("/etc/passcode/workstations", "r")} <= everything
    profile = Profile(PROFILE, "serve")
    assert {asked for asked in everything if not profile.allows(*asked)} == set()


def test_the_relay_needs_no_more_than_its_profile_allows(fleet):
    server, trace = fleet.servers[0], FOLDER / "relay.trace"
    listener = Listener(server)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = traced(trace, server, "relay", stdin=theirs)
        reply = converse(process, ours, request(VERIFY, "alice", passcode=RIGHT, name="")[3:])
    listener.end()
    assert reply.kind == GRANTED
    profile = Profile(PROFILE, "relay")
    assert ("/run/passcode-verifier/socket", "w") in used(trace)
    assert {asked for asked in used(trace) if not profile.allows(*asked)} == set()


@pytest.mark.parametrize("child", ["serve", "relay"])
def test_its_profile_forbids_the_rest(child):
    profile = Profile(PROFILE, child)
    for path, letters in (
        ("/usr/sbin/passcode-verifier", "w"), ("/usr/libexec/passcode-helper", "w"), ("/usr/bin/true", "x"),
        ("/etc/shadow", "r"), ("/etc/passcode/fleet.key", "w"), ("/etc/passcode/workstations", "w"),
        ("/etc/passcode/key", "r"), ("/root/etcd-root.password", "r"), ("/home/alice/note", "r"), ("/var/lib/etcd/default", "r"),
        (NARROWED, "w"),
    ):  # fmt: skip
        assert not profile.allows(path, letters), path
    assert not Profile(PROFILE, "relay").allows("/etc/passcode/fleet.key", "r")
