"""A fleet by a few commands: `passcode server create`, `passcode server invite-workstation` and passcode-fleet-join, on fresh
machines of each release with systemd, Debian's etcd and stunnel; compared with what README.Debian's long way makes."""

import re

import pytest

from few import AUTHORITY, CREATE, ETCD, FOLDERS, NAMES, PASSPHRASE, TOKEN, Few, described
from fleet_machines import SERVERS, Ward
from package import passcode_works

pytestmark = pytest.mark.on_request

AUTHORITIES = "fleet peers.key peers.pem servers.key servers.pem workstations.pem".split()


@pytest.fixture(scope="module")
def few(release, deb, fleet_debs):
    made = Few(release, [deb, *fleet_debs])
    made.run("apt-get install -q -y passcode-verifier")
    yield made
    made.end()


@pytest.mark.parametrize(
    "servers, said",
    [
        ("a b", "three or five servers"),
        ("server1 server2 c d", "three or five servers"),
        ("server1 server2 '$(touch /root/x)'", "not a host name"),
        ("server1 server2 'c d'", "not a host name"),
        ("server1 server2 'c;reboot'", "not a host name"),
        ("server1 server2 -- c", "unknown option"),
        ("server1 server2 -oProxyCommand=x", "unknown option"),
        ("server1 server2 'c=1.2.3.4;x'", "no IPv4 address"),
        ("server1 server2 $'c\\n'", "not a host name"),
        ("a=192.0.2.1 b=192.0.2.2 c=127.0.0.1", "is 127.0.0.1 here"),
        ("a=192.0.2.1 b=192.0.2.2 a.example=192.0.2.3", "two servers are called a"),
        ("a=192.0.2.1 b=192.0.2.2 c=192.0.2.2", "two servers have the address"),
    ],
)
def test_a_server_that_is_none(few, servers, said):
    assert said in few.create(servers, None)
    assert not few.path("root/x").exists() and not few.path(AUTHORITY[1:]).exists()


def changed_by_a_dry_run(few, *names):
    """The paths, on these machines."""

    def state():
        files = {name: few.hosts[name].machine.snapshot("etc", "var/lib", "root") for name in names}
        return {(name, path): what for name in names for path, what in files[name].items()}

    before = state()
    said = few.create(more=" --dry-run")
    assert said.count("): fresh") == 3 and "port 7470" in said
    after = state()
    return {path for name, path in {*before, *after} if before.get((name, path)) != after.get((name, path))}


def test_a_dry_run_changes_nothing(few):
    changed = changed_by_a_dry_run(few, *SERVERS)
    assert all(re.match(r"root|var/lib/(systemd|etcd|passcode-verifier)", path) for path in changed), changed


def test_an_answer_that_is_none(few):
    """Servers say something before their answers, with a character for the terminal."""
    few.run("mv /usr/bin/ssh /usr/bin/ssh.real")
    few.path("usr/bin/ssh").write_text("#!/bin/bash\n[[ ${!#} != bash ]] || printf 'Wel\\033come\\n'\nexec /usr/bin/ssh.real \"$@\"\n")
    few.run("chmod 0755 /usr/bin/ssh")
    said = few.create(status=1)
    assert said.count("no valid answer") == 2 and "not all servers are fresh" in said and "\033" not in said
    few.run("mv /usr/bin/ssh.real /usr/bin/ssh")


def test_a_no_or_a_short_passphrase_changes_nothing(few):
    """A person says no; a file of a fleet is there; a clock is wrong."""
    no = CREATE.format(NAMES).replace(" --yes", "")
    assert "nothing was changed" in few.run(no, status=1, input="n\n")
    assert "at least 12 characters" in few.create(status=1, passphrase="short")
    few.run("mkdir -p /etc/stunnel && touch /etc/stunnel/server.pem", "server2")
    said = few.create(status=1)
    assert "/etc/stunnel/server.pem exists" in said and "nothing was changed" in said
    few.run("rm /etc/stunnel/server.pem", "server2")
    assert not few.path(AUTHORITY[1:]).exists()
    for name in SERVERS:
        assert not few.path("etc/passcode/being-created", name).exists()


def test_it_goes_on_after_a_failure_in_the_middle(few):
    """ssh to a server fails at each step in turn; the same command begins those servers anew."""
    few.run("mv /usr/bin/ssh /usr/bin/ssh.real")
    for step in ("install_packages", "begin", "request_certificates", "set_up_etcd", "unpack"):
        few.path("usr/bin/ssh").write_text(
            f"#!/bin/bash\nscript=$(cat)\n"
            f'if [[ $* == *server2* && $script == *"; {step} <"* ]]; then head -c -5 <<<"$script" | /usr/bin/ssh.real "$@"; exit 255; fi\n'
            f'exec /usr/bin/ssh.real "$@" <<<"$script"\n'
        )
        few.run("chmod 0755 /usr/bin/ssh")
        assert f"{step} has failed" in few.create(status=1), step
    few.run("mv /usr/bin/ssh.real /usr/bin/ssh")


@pytest.mark.parametrize("signal", ["INT", "KILL"])
def test_it_goes_on_after_a_signal(few, signal):
    """Whenever it comes; what a killed run was doing on a server ends before the next one begins there."""
    for tenths in (3, 8, 13, 18, 23, 28):
        command = f"timeout -s {signal} {tenths / 10} {CREATE.format(NAMES)}"
        assert "nothing was changed" not in few.run(command, status=None, input=PASSPHRASE + "\n")


def test_nobody_else_s_passphrase_or_servers(few):
    assert "not the passphrase" in few.create(status=1, passphrase="another passphrase")
    assert "not for this fleet" in few.create("server1 server2 server3", status=1)


def test_the_same_command_ends_it(few):
    said = few.create()
    assert "The fleet ward-7 is ready" in said and PASSPHRASE not in said
    few.run("apt-get install -q -y passcode-fleet", "ws1")
    few.run("truncate -s -1 /etc/security/passcode.conf", "ws1")
    few.join(few.token())


def test_it_is_not_made_twice(few):
    for name in SERVERS:
        few.run("systemctl start passcode-verifier-seen", name)
    before = {name: few.hosts[name].machine.snapshot("etc") for name in SERVERS}
    assert "let workstations connect" in few.create()
    assert {name: few.hosts[name].machine.snapshot("etc") for name in SERVERS} == before
    few.run(f"mv {AUTHORITY} /root/.offline")
    assert "there is a fleet on these servers already" in few.create(status=1)
    few.run(f"mv /root/.offline {AUTHORITY}")


@pytest.fixture(scope="module")
def ward(few, release, deb, fleet_debs):
    made = Ward(release, [deb, *fleet_debs])
    made.set_up()
    yield made
    made.end()


@pytest.mark.parametrize("name", [*SERVERS, "ws1"])
def test_both_ways_end_in_the_same_files(few, ward, name):
    folders = FOLDERS if name in SERVERS else ("etc/stunnel", "etc/security", "etc/pam.d", "etc/systemd")
    short, long = (described(fleet.hosts[name].machine, *folders) for fleet in (few, ward))
    assert short == long


@pytest.fixture(scope="module")
def administered(release, deb, fleet_debs):
    """From a machine that is no server."""
    made = Few(release, [deb, *fleet_debs], source="admin")
    made.follow("0.1")
    yield made
    made.end()


def test_a_dry_run_of_an_administrator_s_machine_changes_nothing(administered):
    """But for what ssh notes there."""
    changed = changed_by_a_dry_run(administered, *SERVERS, "admin")
    assert all(re.match(r"root$|root/\.ssh|var/lib/systemd", path) for path in changed), changed


def test_an_administrator_s_machine_makes_a_fleet(administered):
    """By the page, to a login. There, only the authorities are left."""
    few = administered
    few.follow("0.2", "0.3", "0.5")
    few.hosts["ws1"].wait("passcode status alice >/dev/null")
    passcode_works(few.hosts["ws1"].machine)
    for name in SERVERS:
        assert "server set up fleet=ward-7 from=admin by_uid=0" in few.run("journalctl -o cat -t passcode", name)
    assert few.run(f"ls {AUTHORITY}", "admin").split() == AUTHORITIES
    ours = "/etc/passcode/{fleet.key,verifier.*,workstations,issuer} /etc/stunnel/*.{pem,key} /root/etcd-*"
    assert few.run(f"ls -d {ours} 2>/dev/null; true", "admin") == ""
    assert few.run("ss -Hltn 'sport != :22 and not src 127.0.0.0/8'", "admin") == ""


@pytest.mark.only("trixie")
def test_five_servers_at_once(release, deb, fleet_debs):
    """Any two of them may fail."""
    few = Few(release, [deb, *fleet_debs], "server4", "server5", source="admin")
    try:
        few.follow("0.1")
        said = few.create(" ".join(f"server{number}.example.org" for number in range(1, 6)), more=" --invite ws1")
        few.follow("0.3")
        few.run("apt-get install -q -y passcode-fleet", "ws1")
        few.join(TOKEN.search(said)[0])
        assert few.run(f"{ETCD} etcdctl member list").count(", started, server") == 5
        for number in range(3, 6):  # they know the workstation
            few.run("systemctl start passcode-verifier-seen", f"server{number}")
        for name in SERVERS[:2]:
            few.hosts[name].cut()
        few.hosts["ws1"].wait("passcode status alice >/dev/null")
        passcode_works(few.hosts["ws1"].machine)
        for name in SERVERS[:2]:
            few.hosts[name].start()
            few.hosts[name].wait("systemctl start passcode-verifier-seen")
    finally:
        few.end()
