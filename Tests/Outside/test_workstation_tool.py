"""The tool on a workstation of a fleet: what one does with one's own passcode there, and what root is told."""

import pytest
from bed import uid
from machine import ALICE
from scenario import NEW, PROMPT, RIGHT, WRONG
from tool import DONE, LOCKED, NOT_ENROLLED, NOT_PERMITTED, SOME_FAILED, UNUSABLE, alone
from ward import SOCKET, at

KEPT = "kept by the servers of a fleet"


def on_a_server(command):
    return f"on one of them, run as root: passcode server {command} alice\n"


def test_one_s_own_passcode_is_seen_and_changed_here(machine, ward):
    """By the old passcode, and for every workstation; root sees and tries it, too."""
    for user in ("alice", None):
        answer = machine.tool("status", "alice", user=user, check=DONE)
        assert KEPT in answer.output and "state: ok" in answer.output and "key status" not in answer.output
    assert machine.tool("status", "carol", check=NOT_ENROLLED).output.count(KEPT) == 1
    alone(machine, "change", WRONG[0], NEW, check=1)
    assert "failures since the last success: 1" in machine.tool("status", user="alice").output
    alone(machine, "change", RIGHT, NEW, check=DONE)
    at(machine, "ws2")
    assert machine.authenticate("alice", NEW, **ALICE).result == "SUCCESS"
    assert machine.authenticate("alice", RIGHT).texts == ["Wrong passcode, 2 attempts left."]
    alone(machine, "verify", NEW, check=DONE)
    assert machine.tool("verify", "--stdin", "alice", stdin=NEW + "\n", check=DONE).output
    menu = machine.tool(user="alice", check=DONE).output
    assert "passcode change: " in menu and "passcode remove: " not in menu
    assert not machine.record_file("alice").exists()
    ward.fleet.servers[1].run("disable", "alice")
    assert "run as root on a server: passcode server enable alice" in machine.tool("status", user="alice").output
    alone(machine, "verify", NEW, check=LOCKED)
    ward.stop("ws2")
    for user in ("alice", None):
        answer = machine.tool("status", "alice", user=user, check=UNUSABLE)
        assert "but could not be used: " in answer.errors and str(SOCKET) in answer.errors


@pytest.fixture
def earlier(workstation):
    """Alice had a passcode here, which an administrator disabled, before the machine became a workstation."""
    workstation.enroll("alice", RIGHT)
    workstation.tool("disable", "alice", check=DONE)
    workstation.configure(verifier=SOCKET)
    return workstation


ROOT = {
    "enroll": ("enroll", ["--stdin"], NEW), "change": ("enroll", ["--stdin", "--force"], NEW), "remove": ("remove", [], ""),
    "unlock": ("unlock", [], ""), "disable": ("disable", [], ""), "enable": ("enable", [], ""),
}  # fmt: skip


def test_nothing_of_a_fleet_s_account_is_done_in_the_store_here(earlier):
    record = earlier.record("alice")
    for command, (there, options, typed) in ROOT.items():
        answer = earlier.tool(command, *options, "alice", stdin=typed + "\n", check=NOT_PERMITTED)
        assert answer.errors.endswith(on_a_server(there)), command
    for command in ("enroll", "remove", "unlock", "disable", "enable"):
        line = "alice:" + NEW if command == "enroll" else "alice"
        answer = earlier.tool(command, "--batch", "-", stdin=line + "\n", check=SOME_FAILED)
        assert on_a_server(command).strip() in answer.errors, command
    for command in ("remove", "unlock"):
        answer = alone(earlier, command, NEW, check=NOT_PERMITTED)
        assert answer.errors.endswith(on_a_server(command)), command
    # By a one-time code, which a server has to know: test_workstation_codes.py
    assert "but could not be used" in alone(earlier, "enroll", NEW, check=UNUSABLE).errors
    assert earlier.record("alice") == record
    earlier.enroll("root", "8264")
    assert earlier.authenticate("root", "8264").result == "SUCCESS"


def test_an_account_outside_the_ranges_has_its_passcode_here(earlier):
    earlier.tool("status", "alice", check=UNUSABLE)
    earlier.configure(verifier=SOCKET, verifier_uids=f"1-{uid('alice') - 1},{uid('alice') + 1}-")
    earlier.tool("enable", "alice", check=DONE)
    for how in ({}, ALICE):
        assert earlier.authenticate("alice", RIGHT, **how).prompts == [PROMPT]
    earlier.configure(verifier_uids="0-")
    assert earlier.authenticate("alice", RIGHT).result == "SERVICE_ERR"
    assert "'verifier_uids' needs 1 to 16 ranges" in earlier.log()[-1].message
