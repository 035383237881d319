"""A machine whose first process is systemd, with journald, the bus and logind, on this machine's kernel: for what has
only milliseconds, for which an emulated processor is too slow. It has namespaces and a cgroup of its own; no AppArmor,
which machines in QEMU have (guest.py)."""

import itertools
import os
import shutil
import socket
import time

import pexpect.fdpexpect

import logind
from debian_machine import Machine, root
from guest import Shell, answer
from process import wait_for

PROGRAMS = (
    "adduser dbus iproute2 libpam-runtime libpam-systemd libsodium23 login passwd polkitd procps socat sudo"
    " systemd-sysv util-linux"
)

# Devices and mounts stay this machine's: systemd leaves them alone where `container` is set, and the kernel's modules
# where it can't load any.
BOOT = """set -e
root=$1
source "$2"
hostname machine
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -o remount,bind,ro "$root/sys"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
make_dev "$root/dev"
chroot "$root" ip link set lo up
echo 127.0.0.1 localhost machine > "$root/etc/hosts"
eval "$3"
echo up
exec chroot "$root" setpriv --bounding-set=-sys_module /usr/bin/env -i container=other LANG=C.UTF-8 \\
  /lib/systemd/systemd </dev/null >/dev/null 2>&1
"""


class Systemd(Machine):
    boot = BOOT
    namespaces = ("cgroup", *Machine.namespaces)
    cgroups = itertools.count(1)

    def start(self):
        self.cgroup = logind.cgroups() / f"machine-{os.getpid()}-{next(Systemd.cgroups)}"
        self.cgroup.mkdir()
        super().start()

    def before(self):
        (self.cgroup / "cgroup.procs").write_text("0")

    def stop(self):
        super().stop()
        wait_for(lambda: "populated 0" in (self.cgroup / "cgroup.events").read_text())
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(folder)

    def ready(self):
        end = time.monotonic() + 60
        while self.run("systemctl", "is-system-running", status=None).strip() != "running":
            assert time.monotonic() < end, self.run("systemctl", "list-units", "--failed", status=None)
            time.sleep(0.1)


class Container:
    """Installed there are these packages' dependencies; they themselves lie in /root. `files`: {path: text}, and a text
    that begins with "#!" is made executable."""

    def __init__(self, release, *debs, programs="", files=()):
        self.machine = Systemd(root(release, PROGRAMS + programs))
        self.machine.people()
        for path, text in dict(files).items():
            place = self.machine.path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o755 if text.startswith("#!") else 0o644)
        for deb in debs:
            shutil.copy(deb, self.machine.path / "root")
        self.run("systemctl daemon-reload")

    def run(self, command, status=0):
        """As root; checks its exit status unless that is None."""
        return self.machine.run("bash", "-c", command, status=status)

    def terminal(self):
        """A terminal, at getty's prompt."""
        self.run("systemd-run --quiet --unit=line socat UNIX-LISTEN:/run/line PTY,link=/run/terminal")
        self.wait("test -S /run/line")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{self.machine.inside}/run/line")
        self.wait("test -e /run/terminal")
        self.run("systemctl start container-getty@$(basename $(readlink /run/terminal))")
        line = pexpect.fdpexpect.fdspawn(self.socket, encoding="utf-8", codec_errors="replace", timeout=30)
        line.expect("login: ")
        return line

    def log_in(self, user, *dialogue, line=None):
        """On a terminal, by getty and login. Answers with that person's shell."""
        line = line or self.terminal()
        line.send(f"{user}\r")
        answer(line, dialogue)
        return Shell(line)

    def wait(self, command):
        wait_for(lambda: self.run(f"{command}; echo $?", None).strip() == "0")

    def start(self):
        self.machine.start()

    def cut(self):
        """All processes die at once."""
        self.machine.stop()

    def remove(self):
        self.machine.remove()
