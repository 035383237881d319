"""A charge that gets no answer, with Debian's etcd: it counts once or not at all, and nobody waits for its lease."""

import time

import pytest
from between import CUT, LATE, LOST, Fates, between
from fleet import GRANTED, WRONG
from scenario import RIGHT
from scenario import WRONG as CODES

CASES = {
    "a charge that never arrives": (Fates([CUT]), 2, 1),
    "one that is late": (Fates(["late"]), 2, 1),
    "one whose answer is lost": (Fates([LOST]), 1, 1),
    "a fence that never arrives": (Fates([CUT], [CUT]), 2, 2),
    "a fence whose answer is lost": (Fates([CUT], [LOST]), 2, 2),
    "a fence that is late": (Fates([CUT], ["late"]), 2, 2),
    "both answers lost": (Fates([LOST], [LOST]), 1, 2),
    "two charges that never arrive": (Fates([CUT, CUT]), 3, 2),
}  # fmt: skip


@pytest.mark.parametrize("fates, charges, fences", CASES.values(), ids=CASES)
def test_it_counts_once_or_not_at_all(fleet, fates, charges, fences):
    server = fleet.servers[0]
    server.verify(CODES[0])
    with between(server, fates):
        started = time.monotonic()
        reply = server.verify(CODES[1])
        took = time.monotonic() - started
        assert (reply.kind, reply.numbers[0]) == (WRONG, 2), reply
        assert (len(fates.charged), len(fates.fenced)) == (charges, fences)
        assert len(set(fates.charged)) == charges, "a charge was sent twice"
        assert took < 8, "it waited for the lease of a charge"
        time.sleep(max(0, LATE + 1 - took))  # what is late has arrived
        assert server.failures() == 2
        assert server.verify(RIGHT).kind == GRANTED and server.failures() == 0
