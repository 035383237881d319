"""The issuer of workstations' certificates, where a certificate is renewed: etcd isn't asked. With tokens, and through stunnel:
test_fleet_join.py and test_fleet_renew.py."""

import base64
import contextlib
import datetime
import pathlib
import re
import subprocess
import time

import pytest
from messages import TREE

ISSUE = TREE / "Sources/system/setup/passcode-verifier-issue"
STUNNEL, ISSUER = pathlib.Path("/etc/stunnel"), pathlib.Path("/etc/passcode/issuer")
LIST = pathlib.Path("/etc/passcode/workstations")
CURVE = "-pkeyopt ec_paramgen_curve:prime256v1"


def shell(command):
    return subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=True).stdout


def authority(name, certificate, key):
    shell(f"openssl req -x509 -newkey ec {CURVE} -nodes -subj /CN={name} -days 10 -keyout {key} -out {certificate}")


@pytest.fixture
def station(tmp_path):
    """A server with an issuer, and a workstation ws1 that is on its list, with its certificate."""
    STUNNEL.mkdir(exist_ok=True)
    ISSUER.mkdir(parents=True)
    authority("workstations", STUNNEL / "workstations.pem", ISSUER / "key")
    (ISSUER / "servers.pem").write_text((STUNNEL / "workstations.pem").read_text())
    (ISSUER / "servers").write_text("server server1.example.org\n")
    LIST.write_text("CN=ws1\n")
    shell(f"openssl genpkey -algorithm EC {CURVE} -out {tmp_path}/key && openssl pkey -in {tmp_path}/key -pubout -out {tmp_path}/public")
    certify(tmp_path, "ws1.pem", STUNNEL / "workstations.pem", ISSUER / "key")
    shell(f"openssl req -new -key {tmp_path}/key -subj /CN=ws1 -out {tmp_path}/request")
    yield tmp_path
    shell(f"rm -rf {ISSUER} {LIST} {STUNNEL}/workstations.pem /etc/ssl/certs/other.pem")


def certify(folder, name, certificate, key):
    shell(f"openssl x509 -new -force_pubkey {folder}/public -subj /CN=ws1 -days 5 -CA {certificate} -CAkey {key} -out {folder}/{name}")


def renewed(station, certificate="ws1.pem", name="CN=ws1"):
    """What it answers to this certificate and to what the relay says of the connection's name."""
    asked = f"{name}\npasscode-renew 1\n" + (station / "request").read_text() + (station / certificate).read_text()
    done = subprocess.run([ISSUE, "renew"], input=asked, capture_output=True, text=True)
    assert (done.returncode == 0) == done.stdout.startswith("-----BEGIN CERTIFICATE-----"), done
    return done.stdout


def is_renewed(station, *how):
    return renewed(station, *how) != ""


def test_a_workstation_that_is_on_the_list_and_has_the_key(station):
    assert is_renewed(station)
    LIST.write_text("#CN=ws1\nCN=ws11\n")
    assert not is_renewed(station)


def test_the_request_has_the_key_s_signature(station):
    """Its last byte is the signature's."""
    first, *middle, last = (station / "request").read_text().splitlines()
    request = bytearray(base64.b64decode("".join(middle)))
    request[-1] ^= 1
    (station / "request").write_text("\n".join((first, base64.encodebytes(request).decode() + last, "")))
    assert not is_renewed(station)


def test_an_authority_that_the_machine_trusts_for_other_things_is_not_the_issuer(station):
    authority("other", "/etc/ssl/certs/other.pem", station / "other.key")
    shell("openssl rehash /etc/ssl/certs")
    certify(station, "other.pem", "/etc/ssl/certs/other.pem", station / "other.key")
    shell(f"openssl verify {station}/other.pem")
    assert not is_renewed(station, "other.pem")


def test_the_connection_s_name_is_the_certificate_s(station):
    LIST.write_text("CN=ws1\nCN=ws2\n")
    for name in ("CN=ws2", "ws1", "CN=ws1,O=x", "CN=", ""):
        assert not is_renewed(station, "ws1.pem", name)


def dates(certificate):
    shown = subprocess.run(["openssl", "x509", "-noout", "-dates"], input=certificate, capture_output=True, text=True, check=True).stdout
    return [datetime.datetime.strptime(date, "%b %d %H:%M:%S %Y GMT") for date in re.findall("=(.*)", shown)]


def test_it_begins_five_minutes_ago(station):
    """So that a server whose clock is slow accepts it at once."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    begin, end = (date - now for date in dates(renewed(station)))
    assert -310 < begin.total_seconds() < -290 and abs((end - datetime.timedelta(days=90)).total_seconds()) < 10


@pytest.mark.parametrize("asked, most", [("CN=ws9\n", 2), ("CN=ws1\n", 5), ("", 5)])
def test_who_is_silent_is_not_waited_for(station, asked, most):
    """And for a name that isn't on the list, nothing more is read."""
    begin = time.monotonic()
    with subprocess.Popen([ISSUE, "renew"], stdin=subprocess.PIPE, text=True) as issuer:
        issuer.stdin.write(asked)
        issuer.stdin.flush()
        assert issuer.wait(10) == 1
    assert time.monotonic() - begin < most


# etcd has this one name for the list.
JOINED = """
source <(sed -e '/^LIST=/a etcd() { echo "$LISTED/0123456789abcdef0123456789abcdef"; echo ws2; }' -e '/^LIST=/a systemctl() { return 1; }' \
  -e "s|[$]{BASH_SOURCE\\[0\\]%/\\*}|${0%/*}|" "$0")
"""


@pytest.mark.parametrize("end", ["\n", ""], ids=["with its end", "without"])
def test_who_joins_takes_nobody_off_the_list(station, end):
    """Also where the last line has no end, as some editors leave it."""
    LIST.write_text("CN=ws0\nCN=ws1" + end)
    subprocess.run(["bash", "-c", JOINED, ISSUE.with_name("passcode-verifier-workstations")], check=True)
    assert LIST.read_text() == "# 0123456789abcdef0123456789abcdef ws2\nCN=ws0\nCN=ws1\nCN=ws2\n"
    # Taken off again, it stays off.
    subprocess.run(["sed", "-i", "/^CN=ws2$/d", LIST], check=True)
    subprocess.run(["bash", "-c", JOINED, ISSUE.with_name("passcode-verifier-workstations")], check=True)
    assert "CN=ws2" not in LIST.read_text()


def test_who_is_slow_is_not_waited_for_longer(station, journal):
    """One workstation could keep all others from renewing; and the log says which one."""
    begin = time.monotonic()
    with subprocess.Popen([ISSUE, "renew"], stdin=subprocess.PIPE, text=True) as issuer:
        for line in ("CN=ws1", "passcode-renew 1", *["x"] * 12):
            if issuer.poll() is None:
                with contextlib.suppress(BrokenPipeError):
                    issuer.stdin.write(f"{line}\n")
                    issuer.stdin.flush()
                time.sleep(1)
        assert issuer.wait(10) == 1
    assert time.monotonic() - begin < 9
    assert "no certificate issued: malformed request workstation=CN\\x3dws1" in journal.lines()[-1].message
