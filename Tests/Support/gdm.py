"""GDM on a machine whose first process is systemd: the real daemon and its session worker, on consoles of this kernel.
In place of GNOME and of the X server are programs that draw nothing, so that GDM's own sessions begin and go on. Who
asks GDM is a script there: at the login screen, in a session of GDM's, in another one on a seat, through ssh."""

import json
import shlex
import time

PROGRAMS = " gdm3 kbd openssh-client openssh-server python3-gi"
CONSOLES = "for number in $(seq 0 12); do [ -e /dev/tty$number ] || mknod /dev/tty$number c 4 $number; done"

# What GDM said, as one line of JSON.
ASK = """#!/usr/bin/python3
import json, sys
from gi.repository import Gio, GLib

BUS, PATH, MANAGER = "org.gnome.DisplayManager", "/org/gnome/DisplayManager/Manager", "org.gnome.DisplayManager.Manager"
VERIFIER, SESSION = "org.gnome.DisplayManager.UserVerifier", "/org/gnome/DisplayManager/Session"
method, service, user, *answers = sys.argv[1:]
said, loop = [], GLib.MainLoop()

def hear(connection, sender, path, interface, signal, values):
    said.append([signal, *values.unpack()[1:]])
    if signal == "SecretInfoQuery":
        if not answers: return loop.quit()
        answer = GLib.Variant("(ss)", (service, answers.pop(0)))
        connection.call(None, SESSION, VERIFIER, "AnswerQuery", answer, None, 0, -1, None, None)
    if signal in ("VerificationComplete", "ConversationStopped"): loop.quit()

try:
    bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)
    about = GLib.Variant("(s)", (user,)) if method == "OpenReauthenticationChannel" else None
    (address,) = bus.call_sync(BUS, PATH, MANAGER, method, about, None, 0, 20000).unpack()
    to = Gio.DBusConnection.new_for_address_sync(address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)
    to.signal_subscribe(None, VERIFIER, None, SESSION, None, 0, hear)
    asked = GLib.Variant("(ss)", (service, user))
    to.call_sync(None, SESSION, VERIFIER, "BeginVerificationForUser", asked, None, 0, 20000)
    GLib.timeout_add_seconds(30, loop.quit)
    loop.run()
    if method == "OpenSession": to.call_sync(None, SESSION, VERIFIER, "Cancel", None, None, 0, 20000)
except GLib.Error as error:
    said.append(["Error", error.message])
print(json.dumps(said))
"""

# A session of logind's: USER [NAME=VALUE...] -- COMMAND...
SESSION = """#!/usr/bin/python3
import ctypes, os, pwd, sys
mark = sys.argv.index("--")
(user, *environment), command = sys.argv[1:mark], sys.argv[mark + 1:]
pam = ctypes.CDLL("libpam.so.0")
handle, conversation = ctypes.c_void_p(), (ctypes.c_void_p * 2)()
assert pam.pam_start(b"seat", user.encode(), conversation, ctypes.byref(handle)) == 0
for entry in environment: assert pam.pam_putenv(handle, entry.encode()) == 0
assert pam.pam_open_session(handle, 0) == 0
if (child := os.fork()) == 0:
    person = pwd.getpwnam(user)
    os.initgroups(user, person.pw_gid), os.setgid(person.pw_gid), os.setuid(person.pw_uid)
    os.execvp(command[0], command)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
pam.pam_close_session(handle, 0)
sys.exit(status)
"""

# In place of GNOME: does what is written to a pipe, and stays. GDM counts a session that registers its display.
DESKTOP = """#!/bin/sh
gdbus call --system --dest org.gnome.DisplayManager --object-path /org/gnome/DisplayManager/Manager \\
  --method org.gnome.DisplayManager.Manager.RegisterDisplay '{}' >/dev/null
place=/desks/$(id -un)
mkfifo $place $place.answer
while true; do sh -c "$(cat $place)" >$place.answer; done
"""
X_SERVER = """#!/bin/bash
while (($#)); do [[ $1 == -displayfd ]] && echo 7 >&"$2"; shift; done
exec sleep infinity
"""
ENTRY = "[Desktop Entry]\nName=GNOME\nExec=gnome-session\nType=Application\n"
FILES = {
    "usr/local/bin/ask-gdm": ASK, "usr/local/bin/in-session": SESSION, "usr/bin/gnome-session": DESKTOP,
    "usr/bin/Xorg": X_SERVER, "usr/share/xsessions/gnome.desktop": ENTRY, "etc/pam.d/seat": "session required pam_systemd.so\n",
}  # fmt: skip
KEY = """set -e
ssh-keygen -q -t ed25519 -N '' -f /home/bob/key
install -D -o bob -m 0600 /home/bob/key.pub /home/bob/.ssh/authorized_keys
chown -R bob: /home/bob
"""


class Gdm:
    def __init__(self, container):
        self.container = container
        self.run = container.run
        # logind looks for consoles when it begins. X, because that needs no graphics card.
        self.run(f"{CONSOLES}; systemctl restart systemd-logind; rm -f /usr/share/wayland-sessions/*")
        self.run(f"{KEY}install -d -m 0777 /desks")
        self.run("systemctl start ssh")
        self.seen = self.foreground()

    def remove(self):
        """The consoles are this machine's: the one in the foreground is as before."""
        self.run("systemctl stop gdm3", None)
        self.run(f"chvt {self.seen}", None)
        self.container.remove()

    def foreground(self):
        return self.run("cat /sys/class/tty/tty0/active").strip().removeprefix("tty")

    def begin(self, *lines):
        """Its login screen, or, with `lines` of configuration, what they ask for."""
        text = "\\n".join(("[daemon]", *lines))
        self.run(f"printf '{text}\\n' > /etc/gdm3/daemon.conf; systemctl stop gdm3; rm -rf /desks/*")
        self.run("loginctl --no-legend list-sessions | awk '{print $1}' | xargs -r loginctl terminate-session", None)
        self.run("systemctl start gdm3")

    def wait_for_session(self, user):
        self.container.wait(f"test -p /desks/{user}.answer")

    def asked_in_session(self, user, *arguments):
        """What GDM says to a process in a session that it began."""
        pipe = f"/desks/{user}"
        command = shlex.quote(shlex.join(("ask-gdm", *arguments)))
        for _ in range(20):
            said = json.loads(self.run(f"echo {command} > {pipe}; timeout 60 cat {pipe}.answer"))
            if said[-1][0] != "Error":
                break
            time.sleep(0.5)  # its worker for the call before is still there
        return said

    def asked_on_seat(self, user, *arguments, console=None):
        """The same in a session of another program on seat0: on the console in the foreground, or on another one."""
        number = console or self.foreground()
        session = f"{user} XDG_SEAT=seat0 XDG_VTNR={number} XDG_SESSION_TYPE=tty XDG_SESSION_CLASS=user"
        command = f"in-session {session} -- ask-gdm {shlex.join(arguments)}"
        return json.loads(self.run(f"systemd-run --quiet --pipe --wait {command}"))

    def asked_by_ssh(self, *arguments):
        """The same in bob's, who has a key and no password."""
        command = f"ssh -i /home/bob/key -o StrictHostKeyChecking=no bob@localhost ask-gdm {shlex.join(arguments)} 2>/dev/null"
        return json.loads(self.run(f"setpriv --reuid=bob --regid=bob --init-groups {command}"))
