"""What `passcode status` tells of the system's PAM service files, and `enroll` of their absence."""

import pathlib
import shutil

import pytest

import machine as machines
from bed import MODULE
from scenario import EXAMPLES, PASSWORD, RIGHT
from tool import DONE, NOT_ENROLLED, alone

ETC, VENDOR = pathlib.Path("/etc/pam.d"), pathlib.Path("/usr/lib/pam.d")
NOBODY = (
    "No PAM service asks for the passcode.\n"
    "To enable it for all services, run as root: pam-auth-update --enable passcode\n"
)
PROFILE = f"""auth [success=2 default=ignore] {MODULE}
auth [success=1 default=ignore] pam_unix.so nullok try_first_pass
auth requisite pam_deny.so
auth required pam_permit.so
"""
SECOND = "requisite pam_unix.so\nauth required pam_passcode.so"


@pytest.fixture
def folders():
    """Both folders for this test alone, with nothing but the files that examples include, and that ask for nothing. A small
    Debian 13 has only one of them."""
    is_missing = not VENDOR.exists()
    VENDOR.mkdir(exist_ok=True)
    for folder in (ETC, VENDOR):
        machines.sh("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder)
    for name in ("auth", "account", "session", "session-noninteractive", "password"):
        (ETC / f"common-{name}").write_text("")
    yield
    for folder in (VENDOR, ETC):
        machines.sh("umount", folder)
    if is_missing:
        VENDOR.rmdir()


@pytest.fixture
def system(folders, machine):
    """The installed system; no service asks for the passcode. alice has a password."""
    del folders
    machines.set_password("alice")
    machine.typed.add(PASSWORD)
    return machine


def told(system, user=None):
    """What status tells about services, by root or by alice."""
    answer = system.tool("status", "alice", user=user, check=NOT_ENROLLED)
    assert answer.errors == "" and all(len(line) <= 80 for line in answer.output.splitlines())
    first, _, rest = answer.output.partition("\n")
    assert first == "alice: no passcode is set"
    return rest


@pytest.mark.parametrize("user", [None, "alice"])
def test_who_asks_is_told(system, user):
    assert told(system, user) == NOBODY
    (ETC / "common-auth").write_text(PROFILE)
    assert told(system, user) == NOBODY, "nobody includes it"
    for name in ("sudo", "login", "su"):
        (ETC / name).write_text("auth sufficient pam_rootok.so\n@include common-auth\n")
    assert told(system, user) == "Asked for by: login, su, sudo (common-auth).\n"
    (VENDOR / "kde").write_text(f"auth sufficient {MODULE}\n")
    (VENDOR / "sudo").write_text("auth sufficient pam_passcode.so x\n")
    assert told(system, user) == "Asked for by: kde; login, su, sudo (common-auth).\n"
    for number in range(20):
        (ETC / f"service-{number:02}").symlink_to("sudo")
    many = told(system, user)
    assert many.count("\n") == 4 and many.endswith(" service-19, su, sudo (common-auth).\n")


@pytest.mark.parametrize("user", [None, "alice"])
def test_what_is_wrong_is_told_with_its_place(system, user):
    (ETC / "sshd").write_text(f"# two factors\n\nauth {SECOND}\n")
    (ETC / "login").write_text("auth [success=done auth_err=die default=ignore] pam_passcode.so\n@include common-auth\n")
    (ETC / "sudo").write_text("auth sufficient pam_passcode.so first-login=deny fail_delay=99 \\\n store=/x\n")
    text = told(system, user)
    assert text.startswith("Asked for by: login; sudo.\n")
    assert f"{ETC}/sshd:4: both password and passcode are required here, but anyone" in text
    assert "add second_factor (see pam_passcode(8))." in text
    assert f"{ETC}/login:1: auth_err=die without either: " in text
    assert f'{ETC}/sudo:1: unknown option "first-login=deny"\n' in text
    assert f'{ETC}/sudo:1: "fail_delay=99" needs 0 to 60 seconds\n' in text
    assert f'{ETC}/sudo:1: "store=/x" belongs in the configuration file\n' in text


def test_the_example_stacks_are_in_order(system):
    for file in EXAMPLES.iterdir():
        shutil.copy2(file, ETC)
    lines = told(system).splitlines()
    names = "; ".join(sorted(file.name for file in EXAMPLES.iterdir()))
    assert " ".join(line.strip() for line in lines).endswith(f"Asked for by: {names}.")
    assert [line for line in lines if line.startswith("/")] == []


def test_the_configuration_counts_for_the_lines(system):
    (ETC / "login").write_text("auth [success=done auth_err=die default=ignore] pam_passcode.so\n")
    assert "auth_err=die" in told(system)
    system.configure(either="yes")
    assert told(system) == "Asked for by: login.\n"


def test_a_file_that_cannot_be_read_is_named(system):
    (ETC / "closed").write_text(PROFILE)
    (ETC / "closed").chmod(0o600)
    (ETC / "large").write_text("#" * 65_537)
    (ETC / "folder").mkdir()
    (ETC / "dangling").symlink_to("nowhere")
    lines = told(system, "alice").splitlines()
    assert sorted(lines[:2]) == [
        f"Not checked: {ETC}/closed: Permission denied", f"Not checked: {ETC}/large: larger than 64 KiB",
    ]  # fmt: skip
    assert lines[2:] == ["None of the other PAM services asks for the passcode."]
    assert told(system) == f"Not checked: {ETC}/large: larger than 64 KiB\nAsked for by: closed.\n"


def test_enrolment_tells_how_to_be_asked_at_all(system):
    done = "Passcode set for alice.\n"
    system.typed.add(RIGHT)
    (ETC / "passcode").write_text("auth required pam_unix.so\n")
    assert alone(system, "enroll", PASSWORD, RIGHT, check=DONE).output == done + NOBODY
    answer = system.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE)
    assert (answer.output, answer.errors) == (done + NOBODY, "")
    answer = system.tool("enroll", "--generate", "alice", check=DONE)
    assert len(answer.output) == 7 and answer.errors == NOBODY
    for arguments in (["--quiet", "--stdin"], ["--quiet", "--generate"]):
        answer = system.tool("enroll", *arguments, "alice", stdin=f"{RIGHT}\n", check=DONE)
        assert NOBODY not in answer.output and answer.errors == ""
    (ETC / "sudo").write_text(f"auth sufficient {MODULE}\n")
    assert system.tool("enroll", "--stdin", "alice", stdin=f"{RIGHT}\n", check=DONE).output == done


def test_nothing_is_told_to_programs_nor_of_another_store(system, keyed):
    assert system.tool("status", "--json", "alice", check=NOT_ENROLLED).output.count("\n") == 1
    assert keyed.tool("status", "alice", check=NOT_ENROLLED).output == "alice: no passcode is set\n"
    assert "PAM service asks" not in keyed.enroll("alice", RIGHT).output
    demo = system.tool("try", "--demo", check=DONE)
    assert "PAM service asks" not in demo.output + demo.errors


def test_a_folder_that_cannot_be_read_is_named(system):
    VENDOR.chmod(0o700)
    assert told(system) == NOBODY
    lines = [f"Not checked: {VENDOR}: Permission denied", "None of the other PAM services asks for the passcode."]
    assert told(system, "alice").splitlines() == lines
