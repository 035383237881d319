"""`passcode check` on a fleet's server: what passcode-verifier finds. For a workstation test_workstation_check.py."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from fleet import FOLDER, LOOK, OPEN, UNAVAILABLE
from messages import TREE
from process import wait_for


def findings(done):
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["check"], row["level"]): row["message"] for row in rows}


def checked(server, status=0):
    done = server.run("check", "--json", check=status)
    return findings(done)


@pytest.fixture
def noted(fleet):
    for server in fleet.servers:
        server.run("seen")
    return fleet


def test_healthy_servers_know_each_other(noted):
    for server in noted.servers:
        found = checked(server)
        assert {key for key in found if key[1] != "ok"} == set(), found
        assert found["verifier-servers", "ok"] == "server0, server1, server2"
    lines = noted.servers[0].run("check").stdout
    assert [line.split(":")[0] for line in lines.splitlines()] == [
        "✓ verifier-configuration", "✓ verifier-etcd", "✓ verifier-servers", "✓ verifier-alarm",
    ]  # fmt: skip
    assert noted.servers[0].run("check", "--quiet").stdout == ""


SCRIPT = TREE / "Sources/system/check/passcode-fleet-check"


@pytest.mark.parametrize(("inactive", "failed", "command"), [
    ("", "", None),
    ("passcode-verifier.socket", "", "systemctl enable --now passcode-verifier.socket"),
    ("passcode-verifier-seen.timer", "", "systemctl enable --now passcode-verifier-seen.timer"),
    ("", "passcode-verifier.service", "systemctl restart passcode-verifier.service"),
])  # fmt: skip
def test_a_unit_that_does_not_run_is_told_with_the_command_that_starts_it(tmp_path, inactive, failed, command):
    """A socket may be active while its service can't start. (systemctl is a stand-in: the real one in test_fleet_howto.py.)"""
    stand_in = tmp_path / "systemctl"
    stand_in.write_text(f'#!/bin/sh\ncase "$2 $3" in "is-active {inactive}") exit 3 ;; "is-failed {failed}") ;; is-active*) ;; *) exit 1 ;; esac\n')
    stand_in.chmod(0o755)
    script = tmp_path / "passcode-verifier-check"
    text = SCRIPT.read_text().replace("export PATH=", f"export PATH={tmp_path}:")
    script.write_text(text.replace("/etc/passcode/verifier.conf", str(stand_in)))  # it is there
    systemd = pathlib.Path("/run/systemd/system")
    new = [folder for folder in (systemd, systemd.parent) if not folder.exists()]
    systemd.mkdir(parents=True, exist_ok=True)
    try:
        said = subprocess.run(["sh", script, "json"], capture_output=True, text=True).stdout
    finally:
        for folder in new:
            folder.rmdir()
    [row] = [row for line in said.splitlines() if (row := json.loads(line))["check"] == "verifier-services"]
    assert (row["level"], row["command"]) == ("error" if command else "ok", command)


def another_key(fleet):
    path = fleet.servers[2].files / "fleet.key"
    key = path.read_bytes()
    path.write_bytes(b"\1" * 32 + key[32:])
    fleet.servers[2].run("seen")
    path.write_bytes(key)


def an_older_version(fleet):
    rewrite(fleet, r"version=\S+", "version=0.1")


def a_clock_ahead(fleet):
    rewrite(fleet, r"time=\d+", f"time={time.time() + 60:.0f}")


def a_clock_behind(fleet):
    rewrite(fleet, r"time=\d+", f"time={time.time() - 404:.0f}")


def rewrite(fleet, pattern, value):
    key = "/passcode/1/v/" + b"server2".hex()
    text = re.sub(pattern, value, fleet.etcdctl(0, "get", "--print-value-only", key).rstrip("\n") + "\n")
    fleet.etcdctl(0, "put", key, input=text)


def a_server_that_is_missing(fleet):
    fleet.etcdctl(0, "del", "/passcode/1/v/" + b"server2".hex())


def no_workstation(fleet):
    """All that joined have been taken off it: what is left says which invitations were carried out."""
    fleet.servers[0].write("workstations", "\n# 0123456789abcdef0123456789abcdef ws1\n")


def no_etcd(fleet):
    fleet.members[0].kill()
    fleet.members[0].wait()


def no_majority(fleet):
    for number in (1, 2):
        fleet.members[number].send_signal(signal.SIGSTOP)


def guesses_at_many(fleet):
    people = ["bob", "carol", "dave"]
    fleet.servers[0].run("enroll", "--batch", "-", input="".join(f"{name}:8264\n" for name in people))
    for name in people:
        fleet.servers[1].verify("1593", name)
    configure(fleet, "alarm_accounts=3")


def bad_option(fleet):
    configure(fleet, "fleets=1")


def no_key(fleet):
    (fleet.servers[0].files / "fleet.key").rename(fleet.servers[0].files / "away")


def another_schedule(fleet):
    path = fleet.servers[2].files / "verifier.conf"
    kept = path.read_text()
    fleet.servers[2].write("verifier.conf", kept.replace("10:8h", "10:9h"))
    fleet.servers[2].run("seen")
    fleet.servers[2].write("verifier.conf", kept)


def another_list(fleet):
    path = fleet.servers[2].files / "workstations"
    kept = path.read_text()
    fleet.servers[2].write("workstations", kept.replace("CN=ws1\n", ""))
    fleet.servers[2].run("seen")
    fleet.servers[2].write("workstations", kept)


def a_weak_schedule(fleet):
    configure(fleet, "lockout=3:1m")


def accounts_that_are_off(fleet):
    fleet.etcdctl(0, "auth", "disable")


def no_accounts(fleet):
    fleet.etcdctl(0, "auth", "disable")
    fleet.servers[0].write("verifier.conf", "fleet=ward-7\netcd=2379\n")


def a_wrong_password(fleet):
    fleet.servers[0].set_password("thrice")
    (fleet.servers[0].state / "token").unlink()


def configure(fleet, line):
    fleet.servers[0].write("verifier.conf", f"fleet=ward-7\netcd=2379\netcd_user=passcode\n{line}\n")


HARMS = [
    (guesses_at_many, "verifier-alarm", "warning", "wrong passcodes were typed for 3 accounts within an hour"),
    (another_key, "verifier-servers", "error", "server2: has a different fleet key"),
    (another_schedule, "verifier-servers", "error", "server2: has a different fleet key or verifier.conf"),
    (another_list, "verifier-servers", "error", "or a different list of workstations"),
    (an_older_version, "verifier-servers", "warning", "server2: has version 0.1"),
    (a_clock_ahead, "verifier-servers", "warning", "server2: its clock is"),
    (a_clock_behind, "verifier-servers", "warning", "server2: last reported 40"),
    (a_server_that_is_missing, "verifier-servers", "error", "only these servers reported in the last 10 minutes: server0, server1"),
    (no_workstation, "verifier-configuration", "warning", "lists no workstation"),
    (a_weak_schedule, "verifier-configuration", "warning", "more than 10 guesses a day"),
    (accounts_that_are_off, "verifier-etcd", "error", "etcd's accounts are off"),
    (no_accounts, "verifier-etcd", "warning", "etcd has no accounts"),
    (a_wrong_password, "verifier-etcd", "error", "or it refuses the password"),
    (bad_option, "verifier-configuration", "error", "fleets"),
    (no_key, "verifier-configuration", "error", "fleet.key: no such file; on the fleet's first server, run: passcode server init"),
    (no_majority, "verifier-etcd", "error", "etcd"),
    (no_etcd, "verifier-etcd", "error", "etcd gives no valid answer: it is down, too few of its members"),
]


def test_what_is_wrong_with_a_server_is_told(noted):
    server = noted.servers[0]
    kept = {name: (server.files / name).read_bytes() for name in ("verifier.conf", "verifier.password", "workstations")}
    for harm, check, level, words in HARMS:
        harm(noted)
        # Its own note is older than the schedule that it has now: that is an error.
        found = checked(server, int(level == "error" or harm in (a_weak_schedule, no_accounts, no_workstation)))
        assert words in found.get((check, level), ""), (harm, found)
        for name, content in kept.items():
            (server.files / name).write_bytes(content)
        if (server.files / "away").exists():
            (server.files / "away").rename(server.files / "fleet.key")
        if harm in (accounts_that_are_off, no_accounts):
            noted.etcdctl(0, "auth", "enable")
        if harm in (no_majority, no_etcd):
            noted.restart()
        else:
            noted.servers[2].run("seen")


def test_an_alarm_of_etcd_is_told(noted):
    """As it raises it when its database is full."""
    [status] = json.loads(noted.etcdctl(0, "endpoint", "status", "--write-out=json"))
    member = status["Status"]["header"]["member_id"]
    body = json.dumps({"action": "ACTIVATE", "memberID": str(member), "alarm": "NOSPACE"})
    post = f"import urllib.request as u; u.urlopen('http://127.0.0.1:2379/v3/maintenance/alarm', {body.encode()!r}).read()"
    subprocess.run([*noted.inside(0), "python3", "-c", post], check=True, capture_output=True)
    try:
        assert "NOSPACE" in checked(noted.servers[0], 1)["verifier-etcd", "error"]
        assert noted.servers[0].run("enroll", "alice", "--stdin", input="2580\n", check=None).returncode != 0
        for server in noted.servers:
            reply = server.ask(LOOK, "alice")
            assert (reply.kind, b"etcd" in reply.text) == (UNAVAILABLE, True), "there is no prompt that couldn't be answered"
    finally:
        noted.etcdctl(0, "alarm", "disarm")
    assert noted.servers[0].ask(LOOK, "alice").kind == OPEN


def test_a_cluster_with_fewer_members_than_servers_is_told(noted):
    """As after --force-new-cluster on a member that had been cut off: it starts from its own data, alone."""
    for member in noted.members:
        member.kill()
        member.wait()
    kept = FOLDER / "kept"
    for number in range(3):
        shutil.copytree(noted.data[number], kept / str(number))
    noted.members[0] = noted.start_member(0, "existing", "--force-new-cluster")
    wait_for(lambda: noted.leader() is not None, 30)
    found = checked(noted.servers[0], 1)["verifier-servers", "error"]
    assert "etcd has 1 members (m0), but more servers reported" in found and "--force-new-cluster" in found
    noted.members[0].kill()
    noted.members[0].wait()
    for number in range(3):
        shutil.rmtree(noted.data[number])
        (kept / str(number)).rename(noted.data[number])
    for server in noted.servers:
        (server.state / "seen").unlink()
    noted.members = [noted.start_member(number, "existing") for number in range(3)]
    wait_for(lambda: noted.leader() is not None, 30)
    for server in noted.servers:
        server.run("seen", "--first")
