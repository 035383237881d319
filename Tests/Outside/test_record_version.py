"""Records of later versions: they are refused and left as they are."""

import pytest

import host
from scenario import RIGHT, WRONG, fail, replace_line, unavailable_uncharged
from tally import attack
from tool import UNUSABLE

def test_a_record_of_a_later_version_is_refused_by_all_and_left_as_it_is(alice):
    """As after a downgrade: once the later package is back, everything is as it was."""
    before = alice.record("alice")
    alice.rewrite("alice", lambda body: replace_line(body, b"passcode_record", b"passcode_record=4\n"))
    later = alice.record("alice")
    unavailable_uncharged(alice)
    assert any("later version" in line.message for line in alice.log())
    for command in (["remove"], ["unlock"], ["disable"], ["enroll", "--stdin"], ["status"]):
        answer = alice.tool(*command, "alice", stdin="8260\n", check=UNUSABLE)
        assert "later version of pam_passcode" in answer.errors and "upgrade" in answer.errors, command
    assert "alice" in alice.tool("list", check=0).output
    assert alice.record("alice") == later
    alice.record_file("alice").write_bytes(before)
    assert host.results(alice, RIGHT) == ["SUCCESS"]


@pytest.mark.parametrize("copy", [0, 1])
def test_one_copy_of_a_later_version_is_enough(alice, copy):
    """The later package may have been killed before it wrote the other one: an older count is in that."""
    fail(alice, 1)
    done = []

    def change(body):
        done.append(body)
        later = replace_line(body, b"passcode_record", b"passcode_record=4\n")
        return later if len(done) - 1 == copy else body

    alice.rewrite("alice", change)
    before = alice.record("alice")
    unavailable_uncharged(alice)
    for command in (["remove"], ["enroll", "--stdin"], ["status"]):
        alice.tool(*command, "alice", stdin="8260\n", check=UNUSABLE)
    assert alice.record("alice") == before


# MARK: Generations


def forge_generation(bed, generation):
    """One copy, otherwise as it is, claims to be that new: what a single forged write can do."""
    whole = bed.record("alice")
    done = []

    def change(body):
        done.append(body)
        newer = b"generation=%d\n" % generation
        return replace_line(body, b"generation", newer) if len(done) == 1 else body

    bed.rewrite("alice", change)
    assert bed.record("alice") != whole


@pytest.mark.parametrize("generation", [2**62, 1000, 0])
def test_with_another_generation_in_one_copy_attempts_are_counted_all_the_same(alice, generation):
    """A disk may lose one that it said it couldn't write."""
    forge_generation(alice, generation)
    results = [host.results(alice, code)[0] for code in (*WRONG * 2, RIGHT)]
    assert results[0] == "AUTH_ERR" and "SUCCESS" not in results
    assert sum("passcode wrong" in line.message for line in alice.log()) == (1 if generation == 2**62 else 3)


@pytest.mark.parametrize("generation", [2**64 - 1, 2**64 - 2, 2**62 + 1])
def test_one_forged_generation_switches_no_counting_off(alice, generation):
    forge_generation(alice, generation)
    with attack("one copy of a record with a forged generation") as row:
        results = [host.results(alice, code)[0] for code in (*WRONG * 2, RIGHT)]
        row.run(len(results))
        verified = [result for result in results if result != "AUTHINFO_UNAVAIL"]
        row.breach("beyond", generation, len(verified))
    said = alice.tool("status", "alice", check=UNUSABLE)
    assert "damaged" in said.output + said.errors
    # The ways out are those of any damage.
    alice.enroll("alice", "8260")
    assert host.results(alice, "8260") == ["SUCCESS"]
