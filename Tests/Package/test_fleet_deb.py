"""The packages passcode-fleet and passcode-verifier: what is in them, and beside libpam-passcode install, upgrade,
remove, purge. With a real systemd, etcd and stunnel: test_fleet_howto.py."""

import re

import pytest

from package import needed_packages, needing, output, passcode_works

FLEET, VERIFIER = "usr/libexec/passcode-fleet", "usr/sbin/passcode-verifier"
UNITS = "usr/lib/systemd/system"
SETUP = "create", "add", "replace", "invite-workstation"
RUN = "issue", "workstations"  # by systemd
READ = "steps", "servers", "issuer"  # by these
JOIN, JOIN_PAGE = "usr/sbin/passcode-fleet-join", "usr/share/man/man8/passcode-fleet-join.8.gz"
# {package: (its program, what else is in it)}
CONTENT = {
    "passcode-fleet": (
        FLEET,
        {"usr/libexec/passcode-fleet-check", JOIN, JOIN_PAGE, f"{UNITS}/passcode-fleet.service",
         f"{UNITS}/passcode-fleet-renew.service", f"{UNITS}/passcode-fleet-renew.timer", "etc/apparmor.d/usr.libexec.passcode-fleet",
         "usr/share/doc/passcode-fleet/examples/passcode-fleet.conf"},
    ),
    "passcode-verifier": (
        VERIFIER,
        {f"{UNITS}/passcode-verifier{name}"
         for name in (".socket", ".service", "-seen.service", "-seen.timer", "-stunnel.service", "-etcd.service",
                      "-metrics.service", "-metrics.timer", "-join.service", "-issue.socket", "-issue@.service",
                      "-renew.socket", "-renew@.service")}
        | {"etc/apparmor.d/usr.sbin.passcode-verifier", "usr/libexec/passcode-verifier-check"}
        | {f"usr/libexec/passcode-verifier-{name}" for name in (*SETUP, *RUN, *READ)}
        | {f"usr/share/man/man8/passcode-verifier-{name}.8.gz" for name in SETUP}
        | {"usr/share/passcode-verifier/passcode-verifier.nft", "usr/share/passcode-verifier/join.conf"}
        | {"usr/share/doc/passcode-verifier/README.Debian.gz"}
        | {f"usr/share/doc/passcode-verifier/examples/{name}" for name in ("etcd", "passcode-verifier.conf", "passcode-alerts.yml", "passcode-dashboard.json")},
    ),
}  # fmt: skip


@pytest.fixture
def package(fleet_debs):
    return {deb.name.partition("_")[0]: deb for deb in fleet_debs}


# KiB that they may take on a disk.
SIZES = {"passcode-fleet": 114, "passcode-verifier": 460}


@pytest.mark.parametrize("name", CONTENT)
def test_what_is_in_the_packages_of_a_fleet(package, name):
    """Nothing with a special bit, and nothing of another's than root."""
    program, others = CONTENT[name]
    listed = [line.split()[:6] for line in output("dpkg-deb", "-c", package[name]).splitlines()]
    files = {path.removeprefix("./"): (mode, owner) for mode, owner, _, _, _, path in listed if mode[0] != "d"}
    documents = {f"usr/share/doc/{name}/{file}" for file in ("changelog.Debian.gz", "copyright")}
    documents.add(f"usr/share/lintian/overrides/{name}")
    page, link = (f"usr/share/man/man8/{name}{part}.8.gz" for part in ("", "-check"))
    assert set(files) == {program, page, link, *documents, *others}
    assert files.pop(link) == ("lrwxrwxrwx", "root/root")
    scripts = {"passcode-fleet": [JOIN], "passcode-verifier": [f"usr/libexec/{name}-{part}" for part in (*SETUP, *RUN)]}
    for path in (program, f"usr/libexec/{name}-check", *scripts[name]):
        assert files.pop(path) == ("-rwxr-xr-x", "root/root")
    for link in [JOIN_PAGE, *(f"usr/share/man/man8/{name}-{part}.8.gz" for part in SETUP)]:
        assert files.pop(link, ("lrwxrwxrwx", "root/root")) == ("lrwxrwxrwx", "root/root")
    assert set(files.values()) == {("-rw-r--r--", "root/root")}
    size = int(output("dpkg-deb", "-f", package[name], "Installed-Size"))
    print(f"installed: {size} KiB")
    assert size <= SIZES[name]


@pytest.mark.parametrize("name", CONTENT)
def test_only_stunnel_is_needed_besides(deb, package, name):
    rule = {"adduser", "nftables"} if name == "passcode-verifier" else set()
    assert needed_packages(package[name], "Depends") == {"libpam-passcode", "stunnel4", "libc6", "libsodium23"} | rule
    version = output("dpkg-deb", "-f", deb, "Version").strip()
    assert f"libpam-passcode (= {version})" in output("dpkg-deb", "-f", package[name], "Depends")


# MARK: On a machine

ACCOUNTS = r"etc/(passwd|group|g?shadow|sub[ug]id)-?|etc/\.pwd\.lock"
FOLDERS = "etc", "usr", "var/lib/passcode", "var/lib/passcode-verifier", "var/lib/systemd"
STATE, KEY = "var/lib/passcode-verifier", "etc/passcode/fleet.key"
WANTS = "etc/systemd/system"
ENABLED = {f"{WANTS}/sockets.target.wants/passcode-verifier.socket",
           f"{WANTS}/timers.target.wants/passcode-verifier-seen.timer"}  # fmt: skip
# What `passcode server init` and README.Debian make: {name: (mode, text)}.
FILES = {
    "verifier.conf": ("644", "fleet=ward-7\n"),
    "workstations": ("644", "CN=ws1\n"),
    "verifier.password": ("440", "password\n"),
}
NO_FLEET = (
    "passcode-verifier: this server belongs to no fleet yet.",
    "passcode-fleet: this workstation belongs to no fleet yet.",
)


@pytest.fixture
def server(machine, fleet_debs):
    """A machine with both packages; what it was before; what the installation said."""
    before = machine.snapshot(*FOLDERS)
    return machine, before, machine.install(*fleet_debs)


def changed(before, after):
    """What is not as it was, but what dh_apparmor's script removes where it is empty."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)} - {"etc/apparmor.d/disable"}


def of(machine, path):
    return machine.run("stat", "-c", "%a %U:%G", f"/{path}").strip()


def make_fleet(machine):
    machine.run("passcode", "server", "init")
    for name, (mode, text) in FILES.items():
        machine.run("install", "-m", mode, "-g", "_passcode", "/dev/stdin", f"/etc/passcode/{name}", input=text)


def test_installing_them_changes_nothing_but_their_own_files(server):
    """No stack, and one account, which has nothing yet. Of a server two units are enabled that open no port; what does is the administrator's. All
    units are valid in that release."""
    machine, before, said = server
    after = machine.snapshot(*FOLDERS)
    new = changed(before, after)
    new -= {path for path in new if re.fullmatch(ACCOUNTS, path)}
    own = {path for path in new if "passcode-fleet" in path or "passcode-verifier" in path}
    # Besides, folders that nothing else needed before.
    assert all(any(path.startswith(f"{other}/") for path in own) for other in new - own), new - own
    assert {path for path in new if path.startswith(f"{WANTS}/") and ".wants/" in path} == ENABLED
    assert of(machine, STATE) == "700 _passcode:_passcode" and f"{STATE}/" not in " ".join(after)
    assert all(line in said for line in NO_FLEET)
    units = [f"/{path}" for path in own if path.startswith(f"{UNITS}/") and "@" not in path]
    assert len(units) == 14
    assert machine.run("systemd-analyze", "verify", "--man=no", *units) == ""
    passcode_works(machine)


def test_a_fleet_s_files_outlast_a_removal_and_its_key_a_purge(server, fleet_debs):
    """The key may be the last copy of what opens the passcodes in etcd, which stay. After a purge nothing else is left."""
    machine, before, _ = server
    make_fleet(machine)
    assert of(machine, KEY) == "440 root:_passcode"
    machine.run("touch", f"/{STATE}/seen", f"/{STATE}/token")
    kept = machine.snapshot("etc/passcode", STATE)
    machine.configure(verifier="/run/passcode-fleet/verifier.sock")
    said = machine.run("apt-get", "remove", "-y", "passcode-verifier", "passcode-fleet")
    assert 'passcode-fleet: /etc/security/passcode.conf still has "verifier=".' in said
    assert machine.snapshot("etc/passcode", STATE) == kept
    machine.configure()
    # As after a move to this machine, where the account has another number.
    for name in ("fleet.key", "verifier.password"):
        machine.run("chgrp", "games", f"/etc/passcode/{name}")
    said = machine.install(*fleet_debs)
    assert NO_FLEET[0] not in said
    assert machine.snapshot("etc/passcode", STATE) == kept
    said = machine.run("apt-get", "purge", "-y", "passcode-verifier", "passcode-fleet")
    assert "/etc/passcode/fleet.key is kept" in said and "shred -u /etc/passcode/fleet.key" in said
    assert machine.snapshot(KEY) == {KEY: kept[KEY]}
    machine.run("shred", "-u", f"/{KEY}")
    # The account of the issuer stays, as the others do.
    left = {path for path in changed(before, machine.snapshot(*FOLDERS)) if not re.fullmatch(ACCOUNTS, path)}
    assert left - {"etc/security/passcode.conf"} == set()
    passcode_works(machine)


@pytest.mark.only("bookworm")
def test_purging_everything_leaves_nothing_but_the_fleet_key(server):
    """In one go: libpam-passcode's own script may come before or after."""
    machine, _, _ = server
    make_fleet(machine)
    packages = "libpam-passcode", *CONTENT
    machine.run("apt-get", "purge", "-y", *packages)
    assert [path.name for path in (machine.path / "etc/passcode").iterdir()] == ["fleet.key"]
    machine.run("shred", "-u", f"/{KEY}")
    left = machine.snapshot("etc", "usr", "var/lib")
    assert [path for path in left if "passcode-" in path] == []


@pytest.mark.parametrize("first, then", [("0.0.9", None), (None, "0.0.9")], ids=("up", "down"))
def test_all_are_upgraded_together(fresh, deb, fleet_debs, other_version, first, then):
    """apt takes one only with the others. The fleet's files stay."""

    def versions(version):
        if version is None:
            return deb, *fleet_debs
        return other_version(version), *(other_version(version, needing(version), each) for each in fleet_debs)

    fresh.install(*versions(first))
    fresh.enroll()
    fresh.enable()
    make_fleet(fresh)
    kept = fresh.snapshot("etc/passcode", STATE)
    fresh.install(*versions(then))
    found = fresh.run("dpkg-query", "-W", "-f", "${Version}\\n", "libpam-passcode", *CONTENT).split()
    assert len(found) == 3 and len(set(found)) == 1 and found[0] == (then or found[0])
    assert fresh.snapshot("etc/passcode", STATE) == kept
    passcode_works(fresh)
