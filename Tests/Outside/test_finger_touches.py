"""The touches in a row that didn't match: charged before the reader waits for them, whatever is killed, and never more
than five."""

import fcntl
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

import pytest
from finger import COUNTS, LIMIT, Finger, Match, count_file, request, set_count, touches, waits, watching
from logind import Logind
from process import state, wait_for
from reader import DEVICE


def miss(reader, finger):
    waits(reader)
    reader.touch("somebody-else")
    assert finger.event() == "no match"


def test_after_five_touches_it_is_off(reader):
    with watching() as finger:
        for _ in range(3):
            miss(reader, finger)
        assert finger.events() == ["tries"]
    with watching() as finger:
        miss(reader, finger)
        miss(reader, finger)
        assert finger.events() == ["off"]
    assert touches() == LIMIT
    for _ in range(2):
        with Finger() as finger:
            assert finger.events() == ["off"]
    assert reader.is_free()


def test_where_it_is_off_the_bus_is_not_asked(restored):
    set_count(LIMIT)
    restored.stop_bus()
    with Finger() as finger:
        assert finger.events() == ["off"]


def test_the_fifth_touch_may_match(reader):
    set_count(LIMIT - 1, 100)
    with watching() as finger:
        reader.touch("alice-finger")
        assert finger.match(reader).serial == 102
    assert touches() == LIMIT - 1


def test_a_reset_while_the_reader_waits_gives_no_touch_away(reader):
    """A passcode opened elsewhere: the touch is charged again."""
    for print_ in ("somebody-else", "alice-finger"):
        with watching() as finger:
            waits(reader)
            set_count(0, 50)
            reader.touch(print_)
            event = finger.match(reader) if print_ == "alice-finger" else finger.event()
            # A match is taken back again, with a serial of its own.
            assert event == "no match" or event.serial == 52
        wait_for(lambda print_=print_: touches() == (print_ == "somebody-else"))


def test_a_touch_that_another_prompt_charged_meanwhile_is_not_believed_a_sixth_time(reader):
    with watching() as finger:
        set_count(LIMIT)
        reader.touch("alice-finger")
        assert finger.events() == ["off"]


def test_each_charge_has_a_serial_of_its_own(reader):
    set_count(0, 0xFFFFFFFE)
    with watching() as finger:
        reader.touch("alice-finger")
        assert finger.match(reader).serial == 0


def test_matches_that_are_not_used_cost_nothing(reader):
    """Cancelled, or too old at Enter: more often than touches may miss."""
    for time_ in range(LIMIT + 1):
        with watching() as finger:
            waits(reader)
            reader.touch("alice-finger")
            assert finger.match(reader).serial == 2 * time_ + 2
        assert touches() == 0
        wait_for(reader.is_free)


def test_a_match_between_them_gives_no_sixth_miss(reader):
    for after in range(LIMIT):
        with watching() as finger:
            miss(reader, finger)
        assert touches() == after + 1
        with Finger() as finger:
            if after + 1 == LIMIT:
                assert finger.events() == ["off"]
                break
            assert finger.event() == "watching"
            waits(reader)
            reader.touch("alice-finger")
            assert isinstance(finger.match(reader), Match)
        assert touches() == after + 1


def test_restarts_of_fprintd_cost_nothing(restored):
    for _ in range(LIMIT + 1):
        restored.start()
        with Logind(), watching(wants_session=True) as finger:
            restored.stop()
            assert finger.events() == ["gone"]
        assert touches() == 0


def test_what_fprintd_said_before_its_end_counts(restored):
    """The result is on the bus, fprintd has ended, and the program reads of both only then."""
    for touch in range(1, LIMIT + 1):
        restored.start()
        with Logind(), watching(wants_session=True) as finger:
            freeze(finger)
            restored.touch("somebody-else")
            wait_for(lambda: not restored.waits())  # fprintd has told it by then
            restored.stop()
            finger.program.send_signal(signal.SIGCONT)
            assert finger.event() == "no match"
            assert finger.events() in (["gone"], ["off"])
        assert touches() == touch


def freeze(finger):
    finger.program.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(finger.program.pid) == "T")


def hold_lock():
    file = open(count_file(), "r+b")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def break_lock():
    set_count(0)
    return hold_lock()


def break_content(content):
    def damage():
        set_count(0)
        count_file().write_bytes(content)

    return damage


def break_by_link():
    set_count(0)
    target = COUNTS / "target"
    target.write_bytes(count_file().read_bytes())
    target.chmod(0o600)
    count_file().unlink()
    os.link(target, count_file())


def break_by_symbolic_link():
    break_by_link()
    count_file().unlink()
    count_file().symlink_to(COUNTS / "target")


def break_by_owner():
    set_count(0)
    shutil.chown(count_file(), "alice")


def break_by_mode():
    set_count(0)
    count_file().chmod(0o622)


def break_by_kind():
    COUNTS.mkdir(mode=0o700)
    count_file().mkdir()


FAULTS = {
    "locked": break_lock,
    "too short": break_content(b"\1"),
    "too long": break_content(b"\1\0\0\0\0\0\0\0\0"),
    "version": break_content(b"\2\0\0\0\0\0\0\0"),
    "too many": break_content(b"\1\6\0\0\0\0\0\0"),
    "hard link": break_by_link,
    "symbolic link": break_by_symbolic_link,
    "owner": break_by_owner,
    "mode": break_by_mode,
    "directory": break_by_kind,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_without_a_count_there_is_no_match(reader, fault):
    held = FAULTS[fault]()
    with Finger() as finger:
        assert finger.events() == ["failed"]
    del held


@pytest.mark.parametrize("fault", FAULTS)
def test_a_touch_whose_charge_is_gone_is_no_match(reader, fault):
    for print_ in ("alice-finger", "somebody-else"):
        with watching() as finger:
            waits(reader)
            shutil.rmtree(COUNTS, ignore_errors=True)
            COUNTS.mkdir(mode=0o700)
            if fault == "directory":
                COUNTS.rmdir()
            held = FAULTS[fault]()
            reader.touch(print_)
            assert finger.events() == ["failed"]
            del held
        shutil.rmtree(COUNTS)
        wait_for(reader.is_free)


def test_what_can_not_be_charged_is_not_waited_for(reader):
    """A full disk, or a limit that the caller may not raise; a unit of systemd's has none from its caller."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    for _ in range(7):
        with Finger(preexec_fn=limit) as finger:
            assert finger.events() == ["failed"]
        wait_for(reader.is_free)


class Results:
    """What everybody on the bus sees of fprintd's results."""

    def __init__(self):
        rule = f"type='signal',member='VerifyStatus',path='{DEVICE}'"
        self.monitor = subprocess.Popen(["dbus-monitor", "--system", rule], stdout=subprocess.PIPE, text=True)
        assert self.monitor.stdout.readline()
        self.seen = threading.Event()
        self.lines = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        time.sleep(0.1)  # the rule is in force

    def read(self):
        for line in self.monitor.stdout:
            self.lines.append(line)
            if "verify-" in line:
                self.seen.set()

    def close(self):
        self.monitor.kill()
        self.monitor.wait()
        self.thread.join()


def test_a_caller_that_is_killed_as_soon_as_it_did_not_match_gains_nothing(reader):
    """Everybody sees the result on the bus: it must be charged even if the caller is killed at that moment."""
    results = Results()
    try:
        for _ in range(20):
            set_count(0)
            results.seen.clear()
            finger = Finger()
            try:
                assert finger.event() == "watching"
                waits(reader)
                reader.touch("somebody-else")
                assert results.seen.wait(20)
            finally:
                finger.close()
            assert touches() == 1
            wait_for(reader.is_free)
    finally:
        results.close()


def test_killed_at_any_moment_no_touch_is_gained(reader):
    """Up to the limit, whatever the moment: every touch was charged before it could be decided."""
    chance = random.Random(4)
    set_count(0)
    for touch in range(1, LIMIT + 1):
        with watching() as finger:
            waits(reader)
            reader.touch("somebody-else")
            time.sleep(chance.random() * 0.01)
            finger.program.kill()  # only root can
            finger.program.wait()
        assert touches() in (touch, touch + 1)
        set_count(touch)
        wait_for(reader.is_free)
    with Finger() as finger:
        assert finger.events() == ["off"]


def test_frozen_and_killed_no_touch_is_gained(reader):
    """The result is on the bus, and the program never reads it."""
    for touch in range(1, LIMIT + 1):
        with watching() as finger:
            freeze(finger)
            reader.touch("somebody-else")
            wait_for(lambda: not reader.waits())  # fprintd has told it by then
            finger.program.kill()
        wait_for(reader.is_free)
        assert touches() == touch
    with Finger() as finger:
        assert finger.events() == ["off"]


def test_as_many_prompts_as_there_are_never_a_sixth_touch_is_believed(reader):
    """Ten prompts at a time, all with the wrong finger, then one with the right one."""
    misses = matches = 0
    for _ in range(30):  # on a busy machine all ten may join late
        fingers = [Finger() for _ in range(10)]
        try:
            first = [finger.event(starting=True) for finger in fingers]
            assert first.count("watching") <= 1
            for finger, event in zip(fingers, first, strict=True):
                assert event in ("watching", "starting", "in use", "off"), event
                if event == "watching":
                    reader.touch("somebody-else")
                    said = finger.event()
                    misses += said == "no match"
                    matches += isinstance(said, Match)
        finally:
            for finger in fingers:
                finger.close()
        wait_for(reader.is_free)
        if set(first) == {"off"}:
            break
    assert (misses, matches) == (LIMIT, 0)
    with Finger() as finger:
        assert finger.events() == ["off"]


def test_the_count_is_the_account_s_own(reader):
    set_count(LIMIT)
    assert request("bob") != request("alice")
    with Finger("bob") as finger:
        assert finger.events() == ["not enrolled"]
