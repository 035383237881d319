"""systemd-logind as far as passcode-finger asks it: its files in /run, and one property on the bus. The real one needs
systemd as the first process."""

import contextlib
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import textwrap

from bed import uid
from process import make_urgent, state, wait_for

FILES = pathlib.Path("/run/systemd")
SESSION = "7"

# Says how it stands with each session's lock; every session has the same object.
SERVICE = textwrap.dedent("""
    import os, sys
    import dbus, dbus.mainloop.glib, dbus.service
    from gi.repository import GLib

    class Login(dbus.service.Object):
        @dbus.service.method("org.freedesktop.login1.Manager", "s", "o")
        def GetSession(self, name):
            if name != "7":
                raise dbus.DBusException("none", name="org.freedesktop.login1.NoSuchSession")
            return "/org/freedesktop/login1/session/_37"

    class Session(dbus.service.Object):
        @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
        def Get(self, interface, name):
            assert (interface, name) == ("org.freedesktop.login1.Session", "LockedHint")
            return sys.argv[1] == "locked"

    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    login = Login(bus, "/org/freedesktop/login1")
    session = Session(bus, "/org/freedesktop/login1/session/_37")
    name = dbus.service.BusName("org.freedesktop.login1", bus)
    print("ready", flush=True)
    GLib.MainLoop().run()
""")


class Logind:
    """One session, of alice's, and what its file says; `lock` is "locked", "unlocked", or None: nobody tells. `front` is the
    session whose screen is seen on the machine's first seat; None: none is."""

    def __init__(self, lock="unlocked", display=True, front=SESSION, **said):
        values = {"UID": uid("alice"), "ACTIVE": 1, "REMOTE": 0, "STATE": "active", "TYPE": "wayland"}
        values |= {"SEAT": "seat0", "CLASS": "user"} | said
        self.write("sessions", SESSION, values)
        if display:
            self.write("users", uid("alice"), {"NAME": "alice", "STATE": "active", "DISPLAY": SESSION})
        self.write("seats", "seat0", {"IS_SEAT0": 1, "CAN_GRAPHICAL": 1, "ACTIVE": front, "ACTIVE_UID": values["UID"]})
        self.service = None
        if lock:
            command = [sys.executable, "-c", SERVICE, lock]
            self.service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=make_urgent)
            assert self.service.stdout.readline() == "ready\n"

    def write(self, kind, name, values):
        folder = FILES / kind
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)
        (folder / str(name)).write_text(text)

    def __enter__(self):
        return self

    def end(self):
        """Only who tells whether it is locked; another one is to come."""
        if self.service:
            # Popen kills no process that isn't a child: the test's child may do this.
            os.kill(self.service.pid, signal.SIGKILL)
            wait_for(lambda: state(self.service.pid) in "ZX")
            self.service.wait()
            self.service = None

    def __exit__(self, *_):
        for kind in ("sessions", "users", "seats"):
            for path in (FILES / kind).glob("*"):
                path.unlink()
        self.end()


def cgroups():
    """Where the kernel's cgroups of version 2 are, for libsystemd, too. In a bare root nobody has mounted them."""
    top = pathlib.Path("/sys/fs/cgroup")
    for folder in (top / "unified", top):
        if (folder / "cgroup.controllers").exists():
            return folder
    subprocess.run(["mount", "-t", "cgroup2", "cgroup2", top], check=True)
    return top


@contextlib.contextmanager
def scope():
    """What puts a new process into logind's session, as its cgroup tells: for Popen's preexec_fn."""
    # In a slice of its own: the kernel has one tree for all runs of the tests.
    folder = cgroups() / f"tests{secrets.token_hex(4)}.slice/session-{SESSION}.scope"
    folder.mkdir(parents=True)
    try:
        yield lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        wait_for(lambda: not (folder / "cgroup.procs").read_text())
        folder.rmdir()
        folder.parent.rmdir()
