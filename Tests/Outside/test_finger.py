"""passcode-finger with Debian's fprintd: each outcome is told, and told apart; the reader is free afterwards."""

import contextlib
import signal
import statistics
import time

import pytest
from finger import ENTER, LIMIT, LIST, Finger, Match, count_file, touches, waits, watching
from logind import Logind
from process import wait_for
from reader import BROKEN, NO_READER, PRINTS, VIRTUAL, slow


def milliseconds():
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


def test_a_touch_that_matches_is_told_once_and_the_reader_is_free(reader):
    before = milliseconds()
    with hers() as finger:
        assert not reader.is_free()
        reader.touch("alice-finger")
        match = finger.event()
        assert isinstance(match, Match) and before <= match.milliseconds + 1 <= milliseconds() + 1
        assert finger.event() is None
        wait_for(reader.is_free, 0.5)
    assert touches() == 0  # a match isn't charged


def test_three_touches_that_don_t_match_end_it(reader):
    with watching() as finger:
        for charged in range(1, 4):
            waits(reader)
            reader.touch("somebody-else")
            assert finger.event() == "no match"
            assert touches() in (charged, charged + 1)
        assert finger.events() == ["tries"]
    assert reader.is_free() and touches() == 3


def test_a_match_after_a_touch_that_didn_t(reader):
    with watching() as finger:
        reader.touch("somebody-else")
        assert finger.event() == "no match"
        waits(reader)
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)


def test_a_touch_that_can_t_be_read_is_none(reader):
    with watching() as finger:
        reader.tell("RETRY 0")
        assert finger.hears_nothing()
        assert touches() == 1  # charged before the reader waited
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)
    assert touches() == 0


def test_a_prompt_without_a_touch_costs_nothing(reader):
    watched = 0
    for _ in range(20 * LIMIT):
        with Finger() as finger:
            # On a busy machine the reader may be too slow for one of so many prompts; that one proves nothing here.
            if finger.event() == "watching":
                assert touches() == 1
                watched += 1
        assert touches() == 0
        if watched == 2 * LIMIT:
            break
    assert watched == 2 * LIMIT


def test_without_an_enrolled_finger(reader):
    with Finger("bob") as finger:
        assert finger.events() == ["not enrolled"]


def test_enter_is_answered_at_once_where_no_finger_is_on_the_reader(reader):
    with watching() as finger:
        finger.connection.sendall(ENTER)
        assert finger.events() == ["no touch"]
    assert reader.is_free() and touches() == 0


def test_enter_waits_a_second_at_most_for_the_finger_on_the_reader(reader):
    with watching() as finger:
        reader.tell("FINGER 1")
        time.sleep(0.1)
        begin = time.monotonic()
        finger.connection.sendall(ENTER)
        assert finger.hears_nothing(0.7)
        assert finger.events() == ["no touch"]
        assert 0.9 < time.monotonic() - begin < 2
    assert reader.is_free() and touches() == 0


@pytest.mark.parametrize("touch, said", [("alice-finger", Match), ("somebody-else", str)])
def test_after_enter_one_touch_counts_and_no_more(reader, touch, said):
    with watching() as finger:
        reader.tell("FINGER 1")
        time.sleep(0.1)
        finger.connection.sendall(ENTER)
        time.sleep(0.2)
        reader.touch(touch)
        events = finger.events()
        assert isinstance(events.pop(0), said) and events == ([] if said is Match else ["no touch"])
    assert reader.is_free() and touches() == (said is str)


@pytest.mark.alone
def test_after_enter_the_reader_is_freed_when_its_caller_ends(reader):
    for word in (b"", ENTER):
        with watching() as finger:
            reader.tell("FINGER 1")
            time.sleep(0.1)
            finger.connection.sendall(ENTER + word)
            time.sleep(0.2)
            begin = time.monotonic()
        assert time.monotonic() - begin < 0.5 and reader.is_free()


@pytest.mark.parametrize("word", [b"\0", b"\2", b"\xff", b"\0\1"])
def test_any_other_word_of_the_caller_s_is_its_end(reader, word):
    with watching() as finger:
        reader.tell("FINGER 1")
        finger.connection.sendall(word)
        assert finger.events() == []
    wait_for(reader.is_free)


def test_another_s_finger_is_no_match(reader):
    with Finger("bob") as finger:
        assert finger.events() == ["not enrolled"]
    with watching("alice") as finger:
        reader.touch("bob-finger")
        assert finger.event() == "no match"


def test_one_prompt_at_a_time_has_the_reader(reader):
    with watching() as first:
        with Finger() as second:
            assert second.events() == ["in use"]
        with Finger("bob") as third:
            assert third.events() == ["not enrolled"]
        reader.touch("alice-finger")
        assert isinstance(first.match(reader), Match)


def test_without_a_reader(restored):
    restored.choose(NO_READER)
    assert restored.process() is None
    with Finger(operation=LIST) as finger:
        assert finger.events() == ["no reader"]
    with Finger() as finger:
        assert finger.events() == ["no reader"]


def test_without_fprintd(restored):
    restored.choose(BROKEN)
    with Finger() as finger:
        assert finger.events(starting=True) == ["starting", "no service"]


def test_without_a_bus(restored):
    restored.stop_bus()
    with Finger() as finger:
        assert finger.events() == ["no service"]


@contextlib.contextmanager
def hers():
    """A program that alice runs: for it the reader isn't taken again."""
    with Logind(), watching(wants_session=True) as finger:
        yield finger


def test_the_reader_is_unplugged(restored):
    with hers() as finger:
        restored.tell("UNPLUG")
        assert finger.events() == ["gone"]
    assert touches() == 0


def test_fprintd_is_killed(restored):
    with hers() as finger:
        restored.stop()
        assert finger.events() == ["gone"]
    assert touches() == 0


def test_the_bus_goes(restored):
    with hers() as finger:
        restored.bus.kill()
        assert finger.events() == ["gone"]
    assert touches() == 1  # others may have heard what we haven't


@pytest.mark.alone
def test_the_prompt_does_not_wait_while_fprintd_is_started(restored):
    restored.choose(VIRTUAL.replace("exec /", "sleep 1; exec /"))
    begin = time.monotonic()
    with Finger() as finger:
        assert finger.event(starting=True) == "starting"
        assert time.monotonic() - begin < 0.2
        assert finger.event() == "watching"
        restored.touch("alice-finger")
        assert isinstance(finger.match(restored), Match)


def test_fprintd_is_not_started_for_somebody_who_enrolled_no_finger(restored):
    restored.stop()
    with Finger("bob") as finger:
        assert finger.events() == ["not enrolled"]
    assert restored.process() is None


@pytest.mark.alone
def test_a_slow_reader_joins_late(restored):
    restored.choose(slow(800))
    restored.start()
    begin = time.monotonic()
    with Finger() as finger:
        assert finger.event(starting=True) == "starting"
        assert time.monotonic() - begin < 0.6
        assert finger.event() == "watching"
        assert time.monotonic() - begin > 0.7
        restored.touch("alice-finger")
        assert isinstance(finger.match(restored), Match)


@pytest.mark.alone
def test_a_slow_reader_is_not_claimed_for_somebody_who_enrolled_no_finger(restored):
    restored.choose(slow(800))
    restored.start()
    begin = time.monotonic()
    with Finger("bob") as finger:
        assert finger.events() == ["not enrolled"]
        assert time.monotonic() - begin < 0.6


@pytest.mark.alone
def test_a_fprintd_that_does_not_answer_is_not_waited_for(restored):
    restored.pause()
    begin = time.monotonic()
    with Finger() as finger:
        assert finger.events() == ["slow"]
        assert 0.25 < time.monotonic() - begin < 1


def test_the_enrolled_fingers_are_listed(reader):
    with Finger(operation=LIST) as finger:
        assert finger.events() == [{6}]
    with Finger("bob", LIST) as finger:
        assert finger.events() == ["not enrolled"]
    assert reader.is_free()
    assert [path.name for path in PRINTS.iterdir()] == ["alice"]


@pytest.mark.parametrize("pause", [0, pytest.param(2.3, marks=pytest.mark.on_request)])
def test_a_match_after_the_time_is_none(reader, pause):
    """Root alone can stop the program; what it reads too late is too late."""
    with hers() as finger:
        time.sleep(pause)
        finger.program.send_signal(signal.SIGSTOP)
        time.sleep(31.5 - pause)
        reader.touch("alice-finger")
        time.sleep(0.5)
        finger.program.send_signal(signal.SIGCONT)
        assert finger.events() == ["time"]
    assert touches() == 0


def test_a_match_is_as_old_as_it_may_be(reader):
    """Stamped with the last time that the bus had nothing, and not with that of its reading."""
    with watching() as finger:
        time.sleep(0.3)
        finger.program.send_signal(signal.SIGSTOP)
        before = milliseconds()
        reader.touch("alice-finger")
        time.sleep(5)
        finger.program.send_signal(signal.SIGCONT)
        match = finger.match(reader)
        assert before - 1_300 <= match.milliseconds <= before + 1


def test_the_reader_is_held_for_30_seconds(reader):
    begin = time.monotonic()
    with hers() as finger:
        assert finger.event(40) == "time"
        assert 29.5 < time.monotonic() - begin < 32
        assert finger.event() is None
        wait_for(reader.is_free, 0.5)
    assert touches() == 0


# MARK: Login screens


def test_a_login_screen_takes_the_reader_again_and_leaves_it_to_others_between(reader):
    begin = time.monotonic()
    with watching() as finger:
        wait_for(reader.is_free, 40)
        assert 29.5 < time.monotonic() - begin < 33
        wait_for(lambda: touches() == 0)  # the reader is free first
        waits(reader)
        assert finger.hears_nothing() and touches() == 1
        reader.touch("somebody-else")
        assert finger.event() == "no match"
        waits(reader)
        reader.touch("alice-finger")
        assert isinstance(finger.match(reader), Match)
    assert touches() == 1


def test_a_login_screen_shares_the_reader(restored):
    """Another program is faster after fprintd was restarted: the screen gets it when that has ended."""
    with watching() as finger:
        restored.stop()
        restored.start()
        with hers():
            assert finger.hears_nothing(3)
        waits(restored)
        restored.touch("alice-finger")
        assert isinstance(finger.match(restored), Match)
    assert touches() == 0


@pytest.mark.parametrize("touches_again", [False, True])
def test_a_login_screen_is_told_of_a_match_at_enter_and_takes_the_reader_again_once_that_is_old(reader, touches_again):
    with watching() as finger:
        reader.touch("alice-finger")
        wait_for(reader.is_free)
        assert finger.hears_nothing(8) and reader.is_free() and touches() == 0
        waits(reader)
        later = milliseconds()
        assert finger.hears_nothing()
        if touches_again:
            reader.touch("alice-finger")
            assert finger.match(reader).milliseconds >= later - 1_000
        else:
            finger.connection.sendall(ENTER)
            assert finger.events() == ["no touch"]
    assert touches() == 0 and reader.is_free()


def test_a_login_screen_has_no_more_tries_by_that(restored):
    with watching() as finger:
        for _ in range(2):
            waits(restored)
            restored.touch("somebody-else")
            assert finger.event() == "no match"
            waits(restored)
            restored.stop()
            restored.start()
        waits(restored)
        restored.touch("somebody-else")
        assert finger.events() == ["no match", "tries"]
    assert touches() == 3


@pytest.mark.alone
def test_enter_while_others_have_the_reader_is_answered_at_once(restored):
    with watching() as finger:
        restored.choose(BROKEN)
        time.sleep(0.5)
        begin = time.monotonic()
        finger.connection.sendall(ENTER)
        assert finger.events() in (["gone"], ["no service"])
        assert time.monotonic() - begin < 0.5


@pytest.mark.alone
def test_a_login_screen_that_ends_between_ends_the_program(restored):
    with watching():
        restored.choose(BROKEN)
        time.sleep(0.5)
        begin = time.monotonic()
    assert time.monotonic() - begin < 0.3


def first_event(times=11):
    """Milliseconds from the start of the program to what the prompt waits for; the median."""
    taken = []
    for _ in range(times):
        begin = time.monotonic()
        with Finger() as finger:
            finger.event()
            taken.append((time.monotonic() - begin) * 1000)
    return statistics.median(taken)


@pytest.mark.alone
def test_the_prompt_hardly_waits(restored):
    watching = first_event()
    restored.choose(NO_READER)
    restored.start_without_reader()
    no_reader = first_event()
    print(f"\nfirst event: {watching:.1f} ms with a reader, {no_reader:.1f} ms without one")
    assert no_reader <= 20 and watching <= 100


@pytest.mark.alone
def test_a_match_is_told_at_once(reader):
    taken = []
    for _ in range(5):
        with hers() as finger:
            begin = time.monotonic()
            reader.touch("alice-finger")
            assert isinstance(finger.event(), Match)
            taken.append((time.monotonic() - begin) * 1000)
        wait_for(reader.is_free)
        count_file().unlink()
    print(f"\nfrom the touch to the event: {statistics.median(taken):.1f} ms")
    assert statistics.median(taken) <= 50
