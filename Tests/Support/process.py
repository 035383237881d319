"""Processes as /proc shows them, and waiting for what they do."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import pexpect


def heed_signals():
    """They are ignored under nohup, or behind a shell's "&"; programs inherit that."""
    for number, handler in (
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def wait_for(condition, seconds=20):
    """Looks every 5 ms, and less often, up to every 50 ms, the longer it takes: to look may take processor time, too."""
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        assert waited < seconds, f"not within {seconds} s"
        time.sleep(min(max(0.005, waited / 20), 0.05))


def sh(*command, **how):
    return subprocess.run([str(part) for part in command], check=True, **how)


def start_at_socket(command, **more):
    """systemd-socket-activate, once it listens: its socket is there a little earlier, and refuses connections until then."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stderr=said, **more)
        wait_for(lambda: b"Listening on " in os.pread(said.fileno(), 4096, 0))
    return process


def listens(process, path):
    """Whether somebody in its network does at this socket, which is there a little earlier."""
    sockets = pathlib.Path(f"/proc/{process.pid}/net/unix").read_text()
    return re.search(rf"^(?:\S+ +){{3}}00010000 .* {re.escape(str(path))}$", sockets, re.MULTILINE)


def accepts(path):
    """Whether a socket accepts connections. Its file is there a little earlier."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def end_child(child):
    """Ends a program at its terminal, by SIGKILL at last: pexpect gives it a tenth of a second to be gone by then."""
    with contextlib.suppress(pexpect.ExceptionPexpect):
        child.close(force=True)
    wait_for(lambda: not child.isalive())


def close_window(child):
    """Closes a program's terminal, and no more: pexpect gives it four tenths of a second to be gone by then."""
    with contextlib.suppress(pexpect.ExceptionPexpect):
        child.close(force=False)


def in_locks(path):
    """How /proc/locks names the file, as a regular expression. Each run of the tests has files with the same numbers, on
    devices of its own; where nothing can be mounted there is one run, and a device may have two names."""
    status = os.stat(path)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    return rf"{r'[0-9a-f]+:[0-9a-f]+' if os.environ.get('PASSCODE_PLAIN') else device}:{status.st_ino}"


def make_urgent(pid=0):
    """What is given a short time only isn't as nice as the tests may be, whatever else the machine does. 0: this process;
    for Popen's preexec_fn."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -10)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended already; or a plain container permits it to nobody


def children(pid):
    """Of all its threads: {pid: state}. One that ends meanwhile is left out."""
    states = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in path.read_text().split():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    states[int(child)] = state(child)
    return states


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def open_files(pid):
    """One that is closed meanwhile is left out; of a process that has ended there are none."""
    files = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                files.add(os.readlink(f"/proc/{pid}/fd/{number}"))
    return files
