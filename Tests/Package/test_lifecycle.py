"""Install, upgrade, downgrade, reinstall, remove, purge; and dpkg killed in the middle."""

import concurrent.futures
import re
import shutil
import stat
import threading
import time

import pytest

from cost import in_child, processor_seconds
from debian_machine import RIGHT, finished, prompted, sh
from killed import run_killed, undisturbed
from package import HELPER, KEY, STORE, only_the_password_is_asked, passcode_works, su, the_password_works


def owner(machine, path):
    status = (machine.path / path).stat()
    accounts = dict(
        reversed(line.split(":")[0:3:2]) for line in (machine.path / "etc/passwd").read_text().splitlines()
    )
    groups = dict(
        reversed(line.split(":")[0:3:2]) for line in (machine.path / "etc/group").read_text().splitlines()
    )
    return accounts[str(status.st_uid)], groups[str(status.st_gid)], stat.S_IMODE(status.st_mode)


# MARK: Installation


def test_installing_enables_nothing(fresh, deb):
    before = fresh.snapshot("etc/pam.d")
    fresh.install(deb)
    after = fresh.snapshot("etc/pam.d")
    assert {path for path in after if after[path] != before.get(path)} == {"etc/pam.d/passcode"}
    only_the_password_is_asked(fresh)


NOBODY = (
    "No PAM service asks for the passcode.\n"
    "To enable it for all services, run as root: pam-auth-update --enable passcode\n"
)
EACH_USER = "Then each user sets a passcode with: passcode enroll\n"


def test_the_installation_tells_which_services_ask(fresh, deb):
    """Its last words: nobody, and the command; or who does. Also where a removal has disabled the profile. The first
    installation also says who sets a passcode: not root for everybody."""
    assert fresh.install(deb).endswith(NOBODY + EACH_USER)
    fresh.enable()
    said = fresh.install(deb)
    assert re.search(r"\nAsked for by: .*\bsudo\b.*\(common-auth\)\.\n$", said, re.DOTALL)
    assert NOBODY not in said
    (fresh.path / "etc/pam.d/sudo").write_text("auth required pam_passcode.so twice=2\n")
    assert '\n/etc/pam.d/sudo:1: unknown option "twice=2"\n' in fresh.install(deb)
    (fresh.path / "etc/pam.d/sudo").unlink()
    fresh.run("apt-get", "remove", "-y", "libpam-passcode")
    assert fresh.install(deb).endswith(NOBODY)


def test_nothing_is_told_beside_debconf_s_own_question(installed):
    """Which pam-auth-update asks with medium priority: not by default, and never of programs."""
    script = ("/var/lib/dpkg/info/libpam-passcode.postinst", "configure", "0.1.0")
    assert installed.run(*script) == NOBODY
    installed.run("debconf-communicate", input="set debconf/priority medium\n")
    assert installed.run(*script) == NOBODY, "noninteractive"
    for priority, is_told in (("high", True), ("medium", False)):
        installed.run("debconf-communicate", input="fset libpam-runtime/profiles seen false\n")
        child = installed.terminal(
            "env", "DEBIAN_FRONTEND=readline", f"DEBIAN_PRIORITY={priority}", *script, user="root"
        )
        if not is_told:
            child.expect(r"(\d+)\. Unix authentication")
            number = child.match[1]
            child.expect("separated by spaces.*enable: ")
            child.send(f"{number}\r")
        text, status = finished(child)
        assert status == 0 and (NOBODY in text.replace("\r", "")) == is_told


def test_who_may_read_what(installed):
    assert owner(installed, HELPER) == ("_passcode", "_passcode", 0o6755)
    assert owner(installed, STORE) == ("_passcode", "root", 0o700)
    assert owner(installed, KEY) == ("root", "_passcode", 0o440)
    assert owner(installed, "etc/security/passcode.conf") == ("root", "root", 0o644)
    module = next(installed.path.glob("usr/lib/*/security/pam_passcode.so"))
    assert owner(installed, module.relative_to(installed.path)) == ("root", "root", 0o644)
    assert (installed.path / KEY).stat().st_size == 32
    installed.run("passcode", "key", "status")
    assert "/usr/sbin/nologin" in installed.run("getent", "passwd", "_passcode")


def test_conffiles(deb):
    names = sh("dpkg-deb", "--ctrl-tarfile", deb, capture_output=True).stdout
    listed = sh("tar", "-xO", "./conffiles", input=names, capture_output=True).stdout.decode().split()
    assert sorted(listed) == [
        "/etc/apparmor.d/usr.libexec.passcode-helper", "/etc/pam.d/passcode", "/etc/security/passcode.conf",
        "/etc/shadow-maint/userdel-post.d/passcode",
    ]  # fmt: skip


def test_the_script_runs_again_after_an_interruption(installed):
    """What it had done is done once more: an override that was written and not yet applied, too."""
    installed.enroll()
    key = (installed.path / KEY).read_bytes()
    installed.run("chown", "root:root", f"/{HELPER}")
    installed.run("chmod", "755", f"/{HELPER}")
    installed.run("/var/lib/dpkg/info/libpam-passcode.postinst", "configure")
    assert owner(installed, HELPER) == ("_passcode", "_passcode", 0o6755)
    assert (installed.path / KEY).read_bytes() == key
    assert installed.state()["enrolled"]


def test_an_override_of_the_administrator_s_stays(fresh, deb):
    fresh.run("groupadd", "kiosk")
    fresh.run("dpkg-statoverride", "--add", "root", "kiosk", "0750", f"/{HELPER}")
    fresh.install(deb)
    assert owner(fresh, HELPER) == ("root", "kiosk", 0o750)


def test_a_program_in_the_place_of_a_diverted_helper_gets_no_bits(installed, deb):
    """It is the administrator's, and nobody knows what it does."""
    real = f"/{HELPER}.real"
    installed.run("dpkg-divert", "--local", "--rename", "--divert", real, "--add", f"/{HELPER}")
    (installed.path / HELPER).write_text("#!/bin/sh\n")
    (installed.path / HELPER).chmod(0o755)
    installed.install(deb)
    assert owner(installed, HELPER) == ("root", "root", 0o755)


def test_members_of_the_group_are_told_of(fresh, deb):
    """They can read the machine key. The group root has no part in it."""
    fresh.run("usermod", "--append", "--groups", "root", "alice")
    assert "members" not in fresh.install(deb)
    for name in ("alice", "bob"):
        fresh.run("usermod", "--append", "--groups", "_passcode", name)
    said = fresh.install(deb)
    assert "members of the group _passcode can read the machine key: alice,bob\n" in said
    assert "gpasswd --delete USER _passcode" in said


def test_the_runtime_directory_is_made_alike_at_boot_and_by_the_first_attempt(installed):
    installed.enroll()
    installed.run("rm", "-rf", "/run/passcode")
    installed.run("passcode", "verify", "alice", "--stdin", input="918273\n", status=1)
    made = (installed.inside / "run/passcode").stat()
    assert owner(installed, installed.inside / "run/passcode") == ("_passcode", "root", 0o700) and made.st_size
    (configuration,) = (installed.path / "usr/lib/tmpfiles.d").glob("*passcode*")
    lines = [line.split() for line in configuration.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        ["d", "/run/passcode", "0700", "_passcode", "root", "-"],
        ["f", "/run/passcode/waiting", "0600", "_passcode", "_passcode", "-"],
    ]


def test_a_lost_key_is_not_replaced_while_somebody_is_enrolled(installed, deb):
    installed.enroll()
    (installed.path / KEY).unlink()
    said = installed.install(deb)
    assert "passwords keep working" in said
    assert not (installed.path / KEY).exists()
    (document,) = re.findall(r"/usr/share/doc/\S+", said)
    assert "Recovery\n" in installed.run("zcat", document)


def test_an_upgrade_tells_of_a_key_that_does_not_open_what_is_there(installed, deb):
    """Another machine's; and it makes none."""
    installed.enroll()
    (installed.path / KEY).write_bytes(bytes([1] * 32))
    said = installed.install(deb)
    assert "1 enrolled passcode needs another key" in said and "passwords keep working" in said
    assert (installed.path / KEY).read_bytes() == bytes([1] * 32)


@pytest.mark.parametrize("option, place", [("key_file", "srv/keys/key"), ("store", "srv/store")])
def test_what_is_configured_elsewhere_is_not_made(fresh, deb, option, place):
    """What holds it may not be mounted: a new one would be in its place."""
    (fresh.path / "srv/keys").mkdir()
    fresh.configure(**{option: f"/{place}"})
    shutil.copy(deb, fresh.path / "tmp")
    said = fresh.run("dpkg", "--force-confold", "-i", f"/tmp/{deb.name}")
    assert "passwords keep working" in said and "passcode key init" in said
    assert not (fresh.path / place).exists() and not (fresh.path / KEY).exists()
    fresh.run("passcode", "key", "init")
    fresh.enroll()
    key = (fresh.path / (place if option == "key_file" else KEY)).read_bytes()
    assert "passwords" not in fresh.install(deb)
    assert (fresh.path / (place if option == "key_file" else KEY)).read_bytes() == key
    fresh.run("passcode", "key", "status")


def test_a_store_that_is_missing_is_made_beside_its_key(installed):
    installed.run("mv", f"/{STORE}", "/var/lib/away")
    assert "passcode key init" in installed.run("passcode", "key", "status", status=7)
    assert "/var/lib/passcode: created." in installed.run("passcode", "key", "init")
    assert owner(installed, STORE) == ("_passcode", "root", 0o700)
    installed.enroll()


def test_in_a_chroot_without_proc(fresh, deb):
    """As image builders install it: the key and the store are made."""
    shutil.copy(deb, fresh.path / "tmp")
    fresh.run("umount", "--lazy", "/proc")
    assert "/etc/passcode/key: created" in fresh.run("dpkg", "-i", f"/tmp/{deb.name}")
    fresh.enroll()
    fresh.enable()
    fresh.run("mount", "-t", "proc", "proc", "/proc")
    passcode_works(fresh)


def test_a_key_that_the_helper_cannot_read_is_found(installed):
    """After its restoration from a backup, without its group."""
    installed.enroll()
    for command in (["chgrp", "root"], ["chmod", "0400"]):
        installed.run(*command, f"/{KEY}")
        assert "_passcode" in installed.run("passcode", "key", "status", status=7)
        said = installed.run("passcode", "verify", "--stdin", user="alice", input=f"{RIGHT}\n", status=7)
        assert "passcode-helper(8)" in said
        installed.run("chgrp", "_passcode", f"/{KEY}")
        installed.run("chmod", "0440", f"/{KEY}")
        installed.run("passcode", "key", "status")


# MARK: Other versions


@pytest.mark.parametrize(
    "first, then", [("0.0.9", None), (None, "0.0.9"), (None, None)], ids=("up", "down", "again")
)
def test_another_version_keeps_everything(fresh, deb, other_version, first, then):
    """Enrolments, failures, key, configuration, and whether the profile is enabled."""
    fresh.install(other_version(first) if first else deb)
    fresh.enroll()
    fresh.enable()
    fresh.configure(fail_delay="0s")
    fresh.run("passcode", "verify", "alice", "--stdin", input="918273\n", status=1)
    before = fresh.snapshot("etc/pam.d", "etc/passcode", "etc/security", STORE)
    fresh.install(other_version(then) if then else deb)
    assert fresh.snapshot("etc/pam.d", "etc/passcode", "etc/security", STORE) == before
    assert owner(fresh, HELPER) == ("_passcode", "_passcode", 0o6755)
    assert fresh.state()["failures"] == 1
    passcode_works(fresh)


def old_profile(folder):
    path = folder / "usr/share/pam-configs/passcode"
    """As it was before there was one prompt for both."""
    path = folder / "usr/share/pam-configs/passcode"
    line = "[success=end auth_err=die conv_err=die default=ignore]\tpam_passcode.so either"
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, "[success=end default=ignore]\tpam_passcode.so"))


def asking(machine):
    """The lines of common-auth that ask, without the number of lines that they jump over."""
    text = (machine.path / "etc/pam.d/common-auth").read_text()
    return [re.sub("success=[0-9]", "success=N", " ".join(line.split())) for line in text.splitlines() if "success=" in line]


UNIX = "auth [success=N default=ignore] pam_unix.so nullok"
OLD = "auth [success=N default=ignore] pam_passcode.so"
NEW = "auth [success=N auth_err=die conv_err=die default=ignore] pam_passcode.so either"


def test_pam_unix_takes_what_the_profile_asked_for(machine):
    assert asking(machine) == [NEW, f"{UNIX} try_first_pass"]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_changed_profile_comes_with_the_upgrade(fresh, deb, other_version, enabled):
    """Where it is enabled, and only there."""
    fresh.install(other_version("0.0.1", old_profile))
    fresh.enroll()
    if enabled:
        fresh.enable()
    assert asking(fresh) == ([OLD, f"{UNIX} try_first_pass"] if enabled else [UNIX])
    fresh.install(deb)
    assert asking(fresh) == ([NEW, f"{UNIX} try_first_pass"] if enabled else [UNIX])
    if enabled:
        passcode_works(fresh)


@pytest.mark.parametrize("edit, after, is_told", [
    (("pam_passcode.so", "pam_passcode.so quiet"), NEW, False),
    (("[success=2 default=ignore]\tpam_passcode", "sufficient\tpam_passcode"), None, True),
], ids=["an option", "the rest"])  # fmt: skip
def test_an_upgrade_where_the_line_was_edited_by_hand(fresh, deb, other_version, edit, after, is_told):
    """pam-auth-update drops an option that was added; any other edit keeps the line, and that is told."""
    fresh.install(other_version("0.0.1", old_profile))
    fresh.enroll()
    fresh.enable()
    path = fresh.path / "etc/pam.d/common-auth"
    edited = path.read_text().replace(*edit)
    path.write_text(edited)
    said = fresh.install(deb)
    assert asking(fresh)[0] == after if after else path.read_text() == edited
    assert ("Local modifications to /etc/pam.d/common-*" in said) == is_told
    passcode_works(fresh) if after else su(fresh, "Passcode: ", RIGHT)


def test_an_administrator_s_override_of_the_store_stays(installed, deb):
    """What is then open to the group, "key status" tells."""
    installed.enroll()
    installed.run("dpkg-statoverride", "--remove", f"/{STORE}")
    installed.run("dpkg-statoverride", "--update", "--add", "_passcode", "root", "0770", f"/{STORE}")
    assert "warning: /var/lib/passcode: the group root can write there" in installed.install(deb)
    assert owner(installed, STORE)[:2] == ("_passcode", "root") and owner(installed, STORE)[2] & 0o777 == 0o770
    assert "_passcode root 770 /var/lib/passcode\n" in installed.run("dpkg-statoverride", "--list")


# MARK: Removal


def test_removed_while_enabled_and_with_a_session_open(fresh, deb):
    """The session goes on and ends; the stacks are as before; the enrolments wait for a reinstallation."""
    before = fresh.snapshot("etc/pam.d")
    fresh.install(deb)
    fresh.enroll()
    fresh.enable()
    session = fresh.terminal("sudo", "-s")
    prompted(session, ("Passcode or password: ", RIGHT))
    session.expect(r"# $")  # what is typed before the shell reads can be lost
    session.sendline("echo uid=$(id -u)")
    session.expect("uid=0")
    fresh.run("apt-get", "remove", "-y", "libpam-passcode")
    session.sendline("exit")
    session.expect("exit")
    assert finished(session)[1] == 0
    left = fresh.snapshot("etc/pam.d")
    assert left.pop("etc/pam.d/passcode")  # a conffile, until the purge
    assert left == before
    only_the_password_is_asked(fresh)
    fresh.install(deb)
    only_the_password_is_asked(fresh)
    fresh.enable()
    passcode_works(fresh)


def test_purge_leaves_nothing(fresh, deb):
    """But the account, so that no file can come to belong to somebody else."""
    folders = ("etc", "usr/bin", "usr/lib", "usr/libexec", "usr/share", "var/lib/pam", "var/lib/passcode")
    before = fresh.snapshot(*folders)
    overrides = fresh.run("dpkg-statoverride", "--list", status=None)
    fresh.install(deb)
    fresh.enroll()
    fresh.enable()
    passcode_works(fresh)
    fresh.run("apt-get", "purge", "-y", "libpam-passcode")
    after = fresh.snapshot(*folders)
    accounts = {
        f"etc/{name}{dash}"
        for name in ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")
        for dash in ("", "-")
    }
    ours = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    # What others keep there; dh_apparmor takes AppArmor's own folder along, if it is empty.
    others = {"etc/ld.so.cache", "etc/.pwd.lock", "etc/apparmor.d/disable"}
    assert ours - accounts - others == set()
    assert {path: what for path, what in after.items() if path.startswith("etc/pam.d")} == {
        path: what for path, what in before.items() if path.startswith("etc/pam.d")
    }
    assert fresh.run("dpkg-statoverride", "--list", status=None) == overrides
    assert not (fresh.inside / "run/passcode").exists()
    only_the_password_is_asked(fresh)
    fresh.run("getent", "passwd", "_passcode")


# Without the module the right password is refused by each of these.
LOCKING = [
    "auth required pam_passcode.so",
    "auth requisite pam_passcode.so prompt=[sufficient default=ignore ]",
    "-auth required pam_passcode.so\nauth required pam_unix.so",
    "auth REQUIRED PAM_PASSCODE.SO\nauth required pam_unix.so",
    "auth required pam_passcode.so # not optional here: default=ignore\nauth required pam_unix.so",
    "auth [success=1 module_unknown=die default=ignore] pam_passcode.so\nauth required pam_unix.so",
    "auth required \\\n pam_passcode.so\n@include common-auth",
    "auth sufficient pam_passcode.so\nauth required pam_deny.so",
    "auth [success=1 default=ignore] pam_passcode.so\nauth requisite pam_deny.so\nauth required pam_permit.so",
    "auth sufficient pam_passcode.so\nauth required pam_deny.so\n@include common-account\n@include common-session",
    "auth required pam_succeed_if.so user != root\nauth optional pam_gnome_keyring.so\n"
    "auth sufficient pam_passcode.so\nauth required pam_faillock.so authfail",
    "auth sufficient pam_passcode.so either\nauth required pam_unix.so use_first_pass",
    "@include common-auth\nsession required /lib/security/pam_passcode.so",
]
INCLUDING = [
    "@include /opt/pam/kiosk",
    "@include ../../opt/pam/kiosk",
    "auth include /opt/pam/kiosk",
    "-auth \\\n Substack /opt/pam/again # not here",
]
HARMLESS = [
    "auth sufficient pam_passcode.so\nauth required pam_unix.so",
    "auth Sufficient pam_passcode.so\n@include common-auth",
    "auth sufficient \\\n pam_passcode.so\n@include common-auth",
    "auth sufficient pam_passcode.so either\nauth sufficient pam_unix.so try_first_pass\n"
    "auth required pam_sss.so use_first_pass",
    "auth required pam_unix.so # formerly pam_passcode.so",
    "#auth required pam_passcode.so\nauth required pam_unix.so",
    "auth [success=done default=ignore] pam_passcode.so\n@include common-auth\nsession optional pam_passcode.so",
]


PRERM = "/var/lib/dpkg/info/libpam-passcode.prerm", "remove"  # as dpkg runs it


def test_not_removed_while_a_line_would_let_nobody_in(installed):
    kiosk = installed.path / "etc/pam.d/kiosk"
    for lines in LOCKING:
        kiosk.write_text(f"{lines}\naccount required pam_permit.so\n")
        said = installed.run(*PRERM, status=1)
        assert "not removed" in said and "  /etc/pam.d/kiosk: " in said, lines
    assert "not removed" in installed.run("apt-get", "remove", "-y", "libpam-passcode", status=100)
    assert "install ok installed" in installed.run("dpkg-query", "-W", "-f=${Status}", "libpam-passcode")
    for name, lines in zip("abcdefgh", HARMLESS, strict=False):
        (installed.path / f"etc/pam.d/{name}").write_text(f"{lines}\n")
    # In a file elsewhere, however PAM comes to it.
    (installed.path / "opt/pam").mkdir()
    (installed.path / "opt/pam/kiosk").write_text("@include /opt/pam/again\n")
    (installed.path / "opt/pam/again").write_text(f"{LOCKING[0]}\n@include /opt/pam/kiosk\n")
    for line in INCLUDING:
        kiosk.write_text(f"auth required pam_unix.so\n{line}\n")
        said = installed.run(*PRERM, status=1)
        assert "not removed" in said and "again: auth required pam_passcode.so" in said, line
    # In the vendor's folder, where libpam looks, too.
    kiosk.unlink()
    vendor = installed.path / "usr/lib/pam.d"
    vendor.mkdir(exist_ok=True)
    (vendor / "kiosk").write_text(f"{LOCKING[0]}\n")
    said = installed.run("apt-get", "remove", "-y", "libpam-passcode", status=100)
    assert "not removed" in said and "  /usr/lib/pam.d/kiosk: auth required pam_passcode.so" in said
    (vendor / "kiosk").unlink()
    kiosk.write_text(f"#{INCLUDING[0]}\n{LOCKING[0]}\n")
    kiosk.rename(kiosk.with_suffix(".bak"))
    (installed.path / "etc/pam.d/common-auth.bak").write_text(LOCKING[0])
    installed.run("apt-get", "remove", "-y", "libpam-passcode")


DIRECTORY = """Name: a directory's passwords
Default: yes
Priority: 10
Auth-Type: Primary
Auth:
	[success=end default=ignore]	pam_directory.so use_first_pass
Auth-Initial:
	[success=end default=ignore]	pam_directory.so
"""


def test_removed_where_the_one_after_it_takes_what_the_first_has_asked_for(machine):
    """In common-auth pam-auth-update writes anew who asks: without the passcode that is the next one."""
    (machine.path / "usr/share/pam-configs/directory").write_text(DIRECTORY)
    (unix,) = machine.path.glob("usr/lib/*/security/pam_unix.so")
    shutil.copy(unix, unix.with_name("pam_directory.so"))
    (machine.path / "usr/share/pam-configs/unix").unlink()
    machine.run("pam-auth-update", "--package")
    common = machine.path / "etc/pam.d/common-auth"
    assert re.search(r"pam_passcode\.so.*\n.*pam_directory\.so use_first_pass", common.read_text())
    machine.run("apt-get", "remove", "-y", "libpam-passcode")
    assert "use_first_pass" not in common.read_text()
    only_the_password_is_asked(machine)


def test_not_without_a_chroot(installed):
    """dpkg --force-script-chrootless would do it to the running system."""
    installed.enroll()
    for script, act in (("postinst", "configure"), ("prerm", "remove"), ("postrm", "purge")):
        said = installed.run(
            "env", "DPKG_ROOT=/target", f"/var/lib/dpkg/info/libpam-passcode.{script}", act, status=1
        )
        assert "--force-script-chrootless" in said
    assert installed.state()["enrolled"]


def test_an_account_with_another_number_may_read_the_key(installed, deb):
    installed.run("chgrp", "games", f"/{KEY}")
    installed.install(deb)
    assert owner(installed, KEY) == ("root", "_passcode", 0o440)


def test_not_removed_where_pam_auth_update_leaves_its_line(machine):
    """Because of a foreign line in the block that it manages."""
    path = machine.path / "etc/pam.d/common-auth"
    text = path.read_text()
    head = 'modules (the "Primary" block)\n'
    path.write_text(text.replace(head, f"{head}auth optional pam_permit.so\n"))
    said = machine.run("apt-get", "purge", "-y", "libpam-passcode", status=100)
    assert re.search(r"^/etc/pam.d/common-auth:auth\t\[success=2 auth_err=die conv_err=die default=ignore\]\tpam_passcode.so either *$", said, re.M)
    passcode_works(machine)
    path.write_text(text)
    machine.run("apt-get", "purge", "-y", "libpam-passcode")
    assert machine.stacks_name_missing_modules() == []
    only_the_password_is_asked(machine)


# MARK: dpkg, killed in the middle

CALLS = "rename", "renameat", "renameat2", "unlink", "unlinkat"
# What no program of ours, PAM's or dpkg's reads.
READING = re.compile("/usr/share/(doc|locale|man|bash-completion|fish|zsh|lintian)/")


@pytest.fixture(scope="module")
def disks(bookworm, deb):
    """A machine before the package, and one with it."""
    installed = bookworm()
    installed.install(deb)
    installed.enroll()
    installed.enable()
    return {"--install": bookworm, "--purge": installed.copy()}


def points(steps):
    """(call, its how manieth), of what `undisturbed` told. Not between two pages to read: what is there is then as it was
    before the first page of that row."""
    found = []
    for call, rows in steps.items():
        for number in range(max(map(len, rows), default=0)):
            around = [path for row in rows if len(row) > number for path in row[max(0, number - 1) : number + 2]]
            if not all(map(READING.match, around)):
                found.append((call, number + 1))
    return found


def command(machine, deb, act):
    """Of dpkg's, with what it needs there."""
    sh("cp", deb, machine.path / "tmp")
    return "dpkg", act, f"/tmp/{deb.name}" if act == "--install" else "libpam-passcode"


def survives_a_kill(machine, deb, act, call, number):
    """Kills dpkg, or its script, at this call, looks what is there, and repeats the command."""
    repeated = command(machine, deb, act)
    before = machine.snapshot("etc/pam.d") if act == "--install" else None
    _, killed = run_killed(machine.command(*repeated), call, number)
    assert killed, (call, number)
    while machine.run("pgrep", "-x", "dpkg|perl", status=None):
        time.sleep(0.02)
    assert machine.stacks_name_missing_modules() == [], (call, number)
    if number % 5 == 1:
        the_password_works(machine)
    machine.run("dpkg", "--configure", "-a", status=None)
    machine.run(*repeated)
    if before is None:
        assert not (machine.path / STORE).exists() and not (machine.path / KEY).exists()
    else:
        after = machine.snapshot("etc/pam.d")
        after.pop("etc/pam.d/passcode")
        before.pop("etc/pam.d/passcode", None)
        assert after == before
        assert owner(machine, HELPER) == ("_passcode", "_passcode", 0o6755)
        machine.run("passcode", "key", "status")


@pytest.mark.parametrize("act", ["--install", "--purge"])
def test_killed_in_the_middle(disks, deb, act):
    """At every renaming and removing by dpkg or by a script, but of pages: no stack names a missing module, people get in
    with their password, and repeating the command finishes it."""
    failed = threading.Event()

    def on_a_machine(work):
        machine = disks[act]()
        try:
            return work(machine)
        finally:
            machine.remove()

    def survives(call, number):
        if not failed.is_set():
            try:
                on_a_machine(lambda machine: survives_a_kill(machine, deb, act, call, number))
            except BaseException:
                failed.set()
                raise

    steps = on_a_machine(lambda machine: undisturbed(machine.command(*command(machine, deb, act)), CALLS))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(survives, *point) for point in points(steps)]
    for job in jobs:
        job.result()
    print(f"{act}: killed at {len(jobs)} points of {sum(max(map(len, rows), default=0) for rows in steps.values())}")
    assert len(jobs) > 20


# MARK: Time


def test_time(fresh, deb, tmp_path):
    """What installing and enabling takes beyond a package with nothing in it: at most 3 s of processor time, which depends
    less on what else runs than the clock's."""
    empty = tmp_path / "empty"
    (empty / "DEBIAN").mkdir(parents=True)
    (empty / "DEBIAN/control").write_text(
        "Package: nothing\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@passcode.invalid>\nDescription: nothing\n"
    )
    nothing = tmp_path / "nothing_1_all.deb"
    sh("dpkg-deb", "--root-owner-group", "-b", empty, nothing, capture_output=True)

    def seconds(*acts):
        """In a child, since the processor time of this process's children includes a package build that ends meanwhile."""
        return in_child(lambda: ([act() for act in acts], processor_seconds())[1])

    fresh.install(nothing)
    own = seconds(lambda: fresh.install(nothing))
    ours = seconds(lambda: fresh.install(deb), fresh.enable)
    print(f"install and enable: {ours:.2f} s, an empty package {own:.2f} s")
    assert ours - own <= 3
