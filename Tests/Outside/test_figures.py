"""The figures that were promised, with their bars."""

import os
import statistics
import subprocess
import sys

import pytest

import bench
from bed import Bed
from cost import in_child

pytestmark = [pytest.mark.alone, pytest.mark.shipped]


def show(capsys, name, ours, other, bar):
    return show_ratio(capsys, name, ours, other, bar, "=", ours / other)


def show_pairs(capsys, name, ours, others, bar):
    middle = map(statistics.median, (ours, others))
    return show_ratio(capsys, name, *middle, bar, "median of ratios", bench.median_ratio(ours, others))


def show_ratio(capsys, name, ours, other, bar, sign, ratio):
    with capsys.disabled():
        times = f"{ours * 1e3:9.3f} ms / {other * 1e3:9.3f} ms"
        print(f"\n  {name:<58} {times} {sign} {ratio:6.3f}  (at most {bar:g})")
    return ratio


def show_seconds(capsys, name, ours, bar=None):
    with capsys.disabled():
        print(f"\n  {name:<58} {ours * 1e3:9.3f} ms" + (f"{'':25}(at most {bar * 1e3:g} ms)" if bar else ""))
    return ours


def ratio(capsys, name, bar, measure):
    """What `measure` returns first, divided by what it returns second."""
    return bench.settled(lambda: show(capsys, name, *measure(), bar), bar)


def test_a_login_costs_what_its_hash_costs(bed, capsys):
    bar = 1.05

    def measure():
        login, hashing, writes = bench.login_against_hash(bed, operations=3, memory=64 << 20)
        show_seconds(capsys, "two synced writes of 4 KiB, which a login has, too", writes)
        return login, hashing

    assert ratio(capsys, "login with the right passcode / crypto_pwhash", bar, measure) <= bar


def test_a_login_costs_half_a_millisecond_beside_its_hash(bed, capsys):
    """libpam's own part and the test's conversation, which is Python, are within that."""
    name = "login without its hash, on tmpfs"
    bar = 0.0005
    assert bench.settled(lambda: show_seconds(capsys, name, bench.outside_the_hash(bed), bar), bar) <= bar


def test_loading_the_module_costs_no_more_than_pam_unix(capsys):
    def measure():
        done = subprocess.run([sys.executable, bench.__file__], check=True, capture_output=True, text=True)
        return map(float, done.stdout.split())

    assert ratio(capsys, "dlopen of pam_passcode.so / pam_unix.so", 1.0, measure) <= 1.0


def test_a_locked_answer_costs_a_fiftieth_of_a_verification(bed, capsys):
    name = "locked answer / verification"
    assert ratio(capsys, name, 1 / 50, lambda: bench.locked_against_login(bed)) <= 1 / 50


def test_verification_through_the_helper_costs_what_it_costs_directly(machine, capsys):
    def measure():
        name = "verification through the helper / direct"
        return show_pairs(capsys, name, *bench.through_helper_against_direct(machine), 1.05)

    assert bench.settled(measure, 1.05) <= 1.05


def test_what_the_helper_adds_is_little_beside_a_verification(machine, capsys):
    def measure():
        direct, added = bench.added_by_helper(machine)
        return direct + added, direct

    assert ratio(capsys, "verification with what the helper adds / direct", 1.05, measure) <= 1.05


def test_a_locked_answer_of_the_helper_costs_what_unix_chkpwd_costs(machine, capsys):
    name = "locked answer of the helper / unix_chkpwd"
    assert ratio(capsys, name, 1.5, lambda: in_child(lambda: bench.locked_helper_against_unix_chkpwd(machine))) <= 1.5


def test_a_batch_is_as_fast_as_its_hashes(bed, capsys):
    """The start of the tool, and what is written for each, are within that."""
    name = "enroll --batch / crypto_pwhash in as many processes"
    assert ratio(capsys, name, 1.15, lambda: bench.batch_against_hash(bed)) <= 1.15


@pytest.fixture(scope="module")
def crowded(people, journal):
    """A bed with so many records, and whose they are."""
    bed = Bed(journal=journal)
    with bench.crowd(bed, bench.CROWD) as others:
        yield bed, others
    bed.assert_nothing_typed_was_logged()
    bed.remove()


@pytest.fixture
def all_processors():
    """The list takes two, whatever this run has."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count()))
    yield
    os.sched_setaffinity(0, before)


def test_a_hundred_thousand_records_are_listed_sooner_than_cat_reads_them(crowded, all_processors, capsys):
    """A second, where cat takes two. An absolute bar would measure the machine."""
    bed, others = crowded

    def measure(arguments, words):
        taken, text = bench.listing(bed, *arguments)
        assert text.count("\n") == bench.CROWD + 1 + (not arguments)
        assert all(word in text for word in ("alice", f"person{bench.CROWD - 1}"))
        name = " ".join(["list", *arguments, f"of {bench.CROWD:,} records, {words} / cat"])
        return show(capsys, name, taken, bench.reading(bed), 0.5)

    for known, words in ((0, "no account"), (2, "every other account"), (1, "all accounts")):
        with bench.accounts(others[::known] if known else []):
            for arguments in ([], ["--json"]):
                assert bench.settled(lambda: measure(arguments, words), 0.5) <= 0.5
                assert bench.peak_memory(bed, "list", *arguments) <= 32 << 20


def test_the_status_of_one_costs_the_same_among_a_hundred_thousand(crowded, bed, capsys):
    (many, _), few = crowded, bed
    with bench.crowd(few, 10):
        name = f"status among {bench.CROWD:,} records / among 10"
        assert ratio(capsys, name, 1.2, lambda: bench.status_among(many, few)) <= 1.2


def test_a_new_key_reaches_two_thousand_records_a_second(crowded, capsys):
    bed, _ = crowded
    name = f"key rotate of {bench.CROWD:,} records on tmpfs"
    bar = bench.CROWD / 2_000
    assert bench.settled(lambda: show_seconds(capsys, name, bench.seconds(bench.tool(bed, "key", "rotate")), bar), bar) <= bar
