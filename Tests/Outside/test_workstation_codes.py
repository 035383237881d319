"""A one-time code on a workstation: its account's person sets a passcode with it."""

from machine import ALICE
from tool import LOCKED, NOT_ENROLLED, NOT_PERMITTED, POLICY, WRONG_CODE, one_line
from ward import at

NEW, OTHER = "8264", "AAAABBBB"


def test_on_a_workstation_its_person_enrols_with_it(machine, ward):
    """Asked by the tool, through helper and stunnel; nobody else can, and nothing else of the machine proves anything."""
    machine.configure(weak="refuse")
    at(machine, "ws1")
    server = ward.fleet.servers[0]
    code = server.invite("alice").lower()
    machine.typed |= {code, code.upper(), OTHER, NEW}
    own = {"user": "alice"}
    wrong = machine.tool("enroll", "--stdin", stdin=f"{OTHER}\n{NEW}\n", check=WRONG_CODE, **own)
    assert "wrong one-time code" in wrong.errors and one_line(wrong.errors)
    no_code = machine.tool("enroll", "--stdin", stdin="password\n", check=POLICY, **own)
    assert "8 letters" in no_code.errors and server.failures() == 1
    assert "Too easy" in machine.tool("enroll", "--stdin", stdin=f"{code}\n1234\n", check=POLICY, **own).errors
    machine.tool("enroll", "--stdin", stdin=f"{code}\n{NEW}\n", check=0, **own)
    assert machine.authenticate("alice", NEW, **ALICE).result == "SUCCESS"
    at(machine, "ws2")
    assert machine.authenticate("alice", NEW).result == "SUCCESS"
    used = machine.tool("enroll", "--stdin", stdin=f"{code}\n{NEW}\n", check=NOT_ENROLLED, **own)
    assert "no one-time code is valid for alice" in used.errors
    for command in ("unlock", "remove"):
        refused = machine.tool(command, "--stdin", stdin="password\n", check=NOT_PERMITTED, **own)
        assert f"passcode server {command} alice" in refused.errors
    assert "root" in machine.tool("enroll", "bob", "--stdin", stdin=f"{code}\n{NEW}\n", check=NOT_PERMITTED, **own).errors
    for _ in range(3):
        server.invite("alice")
        machine.tool("enroll", "--stdin", stdin=f"{OTHER}\n{NEW}\n", check=WRONG_CODE, **own)
    locked = machine.tool("enroll", "--stdin", stdin=f"{OTHER}\n{NEW}\n", check=LOCKED, **own)
    assert "left" in locked.errors
    assert machine.authenticate("alice", NEW).prompts == []
