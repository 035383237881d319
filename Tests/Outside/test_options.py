"""Options in the configuration file and in the module line."""

import pytest

from option_table import table
from pam import SILENT
from scenario import RIGHT, WRONG, refused_unasked


@pytest.mark.parametrize(
    "line",
    [
        "colour=red",
        "lockout=3",
        "memlimit=1",
        "lengths=5",
        "debug\r",
        "nullok=1",
        "store=relative",
        "debug\ndebug",
        "\0",
    ],
    ids=repr,
)
def test_a_bad_line_refuses_and_says_where(alice, line):
    alice.configure("# a comment", line)
    number = alice.configuration.read_text().rstrip("\n").count("\n") + 1
    outcome = alice.authenticate("alice", RIGHT)
    assert refused_unasked(outcome, "SERVICE_ERR")
    assert any(f"{alice.configuration}:{number}: " in line.message for line in alice.log())


@pytest.mark.parametrize(
    "argument", ["colour=red", "store=/x", "opslimit=1", "nullok=1", "fail_delay=61", "conf=/other"]
)
def test_a_bad_argument_refuses_and_says_where(alice, argument):
    alice.service(argument)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
    name = argument.partition("=")[0]
    assert any("module line" in line.message and name in line.message for line in alice.log())


@pytest.mark.parametrize("name, value", table("policy").items())
def test_a_policy_option_in_a_module_line_refuses(alice, name, value):
    """For all doors there is one policy; not even its default may be repeated."""
    alice.configure(f"{name}={value}" if name not in alice.options else "")
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS", "in the file it is fine"
    alice.service(f"{name}={alice.options.get(name, value)}")
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
    assert any("module line" in line.message and name in line.message for line in alice.module_log())


def test_the_configuration_names_no_other_file(alice):
    alice.configure(f"conf={alice.configuration}")
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")


def test_a_named_file_must_be_there(alice):
    alice.configuration.unlink()
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
    assert any(str(alice.configuration) in line.message for line in alice.log())


def test_the_prompt_can_be_worded(alice):
    alice.configure("prompt=Code of the house:")
    assert alice.authenticate("alice", RIGHT).prompts == ["Code of the house: "]
    alice.service("[prompt=Your PIN:]")
    assert alice.authenticate("alice", RIGHT).prompts == ["Your PIN: "]


def test_the_delay_after_a_wrong_passcode(alice):
    assert alice.authenticate("alice", WRONG[0]).delays in ([], [["AUTH_ERR", 0.0]])
    alice.service("fail_delay=2s")
    [[result, seconds]] = alice.authenticate("alice", WRONG[1]).delays
    assert result == "AUTH_ERR" and 1 <= seconds <= 3  # libpam varies it by half


@pytest.mark.parametrize("silence", ["PAM_SILENT", "quiet"])
def test_silence_keeps_prompt_and_log(alice, silence):
    if silence == "quiet":
        alice.service("quiet")
    flags = SILENT if silence == "PAM_SILENT" else 0
    outcomes = [alice.authenticate("alice", code, flags=flags) for code in (*WRONG[:3], RIGHT)]
    assert [outcome.messages for outcome in outcomes] == [[]] * 4
    assert [outcome.result for outcome in outcomes] == ["AUTH_ERR"] * 4
    assert [len(outcome.prompts) for outcome in outcomes] == [1, 1, 1, 0]
    assert len([line for line in alice.module_log() if "user=alice" in line.message]) == 4
