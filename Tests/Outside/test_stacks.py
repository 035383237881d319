"""The example stacks in pam.d/, loaded as they are, with the real pam_unix and its passwords; and the profile's line
with what stands around it."""

import pathlib
import re
import shutil
import subprocess

import pytest

import pam
from bed import MEMORY, MODULE, become
from machine import modules_of_libpam
from scenario import EXAMPLES, LOCKED_OUT, PASSWORD, RIGHT, WRONG, fail

TREE = pathlib.Path(__file__).parents[2]
CONFIGURATION = pathlib.Path("/etc/security/passcode.conf")
CODE, WORD, EITHER = "Passcode: ", "Password: ", "Passcode or password: "
WRONG_PASSWORD, DIGITS = "battery staple", "918273"
WITH_FALLBACK = ["login", "sudo"]
# It stays true for a whole minute.
LOCKED = "Passcode locked (2 minutes left to unlock)."
DISABLED = "Passcode disabled by the administrator."


@pytest.fixture(scope="module", autouse=True)
def installed():
    """The module among libpam's own, and a password for everybody; in this mount namespace."""
    with modules_of_libpam() as folder:
        shutil.copy2(MODULE, folder)
        for name, word in (("alice", PASSWORD), ("bob", PASSWORD), ("carol", DIGITS)):
            set_password(name, hashed(word))
        yield
        for name in ("alice", "bob", "carol"):
            set_password(name, "!")


def hashed(word):
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=word, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def set_password(name, text):
    subprocess.run(["usermod", "--password", text, name], check=True)


@pytest.fixture
def house(make_bed):
    """A machine with the example stacks, configured at the usual place; alice has the passcode 0471."""
    bed = make_bed()
    bed.configuration.unlink()
    bed.configuration = CONFIGURATION
    # pam.d/second-factor wants it; to the other stacks it makes no difference, since root enrols here.
    bed.configure(second_factor="yes")
    bed.service()
    for file in [*EXAMPLES.iterdir(), *pathlib.Path("/etc/pam.d").glob("common-*")]:
        shutil.copy2(file, bed.services)
    bed.enroll("alice", RIGHT)
    yield bed
    CONFIGURATION.unlink()
    shutil.rmtree(MEMORY, ignore_errors=True)


def log_in(bed, stack, *answers, user="alice", calls=("authenticate", "acct_mgmt", "setcred"), **how):
    bed.typed |= {answer for answer in answers if isinstance(answer, str)}
    return pam.start(stack, user, bed.services, answers, calls=calls, **how).wait()


def let_in(outcome, *prompts):
    return (outcome.results, outcome.prompts) == (["SUCCESS"] * 3, list(prompts))


def refused(outcome, result, *prompts):
    return (outcome.result, outcome.prompts) == (result, list(prompts))


def test_every_example_is_tested_here():
    assert sorted(file.name for file in EXAMPLES.iterdir()) == sorted(
        [*WITH_FALLBACK, "faillock", "finger", "finger-first", "kiosk", "one-field", "second-factor"]
    )


@pytest.mark.parametrize("stack", [*WITH_FALLBACK, "kiosk"])
def test_the_right_passcode_is_enough(house, stack):
    outcome = log_in(house, stack, RIGHT)
    assert let_in(outcome, CODE) and outcome.messages == []


# MARK: sudo, login: the password where the passcode doesn't lead on


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@pytest.mark.parametrize("typed, counted", [(WRONG[0], 1), ("", 0), ("hello", 0), ("04711", 0)], ids=repr)
def test_then_the_password_is_asked_for(house, stack, typed, counted):
    assert let_in(log_in(house, stack, typed, PASSWORD), CODE, WORD)
    assert house.failures("alice") == counted


@pytest.mark.parametrize("stack", WITH_FALLBACK)
def test_neither_is_right(house, stack):
    outcome = log_in(house, stack, WRONG[0], WRONG_PASSWORD)
    assert refused(outcome, "AUTH_ERR", CODE, WORD) and house.failures("alice") == 1


def lock(house):
    house.configure(lockout="3:2m")
    fail(house, 3)


def exhaust(house):
    house.configure(lockout="1:reset")
    fail(house, 1)


def disable(house):
    house.tool("disable", "alice", check=0)


def forget(house):
    house.tool("remove", "alice", check=0)


def lose_key(house):
    house.key.unlink()


def damage(house):
    house.record_file("alice").write_bytes(bytes(8192))


def misspell(house):
    house.configure("colour=red")


OUT_OF_ORDER = [
    (lock, [LOCKED]),
    (exhaust, [LOCKED_OUT]),
    (disable, [DISABLED]),
    (forget, []),
    (lose_key, []),
    (damage, []),
    (misspell, []),
]
CASES = pytest.mark.parametrize(
    "happen, texts", OUT_OF_ORDER, ids=lambda value: getattr(value, "__name__", "")
)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@CASES
def test_a_passcode_that_cannot_be_used_leaves_the_password(house, stack, happen, texts):
    happen(house)
    outcome = log_in(house, stack, PASSWORD)
    assert let_in(outcome, WORD) and outcome.texts == texts
    assert refused(log_in(house, stack, WRONG_PASSWORD), "AUTH_ERR", WORD)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
def test_who_has_no_passcode_is_asked_for_the_password_only(house, stack):
    assert let_in(log_in(house, stack, PASSWORD, user="bob"), WORD)
    assert refused(log_in(house, stack, RIGHT, user="bob"), "AUTH_ERR", WORD)


@pytest.mark.parametrize("stack", WITH_FALLBACK)
@pytest.mark.parametrize("items", [{"RUSER": "bob"}, {"RHOST": "192.0.2.1"}, {"TTY": "ssh"}], ids=str)
def test_where_passcodes_are_not_permitted_the_password_is_asked_for(house, stack, items):
    assert let_in(log_in(house, stack, PASSWORD, items=items), WORD)


@pytest.mark.parametrize("stack", [*WITH_FALLBACK, "faillock", "finger", "finger-first", "kiosk", "one-field", "second-factor"])
def test_nobody_gets_in_by_cancelling(house, stack):
    outcome = log_in(house, stack, calls=["authenticate"])
    assert outcome.result not in ("SUCCESS", "IGNORE") and house.failures("alice") == 0


# MARK: kiosk


def test_a_kiosk_has_no_fallback(house):
    assert refused(log_in(house, "kiosk", WRONG[0], PASSWORD), "AUTH_ERR", CODE)
    assert refused(log_in(house, "kiosk", PASSWORD), "AUTH_ERR", CODE)
    assert refused(log_in(house, "kiosk", PASSWORD, user="bob"), "USER_UNKNOWN")


@CASES
def test_a_kiosk_stays_shut(house, happen, texts):
    happen(house)
    outcome = log_in(house, "kiosk", RIGHT, calls=["authenticate"])
    assert outcome.result != "SUCCESS" and outcome.prompts == [] and outcome.texts == texts


# MARK: second-factor


def test_both_factors_are_needed(house):
    assert let_in(log_in(house, "second-factor", PASSWORD, RIGHT), WORD, CODE)
    assert refused(log_in(house, "second-factor", PASSWORD, WRONG[0]), "AUTH_ERR", WORD, CODE)
    assert refused(log_in(house, "second-factor", PASSWORD, ""), "AUTH_ERR", WORD, CODE)
    assert refused(log_in(house, "second-factor", RIGHT, PASSWORD), "AUTH_ERR", WORD)
    assert house.failures("alice") == 1


def test_without_the_password_nobody_spends_attempts(house):
    for code in WRONG[:4]:
        assert refused(log_in(house, "second-factor", WRONG_PASSWORD, code), "AUTH_ERR", WORD)
    assert house.failures("alice") == 0


@CASES
def test_without_the_passcode_the_password_is_not_enough(house, happen, texts):
    happen(house)
    outcome = log_in(house, "second-factor", PASSWORD, RIGHT, calls=["authenticate"])
    assert outcome.result != "SUCCESS" and outcome.prompts == [WORD] and outcome.texts == texts


def test_nullok_is_one_factor_for_who_has_no_passcode(house):
    file = house.services / "second-factor"
    assert refused(log_in(house, "second-factor", PASSWORD, user="bob"), "USER_UNKNOWN", WORD)
    file.write_text(file.read_text().replace("pam_passcode.so", "pam_passcode.so nullok"))
    assert let_in(log_in(house, "second-factor", PASSWORD, user="bob"), WORD)
    assert refused(log_in(house, "second-factor", PASSWORD, WRONG[0]), "AUTH_ERR", WORD, CODE)


def test_ssh_needs_remote_allow(house):
    file, items = house.services / "second-factor", {"RHOST": "192.0.2.1", "TTY": "ssh"}
    assert refused(log_in(house, "second-factor", PASSWORD, RIGHT, items=items), "PERM_DENIED", WORD)
    file.write_text(file.read_text().replace("pam_passcode.so", "pam_passcode.so remote=allow"))
    assert let_in(log_in(house, "second-factor", PASSWORD, RIGHT, items=items), WORD, CODE)


# MARK: one-field, and the profile's line: one prompt per call

PROFILE = TREE / "debian/pam-configs/passcode"
FAILLOCK = "pam_faillock.so {how} silent deny=3 dir={tally}"
# As pam-auth-update writes common-auth around the profile's line.
AROUND = """{before}
{line}
auth [success={last} default=ignore] pam_unix.so nullok try_first_pass
{behind}
auth requisite pam_deny.so
auth required pam_permit.so
account required pam_permit.so
"""


def profile_line(jump):
    """The one of authentication; pam-auth-update makes a number of "end"."""
    [line] = re.findall(r"^Auth:\n\t(.*)$", PROFILE.read_text(), re.MULTILINE)
    return f"auth {line.replace('=end', f'={jump}')}"


@pytest.fixture(params=["one-field", "profile", "faillock", "profile-faillock", "finger", "finger-first"])
def field(request, house):
    """The stacks with one field for both; with pam_faillock by hand and by pam-auth-update, too; and those with a
    finger, here where there is no reader."""
    if request.param == "profile":
        text = AROUND.format(before="", line=profile_line(2), last=1, behind="")
        (house.services / "profile").write_text(text)
    if "faillock" in request.param:
        add_faillock(house)
    return request.param


def add_faillock(house):
    """The example, and the profile between two of pam_faillock's; both count in the folder that is the answer."""
    tally = house.folder / "faillock"
    tally.mkdir()
    example = house.services / "faillock"
    example.write_text(re.sub(r"(?<=pam_faillock.so )(\w+)", rf"\1 silent deny=3 dir={tally}", example.read_text()))
    preauth, authfail = (FAILLOCK.format(how=how, tally=tally) for how in ("preauth", "authfail"))
    text = AROUND.format(
        before=f"auth requisite {preauth}", line=profile_line(3), last=2, behind=f"auth [default=die] {authfail}"
    )
    (house.services / "profile-faillock").write_text(text)
    return tally


@pytest.mark.parametrize(
    "example, more", [("one-field", []), ("faillock", []), ("finger", ["finger=yes"]), ("finger-first", [])]
)
def test_the_examples_with_one_field_are_the_profile_s_line(house, example, more):
    [line] = re.findall(r"^auth .*pam_passcode.*$", (EXAMPLES / example).read_text(), re.MULTILINE)
    assert line.split() == profile_line("done").split() + more


@pytest.mark.parametrize(
    "result, prompts", [("success", []), ("maxtries", [EITHER]), ("authinfo_unavail", [EITHER]), ("auth_err", [EITHER])]
)
def test_the_finger_comes_first_and_everything_but_a_match_leads_to_the_passcode(house, result, prompts):
    """With pam_debug in the place of pam_fprintd."""
    file = house.services / "finger-first"
    stack, count = re.subn(r"pam_fprintd\.so .*", f"pam_debug.so auth={result} cred=success", file.read_text())
    assert count == 1
    file.write_text(stack)
    outcome = log_in(house, "finger-first", *([RIGHT] if prompts else []), calls=["authenticate"])
    assert (outcome.result, outcome.prompts) == ("SUCCESS", prompts)


@pytest.mark.parametrize("typed", [RIGHT, PASSWORD], ids=["passcode", "password"])
def test_one_question_takes_both(house, field, typed):
    assert let_in(log_in(house, field, typed), EITHER)
    assert house.failures("alice") == 0


@pytest.mark.parametrize("typed", [WRONG_PASSWORD, "hello", "04711"])
def test_a_wrong_password_in_the_one_field_is_not_asked_for_again(house, field, typed):
    # pam_faillock's own answer, while it doesn't refuse: libpam makes that of PAM_IGNORE with "die".
    result = "PERM_DENIED" if "faillock" in field else "AUTH_ERR"
    assert refused(log_in(house, field, typed, PASSWORD), result, EITHER)
    assert house.failures("alice") == 0


def test_a_wrong_passcode_ends_the_call_and_the_next_one_asks_again(house, field):
    assert refused(log_in(house, field, WRONG[0], PASSWORD), "AUTH_ERR", EITHER)
    assert house.failures("alice") == 1
    assert let_in(log_in(house, field, RIGHT), EITHER)


def test_after_enter_alone_the_one_field_stack_asks_for_the_password(house, field):
    assert let_in(log_in(house, field, "", PASSWORD), EITHER, WORD)
    assert house.failures("alice") == 0


def test_cancelling_ends_the_call(house, field):
    assert refused(log_in(house, field, pam.FAILS, PASSWORD, calls=["authenticate"]), "CONV_ERR", EITHER)


def test_a_locker_answers_each_question_with_the_same_text(house, field):
    assert let_in(log_in(house, field, *[RIGHT] * 2), EITHER)
    assert let_in(log_in(house, field, *[PASSWORD] * 2), EITHER)
    assert refused(log_in(house, field, *[WRONG[0]] * 2), "AUTH_ERR", EITHER)
    assert house.failures("alice") == 1


def test_a_locker_without_root_and_without_the_helper_takes_the_password(house):
    outcome = log_in(house, "one-field", PASSWORD, prepare=become("alice"), calls=["authenticate"])
    assert refused(outcome, "SUCCESS", WORD)


@CASES
def test_one_field_falls_back_to_the_password(house, field, happen, texts):
    happen(house)
    outcome = log_in(house, field, PASSWORD)
    assert let_in(outcome, WORD) and outcome.texts == texts


def test_locked_out_while_the_passcode_is_typed(house, field):
    def disable_meanwhile(_):
        disable(house)
        return RIGHT

    outcome = log_in(house, field, disable_meanwhile, PASSWORD)
    assert refused(outcome, "AUTH_ERR", EITHER) and outcome.texts == [DISABLED]


def test_one_field_and_no_passcode(house, field):
    assert let_in(log_in(house, field, PASSWORD, user="bob"), WORD)


def test_a_password_of_six_digits_is_typed_at_the_second_question(house, field):
    house.enroll("carol", RIGHT)
    assert let_in(log_in(house, field, "", DIGITS, user="carol"), EITHER, WORD)
    assert house.failures("carol") == 0
    outcome = log_in(house, field, DIGITS, DIGITS, user="carol")
    assert refused(outcome, "AUTH_ERR", EITHER) and house.failures("carol") == 1


def tallied(tally):
    """What `faillock --user alice` shows below its two lines of heading."""
    done = subprocess.run(
        ["faillock", "--dir", tally, "--user", "alice"], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[2:]


BOTH_WAYS = pytest.mark.parametrize("stack", ["faillock", "profile-faillock"])


@BOTH_WAYS
def test_wrong_passcodes_are_none_of_faillock_s(house, stack):
    """Three of them lock the passcode, and not the password."""
    tally = add_faillock(house)
    for code in WRONG[:3]:
        assert refused(log_in(house, stack, *[code] * 2), "AUTH_ERR", EITHER)
    assert house.status("alice")["state"] == "locked" and tallied(tally) == []
    assert let_in(log_in(house, stack, PASSWORD), WORD)


@BOTH_WAYS
def test_once_faillock_has_locked_the_password_the_passcode_is_refused_too(house, stack):
    tally = add_faillock(house)
    for _ in range(3):
        assert log_in(house, stack, WRONG_PASSWORD).prompts == [EITHER]
    assert len(tallied(tally)) == 3 and house.failures("alice") == 0
    for typed in (PASSWORD, RIGHT):
        assert refused(log_in(house, stack, typed, calls=["authenticate"]), "AUTH_ERR")


@BOTH_WAYS
def test_the_right_passcode_clears_faillock_s_count_only_where_the_account_line_does(house, stack):
    tally = add_faillock(house)
    log_in(house, stack, WRONG_PASSWORD)
    assert let_in(log_in(house, stack, RIGHT), EITHER) and len(tallied(tally)) == 1
    file = house.services / stack
    file.write_text(file.read_text() + f"account required pam_faillock.so dir={tally}\n")
    assert let_in(log_in(house, stack, RIGHT), EITHER) and tallied(tally) == []


def test_a_jump_by_hand_takes_the_right_passcode_to_faillock(house):
    """Why the example says "done"."""
    tally = add_faillock(house)
    file = house.services / "faillock"
    file.write_text(file.read_text().replace("success=done", "success=1"))
    assert log_in(house, "faillock", RIGHT, calls=["authenticate"]).result != "SUCCESS"
    assert len(tallied(tally)) == 1


# MARK: What an earlier module left (what is taken of it: test_first_pass.py)


KEPT = """auth required pam_exec.so quiet expose_authtok /bin/true
auth optional {module}
auth required pam_exec.so quiet expose_authtok {probe}"""


@pytest.mark.parametrize("option", ["try_first_pass", "use_first_pass", "either"])
def test_an_earlier_password_stays_where_it_is_not_taken(alice, option):
    probe = alice.folder / "probe"
    probe.write_text(f"#!/bin/sh\ncat >{alice.folder}/token\n")
    probe.chmod(0o755)
    alice.service(option, stack=KEPT.replace("{probe}", str(probe)))
    alice.authenticate("alice", PASSWORD, "")
    assert (alice.folder / "token").read_bytes().rstrip(b"\0") == PASSWORD.encode()


def test_only_for_a_group_as_the_page_says(house):
    """README.Debian's lines: who isn't in the group gets the next module's prompt alone."""
    page = (TREE / "debian/libpam-passcode.README.Debian").read_text()
    [lines] = re.findall(r"^    (auth \[.*ingroup passcode\n.*\n.*common-auth)$", page, re.MULTILINE)
    (house.services / "group").write_text(re.sub(r"^ +", "", lines, flags=re.MULTILINE) + "\naccount required pam_unix.so\n")
    house.enroll("bob", RIGHT)
    subprocess.run(["groupadd", "passcode"], check=True)
    subprocess.run(["gpasswd", "--add", "alice", "passcode"], check=True, stdout=subprocess.DEVNULL)
    try:
        assert log_in(house, "group", RIGHT).prompts == [CODE]
        assert log_in(house, "group", PASSWORD, user="bob").prompts == [WORD]
        assert log_in(house, "group", RIGHT, user="bob").result != "SUCCESS"
        assert house.failures("bob") == 0
    finally:
        subprocess.run(["groupdel", "passcode"], check=True)


def test_the_page_lists_its_contents():
    page = (TREE / "debian/libpam-passcode.README.Debian").read_text()
    titles = re.findall(r"^([A-Za-z][^\n]*)\n-+$", page, re.MULTILINE)
    contents = " ".join(re.search(r"^Contents: (.*?)\n\n", page, re.DOTALL | re.MULTILINE)[1].split())
    assert len(titles) > 20 and contents.split(" * ") == titles
