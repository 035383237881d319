"""The operations on a passcode that are watched two at a time, and which two."""

import dataclasses
import pwd

import host
import traced
from scenario import NEW, RIGHT, WRONG

OTHER = "9371"  # another new one


@dataclasses.dataclass(frozen=True)
class Operation:
    name: str
    kind: str
    words: tuple = ()  # the tool's
    code: str = ""  # that is tried
    new: str = ""  # that is to be set
    by: str = "root"
    user: str = "alice"

    def command(self, bed):
        if self.kind == "login":
            return host.one(bed, self.code, user=self.user)
        return [*bed.tool_words(), *self.words]

    def start(self, world, bed):
        lines = [line for line in (self.code, self.new) if line and self.kind != "login"]
        who = pwd.getpwnam(self.by)
        text = "".join(line + "\n" for line in lines).encode()
        return traced.Actor(world, self.command(bed), text, who.pw_uid, who.pw_gid)


def login(code, by="root", user="alice"):
    what = "right" if code == RIGHT else "wrong"
    return Operation(f"{what} login of {user}'s" + (" by the helper" if by != "root" else ""), "login", (), code, by=by, user=user)


def change(new, by="root"):
    name = "change" + (" by the helper" if by != "root" else "")
    return Operation(name, "change", ("change", "--stdin", "alice"), RIGHT, new, by)


def enroll(new):
    return Operation("enrol", "enroll", ("enroll", "--stdin", "alice"), new=new)


def tool(kind, *words):
    return Operation(kind, kind, words)


OPERATIONS = {
    "right": login(RIGHT),
    "wrong": login(WRONG[5]),
    "wrong too": login(WRONG[6]),
    "right by helper": login(RIGHT, "alice"),
    "wrong by helper": login(WRONG[7], "alice"),
    "bob": login(RIGHT, user="bob"),
    "enrol": enroll(NEW),
    "enrol other": enroll(OTHER),
    "change": change(NEW),
    "change other": change(OTHER, "alice"),
    "remove": tool("remove", "remove", "alice"),
    "unlock": tool("unlock", "unlock", "alice"),
    "disable": tool("disable", "disable", "alice"),
    "enable": tool("enable", "enable", "alice"),
    "pause": tool("pause", "pause", "alice", "--even-locked-out"),
    "pause by helper": Operation("pause by the helper", "pause", ("pause",), by="alice"),
    "resume": tool("resume", "resume", "alice"),
    "rename": Operation("rename", "rename", ("rename", "alice", "alina"), user="alina"),
    "right of alina": login(RIGHT, user="alina"),
    "rotate": tool("rotate", "key", "rotate"),
    "deleted": tool("deleted", "remove", "--quiet", "--", "alice"),
}


# Where they begin, and which two.
PAIRS = {
    "one try left": [
        ("wrong", "wrong too"),
        ("wrong", "wrong"),
        ("right", "wrong"),
        ("right", "right"),
        ("wrong", "wrong by helper"),
        ("right by helper", "wrong"),
        ("enrol", "right"),
        ("enrol", "wrong"),
        ("enrol", "enrol other"),
        ("enrol", "remove"),
        ("enrol", "unlock"),
        ("enrol", "disable"),
        ("change", "wrong"),
        ("change", "enrol other"),
        ("change", "change other"),
        ("change", "disable"),
        ("remove", "right"),
        ("remove", "wrong by helper"),
        ("remove", "disable"),
        ("unlock", "wrong"),
        ("disable", "right"),
        ("disable", "right by helper"),
        ("disable", "unlock"),
        ("disable", "enable"),
        ("pause", "right"),
        ("pause", "right by helper"),
        ("pause", "wrong"),
        ("pause by helper", "right"),
        ("pause", "change"),
        ("pause", "enrol"),
        ("pause", "disable"),
        ("pause", "remove"),
        ("pause", "unlock"),
        ("pause", "resume"),
        ("rotate", "right"),
        ("rotate", "enrol"),
        ("rotate", "remove"),
        ("rotate", "rotate"),
    ],
    "locked": [("unlock", "right"), ("unlock", "wrong"), ("enrol", "right"), ("disable", "right")],
    "disabled": [("enable", "right"), ("enable", "enrol"), ("enable", "remove")],
    "paused": [
        ("resume", "right"),
        ("resume", "right by helper"),
        ("resume", "wrong"),
        ("resume", "disable"),
        ("resume", "enrol"),
        ("unlock", "right"),
    ],
    "for one login": [("pause", "right"), ("right", "right"), ("right", "right by helper"), ("right", "change"), ("right", "disable")],
    "nothing": [("enrol", "enrol other"), ("enrol", "remove"), ("enrol", "right"), ("enrol", "disable")],
    "renamed": [("rename", "right of alina"), ("rename", "rename"), ("rename", "rotate")],
    "deleted": [("right", "deleted"), ("wrong", "deleted"), ("enrol", "deleted"), ("disable", "deleted")],
    "two people": [("right", "bob"), ("enrol", "bob"), ("rotate", "bob")],
}
