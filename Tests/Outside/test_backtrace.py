"""A crash inside the module, as in sshd: gdb finds the way back with the symbols of the -dbgsym package.

The module carries no unwind tables that a process would load. Those for debuggers (.debug_frame) are in the symbols."""

import os
import pathlib
import re
import subprocess

import pytest

import host
from bed import SERVICE

pytestmark = pytest.mark.shipped

WITH_SYMBOLS = pathlib.Path(__file__).parents[2] / ".build/ship/package/pam_passcode.so"


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def split(folder):
    """What debhelper makes of the module: a stripped one, and its symbols where gdb finds them by the build ID."""
    identity = re.search(r"Build ID: (\w+)", run("readelf", "--notes", WITH_SYMBOLS))[1]
    symbols = folder / "debug/.build-id" / identity[:2] / f"{identity[2:]}.debug"
    symbols.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", "--compress-debug-sections", WITH_SYMBOLS, symbols)
    module = folder / "pam_passcode.so"
    run("strip", "--strip-all", "-o", module, WITH_SYMBOLS)
    return module, folder / "debug"


def backtrace(program, symbols, **environment):
    """(function, source file or library) of each call where the program crashes, the innermost first."""
    steps = [f"set debug-file-directory {symbols}", "set debuginfod enabled off", "run", "backtrace"]
    done = subprocess.run(
        ["gdb", "--batch", "--nx", *(word for step in steps for word in ("-ex", step)), "--args", *program],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "received signal SIGABRT" in done.stdout, done.stdout + done.stderr
    calls = re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(.*?\)(?: (?:at|from) (\S+))?$", done.stdout, re.MULTILINE)
    return [(name, re.sub(r":\d+$", "", place)) for name, place in calls]


@pytest.mark.parametrize(
    "place, crashed, file",
    [("prompt", "converse", "pam_passcode/PAM.swift"), ("hash", "crypto_pwhash", "PasscodeVault/Key/Credential.swift")],
)
def test_a_crash_inside_the_module_can_be_traced_to_the_login_program(alice, tmp_path, place, crashed, file):
    module, symbols = split(tmp_path)
    (alice.services / SERVICE).write_text(f"auth required {module} conf={alice.configuration}\n")
    calls = backtrace(host.one(alice, "0471"), symbols, ABORTS=place)
    names = [name.removesuffix("[cold]") for name, _ in calls]
    first, last = names.index(crashed), names.index("pam_sm_authenticate")
    assert first < last < names.index("pam_authenticate") < names.index("main"), calls
    assert "??" not in names[first:last], calls
    files = [os.path.relpath(path, "Sources") for _, path in calls[first + 1 : last + 1]]
    assert file in files and {"pam_passcode/Authentication.swift", "pam_passcode/EntryPoints.swift"} <= set(files), calls
