"""`passcode check`: each broken installation is named with its remedy, and nothing else is; healthy ones are silent."""

import contextlib
import dataclasses
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess

import pytest

import machine as machines
import plain
import sealing
from accounts import accounts_changed, renamed
from bed import BUILD, MODULE, built, uid
from finger import INSTALLED as FINGER
from finger import SOCKET
from machine import ACCOUNT, CONFIGURATION, HELPER, KEY, PROOF, RUN, STORE
from scenario import EXAMPLES, RIGHT
from tool import DONE, UNUSABLE, USAGE

ETC, VENDOR = pathlib.Path("/etc/pam.d"), pathlib.Path("/usr/lib/pam.d")
SAVED = pathlib.Path("/var/lib/pam")
COMMON = ETC / "common-auth"
WRONG = 1
NAMES = ["version", "check", "level", "path", "line", "message", "command"]
PROFILE = """# here are the per-package modules (the "Primary" block)
auth	[success=2 auth_err=die conv_err=die default=ignore]	pam_passcode.so either
auth	[success=1 default=ignore]	pam_unix.so nullok try_first_pass
# here's the fallback if no module succeeds
auth	requisite	pam_deny.so
auth	required	pam_permit.so
# and here are more per-package modules (the "Additional" block)
auth	optional	pam_cap.so
# end of pam-auth-update config
"""
SEEN = """Module: passcode
[success=end auth_err=die conv_err=die default=ignore]	pam_passcode.so either
Module: unix
[success=end default=ignore]	pam_unix.so nullok try_first_pass
Module: capability
optional	pam_cap.so
"""
PROFILE_LINE = 2


@pytest.fixture(scope="module")
def modules(installation):
    """libpam's folder of modules, with ours."""
    del installation
    with machines.modules_of_libpam() as folder:
        names = {path.name for path in folder.iterdir()}

        def install():
            for path in folder.iterdir():
                if path.name not in names:
                    path.unlink()
            shutil.copyfile(MODULE, folder / "pam_passcode.so")
            (folder / "pam_passcode.so").chmod(0o644)
            return folder

        yield install


@pytest.fixture
def system(modules, machine, sealing_program):
    """As the package installs it, with the profile enabled. alice has a passcode."""
    machine.modules = modules()
    files = {path.name: path.read_bytes() for path in ETC.iterdir()}
    if not plain.PLAIN:
        machines.sh("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", ETC)
        for name, content in files.items():
            (ETC / name).write_bytes(content)
    COMMON.write_text(PROFILE)
    aside = SAVED.with_name("pam.aside")
    if SAVED.exists():
        shutil.move(SAVED, aside)
    SAVED.mkdir()
    (SAVED / "auth").write_text(SEEN)
    machine.enroll("alice", RIGHT)
    with contextlib.ExitStack() as machine.undo:
        yield machine
    if plain.PLAIN:
        for path in ETC.iterdir():
            plain.remove(path)
        for name, content in files.items():
            (ETC / name).write_bytes(content)
    else:
        machines.sh("umount", "--lazy", ETC)
    shutil.rmtree(SAVED)
    if aside.exists():
        shutil.move(aside, SAVED)


@pytest.fixture
def undone(system):
    """Carries out a preparation, and takes its mounts away afterwards."""
    before = pathlib.Path("/proc/mounts").read_text().splitlines()
    yield lambda prepare: prepare(system)
    system.undo.close()
    for mount in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
        if mount not in before:
            machines.sh("umount", "--lazy", mount.split()[1])


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    level: str
    path: str
    line: int
    message: str
    command: str


def rows(answer):
    """Every object, each with all names."""
    found = [json.loads(line) for line in answer.output.splitlines()]
    assert found and all(list(row) == NAMES and row["version"] == 1 for row in found), answer
    return [Finding(*[row[name] for name in NAMES[1:]]) for row in found]


def check(system, *arguments, **how):
    """The exit status, and what is wrong."""
    answer = system.tool("check", "--json", *arguments, **how)
    assert answer.errors == ""
    found = [row for row in rows(answer) if row.level in ("warning", "error")]
    assert answer.status == (WRONG if any(row.level == "error" for row in found) else DONE)
    return found


def service(name, text):
    (ETC / name).write_text(text)


# MARK: Broken installations

BROKEN = {}


PROVEN = "auth optional pam_passcode.so proven\n"


def broken(check, level, path=None, line=None, words="", runs=False):
    """`runs`: the remedy is a command, after which nothing is wrong; or this command, which isn't run here."""

    def keep(function):
        BROKEN[function.__name__] = (function, check, level, path and str(path), line, words, runs)
        return function

    return keep


@broken("configuration", "error", CONFIGURATION, 5, 'unknown option "frobnicate"')
def unknown_option(system):
    system.configure("frobnicate=1")


@broken("configuration", "error", CONFIGURATION, 5, "needs auto, or 1 to 64")
def bad_value(system):
    system.configure("max_parallel=many")


@broken("configuration", "error", CONFIGURATION, 5, "is given twice")
def option_twice(system):
    system.configure("weak=warn")


@broken("configuration", "error", CONFIGURATION, None, "must be owned by root", runs=True)
def configuration_of_a_user(system):
    shutil.chown(CONFIGURATION, "alice")


@broken("configuration", "error", CONFIGURATION, None, "writable by its owner only", runs=True)
def configuration_writable_by_all(system):
    CONFIGURATION.chmod(0o666)


@broken("configuration", "error", CONFIGURATION, None, "the helper can't read it", runs=True)
def configuration_hidden_from_the_helper(system):
    CONFIGURATION.chmod(0o600)


@broken("configuration", "error", "/etc/passcode/weak", None, "no such file")
def no_weak_list(system):
    system.configure(weak_list="/etc/passcode/weak")


@broken("clock", "error", None, None, "boot_id can't be read")
def no_boot_id(system):
    machines.sh("mount", "--bind", "/dev/null", "/proc/sys/kernel/random/boot_id")


@broken("key", "error", KEY, None, "no machine key")
def no_key(system):
    KEY.unlink()


@broken("key", "error", KEY, None, "wrong size")
def short_key(system):
    KEY.write_bytes(KEY.read_bytes()[:31])


@broken("key", "error", KEY, None, "everyone can read it", runs=True)
def key_for_everyone(system):
    KEY.chmod(0o444)


@broken("key", "error", KEY, None, "_passcode must be able to read it", runs=True)
def key_of_another_group(system):
    shutil.chown(KEY, "root", "root")


@broken("key", "error", KEY, None, "must be owned by root", runs=True)
def key_of_a_user(system):
    os.chown(KEY, uid("alice"), -1)


SEALED = KEY.with_name("key.cred")


def seal(system):
    """With first_login=deny, so that the disk doesn't matter; then undone."""
    system.configure(first_login="deny")
    service("login", "@include common-auth\nsession optional pam_passcode.so\n")
    system.tpm = sealing.TPM()
    system.undo.callback(sealing.boot)
    system.undo.callback(system.tpm.stop)
    system.tool("key", "seal", "--force", check=DONE)


@broken("key", "error", SEALED, None, "sealed, and not loaded", runs=True)
def sealed_key_that_was_not_loaded(system):
    seal(system)
    sealing.boot()


@broken("key", "error", SEALED, None, "the TPM did not unseal it: No TPM2 device found. Passwords still work.")
def sealed_key_without_its_tpm(system):
    seal(system)
    sealing.boot()
    system.tpm.stop()


@broken("key", "error", SEALED, None, "use your recovery copy: passcode key recover")
def sealed_key_of_another_tpm(system):
    seal(system)
    sealing.boot()
    system.tpm.clear()


@broken("key", "warning", SEALED, None, "the TPM will not unseal it at the next boot")
def loaded_key_whose_tpm_was_cleared(system):
    seal(system)
    system.tpm.clear()


@broken("key", "warning", SEALED, None, "does not hold the key in use", runs=True)
def sealed_key_that_is_another_one(system):
    seal(system)
    before = sealing.LOADED.read_bytes(), SEALED.read_bytes()
    sealing.LOADED.write_bytes(os.urandom(32))
    (STORE / str(uid("alice"))).rename(STORE.parent / "record")
    system.tool("key", "seal", "--force", check=DONE)
    (STORE.parent / "record").rename(STORE / str(uid("alice")))
    sealing.LOADED.write_bytes(before[0])


@broken("key", "warning", KEY, None, "a plain key exists as well as the sealed one")
def sealing_that_was_interrupted(system):
    seal(system)
    shutil.copyfile(sealing.LOADED, KEY)
    KEY.chmod(0o440)
    shutil.chown(KEY, "root", ACCOUNT)


def interrupt_rotation(system):
    """Alice's record is under the new key, bob's is not."""
    system.tool("enroll", "--stdin", "bob", stdin=f"{RIGHT}\n", check=DONE)
    subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                    "inject=fdatasync:signal=KILL:when=2", *system.tool_words(), "key", "rotate", "--force"],
                   stdout=subprocess.DEVNULL)  # fmt: skip


@broken("key", "warning", None, None, "1 passcode is still under the old machine key", runs=True)
def rotation_that_was_interrupted(system):
    interrupt_rotation(system)


@broken("key", "warning", None, None, "1 passcode is still under the old machine key", runs=True)
def rotation_of_a_sealed_key_that_was_interrupted(system):
    seal(system)
    interrupt_rotation(system)


@broken("key", "error", SEALED, None, "the TPM did not unseal it")
def sealed_key_of_rubbish(system):
    seal(system)
    sealing.boot()
    SEALED.chmod(0o600)
    SEALED.write_bytes(bytes(range(256)) * 64)


@broken("key", "error", SEALED, None, "must not be a symbolic link")
def sealed_key_that_is_a_link(system):
    seal(system)
    sealing.boot()
    SEALED.rename(SEALED.with_name("elsewhere"))
    SEALED.symlink_to(SEALED.with_name("elsewhere"))


@broken("key", "error", SEALED, None, "must be a regular file")
def sealed_key_that_is_a_queue(system):
    seal(system)
    sealing.boot()
    SEALED.unlink()
    os.mkfifo(SEALED)


@broken("key", "error", sealing.LOADED, None, "wrong size")
def loaded_key_that_is_short(system):
    seal(system)
    sealing.LOADED.write_bytes(b"short")


@broken("key", "error", sealing.LOADED.parent, None, "must be owned by root", runs=True)
def loaded_key_of_a_user(system):
    seal(system)
    shutil.chown(sealing.LOADED.parent, "alice")


def disk(*layers):
    """The store's block device as the kernel shows it, and what is below it: the identities of device mapper's, or ""."""
    number = os.stat(STORE).st_dev
    machines.sh("mount", "-t", "tmpfs", "tmpfs", "/sys/dev/block")
    place = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    for layer in layers:
        place.mkdir(parents=True)
        if layer:
            (place / "dm").mkdir()
            (place / "dm/uuid").write_text(f"{layer}\n")
        place = place / "slaves/below"


def swap(system, lines, *, states="freeze mem disk", ways="[platform] shutdown"):
    """With a sealed key; the kernel's files about swap and hibernation say this."""
    seal(system)
    SWAPS.write_text(f"Filename\tType\tSize\tUsed\tPriority\n{lines}")
    machines.sh("mount", "--bind", SWAPS, "/proc/swaps")
    machines.sh("mount", "-t", "tmpfs", "tmpfs", "/sys/power")
    pathlib.Path("/sys/power/state").write_text(f"{states}\n")
    pathlib.Path("/sys/power/disk").write_text(f"{ways}\n")


def swap_file(system, *layers, **how):
    """A file for swap on the store's disk."""
    file = STORE.parent / "swapfile"
    file.touch()
    swap(system, f"{file} file 1 0 -2\n", **how)
    disk(*layers)


SWAPS = pathlib.Path("/run/swaps")


def sealed_on(system, *layers):
    seal(system)
    disk(*layers)
    system.configure(first_login="allow")


@broken("store", "warning", STORE, None, "an attacker can restore old records and regain used attempts: set first_login=deny")
def store_on_a_plain_disk(system):
    sealed_on(system, "")


@broken("store", "warning", STORE, None, "the disk is not encrypted")
def store_on_volumes_without_encryption(system):
    sealed_on(system, "LVM-0123", "")


SWAP = STORE.parent / "swapfile"


@broken("key", "warning", SWAP, None, "hibernation would write the unsealed key there, unencrypted")
def hibernation_to_a_plain_disk(system):
    swap_file(system, "")


@broken("key", "warning", SWAP, None, "unencrypted swap space")
def swap_on_a_plain_disk(system):
    swap_file(system, "LVM-0123", "", states="freeze mem")


@broken("key", "warning", SWAP, None, "unencrypted swap space")
def swap_on_a_plain_disk_of_a_locked_down_kernel(system):
    swap_file(system, "", ways="[disabled]")


@broken("store", "error", STORE, None, "no such directory")
def no_store(system):
    shutil.rmtree(STORE)


@broken("store", "error", STORE, None, "must belong to _passcode alone", runs=True)
def store_open_to_others(system):
    STORE.chmod(0o755)


@broken("store", "error", STORE, None, "must belong to _passcode alone", runs=True)
def store_of_the_group_root(system):
    STORE.chmod(0o2770)


@broken("store", "error", STORE, None, "must be owned by _passcode", runs=True)
def store_of_a_user(system):
    shutil.chown(STORE, "alice")


@broken("store", "error", STORE, None, "mounted read-only")
def store_read_only(system):
    machines.sh("mount", "--bind", STORE, STORE)
    machines.sh("mount", "-o", "remount,ro,bind", STORE)


def small_store(*options):
    kept = {path.name: path.read_bytes() for path in STORE.iterdir()}
    machines.sh("mount", "-t", "tmpfs", "-o", ",".join(["mode=0700", *options]), "tmpfs", STORE)
    for name, content in kept.items():
        (STORE / name).write_bytes(content)
        (STORE / name).chmod(0o600)
        shutil.chown(STORE / name, ACCOUNT, "root")
    shutil.chown(STORE, ACCOUNT, "root")


@broken("store", "warning", STORE, None, "KiB free: make room")
def store_almost_full(system):
    small_store("size=256K")


@broken("store", "warning", STORE, None, "more files: make room")
def store_without_inodes(system):
    small_store("nr_inodes=20")


@broken("store", "warning", STORE / "backup.tar", None, "is not a record")
def stray_file(system):
    (STORE / "backup.tar").write_bytes(b"")


def record():
    return STORE / str(uid("alice"))


@broken("store", "error", None, None, "the record is damaged", runs=False)
def damaged_record(system):
    record().write_bytes(b"\0" * 8192)


@broken("store", "warning", None, None, "one copy is damaged")
def interrupted_write(system):
    content = record().read_bytes()
    record().write_bytes(content[:4096] + b"\0" * 4096)


@broken("store", "error", None, None, "under another machine key")
def record_of_another_key(system):
    KEY.write_bytes(os.urandom(32))


@broken("store", "error", None, None, "don't trust it, remove it and enrol again", runs=True)
def record_of_a_user(system):
    shutil.chown(record(), "alice")


@broken("store", "error", None, None, "writable by its owner only", runs=True)
def record_writable_by_all(system):
    record().chmod(0o602)


@broken("store", "error", None, None, "with only one hard link")
def record_with_two_names(system):
    os.link(record(), STORE.parent / "link")


@broken("store", "warning", None, None, "of an account that doesn't exist", runs=True)
def orphaned_record(system):
    system.undo.enter_context(accounts_changed(lambda lines: [line for line in lines if not line.startswith("alice:")]))


@broken("store", "warning", None, None, "enrolled for alice, but the uid now belongs to alicia")
def reused_record(system):
    system.undo.enter_context(renamed())


@broken("store", "warning", None, None, "enrolled for alice, who has another uid now", runs=True)
def record_of_the_old_uid(system):
    accounts = pathlib.Path("/etc/passwd")
    before = accounts.read_text()
    [line] = [line for line in before.splitlines(True) if line.startswith("alice:")]
    _, hidden, number, *rest = line.split(":")
    lines = [line.replace(f":{number}:", ":29999:", 1), ":".join(["dora", hidden, number, *rest])]
    accounts.write_text(before.replace(line, "".join(lines)))
    system.undo.callback(accounts.write_text, before)


@broken("cost", "warning", None, None, "lower max_parallel or memlimit")
def too_much_in_parallel(system):
    system.configure(memlimit="1G", max_parallel="64")


@broken("cost", "warning", None, None, "hashing takes")
def slow_hashing(system):
    system.configure(opslimit="64", memlimit="128M", max_parallel="1")


@broken("helper", "error", HELPER, None, "must be owned by _passcode:_passcode with mode 6755", runs=True)
def helper_without_bits(system):
    HELPER.chmod(0o755)


@broken("helper", "error", HELPER, None, "must be owned by _passcode:_passcode with mode 6755", runs=True)
def helper_of_root(system):
    machines.install_helper(owner="root")


@broken("helper", "error", HELPER, None, "another account can write to it: reinstall")
def helper_of_a_user(system):
    machines.install_helper(owner="alice")


@broken("helper", "error", HELPER, None, "another account can write to it: reinstall")
def helper_writable_by_all(system):
    HELPER.chmod(0o6777)


@broken("helper", "error", HELPER, None, "no such file: reinstall")
def no_helper(system):
    HELPER.unlink()


@broken("helper", "error", HELPER, None, "mounted nosuid")
def helper_on_nosuid(system):
    machines.sh("mount", "--bind", "/usr/libexec", "/usr/libexec")
    machines.sh("mount", "-o", "remount,nosuid,bind", "/usr/libexec")
    system.undo.callback(machines.sh, "umount", "--lazy", "/usr/libexec")


def change_version(path):
    path.write_bytes(path.read_bytes().replace(b"pam_passcode\0\0\0\0", b"pam_passcode\0\0\0\x01"))


@broken("helper", "error", HELPER, None, "not the same version")
def helper_of_another_version(system):
    change_version(HELPER)
    HELPER.chmod(0o6755)


@broken("helper", "error", HELPER, None, "gives no answer")
def helper_that_says_nothing(system):
    with HELPER.open("r+b") as file:
        file.write(b"\x7fnot")
    HELPER.chmod(0o6755)


@broken("helper", "error", HELPER, None, "gives no answer")
def helper_that_ends(system):
    note = (built("passcode-helper")).read_bytes()
    place = note.index(b"pam_passcode\0\0\0\0")
    shutil.copyfile("/bin/true", HELPER)
    with HELPER.open("ab") as file:
        file.write(note[place - 12 : place + 32])
    shutil.chown(HELPER, ACCOUNT, ACCOUNT)
    HELPER.chmod(0o6755)


@broken("group", "error", None, None, "bob is in the group _passcode", runs=True)
def member_of_the_group(system):
    machines.sh("gpasswd", "--add", "bob", ACCOUNT, stdout=subprocess.DEVNULL)


def module(system):
    return system.modules / "pam_passcode.so"


@broken("module", "error", None, None, "no such file: reinstall")
def no_module(system):
    module(system).unlink()


@broken("module", "error", None, None, "others can write to it: reinstall")
def module_writable_by_all(system):
    module(system).chmod(0o666)


@broken("module", "error", None, None, "not the same version")
def module_of_another_version(system):
    change_version(module(system))


@broken("module", "error", None, None, "can't be loaded")
def module_that_does_not_load(system):
    with module(system).open("r+b") as file:
        file.write(b"\x7fNOT")


@broken("services", "warning", None, None, "no PAM service asks for the passcode")
def nobody_asks(system):
    COMMON.write_text(PROFILE.replace("success=2 ", "success=end ").replace("auth	[success=end", "#	[success=end"))
    (SAVED / "auth").unlink()


@broken("services", "error", ETC / "sudo", 1, 'unknown option "first-login=deny"')
def bad_option_of_a_line(system):
    service("sudo", "auth sufficient pam_passcode.so first-login=deny\nauth required pam_unix.so\n")


@broken("services", "error", ETC / "sudo", 2, "add second_factor")
def second_factor_without_the_flag(system):
    service("sudo", "auth requisite pam_unix.so\nauth required pam_passcode.so\n")


@broken("services", "error", ETC / "sudo", 2, "until passcode.conf has second_factor=yes")
def second_factor_without_the_policy(system):
    service("sudo", "auth requisite pam_unix.so\nauth required pam_passcode.so second_factor\n")


@broken("services", "error", ETC / "sudo", 1, "second_factor is set, but the passcode alone is enough")
def second_factor_alone(system):
    service("sudo", "auth sufficient pam_passcode.so second_factor\nauth required pam_unix.so\n")


@broken("services", "warning", COMMON, PROFILE_LINE, "here the passcode alone is enough: require the password")
def policy_of_a_second_factor_with_the_profile(system):
    system.configure(second_factor="yes")


@broken("services", "warning", ETC / "sudo", 1, "auth_err=die without either")
def no_way_to_the_password(system):
    service("sudo", "auth [success=done auth_err=die default=ignore] pam_passcode.so\nauth required pam_unix.so\n")


@broken("services", "error", ETC / "sudo", 1, "doesn't know this control")
def control_of_a_profile_in_a_service(system):
    service("sudo", "auth [success=end default=ignore] pam_passcode.so\nauth required pam_unix.so\n")


@broken("services", "error", ETC / "sudo", 2, "common-nothing: no such file")
def missing_include(system):
    service("sudo", "auth sufficient pam_passcode.so\n@include common-nothing\n")


@broken("services", "error", ETC / "sudo", 2, "can't read this line")
def line_without_a_module(system):
    service("sudo", "auth sufficient pam_passcode.so\nauth required\n")


@broken("services", "error", ETC / "sudo", 1, "the module has only auth and session")
def account_line(system):
    service("sudo", "account required pam_passcode.so\n@include common-auth\n")


@broken("services", "error", ETC / "sudo", 1, "even the correct passcode is refused")
def success_that_lands_on_deny(system):
    service("sudo", "auth [success=1 default=ignore] pam_passcode.so\nauth required pam_unix.so\nauth requisite pam_deny.so\n")


@broken("services", "error", ETC / "sudo", 2, "even the correct passcode is refused")
def success_that_lands_on_authfail(system):
    service("sudo", "auth requisite pam_faillock.so preauth\nauth [success=1 default=ignore] pam_passcode.so\n"
            "auth sufficient pam_unix.so\nauth [default=die] pam_faillock.so authfail\n")  # fmt: skip


@broken("services", "warning", ETC / "sudo", 2, "the passcode has no effect here")
def line_behind_the_password(system):
    COMMON.write_text("auth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n")
    (SAVED / "auth").unlink()
    service("sudo", "@include common-auth\nauth sufficient pam_passcode.so\n")


@broken("services", "warning", ETC / "sudo", 2, "an earlier line asks for the password")
def password_first(system):
    service("sudo", "auth sufficient pam_unix.so\nauth sufficient pam_passcode.so\nauth required pam_deny.so\n")


@broken("services", "error", ETC / "sudo", 1, "this stack lets anyone in")
def stack_that_lets_anyone_in(system):
    service("sudo", "auth optional pam_passcode.so\nauth required pam_permit.so\n")


@broken("services", "error", ETC / "kiosk", 1, "nullok lets users without a passcode in")
def nullok_without_another_secret(system):
    service("kiosk", "auth required pam_passcode.so nullok\nauth required pam_permit.so\n")


@broken("services", "warning", ETC / "sudo", 2, "add ignore=ignore")
def nullok_that_refuses(system):
    system.configure(second_factor="yes")
    COMMON.write_text("auth required pam_unix.so\n")
    (SAVED / "auth").unlink()
    service("sudo", "auth requisite pam_unix.so\nauth [success=ok default=bad] pam_passcode.so second_factor nullok\n")


@broken("services", "warning", COMMON, PROFILE_LINE, "the stack asks for the passcode twice")
def own_line_beside_the_profile(system):
    service("sudo", "auth sufficient pam_passcode.so\n@include common-auth\n")


@broken("services", "error", COMMON, 1, "every service needs a passcode, and root has none")
def root_has_no_way(system):
    (SAVED / "auth").unlink()
    COMMON.write_text("auth required pam_passcode.so\n")


@broken("services", "warning", COMMON, 1, "so a locked passcode locks root out")
def root_has_only_a_passcode(system):
    root_has_no_way(system)
    system.enroll("root", RIGHT)


@broken("services", "error", ETC / "sshd", 1, "refused without remote=allow")
def remote_service_without_remote(system):
    service("sshd", "auth required pam_passcode.so\n")


@broken("services", "warning", ETC / "sshd", 1, "get no passcode prompt without remote=allow")
def useless_line_of_a_remote_service(system):
    service("sshd", "auth sufficient pam_passcode.so\nauth required pam_unix.so\n")


@broken("services", "error", COMMON, PROFILE_LINE, "no service notes a login")
def first_login_without_a_session(system):
    system.configure(first_login="deny")


PROVES = "pam-auth-update --enable passcode-proven"


@broken("services", "error", COMMON, PROFILE_LINE, "nothing notes when the password is used", runs=PROVES)
def password_every_without_its_line(system):
    machines.set_password("alice")
    system.configure(password_every="3d")


@broken("services", "error", ETC / "vlock", 1, "this stack takes no password, so nobody gets in when it is due")
def password_every_without_a_password_to_type(system):
    machines.set_password("alice")
    system.configure(password_every="3d")
    service("vlock", "auth required pam_passcode.so\n")
    service("sddm", f"@include common-auth\n{PROVEN}")


@broken("configuration", "error", CONFIGURATION, None, "need passwords, and alice has none: set one")
def password_every_for_one_who_has_none(system):
    system.enroll("alice", RIGHT)
    machines.sh("usermod", "-p", "!", "alice")
    system.configure(password_every="3d")
    service("sddm", f"@include common-auth\n{PROVEN}")


@broken("services", "error", ETC / "login", 1, "there is no password to log in with first")
def first_login_without_a_password(system):
    service("login", "auth required pam_passcode.so first_login=deny\nsession optional pam_passcode.so\n")


@broken("services", "warning", ETC / "swaylock", 2, "counts a wrong passcode as a wrong password")
def locker_with_faillock(system):
    service("swaylock", "auth requisite pam_faillock.so preauth\nauth sufficient pam_passcode.so\n"
            "auth sufficient pam_unix.so\nauth [default=die] pam_faillock.so authfail\n")  # fmt: skip


@broken("services", "warning", COMMON, PROFILE_LINE, "pam_kwallet5 needs the password")
def wallet(system):
    (system.modules / "pam_kwallet5.so").write_bytes(b"")
    service("sddm", "@include common-auth\n-auth optional pam_kwallet5.so\n")


@broken("services", "warning", ETC / "swaylock", 2, "pam_radius_auth accepts one-time passwords")
def a_pause_that_radius_is_to_end(system):
    service("swaylock", f"auth sufficient pam_passcode.so\nauth required pam_radius_auth.so\n{PROVEN}")


@broken("services", "warning", ETC / "swaylock", 2, "pam_sss accepts one-time passwords")
def a_pause_that_freeipa_is_to_end(system):
    folder = pathlib.Path("/etc/ipa")
    folder.mkdir()
    (folder / "default.conf").write_text("[global]\n")
    service("swaylock", f"auth sufficient pam_passcode.so\nauth required pam_sss.so\n{PROVEN}")
    system.undo.callback(shutil.rmtree, folder)


@broken("services", "warning", COMMON, PROFILE_LINE, "pam_fprintd waits for a finger")
def finger_behind_the_passcode(system):
    (system.modules / "pam_fprintd.so").write_bytes(b"")
    lines = PROFILE.replace("success=2", "success=3").splitlines(True)
    lines.insert(2, "auth	[success=2 default=ignore]	pam_fprintd.so\n")
    COMMON.write_text("".join(lines))
    (SAVED / "auth").unlink()


def with_finger(system):
    """The program and its socket, and su with the option."""
    shutil.copyfile(built("passcode-finger"), FINGER)
    FINGER.chmod(0o755)
    SOCKET.touch()
    service("su", "auth sufficient pam_passcode.so finger=yes\nauth required pam_unix.so\n")
    system.undo.callback(FINGER.unlink)
    system.undo.callback(SOCKET.unlink, missing_ok=True)


@broken("services", "warning", COMMON, PROFILE_LINE + 1, "and pam_fprintd asks for a fingerprint, too")
def finger_and_fprintd_in_the_profiles(system):
    a_finger_before(system)
    system.configure(finger="yes")
    with_finger(system)


@broken("services", "warning", ETC / "su", 1, "pam_fprintd asks for a fingerprint, too: remove one of them")
def finger_and_fprintd_in_a_service(system):
    (system.modules / "pam_fprintd.so").write_bytes(b"")
    with_finger(system)
    service("su", "auth sufficient pam_passcode.so either finger\nauth sufficient pam_fprintd.so\nauth required pam_unix.so\n")


@broken("finger", "warning", None, None, "needs a package that isn't installed")
def finger_without_its_package(system):
    service("su", "auth sufficient pam_passcode.so finger=yes\nauth required pam_unix.so\n")


@broken("finger", "warning", None, None, "needs systemd as PID 1")
def finger_without_systemd(system):
    with_finger(system)
    SOCKET.unlink()


@broken("finger", "warning", SOCKET, None, "no such socket")
def finger_whose_socket_is_not_active(system):
    with_finger(system)
    tmpfiles_of_the_administrator(system)
    SOCKET.unlink()


@broken("finger", "error", FINGER, None, "others can write to it")
def finger_program_writable_by_all(system):
    with_finger(system)
    FINGER.chmod(0o757)


@broken("finger", "error", FINGER, None, "others can write to it")
def finger_program_of_a_user(system):
    with_finger(system)
    shutil.chown(FINGER, "alice")


@broken("finger", "error", FINGER, None, "not the same version")
def finger_program_of_another_version(system):
    with_finger(system)
    change_version(FINGER)
    FINGER.chmod(0o755)


@broken("services", "warning", ETC / "su", 1, "is not the installed module")
def another_module(system):
    service("su", f"auth sufficient {MODULE}\nauth required pam_unix.so\n")


@broken("services", "error", ETC / "su", 1, "there is no module")
def module_at_a_missing_place(system):
    service("su", "auth sufficient /opt/pam_passcode.so\nauth required pam_unix.so\n")


@broken("services", "error", PROOF, None, "no such file")
def no_password_service(system):
    PROOF.unlink()


@broken("services", "error", COMMON, PROFILE_LINE, "must ask for the password alone")
def password_service_with_an_include(system):
    PROOF.write_text("@include common-auth\n")


@broken("services", "error", PROOF, None, "accepts any password")
def password_service_for_anyone(system):
    PROOF.write_text("auth required pam_permit.so\n")


@broken("services", "error", PROOF, None, "must be owned by root", runs=True)
def password_service_of_a_user(system):
    shutil.chown(PROOF, "alice")


@broken("profile", "warning", COMMON, 3, "edited by hand")
def edited_profile(system):
    lines = PROFILE.splitlines(True)
    lines.insert(2, "auth	optional	pam_echo.so\n")
    COMMON.write_text("".join(lines).replace("success=2", "success=3"))


@broken("profile", "warning", COMMON, None, "its line is missing")
def lost_profile(system):
    service("sudo", "auth sufficient pam_passcode.so\nauth required pam_unix.so\n")
    COMMON.write_text("".join(line for line in PROFILE.splitlines(True) if "pam_passcode" not in line))


UNITS = pathlib.Path("/etc/systemd/system/polkit-agent-helper@.service")


@broken("units", "error", STORE, None, "polkit can't write")
def no_polkit_drop_in(system):
    UNITS.write_text("[Service]\nProtectSystem=strict\n")
    system.undo.callback(UNITS.unlink)


@broken("units", "warning", None, None, "makes /run/passcode at boot")
def no_tmpfiles(system):
    pathlib.Path("/run/systemd/system").mkdir(parents=True)
    system.undo.callback(shutil.rmtree, "/run/systemd")


@broken("runtime", "error", RUN, None, "must belong to _passcode alone", runs=True)
def runtime_directory_of_a_user(system):
    shutil.chown(RUN, "alice")


@broken("runtime", "error", RUN, None, "must belong to _passcode alone", runs=True)
def runtime_directory_for_the_group(system):
    RUN.chmod(0o2770)


@broken("runtime", "error", RUN, None, "must be a directory", runs=True)
def runtime_directory_that_is_a_link(system):
    shutil.rmtree(RUN)
    RUN.symlink_to("/etc")


WAITING = RUN / "waiting"


@pytest.mark.parametrize("kind", ["link", "dangling", "directory", "queue", "hard link", "of a user", "for all"])
def test_the_remedy_for_the_file_of_the_waiting_follows_no_link(system, kind):
    """`_passcode` can put anything there."""
    WAITING.unlink(missing_ok=True)
    victim = RUN.parent / "victim"
    victim.write_text("mine")
    victim.chmod(0o644)
    if kind == "link":
        WAITING.symlink_to(victim)
    elif kind == "dangling":
        WAITING.symlink_to("/run/nothing")
    elif kind == "directory":
        WAITING.mkdir()
        (WAITING / "x").symlink_to("/run")
    elif kind == "queue":
        os.mkfifo(WAITING)
    elif kind == "hard link":
        os.link(victim, WAITING)
        victim.chmod(0o600)
        shutil.chown(victim, ACCOUNT)
    else:
        WAITING.touch(mode=0o600)
        shutil.chown(WAITING, "alice" if kind == "of a user" else ACCOUNT)
        WAITING.chmod(0o644 if kind == "for all" else 0o600)
    before = victim.stat()
    [found] = check(system)
    assert (found.check, found.path, found.command) == ("runtime", str(WAITING), f"rm -rf {WAITING}")
    machines.sh("sh", "-euc", found.command)
    assert check(system) == []
    after = victim.stat()
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid) and victim.read_text() == "mine"
    victim.unlink()


def apparmor(system, profiles):
    """The kernel's list, and the profile's file."""
    folder = pathlib.Path("/sys/kernel/security")
    machines.sh("mount", "-t", "tmpfs", "tmpfs", folder)
    (folder / "apparmor").mkdir()
    (folder / "apparmor/profiles").write_text(profiles)
    source = pathlib.Path("/etc/apparmor.d/usr.libexec.passcode-helper")
    source.parent.mkdir(exist_ok=True)
    source.touch()
    system.undo.callback(source.unlink)
    system.undo.callback(machines.sh, "umount", folder)


@broken("apparmor", "warning", "/etc/apparmor.d/usr.libexec.passcode-helper", None, "runs unconfined")
def profile_that_is_not_loaded(system):
    apparmor(system, "/usr/bin/man (enforce)\n")


@broken("apparmor", "warning", None, None, "is in complain mode")
def profile_that_complains(system):
    apparmor(system, "passcode-helper (complain)\n")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_installation_is_named_with_its_remedy(system, undone, name):
    prepare, place, level, path, line, words, runs = BROKEN[name]
    undone(prepare)
    [found] = check(system)
    assert (found.check, found.level) == (place, level) and words in found.message, found
    assert path is None or found.path == path
    assert found.line == line
    text = system.tool("check", check=WRONG if level == "error" else DONE).output
    if name == "slow_hashing":
        text = re.sub(r"takes \d+ ms", re.search(r"takes \d+ ms", found.message)[0], text)
    assert f"{'✗' if level == 'error' else '!'} {place}: {found.message}\n" in text
    assert (f"    run: {found.command}\n" in text) == (found.command is not None)
    if isinstance(runs, str):
        assert found.command == runs
    elif runs:
        # A paper that goes to no terminal needs --force.
        command = re.sub(r"^passcode key (seal|rotate)$", r"\g<0> --force", found.command)
        machines.sh("sh", "-euc", f"PATH={BUILD}:$PATH; {command}", stdout=subprocess.DEVNULL)
        assert check(system) == []


def test_finger_and_passcode_want_a_password_for_where_no_finger_can_be_taken(system):
    machines.sh("usermod", "-p", "!", "alice")
    system.configure(finger="both", finger_for="72h")
    service("vlock", "auth required pam_passcode.so\n")
    found = [(row.path, row.message) for row in check(system) if row.level == "error"]
    for path, words in (
        (CONFIGURATION, "need passwords, and alice has none: set one"),
        (ETC / "vlock", "there is no password for when no fingerprint can be taken"),
        (COMMON, "password_every or finger_for is set, but nothing notes"),
    ):
        assert any(at == str(path) and words in message for at, message in found), (words, found)


def test_a_renamed_account_keeps_its_passcode(system, undone):
    """Which command is right depends on who the account is, so none is offered to be run as it is."""
    undone(reused_record)
    [found] = check(system)
    assert "passcode rename alice alicia" in found.message and found.command is None
    system.tool("rename", "alice", "alicia", check=DONE)
    assert check(system) == [] and system.status("alicia")["enrolled"]


@pytest.mark.parametrize("spoil", [lambda path: shutil.chown(path, ACCOUNT), lambda path: path.chmod(0o602)])
@pytest.mark.parametrize("user", ["root", "alice"])
def test_no_remedy_makes_a_record_valid_that_another_may_have_written(system, user, spoil):
    """`_passcode` can read the key, so it can seal a record for root; chown would make it root's."""
    system.enroll(user, RIGHT)
    path = system.record_file(user)
    spoil(path)
    if user == "alice" and path.stat().st_mode & 0o077 == 0:
        shutil.chown(path, "bob")
    [found] = check(system)
    assert "don't trust it" in found.message and found.command == f"rm {path}"
    errors = system.tool("verify", user, "--stdin", stdin=f"{RIGHT}\n", check=UNUSABLE).errors
    assert f"run: rm {path}\n" in errors and "chown" not in errors and "chmod" not in errors
    machines.sh("sh", "-euc", found.command)
    assert check(system) == [] and not system.status(user)["enrolled"]


NAMES_FOR_A_SHELL = ["x; run: id #", "x;id", "-rf", "$(id)", "a b", "a|b", "`id`", "x'", "*", "a" * 130, "plain"]


@pytest.mark.parametrize("name", NAMES_FOR_A_SHELL)
def test_no_command_has_a_name_that_a_shell_takes_apart(system, name):
    """The sentence says the name; a file's, a record's, or a member's."""
    (STORE / name).write_bytes(b"")
    system.tool("disable", "alice", check=DONE)
    system.tool("remove", "alice", check=DONE)
    system.rewrite("alice", lambda text: text.replace(b"name=alice\n", b"name=%s\n" % name.encode()))
    [stray, reused] = check(system)
    assert "is not a record" in stray.message and "now belongs to alice" in reused.message
    for found in (stray, reused):
        assert name[:60] in found.message and found.command is None, found
    assert "passcode rename" in reused.message if name == "plain" else "passcode" not in reused.message.split("alice:")[1]
    assert "    run: " not in system.tool("check").output


@pytest.mark.parametrize("name", ["x; touch here", "-x", "$(id)"])
def test_no_command_for_a_member_with_a_hostile_name(system, name):
    groups = pathlib.Path("/etc/group")
    before = groups.read_text()
    try:
        groups.write_text(re.sub(rf"^({ACCOUNT}:.*:)$", lambda line: line[1] + name, before, flags=re.MULTILINE))
        [found] = check(system)
    finally:
        groups.write_text(before)
    assert found.check == "group" and name in found.message and found.command is None


def test_a_helper_that_could_not_be_asked_is_not_called_well(system):
    """Root asks as nobody, and without that account it can't."""
    helper_that_ends(system)
    accounts = pathlib.Path("/etc/passwd")
    before = accounts.read_text()
    services = pathlib.Path("/etc/nsswitch.conf")
    sources = services.read_text()
    try:
        accounts.write_text("".join(line for line in before.splitlines(True) if not line.startswith("nobody:")))
        services.write_text(re.sub(r"^passwd:.*$", "passwd: files", sources, flags=re.MULTILINE))
        text = system.tool("check", check=DONE).output
    finally:
        accounts.write_text(before)
        services.write_text(sources)
    assert "\n- helper: skipped: there is no account \"nobody\" to run the helper as" in text and "✓ helper" not in text


def test_enough_is_broken():
    assert len(BROKEN) >= 40 and len(HEALTHY) >= 10


# MARK: Healthy, and unusual

HEALTHY = {}


def healthy(function):
    HEALTHY[function.__name__] = function
    return function


def without_profile():
    (SAVED / "auth").unlink()
    COMMON.write_text("auth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n")


@healthy
def as_installed(system):
    del system


@healthy
def without_a_configuration(system):
    CONFIGURATION.unlink()
    system.options.clear()


@healthy
def a_substack_of_ones_own(system):
    without_profile()
    service("local-auth", "auth sufficient pam_passcode.so\nauth required pam_unix.so\n")
    service("sudo", "auth required pam_env.so\nauth substack local-auth\nauth required pam_permit.so\n")


@healthy
def a_store_on_tmpfs(system):
    small_store("size=8M")


@healthy
def a_store_elsewhere(system):
    place = STORE.parent / "elsewhere"
    shutil.copytree(STORE, place)
    for path in [place, *place.iterdir()]:
        shutil.chown(path, ACCOUNT, "root")
    system.configure(store=place)
    system.undo.callback(shutil.rmtree, place)


@healthy
def a_sealed_key(system):
    seal(system)


@healthy
def a_sealed_key_with_volumes_on_an_encrypted_disk(system):
    sealed_on(system, "LVM-0123", "CRYPT-LUKS2-0123-name", "")


@healthy
def a_sealed_key_with_swap_on_an_encrypted_disk(system):
    swap_file(system, "CRYPT-LUKS2-0123-name", "")


@healthy
def a_sealed_key_with_compressed_memory(system):
    swap(system, "/dev/zram0 partition 1 0 100\n")


@healthy
def a_plain_key_with_swap_on_a_plain_disk(system):
    swap_file(system, "")
    system.tool("key", "unseal", check=DONE)


@healthy
def a_sealed_key_with_a_store_that_has_no_disk(system):
    seal(system)
    system.configure(first_login="allow")


@healthy
def a_sealed_key_on_a_plain_disk_where_the_password_comes_first(system):
    seal(system)
    disk("")


@healthy
def a_plain_key_on_a_plain_disk(system):
    """Such a thief has the key, too."""
    disk("")


@healthy
def higher_cost(system):
    system.configure(opslimit="4", memlimit="32M")


@healthy
def one_at_a_time(system):
    system.configure(max_parallel="1")


@healthy
def another_prompt(system):
    system.configure(prompt="PIN:", weak="refuse", lockout="5:10m,6:reset", self_enroll="no")


@healthy
def two_factors_with_their_policy(system):
    without_profile()
    system.configure(second_factor="yes")
    shutil.copyfile(EXAMPLES / "second-factor", ETC / "login")
    service("sshd", "auth requisite pam_unix.so\nauth required pam_passcode.so second_factor remote=allow nullok\n")


@healthy
def faillock_around(system):
    shutil.copyfile(EXAMPLES / "faillock", ETC / "swaylock")
    service("kde", "auth required pam_faillock.so preauth\n@include common-auth\nauth required pam_faillock.so authsucc\n")


@healthy
def only_files_in_nsswitch(system):
    path = pathlib.Path("/etc/nsswitch.conf")
    before = path.read_text()
    path.write_text("passwd: files\ngroup: files\n")
    system.undo.callback(path.write_text, before)


@healthy
def a_line_of_systemd_homed(system):
    (SAVED / "auth").unlink()
    COMMON.write_text("auth [success=4 default=ignore] pam_systemd_home.so\n" + PROFILE)


@healthy
def polkit_with_its_drop_in(system):
    UNITS.write_text("[Service]\nProtectSystem=strict\n")
    folder = UNITS.with_name(UNITS.name + ".d")
    folder.mkdir()
    (folder / "local.conf").write_text(f"[Service]\nReadWritePaths=-{STORE} -{RUN}\n")
    system.undo.callback(UNITS.unlink)
    system.undo.callback(shutil.rmtree, folder)


@healthy
def tmpfiles_of_the_administrator(system):
    path = pathlib.Path("/etc/tmpfiles.d/passcode.conf")
    path.parent.mkdir(exist_ok=True)  # a small system has none
    path.write_text(f"d {RUN} 0700 {ACCOUNT} root -\n")
    pathlib.Path("/run/systemd/system").mkdir(parents=True)
    system.undo.callback(path.unlink)
    system.undo.callback(shutil.rmtree, "/run/systemd")


@healthy
def the_module_by_its_path(system):
    without_profile()
    path = module(system)
    service("su", f"auth sufficient {path}\nauth required pam_unix.so\n")
    if pathlib.Path("/lib").is_symlink():
        service("sudo", f"auth sufficient {str(path).removeprefix('/usr')}\nauth required pam_unix.so\n")


@healthy
def a_record_that_was_removed(system):
    system.tool("remove", "alice", check=DONE)
    orphaned_record(system)


@healthy
def a_disabled_and_a_locked_passcode(system):
    system.tool("disable", "alice", check=DONE)
    system.configure(lockout="1:1h,2:reset")
    system.enroll("bob", RIGHT)
    system.authenticate("bob", "1234")


@healthy
def a_finger_before(system):
    (system.modules / "pam_fprintd.so").write_bytes(b"")
    lines = PROFILE.splitlines(True)
    lines.insert(1, "auth	[success=3 default=ignore]	pam_fprintd.so\n")
    COMMON.write_text("".join(lines))
    (SAVED / "auth").write_text("Module: fprintd\n[success=end default=ignore]	pam_fprintd.so\n" + SEEN)


@healthy
def a_finger_beside_the_passcode(system):
    with_finger(system)


@healthy
def an_unused_package_of_the_finger(system):
    with_finger(system)
    (ETC / "su").unlink()
    SOCKET.unlink()


@healthy
def options_of_the_profile_that_were_changed(system):
    COMMON.write_text(PROFILE.replace("either", "either prompt=Code: fail_delay=1").replace("nullok ", ""))


@healthy
def a_wallet_that_is_not_installed(system):
    service("sddm", "@include common-auth\n-auth optional pam_kwallet5.so\n-auth optional pam_gnome_keyring.so\n")


@broken("services", "warning", COMMON, PROFILE_LINE, "pam_fscrypt needs the password")
def encrypted_homes(system):
    (system.modules / "pam_fscrypt.so").write_bytes(b"")
    COMMON.write_text(PROFILE.replace("pam_cap", "pam_fscrypt"))
    (SAVED / "auth").write_text(SEEN.replace("pam_cap", "pam_fscrypt"))


@healthy
def first_login_by_password(system):
    (system.modules / "pam_kwallet5.so").write_bytes(b"")
    system.configure(first_login="deny")
    service("sddm", "@include common-auth\nauth optional pam_kwallet5.so\nsession optional pam_passcode.so\n")


@healthy
def password_every_for_those_who_have_one(system):
    """Who has none has no passcode, either, or isn't enrolled any more."""
    for name in ("alice", "bob"):
        system.enroll(name, RIGHT)
    machines.set_password("alice")
    machines.sh("usermod", "-p", "!", "bob")
    system.tool("remove", "bob", check=DONE)
    system.configure(password_every="3d")
    service("sddm", f"@include common-auth\n{PROVEN}")


@healthy
def a_pause_that_a_directory_ends(system):
    service("swaylock", f"auth sufficient pam_passcode.so\nauth required pam_sss.so\n{PROVEN}")


@healthy
def copies_of_editors_and_dpkg(system):
    for name in ("sudo.dpkg-old", "sudo~", ".sudo.swp", "sudo.bak"):
        service(name, "account required pam_passcode.so\nnonsense\n")


@healthy
def a_kiosk_beside_other_ways(system):
    without_profile()
    for name in ("kiosk", "sudo", "one-field", "login"):
        shutil.copyfile(EXAMPLES / name, ETC / name)


@healthy
def no_runtime_directory_without_systemd(system):
    shutil.rmtree(RUN)


@healthy
def a_profile_that_the_administrator_disabled(system):
    apparmor(system, "/usr/bin/man (enforce)\n")
    folder = pathlib.Path("/etc/apparmor.d/disable")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "usr.libexec.passcode-helper").touch()
    system.undo.callback((folder / "usr.libexec.passcode-helper").unlink)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_installation_is_silent(system, undone, name):
    undone(HEALTHY[name])
    assert check(system) == []
    for form in ([], ["--json"]):
        assert system.tool("check", "--quiet", *form, check=DONE).output == ""
    lines = system.tool("check", check=DONE).output.splitlines()
    assert len(lines) == 15 and all(line.startswith("✓ ") for line in lines), lines


def test_quiet_leaves_out_what_is_right(system, undone):
    undone(record_of_the_old_uid)
    [found] = rows(system.tool("check", "--json", "--quiet", check=DONE))
    assert found.level == "warning" and found.command == f"passcode remove {next(STORE.glob('[0-9]*')).name}"


def test_a_library_that_a_sealed_key_needs_is_named(system, undone):
    """Where it can't be loaded; nobody needs it for a plain key (`as_installed`)."""
    undone(seal)
    for path in [*sealing.LIBRARIES.iterdir(), *pathlib.Path("/usr/lib").glob("*-linux-gnu/libtss2-*.so*")]:
        if not path.is_symlink():
            machines.sh("mount", "--bind", "/dev/null", path)
    names = [f"libtss2-{name}.so.0" for name in ("esys", "mu", "rc")]
    assert [(row.check, row.level, row.message.split(":")[0]) for row in check(system)] == [
        ("key", "warning", name) for name in names
    ]


def test_check_says_whether_the_key_is_sealed(system, undone):
    assert "✓ key: not sealed\n" in system.tool("check", check=DONE).output
    undone(seal)
    assert "✓ key: sealed by the TPM, and loaded\n" in system.tool("check").output


# MARK: Whose, and of what


def test_people_see_what_they_may(system):
    found = rows(system.tool("check", "--json", user="bob", check=DONE))
    assert {row.check for row in found if row.level == "skipped"} == {"key", "store", "runtime", "apparmor"}
    assert all("root" in row.message for row in found if row.level == "skipped")
    assert {row.level for row in found} == {"skipped", "ok"}
    text = system.tool("check", user="bob", check=DONE).output
    assert "\n- key: not checked: only root can; run it with sudo\n" in text
    (ETC / "sudo").chmod(0o600)
    [found] = check(system, user="bob")
    assert (found.level, found.path) == ("warning", str(ETC / "sudo")) and "Permission denied" in found.message
    (ETC / "sudo").chmod(0o644)
    shutil.rmtree(STORE)
    [found] = check(system, user="bob")
    assert (found.check, found.level, found.path) == ("helper", "error", str(STORE))


def test_a_store_of_ones_own(system, make_bed):
    del system
    bed = make_bed(owner="bob")
    bed.tool("key", "init", user="bob", check=DONE)
    bed.enroll("bob", RIGHT)
    found = rows(bed.tool("check", "--json", user="bob", check=DONE))
    checked = {row.check for row in found if row.level == "ok"}
    assert checked == {"configuration", "clock", "key", "store", "cost"}
    assert {row.level for row in found} == {"ok", "skipped"}
    bed.key.chmod(0o604)
    [found] = check(bed, user="bob")
    assert (found.check, found.command) == ("key", f"chmod o-r {bed.key}")
    assert check(bed) != [], "of root it isn't"


def test_every_fault_of_the_configuration_is_named(system):
    system.configure("frobnicate", "weak=refuse", "opslimit=0", "lockout = 3:1m")
    found = check(system)
    assert [(row.check, row.path, row.line) for row in found] == [
        ("configuration", str(CONFIGURATION), line) for line in (5, 6, 7)
    ]
    text = system.tool("check", check=WRONG).output
    for name in ("key", "store", "cost"):
        assert f"\n- {name}: not checked: correct the configuration first\n" in text
    assert text.endswith("\n- helper: not asked: correct the errors first\n")


def test_a_configuration_that_is_not_there_is_an_error(system):
    found = rows(system.tool("check", "--json", "--conf", "/nonexistent", check=WRONG))
    assert [row.check for row in found if row.level == "error"] == ["configuration"]


def test_several_findings_are_all_told(system):
    helper_without_bits(system)
    stray_file(system)
    key_for_everyone(system)
    service("sudo", "auth sufficient pam_passcode.so x y\nauth required pam_unix.so\n")
    assert [row.check for row in check(system)] == ["key", "store", "services", "services", "helper"]


def test_it_takes_no_operands(system):
    assert system.tool("check", "alice", check=USAGE).output == ""


def test_nothing_is_changed(system):
    """Not even where a status would: a delay of another boot."""
    system.configure(lockout="1:1h,2:reset")
    system.authenticate("alice", "1234")
    system.rewrite("alice", lambda text: text)
    assert check(system) == []
    folders = [STORE, KEY.parent, RUN, ETC, CONFIGURATION.parent, SAVED]

    def everything():
        return {
            path: (path.lstat().st_mtime_ns, path.lstat().st_ctime_ns, path.lstat().st_mode, path.read_bytes())
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    before, log = everything(), len(system.log())
    assert check(system) == [] and check(system, user="alice") == []
    assert everything() == before and len(system.log()) == log
    system.tool("check", "--conf", str(CONFIGURATION.with_name("none")), check=WRONG)
    assert everything() == before


def test_logins_meanwhile_are_no_fault(system):
    """Nothing is locked, so a record may be read while it is written."""
    started = [system.start("alice", "1234") for _ in range(4)]
    for _ in range(10):
        assert check(system) == []
    for login in started:
        login.wait()


# MARK: Hostile files


def huge(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


def endless(path):
    path.symlink_to("/dev/zero")


def binary(path):
    path.write_bytes(bytes(range(256)) * 200)


def recursive(path):
    path.write_text(f"auth sufficient pam_passcode.so\n@include {path.name}\n@include {path.name}\n")


def chain(path):
    for number in range(40):
        (path.parent / f"{path.name}-{number}").write_text(f"auth include {path.name}-{number + 1}\n")
    path.write_text(f"auth include {path.name}-0\nauth required pam_passcode.so\n")


def many_lines(path):
    path.write_text("auth sufficient pam_passcode.so x\n" * 1900)


def one_line(path):
    path.write_bytes(b"auth [" + b"success=1 " * 6000 + b"] pam_passcode.so")


def queue(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def dangling(path):
    path.symlink_to(path)


HOSTILE = [huge, endless, binary, recursive, chain, many_lines, one_line, queue, folder, dangling]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_hostile_file_neither_hangs_nor_crashes_it(system, make):
    make(ETC / "hostile")
    for user in (None, "bob"):
        answer = system.tool("check", "--json", user=user)
        assert answer.status in (DONE, WRONG) and answer.errors == ""
        found = [row for row in rows(answer) if row.level in ("warning", "error")]
        assert all((row.path or "").startswith(str(ETC / "hostile")) for row in found), found
        assert all(row.check == "services" for row in found)
        for byte in answer.output:
            assert byte == "\n" or byte.isprintable()


def test_hostile_names_are_shown_printable(system):
    (ETC / "a\n\x1b[31m").write_text("auth sufficient pam_passcode.so x\nauth required pam_unix.so\n")
    (STORE / "b\n\x1b[31m\xff").write_bytes(b"")
    answer = system.tool("check")
    assert answer.status == WRONG and answer.output.count("\n") == 15 and "\x1b" not in answer.output
    rows(system.tool("check", "--json"))


def test_root_asks_the_helper_as_nobody(system):
    """MUST 2 of the helper's callers: a process does it that has nothing of root's left."""
    trace = RUN.parent / "trace"
    names = "setgroups,setsid,setresgid,setresuid,dup2,execve"
    system.tool("check", check=DONE, before=["strace", "-f", "-o", trace, "-e", f"trace={names}"])
    calls = [re.sub(r"^\d+ +", "", line) for line in trace.read_text().splitlines()]
    trace.unlink()
    [start] = [index for index, call in enumerate(calls) if f'execve("{HELPER}"' in call]
    nobody = pwd.getpwnam("nobody")
    wanted = [
        *[rf"dup2\(\d+, {stream}\)" for stream in range(3)], r"setgroups\(0, NULL\)", r"setsid\(\)",
        ", ".join([rf"setresgid\({nobody.pw_gid}"] + [str(nobody.pw_gid)] * 2), rf"setresuid\({nobody.pw_uid}",
    ]  # fmt: skip
    for pattern in wanted:
        assert any(re.match(pattern, call) for call in calls[:start]), pattern
