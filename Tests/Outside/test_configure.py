"""`configure --preset`: options that go together, shown first, and put into the configuration."""

import collections
import fcntl
import json
import os
import shutil
import signal
import subprocess

import pytest

import machine as machines
import strace
from bed import USUAL
from scenario import RIGHT
from schema import validated
from tool import CANCELLED, DONE, NOT_PERMITTED, UNUSABLE, USAGE, one_line

MARK = "# passcode configure --preset desktop"
OPTIONS = ["first_login=deny", "finger_for=72h"]


def configure(bed, *arguments, typed="yes\n", check=DONE, **how):
    return bed.tool("configure", "--preset", "desktop", "--stdin", *arguments, stdin=typed, check=check, **how)


def text(bed):
    return bed.configuration.read_text()


def set_options(bed):
    return [line for line in text(bed).splitlines() if line.split("=")[0].strip() in ("first_login", "finger_for")]


def new_file(bed):
    return bed.configuration.with_name(bed.configuration.name + ".new")


def nothing_left(bed):
    return [path.name for path in bed.configuration.parent.glob("passcode.conf*")] == [bed.configuration.name]


def test_what_is_shown_is_what_is_written(bed):
    before = text(bed)
    answer = configure(bed)
    path, *shown, last = answer.output.splitlines()
    assert path == str(bed.configuration) and last.startswith(f"{bed.configuration} now has the preset desktop. ")
    added = [line[1:] for line in shown]
    assert all(line.startswith("+") for line in shown)
    assert [line for line in added if not line.startswith("#")] == ["", *OPTIONS]
    assert text(bed) == before + "".join(f"{line}\n" for line in added) and MARK in added
    assert added[2].startswith("# ") and added[4].startswith("# ")
    assert configure(bed, typed="").output == f"{bed.configuration} already has the preset desktop.\n"


def test_it_works_as_it_says(machine):
    machine.enroll("alice", RIGHT)
    machines.set_password("alice")
    configure(machine)
    machine.service()
    assert machine.authenticate("alice", RIGHT).result == "PERM_DENIED"


def test_an_option_that_is_set_otherwise_is_shown_and_replaced_where_it_stands(bed):
    old = "# ours\n  finger_for = 24h \n" + text(bed).rstrip() + "\n#first_login=allow\n# the end, without a newline"
    bed.configuration.write_text(old)
    bed.configuration.chmod(0o640)
    shown = configure(bed, "--dry-run").output.splitlines()
    assert "-  finger_for = 24h " in shown and text(bed) == old
    assert configure(bed).output.splitlines()[:-1] == shown
    lines, before = text(bed).splitlines(), old.splitlines()
    assert lines[0] == "# ours" and lines[1].startswith("# ") and lines[2] == "finger_for=72h"
    assert lines[3 : len(before) + 1] == before[2:]
    assert lines[len(before) + 1 : len(before) + 3] == ["", MARK] and lines[-1] == "first_login=deny"
    assert bed.configuration.stat().st_mode & 0o7777 == 0o640 and nothing_left(bed)


REFUSALS = ["no\n", "\n", "", "y\n", "yes \n", "YES\n", "x" * 600 + "\n"]


@pytest.mark.parametrize("typed", REFUSALS, ids=lambda typed: repr(typed[:6]))
def test_without_yes_nothing_is_written(bed, typed):
    before = text(bed)
    answer = configure(bed, typed=typed, check=CANCELLED)
    assert "+first_login=deny" in answer.output and one_line(answer.errors)
    assert text(bed) == before and nothing_left(bed)


def test_a_dry_run_asks_and_writes_nothing(bed):
    before = text(bed)
    answer = configure(bed, "--dry-run", typed="")
    assert "+finger_for=72h" in answer.output and answer.errors == "" and text(bed) == before


def test_without_a_terminal_it_says_how(bed):
    before = text(bed)
    command = ["setsid", *bed.tool_words(), "configure", "--preset", "desktop"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == USAGE and "--stdin" in done.stderr and text(bed) == before


def test_json(bed):
    bed.configure(finger_for="24h")
    number = text(bed).splitlines().index("finger_for=24h") + 1
    for arguments, written in ((["--dry-run"], False), ([], True)):
        *changes, last = map(json.loads, configure(bed, "--json", *arguments).output.splitlines())
        assert changes == [
            {"version": 1, "option": "first_login", "line": None, "before": None, "after": "deny"},
            {"version": 1, "option": "finger_for", "line": number, "before": "24h", "after": "72h"},
        ]  # fmt: skip
        path = str(bed.configuration)
        assert last == {"version": 1, "preset": "desktop", "path": path, "differences": 2, "written": written}
        validated("setting", "".join(json.dumps(change) + "\n" for change in changes))
        validated("preset", json.dumps(last) + "\n")
    [last] = map(json.loads, configure(bed, "--json").output.splitlines())
    assert (last["differences"], last["written"]) == (0, False)


def test_quiet_says_nothing(bed):
    assert configure(bed, "--quiet").output == "" and set_options(bed) == OPTIONS


def test_what_can_t_be_shown_is_not_written(bed):
    before = text(bed)
    with open("/dev/full", "wb") as full:
        command = [*bed.tool_words(), "configure", "--preset", "desktop", "--stdin"]
        done = subprocess.run(command, input=b"yes\n", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == UNUSABLE and b"standard output" in done.stderr and text(bed) == before


# MARK: Refusals


@pytest.mark.parametrize(
    "arguments",
    [[], ["--preset", "kiosk"], ["--preset", ""], ["--preset"], ["--preset", "desktop", "alice"]],
    ids=" ".join,
)
def test_wrong_usage(bed, arguments):
    before = text(bed)
    assert one_line(bed.tool("configure", *arguments, stdin="yes\n", check=USAGE).errors)
    assert text(bed) == before


@pytest.mark.parametrize("spoil", ["open", "another's", "link", "folder", "faulty", "too large"])
def test_a_file_that_is_not_sound_is_left_alone(bed, spoil):
    path, folder = bed.configuration, bed.configuration.parent
    if spoil == "open":
        path.chmod(0o666)
    elif spoil == "another's":
        shutil.chown(path, "alice")
    elif spoil == "link":
        path.rename(path.with_name("other"))
        path.symlink_to("other")
    elif spoil == "folder":
        folder.chmod(0o777)
    elif spoil == "faulty":
        path.write_text(text(bed) + "nonsense=1\n")
    else:
        path.write_text(text(bed) + "#" * (65_535 - path.stat().st_size) + "\n")
    before = path.read_text()
    answer = configure(bed, check=UNUSABLE)
    assert one_line(answer.errors) and answer.output == "" and path.read_text() == before and not new_file(bed).exists()
    assert path.is_symlink() == (spoil == "link")


def test_who_may_write(make_bed):
    bed = make_bed(usual=True)
    before = USUAL.read_text()
    assert "+first_login=deny" in configure(bed, "--dry-run", user="alice").output
    configure(bed, user="alice", check=NOT_PERMITTED)
    assert USUAL.read_text() == before


def test_a_file_that_is_missing_is_made(make_bed):
    bed = make_bed(usual=True)
    away = USUAL.with_suffix(".away")
    USUAL.rename(away)
    try:
        configure(bed)
        assert [line for line in USUAL.read_text().splitlines() if not line.startswith("#")] == OPTIONS
        assert USUAL.stat().st_mode & 0o7777 == 0o644 and USUAL.stat().st_uid == 0
    finally:
        away.rename(USUAL)


def test_beside_a_second_factor_nobody_could_log_in(bed):
    bed.configure(second_factor="yes")
    before = text(bed)
    for arguments in ([], ["--even-locked-out"], ["--dry-run"]):
        assert "second_factor=yes" in configure(bed, *arguments, check=NOT_PERMITTED).errors
    assert text(bed) == before


def test_who_has_a_passcode_and_no_password_is_not_shut_out(machine):
    subprocess.run(["usermod", "-p", "!", "alice"], check=True)
    machine.enroll("alice", RIGHT)
    before = text(machine)
    answer = configure(machine, check=NOT_PERMITTED)
    assert answer.errors.startswith("passcode: alice has no password") and text(machine) == before
    configure(machine, "--even-locked-out")
    assert set_options(machine) == OPTIONS


def test_one_who_has_a_password_is_no_reason(machine):
    machine.enroll("alice", RIGHT)
    machines.set_password("alice")
    configure(machine)


# MARK: Attacks


CALLS = ["openat", "flock", "fchmod", "fchown", "ftruncate", "pwrite64", "pread64", "fsync", "renameat", "unlinkat", "write"]


def test_killed_at_each_call_the_old_file_or_the_new_one_is_there(bed):
    before = text(bed)
    configure(bed)
    after = text(bed)
    bed.configuration.write_text(before)
    trace = bed.folder / "trace"
    configure(bed, before=strace.record(trace))
    calls = collections.Counter(call.name for call in strace.calls(trace))
    assert {"renameat", "fsync", "fchmod"} <= calls.keys() and text(bed) == after
    seen = set()
    for call in CALLS:
        for when in range(1, calls[call] + 1):
            bed.configuration.write_text(before)
            kill = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"]
            configure(bed, before=strace.record(trace, *kill), check=None)
            assert text(bed) in (before, after), (call, when)
            seen.add(text(bed) == after)
            configure(bed)
            assert text(bed) == after and nothing_left(bed), (call, when)
    assert seen == {False, True}


@pytest.mark.parametrize(
    "call, is_new",
    [("renameat:error=EBUSY", False), ("fsync:error=EIO:when=1", False), ("fsync:error=EIO:when=2", True)],
)
def test_a_step_that_fails_is_told(bed, call, is_new):
    before = text(bed)
    how = strace.record(bed.folder / "trace", "-e", f"inject={call}")
    errors = configure(bed, check=UNUSABLE, before=how).errors
    assert str(bed.configuration) in errors and one_line(errors)
    assert (text(bed) != before) == is_new and not new_file(bed).exists()


def test_on_a_full_disk_the_file_stays_as_it_is(bed):
    folder = bed.folder / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755,size=8k", "tmpfs", str(folder)], check=True)
    try:
        path = folder / "passcode.conf"
        path.write_text(text(bed))
        path.write_text(path.read_text() + "#" * (4096 - path.stat().st_size - 1) + "\n")
        (folder / "more").write_text("x")
        before = path.read_text()
        answer = configure(bed, "--conf", str(path), check=UNUSABLE)
        assert f"{path}: No space left on device" in answer.errors
        assert path.read_text() == before and sorted(folder.iterdir()) == [folder / "more", path]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["link", "hard link", "directory"])
def test_nothing_is_written_through_what_is_in_the_way(bed, kind):
    victim = bed.folder / "victim"
    victim.write_text("mine")
    if kind == "link":
        new_file(bed).symlink_to(victim)
    elif kind == "hard link":
        os.link(victim, new_file(bed))
    else:
        new_file(bed).mkdir()
    before = text(bed)
    assert one_line(configure(bed, check=UNUSABLE).errors)
    assert victim.read_text() == "mine" and text(bed) == before


def start(bed, *words):
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    return subprocess.Popen([*bed.tool_words(), *words], cwd="/", text=True, **pipes)


def test_a_file_that_changes_while_it_asks_is_left_alone(bed):
    run = start(bed, "configure", "--preset", "desktop", "--stdin")
    while not run.stdout.readline().startswith("+finger_for"):
        pass
    bed.configure(quiet="yes")
    before = text(bed)
    output, errors = run.communicate("yes\n")
    assert run.returncode == UNUSABLE and "changed it meanwhile" in errors and text(bed) == before and nothing_left(bed)
    configure(bed)
    assert set_options(bed) == OPTIONS


def test_while_another_run_writes_the_file_stays(bed):
    before = text(bed)
    with new_file(bed).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert configure(bed, check=UNUSABLE).errors == f"passcode: {bed.configuration}: another run is writing to it\n"
    assert text(bed) == before


def test_beside_calibrate_each_option_is_there_once_or_a_run_says_why_not(bed):
    bed.configure(max_parallel=64)
    for _ in range(5):
        lines = [line for line in text(bed).splitlines() if line not in OPTIONS and not line.startswith("#") and line]
        bed.configuration.write_text("".join(f"{line}\n" for line in lines))
        runs = [start(bed, "calibrate", "--target", "10ms", "--write")]
        runs += [start(bed, "configure", "--preset", "desktop", "--stdin") for _ in range(3)]
        ended = [(run.communicate("yes\n")[1], run.returncode) for run in runs]
        for errors, status in ended:
            assert status == DONE and errors == "" or status == UNUSABLE
            assert status == DONE or "another run" in errors or "meanwhile" in errors
        names = [line.split("=")[0] for line in text(bed).splitlines() if line and not line.startswith("#")]
        assert len(names) == len(set(names)) and nothing_left(bed)
        assert bed.tool("check", "--quiet").errors == ""


def test_ctrl_c_at_the_question_writes_nothing(bed):
    before = text(bed)
    run = start(bed, "configure", "--preset", "desktop", "--stdin")
    while not run.stdout.readline().startswith("+finger_for"):
        pass
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode != DONE and text(bed) == before


# MARK: check


def findings(bed, **how):
    rows = map(json.loads, bed.tool("check", "--json", **how).output.splitlines())
    return [row for row in rows if row["check"] == "configuration" and row["level"] == "warning"]


def test_check_says_where_the_file_has_become_different(make_bed):
    bed = make_bed(usual=True)
    saved = USUAL.read_text()
    try:
        configure(bed)
        assert findings(bed) == []
        USUAL.write_text(USUAL.read_text().replace("first_login=deny", "first_login=allow").replace("finger_for=72h\n", ""))
        first, second = findings(bed)
        lines = USUAL.read_text().splitlines()
        assert (first["line"], second["line"]) == (lines.index("first_login=allow") + 1, lines.index(MARK) + 1)
        assert "first_login is not as in the preset desktop" in first["message"] and "finger_for" in second["message"]
        assert first["command"] == second["command"] == "passcode configure --preset desktop"
        USUAL.write_text(USUAL.read_text().replace("first_login=allow\n", "first_login=deny\nfinger_for=3d\n"))
        assert findings(bed) == []
        USUAL.write_text(saved + "# passcode configure --preset kiosk\n")
        [row] = findings(bed)
        assert "there is no preset kiosk" in row["message"] and row["command"] is None
        USUAL.write_text(saved + "first_login=allow\n")
        assert findings(bed) == []
    finally:
        USUAL.write_text(saved)
