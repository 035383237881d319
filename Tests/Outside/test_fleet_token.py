"""How often a fleet's server proves its password to etcd: each time costs etcd a bcrypt."""

import threading
import time

import pytest
from between import between
from fleet import FOLDER, GRANTED, WARD, at_once
from machine import ACCOUNT, sh
from scenario import RIGHT

AUTHENTICATE = "/v3/auth/authenticate"


class Counter:
    """Counts what goes to etcd."""

    def __init__(self):
        self.paths, self.lock = [], threading.Lock()

    def __call__(self, path, _body):
        with self.lock:
            self.paths.append(path)

    @property
    def authentications(self):
        return self.paths.count(AUTHENTICATE)


@pytest.mark.parametrize("lost", ["no token", "one that etcd has forgotten"])
@pytest.mark.parametrize("count", [24, pytest.param(300, marks=pytest.mark.on_request)])
def test_a_crowd_without_a_valid_token_asks_for_one(fleet, lost, count):
    server, token, counter = fleet.servers[0], fleet.servers[0].state / "token", Counter()
    people = [f"nurse{number}" for number in range(count)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:{RIGHT}\n" for name in people))
    token.unlink() if lost == "no token" else token.write_text("forgotten.1")
    with between(server, counter):
        jobs = [
            lambda index=index, name=name: server.verify(RIGHT, name, name=WARD[index % 2])
            for index, name in enumerate(people)
        ]
        replies = at_once(jobs, min(count, 200))
    assert [reply.kind for reply in replies] == [GRANTED] * len(people)
    assert counter.authentications == 1


def test_a_command_of_roots_asks_once_and_the_service_has_its_token(fleet):
    server, counter = fleet.servers[0], Counter()
    token = server.state / "token"
    with between(server, counter):
        token.unlink()
        people = "".join(f"nurse{number}:{RIGHT}\n" for number in range(10))
        server.run("enroll", "--batch", "-", input=people)
        assert (counter.authentications, token.owner(), token.stat().st_mode & 0o777) == (1, ACCOUNT, 0o600)
        server.run("list")
        server.run("seen")
        assert server.verify(RIGHT).kind == GRANTED
        assert counter.authentications == 1
        assert len(counter.paths) > 20


def test_root_believes_no_file_that_isnt_the_service_accounts(fleet):
    """Somebody who has become `_passcode` put another file there."""
    server = fleet.servers[0]
    token, other = server.state / "token", server.state / "other"
    kept = token.read_text()
    other.write_text("roots.1")
    other.chmod(0o600)
    for place in (lambda: other.rename(token), lambda: token.hardlink_to(other), lambda: token.symlink_to(other)):
        other.write_text("roots.1")
        other.chmod(0o600)
        token.unlink(missing_ok=True)
        place()
        server.run("list")
        assert token.read_text() == "roots.1"
    token.unlink()
    assert kept != "roots.1" and server.verify(RIGHT).kind == GRANTED


@pytest.mark.on_request
def test_a_token_that_the_timer_uses_is_kept(fleet):
    """etcd forgets one that nobody has used for 5 minutes."""
    server, counter = fleet.servers[0], Counter()
    with between(server, counter):
        assert server.verify(RIGHT).kind == GRANTED
        before = counter.authentications
        for _ in range(6):
            time.sleep(60)
            server.run("seen")
        assert server.verify(RIGHT).kind == GRANTED
        assert counter.authentications == before


@pytest.fixture
def signed(fleet):
    """etcd signs its tokens, and keeps none."""
    key, public = FOLDER / "jwt.key", FOLDER / "jwt.pem"
    sh("openssl", "genrsa", "-out", key, "3072")
    sh("openssl", "rsa", "-in", key, "-pubout", "-out", public)
    fleet.start_anew(f"--auth-token=jwt,pub-key={public},priv-key={key},sign-method=RS256,ttl=10m")
    yield fleet
    fleet.start_anew()


def test_a_signed_token_is_replaced_once_etcd_s_accounts_have_changed(signed):
    """It names their revision."""
    server = signed.servers[0]

    def token_after(act):
        act()
        return (server.state / "token").read_text()

    def verify():
        assert server.verify(RIGHT).kind == GRANTED

    first = token_after(verify)
    assert first.count(".") == 2
    signed.etcdctl(0, "user", "add", "guest:thrice")
    second = token_after(verify)
    signed.etcdctl(0, "user", "delete", "guest")
    third = token_after(lambda: server.run("list"))
    assert len({first, second, third}) == 3 and token_after(verify) == third
