"""systemd's journal on a test machine, for commands that read it: the daemon alone, without systemd."""

import re
import subprocess

from process import wait_for

PREPARE = """set -e
mount -t tmpfs tmpfs /sys
mkdir -p /sys/fs/cgroup /run/systemd/journal /run/log/journal /etc/systemd/journald.conf.d
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
printf '[Journal]\\nAudit=no\\nReadKMsg=no\\n' >/etc/systemd/journald.conf.d/test.conf
ln -sf /run/systemd/journal/dev-log /dev/log
"""


def start(machine):
    """From now on the machine's log goes there, and no longer to `machine.log`."""
    machine.run("sh", "-c", PREPARE)
    daemon = subprocess.Popen(machine.command("/usr/lib/systemd/systemd-journald"), stderr=subprocess.DEVNULL)
    wait_for(lambda: (machine.inside / "run/systemd/journal/dev-log").exists())
    assert daemon.poll() is None


def matches(machine, command, expected):
    """Waits until this command says that: the journal is written a little later than a line was sent."""
    said = []

    def does():
        said[:] = [machine.run("sh", "-c", command, status=None)]
        return re.search(expected, said[0])

    try:
        wait_for(does)
    except AssertionError:
        raise AssertionError(f"{command} says:\n{said[0]}") from None
