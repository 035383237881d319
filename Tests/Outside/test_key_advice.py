"""What the commands advise leads out of each state of the keys' files, in three commands at most."""

import pytest

from key_states import ACTIONS, PLACES, TPMS, States
from tool import DONE

STATES = """
key=a: a a
key.cred=a loaded=a: a a
key=a key.cred=a: a a
key=a key.cred=a loaded=a: a a
key=a key.new=b: a a
key=b key.new=a: a b
key=b key.new=a: a a
key.cred=a key.cred.new=b loaded=a: a a
key.cred=a key.cred.new=b loaded=a loaded.new=b: a a
key.cred=b key.cred.new=a loaded=b loaded.new=a: a b
key.cred=b key.cred.new=a loaded=b loaded.new=a: a a
key.cred=b key.cred.new=a loaded=a: a a
key=a loaded=a: a a
key.cred=a: a a
key.cred=A loaded=a: a a
loaded=a: a a
key=b key.cred=a loaded=a: a a
key=a key.new=b loaded=a: a a
key.cred=a key.cred.new=b: a a
key=a key.new=b loaded=a loaded.new=b: a a
key=b key.new=a loaded=b loaded.new=a: a b
key.cred=b key.cred.new=a: a b
key=b key.new=a loaded=b loaded.new=a: a a
key.cred=b key.cred.new=a: a a
key=a key.new=a loaded=a: a a
key=b key.new=a loaded=b: a b
key=b key.new=a loaded=b: a a
key=a loaded=b: a a
key.cred=A: a a
: a a
key=b key.cred=a: a a
key.cred=b key.cred.new=a loaded=a: a b
key.cred=b key.cred.new=a loaded=b: a b
key=a key.new=a: a a
key.cred=b key.cred.new=a loaded=a loaded.new=b: a b
key=a key.new=b loaded=a loaded.new=b: a b
key=a key.new=b: a b
key=b key.cred=b key.cred.new=a loaded=b loaded.new=a: a b
key=b key.new=a key.cred=b key.cred.new=a loaded=b loaded.new=a: a b
key=b key.new=a key.cred=b loaded=b loaded.new=a: a b
key=b key.cred=b key.cred.new=a: a b
key=b key.new=a key.cred=b key.cred.new=a: a b
key=b key.new=a key.cred=b: a b
key=b key.new=a key.cred=b key.cred.new=a loaded=b: a b
key=a key.cred=b key.cred.new=a loaded=a loaded.new=b: a b
key=a key.new=b key.cred=b key.cred.new=a loaded=a loaded.new=b: a b
key=a key.new=b key.cred=b loaded=a loaded.new=b: a b
key=a key.cred=b key.cred.new=a: a b
key=a key.new=b key.cred=b key.cred.new=a: a b
key=a key.new=b key.cred=b: a b
"""


@pytest.fixture
def states(own, tpm):
    return States(own, tpm)


@pytest.mark.parametrize("state, action", [
    ("key.cred=b key.cred.new=A: a b", "unseal"),
    ("key=c key.cred=a key.cred.new=b loaded.new=b: a b", "rotate"),
])  # fmt: skip
def test_a_key_that_a_damaged_record_may_need_is_kept(states, state, action):
    """A list of the passcodes doesn't tell whether such a record opens."""
    states.make(state)
    files = {place: path.read_bytes() for place, path in PLACES.items() if path.exists()}
    record = states.bed.record_file("alice")
    content = record.read_bytes()
    record.write_bytes(bytes(len(content)))
    assert states.run(action).returncode != DONE
    record.write_bytes(content)
    left = {place: path.read_bytes() for place, path in PLACES.items() if path.exists()}
    assert files.items() <= left.items() and set(left) <= {*files, "loaded"}


def listed():
    return [line for line in STATES.strip().splitlines() if line]


def on_request(*values):
    return pytest.param(*values, marks=pytest.mark.on_request)


@pytest.mark.parametrize(
    ("tpm_is", "first"),
    [(tpm, first) if (tpm, first) == ("cleared", "status") else on_request(tpm, first) for tpm in TPMS for first in ACTIONS],
)
def test_what_is_advised_leads_out(states, tpm_is, first):
    """Whichever command comes first. A command that is refused counts, too; one that ends a lockout doesn't."""
    wrong = []
    for state in listed():
        steps, told = states.walk(state, tpm_is, first)
        if steps is None or len(steps) > 3:
            wrong.append("\n".join([state, *told]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.on_request
def test_no_other_state_is_reached(states):
    """By commands, boots, and one accident: a kill, a cleared TPM, a key that is gone or comes back."""
    reached = states.reached(1)
    assert not {state: how for state, how in reached.items() if state not in listed()}


@pytest.mark.on_request
def test_after_two_accidents_it_takes_two_commands_more_at_most(states):
    """The most where nothing is left but a plain key that fits nothing, and papers."""
    wrong = []
    for state, how in states.reached(2).items():
        for tpm_is in TPMS:
            steps, told = states.walk(state, tpm_is, "status")
            if steps is None or len(steps) > 5:
                wrong.append("\n".join([f"{state}: {how}; the TPM {tpm_is}", *told]))
    assert not wrong, "\n".join(wrong)
