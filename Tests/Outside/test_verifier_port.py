"""Which accounts of a server reach etcd's port: what passcode-verifier-etcd.service loads."""

import os
import pathlib
import subprocess
import sys

import pytest
from fleet import GRANTED, TREE, UNPACKED
from scenario import RIGHT

RULE = TREE / "Sources/system/nftables/passcode-verifier.nft"
# What some versions of etcd let callers without an account do, and what they can do after that.
REQUESTS = [
    ("maintenance/alarm", '{"action":"ACTIVATE","memberID":"1","alarm":"NOSPACE"}'),
    ("lease/keepalive", '{"ID":"1"}'), ("lease/leases", "{}"), ("cluster/member/list", "{}"),
    ("auth/disable", "{}"), ("kv/deleterange", '{"key":"AA==","range_end":"AA=="}'),
]  # fmt: skip
ASK = """if True:
    import sys, urllib.error, urllib.request
    try:
        urllib.request.urlopen("http://127.0.0.1:2379/v3/" + sys.argv[1], sys.argv[2].encode(), timeout=5)
        print("answered")
    except urllib.error.HTTPError:
        print("answered")
    except urllib.error.URLError as error:
        print(type(error.reason).__name__)
"""
HOLD = """if True:
    import socket
    etcd = socket.create_connection(("127.0.0.1", 2379))
    etcd.settimeout(5)
    print("ready", flush=True)
    input()
    try:
        etcd.sendall(b"GET /health HTTP/1.0\\r\\n\\r\\n")
        print("answered" if etcd.recv(100) else "closed")
    except OSError as error:
        print(type(error).__name__)
"""
CONNECT = """if True:
    import socket
    server = socket.create_server(("127.0.0.1", 7470))
    for _ in range(5):
        try:
            socket.create_connection(server.getsockname()).close()
            print("connected")
        except OSError as error:
            print(type(error).__name__)
"""
NOBODY = "setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"


def nft(fleet, *words, **how):
    libraries = next(pathlib.Path(UNPACKED, "usr/lib").glob("*/libnftables.so.1")).parent
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    return fleet.in_net(UNPACKED / "usr/sbin/nft", *words, env=environment, **how)


def load(fleet, port=2379):
    # This machine has neither etcd's account (its members run as root here) nor the issuer's.
    rule = RULE.read_text().replace(", etcd, _passcode-issuer }", " }").replace(", etcd }", " }")
    nft(fleet, "--define", f"port={port}", "--file", "-", input=rule)


@pytest.fixture
def guarded(fleet):
    load(fleet)
    yield fleet
    nft(fleet, "delete", "table", "inet", "passcode_verifier")


def ask(fleet, path, body, *prefix):
    return fleet.in_net(*prefix, sys.executable, "-c", ASK, path, body).strip()


def test_without_the_rule_anyone_connects(fleet):
    assert ask(fleet, "lease/leases", "{}", *NOBODY) == "answered"


@pytest.mark.parametrize("path, body", REQUESTS, ids=[path for path, _ in REQUESTS])
def test_no_other_account_reaches_etcd_s_port(guarded, path, body):
    assert ask(guarded, path, body, *NOBODY) == "ConnectionRefusedError"


def test_root_and_the_service_account_do(guarded):
    assert ask(guarded, "lease/leases", "{}") == "answered"
    assert guarded.servers[0].verify(RIGHT).kind == GRANTED


def test_a_connection_from_before_the_rule_is_ended(fleet):
    command = [*fleet.inside(0), *NOBODY, sys.executable, "-c", HOLD]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "ready\n"
    load(fleet)
    try:
        assert holder.communicate("\n", timeout=30)[0].strip() in ("ConnectionResetError", "TimeoutError", "closed")
        load(fleet)  # again, as after "systemctl reload nftables"
        assert ask(fleet, "lease/leases", "{}", *NOBODY) == "ConnectionRefusedError"
    finally:
        nft(fleet, "delete", "table", "inet", "passcode_verifier")


# Who has the port while etcd is down.
ANSWER = """if True:
    import socket
    server = socket.create_server(("127.0.0.1", 2222))
    print("ready", flush=True)
    while True:
        server.accept()[0].sendall(b"granted")
"""
LISTEN = """if True:
    import socket
    try:
        etcd = socket.create_connection(("127.0.0.1", 2222), timeout=3)
        print(etcd.recv(100).decode())
    except OSError as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize("prefix, heard", [(NOBODY, "TimeoutError"), ((), "granted")], ids=["another account", "root"])
def test_no_other_account_can_answer_there(fleet, prefix, heard):
    """etcdctl sends its password to whoever does, and believes what comes back."""
    server = subprocess.Popen([*fleet.inside(0), *prefix, sys.executable, "-c", ANSWER], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    try:
        assert fleet.in_net(sys.executable, "-c", LISTEN).strip() == "granted"
        load(fleet, 2222)
        assert fleet.in_net(sys.executable, "-c", LISTEN).strip() == heard
    finally:
        server.kill()
        server.communicate()
        nft(fleet, "delete", "table", "inet", "passcode_verifier")


def test_the_limit_for_each_address_is_off_and_can_be_loaded_as_it_stands(fleet):
    """With a small rate here: as many connections as its burst, and then none."""
    sample = "table" + RULE.read_text().partition("\n#table")[2].replace("\n#", "\n")
    nft(fleet, "--check", "--file", "-", input=sample)
    nft(fleet, "--file", "-", input=sample.replace("200/second burst 2000", "1/hour burst 3"))
    try:
        assert fleet.in_net(sys.executable, "-c", CONNECT).split() == ["connected"] * 3 + ["ConnectionRefusedError"] * 2
    finally:
        nft(fleet, "delete", "table", "inet", "passcode_workstations")
