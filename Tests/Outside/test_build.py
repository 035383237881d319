"""Settings of the build: where the programs are, and libpam's modules, and the account."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from bed import BUILD

pytestmark = pytest.mark.shipped

TREE = pathlib.Path(__file__).parents[2]
SYSTEM = TREE / "Sources/CSystem"
PATHS = {
    "PASSCODE_HELPER_PATH": "/usr/libexec/passcode-helper",
    "PASSCODE_FINGER_PATH": "/usr/libexec/passcode-finger",
    "PASSCODE_FLEET_PATH": "/usr/libexec/passcode-fleet",
    "PASSCODE_VERIFIER_PATH": "/usr/sbin/passcode-verifier",
    "PASSCODE_TOOL_PATH": "/usr/bin/passcode",
    "PASSCODE_MODULE_DIRECTORY": f"/usr/lib/{os.uname().machine}-linux-gnu/security",
}
DEFAULTS = {**PATHS, "PASSCODE_ACCOUNT": "_passcode"}
OTHERS = {
    "PASSCODE_HELPER_PATH": "/opt/a/helper",
    "PASSCODE_FINGER_PATH": "/opt/a/finger",
    "PASSCODE_FLEET_PATH": "/opt/a/fleet",
    "PASSCODE_VERIFIER_PATH": "/opt/a/verifier",
    "PASSCODE_TOOL_PATH": "/opt/a/tool",
    "PASSCODE_MODULE_DIRECTORY": "/usr/lib64/security",
    "PASSCODE_ACCOUNT": "pass-code_1",
}


def package(scratch, **places):
    """What Package.swift says, where the environment has these."""
    environment = {name: value for name, value in os.environ.items() if name not in DEFAULTS}
    return subprocess.run(
        ["swift", "package", "--scratch-path", scratch, "dump-package"], cwd=TREE, env={**environment, **places},
        capture_output=True, text=True,
    )  # fmt: skip


def defined(scratch, **places):
    done = package(scratch, **places)
    assert done.returncode == 0, done.stderr
    [target] = [target for target in json.loads(done.stdout)["targets"] if target["name"] == "CSystem"]
    kinds = [setting["kind"] for setting in target["settings"]]
    return [kind["define"]["_0"] for kind in kinds if "define" in kind]


def words(folder, settings):
    """{path or account} that places.c has, compiled with these."""
    made = folder / "places.o"
    options = [f"-D{setting}" for setting in settings]
    subprocess.run(
        ["clang", "-c", f"-I{SYSTEM}/include", *options, "-o", made, SYSTEM / "places.c"], check=True
    )
    content = made.read_bytes().decode("latin-1")
    return set(re.findall(r"(?<![ -~])(?:/(?:usr|opt)/[\w./-]+|_passcode|pass-code\w*)(?=\0)", content))


@pytest.mark.parametrize("places, expected", [({}, DEFAULTS), (OTHERS, OTHERS)], ids=["default", "set"])
def test_the_environment_of_the_build_says_where_things_are(tmp_path, places, expected):
    assert words(tmp_path, defined(tmp_path / "scratch", **places)) == set(expected.values())


@pytest.mark.parametrize(
    "name, path", [*((name, "passcode-helper") for name in PATHS), ("PASSCODE_HELPER_PATH", ""), ("PASSCODE_HELPER_PATH", '/a"b')]
)
def test_what_is_no_absolute_path_is_not_built(tmp_path, name, path):
    done = package(tmp_path, **{name: path})
    assert done.returncode != 0 and f"{name} is not an absolute path: {path}" in done.stderr + done.stdout


@pytest.mark.parametrize("folder", [None, "/opt/a/locale"])
def test_translations_are_where_the_build_says(tmp_path, folder):
    """Without the setting, where the C library looks by itself."""
    settings = defined(tmp_path / "scratch", **({"PASSCODE_LOCALE_DIRECTORY": folder} if folder else {}))
    made = tmp_path / "system.o"
    options = [f"-I{SYSTEM}/include", *(f"-D{setting}" for setting in settings)]
    subprocess.run(["clang", "-c", *options, "-o", made, SYSTEM / "system.c"], check=True)
    content = made.read_bytes()
    assert (b"bindtextdomain" in content) == (folder is not None)
    assert folder is None or f"{folder}\0".encode() in content


@pytest.mark.parametrize("name", ["", "Passcode", "1a", "a b", 'a"b', "-a", "a" * 32])
def test_what_is_no_account_s_name_is_not_built(tmp_path, name):
    done = package(tmp_path, PASSCODE_ACCOUNT=name)
    assert done.returncode != 0
    assert f"PASSCODE_ACCOUNT is not the name of an account: {name}" in done.stderr + done.stdout


@pytest.mark.parametrize("program", ["passcode", "pam_passcode.so"])
def test_what_was_built_looks_for_the_helper_there(program):
    assert (DEFAULTS["PASSCODE_HELPER_PATH"] + "\0").encode() in (BUILD / program).read_bytes()


def test_what_was_built_looks_for_the_reader_s_program_there():
    assert (DEFAULTS["PASSCODE_FINGER_PATH"] + "\0").encode() in (BUILD / "passcode").read_bytes()


@pytest.mark.parametrize("program", ["passcode-helper", "pam_passcode.so"])
def test_what_was_built_looks_for_the_fleet_s_program_there(program):
    assert (DEFAULTS["PASSCODE_FLEET_PATH"] + "\0").encode() in (BUILD / program).read_bytes()


def test_what_was_built_looks_for_the_tool_there():
    assert (DEFAULTS["PASSCODE_TOOL_PATH"] + "\0").encode() in (BUILD / "pam_passcode.so").read_bytes()


def test_the_unit_of_the_reader_s_program_starts_it_there():
    unit = (TREE / "Sources/system/systemd/passcode-finger@.service").read_text()
    assert f"ExecStart=-{DEFAULTS['PASSCODE_FINGER_PATH']}\n" in unit


def test_no_swift_file_has_a_path_or_an_account_of_its_own():
    """But for those of libpam's files and of sudo's plugin."""
    for path in (TREE / "Sources").rglob("*.swift"):
        code = re.sub(r"//.*", "", path.read_text())
        assert not re.search(r'"/usr/lib\w*/(?!pam\.d|sudo/)', code), path.name
        assert not re.search(r"\b_passcode\b", code), path.name
