"""What a machine's programs and PAM say to each other: conversation.c, preloaded into all of them."""

import dataclasses
import functools
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).with_name("conversation.c")
LIBRARY, NOTES = "usr/lib/conversation.so", "var/tmp/conversation"


@functools.cache
def library():
    path = pathlib.Path(tempfile.mkdtemp(prefix="passcode-conversation-", dir="/run")) / "conversation.so"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, SOURCE, "-ldl"]
    subprocess.run([str(part) for part in command], check=True)
    return path


@dataclasses.dataclass
class Call:
    """One pam_authenticate."""

    prompts: list
    messages: list
    result: str = None  # none as long as it runs


class Conversation:
    """Notes all calls of that machine from now on."""

    def __init__(self, machine):
        self.notes = machine.path / NOTES
        self.notes.write_text("")
        self.notes.chmod(0o666)
        (machine.path / LIBRARY).write_bytes(library().read_bytes())
        (machine.path / "etc/ld.so.preload").write_text(f"/{LIBRARY}\n")

    def calls(self, service):
        """Those of a service, in the order in which they began; a program makes one at a time."""
        calls = {}
        for line in self.notes.read_text().splitlines():
            process, name, word, text = line.split("\t", 3)
            if name != service:
                continue
            of_process = calls.setdefault(process, [])
            if word == "call":
                of_process.append(Call([], []))
            elif word == "result":
                of_process[-1].result = text
            elif of_process and "prompt" in word:
                of_process[-1].prompts.append(text)
            elif of_process and word in ("text", "error"):
                of_process[-1].messages.append(text)
        return [call for of_process in calls.values() for call in of_process]
