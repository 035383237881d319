"""Processes as /proc shows them, and waiting for what they do."""

import contextlib
import os
import pathlib
import signal
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


def end_child(child):
    """Ends a program at its terminal, by SIGKILL at last: pexpect gives it a tenth of a second to be gone by then."""
    with contextlib.suppress(pexpect.ExceptionPexpect):
        child.close(force=True)
    wait_for(lambda: not child.isalive())


def in_locks(path):
    """How /proc/locks names the file, as a regular expression. Each run of the tests has files with the same numbers, on
    devices of its own; where nothing can be mounted there is one run, and a device may have two names."""
    status = os.stat(path)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    return rf"{r'[0-9a-f]+:[0-9a-f]+' if os.environ.get('PASSCODE_PLAIN') else device}:{status.st_ino}"


def make_urgent(pid=0):
    """What a prompt waits for 300 ms at most isn't as nice as the tests may be, whatever else the machine does. 0: this
    process; for Popen's preexec_fn."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -10)
    except ProcessLookupError:
        pass  # it has ended already


def children(pid):
    """Of all its threads: {pid: state}. One that ends meanwhile is left out."""
    states = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states[int(child)] = state(child)
    return states


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def open_files(pid):
    return {os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
