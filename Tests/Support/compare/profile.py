"""8. Where the time outside the hash goes: instructions, counted by callgrind; the cost is the lowest there is."""

import collections
import os
import pathlib
import re
import subprocess
import tempfile

import host
from compare import peers, stacks
from compare.figures import counted
from compare.peers import TREE
from scenario import RIGHT

WITH_SYMBOLS = TREE / ".build/ship/package/pam_passcode.so"
# Counting starts with the module's entry and stops while these run.
ENTRY = "pam_sm_authenticate"
HASHES = ["crypto_pwhash", "crypt_r", "xcrypt_r", "crypt", "xcrypt", "fcrypt"]  # one of each name that a function has
ATTEMPTS = 11  # the first one loads, and is left out
FUNCTIONS = 12


def figures(kit):
    bed = kit.make_bed(opslimit=1, memlimit="8K")
    bed.enroll("alice", RIGHT)
    others = stacks.Stacks(bed, stacks.CHEAPEST)
    others.enroll("alice")
    others.write("with-symbols", f"auth required {with_symbols(bed)} conf={bed.configuration}")
    ours = attempt(bed, "with-symbols")
    for service, peer in (("unix", "pam_unix"), ("pwdfile", "pam_pwdfile")):
        theirs = attempt(bed, service)
        yield counted("instructions outside the hash", peer, "", sum(ours.values()), sum(theirs.values()))
    total = sum(ours.values())
    for number, (name, count) in enumerate(ours.most_common(FUNCTIONS), 1):
        yield counted(f"function {number}", "all instructions", "", count, total, variant=name)


def with_symbols(bed):
    """The module with its functions' names, and without DWARF, of which callgrind reads no version 5."""
    module = bed.folder / "with-symbols.so"
    subprocess.run(["objcopy", "--strip-debug", WITH_SYMBOLS, module], check=True)
    return module


def attempt(bed, service):
    """{function: instructions} of one attempt, after the first on a handle."""
    many, one = (instructions(bed, service, times) for times in (ATTEMPTS, 1))
    readable = dict(zip(many, demangled(list(many)), strict=True))
    return collections.Counter({readable[name]: (many[name] - one[name]) / (ATTEMPTS - 1) for name in many})


def demangled(names):
    """As Swift's own tool writes them, without the arguments' types."""
    command = ["swift", "demangle", "--simplified"]
    done = subprocess.run(command, input="\n".join(names), check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def instructions(bed, service, times):
    valgrind, environment = peers.valgrind()
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out")
        toggles = [f"--toggle-collect={name}" for name in (ENTRY, *HASHES)]
        login = [host.compiled("bare"), "login", service, str(bed.services), "alice", RIGHT, str(times)]
        command = [
            valgrind, "--tool=callgrind", f"--callgrind-out-file={output}", "--compress-strings=no",
            "--compress-pos=no", *toggles, *login,
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, timeout=300, env={"PATH": os.environ["PATH"], **environment}
        )
        assert host.named(done.stdout) == ["SUCCESS"] * times, done.stderr.decode()
        return by_function(output.read_text())


def by_function(text):
    """Each function's own instructions, without those of what it calls."""
    sums, name, file, is_call = collections.Counter(), "", "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            file = pathlib.Path(line[3:]).name
        elif line.startswith("fn="):
            name = f"in {file}" if line.startswith("fn=0x") else line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[+*0-9-]", line):
            if not is_call:
                sums[name] += int(line.split()[-1])
            is_call = False
    return sums
