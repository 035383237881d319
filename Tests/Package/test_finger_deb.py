"""The package passcode-finger: what is in it, and beside libpam-passcode install, upgrade, remove, purge."""

import pytest

from package import needed_packages, needing, only_the_password_is_asked, output, passcode_works
from process import wait_for

FINGER = "usr/libexec/passcode-finger"
FOLDERS = "etc", "usr", "var/lib/passcode", "var/lib/fprint", "var/lib/systemd"


def test_only_the_package_of_the_finger_needs_fprintd_and_libsystemd(deb, finger_deb):
    names = needed_packages(finger_deb, "Depends")
    assert names == {"fprintd", "libpam-passcode", "libc6", "libsodium23", "libsystemd0"}
    version = output("dpkg-deb", "-f", deb, "Version").strip()
    assert f"libpam-passcode (= {version})" in output("dpkg-deb", "-f", finger_deb, "Depends")


def test_what_is_in_the_package_of_the_finger(finger_deb):
    """Nothing with a special bit, and nothing of another's than root."""
    listed = [line.split() for line in output("dpkg-deb", "-c", finger_deb).splitlines()]
    files = {name.removeprefix("./"): (mode, owner) for mode, owner, _, _, _, name in listed if mode[0] != "d"}
    documents = {f"usr/share/doc/passcode-finger/{name}" for name in ("changelog.Debian.gz", "copyright")}
    documents.add("usr/share/lintian/overrides/passcode-finger")
    page = "usr/share/man/man8/passcode-finger.8.gz"
    profile = "etc/apparmor.d/usr.libexec.passcode-finger"
    units = {f"usr/lib/systemd/system/passcode-finger{name}" for name in (".socket", "@.service")}
    examples = {f"usr/share/doc/passcode-finger/examples/{name}" for name in ("finger", "finger-first")}
    assert set(files) == {FINGER, page, profile, *units, *documents, *examples}
    assert files.pop(FINGER) == ("-rwxr-xr-x", "root/root")
    assert set(files.values()) == {("-rw-r--r--", "root/root")}
    size = int(output("dpkg-deb", "-f", finger_deb, "Installed-Size"))
    print(f"installed: {size} KiB")
    assert size <= 256


def test_installing_it_changes_nothing_but_its_own_files(machine, finger_deb):
    """No stack, no account; its socket is enabled, and the passcode goes on."""
    before = machine.snapshot(*FOLDERS)
    machine.install(finger_deb)
    after = machine.snapshot(*FOLDERS)
    assert machine.run("stat", "-c", "%A %U %G", f"/{FINGER}") == "-rwxr-xr-x root root\n"
    new = {path for path in after if after[path] != before.get(path)}
    its_own = {path for path in new if "passcode-finger" in path}
    # Besides, folders that nothing else needed before.
    assert all(any(path.startswith(f"{other}/") for path in its_own) for other in new - its_own), new - its_own
    assert FINGER in new and "etc/systemd/system/sockets.target.wants/passcode-finger.socket" in new
    assert set(before) <= set(after)
    passcode_works(machine)


FPRINTD = """FP_VIRTUAL_DEVICE=/run/reader/socket STATE_DIRECTORY=/var/lib/fprint RUNTIME_DIRECTORY=/run/reader \\
setsid /usr/libexec/fprintd --no-timeout </dev/null >/run/reader/log 2>&1 &"""

OWNER = """dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner \\
string:net.reactivated.Fprint"""


def test_it_asks_the_release_s_own_fprintd_by_its_own_libsystemd(machine, finger_deb):
    """With libfprint's virtual reader: bus, polkit and fprintd are those of the release."""
    machine.install(finger_deb)
    assert "Fingerprint: no answer from fprintd\n" in machine.run("passcode", "status", "alice")
    machine.run("mkdir", "-p", "/run/dbus", "/run/reader", "/run/systemd/seats", "/var/lib/fprint")
    machine.run("dbus-daemon", "--system", "--fork", "--nopidfile")
    machine.run("sh", "-c", FPRINTD)
    # Else the bus would start another one, without a reader.
    wait_for(lambda: '":1.' in machine.run("sh", "-c", OWNER, status=None))
    assert "Fingerprint: no fingerprint enrolled: fprintd-enroll\n" in machine.run("passcode", "status", "alice")
    assert "Fingerprint: " not in machine.run("passcode", "status", "_passcode", status=None)
    # A person without a session of systemd-logind: polkit says no.
    assert "Fingerprint: not known: fprintd answers only in an active session" in machine.run(
        "passcode", "status", user="alice"
    )


def test_purging_it_leaves_nothing(machine, finger_deb):
    before = machine.snapshot(*FOLDERS)
    machine.install(finger_deb)
    machine.run("apt-get", "purge", "-y", "passcode-finger")
    after = machine.snapshot(*FOLDERS)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed - {"etc/apparmor.d/disable"} == set(), "dh_apparmor's script removes that one where it is empty"
    assert "passcode-finger" not in machine.run("dpkg-query", "-W", "-f", "${Package}\\n")
    passcode_works(machine)


def test_removing_the_module_removes_it_too(machine, finger_deb):
    machine.install(finger_deb)
    machine.run("apt-get", "remove", "-y", "libpam-passcode")
    assert not (machine.path / FINGER).exists()
    only_the_password_is_asked(machine)
    machine.run("apt-get", "purge", "-y", "libpam-passcode", "passcode-finger")
    assert not [path for path in machine.snapshot("etc", "usr", "var/lib") if "passcode-finger" in path]


@pytest.mark.parametrize("first, then", [("0.0.9", None), (None, "0.0.9")], ids=("up", "down"))
def test_both_are_upgraded_together(fresh, deb, finger_deb, other_version, first, then):
    """apt takes one only with the other, and what is enrolled stays."""

    def of(version):
        if version is None:
            return deb, finger_deb
        return other_version(version), other_version(version, needing(version), finger_deb)

    fresh.install(*of(first))
    fresh.enroll()
    fresh.enable()
    fresh.install(*of(then))
    versions = fresh.run("dpkg-query", "-W", "-f", "${Version}\\n", "libpam-passcode", "passcode-finger").split()
    assert len(set(versions)) == 1 and versions[0] == (then or versions[0])
    assert fresh.run("stat", "-c", "%A %U %G", f"/{FINGER}") == "-rwxr-xr-x root root\n"
    passcode_works(fresh)
