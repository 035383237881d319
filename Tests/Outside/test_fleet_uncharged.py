"""A server that can't charge an attempt, though its look has allowed the prompt: it says so, and the code goes to one other
server. In any other case nobody else gets it."""

import functools
import json
import os
import signal

import pytest
from between import CUT, Fates, between
from machine import ALICE
from process import wait_for
from scenario import PROMPT, RIGHT
from scenario import WRONG as CODES
from ward import UNAVAILABLE

HOW = pytest.mark.parametrize("how", [{}, ALICE], ids=["direct", "helper"])
CODE = pytest.mark.parametrize("code, result, failures", [(RIGHT, "SUCCESS", 0), (CODES[0], "AUTH_ERR", 1)], ids=["right", "wrong"])


def follow(fleet):
    """Member 0 isn't the leader: without it, nobody waits for an election."""
    if fleet.leader() == 0:
        [status] = json.loads(fleet.etcdctl(1, "endpoint", "status", "--write-out=json"))
        fleet.etcdctl(0, "move-leader", f"{status['Status']['header']['member_id']:x}")
        wait_for(lambda: fleet.leader() == 1)


def at_prompt(machine, act, code, **how):
    """A login in which something happens before the code is typed; nothing is asked twice. It happens in this process: the
    login is another one, perhaps alice's, and Popen.kill() there would think that what this one started has ended."""
    (prompted, at), (may_type, done) = os.pipe(), os.pipe()

    def answer(_handle):
        os.write(at, b"?")
        os.read(may_type, 1)
        return code

    running = machine.start("alice", answer, **how)
    os.close(at)
    assert os.read(prompted, 1), "no prompt"
    act()
    os.write(done, b"!")
    outcome = running.wait()
    for end in (prompted, may_type, done):
        os.close(end)
    assert outcome.prompts == [PROMPT]
    return outcome.result


def asked_afterwards(ward):
    """How many verifiers of other servers have been started for it. To be seen before anything else asks them."""
    return sum(len(listener.children) for listener in ward.listeners[1:])


@HOW
@CODE
def test_its_etcd_is_killed_before_the_code_is_typed(machine, ward, how, code, result, failures):
    follow(ward.fleet)
    assert at_prompt(machine, ward.fleet.members[0].kill, code, **how) == result
    assert ward.fleet.servers[1].failures() == failures
    assert asked_afterwards(ward) == 1


def test_its_etcd_hangs_before_the_code_is_typed(machine, ward):
    """Its verifier finds that out by waiting for it."""
    follow(ward.fleet)
    stop = functools.partial(ward.fleet.members[0].send_signal, signal.SIGSTOP)
    assert at_prompt(machine, stop, CODES[0]) == "AUTH_ERR"
    assert ward.fleet.servers[1].failures() == 1
    assert asked_afterwards(ward) == 1


@CODE
def test_its_memory_is_short_by_then(machine, ward, code, result, failures):
    """The passcode is set anew with a higher cost. Its charge is refused, because the record has changed; another one
    isn't sent."""
    ward.listeners[0].before = ["prlimit", f"--as={200 << 20}"]

    def act():
        machine.configure(memlimit="256M", opslimit=1)
        ward.fleet.servers[1].enroll("alice", RIGHT)

    assert at_prompt(machine, act, code) == result
    assert ward.fleet.servers[1].failures() == failures
    assert asked_afterwards(ward) == 1


def test_a_charge_that_may_be_there_is_sent_nowhere_else(machine, ward):
    """Neither the charge nor a fence of the first server gets an answer, and the other two could decide."""
    fates = Fates([CUT] * 100, [CUT] * 1000)
    with between(ward.fleet.servers[0], fates):
        assert at_prompt(machine, lambda: None, RIGHT) == UNAVAILABLE
    assert len(fates.charged) == 1 and len(fates.fenced) > 1
    assert [len(listener.children) for listener in ward.listeners[1:]] == [0, 0]
