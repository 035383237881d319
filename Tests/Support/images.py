"""Core images of running programs, as gcore takes them, and what must not be in them.

A core image has the registers and the memory of a process, but for what it marked as not to be dumped (MADV_DONTDUMP):
guarded memory. With `excluded` that is in it, too.
"""

import contextlib
import pathlib
import re
import subprocess
import tempfile

GDB = ["gdb", "--batch", "--nx", "--quiet"]
SETTINGS = ["set debuginfod enabled off", "set auto-solib-add off", "set confirm off"]


def _words(steps):
    return [word for step in steps for word in ("-ex", step)]


def _dump(folder, excluded):
    return [f"set dump-excluded-mappings {'on' if excluded else 'off'}", f"generate-core-file {folder}/core"]


def image(pid, excluded=False):
    """That of a process, which goes on afterwards."""
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        steps = [*SETTINGS, f"attach {pid}", *_dump(folder, excluded), "detach"]
        done = subprocess.run([*GDB, *_words(steps)], capture_output=True, text=True, timeout=60)
        core = pathlib.Path(folder, "core")
        assert core.exists(), done.stdout + done.stderr
        return core.read_bytes()


@contextlib.contextmanager
def image_at_end(pid):
    """A list that has the image after the block, taken when the process was about to end: everything that it did is
    done, and the kernel hasn't taken its memory yet."""
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        steps = [
            *SETTINGS, "handle all nostop noprint pass",
            "handle SIGINT nostop noprint pass", f"attach {pid}", "catch syscall exit_group",
            "echo attached\\n", "continue", *_dump(folder, False), "detach",
        ]  # fmt: skip
        taken = []
        with subprocess.Popen([*GDB, *_words(steps)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as debugger:
            said = ""
            for line in debugger.stdout:
                said += line.decode(errors="replace")
                if line == b"attached\n":
                    break
            yield taken
            said += debugger.communicate(timeout=60)[0].decode(errors="replace")
        core = pathlib.Path(folder, "core")
        assert core.exists(), said
        taken.append(core.read_bytes())


def passcode_forms(code):
    """How a program might have a passcode: {form: bytes}."""
    return {
        f"{code} as text": code.encode(),
        f"{code} in UTF-16": code.encode("utf-16-le"),
        f"{code} in UTF-32": code.encode("utf-32-le"),
        f"{code} as digits": bytes(map(int, code)),
        f"{code} as a number": int(code).to_bytes(8, "little"),
        f"{code} in base 16": code.encode().hex().encode(),
    }


def secret_forms(name, secret):
    """How a program might have random bytes, or 8 of them: registers and vectors hold only parts."""
    forms = {}
    for start in range(0, len(secret) - 7, 8):
        part = secret[start : start + 8]
        forms[f"{name} from {start} on"] = part
        forms[f"{name} from {start} on, in base 16"] = part.hex().encode()
    return forms


def stands(data, content):
    """Whether these bytes are in it. Six digits within twelve or more of base 16 are there by chance: in an address, a time, or
    what is sealed."""
    place = content.find(data)
    if len(data) != 6 or not data.isdigit():
        return place >= 0
    while place >= 0:
        before = re.search(rb"[0-9a-f]*\Z", content[max(place - 6, 0) : place])[0]
        after = re.match(rb"[0-9a-f]*", content[place + 6 : place + 12])[0]
        if len(before) + len(after) < 6:
            return True
        place = content.find(data, place + 1)
    return False


def found(content, forms):
    """The forms that are in it."""
    return [form for form, data in forms.items() if stands(data, content)]


def regions(pid):
    """(start, end, rights, name, flags) of each mapping; the flags as in VmFlags of proc(5)."""
    head = None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line):
            head = int(match[1], 16), int(match[2], 16), match[3], match[4]
        elif line.startswith("VmFlags:"):
            yield *head, set(line.split()[1:])


def places(pid, data):
    """The flags of each mapping that has these bytes."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for start, end, rights, name, flags in regions(pid):
            if rights.startswith("r") and not name.startswith("[v"):
                memory.seek(start)
                with contextlib.suppress(OSError):  # a part of a file that is shorter by now
                    if stands(data, memory.read(end - start)):
                        found.append(flags)
    return found


@contextlib.contextmanager
def planted(pid, data):
    """These bytes at the far end of the process's stack, where nothing is in use."""
    [start] = [start for start, _, _, name, _ in regions(pid) if name == "[stack]"]
    with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
        memory.seek(start)
        before = memory.read(len(data))
        memory.seek(start)
        memory.write(data)
        yield
        memory.seek(start)
        memory.write(before)


def told(pid):
    """What /proc tells of a process in words: {file: content}."""
    names = ("cmdline", "environ", "comm", "maps", "status", "stat", "syscall", "wchan", "stack", "limits", "io")
    return {name: pathlib.Path(f"/proc/{pid}/{name}").read_bytes() for name in names}
