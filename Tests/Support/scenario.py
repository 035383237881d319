"""What many scenarios need: the codes, what a refusal looks like, and hands that forge."""

import hashlib
import pathlib

from bed import SLOT

PROMPT = "Passcode: "
LOCKED_OUT = "Passcode locked out after too many attempts. Use your password."
RIGHT, WRONG = "0471", ["1593", "2604", "3715", "4826", "5937", "6048", "7159", "8260", "9371", "0482"]
PASSWORD, NEW = "correct horse", "8305"
EXAMPLES = pathlib.Path(__file__).parents[2] / "pam.d"
# A stack as with the package's two profiles.
PROVEN = (
    "auth [success=2 auth_err=die conv_err=die default=ignore] {module} either\n"
    "auth [success=1 default=ignore] pam_unix.so nodelay try_first_pass\n"
    "auth requisite pam_deny.so\n"
    "auth required pam_permit.so\n"
    "auth optional {module} proven"
)


def asked_once(outcome):
    return outcome.prompts == [PROMPT] and outcome.styles == ["PROMPT_ECHO_OFF"]


def refused_unasked(outcome, result, *texts):
    return (outcome.results, outcome.prompts, outcome.texts) == ([result], [], list(texts))


def fail(bed, times, user="alice"):
    """So many wrong passcodes, each another one."""
    return [bed.authenticate(user, WRONG[bed.failures(user)]) for _ in range(times)]


def unavailable_uncharged(bed, user="alice", code=RIGHT, **how):
    before = bed.record(user)
    outcome = bed.authenticate(user, code, **how)
    assert outcome.result == "AUTHINFO_UNAVAIL" and len(outcome.prompts) <= 1
    assert bed.record(user) == before
    assert not any("rong" in text for text in outcome.texts)
    return outcome


def replace_line(body, name, line):
    lines = body.splitlines(keepends=True)
    assert sum(old.startswith(name + b"=") for old in lines) == 1
    return b"".join(line if old.startswith(name + b"=") else old for old in lines)


def overwrite(path, data):
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(mode & 0o7777)


def valid_slots(whole):
    """Which slots of a record hold what their checksum says."""
    return [number for number in (0, 1) if is_valid(whole[number * SLOT : (number + 1) * SLOT])]


def is_valid(slot):
    body, _, checksum = slot.partition(b"checksum=")
    return checksum.rstrip(b"\0") == hashlib.blake2b(body, digest_size=32).hexdigest().encode() + b"\n"
