"""Programs that lock a screen or log people in, each driven as a person drives it. All show what they ask through PAM
(conversation.py), and all have the same hands: lock, answer, again, cancel, is_open."""

import json
import os
import socket
import struct
import subprocess
import time

import pexpect

from conversation import Conversation
from process import wait_for

ASKED = "Passcode or password: "


class Locker:
    """Runs on a machine where alice is enrolled and the profile enabled."""

    releases = ("bookworm", "trixie")
    # It gives every prompt of a call the same answer: after Enter alone the call fails, and the next one asks again.
    answers_once = False
    # It begins no call for an empty field.
    ignores_enter = False

    def __init__(self, machine):
        self.machine = machine
        self.talk = Conversation(machine)

    def calls(self):
        return self.talk.calls(self.service)

    def ended(self):
        """So many calls have a result."""
        return sum(call.result is not None for call in self.calls())

    def prompts(self):
        return sum(len(call.prompts) for call in self.calls())

    def wait_for_prompt(self, before):
        wait_for(lambda: self.prompts() > before, 30)

    def again(self):
        """After a refusal: until the next answer can be typed."""

    def lock_again(self):
        """Once it was opened."""
        self.lock()

    def stop(self):
        """What must not outlive the test; the rest goes with the machine."""


# MARK: On a terminal


class Vlock(Locker):
    service = "vlock"

    def lock(self):
        self.child = self.machine.terminal("vlock")
        self.press_enter()

    def press_enter(self):
        before = self.prompts()
        self.child.expect(r"press \[ENTER\] to unlock\.")
        time.sleep(0.3)
        self.child.send("\r")
        self.wait_for_prompt(before)

    def answer(self, text):
        assert self.child.waitnoecho(timeout=20)
        time.sleep(0.3)  # it empties the terminal's queue before it reads
        self.child.send(text + "\r")

    def again(self):
        """It tries root next, for whom only the password is asked; nobody answers that."""
        self.child.expect("root's Password: ")
        self.answer("")
        self.press_enter()

    def cancel(self):
        self.child.send("\x04")  # end of input, with nothing typed

    def is_open(self):
        try:
            self.child.expect(pexpect.EOF, timeout=0.1)
        except pexpect.TIMEOUT:
            return False
        self.child.close()
        return self.child.exitstatus == 0


class Screen(Locker):
    """C-a x. It asks "Password:" itself, before PAM, and gives every prompt that answer."""

    service = "screen"
    answers_once = True

    def lock(self):
        self.machine.run("install", "-d", "-m", "1777", "/run/screen")
        self.child = self.machine.terminal("env", "TERM=vt100", "screen", "-h", "10", "bash", "--norc")
        self.child.expect(r"\$ ")
        # As a login leaves it: the shell's own process opens the terminal again when the screen is unlocked.
        os.chown(os.readlink(f"/proc/{self.child.pid}/fd/0"), 1000, 5)
        self.child.send("\x01x")
        self.child.expect("Password:")

    def answer(self, text):
        time.sleep(0.3)
        self.child.send(text + "\r")

    def again(self):
        self.child.expect("Password:", timeout=30)

    def cancel(self):
        self.child.send("\x03")  # which it ignores

    def is_open(self):
        """Once the shell inside is drawn again."""
        return self.child.expect([r"\$ ", pexpect.TIMEOUT], timeout=0.5) == 0


# MARK: On a display


class Display(Locker):
    """800x600, with a keyboard that xdotool types on."""

    def start_display(self):
        self.machine.run("install", "-d", "-o", "alice", "-m", "700", "/run/user/1000")
        self.processes = []
        # An earlier one was killed: what it left would keep this one from starting, or look like its socket.
        for name in (".X7-lock", ".X11-unix/X7"):
            (self.machine.path / "tmp" / name).unlink(missing_ok=True)
        self.start("Xvfb", ":7", "-screen", "0", "800x600x24", "-ac", "-noreset")
        wait_for(lambda: "x:" in self.run("xdotool", "getmouselocation", status=None))

    def start(self, *command):
        command = self.machine.command("env", *self.environment(), *command, user="alice")
        output = (self.machine.path / "var/tmp/output").open("a")
        self.processes.append(subprocess.Popen(command, stdout=output, stderr=output))
        return self.processes[-1]

    def environment(self):
        return "DISPLAY=:7", "XDG_RUNTIME_DIR=/run/user/1000"

    def run(self, *command, status=0):
        return self.machine.run("env", *self.environment(), *command, user="alice", status=status)

    def key(self, name):
        self.run("xdotool", "key", name)

    def answer(self, text):
        time.sleep(0.5)  # it draws its field
        if text:
            self.run("xdotool", "type", "--delay", "40", text)
        self.key("Return")

    def cancel(self):
        self.key("Escape")

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


class XScreenSaver(Display):
    service = "xscreensaver"

    def lock(self):
        self.start_display()
        (self.machine.path / "home/alice/.xscreensaver").write_text(
            "lock: True\nmode: blank\nfade: False\nunfade: False\npasswdTimeout: 0:02:00\n"
        )
        self.daemon = self.start("xscreensaver", "--no-splash")
        wait_for(self.locks, 60)
        wait_for(lambda: "screen locked" in self.state())
        self.wake()

    def lock_again(self):
        before = self.prompts()
        wait_for(self.locks, 60)
        wait_for(lambda: "screen locked" in self.state())
        self.wake(before)

    def locks(self):
        """Whether it is told to, now or before: on a busy machine the answer to that may be lost."""
        said = self.run("xscreensaver-command", "-lock", status=None)
        assert self.daemon.poll() is None, (self.machine.path / "var/tmp/output").read_text()
        return "locking" in said or "screen locked" in self.state()

    def state(self):
        return self.run("xscreensaver-command", "-time", status=None)

    def wake(self, before=0):
        """Until it asks. A notice comes first, until its button is pressed, by Return."""
        for _ in range(15):
            shown = any(call.messages and call.result is None for call in self.calls())
            self.key("Return" if shown else "Shift_L")
            time.sleep(2)
            if self.prompts() > before:
                return
        raise AssertionError("it doesn't ask")

    def answer(self, text):
        super().answer(text)
        time.sleep(2)
        if any(call.messages and call.result is None for call in self.calls()):
            self.key("Return")  # the notice's button

    def again(self):
        if self.calls()[-1].result is not None:
            time.sleep(4)  # "Authentication failed!"
            self.wake(1)

    def is_open(self):
        return "non-blanked" in self.state()


class GtkLock(Display):
    """On sway, whose display is a window of Xvfb."""

    service = "gtklock"
    releases = ("trixie",)
    answers_once = True

    def lock(self):
        self.start_display()
        (self.machine.path / "home/alice/sway").write_text("output X11-1 resolution 800x600\nxwayland disable\n")
        self.start("env", "WLR_BACKENDS=x11", "WLR_RENDERER=pixman", "dbus-run-session", "sway", "-c", "/home/alice/sway")
        wait_for(lambda: (self.machine.inside / "run/user/1000/wayland-1").exists())
        time.sleep(1)
        self.lock_again()

    def lock_again(self):
        self.locker = self.start("env", "DISPLAY=", "WAYLAND_DISPLAY=wayland-1", "gtklock")
        time.sleep(3)
        self.run("xdotool", "mousemove", "400", "320", "click", "1")

    def again(self):
        time.sleep(1)

    def is_open(self):
        return self.locker.poll() == 0


class XfceScreenSaver(Display):
    service = "xfce4-screensaver"
    releases = ("trixie",)

    def lock(self):
        self.start_display()
        script = (
            "xfconf-query -c xfce4-screensaver -p /lock/enabled -n -t bool -s true; "
            'echo "$DBUS_SESSION_BUS_ADDRESS" > /home/alice/bus; exec xfce4-screensaver'
        )
        self.start("dbus-run-session", "sh", "-c", script)
        wait_for(lambda: "active" in self.ask("--query"))
        self.lock_again()

    def lock_again(self):
        before = self.prompts()
        self.ask("--lock")
        wait_for(lambda: "is active" in self.ask("--query"))
        self.wake(before)

    def ask(self, option):
        bus = self.machine.path / "home/alice/bus"
        address = bus.read_text().strip() if bus.exists() else ""
        return self.run("env", f"DBUS_SESSION_BUS_ADDRESS={address}", "xfce4-screensaver-command", option, status=None)

    def wake(self, before):
        time.sleep(1)
        self.run("xdotool", "mousemove", "300", "300")
        self.key("Shift_L")
        self.wait_for_prompt(before)
        time.sleep(1)

    def again(self):
        self.wait_for_prompt(1)
        time.sleep(3)

    def is_open(self):
        return "inactive" in self.ask("--query")


class Phosh(Locker):
    """The keypad of a phone, on phoc without a screen. It has no file in /etc/pam.d."""

    service = "phosh"
    releases = ("trixie",)
    answers_once = ignores_enter = True
    environment = (
        "XDG_RUNTIME_DIR=/run/user/1000", "WAYLAND_DISPLAY=wayland-0", "XDG_CURRENT_DESKTOP=Phosh:GNOME",
        "WLR_BACKENDS=headless", "WLR_RENDERER=pixman", "WLR_LIBINPUT_NO_DEVICES=1", "GSK_RENDERER=cairo",
    )  # fmt: skip

    def lock(self):
        self.machine.run("install", "-d", "-o", "alice", "-m", "700", "/run/user/1000")
        command = ("env", *self.environment, "dbus-run-session", "phoc", "-E", "/usr/libexec/phosh")
        with (self.machine.path / "var/tmp/output").open("a") as output:
            self.shell = subprocess.Popen(
                self.machine.command(*command, user="alice"), stdout=output, stderr=output
            )
        wait_for(lambda: (self.machine.inside / "run/user/1000/wayland-0").exists())
        time.sleep(8)  # it begins locked
        self.keys("-k", "space")  # shows the keypad
        time.sleep(2)

    def keys(self, *keys):
        """The first key of a new keyboard comes too early, without a pause before it."""
        self.machine.run("env", *self.environment, "wtype", "-s", "1000", *keys, "-s", "500", user="alice")

    def answer(self, text):
        erased = ["-k", "BackSpace"] * 3  # what showed the keypad
        self.keys(*erased, *(["-d", "50", text, "-s", "300"] if text else []), "-k", "Return")

    def again(self):
        time.sleep(3)  # it shakes the field, and empties it

    def cancel(self):
        self.keys("-k", "Escape")

    def is_open(self):
        return any(call.result == "Success" for call in self.calls())

    def stop(self):
        self.shell.kill()
        self.shell.wait()


# MARK: Logins


class LightDM(Display):
    """Its GTK greeter on an Xvfb. It shows notices, and of the prompts only the field."""

    service = "lightdm"
    files = {
        "usr/local/bin/xserver": '#!/bin/sh\nexec Xvfb "$1" -screen 0 800x600x24 -ac\n',
        "etc/lightdm/lightdm.conf": "[Seat:*]\nxserver-command=/usr/local/bin/xserver\n"
        "greeter-session=lightdm-gtk-greeter\nuser-session=mark\n",
        "usr/share/xsessions/mark.desktop": "[Desktop Entry]\nName=mark\nExec=touch /home/alice/in\nType=Application\n",
    }

    def lock(self):
        for name, text in self.files.items():
            path = self.machine.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.machine.run("sh", "-c", "mkdir -p /run/dbus && dbus-daemon --system --fork")
        self.begin()

    def begin(self):
        before, names = self.prompts(), len(self.talk.calls(self.service))
        self.daemon = subprocess.Popen(
            self.machine.command("lightdm"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(lambda: len(self.talk.calls(self.service)) > names, 60)  # it asks for the name
        time.sleep(3)
        self.answer("alice")
        self.wait_for_prompt(before)

    def lock_again(self):
        self.daemon.terminate()
        self.daemon.wait()
        (self.machine.path / "home/alice/in").unlink()
        self.begin()

    def environment(self):
        return ("DISPLAY=:0",)

    def calls(self):
        return [call for call in super().calls() if call.prompts != ["login:"]]

    def again(self):
        self.wait_for_prompt(1)

    def is_open(self):
        return (self.machine.path / "home/alice/in").exists()

    def stop(self):
        self.daemon.kill()
        self.daemon.wait()


class Greetd(Locker):
    """A greeter is whoever speaks its protocol on its socket."""

    service = "greetd"
    configuration = '[terminal]\nvt = "none"\n[default_session]\ncommand = "sleep infinity"\nuser = "_greetd"\n'

    def lock(self):
        (self.machine.path / "var/tmp/greetd").write_text(self.configuration)
        command = self.machine.command("greetd", "-c", "/var/tmp/greetd")
        self.daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: list((self.machine.inside / "run").glob("greetd-*.sock")))
        (path,) = (self.machine.inside / "run").glob("greetd-*.sock")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        wait_for(lambda: self.socket.connect_ex(str(path)) == 0)
        self.begin()

    def lock_again(self):
        self.stop()
        self.machine.run("sh", "-c", "rm /run/greetd-*.sock")
        self.lock()

    def begin(self):
        self.read(self.ask(type="create_session", username="alice"))

    def ask(self, **request):
        data = json.dumps(request).encode()
        self.socket.sendall(struct.pack("=I", len(data)) + data)
        (count,) = struct.unpack("=I", self.socket.recv(4, socket.MSG_WAITALL))
        return json.loads(self.socket.recv(count, socket.MSG_WAITALL))

    def read(self, reply):
        """Until a question, or the end."""
        while reply["type"] == "auth_message" and reply["auth_message_type"] in ("info", "error"):
            reply = self.ask(type="post_auth_message_response", response=None)
        self.reply = reply

    def answer(self, text):
        self.read(self.ask(type="post_auth_message_response", response=text))

    def again(self):
        assert self.reply["error_type"] == "auth_error"
        self.cancel()

    def cancel(self):
        self.ask(type="cancel_session")
        self.begin()

    def is_open(self):
        return self.reply == {"type": "success"}

    def stop(self):
        self.socket.close()
        self.daemon.kill()
        self.daemon.wait()


LOCKERS = [Vlock, Screen, XScreenSaver, LightDM, Greetd, GtkLock, XfceScreenSaver, Phosh]
