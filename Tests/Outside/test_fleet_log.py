"""A fleet's trail: each verdict and each act of an administrator is one line on the server where it was, with the keys that
passcode-verifier(8) lists."""

import hashlib
import re
import struct

import pytest

from fleet import (
    CHANGE, DISABLED, DONE, ENROLL_BY_CODE, EXHAUSTED, GRANTED, LOCKED, LOOK, NO_CODE, NOT_ENROLLED, REFUSED, STATION_LOCKED,
    STATUS, UNAVAILABLE, VERIFY, WRONG, WRONG_AND_LOCKED, decode, refusing_weak, request,
)  # fmt: skip
from messages import TREE
from scenario import RIGHT

PAGE = (TREE / "Sources/system/man/passcode-verifier.8").read_text().replace("\\-", "-")
ACT = "passcode-verifier: "
PROVE = 8


def listed(title):
    part = PAGE.split(f".SS {title}\n")[1].split(".RE")[0]
    return part.split(".RS\n")[1].split("\n")[:-1]


VERDICTS, ACTS = listed("Verdicts"), listed("Acts")


@pytest.fixture
def trail(fleet, journal):
    """The lines that something has left, as (what happened, {key: value})."""

    def new():
        lines = journal.lines()[new.place :]
        new.place += len(lines)
        assert all(line.facility == 10 for line in lines)
        return [understood(line.message) for line in lines]

    new.place = len(journal.lines())
    return new


def understood(message):
    """A line of ours is words, then pairs."""
    pairs = re.findall(r' (\w+)=("[^"]*"|\S+)', message)
    values = {key: re.sub(r"\\x([0-9a-f]{2})", lambda byte: chr(int(byte[1], 16)), value) for key, value in pairs}
    assert len(values) == len(pairs)
    return re.split(r" \w+=", message)[0], values


def test_each_verdict_is_one_line_with_its_keys(fleet, trail):
    server, second, _ = fleet.servers
    seen = set()

    def one(kind, event, reply, account="alice", workstation="CN=ws1"):
        assert reply.kind == kind, event
        [(words, keys)] = trail()
        wanted = {"user": account, "service": "sudo", "workstation": workstation}
        if kind == UNAVAILABLE:
            assert keys.pop("cause").startswith('"')
        assert (words, keys) == (event, wanted)
        seen.add(event)

    one(GRANTED, "passcode granted", server.verify(RIGHT))
    one(GRANTED, "passcode granted", second.verify(RIGHT, name="CN=ws2"), workstation="CN=ws2")
    one(GRANTED, "passcode proven", server.ask(PROVE, "alice", passcode=RIGHT))
    one(DONE, "passcode changed", server.ask(CHANGE, "bob", passcode=RIGHT, new="8264"), "bob")
    with refusing_weak():
        one(REFUSED, "new passcode refused", server.ask(CHANGE, "bob", passcode="8264", new="1234"), "bob")
    one(NOT_ENROLLED, "passcode not enrolled", server.verify(RIGHT, "carol"), "carol")
    one(NO_CODE, "one-time code refused: none is valid", server.ask(ENROLL_BY_CODE, "carol", passcode="AAAABBBB", new=RIGHT), "carol")
    code = server.invite("carol")
    trail()
    one(WRONG, "one-time code wrong", server.ask(ENROLL_BY_CODE, "carol", passcode="AAAABBBB", new=RIGHT), "carol")
    one(DONE, "passcode enrolled by a one-time code", server.ask(ENROLL_BY_CODE, "carol", passcode=code, new=RIGHT), "carol")
    server.run("disable", "bob")
    trail()
    one(DISABLED, "passcode is disabled", server.verify("8264", "bob"), "bob")
    for wrong, kind in (("1593", WRONG), ("2604", WRONG), ("3715", WRONG_AND_LOCKED)):
        one(kind, "passcode wrong", server.verify(wrong))
    one(LOCKED, "passcode locked", server.verify(RIGHT))
    # A look and a question leave no line here; the workstation logs what it was told.
    assert server.ask(LOOK, "alice").kind == LOCKED and server.ask(STATUS, "alice").numbers
    assert trail() == []
    second_factor = bytearray(request(VERIFY, "bob", passcode="8264"))
    second_factor[3 + len("CN=ws1") + 2 + len("bob") + 6] |= 2
    server.run("enable", "bob")
    with_password_alone(fleet, "bob")
    trail()
    one(FORBIDDEN_ALONE, "passcode not permitted: an administrator must set it anew", decode(server.converse(bytes(second_factor))), "bob")
    for member in fleet.members[1:]:
        member.kill()
        member.wait()
    one(UNAVAILABLE, "passcode unavailable", server.verify(RIGHT))
    key, away = server.files / "fleet.key", server.files / "away"
    key.rename(away)
    one(UNAVAILABLE, "passcode unavailable", server.verify(RIGHT))
    away.rename(key)
    fleet.restart()
    trail()
    assert seen | ELSEWHERE == set(VERDICTS)


# Below.
ELSEWHERE = {"passcode exhausted", "passcode locked on this workstation"}
FORBIDDEN_ALONE = 12


def with_password_alone(fleet, account):
    """As if its owner had unlocked the passcode with the password."""
    key = "/passcode/1/u/" + account.encode().hex()
    record = fleet.etcdctl(0, "get", "--print-value-only", key).rstrip("\n") + "\n"
    text = re.sub("^(enrolled_by|unlocked_by)=.*$", r"\1=password", record, flags=re.MULTILINE)
    head, own = re.fullmatch(r"((?:.*\n){2})((?:.*\n)*)checksum=.*\n", text).groups()
    digest = hashlib.blake2b(own.encode(), digest_size=32).hexdigest()
    fleet.etcdctl(0, "put", key, input=f"{head}{own}checksum={digest}\n")


def test_a_workstation_that_is_stopped_is_a_verdict_like_any_other(fleet, trail):
    server = fleet.servers[0]
    people = [f"nurse{number}" for number in range(13)]
    server.run("enroll", "--batch", "-", input="".join(f"{name}:{RIGHT}\n" for name in people))
    assert [words for words, _ in trail()] == [f"{ACT}passcode enrolled"] * 13
    for name in people[:12]:
        assert server.verify("1593", name).kind == WRONG
    trail()
    assert server.verify(RIGHT, people[12]).kind == STATION_LOCKED
    assert trail() == [("passcode locked on this workstation", {"user": people[12], "service": "sudo", "workstation": "CN=ws1"})]


def test_each_act_is_one_line_with_its_keys(fleet, trail):
    server = fleet.servers[1]
    seen = set()

    def one(event, *words, workstation="", **how):
        done = server.run(*words, env={"SUDO_USER": "dave", "PATH": "/usr/bin"}, **how)
        [(said, keys)] = trail()
        wanted = {"workstation": workstation} if workstation else {"user": "carol"}
        keys.pop("loginuid", None)  # of whoever runs the tests
        if event.startswith(("etcd", "fleet key")):
            wanted = {}
        assert (said, keys) == (ACT + event, {**wanted, "by_uid": "0", "sudo_user": "dave"}), words
        seen.add(event)
        return done

    def none(*words, check=0, **how):
        server.run(*words, check=check, **how)
        assert trail() == [], words

    none("remove", "carol", check=3)
    one("passcode enrolled", "enroll", "carol", "--stdin", input=f"{RIGHT}\n")
    one("passcode disabled", "disable", "carol")
    none("disable", "carol")
    one("passcode enabled", "enable", "carol")
    none("unlock", "carol")
    assert server.verify("1593", "carol", name="CN=ws2").kind == WRONG
    trail()
    one("passcode unlocked", "unlock", "carol")
    one("workstation unlocked", "unlock", "--workstation", "CN=ws2", workstation="CN=ws2")
    none("unlock", "--workstation", "CN=ws2")
    one("one-time code created", "invite", "carol")
    one("one-time code withdrawn", "invite", "--withdraw", "carol")
    one("passcode removed", "remove", "carol")
    for words in (["list"], ["status", "alice"], ["metrics"], ["seen"]):
        none(*words)
    none("check", check=None)
    one("etcd declared not restored", "seen", "--first")
    numbers = struct.unpack("<QQQ", (server.state / "seen").read_bytes())
    one("etcd's revision taken from other servers", "seen", "--at-least", ":".join(map(str, numbers)))
    key, away = server.files / "fleet.key", server.files / "away"
    fleet.etcdctl(0, "del", "--prefix", "/passcode/")
    key.rename(away)
    try:
        one("fleet key created", "init")
        server.enroll("alice", RIGHT)
        trail()
        one("etcd declared restored", "restored")
        assert server.verify(RIGHT).kind == EXHAUSTED
        assert trail() == [("passcode exhausted", {"user": "alice", "service": "sudo", "workstation": "CN=ws1"})]
    finally:
        away.rename(key)
    assert seen == set(ACTS)
