"""`finger_for`: prints that changed since the passcode was last used are taken only after it is used again."""

import os
import shutil
import time

import pytest

import finger as fingers
import machine as machines
import strace
from bed import uid
from finger import after, match
from logind import Logind
from pam import FAILS, SILENT
from process import wait_for
from reader import PRINTS
from scenario import PASSWORD, PROMPT, PROVEN, RIGHT

FINGER = "Passcode or fingerprint: "
CHANGED = "Your fingerprints may have changed. Type your passcode this time."


@pytest.fixture
def own(touchable, tmp_path):
    shutil.copytree(PRINTS / "alice", tmp_path / "alice")
    touchable.configure(finger_for="1h")
    noted().unlink(missing_ok=True)
    yield touchable
    wait_for(touchable.reader.is_free)
    shutil.rmtree(PRINTS / "alice")
    shutil.copytree(tmp_path / "alice", PRINTS / "alice")


def noted():
    return machines.RUN / f"{uid('alice')}.prints"


def word(own):
    return [part for part in own.module_log()[-1].message.split() if part.startswith("finger=")]


def touches(own):
    """Whether a touch lets alice in."""
    return own.authenticate("alice", after(match(own))).result == "SUCCESS"


def refuses(own, typed=""):
    outcome = own.authenticate("alice", typed)
    return (outcome.prompts, outcome.texts) == ([PROMPT], [CHANGED]) and word(own) == ["finger=prints-changed"]


def a_file():
    return next(path for path in sorted((PRINTS / "alice").rglob("*")) if path.is_file())


def copy(own):
    shutil.copy(a_file(), a_file().with_name("6"))


def remove(own):
    copy(own)
    refuses(own, RIGHT)
    assert touches(own)
    a_file().unlink()


CHANGES = {
    "another finger": copy,
    "another finger by fprintd": lambda own: own.reader.enroll("alice", "left-thumb"),
    "a finger less": remove,
    "a file that nobody reads": lambda own: (PRINTS / "alice" / "x").write_bytes(b""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_enrolled_meanwhile_waits_for_the_passcode(own, change):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert touches(own) and touches(own)
    CHANGES[change](own)
    assert refuses(own) and refuses(own, FAILS)
    assert refuses(own, RIGHT)
    assert touches(own)


def test_another_print_of_the_same_name_length_and_times_waits_for_the_passcode(own):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    status, content = a_file().stat(), a_file().read_bytes()
    a_file().write_bytes(content.replace(b"alice-finger", b"mallo-finger"))
    os.utime(a_file(), ns=(status.st_atime_ns, status.st_mtime_ns))
    assert a_file().read_bytes() != content
    assert refuses(own)
    a_file().write_bytes(content)
    assert refuses(own) and refuses(own, RIGHT) and touches(own)


def test_the_same_prints_with_other_times_or_enrolled_again_are_the_same(own):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    a_file().touch()
    assert touches(own)
    content = a_file().read_bytes()
    own.reader.enroll("alice")
    assert a_file().read_bytes() == content and touches(own)


@pytest.mark.parametrize("damage", [b"", b"\0" * 39, b"\0" * 41, b"\xff" * 40])
def test_what_does_not_tell_is_seen_for_the_first_time(own, damage):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    noted().write_bytes(damage)
    assert refuses(own, RIGHT) and touches(own)


def test_a_time_that_lies_ahead_is_of_an_earlier_boot(own):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS" and touches(own)
    noted().write_bytes((2**63).to_bytes(8, "little") + noted().read_bytes()[8:])
    assert refuses(own, RIGHT) and touches(own)


def test_a_file_that_others_may_open_tells_nothing(own):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    noted().chmod(0o666)
    assert refuses(own, RIGHT) and refuses(own)


def folder_of_folders(folder):
    (folder / "1/2/3").mkdir(parents=True)


UNKNOWN = {
    "too large": lambda folder: (folder / "x").write_bytes(b"\0" * (17 << 20)),
    "a link to a file": lambda folder: (folder / "x").symlink_to(a_file()),
    "a link to a folder": lambda folder: (folder / "x").symlink_to(a_file().parent),
    "a pipe": lambda folder: os.mkfifo(folder / "x"),
    "too deep": folder_of_folders,
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_prints_that_are_not_known_are_not_asked_for(own, what):
    UNKNOWN[what](PRINTS / "alice")
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert refuses(own, RIGHT) and refuses(own)


def test_a_link_instead_of_the_folder_is_not_followed(own, tmp_path):
    shutil.move(PRINTS / "alice", tmp_path / "elsewhere")
    (PRINTS / "alice").symlink_to(tmp_path / "elsewhere")
    own.authenticate("alice", RIGHT)
    outcome = own.authenticate("alice", "")
    (PRINTS / "alice").unlink()
    shutil.move(tmp_path / "elsewhere", PRINTS / "alice")
    assert (outcome.result, outcome.prompts) == ("AUTH_ERR", [PROMPT]) and not noted().exists()


def test_where_nothing_can_be_noted_no_finger_is_asked_for(own):
    noted().mkdir()
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert refuses(own, RIGHT) and refuses(own)
    noted().rmdir()
    assert refuses(own, RIGHT) and touches(own)


def test_what_the_helper_accepts_before_the_prints_were_seen_does_not_accept_them(own):
    assert own.authenticate("alice", RIGHT, **machines.ALICE).result == "SUCCESS"
    assert refuses(own, RIGHT) and touches(own)
    copy(own)
    assert own.authenticate("alice", RIGHT, **machines.ALICE).result == "SUCCESS"
    assert refuses(own, RIGHT) and touches(own)


def test_a_passcode_that_is_used_while_prints_are_read_does_not_accept_them(own, tmp_path):
    """They are seen once they were read: here a second after that began."""
    slow = ["-P", PRINTS / "alice", "-e", "trace=openat", "-e", "inject=openat:delay_exit=1000000"]
    begin = time.clock_gettime(time.CLOCK_BOOTTIME)
    program = [*strace.record(tmp_path / "trace", *slow), fingers.PROGRAM]
    with fingers.Finger(operation=fingers.SESSION, program=program) as prompt:
        assert prompt.event() == "prints changed"
    assert "DELAYED" in (tmp_path / "trace").read_text()
    seen = int.from_bytes(noted().read_bytes()[:8], "little")
    assert seen - begin * 1_000 >= 1_000


def test_a_print_that_comes_before_a_match_is_taken_stops_that(own):
    assert own.authenticate("alice", RIGHT).result == "SUCCESS"
    assert own.authenticate("alice", after(match(own), lambda: copy(own))).result == "AUTH_ERR"
    assert refuses(own, RIGHT) and touches(own)


def test_where_the_configuration_can_not_be_read_the_option_counts_as_set(own):
    """To the program itself: the module refuses with such a file before it asks."""
    for text, is_told in (("finger_for=nonsense\n", True), ("finger_for=1h\n", True), ("", False)):
        machines.CONFIGURATION.write_text(text)
        with fingers.Finger(operation=fingers.SESSION) as prompt:
            assert (prompt.event() == "prints changed") == is_told


def test_without_the_option_nothing_is_noted(own):
    own.configure(finger_for="always")
    assert touches(own) and not noted().exists()


def test_with_both_the_password_is_due_and_its_proof_ends_that(own):
    def prove():
        own.service(stack=PROVEN)
        with machines.installed_tool():
            assert own.authenticate("alice", PASSWORD).result == "SUCCESS"
        own.service()

    machines.set_password("alice")
    own.typed.add(PASSWORD)
    own.configure(finger="both")
    prove()  # as after a boot: once is enough
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SUCCESS"
    copy(own)
    for _ in range(2):
        outcome = own.authenticate("alice", RIGHT)
        assert (outcome.result, outcome.prompts) == ("PERM_DENIED", [])
        assert outcome.texts == ["Use your password this time. It is required from time to time."]
    assert fingers.charged() == 0
    prove()
    assert own.authenticate("alice", after(match(own), then=RIGHT)).result == "SUCCESS"


def nothing(own):
    pass


def test_with_both_and_hidden_notices_its_proof_ends_that_too(own):
    machines.set_password("alice")
    own.typed.add(PASSWORD)
    own.configure(finger="both")
    own.service(stack=PROVEN)
    sudo = {"flags": SILENT, "items": {"RUSER": "alice"}}
    with Logind(), machines.installed_tool():
        for change in (copy, nothing):
            outcome = own.authenticate("alice", PASSWORD, **sudo)
            assert (outcome.result, outcome.prompts) == ("SUCCESS", ["Use your password this time. Password: "])
            outcome = own.authenticate("alice", after(match(own), then=RIGHT), **sudo)
            assert (outcome.result, outcome.prompts) == ("SUCCESS", ["Passcode and fingerprint, or password: "])
            change(own)


def test_the_password_accepts_changed_prints_as_the_passcode_does(own):
    machines.set_password("alice")
    own.typed.add(PASSWORD)
    assert own.authenticate("alice", RIGHT).result == "SUCCESS" and touches(own)
    copy(own)
    assert refuses(own)
    own.service(stack=PROVEN)
    with machines.installed_tool():
        assert own.authenticate("alice", PASSWORD).result == "SUCCESS"
    own.service()
    assert touches(own)
