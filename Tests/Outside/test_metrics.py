"""`passcode server metrics`: what a server has counted, and how it is, for Prometheus."""

import concurrent.futures
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

from fleet import (
    CHANGE, DONE, ENROLL_BY_CODE, GRANTED, LOCKED, LOOK, NO_CODE, OPEN, REFUSED, STATUS, UNAVAILABLE, VERIFIER, VERIFY, WRONG,
    WRONG_AND_LOCKED, refusing_weak, request, unpack_packages,
)  # fmt: skip
from messages import TREE
from process import wait_for
from scenario import RIGHT
from tool import NOT_PERMITTED

EXAMPLES = TREE / "Sources/system/prometheus"
SCRIPT = TREE / "Sources/system/check/passcode-fleet-check"
UNIT = (TREE / "Sources/system/systemd/passcode-verifier-metrics.service").read_text()
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"]*",?)+)\})? (\d+(?:\.\d+)?)')
SECONDS = "passcode_server_reply_duration_seconds"


def parsed(text):
    """{(name, labels): value}; each metric has its help and its type once, before its values."""
    values, kind = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            kind = [line.split()[2]]
        elif line.startswith("# TYPE "):
            kind.append(line.split()[2])
            assert kind[0] == kind[1], line
        else:
            name, labels, value = LINE.fullmatch(line).groups()
            assert name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") == kind[0], line
            assert (name, labels) not in values
            values[name, labels] = float(value)
    return values


def metrics(server):
    return parsed(server.run("metrics").stdout)


def since(server, before):
    """What has grown."""
    now = metrics(server)
    return {key: value - before[key] for key, value in now.items() if key in before and value > before[key] and key[0].endswith(("_total", "_count"))}


def replies(operation, verdict):
    return "passcode_server_replies_total", f'operation="{operation}",verdict="{verdict}"'


def test_each_reply_is_counted_once(fleet):
    server, other, _ = fleet.servers
    before, others = metrics(server), metrics(other)
    assert server.ask(LOOK, "alice").kind == OPEN and server.verify(RIGHT).kind == GRANTED
    assert server.verify("1593").kind == WRONG and server.ask(STATUS, "alice").numbers[1] == 1
    with refusing_weak():
        assert server.ask(CHANGE, "bob", passcode=RIGHT, new="1234").kind == REFUSED
    assert server.ask(CHANGE, "bob", passcode=RIGHT, new="8264").kind == DONE
    assert server.ask(ENROLL_BY_CODE, "bob", passcode="AAAABBBB", new="8264").kind == NO_CODE
    assert [server.verify(code).kind for code in ("2604", "3715")] == [WRONG, WRONG_AND_LOCKED]
    assert server.ask(LOOK, "alice").kind == LOCKED and server.verify(RIGHT).kind == LOCKED
    wanted = {
        replies("look", "open"): 1, replies("login", "granted"): 1, replies("login", "wrong"): 3,
        replies("change", "refused"): 1, replies("change", "granted"): 1, replies("code", "no_code"): 1,
        replies("look", "locked"): 1, replies("login", "locked"): 1,
        (f"{SECONDS}_count", 'operation="look"'): 2, (f"{SECONDS}_count", 'operation="login"'): 5,
        (f"{SECONDS}_count", 'operation="change"'): 2, (f"{SECONDS}_count", 'operation="code"'): 1,
    }  # fmt: skip
    assert since(server, before) == wanted
    assert since(other, others) == {}, "it decided nothing"


def test_a_duration_s_limits_and_sum_agree_with_the_replies(fleet):
    server = fleet.servers[0]
    before = metrics(server)
    assert server.verify(RIGHT).kind == GRANTED
    now = metrics(server)
    for operation in ("look", "login", "proof", "change", "code"):
        limits = [value for (name, labels), value in now.items() if name == f"{SECONDS}_bucket" and f'"{operation}"' in labels]
        count = now[f"{SECONDS}_count", f'operation="{operation}"']
        assert len(limits) == 12 and limits == sorted(limits) and limits[-1] == count
        assert count == sum(value for (name, labels), value in now.items()
                            if name == "passcode_server_replies_total" and f'operation="{operation}"' in labels)  # fmt: skip
    taken = [metric[f"{SECONDS}_sum", 'operation="login"'] for metric in (before, now)]
    assert 0 <= taken[1] - taken[0] < 5


def test_a_crowd_loses_no_count_and_makes_nothing_longer(fleet):
    server = fleet.servers[0]
    before = metrics(server)
    file = server.state / "counts-1"
    size = file.stat().st_size
    names = [f"visitor{number}" for number in range(60)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        kinds = list(pool.map(lambda name: server.verify("1593", name, name="CN=ws2").kind, names))
        list(pool.map(lambda number: server.verify(RIGHT, name=f"CN=nobody{number}").kind, range(20)))
    assert len(set(kinds)) == 1
    grown = since(server, before)
    assert grown[replies("login", "not_enrolled")] == 60
    assert grown["passcode_server_unavailable_total", 'cause="not_listed"'] == 20
    assert file.stat().st_size == size <= 4_096 and file.stat().st_mode & 0o777 == 0o600
    text = server.run("metrics").stdout
    assert not [name for name in ("visitor", "nobody", "alice", "ws2", "CN=") if name in text]


def test_a_verifier_that_is_killed_counts_nothing_twice(fleet):
    """And one that was stopped while it adds keeps nobody from his reply."""
    server = fleet.servers[0]
    before = metrics(server)
    busy = "/passcode/1/u/" + b"alice".hex() + "/busy"
    fleet.etcdctl(0, "put", busy, "x")
    process, ours = server.start(request(CHANGE, "alice", passcode=RIGHT, new="8264"))
    with ours:
        ours.recv(1)
        process.kill()
        process.wait()
    fleet.etcdctl(0, "del", busy)
    assert since(server, before) == {}
    file = os.open(server.state / "counts-1", os.O_RDWR)
    fcntl.lockf(file, fcntl.LOCK_EX, 1)
    started = time.monotonic()
    process, ours = server.start(request(VERIFY, "alice", passcode=RIGHT))
    with ours:
        ours.settimeout(10)
        answer = b""
        while not answer.endswith(b"\4"):
            answer += ours.recv(4096)
    assert answer.lstrip(b"\0")[1] == GRANTED and process.wait(10) == 0
    assert time.monotonic() - started < 8
    os.close(file)


def test_a_server_without_etcd_says_so(fleet):
    server = fleet.servers[0]
    healthy = metrics(server)
    assert healthy["passcode_server_ready", None] == healthy["passcode_etcd_up", None] == healthy["passcode_etcd_has_leader", None] == 1
    assert 0 < healthy["passcode_etcd_database_bytes", None] < healthy["passcode_etcd_quota_bytes", None]
    assert healthy["passcode_etcd_applied_index", None] <= healthy["passcode_etcd_committed_index", None]
    assert healthy["passcode_etcd_alarms", None] == 0 < healthy["passcode_server_hashing_slots", None]
    for number in (1, 2):
        fleet.members[number].send_signal(signal.SIGSTOP)
    assert server.verify(RIGHT).kind == UNAVAILABLE
    ill = metrics(server)
    assert ill["passcode_server_ready", None] == 0 and ("passcode_fleet_workstations", None) not in ill
    assert ill["passcode_server_unavailable_total", 'cause="etcd"'] == healthy["passcode_server_unavailable_total", 'cause="etcd"'] + 1
    fleet.restart()


def test_a_change_of_etcd_s_leader_is_counted(fleet):
    """Constant changes keep delays from ending: there is an alert."""
    before, leader = metrics(fleet.servers[0])["passcode_etcd_term", None], fleet.leader()
    other = (leader + 1) % 3
    [status] = json.loads(fleet.etcdctl(other, "endpoint", "status", "--write-out=json"))
    fleet.etcdctl(leader, "move-leader", f"{status['Status']['header']['member_id']:x}")
    wait_for(lambda: fleet.leader() == other)
    assert metrics(fleet.servers[0])["passcode_etcd_term", None] > before


def test_workstations_that_are_blocked_are_counted(fleet):
    server = fleet.servers[0]
    people = [f"nurse{number}" for number in range(13)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:{RIGHT}\n" for name in people))
    for name in people[:12]:
        assert server.verify("1593", name).kind == WRONG
    now = metrics(fleet.servers[1])
    blocked = "passcode_fleet_workstations_blocked"
    assert (now[blocked, 'for="everyone"'], now[blocked, 'for="strangers"']) == (0, 1)
    assert now["passcode_fleet_workstations", None] == 2 and now["passcode_fleet_accounts_with_wrong_passcodes", None] == 12
    # More than etcd is asked of at once, and a line about one that has joined.
    others = "".join(f"CN=other{number}\n" for number in range(150))
    server.write("workstations", f"# 0123456789abcdef0123456789abcdef ws1\n{others}CN=ws1\nCN=ws2\n")
    now = metrics(server)
    server.write("workstations", "CN=ws1\nCN=ws2\n")
    assert now["passcode_fleet_workstations", None] == 152 and now[blocked, 'for="strangers"'] == 1


def test_somebody_else_s_file_is_not_shown(fleet):
    """The folder is the service account's: a name there may be a link to any file."""
    server = fleet.servers[0]
    file, away = server.state / "counts-1", server.state / "away"
    server.verify(RIGHT)
    secret = server.state / "secret"
    secret.write_bytes(b"\1" * 2_000)
    file.rename(away)
    os.link(secret, file)
    try:
        assert all(value == 0 for (name, _), value in metrics(server).items() if name.endswith("_total"))
    finally:
        away.replace(file)
        secret.unlink()


def test_only_root_may_ask(fleet):
    server = fleet.servers[0]
    refused = subprocess.run(server.command("setpriv", "--reuid", "alice", "--clear-groups", VERIFIER, "metrics"), capture_output=True, text=True)
    assert refused.returncode == NOT_PERMITTED and refused.stdout == ""


# MARK: The file for the exporter, and the examples


@pytest.fixture
def with_certificates(fleet, tmp_path):
    """What the unit writes."""
    server = fleet.servers[0]
    days = {"server": 825, "workstations": 20, "peer": 400, "peers": 3650, "servers": 300}
    for name, count in days.items():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(count),
             "-subj", f"/CN={name}", "-keyout", tmp_path / "key", "-out", tmp_path / f"{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
    (tmp_path / "stunnel.conf").write_text(f"cert = {tmp_path}/server.pem\nCAfile = {tmp_path}/workstations.pem\n")
    (tmp_path / "etcd").write_text(f'ETCD_PEER_CERT_FILE="{tmp_path}/peer.pem"\nETCD_PEER_TRUSTED_CA_FILE={tmp_path}/peers.pem\n')
    text = SCRIPT.read_text()
    for old, new in (
        ("/etc/stunnel/passcode-verifier.conf", f"{tmp_path}/stunnel.conf"), ("/etc/default/etcd", f"{tmp_path}/etcd"),
        ("/usr/sbin/passcode-verifier", str(VERIFIER)), ("/etc/passcode/issuer/servers.pem", f"{tmp_path}/servers.pem"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    script = tmp_path / "passcode-verifier-check"
    script.write_text(text)
    done = subprocess.run(server.command("sh", script, "metrics"), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout, days


def test_the_certificates_dates_are_added(with_certificates):
    text, days = with_certificates
    values = parsed(text)
    for name, count in days.items():
        left = values["passcode_server_certificate_expiry_timestamp_seconds", f'certificate="{name}"'] - time.time()
        assert abs(left / 86_400 - count) < 0.1


def test_the_examples_name_only_what_is_printed(with_certificates):
    printed = {name for name, _ in parsed(with_certificates[0])}
    page = (TREE / "Sources/system/man/passcode-verifier.8").read_text()
    for file in ("passcode-alerts.yml", "passcode-dashboard.json"):
        named = set(re.findall(r"\bpasscode_(?:server|fleet|etcd)_\w+", (EXAMPLES / file).read_text()))
        assert len(named) > 8 and named - printed == set(), file
    metrics = {re.sub("_(bucket|sum|count)$", "", name) for name in printed}
    assert set(re.findall(r"passcode_(?:server|fleet|etcd)_\w+", page)) == metrics
    dashboard = json.loads((EXAMPLES / "passcode-dashboard.json").read_text())
    assert all(panel["targets"] for panel in dashboard["panels"])


def test_the_unit_writes_it_where_the_exporter_reads_and_never_half():
    assert "passcode-verifier-check metrics >passcode.prom.new && mv -T passcode.prom.new passcode.prom" in UNIT
    assert "[Install]" in (TREE / "Sources/system/systemd/passcode-verifier-metrics.timer").read_text()


def test_the_exporter_s_account_makes_the_unit_write_nowhere_else(tmp_path):
    """Its folder may contain links to what the unit may write; here, one comes back as soon as it is removed."""
    seen = tmp_path / "seen"
    command = shlex.split(re.search("^ExecStart=(.*)", UNIT, re.M)[1].replace("/usr/libexec/passcode-verifier-check metrics", "echo numbers"))
    for name in "passcode.prom.new", "passcode.prom":
        seen.write_text("seen")
        (tmp_path / name).symlink_to(seen)
        assert subprocess.run(command, cwd=tmp_path).returncode == 0
        assert seen.read_text() == "seen" and (tmp_path / "passcode.prom").read_text() == "numbers\n"
        (tmp_path / "passcode.prom").unlink()
    (tmp_path / "passcode.prom.new").symlink_to(seen)
    assert subprocess.run([*command[:2], command[2].removeprefix("rm -f passcode.prom.new && ")], cwd=tmp_path).returncode != 0
    assert seen.read_text() == "seen"


@pytest.mark.on_request
def test_promtool_takes_the_numbers_and_the_alerts(with_certificates, tmp_path):
    """With Debian's package prometheus, unpacked."""
    unpack_packages(tmp_path, ["prometheus"])
    promtool = tmp_path / "root/usr/bin/promtool"
    rules = subprocess.run([promtool, "check", "rules", EXAMPLES / "passcode-alerts.yml"], capture_output=True, text=True)
    assert rules.returncode == 0, rules.stdout + rules.stderr
    numbers = subprocess.run([promtool, "check", "metrics"], input=with_certificates[0], capture_output=True, text=True)
    assert (numbers.returncode, numbers.stdout, numbers.stderr) == (0, "", ""), numbers
