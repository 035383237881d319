"""`finger=both`: the passcode opens nothing without a touch that matches at the same prompt; the password stands in for both."""

import fcntl
import os
import resource
import threading
import time

import finger as fingers
import host
import machine as machines
import pytest
from bed import become, uid
from clock import later
from finger import LIMIT, after, charged, match, matched, miss, missed_last, put_on, set_count, waits, words
from helper import CHANGE, DONE_IT, ENROLL, LOOK, PROVE, REMOVE, VERIFY, WRONG_PASSWORD, ask
from logind import Logind
from machine import ALICE
from pam import FAILS, SILENT
from process import wait_for
from prompts import BEHIND, BOTH, as_the_table_says, named
from reader import NO_READER
from scenario import NEW, PASSWORD, RIGHT, WRONG
from states import lock_for_an_hour, pause, spend
from tool import DONE, NOT_PERMITTED, alone

PROMPT, EITHER = "Passcode and fingerprint: ", "Passcode and fingerprint, or password: "
NEEDED = "Passcode needs a matching fingerprint. Use your password."
FINGER_NEEDED = 31


@pytest.fixture
def own(touchable):
    machines.set_password("alice")
    touchable.typed |= {PASSWORD, NEW}
    touchable.configure(finger="both")
    yield touchable
    wait_for(touchable.reader.is_free)


# MARK: Passcode and finger


def test_a_match_and_the_passcode(own):
    outcome = own.authenticate("alice", after(match(own), then=RIGHT))
    assert (outcome.results, outcome.prompts, outcome.texts) == (["SUCCESS"], [PROMPT], [])
    assert words(own) == ["match"] and charged() == 0
    assert "passcode granted user=alice" in own.module_log()[-1].message


def test_a_finger_that_is_on_the_reader_at_enter_counts_if_it_matches_within_a_second(own):
    """In either order: Enter decides."""
    assert own.authenticate("alice", after(put_on(own, ["SCAN alice-finger"]), then=RIGHT)).result == "SUCCESS"
    assert words(own) == ["match"]


def test_a_match_and_a_wrong_passcode_counts_and_uses_up_the_touch(own):
    outcome = own.authenticate("alice", after(match(own), then=WRONG[0]), RIGHT, calls=("authenticate", "authenticate"))
    assert outcome.results == ["AUTH_ERR", "PERM_DENIED"]
    assert own.failures("alice") == 1 and words(own) == ["match", "no-touch"]
    # The serial has moved on with it: what that match was worth is spent.
    assert charged() == 0


def test_wrong_ones_with_a_match_lock_it(own):
    for code in WRONG[:3]:
        assert own.authenticate("alice", after(match(own), then=code)).result == "AUTH_ERR"
    outcome = own.authenticate("alice", after(match(own), then=RIGHT))
    assert (outcome.result, outcome.prompts) == ("AUTH_ERR", [])
    assert own.failures("alice") == 3


def test_what_is_repeated_is_wrong_and_uses_up_a_touch(own):
    for _ in range(2):
        assert own.authenticate("alice", after(match(own), then=WRONG[0])).result == "AUTH_ERR"
    assert own.failures("alice") == 1


@pytest.mark.parametrize("either", [False, True], ids=["", "either"])
def test_a_match_alone_opens_nothing(own, either):
    own.service(*(["either"] if either else []))
    with Logind():
        outcome = own.authenticate("alice", after(match(own)), items={"RUSER": "alice"})
    assert outcome.result == ("CRED_INSUFFICIENT" if either else "AUTH_ERR")
    assert own.failures("alice") == 0 and words(own) == ["unused"]


def test_a_match_doesn_t_end_the_prompt(own):
    begin = time.monotonic()
    outcome = own.authenticate("alice", after(match(own), lambda: time.sleep(1), then=RIGHT))
    assert outcome.result == "SUCCESS" and time.monotonic() - begin > 1


# MARK: An oracle it is not

WITHOUT = {
    "no touch": ([], "no-touch"),
    "one that doesn't match": ([miss], "no-match"),
    "three": ([miss, miss, lambda own: lambda: missed_last(own.reader)], "tries"),
}


@pytest.mark.parametrize("either", [False, True], ids=["", "either"])
@pytest.mark.parametrize("touches", WITHOUT)
def test_without_a_match_every_passcode_is_answered_the_same(own, touches, either):
    """Right, wrong, repeated, of the other length: and after failures, which it neither adds to nor takes back."""
    own.service(*(["either"] if either else []))
    assert own.authenticate("alice", after(match(own), then=WRONG[0])).result == "AUTH_ERR"
    before, seen = own.record("alice"), set()
    acts, word = WITHOUT[touches]
    for code in (RIGHT, WRONG[0], WRONG[1], "730518"):
        own.typed.add(code)
        set_count(0)
        outcome = own.authenticate("alice", after(*[act(own) for act in acts], then=code), prepare=too_little_to_hash)
        line = own.module_log()[-1].message
        seen.add((outcome.result, tuple(outcome.prompts), tuple(outcome.texts), line.split("ruid=")[0]))
        assert words(own)[-1] == word
        assert own.record("alice") == before
    assert [(one[0], one[2]) for one in seen] == [("PERM_DENIED", (NEEDED,))]


def too_little_to_hash():
    """A hash would be `unavailable`: it needs more memory than there is."""
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (24 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def test_what_is_hashed_shows_under_so_little_memory(own):
    """Else the test above showed nothing."""
    own.configure(finger="yes", memlimit="64M")
    own.enroll("alice", RIGHT)
    assert own.authenticate("alice", RIGHT, prepare=too_little_to_hash).result == "AUTHINFO_UNAVAIL"
    own.configure(finger="both")
    assert own.authenticate("alice", RIGHT, prepare=too_little_to_hash).result == "PERM_DENIED"
    assert own.authenticate("alice", after(match(own), then=RIGHT), prepare=too_little_to_hash).result == "AUTHINFO_UNAVAIL"


def test_a_touch_after_enter_is_none(own):
    def late():
        waits(own.reader)
        threading.Timer(0.3, lambda: own.reader.touch("alice-finger")).start()

    assert own.authenticate("alice", after(late, then=RIGHT)).result == "PERM_DENIED"
    time.sleep(0.5)
    assert own.authenticate("alice", RIGHT).result == "PERM_DENIED"


def test_a_match_of_another_prompt_is_none(own):
    own.authenticate("alice", after(match(own), then=FAILS))
    assert own.authenticate("alice", RIGHT).result == "PERM_DENIED"


def test_a_match_counts_once_and_only_as_the_last_touch(own):
    for change in (lambda: set_count(2, 7), lambda: set_count(0, 1), fingers.count_file().unlink):
        set_count(0)
        assert own.authenticate("alice", after(match(own), change, then=RIGHT)).result == "PERM_DENIED"
    assert words(own) == ["too-late"] * 3 and own.failures("alice") == 0


def test_a_match_that_can_not_be_used_up_is_none(own):
    full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # noqa: E731
    assert own.authenticate("alice", after(match(own), full, then=RIGHT)).result == "PERM_DENIED"


def test_another_s_finger_is_none(own):
    """Bob has no finger enrolled, and alice touches the reader at his prompt."""
    for touch in (lambda: None, lambda: own.reader.touch("alice-finger")):
        outcome = own.authenticate("bob", after(touch, then=RIGHT))
        assert (outcome.result, outcome.prompts, outcome.texts) == ("PERM_DENIED", [], [NEEDED])
    assert words(own) == ["not-enrolled"] * 2


def test_a_session_that_is_locked_before_enter_takes_no_match(own):
    with Logind() as logind:

        def answer(_):
            matched(own.reader)
            logind.end()
            later = Logind("locked")
            own.folder.joinpath("later").write_text(str(later.service.pid))
            return RIGHT

        outcome = own.authenticate("alice", answer, items={"RUSER": "alice"})
    os.kill(int(own.folder.joinpath("later").read_text()), 9)
    assert (outcome.result, words(own)) == ("PERM_DENIED", ["no-session"])


def test_bad_touches_count_and_only_turn_the_reader_off(own):
    own.authenticate("alice", after(miss(own), miss(own), lambda: missed_last(own.reader), then=RIGHT))
    own.authenticate("alice", after(miss(own), lambda: missed_last(own.reader), then=RIGHT))
    assert charged() == LIMIT and own.failures("alice") == 0
    outcome = own.authenticate("alice", RIGHT)
    assert (outcome.result, outcome.prompts, outcome.texts) == ("PERM_DENIED", [], [NEEDED])
    own.service("either", stack=BEHIND["yes"] + "\nsession optional {module}")
    assert own.authenticate("alice", PASSWORD, calls=("authenticate", "setcred")).results[0] == "SUCCESS"
    assert charged() == 0
    own.service()
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SUCCESS"


# MARK: The prompt


@named(BOTH)
def test_the_table_with_both(own, case):
    """Sources/PROMPT.md."""
    touched, offered = case[0] == "both, touched", case[0] != "both, no reader"
    if not offered:
        own.reader.choose(NO_READER)
        own.reader.start_without_reader()
    touch = match(own) if touched else lambda: waits(own.reader)
    typing = (lambda text: after(touch, then=text)) if offered else (lambda text: text)
    try:
        with Logind():
            as_the_table_says(own, case, typing=typing, after_digits=[] if touched or not offered else [NEEDED])
    finally:
        own.reader.restore()


FIRST = {"locked": lock_for_an_hour, "paused": pause, "to be changed": spend}


@pytest.mark.parametrize("state", FIRST)
def test_other_refusals_come_first(own, state):
    own.configure(finger="yes")  # the tool tries no passcode with both
    FIRST[state](own)
    own.configure(finger="both")
    outcome = own.authenticate("alice", after(match(own), then=RIGHT))
    assert outcome.prompts == [] and NEEDED not in outcome.texts and outcome.result in ("AUTH_ERR", "PERM_DENIED")


def test_first_login_and_a_password_that_is_due_come_first(own):
    for options in ({"first_login": "deny"}, {"first_login": "allow", "password_every": "1h"}):
        own.configure(**options)
        outcome = own.authenticate("alice", items={"RUSER": "alice"})
        assert outcome.prompts == [] and outcome.result == "PERM_DENIED" and outcome.texts not in ([], [NEEDED])


def test_a_passcode_given_out_for_one_login_is_spent_with_the_finger(own):
    own.tool("enroll", "alice", "--must-change", "--force", "--stdin", stdin=f"{RIGHT}\n", check=0)
    assert own.authenticate("alice", RIGHT).result == "PERM_DENIED"
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SUCCESS"
    assert own.authenticate("alice", after(match(own), then=RIGHT)).texts != [NEEDED]


def test_what_an_earlier_module_took_came_without_a_touch(own):
    own.service("try_first_pass", stack="auth [default=ignore] pam_unix.so nodelay\nauth required {module}")
    outcome = own.authenticate("alice", RIGHT)
    assert (outcome.result, outcome.prompts) == ("PERM_DENIED", ["Password: "]) and own.failures("alice") == 0


# MARK: Where no finger can be asked for


NOWHERE = {
    "as alice": {"prepare": become("alice")},
    "from elsewhere": {"items": {"RHOST": "elsewhere"}},
    "on a serial line": {"items": {"TTY": "ttyS0"}},
}


@pytest.mark.parametrize("case", NOWHERE)
def test_it_is_the_password_alone_and_said_once(own, case):
    own.configure(remote="allow")
    outcome = own.authenticate("alice", RIGHT, **NOWHERE[case])
    assert (outcome.result, outcome.prompts, outcome.texts) == ("PERM_DENIED", [], [NEEDED])
    own.service("either", stack=BEHIND["yes"])
    assert own.authenticate("alice", PASSWORD, **NOWHERE[case]).prompts == ["Password: "]
    assert own.failures("alice") == 0


def test_it_is_so_while_another_attempt_holds_the_record(own):
    with (own.store / str(uid("alice"))).open("r+b") as record:
        fcntl.lockf(record, fcntl.LOCK_EX)
        outcome = own.authenticate("alice", RIGHT, prepare=become("alice"))
    assert (outcome.result, outcome.prompts, outcome.texts) == ("PERM_DENIED", [], [NEEDED])
    assert words(own) == []


@pytest.mark.parametrize("why", ["no package", "no reader", "the line says no"])
def test_without_a_reader_it_is_the_password_alone(own, why):
    if why == "no package":
        own.listener.close()
    if why == "no reader":
        own.reader.choose(NO_READER)
        own.reader.start_without_reader()
    if why == "the line says no":
        own.service("finger=no")
    try:
        outcome = own.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts, outcome.texts) == ("PERM_DENIED", [], [NEEDED])
    finally:
        own.reader.restore()


def test_people_without_a_passcode_hear_nothing_of_it(own):
    own.tool("remove", "alice", check=0)
    for how in ({}, ALICE):
        outcome = own.authenticate("alice", **how)
        assert (outcome.result, outcome.prompts, outcome.texts) == ("USER_UNKNOWN", [], [])


PROVEN = (
    "auth [success=1 auth_err=die conv_err=die default=ignore] {module} either\n"
    "auth required pam_unix.so nodelay try_first_pass\n"
    "auth optional {module} proven"
)


def test_once_finger_for_is_over_the_password_is_due_and_its_proof_begins_it_anew(own):
    own.configure(finger_for="1h")
    outcome = own.authenticate("alice")
    assert (outcome.result, outcome.prompts) == ("PERM_DENIED", [])
    assert outcome.texts == ["Use your password this time. It is required from time to time."]
    own.service(stack=PROVEN)
    with machines.installed_tool():
        assert own.authenticate("alice", PASSWORD).result == "SUCCESS"
    own.service()
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SUCCESS"
    assert host.results(own, RIGHT, before=later(3_600)) == ["PERM_DENIED"]


# MARK: The helper and the tool


@pytest.mark.parametrize("code", [RIGHT, WRONG[0]])
def test_the_helper_refuses_the_passcode_alone(own, code):
    before = own.record("alice")
    asks = {"about": "alice", "user": "alice"}
    assert ask(LOOK, **asks).kind == FINGER_NEEDED
    assert ask(VERIFY, passcode=code, **asks).kind == FINGER_NEEDED
    assert ask(PROVE, passcode=code, **asks).kind == FINGER_NEEDED
    assert ask(CHANGE, passcode=code, new=NEW, **asks).kind == FINGER_NEEDED
    assert ask(REMOVE, passcode=code, **asks).kind == FINGER_NEEDED
    assert own.record("alice") == before


def test_the_password_sets_and_removes_it(own):
    asks = {"about": "alice", "user": "alice"}
    assert ask(ENROLL, password="wrong", new=NEW, **asks).kind == WRONG_PASSWORD
    assert ask(ENROLL, password=PASSWORD, new=NEW, **asks).kind == DONE_IT
    assert ask(REMOVE, password=PASSWORD, **asks).kind == DONE_IT


def test_the_tool_asks_for_the_password(own):
    alone(own, "change", PASSWORD, NEW, check=DONE)
    assert own.authenticate("alice", after(match(own), then=NEW)).result == "SUCCESS"
    alone(own, "remove", PASSWORD, check=DONE)


def test_where_nobody_sets_their_own_there_is_nothing_to_change(own):
    own.configure(self_enroll="no")
    for command in ("change", "remove"):
        assert "self_enroll=no" in own.tool(command, "--stdin", user="alice", stdin=f"{RIGHT}\n{NEW}\n", check=NOT_PERMITTED).errors


def test_root_s_tool_tries_no_passcode_either(own):
    before = own.record("alice")
    answer = own.tool("verify", "alice", "--stdin", stdin=f"{RIGHT}\n")
    assert answer.status != DONE and NEEDED in answer.errors and own.record("alice") == before


# MARK: The option


@pytest.mark.parametrize("in_file", ["yes", "both"])
def test_no_module_line_has_it(own, in_file):
    own.configure(finger=in_file)
    own.service("finger=both")
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SERVICE_ERR"
    assert "'finger=both' belongs in the configuration file" in own.module_log()[-1].message


@pytest.mark.parametrize("line", ["finger", "finger=yes", "finger=no"])
def test_no_module_line_takes_it_back(own, line):
    own.service(line)
    assert own.authenticate("alice", RIGHT).result == "PERM_DENIED"
    assert own.authenticate("alice", after(lambda: None)).result in ("AUTH_ERR", "PERM_DENIED")


@pytest.mark.parametrize("option", [{"second_factor": "yes"}, {"verifier": "/run/passcode-verifier"}])
def test_it_is_refused_where_the_password_can_not_stand_in(own, option):
    own.configure(**option)
    said = "finger=both works neither with second_factor nor with verifier: remove one of them"
    assert own.authenticate("alice", RIGHT).result == "SERVICE_ERR"
    assert said in own.module_log()[-1].message
    assert said in own.tool("check").output
    assert ask(VERIFY, about="alice", user="alice", passcode=RIGHT).kind == 11  # unavailable


@pytest.mark.parametrize("flags", [0, SILENT])
def test_it_is_silent_where_the_program_wants_that(own, flags):
    outcome = own.authenticate("alice", RIGHT, flags=flags)
    assert outcome.texts == ([] if flags else [NEEDED])
