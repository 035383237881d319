"""The built files: what they export, need and cost to load."""

import _ctypes
import ctypes
import os
import pathlib
import re
import resource
import subprocess

import pytest

import pam
from bed import MODULE, SERVICE, TOOL
from cost import growth, in_child
from finger import PROGRAM as FINGER

pytestmark = pytest.mark.shipped

SODIUM = {"libsodium.so.23", "libsodium.so.26"}  # 1.0.18, and from 1.0.19 on
ALLOWED = {"libpam.so.0", "libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1"} | SODIUM
BOTH = pytest.mark.parametrize("program", [MODULE, TOOL], ids=lambda path: path.name)
EACH = pytest.mark.parametrize("program", [MODULE, TOOL, FINGER], ids=lambda path: path.name)


def readelf(option, path):
    return subprocess.run(
        ["readelf", "--wide", option, str(path)], check=True, capture_output=True, text=True
    ).stdout


def dynamic(path, tag):
    """The values of a tag of the dynamic section."""
    return re.findall(rf"\({tag}\)\s+(.*)", readelf("--dynamic", path))


def needed(path):
    """The libraries."""
    return {re.search(r"\[(.*)\]", value)[1] for value in dynamic(path, "NEEDED")}


def test_the_module_exports_pam_entries_and_nothing_else():
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(MODULE)], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1].partition("@")[0] for line in listing.stdout.splitlines()}
    assert {"pam_sm_authenticate", "pam_sm_setcred"} <= names
    assert names <= {"pam_sm_authenticate", "pam_sm_setcred", "pam_sm_open_session", "pam_sm_close_session"}


@pytest.mark.parametrize(
    "name",
    ["pam_passcode.so", "passcode", "passcode-helper", "passcode-finger", "passcode-fleet", "passcode-verifier"],
)
def test_each_program_says_of_which_version_it_is(name):
    """As debian/changelog: `passcode check` compares them."""
    changelog = (pathlib.Path(__file__).parents[2] / "debian/changelog").read_text()
    [version] = re.findall(r"\A[\w-]+ \((.*?)-\d+\)", changelog)
    dump = subprocess.run(
        ["readelf", "--string-dump=.note.passcode", TOOL.parent / name], check=True, capture_output=True, text=True
    )
    assert re.findall(r"\]  (\S+)$", dump.stdout, re.MULTILINE)[-1] == version
    if name == TOOL.name:
        said = subprocess.run([TOOL, "--version"], check=True, capture_output=True, text=True).stdout
        assert said.split()[-1] == version


@BOTH
def test_only_libpam_libsodium_and_libc_are_needed(program):
    libraries = needed(program)
    assert "libc.so.6" in libraries and len(libraries & SODIUM) == 1 and libraries <= ALLOWED


def test_only_passcode_finger_needs_libsystemd():
    libraries = needed(FINGER)
    assert len(libraries & SODIUM) == 1 and libraries - SODIUM == {"libsystemd.so.0", "libc.so.6"}


@EACH
def test_no_path_to_libraries_is_built_in(program):
    assert dynamic(program, "RUNPATH") == dynamic(program, "RPATH") == []


@EACH
def test_everything_is_resolved_at_start_and_then_read_only(program):
    assert any("NOW" in value for value in dynamic(program, "FLAGS") + dynamic(program, "FLAGS_1"))
    assert "GNU_RELRO" in readelf("--program-headers", program)


@EACH
def test_neither_stack_nor_data_is_executable(program):
    segments = re.findall(
        r"^\s+(GNU_STACK|LOAD) .* ([R ][W ][E ]) 0", readelf("--program-headers", program), re.MULTILINE
    )
    assert ("GNU_STACK", "RW ") in segments
    assert not [flags for _, flags in segments if "W" in flags and "E" in flags]
    assert dynamic(program, "TEXTREL") == []


@EACH
def test_position_independent(program):
    assert re.search(r"Type:\s+DYN", readelf("--file-header", program))
    if program != MODULE:
        assert any("PIE" in value for value in dynamic(program, "FLAGS_1"))


@EACH
def test_nothing_of_the_build_machine_is_in_it(program):
    """No folder of the machine that built it."""
    text, project = program.read_bytes(), pathlib.Path(__file__).parents[2]
    assert b".build/" not in text and bytes(project) not in text and b"/usr/lib/swift" not in text


def test_the_module_is_small(tmp_path):
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", str(stripped), str(MODULE)], check=True)
    assert stripped.stat().st_size <= 98_304


def test_the_module_links_without_anything_undefined():
    done = subprocess.run(["ldd", "-r", str(MODULE)], capture_output=True, text=True)
    assert "undefined" not in done.stdout + done.stderr and "not found" not in done.stdout


# MARK: Loading it again and again


def test_a_thousand_loads_leave_nothing():
    def load():
        handle = _ctypes.dlopen(str(MODULE), os.RTLD_NOW)
        assert ctypes.c_void_p.from_address(_ctypes.dlsym(handle, "pam_sm_authenticate"))
        _ctypes.dlclose(handle)

    memory, descriptors, mappings = in_child(lambda: growth(load, 1_000))
    assert memory <= 16 and descriptors == 0 and mappings <= 0


def test_it_is_really_unloaded():
    def mapped():
        _ctypes.dlclose(_ctypes.dlopen(str(MODULE), os.RTLD_NOW))
        return MODULE.name in pathlib.Path("/proc/self/maps").read_text()

    assert in_child(mapped) is False


@pytest.mark.parametrize("code, result", [("0471", "SUCCESS"), ("abcd", "AUTH_ERR"), ("", "AUTH_ERR")])
def test_three_hundred_logins_in_one_process_leave_nothing(alice, code, result):
    def login():
        outcome = pam.Outcome()
        handle = pam.Handle(SERVICE, "alice", alice.services, [code], outcome)
        handle.call("authenticate")
        handle.end()
        assert outcome.results == [result]

    alice.typed.add(code)
    memory, descriptors, mappings = in_child(lambda: growth(login, 300))
    # One fewer: the kernel has joined neighbours.
    assert memory <= 32 and descriptors == 0 and mappings <= 0


def test_the_memory_for_secrets_is_locked_in_a_forked_child_too(alice):
    """The process keeps it from one attempt to the next; a child of its own has none of its parent's locks."""

    def locked():
        return int(re.search(r"VmLck:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])

    def host():
        seen, outcome = [], pam.Outcome()

        def answer(_):
            seen.append(locked())
            return "0471"

        handle = pam.Handle(SERVICE, "alice", alice.services, [answer] * 3, outcome)
        handle.call("authenticate")

        def child():
            handle.call("authenticate")
            return seen, outcome.results

        in_the_child = in_child(child)
        handle.call("authenticate")
        handle.end()
        return in_the_child, (seen, outcome.results), locked()

    alice.enroll("alice", "0471")
    in_the_child, in_the_parent, after = in_child(host)
    page = resource.getpagesize() // 1024
    assert in_the_child == in_the_parent == ([page] * 2, ["SUCCESS"] * 2)
    assert after == 0
