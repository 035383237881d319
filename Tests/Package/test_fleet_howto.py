"""passcode-verifier's README.Debian, followed word for word: three fresh servers and a workstation of each release,
with systemd, Debian's etcd and stunnel, and a network of their own. Its chapters in their order: each test goes on
where the one before it ended."""

import json
import re
import shutil

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, WRONG
from fleet_machines import ADDRESSES, OURS, SERVERS, Ward
from howto import matches
from process import wait_for

pytestmark = pytest.mark.on_request

HEALTHY = "ETCDCTL_API=3 etcdctl --user root:$(cat /root/etcd-root.password) endpoint health >/dev/null 2>&1"
UNITS = "passcode-verifier.socket", "passcode-verifier-seen.timer", "passcode-verifier-stunnel.service", "etcd.service"


@pytest.fixture(scope="module")
def ward(release, deb, fleet_debs):
    made = Ward(release, [deb, *fleet_debs])
    yield made
    made.end()


def test_from_fresh_machines_to_a_login(ward):
    ward.set_up()
    # By getty and login, as whom step 4.5 goes on.
    ward.alice = ward.hosts["ws1"].log_in("alice", (OURS, RIGHT))
    (status, shown), (sudo, [prompt, result]) = ward.page["4.5"].parts
    assert matches(shown, ward.alice.run(status)[0])
    assert sudo == "sudo -k id -u" and prompt == OURS.strip()
    text, status = ward.sudo(RIGHT)
    assert text.split()[-1] == result and OURS in text and status == 0
    for name in SERVERS:
        assert ward.server(f"systemctl is-active {' '.join(UNITS)}", name).split() == ["active"] * len(UNITS)
        assert ward.server("systemctl --failed --no-legend", name) == ""


def test_wrong_ones_count_on_the_servers(ward):
    assert ward.sudo(WRONG[0], PASSWORD)[1] == 0
    assert "wrong passcodes in a row: 1" in ward.server("passcode server status alice", "server2")
    ward.opens()
    assert "wrong passcodes in a row: 0" in ward.server("passcode server status alice", "server3")


def test_a_one_time_code(ward):
    """For a passcode that was forgotten: she sets another one on the workstation."""
    ward.follow("3.2")
    code = re.search(r"\b[A-HJ-NP-Z]{8}\b", ward.people["server1"].printed)[0]
    answers = ("One-time code", code), ("New passcode", OTHER), ("Repeat", OTHER)
    text, status = ward.alice.run("passcode enroll", *answers)
    assert status == 0, text
    assert ward.sudo(RIGHT, PASSWORD)[1] == 0
    assert "wrong passcodes in a row: 1" in ward.server("passcode server status alice", "server2")
    ward.code = OTHER
    ward.opens()


def test_the_packages_are_upgraded(ward):
    """What runs is started again, and logins go on."""
    reinstall = "apt-get install -q -y --reinstall libpam-passcode"
    running = "systemctl show --value --property=ExecMainStartTimestampMonotonic"
    for name, package, tunnel in (
        ("ws1", "passcode-fleet", "passcode-fleet"),
        ("server1", "passcode-verifier", "passcode-verifier-stunnel"),
    ):
        before = ward.server(f"{running} {tunnel}", name)
        ward.hosts[name].run(f"{reinstall} {package}")
        assert int(ward.server(f"{running} {tunnel}", name)) > int(before)
        assert ward.server(f"systemctl is-active {tunnel}", name) == "active\n"
        ward.opens()
    assert ward.server(f"systemctl is-active {' '.join(UNITS)}").split() == ["active"] * len(UNITS)


@pytest.mark.parametrize("name", SERVERS)
def test_the_power_of_a_server_is_cut(ward, name):
    """Logins go on with two, and the server comes back by itself."""
    host = ward.hosts[name]
    host.cut()
    ward.opens()
    ward.start(name)
    assert ward.server("systemctl is-active passcode-verifier-stunnel etcd", name).split() == ["active"] * 2
    ward.opens()


def test_from_a_lost_server_back_to_three(ward):
    ward.lose("server3")
    ward.opens()
    for number in ("5.1", "5.2"):
        ward.follow(number)
        ward.opens()
    ward.add("server3")
    ward.carry("root/fleet-ca/server3.tar", ward.authorities, "server3")
    for number in ("5.3", "5.4"):
        ward.follow(number, new="server3")
        ward.opens()
    ward.carry("root/fleet.tar", ward.people["server1"], "server3")
    ward.follow("5.5", "5.6", new="server3")
    ward.opens()
    # The new one is as good as the others, and any one of them may now be lost.
    ward.hosts["server1"].cut()
    assert "enrolled" in ward.server("passcode server status alice", "server3")
    ward.opens()
    ward.start("server1")


def test_a_snapshot_that_was_restored(ward):
    """It has forgotten two wrong passcodes: before it is declared, and before an unlock, everything is refused."""
    ward.follow("6.1")
    assert ward.sudo(WRONG[1], WRONG[2], PASSWORD)[1] == 0
    assert "wrong passcodes in a row: 2" in ward.server("passcode server status alice")
    snapshot = ward.people["server1"].machine.path / "root/passcode.snapshot"
    ward.follow("6.2")
    for name in ("server2", "server3"):
        shutil.copy(snapshot, ward.hosts[name].machine.path / "root")
    ward.follow("6.3")
    for name in SERVERS:  # too early
        units = "passcode-verifier.socket passcode-verifier-stunnel passcode-verifier-seen.timer"
        ward.server(f"systemctl start {units}", name)
    ward.hosts["server1"].wait(HEALTHY)
    refused(ward)
    for name in SERVERS:
        assert "etcd was restored, or is another one" in ward.server("passcode server status alice", name)
        ward.server("systemctl start passcode-verifier-seen", name)
        assert "etcd was restored" in ward.server("journalctl --no-pager -u passcode-verifier-seen", name)
    refused(ward)
    ward.follow("6.4")
    refused(ward)
    ward.follow("6.5", "6.6")
    ward.opens()
    for name in SERVERS:
        assert "enrolled, wrong" in ward.server("passcode server status alice", name)


def test_all_servers_are_lost(ward, tmp_path):
    """New ones, the old authorities, the copy of fleet.tar, and the snapshot: nothing is answered before it is declared."""
    ward.follow("6.1", "2.7")
    root = ward.people["server1"].machine.path / "root"
    copies = {name: shutil.copy(root / name, tmp_path) for name in ("passcode.snapshot", "fleet.tar")}
    assert ward.sudo(WRONG[3], PASSWORD)[1] == 0  # forgotten by the snapshot
    for name in SERVERS:
        ward.lose(name)
    refused(ward)
    for name in SERVERS:
        ward.authorities.names = {"server3": name, re.escape(ADDRESSES["server3"]): ADDRESSES[name]}
        ward.follow("5.2")
        ward.add(name)
        ward.carry(f"root/fleet-ca/{name}.tar", ward.authorities, name)
    ward.follow("2.1", "2.2", "2.3")
    for name in SERVERS:
        for copy in copies.values():
            shutil.copy(copy, ward.people[name].machine.path / "root")
        ward.people[name].follow(ward.page, "2.8")
    ward.follow("6.2", "6.3")
    for name in SERVERS:
        assert "no such file" in ward.server("passcode server status alice", name)
    ward.follow("6.4", "6.5")
    refused(ward)
    ward.follow("2.9")
    refused(ward)
    ward.follow("6.6")
    ward.opens()


def refused(ward):
    """The right passcode, everywhere; the password works."""
    text, status = ward.sudo(ward.code, PASSWORD)
    assert "Sorry, try again" in text or re.search("locked|unavailable", text), text
    assert status == 0


def test_new_certificates(ward):
    """Of renewed authorities: logins go on while one server after another has its own."""
    before = (ward.hosts["ws1"].machine.path / "etc/stunnel/servers.pem").read_text()
    ward.authorities.names = {}
    ward.follow("8.1", "8.2", "1.4")
    assert (ward.authorities.machine.path / "root/fleet-ca/ws2.tar").exists()
    for name in (*SERVERS, "ws1"):
        ward.carry(f"root/fleet-ca/{name}.tar", ward.authorities, name)
    for name in SERVERS:
        ward.people[name].follow(ward.page, "8.3")
        ward.opens()
    ward.follow("8.4")
    ward.hosts["ws1"].wait("test -S /run/passcode-fleet/verifier.sock.2")  # systemd doesn't wait for stunnel's sockets
    ward.opens()
    assert (ward.hosts["ws1"].machine.path / "etc/stunnel/servers.pem").read_text() != before
    # It waits 3 s for each server.
    wait_for(lambda: not re.search("fleet-(certificates|servers)", ward.server("passcode check --quiet; true", "ws1")), 60)


def collected(ward):
    """{(server, line)} on the machine to which they send their logs."""
    text = ward.server("journalctl -D /var/log/journal/remote -t passcode -o json", "log")
    entries = map(json.loads, re.findall("^{.*", text, re.MULTILINE))
    return {(entry["_HOSTNAME"], entry["MESSAGE"]) for entry in entries}


def test_one_log_of_all_servers(ward):
    """A wrong one and a right one at one of them, and an unlock at another. The log machine may be off meanwhile."""
    ward.add("log")
    ward.follow("10.1")
    for name in SERVERS:
        ward.carry(f"root/log-ca/{name}-log.tar", ward.people["log"], name)
    ward.follow("10.2", "10.3")
    for name in ("server1", "server3"):
        ward.server("systemctl stop passcode-verifier-stunnel", name)
    ward.opens()
    assert ward.sudo(WRONG[0], PASSWORD)[1] == 0
    for name in ("server1", "server3"):
        ward.server("systemctl start passcode-verifier-stunnel", name)
    ward.server("passcode server unlock alice", "server3")
    keys = r"user=alice service=sudo workstation=CN\x3dws1"
    lines = {
        ("server2", f"passcode granted {keys}"),
        ("server2", f"passcode wrong {keys}"),
        ("server3", "passcode-verifier: passcode unlocked user=alice by_uid=0"),
    }
    wait_for(lambda: lines <= collected(ward))
    ward.follow("10.4")
    for server, line in lines:
        assert re.search(rf" {server} passcode\[\d+\]: {re.escape(line)}$", ward.people["log"].printed, re.MULTILINE)
    # Nobody else may write there.
    connect = "timeout 3 bash -c '</dev/tcp/log.example.org/19532'"
    ward.hosts["server1"].run(connect)
    ward.hosts["ws1"].run(f"! {connect}")
    ward.hosts["log"].cut()
    ward.server("passcode server disable alice")
    ward.hosts["log"].start()
    ward.server("ip neigh flush dev lan")  # its card has another address now
    wait_for(lambda: ("server1", "passcode-verifier: passcode disabled user=alice by_uid=0") in collected(ward), 180)
    ward.server("passcode server enable alice")
    ward.opens()


def test_a_workstation_that_is_taken_off_the_list(ward):
    ward.follow("7.1")
    refused(ward)
