"""Passcodes that an administrator gives out: they expire, or open one login, whatever clocks and processes do."""

import contextlib
import datetime
import json
import os
import subprocess
import time

import pytest

import host
import machine as machines
from clock import by_wall_clock, later, rebooted
from helper import EXPIRED, LOOK, MUST_CHANGE, OPEN, PROVE, VERIFY, ask
from machine import ALICE
from pam import FAILS
from scenario import PASSWORD, RIGHT, WRONG, refused_unasked
from tally import attack
from tool import DONE, LOCKED, NOT_PERMITTED, POLICY, USAGE, WRONG_CODE, alone, one_line

OWN = "8264"
DAY = 86_400
OVER = "Passcode expired. Use your password."
CHANGE = "Use your password now, then set your own passcode (passcode change)."
HOSTS = pytest.mark.parametrize("how", [{}, ALICE], ids=["root", "helper"])
EXPIRY, ONCE = ["--expires", "1d"], ["--must-change"]


def give(bed, *terms, user="alice"):
    bed.typed |= {RIGHT, OWN}
    bed.tool("enroll", "--stdin", *terms, user, stdin=f"{RIGHT}\n", check=DONE)


def in_days(days):
    """The wall clock then, for a program."""
    moment = datetime.datetime.now() + datetime.timedelta(days=days)
    return by_wall_clock(moment.strftime("%Y-%m-%d %H:%M:%S"))


def expire(bed, **how):
    """Somebody sees it expired; the clock is as it was afterwards."""
    assert bed.status("alice", setting=in_days(1.01), **how)["state"] == "expired"


@pytest.fixture
def handed(keyed):
    """A bed where root gives passcodes out."""
    return keyed


@pytest.fixture
def own(machine):
    machines.set_password("alice")
    machine.typed |= {PASSWORD, RIGHT, OWN}
    return machine


# MARK: What root asks for


@pytest.mark.parametrize("value", ["0d", "7", "59s", "", "-1d", "11y", "3651d", "99999999999999999999w", "1d2h", "1D",
    "2020-01-01", "2099-01-01", "2027-02-30", "2027-13-01", "2027-00-10", "2027-01-00", "tomorrow"])
def test_a_time_that_is_none_sets_nothing(handed, value):
    answer = handed.tool("enroll", "--stdin", "--expires", value, "alice", stdin=f"{RIGHT}\n", check=USAGE)
    assert one_line(answer.errors) and "7d" in answer.errors
    assert not handed.record_file("alice").exists()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "XXX-14", "YYY12"])
def test_a_date_is_local_and_its_day_belongs_to_it(handed, zone):
    zoned = {"setting": {"TZ": zone}}
    environ = {**os.environ, "TZ": zone}

    def told(text):
        done = subprocess.run(["date", "-d", text, "+%s"], env=environ, check=True, capture_output=True, text=True)
        return int(done.stdout)

    day = datetime.datetime.fromtimestamp(time.time() + 40 * DAY).date()
    for value, end in ((str(day), f"{day + datetime.timedelta(days=1)} 00:00"), (f"{day}T18:05", f"{day} 18:05")):
        handed.tool("enroll", "--stdin", "--expires", value, "alice", stdin=f"{RIGHT}\n", check=DONE, **zoned)
        text = handed.status("alice")["expires_at"].replace("Z", "+00:00")
        assert datetime.datetime.fromisoformat(text).timestamp() == told(end)
    line = [line.message for line in handed.log() if "passcode enrolled" in line.message][-1]
    assert 0 <= told(end) - time.time() - int(line.split("expires_in=")[1]) + 30 < 60


@pytest.mark.parametrize("terms", [EXPIRY, ONCE], ids=" ".join)
def test_terms_are_roots(own, make_bed, terms):
    answer = own.tool("enroll", "--stdin", *terms, stdin=f"{PASSWORD}\n{OWN}\n", user="alice", check=NOT_PERMITTED)
    assert one_line(answer.errors) and terms[0] in answer.errors
    mine = make_bed(owner="alice")
    mine.tool("key", "init", user="alice", check=DONE)
    mine.tool("enroll", "--stdin", *terms, stdin=f"{OWN}\n", user="alice", check=NOT_PERMITTED)
    own.tool("change", "--stdin", *terms, "alice", stdin=f"{OWN}\n", check=USAGE)


def test_status_and_list_tell_both(handed):
    give(handed, *EXPIRY, *ONCE)
    [line] = [line.message for line in handed.log() if "passcode enrolled" in line.message]
    assert line.endswith(" expires_in=86400 must_change=yes")
    status = handed.status("alice")
    expires = datetime.datetime.fromisoformat(status["expires_at"].replace("Z", "+00:00")).timestamp()
    assert status["must_change"] is True and status["state"] == "ok"
    assert abs(expires - time.time() - DAY) < 60
    words = handed.tool("status", "alice").output
    assert "  expires: 20" in words and "one login" in words
    give(handed, user="bob")
    listed = [json.loads(line) for line in handed.tool("list", "--json").output.splitlines()]
    assert [(one["user"], one["expires_at"], one["must_change"]) for one in listed] == [
        ("alice", status["expires_at"], True), ("bob", None, False)
    ]  # fmt: skip
    assert host.results(handed, RIGHT) == ["SUCCESS"]
    assert handed.status("alice")["state"] == "must_change"
    assert "passcode change" in handed.tool("status", "alice").output
    expire(handed)
    assert handed.status("alice")["expires_at"] == status["expires_at"]
    assert "expired" in handed.tool("status", "alice").output and "expired" in handed.tool("list").output


# MARK: Expiry, by clocks that jump


def test_an_expired_passcode_opens_nothing_and_the_password_is_asked(handed):
    give(handed, *EXPIRY)
    assert handed.authenticate("alice", RIGHT).result == "SUCCESS"
    expire(handed)
    assert refused_unasked(handed.authenticate("alice", RIGHT), "AUTH_ERR", OVER)
    handed.service("either")
    assert refused_unasked(handed.authenticate("alice", RIGHT), "PERM_DENIED", OVER)
    handed.service("nullok")
    assert refused_unasked(handed.authenticate("alice", RIGHT), "AUTH_ERR", OVER)
    assert any(line.message.split(": ", 1)[1].startswith("passcode expired user=alice") for line in handed.module_log())
    for command in ("verify", "change"):
        answer = handed.tool(command, "--stdin", "alice", stdin=f"{RIGHT}\n{OWN}\n", check=LOCKED)
        assert one_line(answer.errors) and "expired" in answer.errors
    assert handed.failures("alice") == 0


@pytest.mark.parametrize("first", ["status", "list", "login", "verify"])
@pytest.mark.parametrize("back", [0.5, 0, -1, -20_000])
def test_a_clock_set_back_reopens_nothing(handed, first, back):
    give(handed, *EXPIRY)
    ahead = in_days(1.01)
    if first == "login":
        host.results(handed, RIGHT, env=ahead)
    else:
        more = [] if first == "list" else ["alice"]
        handed.tool(first, *(["--stdin"] if first == "verify" else []), *more, stdin=f"{RIGHT}\n", setting=ahead)
    with attack("expired, and the clock is set back") as row:
        for reboots in (False, True):
            with rebooted(handed) if reboots else contextlib.nullcontext():
                row.run()
                row.breach("beyond", (first, back), host.results(handed, RIGHT, env=in_days(back)) != ["AUTH_ERR"])
                assert handed.status("alice", setting=in_days(back))["state"] == "expired"


@pytest.mark.parametrize("seconds, result", [(DAY - 60, "SUCCESS"), (DAY + 1, "AUTH_ERR"), (30 * DAY, "AUTH_ERR")])
def test_within_a_boot_its_time_counts_though_the_wall_clock_stands(handed, seconds, result):
    give(handed, *EXPIRY)
    with attack("given out for a day; the wall clock is set back") as row:
        for wall in ({}, in_days(-1)):
            row.run()
            found = host.results(handed, RIGHT, before=later(seconds), env=wall or None)
            row.breach("beyond" if result == "AUTH_ERR" else "refused", seconds, found != [result])


def test_another_boot_counts_on_from_the_last_look(handed):
    """The machine was off for a time that nobody knows; from the first look its own time counts."""
    give(handed, *EXPIRY)
    assert host.results(handed, RIGHT, env=in_days(0.75)) == ["SUCCESS"]
    back = in_days(-1)
    with rebooted(handed):
        assert handed.status("alice", setting=back)["state"] == "ok"
        with attack("given out for a day; rebooted with a clock set back") as row:
            row.run()
            row.breach("refused", "", host.results(handed, RIGHT, before=later(DAY // 4 - 60), env=back) != ["SUCCESS"])
            row.breach("beyond", "", host.results(handed, RIGHT, before=later(DAY // 4 + 60), env=back) != ["AUTH_ERR"])


def test_an_end_that_cannot_be_written_is_not_told(handed):
    """Or the next clock would take it back."""
    give(handed, *EXPIRY)
    before = handed.record("alice")
    run = ["strace", "-f", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO"]
    assert host.results(handed, RIGHT, before=run, env={"PATH": "/usr/bin:/bin", **in_days(1.01)}) == ["AUTHINFO_UNAVAIL"]
    assert before != b"" and host.results(handed, RIGHT, env=in_days(1.01)) == ["AUTH_ERR"]


def test_neither_unlock_nor_enable_revives_it_and_enrolling_does(handed):
    give(handed, *EXPIRY)
    expire(handed)
    for command in ("unlock", "disable", "enable"):
        handed.tool(command, "alice", check=DONE)
    assert host.results(handed, RIGHT) == ["AUTH_ERR"] and handed.status("alice")["state"] == "expired"
    give(handed)
    status = handed.status("alice")
    assert (status["state"], status["expires_at"], status["must_change"]) == ("ok", None, False)
    assert host.results(handed, RIGHT, env=in_days(400)) == ["SUCCESS"]


# MARK: One login


@HOSTS
def test_it_opens_one_login_and_from_then_on_only_a_change(own, how):
    give(own, *ONCE)
    assert own.authenticate("alice", WRONG[0], **how).result == "AUTH_ERR"
    assert own.authenticate("alice", RIGHT, **how).result == "SUCCESS"
    before = own.record("alice")
    for arguments, result in (([], "AUTH_ERR"), (["either"], "PERM_DENIED"), (["nullok"], "AUTH_ERR")):
        own.service(*arguments)
        for code in (RIGHT, WRONG[0]):
            assert refused_unasked(own.authenticate("alice", code, **how), result, CHANGE)
    assert own.record("alice") == before
    assert any("passcode must be changed user=alice" in line.message for line in own.module_log())
    own.service()
    answer = alone(own, "verify", RIGHT, check=LOCKED)
    assert "passcode change" in answer.errors
    alone(own, "change", WRONG[1], OWN, check=WRONG_CODE)
    alone(own, "change", RIGHT, OWN, check=DONE)
    for _ in range(2):
        assert own.authenticate("alice", OWN, **how).result == "SUCCESS"
    assert own.status("alice")["must_change"] is False


@HOSTS
def test_expiry_is_the_same_for_all(own, how):
    give(own, *EXPIRY, *ONCE)
    assert own.authenticate("alice", RIGHT, **how).result == "SUCCESS"
    expire(own)
    assert refused_unasked(own.authenticate("alice", RIGHT, **how), "AUTH_ERR", OVER)
    status = json.loads(own.tool("status", "--json", user="alice").output)
    assert status == own.status("alice") and status["state"] == "expired" and status["must_change"]
    alone(own, "change", RIGHT, OWN, check=LOCKED)
    alone(own, "enroll", PASSWORD, OWN, check=DONE)
    assert own.authenticate("alice", OWN, **how).result == "SUCCESS"


def test_the_helper_says_so_by_codes_that_an_older_module_takes_for_no_reply(own):
    give(own, *EXPIRY, *ONCE)
    asks = {"about": "alice", "user": "alice"}
    assert ask(PROVE, passcode=RIGHT, **asks).kind == 1 and ask(LOOK, **asks).kind == OPEN
    assert ask(VERIFY, passcode=RIGHT, **asks).kind == 1
    assert [ask(LOOK, **asks).kind, ask(VERIFY, passcode=RIGHT, **asks).kind] == [MUST_CHANGE] * 2
    assert ask(PROVE, passcode=RIGHT, **asks).kind == 1
    expire(own)
    assert [ask(operation, **asks, **({} if operation == LOOK else {"passcode": RIGHT})).kind
            for operation in (LOOK, VERIFY, PROVE)] == [EXPIRED] * 3  # fmt: skip
    own.tool("disable", "alice", check=DONE)
    assert ask(PROVE, passcode=RIGHT, **asks).kind == 7
    assert ask(PROVE, about="alice", user="bob", passcode=RIGHT).kind == 9


@HOSTS
def test_a_prompt_that_was_open_meanwhile_opens_nothing(own, how):
    """The one login was spent while the passcode was typed."""
    give(own, *ONCE)

    def spend(_):
        own.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
        return RIGHT

    own.service("either")
    outcome = own.authenticate("alice", spend, **how)
    assert outcome.result == "AUTH_ERR" and outcome.texts == [CHANGE] and len(outcome.prompts) == 1


@pytest.mark.parametrize("typed", [WRONG[0], "", "hello", FAILS], ids=repr)
def test_what_opens_nothing_spends_nothing(handed, typed):
    give(handed, *ONCE)
    handed.authenticate("alice", typed)
    handed.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n12345\n", check=POLICY)
    assert host.results(handed, RIGHT, RIGHT) == ["SUCCESS", "AUTH_ERR"]


def test_each_grant_is_a_login_and_so_is_a_verification(handed):
    give(handed, *ONCE)
    handed.tool("verify", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
    assert host.results(handed, RIGHT) == ["AUTH_ERR"]


def test_an_unlock_gives_no_second_login(handed):
    give(handed, *ONCE)
    assert host.results(handed, RIGHT) == ["SUCCESS"]
    for code in WRONG[:3]:
        handed.tool("change", "--stdin", "alice", stdin=f"{code}\n{OWN}\n")
    assert handed.status("alice")["state"] == "locked"
    handed.tool("unlock", "alice", check=DONE)
    assert host.results(handed, RIGHT) == ["AUTH_ERR"] and handed.status("alice")["state"] == "must_change"


@pytest.mark.parametrize("prompts", [20, 200])
def test_a_crowd_with_the_right_passcode_gets_one_login(handed, prompts):
    give(handed, *ONCE)
    with attack("one login, prompts opened first, answered at once, right") as row:
        crowd = host.crowd(handed, [("alice", RIGHT, 0)] * prompts)
        row.run(prompts)
        row.breach("beyond", prompts, crowd.count("SUCCESS") - 1)
        row.breach("refused", prompts, 1 - crowd.count("SUCCESS"))
    assert crowd.hashes == 1 and crowd.count("AUTH_ERR") == prompts - 1
    assert sum(login.text == CHANGE for login in crowd.logins) == prompts - 1


def test_a_crowd_of_both_ways_gets_one_login(own):
    """Root's programs and alice's own at the same time."""
    give(own, *ONCE)
    running = [own.start("alice", RIGHT, **(ALICE if number % 2 else {})) for number in range(20)]
    results = sorted(run.wait().result for run in running)
    assert results == ["AUTH_ERR"] * 19 + ["SUCCESS"]


@pytest.mark.parametrize("call, when", [("pwrite64", 2), ("pwrite64", 3), ("fdatasync", 2), ("fdatasync", 3)])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_login_that_cannot_be_spent_is_not_granted(handed, call, when, error):
    give(handed, *ONCE)
    run = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:error={error}:when={when}"]
    with attack("one login, and its end can't be written") as row:
        row.run()
        first = host.results(handed, RIGHT, before=run)
        row.breach("beyond", (call, when), first != ["AUTHINFO_UNAVAIL"])
        again = host.results(handed, RIGHT, RIGHT)
        row.breach("beyond", (call, when), again.count("SUCCESS") > 1)
    handed.tool("change", "--stdin", "alice", stdin=f"{RIGHT}\n{OWN}\n", check=DONE)
    assert host.results(handed, OWN) == ["SUCCESS"]


# MARK: Beside other options


def test_with_a_second_factor_the_change_works_and_it_stays_one(own):
    own.configure(second_factor="yes")
    own.service("second_factor")
    give(own, *ONCE)
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert refused_unasked(own.authenticate("alice", RIGHT), "AUTH_ERR", CHANGE)
    alone(own, "change", RIGHT, OWN, check=DONE)
    assert own.authenticate("alice", OWN).result == "SUCCESS"


def test_with_self_enrolment_closed_the_old_passcode_still_changes_it(own):
    own.configure(self_enroll="no")
    give(own, *ONCE)
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert "passcode change" in own.tool(user="alice").output
    alone(own, "remove", RIGHT, check=NOT_PERMITTED)
    alone(own, "change", RIGHT, OWN, check=DONE)


def test_what_one_can_do_next(own):
    give(own, *EXPIRY)
    assert own.tool(user="alice").output.count("  passcode ") == 5
    expire(own)
    said = own.tool(user="alice").output
    assert "  passcode enroll:" in said and "  passcode remove:" in said and "change" not in said
    own.configure(self_enroll="no")
    assert "  passcode " not in own.tool(user="alice").output


def test_the_profile_asks_for_the_password_instead(own):
    own.service(stack="auth [success=1 auth_err=die conv_err=die default=ignore] {module} either\n"
                "auth required pam_unix.so try_first_pass\nauth required pam_permit.so")  # fmt: skip
    give(own, *ONCE)
    assert own.authenticate("alice", RIGHT).prompts == ["Passcode or password: "]
    outcome = own.authenticate("alice", PASSWORD)
    assert (outcome.result, outcome.prompts, outcome.texts) == ("SUCCESS", ["Password: "], [CHANGE])
