"""README.Debian of passcode-verifier, followed on machines as a person follows it: one shell of root's on each, the
commands as they stand there, and what they print compared with what the page shows.

A step is "N.M  On PLACE: what", its prose, and indented commands; after them "| " what they print, "..." for anything.
A capital ID or TOKEN stands for what is printed where it stood first."""

import gzip
import re
import textwrap
import time

from debian_machine import sh

STEP = re.compile(r"^(\d+\.\d)  On (.+?): .*\n\n", re.MULTILINE)
PROMPT = re.compile(
    # apt's progress bar ends with that sequence.
    r"\[Y/n\] $|(?:^|\x1b\[J)(?:New passcode \(4 or 6 digits\)|Repeat new passcode|Passphrase of the authorities|Repeat it|Token): $"
    r"|^(?:Create|Change) the fleet [\w-]+\? \[y/N\] $",
    re.MULTILINE,
)
REPEAT = "Repeat this"
CHAPTER = "\n\n=\n\n"


class Step:
    def __init__(self, number, place, text):
        self.number, self.place = number, place
        self.parts = []
        for paragraph in re.split(r"\n\n+", text.strip("\n")):
            if paragraph.startswith("    "):
                self.parts += chunks(textwrap.dedent(paragraph))
            else:
                self.parts.append(" ".join(paragraph.split()))


def chunks(block):
    """(commands, what they print or None) of an indented block."""
    found, commands, printed = [], [], []
    for line in block.splitlines():
        if line.startswith("|"):
            printed.append(line[1:].strip())
            continue
        if printed:
            found.append(("\n".join(commands), printed))
            commands, printed = [], []
        commands.append(line)
    return [*found, ("\n".join(commands), printed)]


def steps(deb):
    """{number: step} of the page in this package."""
    path = "./usr/share/doc/passcode-verifier/README.Debian.gz"
    files = sh("dpkg-deb", "--fsys-tarfile", deb, capture_output=True).stdout
    page = gzip.decompress(sh("tar", "-xO", path, input=files, capture_output=True).stdout).decode()
    pieces = STEP.split(re.sub(r"\n\n\n\d .*\n-+\n", CHAPTER, page))
    return {
        number: Step(number, place, text.partition(CHAPTER)[0])
        for number, place, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
    }


def pattern(line):
    """Of a line that is printed, "..." for anything, ID or TOKEN for a word with that name."""
    text = r"\s+".join(map(re.escape, line.split()))
    return re.sub(r"\b(ID|TOKEN)\b", r"(?P<\1>\\S+)", text.replace(re.escape("..."), ".*?"), count=1)


def matches(printed, text):
    lines = [r"(?:.*\n)*?" if line == "..." else pattern(line) + r"\s*\n" for line in printed]
    return re.search(rf"^{''.join(lines)}\Z", text.strip() + "\n", re.MULTILINE)


class Person:
    """At a machine, as root, in one shell."""

    def __init__(self, machine, own=(), answers=()):
        """`own`: {what the page has as an example: this machine's}; `answers`: {prompt: what is typed}."""
        self.machine, self.own, self.answers = machine, dict(own), {"[Y/n]": "y", **dict(answers)}
        self.names, self.printed = {}, ""
        self.shell = machine.terminal("bash", "--norc", "--noprofile", user="root")
        self.shell.send("unset DEBIAN_FRONTEND; stty -echo -onlcr columns 120; PS1= PS2=; echo '<'ready'>'\n")
        self.shell.expect_exact("<ready>")
        self.shell.expect("\n")
        self.log = []

    def follow(self, page, *numbers):
        for number in numbers:
            self.follow_step(page, page[number])

    def follow_step(self, page, step):
        repeats = False
        for part in step.parts:
            if isinstance(part, str):
                repeats = repeats or REPEAT in part
                for others in re.findall(r"Do ([\d., and]+\d) there", part):
                    self.follow(page, *re.findall(r"\d\.\d", others))
                continue
            commands, printed = part
            self.enter(step, self.filled_in(commands), [self.filled_in(line) for line in printed], repeats)

    def filled_in(self, text):
        lines = []
        for line in text.splitlines():
            if "this server's own" in line:
                for example, own in self.own.items():
                    line = line.replace(example, own)
            lines.append(line)
        text = "\n".join(lines)
        for name, value in self.names.items():
            text = re.sub(rf"\b{name}\b", value, text)
        return text

    def enter(self, step, commands, printed, repeats):
        deadline = time.monotonic() + 60
        while True:
            text, status = self.run(commands)
            found = matches(printed, text) if printed else status == 0
            if found and status == 0:
                break
            told = f"{step.number}: {commands}\n{status}\n{text}\nnot\n{printed}"
            assert repeats and time.monotonic() < deadline, told
            time.sleep(1)
        if printed:
            self.names.update(found.groupdict())

    def run(self, commands):
        """What it printed, and its exit status: that of the first command that fails."""
        # As if typed: what is defined here stays, and the first failure ends it.
        (self.machine.path / "root/step").write_text(f"trap 'return 1' ERR\n{commands}\ntrap - ERR\n")
        self.shell.send('. /root/step; status=$?; trap - ERR; rm /root/step; echo "<$status"">"\n')
        text = ""
        while self.shell.expect([r"<(\d+)>\n", PROMPT], timeout=180) == 1:
            text += self.shell.before + self.shell.after
            prompt = self.shell.after.removeprefix("\x1b[J").strip()
            time.sleep(0.3)  # until the echo is off
            self.shell.send(self.answers[prompt] + "\n")
        self.printed = text + self.shell.before
        return self.printed, int(self.shell.match[1])


