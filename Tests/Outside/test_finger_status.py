"""What `passcode status` and the menu tell of the fingerprint reader, to root and to the person alone."""

import json
import pathlib
import shutil
import time

import machine as machines
import pexpect
import pytest
from bed import MODULE, TOOL, become, built
from finger import LIST, SESSION, SOCKET, WATCH, Finger, Match, count_file, watching
from process import wait_for
from reader import BROKEN, NO_READER
from scenario import RIGHT, fail
from tool import CANCELLED, DONE, WRONG_CODE

ETC, VENDOR = pathlib.Path("/etc/pam.d"), pathlib.Path("/usr/lib/pam.d")
PROGRAM = pathlib.Path("/usr/libexec/passcode-finger")
POLICY = pathlib.Path("/usr/share/polkit-1/actions/net.reactivated.fprint.device.policy")
BY_BOTH = pytest.mark.parametrize("user", [None, "alice"], ids=["root", "alice"])
INDEX = "right index finger"


@pytest.fixture(scope="module", autouse=True)
def allowed(installation):
    """What polkit allows in an active session, here to anyone: there are no sessions. Before polkitd starts."""
    text = POLICY.read_text()
    changed = pathlib.Path("/run/fprint-policy")
    changed.write_text(text.replace("<allow_any>no</allow_any>", "<allow_any>yes</allow_any>"))
    machines.sh("mount", "--bind", changed, POLICY)
    yield
    machines.sh("umount", POLICY)


@pytest.fixture
def services():
    """Both folders, empty. A small Debian 13 has only one of them."""
    folders = [folder for folder in (ETC, VENDOR) if folder.exists()]
    for folder in folders:
        machines.sh("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder)
    yield ETC
    for folder in folders:
        machines.sh("umount", folder)


@pytest.fixture
def system(services, restored, machine):
    """alice has a passcode and a finger, bob a passcode; sudo offers the reader."""
    for name in ("alice", "bob"):
        machine.enroll(name, RIGHT)
    install(PROGRAM)
    SOCKET.touch()
    offer(services / "sudo")
    machine.reader = restored
    yield machine
    for path in (PROGRAM, SOCKET):
        path.unlink(missing_ok=True)


def install(path):
    shutil.copyfile(built("passcode-finger"), path)
    path.chmod(0o755)


def offer(path, option="finger=yes"):
    path.write_text(f"auth sufficient {MODULE} {option}\n")


def told(system, user=None, name="alice"):
    """The line of `status`, without its beginning; None: there is none."""
    output = system.tool("status", name, user=user, check=DONE).output
    lines = [line for line in output.replace("\n  ", " ").splitlines() if line.startswith("Fingerprint")]
    assert len(lines) <= 1 and all(len(line) <= 80 for line in output.splitlines())
    return lines[0].removeprefix("Fingerprint: ") if lines else None


def in_json(system, user=None, name="alice"):
    status = json.loads(system.tool("status", "--json", name, user=user, check=DONE).output)
    return status["finger"], status["fingers"], status["finger_services"]


@BY_BOTH
def test_which_finger_and_where_it_is_offered(system, user):
    assert told(system, user) == f"{INDEX}, offered in sudo"
    assert in_json(system, user) == ("ok", ["right-index-finger"], ["sudo"])
    assert system.reader.is_free()
    offer(ETC / "common-auth")
    for name in ("login", "su"):
        (ETC / name).write_text("@include common-auth\n")
    assert told(system, user) == f"{INDEX}, offered in login, su (common-auth); sudo"
    assert in_json(system, user)[2] == ["login", "su", "sudo"]


@BY_BOTH
def test_where_no_service_offers_it(system, user):
    for option in ("", "finger=no", "finger=yes conf=/etc/other.conf", "finger=maybe"):
        offer(ETC / "sudo", option)
        assert told(system, user) == f"{INDEX}, not offered: no PAM service has finger=yes", option
        assert in_json(system, user) == ("ok", ["right-index-finger"], [])


def test_the_configuration_offers_it_everywhere(system):
    offer(ETC / "sudo", "")
    offer(ETC / "login", "finger=no")
    system.configure(finger="yes")
    assert told(system) == f"{INDEX}, offered in sudo"


@BY_BOTH
def test_a_reader_that_is_in_use_tells_its_fingers_too(system, user):
    """They are asked for without a claim."""
    with watching() as prompt:
        assert told(system, user) == f"{INDEX}, offered in sudo"
        assert in_json(system, user) == ("ok", ["right-index-finger"], ["sudo"])
        assert system.reader.is_claimed()
        system.reader.touch("alice-finger")
        assert isinstance(prompt.match(system.reader), Match)


@pytest.mark.parametrize("user", [None, "bob"])
def test_no_finger_is_enrolled(system, user):
    assert told(system, user, "bob") == "no fingerprint enrolled: fprintd-enroll"
    assert in_json(system, user, "bob") == ("not-enrolled", [], ["sudo"])


@BY_BOTH
def test_there_is_no_reader(system, user):
    system.reader.choose(NO_READER)
    assert told(system, user) == "no reader"
    assert in_json(system, user)[0] == "no-reader"


@BY_BOTH
def test_fprintd_does_not_start_or_has_no_bus(system, user):
    system.reader.choose(BROKEN)
    assert told(system, user) == "no answer from fprintd"
    system.reader.stop_bus()
    assert told(system, user) == "no answer from fprintd"
    assert in_json(system, user)[0] == "no-service"


@BY_BOTH
def test_after_five_touches_it_is_off(system, user):
    count_file().write_bytes(bytes([1, 5, 0, 0, 7, 0, 0, 0]))
    count_file().chmod(0o600)
    shutil.chown(count_file(), machines.ACCOUNT, "root")
    assert told(system, user) == "off after 5 failed touches, until you log in without it"
    assert in_json(system, user) == ("off", [], ["sudo"])
    with Finger() as prompt:
        assert prompt.events() == ["off"]
    count_file().write_bytes(bytes([1, 4, 0, 0, 7, 0, 0, 0]))
    assert told(system, user) == f"{INDEX}, offered in sudo"


@BY_BOTH
def test_while_the_passcode_is_locked_the_finger_is_off(system, user):
    fail(system, 3)
    assert told(system, user) == f"{INDEX}, off while the passcode can't be used"
    assert in_json(system, user) == ("waiting", ["right-index-finger"], ["sudo"])


@BY_BOTH
def test_the_package_is_missing(system, user):
    """That is told where a service has the option, and nowhere else."""
    PROGRAM.unlink()
    assert told(system, user) == "package missing: apt install passcode-finger"
    assert in_json(system, user) == ("not-installed", [], ["sudo"])
    offer(ETC / "sudo", "")
    assert told(system, user) is None
    assert in_json(system, user) == (None, [], [])


@BY_BOTH
def test_the_socket_is_not_active(system, user):
    """Told with the command that starts it, where a service has the option."""
    SOCKET.unlink()
    assert told(system, user) == f"{INDEX}, not offered: systemctl enable --now passcode-finger.socket"
    assert in_json(system, user) == ("inactive", ["right-index-finger"], ["sudo"])
    offer(ETC / "sudo", "")
    assert told(system, user) == f"{INDEX}, not offered: no PAM service has finger=yes"


@BY_BOTH
@pytest.mark.parametrize("mode, owner", [(0o777, "root"), (0o775, "root"), (0o755, "alice"), (0o4755, "root")])
def test_a_program_that_someone_else_could_have_written_is_not_started(system, user, mode, owner):
    mark = system.folder / "started"
    PROGRAM.write_text(f"#!/bin/sh\ntouch {mark}\n")
    shutil.chown(PROGRAM, owner)
    PROGRAM.chmod(mode)
    assert told(system, user) == f"{PROGRAM} can't be used: apt reinstall passcode-finger"
    assert not mark.exists()


def test_a_program_that_lies_or_says_nothing_lists_nothing(system):
    for answer in ("", "printf 'nonsense' >&0", "printf '\\001\\006\\377\\377%12s' >&0"):
        PROGRAM.write_text(f"#!/bin/sh\n{answer}\n")
        assert told(system).startswith(f"{PROGRAM} can't be used"), answer


@pytest.mark.alone
@BY_BOTH
def test_a_reader_that_is_slow_does_not_hold_up_the_status(system, user):
    system.reader.pause()
    begin = time.monotonic()
    assert told(system, user) == "fprintd took too long"
    assert time.monotonic() - begin < 4


@pytest.mark.alone
def test_without_fprintd_the_status_hardly_waits(system):
    def seconds():
        begin = time.monotonic()
        system.tool("status", "alice", check=DONE)
        return time.monotonic() - begin

    system.reader.choose(BROKEN)
    with_program = min(seconds() for _ in range(5))
    PROGRAM.unlink()
    without = min(seconds() for _ in range(5))
    print(f"\nstatus: {without * 1000:.0f} ms without passcode-finger, {with_program * 1000:.0f} ms where fprintd fails")
    assert with_program - without < 0.2


def test_it_is_of_no_concern_to_other_stores_and_to_the_service_account(system, keyed):
    keyed.enroll("alice", RIGHT)
    assert keyed.status("alice")["finger"] is None
    assert "Fingerprint" not in keyed.tool("status", "alice", check=DONE).output
    assert "Fingerprint" not in system.tool("status", machines.ACCOUNT).output
    assert "finger" not in system.tool("list", "--json", check=DONE).output


# MARK: The program, asked without root's privileges


def asked(user, *request):
    with Finger(*request, program=(PROGRAM,), caller=user, preexec_fn=become(user)) as prompt:
        return prompt.events()


def test_a_person_learns_of_their_own_fingers_and_of_nothing_else(system):
    assert asked("alice", "alice", LIST) == [{6}]
    assert asked("bob", "bob", LIST) == ["not enrolled"]
    for request in (("bob", LIST), ("alice", WATCH), ("alice", SESSION)):
        assert asked("alice", *request) == [], request
    assert system.reader.is_free() and not count_file().exists()


# MARK: The menu

CHANGE, OFF, TEST = "change the passcode", "remove the passcode", "test the passcode"
PAUSE = "pause the passcode"
FORGOTTEN = "I forgot it: set a new one with my password"
ADD, TRY, REMOVE = "enrol a fingerprint", "test the fingerprint", "remove all enrolled fingerprints"


class Menu:
    def __init__(self, user, setting, *choices):
        self.child = pexpect.spawn(str(TOOL), preexec_fn=become(user), encoding="utf-8", timeout=30, cwd="/")
        self.child.expect(r"Choose a number, or press Enter to quit: $")
        lines = self.child.before.replace("\r", "").splitlines()
        start = lines.index(setting)
        assert lines[start + 1 :] == [f"  {number}  {title}" for number, title in enumerate(choices, 1)]

    def ends(self, key):
        self.child.send(f"{key}\r")
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus, self.child.before


def test_the_menu_shows_both_settings(system):
    choices = CHANGE, OFF, TEST, PAUSE, FORGOTTEN, TRY, REMOVE
    assert Menu("alice", f"Passcode: on (4 digits) · Fingerprint: {INDEX}", *choices).ends("")[0] == DONE
    answer = system.tool(user="alice", check=DONE)
    assert answer.output.endswith("  fprintd-verify alice: test the fingerprint\n"
                                  "  fprintd-delete alice: remove all enrolled fingerprints\n")  # fmt: skip
    Menu("bob", "Passcode: on (4 digits) · Fingerprint: no fingerprint enrolled: fprintd-enroll", CHANGE, OFF, TEST, PAUSE, FORGOTTEN, ADD)
    PROGRAM.unlink()
    offer(ETC / "sudo", "")
    Menu("alice", "Passcode: on (4 digits)", CHANGE, OFF, TEST, PAUSE, FORGOTTEN)


@pytest.mark.parametrize("finger, status", [("alice-finger", DONE), ("somebody-else", WRONG_CODE)])
def test_testing_the_fingerprint(system, finger, status):
    menu = Menu("alice", f"Passcode: on (4 digits) · Fingerprint: {INDEX}", CHANGE, OFF, TEST, PAUSE, FORGOTTEN, TRY, REMOVE)
    menu.child.send("6\r")
    menu.child.expect("Verifying: ")
    wait_for(system.reader.waits)  # it forgets a touch that comes before
    system.reader.touch(finger)
    menu.child.expect(pexpect.EOF)
    menu.child.close()
    assert menu.child.exitstatus == status and not count_file().exists()


def test_cancelling_a_test(system):
    menu = Menu("alice", f"Passcode: on (4 digits) · Fingerprint: {INDEX}", CHANGE, OFF, TEST, PAUSE, FORGOTTEN, TRY, REMOVE)
    menu.child.send("6\r")
    menu.child.expect("Verifying: ")
    menu.child.send("\x03")
    menu.child.expect(pexpect.EOF)
    menu.child.close()
    assert menu.child.exitstatus == CANCELLED
    wait_for(system.reader.is_free)


def test_enrolling_and_removing_a_finger(system):
    offer(ETC / "sudo", "")
    menu = Menu("bob", "Passcode: on (4 digits) · Fingerprint: no fingerprint enrolled: fprintd-enroll", CHANGE, OFF, TEST, PAUSE, FORGOTTEN, ADD)
    menu.child.send("6\r")
    menu.child.expect("Enrolling right-index-finger")
    for _ in range(5):
        time.sleep(0.4)
        system.reader.touch("bob-finger")
    menu.child.expect(pexpect.EOF)
    menu.child.close()
    assert menu.child.exitstatus == DONE
    assert "No PAM service offers the fingerprint yet: as root, add finger=yes" in menu.child.before
    assert told(system, "bob", "bob").startswith(INDEX)
    menu = Menu("bob", f"Passcode: on (4 digits) · Fingerprint: {INDEX}", CHANGE, OFF, TEST, PAUSE, FORGOTTEN, TRY, REMOVE)
    assert menu.ends(7)[0] == DONE
    assert told(system, "bob", "bob") == "no fingerprint enrolled: fprintd-enroll"
