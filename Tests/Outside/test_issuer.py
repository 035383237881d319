"""The issuer of workstations' certificates, where a certificate is renewed: etcd isn't asked. With tokens, and through stunnel:
test_fleet_join.py and test_fleet_renew.py."""

import base64
import pathlib
import subprocess

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


def is_renewed(station, certificate="ws1.pem"):
    asked = "passcode-renew 1\n" + (station / "request").read_text() + (station / certificate).read_text()
    done = subprocess.run([ISSUE], input=asked, capture_output=True, text=True)
    assert (done.returncode == 0) == done.stdout.startswith("-----BEGIN CERTIFICATE-----"), done
    return done.returncode == 0


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
