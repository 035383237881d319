"""How long people wait because of the reader: before the prompt, and between touch and login."""

import statistics
import time

import pytest
from finger import count_file, waits
from process import wait_for
from reader import NO_READER, VIRTUAL
from scenario import PROMPT, RIGHT

pytestmark = [pytest.mark.alone, pytest.mark.shipped]


def milliseconds_to_the_prompt(own):
    """And what the prompt was. By the clock that all processes share."""
    begin = time.monotonic()
    asked = []

    def answer(handle):
        asked.append(time.monotonic() - begin)
        handle.outcome.messages.append(["TIME", str(asked[0])])
        return RIGHT

    outcome = own.authenticate("alice", answer)
    assert outcome.result == "SUCCESS"
    [seconds] = [float(text) for style, text in outcome.messages if style == "TIME"]
    return seconds * 1000, outcome.prompts


def median(own, rounds=15):
    own.authenticate("alice", RIGHT)
    return statistics.median(milliseconds_to_the_prompt(own)[0] for _ in range(rounds))


def delay(own):
    """Milliseconds by which the prompt comes later with `finger`."""
    own.configure(finger="yes")
    later = median(own)
    own.configure(finger="no")
    sooner = median(own)
    print(f"\nprompt after {later:.1f} ms instead of {sooner:.1f} ms")
    return later - sooner


def test_without_a_reader_the_prompt_comes_at_most_20_ms_later(touchable):
    touchable.reader.choose(NO_READER)
    touchable.reader.start_without_reader()
    try:
        assert milliseconds_to_the_prompt(touchable)[1] == [PROMPT]
        # What else goes on in the machine disturbs one measurement; a slower program is slower in all of them.
        delays = [delay(touchable)]
        if delays[0] > 20:
            delays += [delay(touchable), delay(touchable)]
    finally:
        touchable.reader.restore()
    assert statistics.median(delays) <= 20


def test_the_prompt_does_not_wait_for_fprintd_to_start(touchable):
    touchable.reader.choose(VIRTUAL.replace("exec ", "sleep 2\nexec "))
    try:
        later, prompts = milliseconds_to_the_prompt(touchable)
    finally:
        touchable.reader.restore()
    print(f"\nprompt after {later:.1f} ms")
    assert later < 100 and prompts == ["Passcode or fingerprint: "]


def test_a_match_and_enter_let_in_within_50_ms(touchable):
    """From the touch to the end of the call, with Enter as soon as the touch is no longer charged."""
    taken = []
    for _ in range(9):
        touched = touchable.folder / "touched"

        def answer(_, touched=touched):
            waits(touchable.reader)
            charged = count_file().read_bytes()
            touched.write_text(str(time.monotonic()))
            touchable.reader.touch("alice-finger")
            wait_for(lambda: count_file().read_bytes() != charged)  # taken back before it is told
            return ""

        assert touchable.authenticate("alice", answer).result == "SUCCESS"
        taken.append((time.monotonic() - float(touched.read_text())) * 1000)
        wait_for(touchable.reader.is_free)
    print(f"\nlet in {statistics.median(taken):.1f} ms after the touch, at most {max(taken):.1f} ms")
    assert statistics.median(taken) <= 50
