"""A server of a fleet on a kernel of its own, with AppArmor in force: what answers workstations is confined more tightly
than root's commands, and each can do its work."""


import pytest

from debian_machine import OTHER, RIGHT, WRONG
from fleet import ETCD_ACCOUNTS
from guest import Guest, disk

pytestmark = pytest.mark.on_request

PROGRAMS = " etcd-client etcd-server nftables python3-minimal stunnel4"
# Starts the relay as stunnel does, and sends two requests on its connection (FleetMessage.swift).
ASK = """#!/usr/bin/python3
import os, pwd, socket, struct, subprocess, sys, time
stunnel = pwd.getpwnam("stunnel4")
ours, theirs = socket.socketpair()
relay = subprocess.Popen(["/usr/sbin/passcode-verifier", "relay"], stdin=theirs, stdout=theirs, user=stunnel.pw_uid,
                         group=stunnel.pw_gid, extra_groups=[], env={"SSL_CLIENT_DN": "CN=ws1"})
theirs.close()
def request(operation, code=b""):
    return b"\\2\\5alice" + struct.pack("<BBIBBH", 1, operation, 0xFFFFFFFF, 4 << 2, len(code), 0) + b"sudo" + code
def answer():
    text = b""
    while not text.endswith(b"\\4"):
        part = ours.recv(4096)
        if not part: break
        text += part
    return text.lstrip(b"\\0")[1]
ours.sendall(request(1))
print("look", answer())
for process in os.listdir("/proc"):
    try:
        if os.readlink(f"/proc/{process}/exe") == "/usr/sbin/passcode-verifier":
            print(open(f"/proc/{process}/attr/current").read().strip())
    except OSError:
        pass
ours.sendall(request(2, sys.argv[1].encode()))
print("verify", answer())
relay.wait()
"""
FILES = {
    "root/ask": ASK,
    "etc/default/etcd": "ETCD_BCRYPT_COST=4\n",  # an emulated processor takes seconds for the usual one
    "etc/passcode/verifier.conf": "fleet=ward-7\netcd_user=passcode\n",
    "etc/passcode/workstations": "CN=ws1\n",
    "root/users": "bob\n",
}


@pytest.fixture(scope="module")
def guest(deb, fleet_debs):
    [verifier] = [path for path in fleet_debs if path.name.startswith("passcode-verifier_")]
    guest = Guest(disk("trixie", deb, verifier, programs=PROGRAMS, files=FILES))
    guest.run(f"dpkg --install --force-confold /root/{deb.name} /root/{verifier.name}")
    guest.run("systemctl start etcd")
    for words in ETCD_ACCOUNTS:
        guest.run(f"ETCDCTL_API=3 etcdctl {words}")
    guest.run("echo twice | install -m 0440 -g _passcode /dev/stdin /etc/passcode/verifier.password")
    guest.run("passcode server init && passcode server seen")
    yield guest
    guest.cut()


def test_each_can_do_its_work_and_no_more(guest):
    profiles = guest.run("cat /sys/kernel/security/apparmor/profiles")
    for name in ("passcode-verifier", "passcode-verifier//serve", "passcode-verifier//relay"):
        assert f"{name} (enforce)" in profiles
    guest.run(f"echo {RIGHT} | passcode server enroll alice --stdin")
    for code, reply in ((WRONG[0], "verify 2"), (RIGHT, "verify 1")):
        said = guest.run(f"/root/ask {code}").splitlines()
        assert [said[0], said[-1]] == ["look 16", reply], said
        assert sorted(said[1:-1]) == ["passcode-verifier (enforce)"] + [
            f"passcode-verifier//&passcode-verifier//{child} (enforce)" for child in ("relay", "serve")
        ]
    # Root's commands reach what root keeps anywhere.
    guest.run("passcode server invite --batch /root/users --output /root/codes && grep -q ^bob: /root/codes")
    guest.run(f"echo {OTHER} | passcode server enroll alice --stdin && passcode server list && passcode server restored")
    guest.run("systemctl start passcode-verifier-seen")
    assert guest.denials() == []


def test_what_serve_may_not_do_is_refused(guest):
    """Its rules are applied to a program that anybody can run."""
    stacked = "passcode-verifier//&passcode-verifier//serve"
    assert "root:" not in guest.run(f"aa-exec -p '{stacked}' -- /bin/cat /etc/shadow", None)
    assert any("serve" in line for line in guest.denials()), guest.denials()
