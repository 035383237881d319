"""A fleet that grows from three servers to five, and a lost server that is replaced, by one command each: in containers of each
release with systemd, Debian's etcd and stunnel."""

import re
import struct

import pytest

from debian_machine import RIGHT
from few import AUTHORITY, ETCD, FOLDERS, PASSPHRASE, Few, described
from fleet_machines import SERVERS
from package import passcode_works

pytestmark = pytest.mark.on_request

HOW = f" --authority {AUTHORITY} --passphrase-fd 0 --yes"
ADD = "passcode server add ward-7 server4.example.org server5.example.org" + HOW
REPLACE = "passcode server replace ward-7 server3.example.org server3.example.org" + HOW
NEW = "server4", "server5"
SEEN = "var/lib/passcode-verifier/seen"


@pytest.fixture(scope="module")
def few(release, deb, fleet_debs):
    made = Few(release, [deb, *fleet_debs], *NEW)
    made.run("apt-get install -q -y passcode-verifier")
    made.create()
    made.run("passcode server enroll alice --stdin", input=f"{RIGHT}\n")
    made.run("apt-get install -q -y passcode-fleet", "ws1")
    made.join(made.token())
    for name in SERVERS:  # they know the workstation
        made.run("systemctl start passcode-verifier-seen", name)
    yield made
    made.end()


def change(few, command, status=0, passphrase=PASSPHRASE):
    return few.run(f"{command} 2>&1", status=status, input=passphrase + "\n")


def log_in(few):
    few.hosts["ws1"].wait("passcode status alice >/dev/null")
    passcode_works(few.hosts["ws1"].machine)


def members(few):
    return sorted(re.findall(r", started, (\w+),", few.run(f"{ETCD} etcdctl member list")))


def fail_at(few, server, step):
    """ssh to that server breaks off at this step, before it is carried out, and after it."""
    for kept in ("head -c -5 <<<", "cat <<<"):
        few.path("usr/bin/ssh").write_text(
            f"#!/bin/bash\nscript=$(cat)\n"
            f'if [[ $* == *{server}* && $script == *"; {step} <"* ]]; then {kept}"$script" | /usr/bin/ssh.real "$@"; exit 255; fi\n'
            f'exec /usr/bin/ssh.real "$@" <<<"$script"\n'
        )
        few.run("chmod 0755 /usr/bin/ssh")
        yield


@pytest.mark.parametrize(
    "command, said",
    [
        ("add ward-7 server4.example.org", "would have 4 servers"),
        ("add ward-8 server4.example.org server5.example.org", "made for the fleet ward-8"),
        ("add ward-7", "name the new servers"),
        ("add ward-7 server4.example.org 'x;reboot'", "not a host name"),
        ("replace ward-7 server9.example.org server4.example.org", "server9.example.org is not in"),
        ("replace ward-7 server3.example.org", "name the lost server and the new one"),
        ("replace ward-7 server3.example.org server2.example.org", "would have 2 servers"),
        ("replace ward-7 server3.example.org server4.example.org", "server3.example.org isn't lost"),
    ],
)
def test_what_is_refused_before_anything_is_changed(few, command, said):
    assert said in change(few, f"passcode server {command}{HOW}", None)
    assert members(few) == list(SERVERS) and not few.path("etc/passcode/being-created", "server4").exists()


def test_a_dry_run_a_no_and_another_passphrase_change_nothing(few):
    before = {name: few.hosts[name].machine.snapshot("etc") for name in (*SERVERS, *NEW)}
    said = change(few, f"{ADD} --dry-run")
    assert said.count("): fresh") == 2 and said.count("): a server of the fleet ward-7") == 3 and "Change the fleet" not in said
    no = ADD.replace(" --yes", "").replace(" --passphrase-fd 0", "")
    assert "Change the fleet ward-7?" in change(few, no, 1, "n")
    assert "not the passphrase" in change(few, ADD, 1, "another passphrase")
    few.run("mkdir -p /etc/stunnel && touch /etc/stunnel/server.pem", "server5")
    assert "can't be used: server5.example.org" in change(few, ADD, 1)
    few.run("rm /etc/stunnel/server.pem; rmdir --ignore-fail-on-non-empty /etc/stunnel", "server5")
    assert {name: few.hosts[name].machine.snapshot("etc") for name in (*SERVERS, *NEW)} == before


def test_it_goes_on_after_a_failure_at_each_step(few):
    few.run("mv /usr/bin/ssh /usr/bin/ssh.real")
    for step in ("begin", "set_up_etcd", "unpack", "take_seen", "end"):
        for _ in fail_at(few, "server4", step):
            assert f"{step} has failed" in change(few, ADD, 1), step
    few.run("mv /usr/bin/ssh.real /usr/bin/ssh")


def test_from_three_to_five(few):
    """By the page."""
    few.follow("0.6")
    assert members(few) == sorted((*SERVERS, *NEW))
    for name in ("server2", "server3"):
        few.hosts[name].cut()
    log_in(few)
    for name in ("server2", "server3"):
        few.hosts[name].start()
        few.hosts[name].wait("systemctl start passcode-verifier-seen")
    few.run("passcode-fleet-join --renew --now", "ws1")
    text = few.path("etc/stunnel/passcode-fleet.conf", "ws1").read_text()
    assert [text.count(f"connect = {name}.example.org:7470") for name in (*SERVERS, *NEW)] == [2] * 5
    assert "servers are now" in few.run("journalctl -o cat -t passcode", "ws1")
    log_in(few)
    said = change(few, ADD)  # nothing is left to do
    assert "the list of all 5 servers" in said and "On server4" not in said and PASSPHRASE not in said


@pytest.mark.parametrize("name", NEW)
def test_the_files_are_those_of_the_other_servers(few, name):
    """But for its name, and what etcd is told once."""
    own, other = (described(few.hosts[server].machine, *FOLDERS[:-1]) for server in (name, "server2"))

    def alike(files, server):
        text = few.path("etc/default/etcd", server).read_text()
        own_lines = re.sub(r"(?m)^(ETCD_NAME|ETCD_\w+PEER_URLS|ETCD_INITIAL_CLUSTER_STATE)=.*", r"\1", text)
        kept = {path: entry[:3] if path.endswith("pem") else entry for path, entry in files.items()}
        return {**kept, "etc/default/etcd": own_lines}

    ours, theirs = alike(own, name), alike(other, "server2")
    assert {path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path)} == set()
    listed = few.run("cat /etc/passcode/issuer/servers", name)
    assert listed == few.run("cat /etc/passcode/issuer/servers") and listed.count("server ") == 5


def lose(few, name):
    """With its disk; and an empty machine has its name and its address."""
    few.hosts.pop(name).remove()
    few.add(name)
    few.run(f"ssh-keygen -q -R {name}.example.org")
    few.trust("server1", name)
    for other in few.hosts:  # the new machine's card has another address
        few.run("ip neigh flush dev lan", other)
    few.hosts["server1"].wait(f"ssh -o ConnectTimeout=3 root@{name}.example.org true </dev/null")


def seen(few, name):
    return struct.unpack("<QQQ", few.path(SEEN, name).read_bytes())


def test_a_lost_server_is_replaced(few):
    lose(few, "server3")
    log_in(few)
    few.run("mv /usr/bin/ssh /usr/bin/ssh.real")
    for step in ("begin", "set_up_etcd", "take_seen"):
        for _ in fail_at(few, "server3", step):
            assert f"{step} has failed" in change(few, REPLACE, 1), step
    few.run("mv /usr/bin/ssh.real /usr/bin/ssh")
    before = max(seen(few, name) for name in SERVERS[:2])
    few.follow("0.7")
    assert seen(few, "server3")[0] == before[0] and seen(few, "server3")[1] >= before[1]
    assert members(few) == sorted((*SERVERS, *NEW))
    for name in ("server1", "server2"):
        few.hosts[name].cut()
    log_in(few)  # by server3
    for name in ("server1", "server2"):
        few.hosts[name].start()
        few.hosts[name].wait("systemctl start passcode-verifier-seen")
    log = few.run("journalctl -o cat -t passcode", "server3")
    assert "etcd's revision taken from other servers" in log and "server set up fleet=ward-7 from=server1" in log
    assert "not restored" not in log and "declared" not in log
    change(few, REPLACE)  # nothing is left to do
    assert members(few) == sorted((*SERVERS, *NEW))


def test_a_server_that_refuses_etcd_gives_no_floor(few):
    """It has found that etcd was behind: a new server doesn't get around that."""
    lose(few, "server3")
    cluster, _, term = seen(few, "server2")
    few.path(SEEN, "server2").write_bytes(struct.pack("<QQQ", cluster, 2**64 - 1, term))
    assert "server2.example.org refuses this etcd" in change(few, REPLACE, 1)
    assert not few.path(SEEN, "server3").exists() or few.path(SEEN, "server3").read_bytes() == b""
