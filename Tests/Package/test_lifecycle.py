"""Install, upgrade, downgrade, reinstall, remove, purge; and dpkg killed in the middle."""

import concurrent.futures
import re
import shutil
import stat
import subprocess
import threading
import time

import pytest

from machine import PASSWORD, RIGHT, Machine, finished, prompted, sh

STORE, KEY, HELPER = "var/lib/passcode", "etc/passcode/key", "usr/libexec/passcode-helper"


def su(machine, prompt, answer):
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{prompt}", answer))
    assert finished(child) == ("\r\nalice\r\n", 0)


def passcode_works(machine):
    su(machine, "Passcode: ", RIGHT)


def only_the_password_is_asked(machine):
    su(machine, "Password: ", PASSWORD)


def the_password_works(machine):
    """Whether the passcode is asked for first or not."""
    child = machine.terminal("su", "alice", "-c", "id -un")
    if child.expect(["^Passcode: ", "^Password: "]) == 0:
        prompted(child, ("^", ""), ("Password: ", PASSWORD))
    else:
        prompted(child, ("^", PASSWORD))
    assert "alice" in finished(child)[0]


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


def test_who_may_read_what(fresh, deb):
    fresh.install(deb)
    assert owner(fresh, HELPER) == ("_passcode", "_passcode", 0o6755)
    assert owner(fresh, STORE) == ("_passcode", "root", 0o2770)
    assert owner(fresh, KEY) == ("root", "_passcode", 0o440)
    assert owner(fresh, "etc/security/passcode.conf") == ("root", "root", 0o644)
    module = next(fresh.path.glob("usr/lib/*/security/pam_passcode.so"))
    assert owner(fresh, module.relative_to(fresh.path)) == ("root", "root", 0o644)
    assert (fresh.path / KEY).stat().st_size == 32
    fresh.run("passcode", "key", "status")
    assert "/usr/sbin/nologin" in fresh.run("getent", "passwd", "_passcode")


def test_conffiles(deb):
    names = sh("dpkg-deb", "--ctrl-tarfile", deb, capture_output=True).stdout
    listed = sh("tar", "-xO", "./conffiles", input=names, capture_output=True).stdout.decode().split()
    assert sorted(listed) == [
        "/etc/apparmor.d/usr.libexec.passcode-helper", "/etc/pam.d/passcode", "/etc/security/passcode.conf",
        "/etc/shadow-maint/userdel-post.d/passcode",
    ]  # fmt: skip


def test_the_script_runs_again_after_an_interruption(fresh, deb):
    """What it had done is done once more: an override that was written and not yet applied, too."""
    fresh.install(deb)
    fresh.enroll()
    key = (fresh.path / KEY).read_bytes()
    fresh.run("chown", "root:root", f"/{HELPER}")
    fresh.run("chmod", "755", f"/{HELPER}")
    fresh.run("/var/lib/dpkg/info/libpam-passcode.postinst", "configure")
    assert owner(fresh, HELPER) == ("_passcode", "_passcode", 0o6755)
    assert (fresh.path / KEY).read_bytes() == key
    assert fresh.state()["enrolled"]


def test_an_override_of_the_administrator_s_stays(fresh, deb):
    fresh.run("groupadd", "kiosk")
    fresh.run("dpkg-statoverride", "--add", "root", "kiosk", "0750", f"/{HELPER}")
    fresh.install(deb)
    assert owner(fresh, HELPER) == ("root", "kiosk", 0o750)


def test_a_lost_key_is_not_replaced_while_somebody_is_enrolled(fresh, deb):
    fresh.install(deb)
    fresh.enroll()
    (fresh.path / KEY).unlink()
    said = fresh.install(deb)
    assert "passwords go on working" in said
    assert not (fresh.path / KEY).exists()
    (document,) = re.findall(r"/usr/share/doc/\S+", said)
    assert "Recovery\n" in fresh.run("zcat", document)


def test_an_upgrade_tells_of_a_key_that_does_not_open_what_is_there(fresh, deb):
    """Another machine's; and it makes none."""
    fresh.install(deb)
    fresh.enroll()
    (fresh.path / KEY).write_bytes(bytes(32))
    said = fresh.install(deb)
    assert "1 enrolled passcode(s) don't open with it" in said and "passwords go on working" in said
    assert (fresh.path / KEY).read_bytes() == bytes(32)


@pytest.mark.parametrize("option, place", [("key_file", "srv/keys/key"), ("store", "srv/store")])
def test_what_is_configured_elsewhere_is_not_made(fresh, deb, option, place):
    """What holds it may not be mounted: a new one would be in its place."""
    (fresh.path / "srv/keys").mkdir()
    fresh.configure(**{option: f"/{place}"})
    shutil.copy(deb, fresh.path / "tmp")
    said = fresh.run("dpkg", "--force-confold", "-i", f"/tmp/{deb.name}")
    assert "passwords go on working" in said and "passcode key init" in said
    assert not (fresh.path / place).exists() and not (fresh.path / KEY).exists()
    fresh.run("passcode", "key", "init")
    fresh.enroll()
    key = (fresh.path / (place if option == "key_file" else KEY)).read_bytes()
    assert "passwords" not in fresh.install(deb)
    assert (fresh.path / (place if option == "key_file" else KEY)).read_bytes() == key
    fresh.run("passcode", "key", "status")


def test_a_store_that_is_missing_is_made_beside_its_key(fresh, deb):
    fresh.install(deb)
    (fresh.path / STORE).rename(fresh.path / "var/lib/away")
    assert "passcode key init" in fresh.run("passcode", "key", "status", status=7)
    assert "/var/lib/passcode: made." in fresh.run("passcode", "key", "init")
    assert owner(fresh, STORE) == ("_passcode", "root", 0o2770)
    fresh.enroll()


def test_in_a_chroot_without_proc(fresh, deb):
    """As image builders install it: the key and the store are made."""
    shutil.copy(deb, fresh.path / "tmp")
    fresh.run("umount", "--lazy", "/proc")
    assert "/etc/passcode/key: made" in fresh.run("dpkg", "-i", f"/tmp/{deb.name}")
    fresh.enroll()
    fresh.enable()
    fresh.run("mount", "-t", "proc", "proc", "/proc")
    passcode_works(fresh)


def test_a_key_that_the_helper_cannot_read_is_found(fresh, deb):
    """After its restoration from a backup, without its group."""
    fresh.install(deb)
    fresh.enroll()
    for command in (["chgrp", "root"], ["chmod", "0400"]):
        fresh.run(*command, f"/{KEY}")
        assert "_passcode" in fresh.run("passcode", "key", "status", status=7)
        said = fresh.run("passcode", "verify", "--stdin", user="alice", input=f"{RIGHT}\n", status=7)
        assert "passcode-helper(8)" in said
        fresh.run("chgrp", "_passcode", f"/{KEY}")
        fresh.run("chmod", "0440", f"/{KEY}")
        fresh.run("passcode", "key", "status")


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


# MARK: Removal


def test_removed_while_enabled_and_with_a_session_open(fresh, deb):
    """The session goes on and ends; the stacks are as before; the enrolments wait for a reinstallation."""
    before = fresh.snapshot("etc/pam.d")
    fresh.install(deb)
    fresh.enroll()
    fresh.enable()
    session = fresh.terminal("sudo", "-s")
    prompted(session, ("Passcode: ", RIGHT))
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


def test_not_removed_while_a_line_would_let_nobody_in(fresh, deb):
    fresh.install(deb)
    kiosk = fresh.path / "etc/pam.d/kiosk"
    for lines in LOCKING:
        kiosk.write_text(f"{lines}\naccount required pam_permit.so\n")
        said = fresh.run("apt-get", "remove", "-y", "libpam-passcode", status=100)
        assert "not removed" in said and "  /etc/pam.d/kiosk: " in said, lines
        assert "install ok installed" in fresh.run("dpkg-query", "-W", "-f=${Status}", "libpam-passcode")
    for name, lines in zip("abcdefgh", HARMLESS, strict=False):
        (fresh.path / f"etc/pam.d/{name}").write_text(f"{lines}\n")
    # In a file elsewhere, however PAM comes to it.
    (fresh.path / "opt/pam").mkdir()
    (fresh.path / "opt/pam/kiosk").write_text("@include /opt/pam/again\n")
    (fresh.path / "opt/pam/again").write_text(f"{LOCKING[0]}\n@include /opt/pam/kiosk\n")
    for line in INCLUDING:
        kiosk.write_text(f"auth required pam_unix.so\n{line}\n")
        said = fresh.run("apt-get", "remove", "-y", "libpam-passcode", status=100)
        assert "not removed" in said and "again: auth required pam_passcode.so" in said, line
    kiosk.write_text(f"#{INCLUDING[0]}\n{LOCKING[0]}\n")
    kiosk.rename(kiosk.with_suffix(".bak"))
    (fresh.path / "etc/pam.d/common-auth.bak").write_text(LOCKING[0])
    fresh.run("apt-get", "remove", "-y", "libpam-passcode")


def test_not_without_a_chroot(fresh, deb, tmp_path):
    """dpkg --force-script-chrootless would do it to the running system."""
    fresh.install(deb)
    fresh.enroll()
    for script, act in (("postinst", "configure"), ("prerm", "remove"), ("postrm", "purge")):
        said = fresh.run(
            "env", "DPKG_ROOT=/target", f"/var/lib/dpkg/info/libpam-passcode.{script}", act, status=1
        )
        assert "--force-script-chrootless" in said
    assert fresh.state()["enrolled"]


def test_an_account_with_another_number_may_read_the_key(fresh, deb):
    fresh.install(deb)
    fresh.run("chgrp", "games", f"/{KEY}")
    fresh.install(deb)
    assert owner(fresh, KEY) == ("root", "_passcode", 0o440)


def test_not_removed_where_pam_auth_update_leaves_its_line(machine):
    """Because of a foreign line in the block that it manages."""
    path = machine.path / "etc/pam.d/common-auth"
    text = path.read_text()
    head = 'modules (the "Primary" block)\n'
    path.write_text(text.replace(head, f"{head}auth optional pam_permit.so\n"))
    said = machine.run("apt-get", "purge", "-y", "libpam-passcode", status=100)
    assert re.search(r"^/etc/pam.d/common-auth:auth\t\[success=2 default=ignore\]\tpam_passcode.so *$", said, re.M)
    passcode_works(machine)
    path.write_text(text)
    machine.run("apt-get", "purge", "-y", "libpam-passcode")
    assert machine.stacks_name_missing_modules() == []
    only_the_password_is_asked(machine)


# MARK: dpkg, killed in the middle

CALLS = "rename,renameat,renameat2,unlink,unlinkat"


@pytest.fixture(scope="module")
def disks(bookworm, deb):
    """A machine before the package, and one with it."""
    installed = bookworm()
    installed.install(deb)
    installed.enroll()
    installed.enable()
    return {"--install": bookworm, "--purge": installed.copy()}


def survives_a_kill(machine, deb, act, call, number):
    """Kills dpkg, or its script, at this call, looks what is there, and repeats the command; false if there are fewer
    such calls."""
    operand = f"/tmp/{deb.name}" if act == "--install" else "libpam-passcode"
    sh("cp", deb, machine.path / "tmp")
    before = machine.snapshot("etc/pam.d") if act == "--install" else None
    trace = machine.top / "trace"
    status = subprocess.run([
        "strace", "-f", "-o", str(trace), "-e", f"trace={call}", "-e",
        f"inject={call}:signal=KILL:when={number}", *machine.command("dpkg", act, operand),
    ], capture_output=True).returncode  # fmt: skip
    if status == 0:
        return False
    assert "killed by SIGKILL" in trace.read_text()
    while machine.run("pgrep", "-x", "dpkg|perl", status=None):
        time.sleep(0.02)
    assert machine.stacks_name_missing_modules() == [], (call, number)
    if number % 5 == 1:
        the_password_works(machine)
    machine.run("dpkg", "--configure", "-a", status=None)
    machine.run("dpkg", act, operand)
    if before is None:
        assert not (machine.path / STORE).exists() and not (machine.path / KEY).exists()
    else:
        after = machine.snapshot("etc/pam.d")
        after.pop("etc/pam.d/passcode")
        before.pop("etc/pam.d/passcode", None)
        assert after == before
        assert owner(machine, HELPER) == ("_passcode", "_passcode", 0o6755)
        machine.run("passcode", "key", "status")
    return True


@pytest.mark.parametrize("act", ["--install", "--purge"])
def test_killed_in_the_middle(disks, deb, act):
    """At every renaming and removing by dpkg or by a script: no stack names a missing module, people
    get in with their password, and repeating the command finishes it."""
    failed = threading.Event()

    def points(call, first):
        """How many there are of this call, from the first one in steps of two."""
        for number in range(first, 200, 2):
            machine = disks[act]()
            try:
                if failed.is_set() or not survives_a_kill(machine, deb, act, call, number):
                    return (number - first) // 2
            except BaseException:
                failed.set()
                raise
            finally:
                machine.remove()
        raise AssertionError(f"{call}: no end of it")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(points, call, first) for call in CALLS.split(",") for first in (1, 2)]
    total = sum(job.result() for job in jobs)
    print(f"{act}: killed at {total} points")
    assert total > 20


# MARK: Time


def test_time(fresh, deb, tmp_path):
    """What installing and enabling takes beyond a package with nothing in it: at most 3 s."""
    empty = tmp_path / "empty"
    (empty / "DEBIAN").mkdir(parents=True)
    (empty / "DEBIAN/control").write_text(
        "Package: nothing\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@passcode.invalid>\nDescription: nothing\n"
    )
    nothing = tmp_path / "nothing_1_all.deb"
    sh("dpkg-deb", "--root-owner-group", "-b", empty, nothing, capture_output=True)

    def seconds(act):
        start = time.monotonic()
        act()
        return time.monotonic() - start

    fresh.install(nothing)
    own = seconds(lambda: fresh.install(nothing))
    ours = seconds(lambda: (fresh.install(deb), fresh.enable()))
    print(f"install and enable: {ours:.2f} s, an empty package {own:.2f} s")
    assert ours - own <= 3
