"""What must hold of a fleet's history, whatever went wrong in it. The times are those of one clock."""

import collections

from fleet import GRANTED, LOCKED, NOT_ENROLLED, STATUS_REPLY, UNAVAILABLE
from history import DELAYS

MARGIN = 7  # seconds by which a delay's lease is longer
MOST = 20  # wrong ones from a workstation in an hour
FOREVER = float("inf")


def judge(history, row, where):
    """Reports each breach to the attack's row."""
    for account, status in history.statuses.items():
        asked = [one for one in history.asked if one.account == account]
        unlocked = [(begin, end) for name, begin, end in history.unlocked if name == account]
        ledger = Ledger(account, history.written)
        place = (where, account)
        _judge_verdicts(asked, row, place)
        row.breach("beyond", (place, ledger.wrongs), len(ledger.wrongs))
        _judge_budget(asked, unlocked, ledger, row, place)
        _judge_delays(asked, unlocked, row, place)
        row.breach("unreadable", (place, status), status is None or status.kind not in (STATUS_REPLY, NOT_ENROLLED))
        row.breach("lost", (place, status), status is not None and status.kind == NOT_ENROLLED)
        if status is not None and status.kind == STATUS_REPLY:
            row.breach("refund", (place, "status", status.numbers[1]), status.numbers[1] != ledger.failures)
    wrong = collections.Counter(one.workstation for one in history.asked if one.is_wrong)
    for workstation, count in wrong.items():
        row.breach("beyond", (where, workstation, count), count - MOST)


def summary(history):
    """For people."""
    kinds = collections.Counter(one.kind for one in history.asked)
    wrong = sum(one.is_wrong for one in history.asked)
    charges = sum(Ledger(account, history.written).charges.total() for account in history.statuses)
    return (
        f"{len(history.asked)} asked: {kinds[GRANTED]} granted, {wrong} wrong, {kinds[LOCKED]} locked, "
        f"{kinds[UNAVAILABLE]} unavailable, {kinds[None]} without an answer; {charges} charged"
    )


class Ledger:
    """An account's failures, as etcd remembers them."""

    def __init__(self, account, written):
        record = "/passcode/1/u/" + account.encode().hex()
        self.failures, self.charges, self.resets = 0, collections.Counter(), 0
        self.wrongs = []  # what no attempt may have written
        there, transactions = set(), collections.OrderedDict()
        for one in written:
            if one.key.startswith(record):
                transactions.setdefault(one.revision, []).append(one)
        for revision, ones in transactions.items():
            before = set(there)
            for one in ones:
                name = one.key.removeprefix(record)
                there.discard(name) if one.value is None else there.add(name)
                if name == "" and one.value is not None:
                    self._take(failures(one.value), revision, before)

    def _take(self, now, revision, there):
        if now == self.failures + 1:
            self.charges[now] += 1
            for key in ("/wait", "/busy"):
                if key in there:
                    self.wrongs.append((revision, "charged despite", key))
        elif now == 0 and self.failures:
            self.resets += 1
        elif now != self.failures:  # a fence changes nothing
            self.wrongs.append((revision, self.failures, now))
        self.failures = now


def failures(value):
    [line] = [line for line in value.split(b"\n") if line.startswith(b"failures=")]
    return int(line[len(b"failures=") :])


def _judge_verdicts(asked, row, place):
    for one in asked:
        row.breach("refused", (place, one), one.is_right and one.is_wrong)
        row.breach("beyond", (place, one), not one.is_right and one.kind == GRANTED)


def _may_reset(one):
    return one.is_right and one.kind in (GRANTED, UNAVAILABLE, None)


def _judge_budget(asked, unlocked, ledger, row, place):
    told = collections.Counter(one.failures for one in asked if one.is_wrong)
    for count, number in told.items():
        # Each charge is one that was verified, at most.
        row.breach("beyond", (place, "told", told, "charged", ledger.charges), number - ledger.charges[count])
    granted = sum(one.kind == GRANTED for one in asked)
    verified, charges = granted + told.total(), ledger.charges.total()
    row.breach("beyond", (place, "verified", verified, "charged", charges), verified - charges)
    reasons = sum(map(_may_reset, asked)) + len(unlocked)
    row.breach("refund", (place, "reset", ledger.resets, "by", reasons), ledger.resets - reasons)


def _judge_delays(asked, unlocked, row, place):
    """Nothing is verified while a delay runs, nor told so early that it must have been."""
    resets = [(one.begin, FOREVER if one.kind is None else one.end, one) for one in asked if _may_reset(one)]
    resets += [(begin, end, None) for begin, end in unlocked]
    for first in asked:
        if not first.is_wrong or first.failures < min(DELAYS):
            continue
        delay = DELAYS.get(first.failures, 3)
        for later in asked:
            if later.begin <= first.end or not (later.is_wrong or later.kind == GRANTED):
                continue
            if any(one is not later and begin < later.end and end > first.begin for begin, end, one in resets):
                continue
            row.breach("beyond", (place, first, later), later.end - first.begin < delay + MARGIN)
