"""After a look at most 16 helpers of one caller wait for the attempt; every other one answers and ends, and its prompt
takes the passcode as well."""

import fcntl
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time

import pytest

from bed import become, person, uid
from process import children, in_locks, wait_for
from helper import GRANTED, LOOK, OPEN, OPEN_WITHOUT_WAITING, VERIFY, as_alice, fault, request, verify
from machine import HELPER, RUN
from scenario import RIGHT, WRONG

MOST = 16
FILE = RUN / "waiting"
pytestmark = pytest.mark.usefixtures("own")


class Look:
    """A helper that was asked for a look."""

    def __init__(self, user="alice", about=None):
        self.ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([HELPER], stdin=theirs, cwd="/", env={}, **person(user))
        theirs.close()
        self.ours.settimeout(60)
        self.ours.sendall(request(LOOK, uid(about or user)))

    def kind(self):
        return self.ours.recv(4096)[1]

    def waits(self):
        return self.process.poll() is None

    def end(self):
        self.ours.close()
        self.process.wait(10)


@pytest.fixture
def look():
    made = []

    def make(*who):
        made.append(Look(*who))
        return made[-1]

    yield make
    for one in made:
        one.end()


def full(look, *who):
    """One after the other until there is no slot left: those that wait."""
    waiting = [look(*who) for _ in range(MOST)]
    assert [one.kind() for one in waiting] == [OPEN] * MOST
    assert all(one.waits() for one in waiting)
    return waiting


def is_answered_without_waiting(one):
    """The stream ends with the reply, and so does the process."""
    assert one.kind() == OPEN_WITHOUT_WAITING
    assert one.ours.recv(1) == b"" and one.process.wait(20) == 0
    return True


def test_the_seventeenth_answers_and_ends(look):
    waiting = full(look)
    for _ in range(3):
        assert is_answered_without_waiting(look())
    assert all(one.waits() for one in waiting)
    waiting[5].ours.sendall(request(VERIFY, uid("alice"), passcode=RIGHT))
    waiting[5].ours.shutdown(socket.SHUT_WR)
    assert waiting[5].kind() == GRANTED


@pytest.mark.parametrize("first, then", [("alice", "bob"), ("alice", "root"), ("root", "alice")])
def test_two_people_do_not_share_their_slots(look, first, then):
    """The caller counts, not the account that it asks about: root asks about alice here."""
    full(look, first, "alice")
    full(look, then, "bob" if then == "bob" else "alice")
    assert is_answered_without_waiting(look(first, "alice"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGALRM, None], ids=["killed", "30 s", "left"])
def test_a_helper_that_ends_frees_its_slot(look, number):
    waiting = full(look)
    if number:
        os.kill(waiting[7].process.pid, number)
        assert waiting[7].process.wait(20) == -number
    else:
        waiting[7].end()
    assert look().kind() == OPEN
    assert is_answered_without_waiting(look())


def test_half_an_attempt_keeps_the_slot(look):
    """Else a byte would be enough to wait beside the sixteen."""
    for one in full(look):
        one.ours.sendall(b"\1")
        wait_for(lambda one=one: unread(one.ours) == 0)
    assert is_answered_without_waiting(look())


def unread(ours):
    """What was sent and not yet taken; a byte that was only looked at counts, too."""
    return struct.unpack("i", fcntl.ioctl(ours, termios.TIOCOUTQ, bytes(4)))[0]


def test_where_the_slots_are(look):
    """A file that its caller can't open, with nothing in it; a byte for each slot, and no other lock."""
    waiting = full(look)
    status = FILE.stat()
    assert (status.st_uid, status.st_mode & 0o7777) == (uid("_passcode"), 0o600)
    assert status.st_size == 0 and status.st_nlink == 1
    for flags in (os.O_RDONLY, os.O_WRONLY):
        assert as_alice(lambda flags=flags: os.open(FILE, flags)) == 13
    start = uid("alice") * MOST
    run = (1 << 40) + uid("alice") * ALL
    # The kernel's list is no snapshot: one look may miss some.
    wait_for(lambda: locked_bytes() == [*range(start, start + MOST), *range(run, run + MOST)])
    assert all(one.waits() for one in waiting)


def locked_bytes():
    """The bytes of the file that helpers have locked; each lock is of one byte."""
    locks = re.findall(
        rf"OFDLCK +ADVISORY +WRITE -?\d+ {in_locks(FILE)} (\d+) (\d+)$",
        pathlib.Path("/proc/locks").read_text(), re.MULTILINE,
    )  # fmt: skip
    assert all(first == last for first, last in locks)
    return sorted(int(first) for first, _ in locks)


# MARK: Helpers that don't wait for an attempt

ALL = 128
TOO_MANY = fault("tooManyRequests", number=ALL)


def silent(user="alice"):
    """A helper that was sent nothing."""
    one = Look.__new__(Look)
    one.ours, theirs = socket.socketpair()
    one.process = subprocess.Popen([HELPER], stdin=theirs, cwd="/", env={}, **person(user))
    theirs.close()
    one.ours.settimeout(60)
    return one


def running(user):
    """How many bytes of the file are locked for helpers of this person that run."""
    start = (1 << 40) + uid(user) * ALL
    return sum(start <= first < start + ALL for first in locked_bytes())


def test_at_most_128_helpers_of_one_caller_run(own, look):
    """They need not send anything: without the limit each would wait 30 s for its request."""
    alices = [silent() for _ in range(ALL)]
    try:
        wait_for(lambda: running("alice") == ALL)
        for _ in range(3):
            refused = silent()
            assert TOO_MANY in refused.ours.recv(4096)
            assert refused.ours.recv(1) == b"" and refused.process.wait(20) == 0
        answer = own.authenticate("alice", RIGHT, prepare=become("alice"))
        assert answer.result == "AUTHINFO_UNAVAIL"
        assert any("too many requests at once: at most 128 per caller" in line.message for line in own.module_log())
        assert look("bob").kind() == OPEN
        alices.pop().end()
        wait_for(lambda: running("alice") < ALL)
        assert own.authenticate("alice", RIGHT, prepare=become("alice")).result == "SUCCESS"
    finally:
        for one in alices:
            one.end()
    wait_for(lambda: running("alice") == 0)


@pytest.mark.parametrize("descriptors", [4, 5, 6, 31])
def test_few_descriptors_do_not_lift_the_limit(own, descriptors):
    """The caller chose how many; without the file that counts its helpers, nothing would."""

    few = (descriptors, descriptors)
    ours, theirs = socket.socketpair()
    with subprocess.Popen(
        [HELPER], stdin=theirs, cwd="/", env={}, **person("alice"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    ) as process:  # fmt: skip
        theirs.close()
        ours.settimeout(10)
        assert ours.recv(1) == b"" and process.wait(20) == 1


def test_a_full_directory_does_not_lift_the_limit(own, look):
    """Without the file, and with no room for it: nobody counts the helpers, so none goes on."""
    shutil.rmtree(RUN)
    RUN.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=1,mode=0700", "tmpfs", str(RUN)], check=True)
    try:
        shutil.chown(RUN, "_passcode")
        refused = silent()
        assert TOO_MANY in refused.ours.recv(4096)
        assert refused.ours.recv(1) == b"" and refused.process.wait(20) == 0
        assert own.authenticate("alice", RIGHT, prepare=become("alice")).result == "AUTHINFO_UNAVAIL"
    finally:
        subprocess.run(["umount", str(RUN)], check=True)
    shutil.rmtree(RUN)
    assert look().kind() == OPEN_WITHOUT_WAITING


# MARK: Where there is no sound file


def nothing():
    shutil.rmtree(RUN)


def closed():
    RUN.chmod(0o500)
    shutil.chown(RUN, "root")


def others_can_write():
    FILE.touch()
    FILE.chmod(0o622)
    shutil.chown(FILE, "_passcode")


def somebody_elses():
    FILE.touch()
    FILE.chmod(0o600)
    shutil.chown(FILE, "alice")


def roots():
    FILE.touch()
    FILE.chmod(0o600)


def link():
    FILE.symlink_to("/etc/passwd")


def directory():
    FILE.mkdir()


def pipe():
    os.mkfifo(FILE, 0o600)
    shutil.chown(FILE, "_passcode")


@pytest.mark.parametrize(
    "make", [nothing, closed, others_can_write, somebody_elses, roots, link, directory, pipe]
)
def test_without_a_sound_file_nobody_waits_and_nobody_is_refused(own, look, make):
    make()
    assert is_answered_without_waiting(look())
    alice = {"prepare": become("alice")}
    assert own.authenticate("alice", RIGHT, **alice).result == "SUCCESS"
    assert own.authenticate("alice", WRONG[0], **alice).texts == ["Wrong passcode, 2 attempts left."]
    assert own.failures("alice") == 1


# MARK: Many prompts


class Prompts:
    """So many login programs of alice's, all at their prompts."""

    def __init__(self, bed, count):
        prompted, self.release = os.pipe(), os.pipe()

        def answer(handle):
            os.close(self.release[1])  # so that nobody stays where a test fails
            os.write(prompted[1], b"x")
            os.read(self.release[0], 1)
            return RIGHT

        self.hosts = [bed.start("alice", answer, prepare=become("alice")) for _ in range(count)]
        for _ in self.hosts:
            assert os.read(prompted[0], 1)

    def helpers(self):
        """Those that have not ended."""
        return [pid for host in self.hosts for pid, state in children(host.child).items() if state not in "ZX"]

    def results(self):
        os.write(self.release[1], b"x" * len(self.hosts))
        return [host.wait().result for host in self.hosts]


def test_forty_prompts_of_one_person(own):
    prompts = Prompts(own, 40)
    # One that doesn't wait ends a little later than its reply.
    wait_for(lambda: len(prompts.helpers()) == MOST)
    assert prompts.results() == ["SUCCESS"] * 40
    assert own.failures("alice") == 0


def test_forty_that_answer_at_once(own):
    """No time passes between the look's reply and the attempt: nobody sends it to a helper that is ending."""
    waiting = Prompts(own, MOST)
    hosts = [own.start("alice", RIGHT, prepare=become("alice")) for _ in range(40)]
    assert [host.wait().result for host in hosts] == ["SUCCESS"] * 40
    assert waiting.results() == ["SUCCESS"] * MOST and own.failures("alice") == 0


def resident(pid):
    """0: its 30 s are over."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1])


def test_two_thousand_looks_leave_sixteen_processes(look, capsys):
    """Their caller keeps every connection, sends nothing more, and waits for no child."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        start = time.monotonic()
        looks = [look() for _ in range(2_000)]
        kinds = [one.kind() for one in looks]
        wait_for(lambda: sum(one.waits() for one in looks) <= MOST)
        memory = sum(resident(one.process.pid) for one in looks if one.waits())
        with capsys.disabled():
            print(f"\n  2,000 looks of one person: {memory} KiB in helpers that wait (at most 16,384)")
        assert set(kinds) == {OPEN, OPEN_WITHOUT_WAITING}
        # After 30 s those that waited have ended, and others may wait.
        assert kinds.count(OPEN) <= MOST * (1 + (time.monotonic() - start) // 30)
        assert memory <= 16_384
        assert verify().kind == GRANTED
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
