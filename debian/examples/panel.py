#!/usr/bin/python3
"""A settings panel for one's own passcode: its state, and how to set, change, unlock and remove it.

An example for desktops, with GTK: it shows how a front end talks to passcode(1). It reads the state as JSON, version 1
(passcode-json(5)), passes over names that it doesn't know, hands secrets to standard input, and decides by exit status.
"""

import json
import subprocess

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

# {command: (button, what is asked, in the order in which --stdin wants it)}
ACTS = {
    "enroll": ("_Set", ("Password", "New passcode")),
    "change": ("_Change", ("Old passcode", "New passcode")),
    "unlock": ("_Unlock", ("Password",)),
    "remove": ("_Remove", ("Passcode or password",)),
}
# {state: the sentence, the commands that are offered}
STATES = {
    "ok": ("Your passcode works.", ("change", "remove")),
    "locked": ("Locked for {seconds_left} s after {failures} wrong passcodes.", ("unlock", "remove")),
    "exhausted": ("Locked after {failures} wrong passcodes, until you unlock it.", ("unlock", "remove")),
    "disabled": ("An administrator has disabled your passcode.", ("remove",)),
    "expired": ("Your passcode has expired.", ("enroll", "remove")),
    "must_change": ("Your passcode must be changed.", ("change", "remove")),
    "corrupt": ("Your passcode can't be read: ask an administrator.", ()),
}
NONE = ("You have no passcode.", ("enroll",))
NOT_ENROLLED = 3


def run(*arguments, secrets=()):
    """passcode's exit status, what it printed, and why it refused."""
    lines = "".join(f"{secret}\n" for secret in secrets)
    done = subprocess.run(["passcode", *arguments], input=lines, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip().removeprefix("passcode: ")


def state():
    """A sentence and the commands that are offered now."""
    status, text, why = run("status", "--json")
    if status not in (0, NOT_ENROLLED):
        return why, ()
    now = json.loads(text)
    if now["version"] != 1:
        return "This panel is older than passcode.", ()
    if not now["enrolled"]:
        return NONE
    sentence, commands = STATES.get(now["state"], (now["state"], ()))
    return sentence.format(**now), commands


class Panel(Gtk.Window):
    def __init__(self):
        super().__init__(title="Passcode", border_width=18, resizable=False)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        self.sentence, self.answer = Gtk.Label(xalign=0), Gtk.Label(xalign=0)
        self.buttons = {}
        row = Gtk.Box(spacing=6)
        for command, (label, _) in ACTS.items():
            button = self.buttons[command] = Gtk.Button(label=label, use_underline=True, no_show_all=True)
            button.connect("clicked", self.act, command)
            row.add(button)
        for part in (self.sentence, row, self.answer):
            box.add(part)
        self.add(box)
        self.connect("destroy", Gtk.main_quit)
        self.look()
        GLib.timeout_add_seconds(1, self.look)

    def look(self):
        sentence, commands = state()
        self.sentence.set_text(sentence)
        for command, button in self.buttons.items():
            button.set_visible(command in commands)
        return True

    def act(self, _, command):
        secrets = self.ask(*ACTS[command])
        if secrets:
            status, said, why = run(command, "--stdin", secrets=secrets)
            self.answer.set_text("Done." if status == 0 else why or said)
            self.look()

    def ask(self, label, questions):
        """What was typed, or nothing if that was cancelled."""
        dialog = Gtk.Dialog(title=label.strip("_"), transient_for=self, modal=True)
        dialog.add_buttons("Cancel", Gtk.ResponseType.CANCEL, label, Gtk.ResponseType.OK)
        dialog.set_default_response(Gtk.ResponseType.OK)
        entries = [Gtk.Entry(placeholder_text=text, visibility=False, activates_default=True) for text in questions]
        for entry in entries:
            dialog.get_content_area().add(entry)
        dialog.show_all()
        typed = [entry.get_text() for entry in entries] if dialog.run() == Gtk.ResponseType.OK else ()
        dialog.destroy()
        return typed


if __name__ == "__main__":
    Panel().show_all()
    Gtk.main()
