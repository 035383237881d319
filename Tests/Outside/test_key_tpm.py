"""What a TPM, and the systemd that speaks to it, may do to a sealed key: refuse for a while, lie, or bind to what passes."""

import json
import re

import pytest

import sealing
from machine import KEY
from recovery import key_of, recovery_copy
from sealed import SEALED, SEALED_NEXT, boot, everybody_logs_in, key, logs_in, recover, status
from sealing import LOADED
from tool import UNUSABLE, one_line

LOCKED = "the TPM refuses for now (dictionary attack lockout"


# MARK: PCRs


@pytest.mark.parametrize(("systemd", "bound"), [(252, "bound to PCR 16 while that is 0"), (257, "bound to no PCR")])
def test_without_pcrs_it_is_bound_to_nothing_that_changes(own, tpm, systemd, bound):
    tpm.start(systemd=systemd)
    key(own, "seal")
    assert key(own, "status").output.startswith(f"{SEALED}: sealed by the TPM, {bound}, and loaded: OK.\n")
    tpm.start("another firmware", systemd=systemd)
    boot(own)
    assert everybody_logs_in(own) and status(own) == ""
    key(own, "rotate")
    assert bound in key(own, "status").output


def test_a_systemd_that_needs_a_pcr_is_refused_while_that_one_is_not_zero(own, tpm):
    """Keylime's agent extends PCR 16: what is bound to its value opens at no other boot."""
    tpm.start(debug="a quote", systemd=252)
    before = KEY.read_bytes()
    answer = key(own, "seal", check=UNUSABLE)
    assert "PCR 16 is not 0" in answer.errors and "run: passcode key seal --pcrs 7" in answer.errors
    assert one_line(answer.errors) and KEY.read_bytes() == before and not SEALED.exists() and not LOADED.exists()
    key(own, "seal", "--pcrs", "7")
    tpm.start(debug="another quote", systemd=252)
    boot(own)
    assert everybody_logs_in(own) and status(own) == ""


def test_a_newer_systemd_does_not_care_about_it(own, tpm):
    tpm.start(debug="a quote")
    key(own, "seal")
    tpm.start()
    boot(own)
    assert everybody_logs_in(own) and "bound to no PCR" in key(own, "status").output


@pytest.mark.parametrize("when", ["sealed at 0, and extended since", "sealed at a value that passes"])
def test_status_never_advises_to_seal_to_a_value_that_passes(own, tpm, when):
    at, now = (None, "a quote") if when.startswith("sealed at 0") else ("a quote", "a quote")
    tpm.start(debug=at)
    key(own, "seal", "--pcrs", "16")
    tpm.start(debug=now)
    said = status(own)
    assert "is bound to PCR 16" in said and "may fail to unseal at the next boot; run: passcode key seal --pcrs 7" in said
    assert said.count("passcode key seal") == said.count("passcode key seal --pcrs 7") == 1
    # Without --pcrs it is bound to that one no longer.
    key(own, "seal")
    assert "bound to no PCR" in key(own, "status").output and status(own) == ""


def test_what_a_newer_systemd_sealed_is_told_by_its_header(own, tpm):
    """A disk that went back to an older release, say. (systemd 262's own is only made up here.)"""
    tpm.start(systemd=262)
    copy = recovery_copy(key(own, "seal").output)
    boot(own)
    assert everybody_logs_in(own)
    tpm.start(systemd=257)
    assert "the TPM will not unseal it at the next boot: sealed by a newer systemd, or damaged: Unknown encryption format" in status(own)
    said = boot(own, check=UNUSABLE).errors
    assert "the TPM did not unseal it: sealed by a newer systemd, or damaged" in said and "passcode key recover" in said
    recover(own, copy)
    boot(own)
    assert everybody_logs_in(own)


# MARK: The lockout


@pytest.mark.parametrize("systemd", [252, 257])
def test_a_lockout_of_the_tpm_is_told_with_what_ends_it(sealed, tpm, systemd):
    tpm.start(systemd=systemd)
    key(sealed, "seal")
    tpm.start(systemd=systemd, lockout=True)
    said = status(sealed)
    assert "warning: " in said and LOCKED in said and "run: tpm2_dictionarylockout --clear-lockout" in said
    for action in ("load", "status"):
        sealing.boot()
        answer = key(sealed, action, check=UNUSABLE)
        assert one_line(answer.errors) and f"{SEALED}: {LOCKED}" in answer.errors
        assert "Passwords keep working." in answer.errors and "recover" not in answer.errors
    found = [json.loads(line) for line in sealed.tool("check", "--json", check=None).output.splitlines()]
    [finding] = [each for each in found if each.get("check") == "key"]
    assert LOCKED in finding["message"] and finding["command"] == "tpm2_dictionarylockout --clear-lockout"
    assert not logs_in(sealed) and sealed.failures("alice") == 0
    tpm.start(systemd=systemd)
    key(sealed, "load")
    assert everybody_logs_in(sealed)


@pytest.mark.parametrize("action", ["seal", "rotate"])
def test_a_lockout_changes_nothing(sealed, tpm, action):
    before = SEALED.read_bytes(), LOADED.read_bytes()
    tpm.start(lockout=True)
    answer = key(sealed, action, check=UNUSABLE)
    assert LOCKED in answer.errors and "    1  " not in answer.output
    assert (SEALED.read_bytes(), LOADED.read_bytes()) == before and not SEALED_NEXT.exists() and everybody_logs_in(sealed)


@pytest.mark.parametrize(("action", "seconds"), [("load", 30), ("status", 10), ("seal", 10), ("rotate", 10)])
def test_a_tpm_that_says_nothing_is_waited_for_for_a_while_only(sealed, tpm, tmp_path, action, seconds):
    """By the unit longer than by a person. The wait is cut short here; what was started is ended with it."""
    before = SEALED.read_bytes(), LOADED.read_bytes()
    tpm.start(lies="says nothing")
    trace = tmp_path / "trace"
    calls = ["-e", "trace=poll,ppoll,kill", "-e", "inject=poll,ppoll:retval=0"]
    answer = key(sealed, action, check=None, before=["strace", "-qq", "-o", trace, *calls])
    assert f"systemd-creds: no answer within {seconds} s" in answer.errors
    calls = trace.read_text()
    waits = [int(limit) for limit in re.findall(r"^poll\(.*, (\d+)\) *= 0 \(", calls, re.MULTILINE)]
    assert waits and all(seconds * 900 < limit <= seconds * 1_000 for limit in waits) and calls.count(", SIGKILL)") == len(waits), calls
    assert (SEALED.read_bytes(), LOADED.read_bytes()) == before and everybody_logs_in(sealed)


# MARK: Lies

LIES = ["seals another key", "opens another key", "opens a part"]


@pytest.mark.parametrize("lie", LIES)
def test_a_key_that_does_not_come_back_as_it_was_is_not_sealed(own, tpm, lie):
    before = KEY.read_bytes()
    tpm.start(lies=lie)
    answer = key(own, "seal", check=UNUSABLE)
    assert one_line(answer.errors) and "nothing was changed" in answer.errors and ": ;" not in answer.errors
    assert "    1  " not in answer.output
    assert KEY.read_bytes() == before and not SEALED.exists() and not LOADED.exists() and everybody_logs_in(own)


@pytest.mark.parametrize("action", ["seal", "rotate"])
@pytest.mark.parametrize("lie", LIES)
def test_nor_does_it_take_the_place_of_one_that_is_sealed(sealed, tpm, lie, action):
    before = SEALED.read_bytes(), LOADED.read_bytes()
    tpm.start(lies=lie)
    key(sealed, action, check=UNUSABLE)
    assert (SEALED.read_bytes(), LOADED.read_bytes()) == before and not SEALED_NEXT.exists()
    tpm.start()
    boot(sealed)
    assert everybody_logs_in(sealed) and status(sealed) == ""


@pytest.mark.parametrize("lie", LIES)
def test_a_recovery_with_such_a_tpm_says_that_it_is_not_sealed(sealed, tpm, lie):
    before = SEALED.read_bytes()
    sealing.boot()
    tpm.start(lies=lie)
    answer = recover(sealed, sealed.copy, check=UNUSABLE)
    assert "the key works until the next boot, but could not be sealed: " in answer.errors
    assert SEALED.read_bytes() == before and LOADED.read_bytes() == key_of(sealed.copy) and everybody_logs_in(sealed)
