"""What a figure is: ours, theirs, and the ratio of the two in each round."""

import dataclasses
import statistics

MEBIBYTE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Figure:
    """One row of the report. `ours` and `theirs` are medians; the ratio has its first quartile, median and third."""

    name: str
    peer: str  # what it is divided by
    unit: str  # ms, KiB, …; nothing for what is only counted
    ours: float
    theirs: float
    ratio: tuple | None  # None: theirs is 0
    rounds: int
    variant: str = ""  # the size of the crowd or of the store


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to measure: in full, or a few rounds that only show that everything works."""

    is_full: bool

    def of(self, full, quick):
        return full if self.is_full else quick


def figure(name, peer, unit, pairs, scale=1, variant=""):
    """Of (ours, theirs) for each round."""
    pairs = [(ours * scale, theirs * scale) for ours, theirs in pairs]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [ours / theirs for ours, theirs in pairs if theirs]
    ratio = quartiles(ratios) if len(ratios) == len(pairs) else None
    return Figure(name, peer, unit, rounded(ours), rounded(theirs), ratio, len(pairs), variant)


def counted(name, peer, unit, ours, theirs, variant=""):
    """What is the same in each round."""
    return figure(name, peer, unit, [(ours, theirs)], variant=variant)


def milliseconds(name, peer, pairs, **how):
    return figure(name, peer, "ms", pairs, scale=1e3, **how)


def quartiles(values):
    if len(values) == 1:
        return (rounded(values[0]),) * 3
    return tuple(map(rounded, statistics.quantiles(values, n=4, method="inclusive")))


def rounded(value):
    """To four digits: more would be noise."""
    return float(f"{value:.4g}")


def taking_turns(rounds, ours, theirs):
    """What both return in each round, as pairs; each goes first every other time. One round before doesn't count."""
    ours(), theirs()
    pairs = []
    for number in range(rounds):
        if number % 2:
            other = theirs()
            pairs.append((ours(), other))
        else:
            pairs.append((ours(), theirs()))
    return pairs
