"""systemd-logind as far as passcode-finger asks it: its files in /run, and one property on the bus. The real one needs
systemd as the first process."""

import pathlib
import subprocess
import sys
import textwrap

from finger import uid

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
    """One session, of alice's, and what its file says; `lock` is "locked", "unlocked", or None: nobody tells."""

    def __init__(self, lock="unlocked", display=True, **said):
        values = {"UID": uid("alice"), "ACTIVE": 1, "REMOTE": 0, "STATE": "active", "TYPE": "wayland"} | said
        self.write("sessions", SESSION, values)
        if display:
            self.write("users", uid("alice"), {"NAME": "alice", "STATE": "active", "DISPLAY": SESSION})
        self.service = None
        if lock:
            command = [sys.executable, "-c", SERVICE, lock]
            self.service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert self.service.stdout.readline() == "ready\n"

    def write(self, kind, name, values):
        folder = FILES / kind
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)
        (folder / str(name)).write_text(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for kind in ("sessions", "users"):
            for path in (FILES / kind).iterdir():
                path.unlink()
        if self.service:
            self.service.kill()
            self.service.wait()
            self.service = None
