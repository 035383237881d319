"""One-time codes: an administrator hands one out on a server, and its account's person sets a passcode on a workstation.
The rules are in KeptCode.swift."""

import fcntl
import hashlib
import re
import time

from fleet import (
    DISABLED, DONE, ENROLL_BY_CODE, FOLDER, GRANTED, LOCKED, NO_CODE, NOT_ENROLLED, REFUSED, WRONG, WRONG_AND_LOCKED,
    at_once, decode, refusing_weak, request,
)  # fmt: skip
from scenario import RIGHT

NEW, OTHER = "8264", "AAAABBBB"


def enroll(server, account, code, new=NEW, **how):
    return server.ask(ENROLL_BY_CODE, account, passcode=code, new=new, **how)


def test_a_code_sets_a_passcode_once(fleet):
    first, second, _ = fleet.servers
    assert enroll(first, "carol", OTHER).kind == NO_CODE
    code = first.invite("carol")
    assert re.fullmatch("[A-HJ-NP-Z]{8}", code) and first.invite("dave") != code
    assert second.verify(RIGHT, "carol").kind == NOT_ENROLLED
    with refusing_weak():
        assert enroll(second, "carol", code, new="1234").kind == REFUSED
    assert enroll(second, "carol", code).kind == DONE
    assert first.verify(NEW, "carol").kind == GRANTED
    assert enroll(first, "carol", code).kind == NO_CODE
    assert first.run("status", "carol").stdout == "carol: enrolled, wrong passcodes in a row: 0\n"


def test_wrong_codes_and_another_account_s_are_attempts_like_any_other(fleet):
    server = fleet.servers[0]
    code, bobs = server.invite("alice"), server.invite("bob")
    assert [enroll(server, "alice", wrong).kind for wrong in (OTHER, bobs, OTHER)] == [WRONG, WRONG, WRONG_AND_LOCKED]
    assert enroll(fleet.servers[1], "alice", code).kind == LOCKED
    assert fleet.servers[2].verify(RIGHT).kind == LOCKED
    assert "passcode server unlock alice" in server.run("invite", "alice").stderr
    server.run("unlock", "alice")
    assert enroll(server, "alice", code).kind == WRONG, "in place of which there is another one"
    assert enroll(server, "bob", bobs).kind == DONE


def test_of_many_with_the_right_code_one_sets_a_passcode(fleet):
    code = fleet.servers[0].invite("carol")
    news = ["8264", "9147", "5038", "7316", "6209", "8305"]
    jobs = [lambda index=index, new=new: enroll(fleet.servers[index % 3], "carol", code, new=new, name=f"CN=ws{index % 2 + 1}")
            for index, new in enumerate(news)]  # fmt: skip
    kinds = [reply.kind for reply in at_once(jobs)]
    assert sorted(kinds) == [DONE] + [NO_CODE] * 5
    assert fleet.servers[0].verify(news[kinds.index(DONE)], "carol").kind == GRANTED


def test_an_attempt_with_a_code_waits_for_its_turn(fleet):
    """As one with a passcode does, before it asks etcd: otherwise a crowd with codes would ask again and again."""
    server = fleet.servers[0]
    server.enroll("carol", RIGHT)
    code = server.invite("carol")
    assert server.verify(RIGHT, "carol").kind == GRANTED, "it makes the file"
    byte = (1 << 16) + int.from_bytes(hashlib.blake2b(b"carol", digest_size=32).digest()[:2], "little")
    with (server.state / "turns").open("r+") as turns:
        fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        process, ours = server.start(request(ENROLL_BY_CODE, "carol", passcode=code, new=NEW))
        with ours:
            ours.settimeout(5)
            for _ in range(2):
                assert ours.recv(1) == b"\0"
            fcntl.lockf(turns, fcntl.LOCK_UN, 1, byte)
            assert decode(b"".join(iter(lambda: ours.recv(4096), b""))).kind == DONE
    process.wait(10)


def test_an_attempt_goes_on_without_a_turn_that_does_not_come(fleet):
    """Whoever has it may hang: nothing moves for 26 s."""
    server = fleet.servers[0]
    server.enroll("carol", RIGHT)
    assert server.verify(RIGHT, "carol").kind == GRANTED, "it makes the file"
    with (server.state / "turns").open("r+") as turns:
        fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 1 << 16, 1 << 16)
        started = time.monotonic()
        assert server.verify(RIGHT, "carol").kind == GRANTED
        assert 25 < time.monotonic() - started < 35


def test_one_that_is_withdrawn_or_disabled_opens_nothing(fleet):
    server = fleet.servers[0]
    code = server.invite("alice", "--expires", "2w")
    assert "14 days left" in server.run("status", "alice").stdout
    server.run("disable", "alice")
    assert enroll(server, "alice", code).kind == DISABLED
    server.run("enable", "alice")
    server.run("invite", "--withdraw", "alice")
    assert enroll(server, "alice", code).kind == NO_CODE
    code = server.invite("alice")
    server.run("remove", "alice")
    assert enroll(server, "alice", code).kind == NO_CODE


def test_a_lease_ends_it(fleet):
    """Its key goes with the lease: no clock is asked."""
    server = fleet.servers[0]
    code = server.invite("carol", "--expires", "1m")
    key = "/passcode/1/u/" + b"carol".hex() + "/code"
    fields = fleet.etcdctl(0, "get", key, "--write-out=fields")
    lease = int(re.search(r'"Lease" : (\d+)', fields)[1])
    assert code not in fields and 50 < int(re.search(r"remaining\((\d+)s\)", fleet.etcdctl(0, "lease", "timetolive", f"{lease:x}"))[1]) <= 60
    fleet.etcdctl(0, "lease", "revoke", f"{lease:x}")
    assert enroll(fleet.servers[1], "carol", code).kind == NO_CODE


def test_requests_with_a_code_that_make_no_sense(fleet):
    server = fleet.servers[0]
    server.invite("alice")
    for how in (
        {"passcode": "aaaabbbb", "new": NEW}, {"passcode": "AAAABBBI", "new": NEW}, {"passcode": "12345678", "new": NEW},
        {"passcode": RIGHT, "new": NEW}, {"passcode": OTHER}, {"passcode": OTHER, "new": "82a4"}, {"new": NEW},
        {"passcode": OTHER, "new": NEW, "uid": 1000},
    ):  # fmt: skip
        assert server.ask(ENROLL_BY_CODE, "alice", **how) is None, how
    for operation in (2, 4):
        assert server.ask(operation, "alice", passcode=OTHER, new=NEW if operation == 4 else "") is None
    assert server.ask(ENROLL_BY_CODE, "root", passcode=OTHER, new=NEW).kind != DONE
    assert server.failures() == 0


def test_a_list_of_people_gets_codes_by_a_file(fleet, journal):
    server = fleet.servers[0]
    given = FOLDER / "codes"
    done = server.run("invite", "--batch", "-", "--json", "--output", given, input="carol\ndave\n")
    codes = dict(line.split(":") for line in given.read_text().splitlines())
    assert list(codes) == ["carol", "dave"] and given.stat().st_mode & 0o777 == 0o600
    for name, code in codes.items():
        assert code not in done.stdout + done.stderr
        assert enroll(server, name, code).kind == DONE
        assert not [line for line in journal.lines() if code in line.text]
    assert [line for line in journal.lines() if "one-time code created user=carol" in line.message]
    assert [line for line in journal.lines() if "passcode enrolled by a one-time code user=dave" in line.message]
