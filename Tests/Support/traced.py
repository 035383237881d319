"""Runs programs of the build one visible system call at a time, by ptrace: each stops where it is about to do something that
others can see, or to look at what others may have done.

What is visible: calls on files below the folders that `World` watches, the list of locks, the ending of a process, and
host.c's mark where a hash begins. The clock is the World's own: nothing waits, and a sleep only moves the clock on. So that
a program asks the kernel for the time, the kernel's page of code for that (the vDSO) is hidden from it.
"""

import contextlib
import copy
import dataclasses
import functools
import os
import pathlib
import signal
import struct
import subprocess
import time

from ptrace import (
    ANY, CLONE, CONT, EVENTS, EXEC, EXITKILL, FORK, GOOD, SECCOMP, SETOPTIONS, SYSCALL, TRAP, VFORK, call_of, hide_vdso,
    path_of, peek, poke, ptrace, replace_call, result_of,
)  # fmt: skip

HERE = pathlib.Path(__file__).parent
CHANGES = {"pwrite64", "fchmod", "fchown", "utimensat", "linkat", "unlinkat", "ftruncate", "renameat", "renameat2", "mkdirat"}
EVERY = "every"
KINDS = {
    "flock": "lock", "fcntl": "range", "pidfd_send_signal": EVERY, "getsid": "hash", "getdents64": "folder",
    "pread64": "file", "pwrite64": "file", "ftruncate": "file",
}  # fmt: skip


def compiled(name, result, *options):
    result.parent.mkdir(mode=0o755, exist_ok=True)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", *options, "-o", result, HERE / name], check=True)
    return str(result)


@functools.cache
def launcher():
    """The path of traced.c, compiled; and its calls' names by their numbers."""
    path = compiled("traced.c", pathlib.Path("/run/passcode-traced/traced"))
    lines = subprocess.run([path, "calls"], check=True, capture_output=True, text=True).stdout.splitlines()
    return path, {int(number): name for name, number in map(str.split, lines)}


@contextlib.contextmanager
def marked_hashes():
    """Meanwhile every program marks where it hashes, setuid ones, too."""
    preload = pathlib.Path("/etc/ld.so.preload")
    path = compiled("hashmark.c", pathlib.Path("/run/passcode-traced/hashmark.so"), "-shared", "-fPIC", "-ldl")
    preload.write_text(path + "\n")
    try:
        yield
    finally:
        preload.unlink()


@dataclasses.dataclass(frozen=True)
class Call:
    """A visible call that is about to be made: its name, its arguments, and what it is about."""

    name: str
    arguments: tuple
    path: str  # or "" where it names no file
    pid: int

    @property
    def touches(self):
        """[(kind, path, whether it changes that)]: two calls that touch nothing in common can be swapped."""
        name, path = self.name, self.path
        if name in ("fdatasync", "fsync"):
            return []
        if name in KINDS:
            return [(KINDS[name], path, name not in ("pread64", "getdents64"))]
        if name == "openat":
            return [("lock", EVERY, False)] if path == "/proc/locks" else [("name", path, False)]
        if name in ("linkat", "unlinkat", "renameat", "renameat2", "mkdirat"):
            return [("folder", os.path.dirname(path), True), ("name", path, True), ("file", path, True)]
        return [("status", path, name in CHANGES)]


def conflict(first, second):
    """Whether the order of these two calls may matter."""
    return any(
        (changes or changed) and (EVERY in (kind, other) or kind == other and (path == at or EVERY in (path, at)))
        for kind, path, changes in first.touches
        for other, at, changed in second.touches
    )


class World:
    """The clock, the folders that are watched, and all processes."""

    def __init__(self, folders):
        self.folders = {str(folder) for folder in folders}
        self.now = 0  # nanoseconds that were slept
        self.base = {clock: time.clock_gettime_ns(clock) for clock in (0, 1, 7)}
        self.owners = {}  # of each process: its actor

    def again(self):
        """The same, without processes, at the same time of day."""
        other = copy.copy(self)
        other.now, other.owners = 0, {}
        return other

    def watches(self, path):
        return path == "/proc/locks" or any(path == one or path.startswith(one + "/") for one in self.folders)

    def wait(self, options=0):
        """For the next thing that the kernel says of any process: its number, and its status."""
        pid, status = os.waitpid(-1, ANY | options)
        if pid and pid not in self.owners:  # a child that comes before its parent's report of it
            self.owners[pid] = self.owners[parent(pid)]
            self.owners[pid].running.add(pid)
        return pid, status

    def heed(self, pid, status):
        self.owners[pid].heed(pid, status)

    def heed_at_once(self):
        """What it has said by now, if anything."""
        pid, status = self.wait(os.WNOHANG)
        if pid:
            self.heed(pid, status)
        else:
            time.sleep(0.0001)


def stat(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def parent(pid):
    return int(stat(pid)[1])


def is_busy(pid):
    """It is neither asleep in a call that waits for something, nor dead."""
    return stat(pid)[0] not in "SX"


class Actor:
    """An operation: a command with its children, all of which stop at their visible calls."""

    def __init__(self, world, command, stdin=b"", user=0, group=0):
        self.world, self.waiting, self.running = world, [], set()
        self.asleep = {}  # for how many nanoseconds
        self.sleeping = False  # since its last visible call it has slept: it waits for others
        self.status = None
        reading, writing = os.pipe()
        os.write(writing, stdin)
        os.close(writing)
        self.output, output = os.pipe()
        path, self.names = launcher()
        self.pid = os.posix_spawn(
            path, [path, str(user), str(group), *command], {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
        )  # fmt: skip
        os.close(reading)
        os.close(output)
        self.running.add(self.pid)
        world.owners[self.pid] = self
        os.waitpid(self.pid, ANY)
        ptrace(SETOPTIONS, self.pid, 0, GOOD | FORK | VFORK | CLONE | EXEC | SECCOMP | EXITKILL)
        ptrace(CONT, self.pid)
        self.advance()

    # MARK: To its next visible call

    def advance(self):
        """Until one of its processes is about to make a visible call, and the others wait for something; or all have ended."""
        while self.running:
            going = self.running - {call.pid for call in self.waiting} - set(self.asleep)
            if not self.waiting and not self.asleep:
                self.world.heed(*self.world.wait())
            elif any(is_busy(pid) for pid in going):
                self.world.heed_at_once()
            elif self.waiting:
                break
            else:
                self.wake()
        self.waiting.sort(key=lambda call: call.pid)

    def heed(self, pid, status):
        """What the kernel says of one of its processes."""
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return self.lose(pid, status)
        event, number = EVENTS.get(status >> 16), os.WSTOPSIG(status)
        if event == "call":
            return self.consider(pid)
        if event == "exec":
            hide_vdso(pid)
        # A child begins with SIGSTOP.
        ptrace(CONT, pid, 0, 0 if event or number == signal.SIGSTOP else number)

    def lose(self, pid, status):
        self.running.discard(pid)
        self.asleep.pop(pid, None)
        self.waiting = [call for call in self.waiting if call.pid != pid]
        del self.world.owners[pid]
        if pid == self.pid:
            self.status = os.waitstatus_to_exitcode(status)

    def consider(self, pid):
        name, arguments = call_of(pid, self.names)
        if name in ("clock_gettime", "nanosleep", "clock_nanosleep"):
            return self.tell_time(pid, name, arguments)
        path = "" if name in ("getsid", "pidfd_send_signal") else path_of(pid, name, arguments)
        if not path or self.world.watches(path):
            self.waiting.append(Call(name, arguments, path, pid))
        else:
            ptrace(CONT, pid)

    def tell_time(self, pid, name, arguments):
        if name == "clock_gettime":
            base = self.world.base.get(arguments[0])
            if base is None:
                return ptrace(CONT, pid)
            poke(pid, arguments[1], struct.pack("qq", *divmod(base + self.world.now, 10**9)))
        else:
            seconds, nanoseconds = struct.unpack("qq", peek(pid, arguments[0 if name == "nanosleep" else 2], 16))
            self.asleep[pid] = seconds * 10**9 + nanoseconds
            return None
        replace_call(pid, 0)
        return ptrace(CONT, pid)

    def wake(self):
        """The one that sleeps least, when all others wait: it may look whether one of them has gone on."""
        pid = min(self.asleep, key=lambda one: (self.asleep[one], one))
        self.world.now += self.asleep.pop(pid)
        self.sleeping = True
        replace_call(pid, 0)
        ptrace(CONT, pid)

    # MARK: One call

    @property
    def next(self):
        """The visible call that it is about to make; None: it has ended."""
        return self.waiting[0] if self.waiting else None

    def step(self, result=None):
        """Makes its next call, and goes on to the one after it; with a result, the call isn't made and returns that.

        - Returns: the call's result, negative where it failed; None where the process ended in it."""
        call = self.waiting.pop(0)
        self.sleeping = False
        if result is not None:
            replace_call(call.pid, result)
            ptrace(CONT, call.pid)
        else:
            result = self.make(call.pid)
        self.advance()
        return result

    def make(self, pid):
        ptrace(SYSCALL, pid)
        while True:
            found, status = self.world.wait()
            if found == pid and os.WIFSTOPPED(status) and status >> 16 == 0 and os.WSTOPSIG(status) == TRAP:
                result = result_of(pid)
                ptrace(CONT, pid)
                return result
            self.world.heed(found, status)
            if pid not in self.running:
                return None

    def kill(self, *pids):
        """These processes of it; without any, all."""
        for pid in pids or list(self.running):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while self.running.intersection(pids or self.running):
            self.world.heed(*self.world.wait())
        self.advance()

    def said(self):
        """What it printed."""
        data = b"".join(iter(lambda: os.read(self.output, 65536), b""))
        os.close(self.output)
        return data
