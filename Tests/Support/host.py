"""The login program in host.c, compiled here: for strace and for crowds; and the bare hashes in bare.c."""

import dataclasses
import functools
import os
import pathlib
import subprocess
import tempfile

import pam
from bed import SERVICE

HERE = pathlib.Path(__file__).parent


@functools.cache
def compiled(name):
    """The path of a program in C beside this file, linked with libpam; ordinary users can run it. It is a login program, by its name."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"passcode-{name}-", dir="/run"))
    folder.chmod(0o755)
    source, result = HERE / f"{name}.c", folder / "login"
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
    subprocess.run(["gcc", *options, "-o", result, source, "-lpam", "-pthread"], check=True)
    return str(result)


def program():
    return compiled("host")


def one(bed, *codes, user="alice", service=SERVICE):
    """The command that makes one call a code on one handle, and prints the results as numbers."""
    bed.typed |= set(codes)
    return [program(), "one", service, str(bed.services), user, *codes]


def results(bed, *codes, user="alice", before=(), **how):
    """Runs that; the results by name."""
    done = subprocess.run([*before, *one(bed, *codes, user=user)], capture_output=True, timeout=60, **how)
    return named(done.stdout)


def named(output):
    return [pam.RESULTS[int(word)] for word in output.split()]


@dataclasses.dataclass(frozen=True)
class Login:
    result: str
    prompts: int
    seconds: float
    text: str


@dataclasses.dataclass(frozen=True)
class Crowd:
    """What came of many logins. `hashes` counts calls of crypto_pwhash, not what anybody says about them."""

    logins: list
    verified: list  # the codes, in the order of their verification
    hashes: int
    most_hashing: int
    crypts: int
    seconds: float
    memory_before: int  # bytes, of all processes together, while all wait at their prompts
    memory_peak: int

    def count(self, result):
        return sum(login.result == result for login in self.logins)


def crowd(bed, logins, measures_memory=False, seconds=170, service=SERVICE, mood="crowd", before=(), files=None):
    """Opens a prompt for each (user, code, wave), then answers wave after wave, all of a wave at once; with the mood
    "threads" all in one process. `files`: each process's RLIMIT_NOFILE."""
    bed.typed |= {code for _, code, _ in logins}
    environment = {"PATH": os.environ["PATH"]} | ({"MEASURE_MEMORY": "1"} if measures_memory else {})
    environment |= {"FILES": str(files)} if files else {}
    done = subprocess.run(
        [*before, program(), mood, service, str(bed.services)],
        input="".join(f"{user} {code} {wave}\n" for user, code, wave in logins),
        check=True, capture_output=True, text=True, timeout=seconds, env=environment,
    )  # fmt: skip
    *lines, [verified], totals = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(logins)
    hashes, most, crypts, taken, before, peak = totals
    return Crowd(
        [
            Login("DIED" if result == "-1" else pam.RESULTS[int(result)], int(prompts), float(after), text)
            for result, prompts, after, text in lines
        ],
        verified.split(), int(hashes), int(most), int(crypts), float(taken), int(before) << 10, int(peak) << 10,
    )  # fmt: skip


def bare_hashing(count, processes, operations, memory):
    """Seconds that libsodium alone takes for so many hashes in so many processes."""
    return bare("argon2", count, processes, operations, memory)[0]


def bare(kind, count, processes, *arguments):
    """The same, and the processor time; `kind` as in bare.c."""
    command = [compiled("bare"), kind, *map(str, (count, processes, *arguments))]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    return tuple(map(float, output.split()))
