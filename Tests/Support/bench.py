#!/usr/bin/python3
"""Figures: ratios of medians, measured interleaved in one run, so that the machine's mood cancels out.

Run by Tests/outside Tests/Outside/test_figures.py, which prints the table and holds it to its bars.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import types

import _ctypes

import helper
import libsodium
import lists
import machine
import pam
from accounts import accounts_changed
from bed import MODULE, SERVICE, uid
from cost import in_child
from process import children
from scenario import PASSWORD

_ARGON2ID13 = 2


def settled(measure, bar):
    """One measurement that is within the bar; else the median of that and two more. What else goes on in the machine
    disturbs one measurement; a slower program is slower in all of them."""
    first = measure()
    return first if first <= bar else statistics.median([first, measure(), measure()])


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(rounds, *works):
    """The median seconds of each, taking turns."""
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return medians(taken)


def medians(rows):
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def median_ratio(ours, others):
    """The median of the pairs' ratios. The two of a pair ran one after the other, because the machine's speed changes."""
    return statistics.median(one / other for one, other in zip(ours, others, strict=True))


def bare_hash(operations, memory):
    """crypto_pwhash of four bytes at the given cost."""
    sodium = libsodium.load()
    sodium.sodium_init()
    out, salt = ctypes.create_string_buffer(32), os.urandom(16)

    def work():
        status = sodium.crypto_pwhash(
            out, ctypes.c_ulonglong(32), b"0471", ctypes.c_ulonglong(4), salt,
            ctypes.c_ulonglong(operations), ctypes.c_size_t(memory), ctypes.c_int(_ARGON2ID13),
        )  # fmt: skip
        assert status == 0

    return work


def login(bed, user, code, result):
    """pam_authenticate on a handle that is already open, as a login program has it."""

    def work():
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, user, bed.services, [code], outcome)
        start = time.perf_counter()
        handle.call("authenticate")
        work.inner.append(time.perf_counter() - start)
        handle.end()
        assert outcome.results == [result], outcome

    work.inner = []
    return work


def quartile(taken):
    """The first: what it takes while nothing else is going on."""
    return statistics.quantiles(taken, n=4)[0]


@contextlib.contextmanager
def two_writes(folder):
    """Writes as much as a login does, and as durably: two copies of a record, one after the other."""
    with open(folder / "writes", "wb", buffering=0) as file:

        def work():
            for offset in (0, 4096):
                os.pwrite(file.fileno(), os.urandom(4096), offset)
                os.fdatasync(file)

        work(), os.fsync(file)
        yield work
        os.unlink(file.name)


def login_against_hash(bed, operations, memory, rounds=41):
    """The whole of pam_authenticate with the right passcode, the bare hash at the same cost, and two writes to the same disk:
    how long those take is the disk's matter, and differs by the minute.

    The module is loaded in each round anew, and that counts: so it is in every real login. All is measured in a new process:
    in one that had run other tests, a login took 0.94 times its hash, or 1.08 times, for as long as the process lasted.
    """
    bed.configure(opslimit=operations, memlimit=memory)
    bed.enroll("alice", "0471")
    words = [sys.executable, __file__, *map(str, (bed.services, bed.store, operations, memory, rounds))]
    return map(float, subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())


def in_turns(services, store, operations, memory, rounds):
    bed = types.SimpleNamespace(services=services)
    right, bare = login(bed, "alice", "0471", "SUCCESS"), bare_hash(int(operations), int(memory))
    right(), bare()
    right.inner.clear()
    with two_writes(pathlib.Path(store)) as writes:
        others = [(right(), seconds(bare), seconds(writes))[1:] for _ in range(int(rounds))]
    return quartile(right.inner), *map(quartile, zip(*others, strict=True))


def outside_the_hash(bed, rounds=301):
    """What is left of pam_authenticate without its hash, after the first call on a handle; the store on a tmpfs."""
    bed.store.mkdir(mode=0o700, exist_ok=True)
    machine.sh("mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", bed.store)
    try:
        bed.configure(opslimit=1, memlimit="8K")
        bed.enroll("alice", "0471")
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, "alice", bed.services, ["0471"] * (rounds + 1), outcome)
        handle.call("authenticate")
        whole, hashing = interleaved(rounds, lambda: handle.call("authenticate"), bare_hash(1, 8 << 10))
        handle.end()
        assert outcome.results == ["SUCCESS"] * (rounds + 1)
    finally:
        machine.sh("umount", bed.store)
    return whole - hashing


def locked_against_login(bed, rounds=15):
    """An answer while locked, and a verification at the default cost."""
    bed.configure(opslimit=3, memlimit="64M")
    bed.enroll("alice", "0471")
    bed.enroll("bob", "0471")
    for code in ("1593", "2604", "3715"):
        bed.authenticate("bob", code)
    right, locked = login(bed, "alice", "0471", "SUCCESS"), login(bed, "bob", "0471", "AUTH_ERR")
    right(), locked()
    right.inner.clear(), locked.inner.clear()
    interleaved(rounds, right, locked)
    return statistics.median(locked.inner), statistics.median(right.inner)


def load(path):
    def work():
        _ctypes.dlclose(_ctypes.dlopen(str(path), os.RTLD_NOW))

    return work


def loading_against_pam_unix(rounds=301):
    """dlopen and dlclose of the module, and of pam_unix.so, with the libraries that each brings.

    To be called in a process that has libpam, as every caller has, but no libsodium yet.
    """
    assert "libsodium" not in pathlib.Path("/proc/self/maps").read_text()
    [theirs] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_unix.so")
    ours, unix = load(MODULE), load(theirs)
    ours(), unix()
    return interleaved(rounds, ours, unix)


# MARK: A store of many

CROWD = 100_000


@contextlib.contextmanager
def crowd(bed, count):
    """Alice has the passcode 0471, and so have that many others: pairs of a uid and a name, nobody's accounts."""
    import forge  # it brings libsodium, and loading_against_pam_unix wants to be the first

    others = [(200_000 + number, f"person{number}") for number in range(count)]
    bed.store.mkdir(mode=0o700)
    machine.sh("mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", bed.store)
    try:
        bed.enroll("alice", "0471")
        forge.enroll_numbers_like(bed, "alice", others)
        yield others
    finally:
        machine.sh("umount", bed.store)


def accounts(people):
    """Accounts for these pairs, in the namespace's own /etc/passwd."""
    more = [f"{name}:x:{uid}:{uid}::/nonexistent:/bin/false\n" for uid, name in people]
    return accounts_changed(lambda lines: lines + more)


def tool(bed, *arguments, output=subprocess.DEVNULL):
    """A run of the tool, with its start and its end."""

    def work():
        subprocess.run([*bed.tool_words(), *arguments], check=True, stdout=output)

    return work


def listing(bed, *arguments, rounds=3):
    """`passcode list` into a file; and what it wrote."""
    with tempfile.TemporaryFile() as output:
        taken = [seconds(tool(bed, "list", *arguments, output=output)) for _ in range(rounds)]
        size = output.tell() // rounds
        output.seek(0)
        return quartile(taken), output.read(size).decode()


def reading(bed):
    """The seconds that cat takes for all records, with find to name them."""
    command = ["find", bed.store, "-type", "f", "-exec", "cat", "{}", "+"]
    return seconds(lambda: machine.sh(*command, stdout=subprocess.DEVNULL))


def status_among(many, few, rounds=101):
    """`passcode status alice` in two stores."""
    works = [tool(bed, "status", "alice") for bed in (many, few)]
    for work in works:
        work()
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [quartile(column) for column in zip(*taken, strict=True)]


def attempt_among(many, few, rounds=301):
    """A login of alice's in two stores."""
    works = [login(bed, "alice", "0471", "SUCCESS") for bed in (many, few)]
    for work in works:
        work()
        work.inner.clear()
    interleaved(rounds, *works)
    return [quartile(work.inner) for work in works]


def peak_memory(bed, *arguments):
    """Bytes that a run of the tool and its copies had at most at the same time; what they share counts for each. (A
    child's ru_maxrss has its parent's memory in it.)"""
    peak = 0
    with subprocess.Popen([*bed.tool_words(), *arguments], stdout=subprocess.DEVNULL) as run:
        while run.poll() is None:
            peak = max(peak, sum(most_so_far(pid) for pid in (run.pid, *children(run.pid))))
            time.sleep(0.005)
    assert run.returncode == 0
    return peak


def most_so_far(pid):
    """Bytes of memory that a process had at most; 0 where it has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) << 10 if found else 0
    return 0


# MARK: A batch


def batch_against_hash(bed, users=40, rounds=2):
    """`enroll --batch` on every processor at the default cost, and bare hashes in as many processes."""
    processes = os.cpu_count()
    bed.configure(opslimit=3, memlimit="64M", max_parallel=processes + 1)
    if not bed.key.exists():
        bed.tool("key", "init", check=0)
    others = lists.people(users)
    path = bed.folder / "list"
    path.write_text(lists.lines(others))
    work = bare_hash(3, 64 << 20)
    work()

    def hash_all():
        children = []
        for _ in range(processes):
            children.append(os.fork())
            if children[-1] == 0:
                for _ in range(users // processes):
                    work()
                os._exit(0)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0

    with accounts(others):
        taken = [
            [seconds(each) for each in (tool(bed, "enroll", "--batch", str(path), "--quiet"), hash_all)]
            for _ in range(rounds)
        ]
    return [min(column) for column in zip(*taken, strict=True)]


# MARK: Through the helper


def through_helper_against_direct(bed):
    """pam_authenticate in a process of alice's at the default cost, in pairs: through the helper, and with effective uid 0."""
    bed.configure(opslimit=3, memlimit="64M")
    bed.enroll("alice", "0471")
    direct, helped = both_ways(bed, rounds=31)
    return helped, direct


def added_by_helper(bed):
    """The seconds of a direct one at the default cost; and what the helper adds where the hash costs next to nothing.

    Neighbours disturb a hash of 60 ms by more than the helper takes altogether: what it adds can be measured well only
    without one.
    """
    bed.configure(opslimit=3, memlimit="64M")
    bed.enroll("alice", "0471")
    direct = quartile(both_ways(bed, rounds=9)[0])
    bed.configure(opslimit=1, memlimit="64K")
    bed.enroll("alice", "0471")
    quick, helped_quick = map(quartile, both_ways(bed, rounds=101))
    return direct, helped_quick - quick


def both_ways(bed, rounds):
    """What each of them took, directly and through the helper. Each login in a process of its own, as logins are: a process that hashes again and again on one processor is
    faster by more than the helper takes."""
    alice = uid("alice")

    def once(effective):
        def run():
            os.setresuid(alice, effective, 0)
            work = login(bed, "alice", "0471", "SUCCESS")
            work()
            return work.inner[0]

        return in_child(run)

    direct, helped = [], []
    for number in range(rounds):
        # The first of a pair finds the processor in another state than the second.
        for effective, taken in [(0, direct), (alice, helped)][:: -1 if number % 2 else 1]:
            taken.append(once(effective))
    return direct, helped


def locked_helper_against_unix_chkpwd(bed, rounds=101):
    return medians(locked_helper_and_unix_chkpwd(bed, rounds))


def locked_helper_and_unix_chkpwd(bed, rounds):
    """In each round: from the helper's start to the end of its reply for a locked account; and pam_unix's helper's run
    with the cheapest hash that a password can have.
    """
    machine.sh("chpasswd", "-c", "SHA256", "-s", "1000", input=f"alice:{PASSWORD}".encode())
    bed.enroll("alice", "0471")
    for code in ("1593", "2604", "3715"):
        bed.authenticate("alice", code)
    request = helper.request(helper.VERIFY, uid("alice"), passcode="0471")

    def run(program, arguments, data, check):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
            child = os.posix_spawn(program, [program, *arguments], {}, file_actions=actions)
            theirs.close()
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
        check(answer, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def is_locked(answer, _):
        assert answer[1] == 5, answer

    def is_right(_, status):
        assert status == 0, status

    def ours():
        run(str(machine.HELPER), [], request, is_locked)

    def theirs():
        run("/usr/sbin/unix_chkpwd", ["alice", "nonull"], PASSWORD.encode() + b"\0", is_right)

    os.setresuid(uid("alice"), uid("alice"), 0)
    ours(), theirs()
    return [(seconds(ours), seconds(theirs)) for _ in range(rounds)]


if __name__ == "__main__":
    sys.stdout.write(" ".join(map(repr, in_turns(*sys.argv[1:]) if sys.argv[1:] else loading_against_pam_unix())))
