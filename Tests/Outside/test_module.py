"""The built module, called by the real libpam: result, messages, and how often it asked."""

import os
import signal
import subprocess
import time

import pytest

from bed import become, more_memory_than, uid, wait_for
from pam import FAILS, NO_ANSWERS, NULL, SILENT

PROMPT = "Passcode: "
BLOCKED = 'Passcode blocked after too many attempts: run "passcode unlock" with your password.'
RIGHT, WRONG = "0471", ["1593", "2604", "3715", "4826", "5937", "6048", "7159", "8260", "9371", "0482"]


def asked_once(outcome):
    return outcome.prompts == [PROMPT] and outcome.styles == ["PROMPT_ECHO_OFF"]


def refused_unasked(outcome, result, *texts):
    return (outcome.results, outcome.prompts, outcome.texts) == ([result], [], list(texts))


def fail(bed, times, user="alice"):
    """So many wrong passcodes, each another one."""
    return [bed.authenticate(user, WRONG[bed.failures(user)]) for _ in range(times)]


# MARK: Right and wrong


@pytest.mark.parametrize("code", ["1593", "0471", "0000", "9999", "159371", "004711", "000000"])
def test_right_passcode(bed, code):
    bed.enroll("alice", code)
    outcome = bed.authenticate("alice", code)
    assert outcome.result == "SUCCESS" and asked_once(outcome) and outcome.messages == []


@pytest.mark.parametrize("nearly", ["4710", "0472", "1471", "0471"[::-1], "4711"])
def test_wrong_passcode(alice, nearly):
    outcome = alice.authenticate("alice", nearly)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert outcome.messages == [["TEXT_INFO", "Wrong passcode, 2 attempts left."]]
    assert alice.failures("alice") == 1


@pytest.mark.parametrize("enrolled, other", [("0471", "004710"), ("0471", "047100"), ("004711", "0047")])
def test_the_other_length_is_an_attempt_like_any_other(bed, enrolled, other):
    bed.enroll("alice", enrolled)
    outcome = bed.authenticate("alice", other)
    assert outcome.result == "AUTH_ERR" and outcome.texts == ["Wrong passcode, 2 attempts left."]
    assert bed.failures("alice") == 1


def test_success_clears_the_failures(alice):
    fail(alice, 2)
    assert alice.authenticate("alice", RIGHT).result == "SUCCESS"
    assert alice.failures("alice") == 0


@pytest.mark.parametrize(
    "typed",
    [
        "", "0", "047", "04711", "0471123", "abcd", "047a", " 0471", "0471 ", "0471\n", "0471\r", "-471", "+471", "4.71",
        "0x1f", "٤", "٠٤٧١", "４", "０４７１", "٤٤", "correct horse battery staple", b"\xff\xfe\xfd\xfc", "1" * 513,
        "1" * 10_000, b"\xff" * 10_000,
    ],
    ids=lambda typed: repr(typed[:12]) + ("..." if len(typed) > 12 else ""),
)  # fmt: skip
def test_what_is_no_passcode_is_no_attempt(alice, typed):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", typed)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome) and outcome.messages == []
    assert alice.record("alice") == before


@pytest.mark.parametrize("answer", [FAILS, NULL, NO_ANSWERS], ids=["error", "NULL", "no answers"])
def test_a_failed_conversation_is_no_attempt(alice, answer):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", answer)
    assert outcome.result == "CONV_ERR" and asked_once(outcome) and outcome.messages == []
    assert alice.record("alice") == before


def test_one_handle_can_be_used_again(alice):
    outcome = alice.authenticate("alice", WRONG[0], "", RIGHT, calls=["authenticate"] * 3)
    assert outcome.results == ["AUTH_ERR", "AUTH_ERR", "SUCCESS"] and outcome.prompts == [PROMPT] * 3


def test_setcred_succeeds(alice):
    assert alice.authenticate("alice", RIGHT, calls=["authenticate", "setcred"]).results == ["SUCCESS"] * 2


# MARK: Lockout


def test_three_wrong_lock(alice):
    outcomes = fail(alice, 3)
    assert [outcome.texts for outcome in outcomes] == [
        ["Wrong passcode, 2 attempts left."],
        ["Wrong passcode, 1 attempt left."],
        ["Passcode locked (1 minute left to unlock)."],
    ]
    assert all(outcome.result == "AUTH_ERR" and asked_once(outcome) for outcome in outcomes)


def test_the_right_passcode_is_refused_while_locked(bed):
    bed.configure(memlimit="64M", opslimit="3")
    bed.enroll("alice", RIGHT)
    right = bed.authenticate("alice", RIGHT)
    fail(bed, 3)
    before = bed.record("alice")
    outcome = bed.authenticate("alice", RIGHT)
    assert outcome.result == "AUTH_ERR" and outcome.prompts == []
    assert outcome.texts in [[f"Passcode locked ({left} left to unlock)."] for left in remaining(60)]
    assert bed.record("alice") == before, "a locked answer writes nothing"
    assert outcome.processor_seconds < right.processor_seconds / 10, "a locked answer hashes nothing"


def remaining(seconds):
    """How the time left may read within the next ten seconds."""
    return ["1 minute" if left == 60 else f"{left} seconds" for left in range(seconds, seconds - 11, -1)]


def test_the_lock_is_decided_after_the_typing(alice):
    """A prompt that was open when the lock came doesn't get past it."""

    def lock_meanwhile(_):
        fail(alice, 3)
        return RIGHT

    outcome = alice.authenticate("alice", lock_meanwhile)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome) and "left to unlock" in outcome.texts[0]
    assert alice.failures("alice") == 3


def test_a_delay_over_lets_in(make_bed):
    bed = make_bed(lockout="3:1s,4:2s,5:reset")
    bed.enroll("alice", RIGHT)
    assert fail(bed, 3)[-1].texts == ["Passcode locked (1 second left to unlock)."]
    time.sleep(1.1)
    outcome = bed.authenticate("alice", RIGHT)
    assert outcome.result == "SUCCESS" and asked_once(outcome) and bed.failures("alice") == 0


def test_delays_rise_until_it_is_exhausted(make_bed):
    bed = make_bed(lockout="3:1s,4:2s,5:reset")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    time.sleep(1.1)
    assert fail(bed, 1)[0].texts == ["Passcode locked (2 seconds left to unlock)."]
    time.sleep(1.1)
    assert refused_unasked(
        bed.authenticate("alice", RIGHT), "AUTH_ERR", "Passcode locked (1 second left to unlock)."
    )
    time.sleep(1)
    assert fail(bed, 1)[0].texts == [BLOCKED]
    time.sleep(1)
    assert refused_unasked(bed.authenticate("alice", RIGHT), "AUTH_ERR", BLOCKED)
    assert bed.status("alice")["state"] == "exhausted"
    bed.tool("unlock", "alice", check=0)
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


def test_unlock_ends_a_lock(alice):
    fail(alice, 3)
    alice.tool("unlock", "alice", check=0)
    assert alice.authenticate("alice", WRONG[5]).texts == ["Wrong passcode, 2 attempts left."]


def test_a_record_of_another_boot_starts_its_delay_over_once(make_bed):
    bed = make_bed(lockout="3:2s")
    bed.enroll("alice", RIGHT)
    fail(bed, 3)
    time.sleep(2.1)  # over, but nobody looked: unserved
    other_boot = b"failed_boot=" + b"5" * 32 + b"\n"
    bed.rewrite("alice", lambda body: replace_line(body, b"failed_boot", other_boot))
    assert refused_unasked(bed.authenticate("alice", RIGHT), "AUTH_ERR", "Passcode locked (2 seconds left to unlock).")
    time.sleep(2.1)
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


def replace_line(body, name, line):
    lines = body.splitlines(keepends=True)
    assert sum(old.startswith(name + b"=") for old in lines) == 1
    return b"".join(line if old.startswith(name + b"=") else old for old in lines)


def test_parallel_right_passcodes_all_succeed(alice):
    running = [alice.start("alice", RIGHT) for _ in range(8)]
    assert [run.wait().result for run in running] == ["SUCCESS"] * 8
    assert alice.failures("alice") == 0


def test_parallel_wrong_passcodes_get_three_attempts_and_no_more(alice):
    """Eight prompts open first, and are answered together; the last answer is right."""
    reading, writing = os.pipe()

    def together(code):
        def answer(_):
            os.close(writing)
            os.read(reading, 1)
            return code

        return answer

    running = [alice.start("alice", together(code)) for code in [*WRONG[:7]]]
    late = alice.start("alice", together_after(reading, writing, alice, RIGHT))
    time.sleep(0.3)
    os.close(writing)
    texts = sorted(run.wait().texts[0][:16] for run in running)
    assert texts == ["Passcode locked "] * 5 + ["Wrong passcode, "] * 2
    assert late.wait().result == "AUTH_ERR"
    assert alice.failures("alice") == 3
    os.close(reading)


def together_after(reading, writing, bed, code):
    def answer(_):
        os.close(writing)
        os.read(reading, 1)
        wait_for(lambda: bed.failures("alice") == 3)
        return code

    return answer


def test_a_killed_attempt_is_not_refunded(bed):
    bed.configure(memlimit="256M", opslimit="16")
    bed.enroll("alice", RIGHT)
    before = bed.record("alice")
    for failures in (1, 2):
        running = bed.start("alice", RIGHT)
        wait_for(lambda: bed.record("alice") != before)
        running.kill(signal.SIGKILL)
        assert running.wait().killed_by == signal.SIGKILL
        before = bed.record("alice")
        assert bed.failures("alice") == failures
    bed.configure(memlimit="64K", opslimit="1")
    assert bed.status("alice")["state"] == "ok"


# MARK: Who, and from where


def test_not_enrolled(alice):
    assert refused_unasked(alice.authenticate("bob", RIGHT), "USER_UNKNOWN")


def test_unknown_user(alice):
    for name in ["nosuchuser", "alice ", "ALICE", "../alice", "a" * 300, "alice\nbob", "\udcff"]:
        assert refused_unasked(alice.authenticate(name, RIGHT), "USER_UNKNOWN")


def test_removed(alice):
    alice.tool("remove", "alice", check=0)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "USER_UNKNOWN")


def test_nullok_ignores_the_not_enrolled_and_nobody_else(alice):
    stack = "auth [ignore=1 default=die] {module}\nauth requisite pam_deny.so\nauth required pam_permit.so"
    alice.service("nullok", stack=stack)
    assert refused_unasked(alice.authenticate("bob"), "SUCCESS")
    assert alice.authenticate("alice", WRONG[0]).result == "AUTH_ERR"
    assert alice.authenticate("alice", FAILS).result == "CONV_ERR"
    assert alice.authenticate("alice", items={"RHOST": "192.0.2.1"}).result == "PERM_DENIED"
    alice.key.unlink()
    assert alice.authenticate("alice", RIGHT).result == "AUTHINFO_UNAVAIL"


@pytest.mark.parametrize(
    "real, requester, result",
    [
        ("root", None, "SUCCESS"),
        ("root", "root", "SUCCESS"),
        ("root", "alice", "SUCCESS"),
        ("alice", None, "SUCCESS"),
        ("alice", "alice", "SUCCESS"),
        ("alice", "root", "SUCCESS"),
        ("root", "bob", "PERM_DENIED"),
        ("root", "nosuchuser", "PERM_DENIED"),
        ("bob", None, "PERM_DENIED"),
        ("bob", "bob", "PERM_DENIED"),
        ("bob", "alice", "PERM_DENIED"),
        ("bob", "root", "PERM_DENIED"),
        ("alice", "bob", "PERM_DENIED"),
    ],
)
def test_only_for_ones_own_account_or_by_real_root(alice, real, requester, result):
    """The real uid decides, whatever the effective one: this is sudo, su or a setuid agent."""
    before = alice.record("alice")
    items = {"RUSER": requester} if requester else {}
    outcome = alice.authenticate("alice", RIGHT, items=items, prepare=become(real, "root", "root"))
    assert outcome.result == result and outcome.messages == []
    assert outcome.prompts == ([PROMPT] if result == "SUCCESS" else [])
    assert (alice.record("alice") == before) == (result != "SUCCESS")


@pytest.mark.parametrize("items", [{"RHOST": "192.0.2.1"}, {"RHOST": "localhost"}, {"TTY": "ssh"}], ids=str)
def test_remote_callers_are_refused_unless_allowed(alice, items):
    assert refused_unasked(alice.authenticate("alice", RIGHT, items=items), "PERM_DENIED")
    alice.service("remote=allow")
    assert alice.authenticate("alice", RIGHT, items=items).result == "SUCCESS"
    alice.service("remote=deny")
    alice.configure(remote="allow")
    assert refused_unasked(alice.authenticate("alice", RIGHT, items=items), "PERM_DENIED")


@pytest.mark.parametrize("items", [{"RHOST": ""}, {"TTY": "/dev/tty1"}, {"TTY": ":0"}, {"TTY": "sshd"}], ids=str)
def test_local_callers_are_not_remote(alice, items):
    assert alice.authenticate("alice", RIGHT, items=items).result == "SUCCESS"


def test_a_person_may_try_it_in_a_store_of_their_own(make_bed):
    bed = make_bed(owner="alice")
    bed.enroll("alice", RIGHT)
    assert bed.authenticate("alice", RIGHT, prepare=become("alice")).result == "SUCCESS"
    assert bed.authenticate("alice", WRONG[0], prepare=become("alice")).texts == ["Wrong passcode, 2 attempts left."]
    assert bed.authenticate("bob", RIGHT, prepare=become("alice")).result == "PERM_DENIED"


def test_a_person_cannot_use_roots_store(alice):
    before = alice.record("alice")
    outcome = alice.authenticate("alice", RIGHT, prepare=become("alice"))
    assert outcome.result in ("AUTHINFO_UNAVAIL", "SERVICE_ERR") and outcome.prompts == []
    assert alice.record("alice") == before


def test_borrowed_privilege_cannot_name_a_configuration(make_bed):
    bed = make_bed(owner="carol")
    bed.enroll("carol", RIGHT)
    outcome = bed.authenticate("alice", RIGHT, prepare=become("alice", "carol", "carol"))
    assert refused_unasked(outcome, "SERVICE_ERR")


def test_the_user_changed_during_the_conversation(alice):
    alice.enroll("bob", "8260")
    before = alice.record("alice"), alice.record("bob")

    def change_user(handle):
        handle.set("USER", "bob")
        return RIGHT

    outcome = alice.authenticate("alice", change_user)
    assert outcome.result == "AUTH_ERR" and asked_once(outcome)
    assert (alice.record("alice"), alice.record("bob")) == before


def test_a_name_asked_for_by_libpam(alice):
    outcome = alice.authenticate(None, "alice", RIGHT)
    assert outcome.result == "SUCCESS" and outcome.prompts[1:] == [PROMPT]


# MARK: What can't be used is unavailable, and never counts


def unavailable_uncharged(bed, user="alice", code=RIGHT, **how):
    before = bed.record(user)
    outcome = bed.authenticate(user, code, **how)
    assert outcome.result == "AUTHINFO_UNAVAIL" and len(outcome.prompts) <= 1
    assert bed.record(user) == before
    assert not any("rong" in text for text in outcome.texts)
    return outcome


@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
def test_a_missing_machine_key(alice, code):
    alice.key.unlink()
    unavailable_uncharged(alice, code=code)
    assert not alice.key.exists(), "an authentication never makes a key"
    assert any(str(alice.key) in line.message for line in alice.log())


def overwrite(path, data):
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(mode & 0o7777)


@pytest.mark.parametrize("key", [b"\x55" * 32, b"", b"\x55" * 31, b"\x55" * 33], ids=len)
def test_another_machine_key(alice, key):
    overwrite(alice.key, key)
    unavailable_uncharged(alice)
    unavailable_uncharged(alice, code=WRONG[0])


def test_anothers_record_copied_over(alice):
    alice.enroll("bob", "8260")
    alice.record_file("bob").write_bytes(alice.record("alice"))
    unavailable_uncharged(alice, "bob")
    unavailable_uncharged(alice, "bob", "8260")


def test_anothers_credential_under_ones_own_name(alice):
    """A record forged to the last checksum: only the seal tells whose it is."""
    alice.enroll("bob", "8260")
    own = f"uid={uid('bob')}\n".encode()
    alice.rewrite(
        "bob",
        lambda body: replace_line(replace_line(body, b"uid", own), b"name", b"name=bob\n"),
        source="alice",
    )
    unavailable_uncharged(alice, "bob")


def test_a_forged_ledger_line_with_a_wrong_checksum(alice):
    whole = bytearray(alice.record("alice"))
    for slot in (0, 4096):
        whole[slot + 20] ^= 1
    alice.record_file("alice").write_bytes(whole)
    unavailable_uncharged(alice)


@pytest.mark.parametrize("length", [0, 1, 4096, 8191, 8193])
def test_a_record_of_another_length(alice, length):
    whole = alice.record("alice")
    alice.record_file("alice").write_bytes((whole + b"\0")[:length])
    unavailable_uncharged(alice)


def test_one_torn_slot_is_the_other_slot(alice):
    fail(alice, 1)
    for start in (0, 4096):
        whole = bytearray(alice.record("alice"))
        whole[start : start + 512] = b"\0" * 512
        alice.record_file("alice").write_bytes(whole)
        assert alice.authenticate("alice", RIGHT).result == "SUCCESS"


def test_another_accounts_uid_reused(alice):
    """The record's name is no longer the uid's: it counts as not enrolled, and that is logged."""
    subprocess.run(["usermod", "--login", "alicia", "alice"], check=True)
    try:
        assert refused_unasked(alice.authenticate("alicia", RIGHT), "USER_UNKNOWN")
        assert any("alice" in line.message and "alicia" in line.message for line in alice.log())
    finally:
        subprocess.run(["usermod", "--login", "alice", "alicia"], check=True)


def test_too_little_memory_is_never_a_wrong_passcode(bed):
    bed.configure(memlimit="64M")
    bed.enroll("alice", RIGHT)
    for code in (RIGHT, WRONG[0]):
        unavailable_uncharged(bed, code=code, prepare=more_memory_than(48 << 20))
    assert bed.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("mebibytes", range(0, 12))
def test_hardly_any_memory_is_no_crash(alice, mebibytes):
    """Wherever it runs out: refused or let in, but never a trap and never a wrong passcode."""
    outcome = alice.authenticate("alice", RIGHT, prepare=more_memory_than(mebibytes << 20))
    assert outcome.killed_by == 0
    assert outcome.result in ("SUCCESS", "AUTHINFO_UNAVAIL", "MODULE_UNKNOWN", "SYSTEM_ERR", "BUF_ERR", "ABORT", "OPEN_ERR")
    assert alice.failures("alice") == 0


def test_the_store_is_not_there(alice):
    alice.store.rename(alice.folder / "elsewhere")
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result in ("AUTHINFO_UNAVAIL", "USER_UNKNOWN") and outcome.prompts == []
    assert not alice.store.exists(), "an authentication never makes a store"


@pytest.mark.parametrize("part", ["key", "store", "folder"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_can_write_is_not_trusted(alice, part, mode):
    path = getattr(alice, part)
    if part == "store":
        os.chown(path, 0, uid("bob"))
    path.chmod(path.stat().st_mode & 0o7777 | mode)
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result == ("SERVICE_ERR" if part == "folder" else "AUTHINFO_UNAVAIL") and outcome.prompts == []


@pytest.mark.parametrize("part", ["key", "store", "configuration"])
def test_anothers_file_is_not_trusted(alice, part):
    os.chown(getattr(alice, part), uid("bob"), -1)
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result == ("SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL")
    assert outcome.prompts == []


@pytest.mark.parametrize("part", ["key", "store", "configuration"])
def test_a_symbolic_link_is_not_followed(alice, part):
    path = getattr(alice, part)
    real = path.with_name("real")
    path.rename(real)
    path.symlink_to(real)
    outcome = alice.authenticate("alice", RIGHT)
    assert outcome.result == ("SERVICE_ERR" if part == "configuration" else "AUTHINFO_UNAVAIL")
    assert outcome.prompts == []


# MARK: Options


@pytest.mark.parametrize(
    "line",
    ["colour=red", "lockout=3", "memlimit=1", "lengths=5", "debug\r", "nullok=1", "store=relative", "debug\ndebug", "\0"],
    ids=repr,
)
def test_a_bad_line_refuses_and_says_where(alice, line):
    alice.configure("# a comment", line)
    number = alice.configuration.read_text().rstrip("\n").count("\n") + 1
    outcome = alice.authenticate("alice", RIGHT)
    assert refused_unasked(outcome, "SERVICE_ERR")
    assert any(f"{alice.configuration}:{number}: " in line.message for line in alice.log())


@pytest.mark.parametrize("argument", ["colour=red", "store=/x", "opslimit=1", "nullok=1", "fail_delay=61", "conf=/other"])
def test_a_bad_argument_refuses_and_says_where(alice, argument):
    alice.service(argument)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
    name = argument.partition("=")[0]
    assert any("module line" in line.message and name in line.message for line in alice.log())


def test_a_named_file_must_be_there(alice):
    alice.configuration.unlink()
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")
    assert any(str(alice.configuration) in line.message for line in alice.log())


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_write_refuses(alice, mode):
    alice.configuration.chmod(mode)
    assert refused_unasked(alice.authenticate("alice", RIGHT), "SERVICE_ERR")


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
    assert len([line for line in alice.log() if "user=alice" in line.message]) == 4


# MARK: What stays behind

HAND_ON = "auth optional {module}\nauth required pam_exec.so quiet expose_authtok {probe}"
HANDED = "auth required pam_exec.so quiet expose_authtok /bin/true\n" + HAND_ON


def probe(bed):
    """A program for pam_exec that keeps the token it is given."""
    program = bed.folder / "probe"
    program.write_text(f"#!/bin/sh\ncat >{bed.folder}/token\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("typed", [RIGHT, WRONG[0], "", "hunter22", "04711"])
def test_nothing_is_left_in_the_token(alice, typed):
    """pam_exec asks for itself where no module before it left a token."""
    alice.service(stack=HAND_ON.replace("{probe}", str(probe(alice))))
    outcome = alice.authenticate("alice", typed, "the password")
    assert outcome.prompts == [PROMPT, "Password: "]
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == b"the password"


@pytest.mark.parametrize("typed", [RIGHT, WRONG[0], "", "hunter22"])
def test_an_earlier_modules_token_stays(alice, typed):
    alice.service(stack=HANDED.replace("{probe}", str(probe(alice))))
    outcome = alice.authenticate("alice", "the password", typed)
    assert outcome.prompts == ["Password: ", PROMPT]
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == b"the password"


# MARK: The log

AUTHPRIV = 10


def test_each_verdict_is_logged(make_bed):
    bed = make_bed(lockout="3:1m")
    bed.enroll("alice", RIGHT)
    items = {"TTY": "tty7"}
    for code in (RIGHT, *WRONG[:3], RIGHT):
        bed.authenticate("alice", code, items=items)
    lines = [line for line in bed.log() if "user=alice" in line.message]
    assert [line.facility for line in lines] == [AUTHPRIV] * 5
    for line, word in zip(lines, ["granted", "wrong", "wrong", "wrong", "locked"], strict=True):
        assert word in line.message and "tty=tty7" in line.message and "passcode-test" in line.message
    assert [f"failures={count}" in line.message for line, count in zip(lines[1:], (1, 2, 3, 3), strict=True)] == [True] * 4
    assert "seconds_left=60" in lines[3].message


def test_no_outside_value_can_forge_a_log_line(alice):
    forged = "x\nNov 21 00:00:00 sshd: granted user=root"
    for items in ({"RHOST": forged}, {"TTY": forged}, {"RUSER": forged}):
        alice.authenticate("alice", RIGHT, items=items)
    alice.authenticate(forged, RIGHT)
    lines = alice.log()
    assert len(lines) >= 3
    assert all("\n" not in line.message and " user=root" not in line.message for line in lines)


def test_debug_logs_more_and_no_secret(alice):
    alice.configure("debug")
    for typed in (RIGHT, WRONG[0], "hunter22", ""):
        alice.authenticate("alice", typed)
    alice.assert_nothing_typed_was_logged()
