"""`passcode check` on a fleet's workstation: what passcode-fleet-check finds, and what the tool makes of it."""

import json
import os
import pathlib
import shutil
import socket
import subprocess

import pytest
import ward as wards
from fleet import FOLDER, TREE
from machine import sh

SCRIPT = TREE / "Sources/system/check/passcode-fleet-check"
INSTALLED = pathlib.Path("/usr/libexec/passcode-fleet-check")
PLACE = "/etc/stunnel/passcode-fleet.conf"


class Station:
    """A workstation's files, and its script in the network of the servers."""

    def __init__(self, ward):
        self.ward = ward
        self.conf, self.folder = FOLDER / "ws1.conf", wards.SOCKETS / "ws1"
        self.socket, self.key = self.folder / "verifier.sock", ward.certificates.folder / "ws1.key"
        self.text = self.conf.read_text()
        self.script = FOLDER / "passcode-fleet-check"
        self.script.write_text(SCRIPT.read_text().replace(PLACE, str(self.conf)))
        self.script.chmod(0o755)

    def restore(self, servers=1):
        """All is well, with so many servers."""
        connect = list(dict.fromkeys(line for line in self.text.splitlines() if line.startswith("connect")))
        self.conf.write_text("\n".join(line for line in self.text.splitlines() if line not in connect[servers:]) + "\n")
        self.key.chmod(0o600)
        self.folder.chmod(0o750)
        away = self.folder / "away"
        if away.exists():
            away.rename(self.socket)

    def edit(self, old, new):
        text = self.conf.read_text()
        assert old in text
        self.conf.write_text(text.replace(old, new))

    def check(self, status):
        command = [*self.ward.fleet.inside(0), self.script, "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done
        found = {}
        for row in map(json.loads, done.stdout.splitlines()):
            key = row["check"], row["level"]
            found[key] = "\n".join([found[key], row["message"]]) if key in found else row["message"]
        return found


CERTIFICATES, SERVERS, SOCKET = "fleet-certificates", "fleet-servers", "fleet-socket"
HARMS = {
    "no socket": (lambda own: own.socket.rename(own.folder / "away"), SOCKET, "no such socket"),
    "a folder that others can enter": (lambda own: own.folder.chmod(0o755), SOCKET, "must belong to root"),
    "no name is checked": (lambda own: own.edit("checkHost = server\n", ""), SERVERS, "checkHost must be set"),
    "another name": (lambda own: own.edit("checkHost = server\n", "checkHost = other\n"), SERVERS, "none of the names"),
    "no chain is checked": (lambda own: own.edit("verifyChain = yes", "verifyChain = no"), CERTIFICATES, "verifyChain"),
    "one authority for all": (lambda own: own.edit("servers.pem", "workstations.pem"), CERTIFICATES, "use two authorities"),
    "no certificate": (lambda own: own.edit("ws1.pem", "ws%1%2.pem"), CERTIFICATES, "ws%1%2.pem: can't be read"),
    "no key": (lambda own: own.edit("ws1.key", "ws0.key"), CERTIFICATES, "ws0.key: no such file: put the key of"),
    "somebody else's key": (lambda own: own.edit("ws1.key", "ws2.key"), CERTIFICATES, "is not the key of"),
    "a key for everybody": (lambda own: own.key.chmod(0o644), CERTIFICATES, "that others can't read"),
    "a server that is down": (lambda own: own.ward.stop("server0"), SERVERS, f"127.0.0.1:{wards.FIRST_PORT}: no TLS"),
}  # fmt: skip


def test_what_is_wrong_is_told(ward):
    own = Station(ward)
    own.restore(servers=3)
    found = own.check(0)
    # The test's certificates are made for two days.
    assert {key for key in found if key[1] != "skipped"} == {(SOCKET, "ok"), (CERTIFICATES, "warning"), (SERVERS, "warning")}, found
    assert "expires on" in found[CERTIFICATES, "warning"] and "expires on" in found[SERVERS, "warning"]
    for name, (harm, check, words) in HARMS.items():
        own.restore()
        harm(own)
        found = own.check(1)
        assert words in found.get((check, "error"), ""), (name, found)


def test_a_certificate_that_is_renewed_by_itself_is_not_to_be_replaced_by_hand(ward):
    """Where the timer is enabled. (systemctl is a stand-in: the real one in test_fleet_renew.py.)"""
    own, question = Station(ward), "systemctl -q is-enabled passcode-fleet-renew.timer"
    own.restore(servers=3)
    text = own.script.read_text()
    assert question in text
    for answer, words in (("true", "has not been renewed yet"), ("false", "replace it (chapter 8")):
        own.script.write_text(text.replace(question, answer))
        found = own.check(0)[CERTIFICATES, "warning"]
        assert words in found.splitlines()[0] and "servers.pem: expires on" in found, found


@pytest.mark.parametrize(("days", "is_told"), [(31, False), (29, True)])
def test_that_a_certificate_expires_is_told_30_days_ahead(ward, days, is_told):
    """Of the workstation's, by hand and renewed by itself, and of the server's. Those of the authorities end sooner here."""
    own, folder, question = Station(ward), ward.certificates.folder, "systemctl -q is-enabled passcode-fleet-renew.timer"
    for name, authority in (("ws1", "workstations"), ("server", "servers")):
        sh("openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
           "-CAcreateserial", "-days", days, "-out", f"{name}.pem", cwd=folder, stderr=subprocess.DEVNULL)  # fmt: skip
    ward.stop("server0")
    ward.serve(ward.fleet.servers[0])
    own.restore()
    text = own.script.read_text()
    for answer in ("false", "true"):
        own.script.write_text(text.replace(question, answer))
        found = own.check(0)
        assert (f"{folder}/ws1.pem: expires on" in found[CERTIFICATES, "warning"]) == is_told, found
        assert ((SERVERS, "warning") in found, (SERVERS, "ok") in found) == (is_told, not is_told), found


@pytest.fixture
def trusted(ward):
    """This machine trusts both authorities, for whatever else it does."""
    made = [pathlib.Path(f"/etc/ssl/certs/of-the-fleet-{kind}.pem") for kind in ("servers", "workstations")]
    for path in made:
        shutil.copy(ward.certificates.folder / path.name.split("-")[-1], path)
    sh("openssl", "rehash", "/etc/ssl/certs", stderr=subprocess.DEVNULL)
    yield
    for path in made:
        path.unlink()
    sh("openssl", "rehash", "/etc/ssl/certs", stderr=subprocess.DEVNULL)


def test_authorities_that_the_machine_trusts_prove_nothing(ward, trusted):
    """Neither that servers and workstations have one authority, nor that stunnel will accept a server."""
    own = Station(ward)
    own.restore()
    own.check(0)
    sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=servers",
       "-keyout", FOLDER / "other.key", "-out", ward.certificates.folder / "other.pem", stderr=subprocess.DEVNULL)  # fmt: skip
    own.edit("servers.pem", "other.pem")
    assert (SERVERS, "error") in own.check(1)


def test_a_server_s_socket_lies_where_only_root_can_make_one(tmp_path):
    folder, script = tmp_path / "open", tmp_path / "passcode-verifier-check"
    folder.mkdir()
    places = {"/run/passcode-verifier": folder, "/etc/passcode/verifier.conf": SCRIPT, "/usr/sbin/passcode-verifier": "true"}
    text = SCRIPT.read_text()
    for place, own in places.items():
        assert place in text
        text = text.replace(place, str(own))
    script.write_text(text)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "socket"))
        for mode, words in ((0o755, None), (0o775, "others could put a socket of their own there")):
            folder.chmod(mode)
            rows = map(json.loads, subprocess.check_output(["sh", "-c", f"sh {script} json; true"], text=True).splitlines())
            [found] = [row for row in rows if row["check"] == "verifier-socket"]
            assert found["level"] == ("error" if words else "ok") and (words or "") in (found["message"] or ""), found


def test_without_openssl_that_is_told(ward):
    own, program = Station(ward), os.path.realpath(shutil.which("openssl"))
    own.restore()
    away = FOLDER / "empty"
    away.touch(mode=0o600)
    sh("mount", "--bind", away, program)
    try:
        found = own.check(1)
    finally:
        sh("umount", program)
    assert "openssl isn't installed" in found[CERTIFICATES, "error"]


@pytest.fixture
def installed():
    yield INSTALLED
    INSTALLED.unlink(missing_ok=True)


def test_the_tool_shows_what_it_finds_and_counts_its_errors(machine, installed):
    def checks(*words):
        done = machine.tool("check", *words)
        return done.status, [line for line in done.output.splitlines() if "fleet" in line]

    machine.configure(verifier="/run/passcode-fleet/verifier.sock")
    status, lines = checks()
    assert status == 1 and "passcode-fleet" in "".join(lines) and "isn't installed" in "".join(lines)
    script = '#!/bin/sh\necho "$1 fleet-says"; exit ${STATUS:-0}\n'
    installed.write_text(script)
    installed.chmod(0o755)
    assert [checks(*words)[1] for words in ([], ["--json"], ["--quiet"], ["--json", "--quiet"])] == [
        ["lines fleet-says"], ["json fleet-says"], ["lines-quiet fleet-says"], ["json-quiet fleet-says"],
    ]  # fmt: skip
    installed.chmod(0o777)
    status, lines = checks()
    assert status == 1 and "others can write to it" in "".join(lines)
    installed.chmod(0o755)
    machine.configure(verifier="none")
    assert checks()[1] == ["✓ fleet"]
