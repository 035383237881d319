"""On request (15 GiB of memory, five minutes): what a million records cost. `Tests/outside Tests/Outside/million.py`"""

import pytest

import bench

MANY = 1_000_000
pytestmark = pytest.mark.alone


def test_a_million_records_are_listed_in_12_seconds_and_32_mib(bed, make_bed, capsys):
    few = make_bed()
    with bench.crowd(bed, MANY) as others, bench.crowd(few, 10):
        for known in (False, True):
            with bench.accounts(others if known else []):
                taken, text = bench.listing(bed, "--json", rounds=2)
                peak = bench.peak_memory(bed, "list", "--json")
            assert text.count("\n") == MANY + 1
            with capsys.disabled():
                print(f"\n  list --json of {MANY:,}, accounts: {known}: {taken:.2f} s, {peak / 2**20:.1f} MiB")
            assert peak <= 32 << 20 and taken < 12
        beside_few(bed, few, capsys)


def beside_few(many, few, capsys):
    """A status and an attempt, among so many and among 10."""
    pairs = {"status": bench.status_among(many, few), "attempt": bench.attempt_among(many, few)}
    for name, (ours, other) in pairs.items():
        with capsys.disabled():
            print(f"\n  {name} among {MANY:,} / among 10: {ours / other:.3f}  (at most 1.05)")
        assert ours / other <= 1.05
