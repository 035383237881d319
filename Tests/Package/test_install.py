"""Outside Debian's packaging: Sources/system/install with other settings than Debian's, into an empty root."""

import json
import os
import re
import subprocess

import pytest

from debian_machine import MACHINES, OTHER, RIGHT, TREE, Machine, root, sh
from package import copy_tree

pytestmark = pytest.mark.on_request

MODULES, ACCOUNT = "/usr/lib/security", "pass_code"
FOLDER = "/usr/lib/pam-passcode"
HELPER, FINGER, FLEET = (f"{FOLDER}/{name}-1" for name in ("helper", "finger", "fleet"))
VERIFIER, STUNNEL, TOOL = "/usr/bin/verifier-1", "/usr/bin/stunnel-1", "/usr/local/bin/passcode"
PATHS = {
    "PASSCODE_MODULE_DIRECTORY": MODULES, "PASSCODE_HELPER_PATH": HELPER, "PASSCODE_FINGER_PATH": FINGER,
    "PASSCODE_FLEET_PATH": FLEET, "PASSCODE_VERIFIER_PATH": VERIFIER, "PASSCODE_STUNNEL": STUNNEL,
    "PASSCODE_TOOL_PATH": TOOL,
}  # fmt: skip
SETTINGS = {**PATHS, "PASSCODE_ACCOUNT": ACCOUNT}
# {what may be installed, too: what systemd is to enable for it}
MORE = {
    "PASSCODE_AUTHSELECT": None, "PASSCODE_FINGER": "passcode-finger.socket", "PASSCODE_FLEET": None,
    "PASSCODE_VERIFIER": "passcode-verifier.socket passcode-verifier-seen.timer",
}  # fmt: skip
UNITS = "/usr/lib/systemd/system"


def run(tree, **setting):
    """As an ordinary user, as packages are built."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **setting}
    who = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    return subprocess.run(
        [*who, "Sources/system/install"], cwd=tree, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def install(tree, destination, **more):
    """Answers with the commands for after the installation."""
    destination.mkdir()
    sh("chown", "-R", "nobody:nogroup", destination)
    done = run(tree, DESTDIR=str(destination), **SETTINGS, **more)
    assert done.returncode == 0, done.stdout
    sh("chown", "-R", "root:root", destination)
    return done.stdout.split("run as root:\n")[1].splitlines()


@pytest.fixture(scope="module")
def tree():
    tree = copy_tree(MACHINES / "install" / "tree")
    sh("chown", "-R", "nobody:nogroup", tree)
    return tree


@pytest.fixture(scope="module")
def installed(tree):
    """The root with everything in it, and the commands."""
    destination = MACHINES / "install" / "root"
    return destination, install(tree, destination, **dict.fromkeys(MORE, "yes"))


@pytest.fixture(scope="module")
def system(installed):
    """A machine of a distribution without our package, on which that root lies."""
    destination, commands = installed
    machine = Machine(destination, root("trixie"))
    machine.people()
    yield machine, commands
    machine.remove()


def test_a_missing_or_bad_setting_is_named(tmp_path):
    tree = copy_tree(tmp_path / "tree")
    for path in (tmp_path, *tmp_path.parents):
        path.chmod(path.stat().st_mode | 0o111)
    done = run(tree)
    assert done.returncode == 2 and "set PASSCODE_MODULE_DIRECTORY" in done.stdout
    for name in PATHS:
        for bad in ("lib", "/a b", "/a&b", "/a|b"):
            done = run(tree, **{**SETTINGS, name: bad})
            assert done.returncode == 2
            assert f"not an absolute path of letters, digits and /._+-: {bad}" in done.stdout


def files_below(destination):
    return {f"/{path.relative_to(destination)}": path for path in destination.rglob("*") if path.is_file()}


def test_nothing_is_left_out(installed):
    destination, _ = installed
    files = files_below(destination)
    programs = {HELPER, FINGER, FLEET, VERIFIER, f"{FLEET}-check", f"{FOLDER}/passcode-verifier-check"}
    setup = "create add replace servers steps invite-workstation issuer issue workstations".split()
    programs |= {f"{FOLDER}/passcode-verifier-{name}" for name in setup} | {"/usr/sbin/passcode-fleet-join"}
    assert {f"{MODULES}/pam_passcode.so", TOOL} | programs <= files.keys()
    assert {oct(files[name].stat().st_mode)[-3:] for name in programs} == {"755"}
    units = {path.name for path in (TREE / "Sources/system/systemd").iterdir()}
    assert {f"{UNITS}/{name}" for name in units} <= files.keys() and len(units) >= 10
    link = destination / UNITS[1:] / "multi-user.target.wants/passcode-key.service"
    assert link.is_symlink() and link.resolve() == files[f"{UNITS}/passcode-key.service"]
    sources = [path for folder in ("Sources/system", "pam.d") for path in (TREE / folder).rglob("*") if path.is_file()]
    names = {path.name for path in files.values()}
    # The script for check has the names of two programs.
    tools = {"install", "passcode-fleet-check", "pam_passcode.spec", "pam_passcode.rpmlintrc"}
    assert {path.name for path in sources if path.parent.name not in ("po", "selinux")} - names == tools
    documents = "/usr/share/doc/passcode-verifier/README.Debian.gz"
    assert {documents, "/usr/share/doc/passcode-fleet/examples/passcode-fleet.conf"} <= files.keys()
    languages = {path.stem for path in sources if path.suffix == ".po"}
    catalogues = {f"/usr/share/locale/{language}/LC_MESSAGES/libpam-passcode.mo" for language in languages}
    assert languages and catalogues <= files.keys()


def test_what_is_not_wanted_is_left_out(tree, installed):
    everything, commands = files_below(installed[0]), installed[1]
    wanted = [f"systemctl enable {units}" for units in MORE.values() if units]
    assert commands[-len(wanted) :] == wanted

    def left_out(*without):
        destination = MACHINES / "install" / "-".join(("less", *without))
        more = {name: "yes" for name in MORE if name not in without}
        said = install(tree, destination, **more)
        gone = [f"systemctl enable {MORE[name]}" for name in without]
        assert said == [command for command in commands if command not in gone]
        return everything.keys() - files_below(destination).keys()

    assert left_out("PASSCODE_AUTHSELECT") == {name for name in everything if "authselect" in name}
    assert left_out("PASSCODE_FINGER") == {name for name in everything if "finger" in name}
    fleet = {name for name in everything if "fleet" in name}
    assert left_out("PASSCODE_FLEET") == fleet
    verifier = {name for name in everything if "verifier" in name}
    assert left_out("PASSCODE_VERIFIER") == verifier and f"{FOLDER}/passcode-verifier-check" in verifier
    account = "usr/lib/sysusers.d/passcode.conf"
    assert "u stunnel4 " in (installed[0] / account).read_text()
    assert left_out(*MORE) == {name for name in everything if re.search("authselect|finger|fleet|verifier", name)}
    assert "stunnel4" not in (MACHINES / "install" / "-".join(("less", *MORE)) / account).read_text()


def test_every_setting_is_in_every_file(installed):
    destination, _ = installed
    files = files_below(destination)
    for name, path in files.items():
        if "completion" in name or "site-functions" in name:  # a function's name
            continue
        content = path.read_bytes()
        assert not re.search(rb"(?<!\w)_passcode\b|/usr/libexec/passcode|linux-gnu/security", content), name
        assert not re.search(rb"/usr/s?bin/passcode|/usr/bin/stunnel4", content), name
        assert b"/nonexistent" not in content and bytes(destination) not in content, name
    for name, program in (("helper", HELPER), ("finger", FINGER), ("fleet", FLEET), ("verifier", VERIFIER)):
        page = files[f"/usr/share/man/man8/passcode-{name}.8"].read_text()
        assert program.replace("-", r"\-") in page or name == "verifier"
        place = "sbin" if name == "verifier" else "libexec"
        profile = files[f"/etc/apparmor.d/usr.{place}.passcode-{name}"].read_text()
        assert f"profile passcode-{name} {program} {{" in profile and f"  {program} mr," in profile
    assert ACCOUNT in files["/usr/share/man/man8/passcode-helper.8"].read_text()
    assert f"ExecStart=-{FINGER}\n" in files[f"{UNITS}/passcode-finger@.service"].read_text()
    assert f"ExecStart={TOOL} key load" in files[f"{UNITS}/passcode-key.service"].read_text()
    assert f"[ -x {TOOL} ]" in files["/etc/shadow-maint/userdel-post.d/passcode"].read_text()
    profile = files["/etc/apparmor.d/usr.libexec.passcode-helper"].read_text()
    assert f"{MODULES}/pam_*.so mr," in profile and f"  {FLEET} PUx," in profile
    unit = files[f"{UNITS}/passcode-verifier.service"].read_text()
    assert f"ExecStart={VERIFIER} accept\n" in unit and f"User={ACCOUNT}\n" in unit
    unit = files[f"{UNITS}/passcode-fleet.service"].read_text()
    assert f"ExecStart={STUNNEL} /etc/stunnel/passcode-fleet.conf\n" in unit and f"Group={ACCOUNT}\n" in unit
    assert f" {VERIFIER} \"$@\"" in files[f"{FOLDER}/passcode-verifier-check"].read_text()
    assert f"exec = {VERIFIER}\n" in files["/usr/share/doc/passcode-verifier/examples/passcode-verifier.conf"].read_text()
    rule = files["/usr/share/passcode-verifier/passcode-verifier.nft"].read_text()
    assert rule.count(f"{{ root, {ACCOUNT}, etcd, {ACCOUNT}-issuer }}") == 2


def test_the_demo_plays_there(system):
    machine, _ = system
    said = machine.run("passcode", "try", "--demo", user="alice")
    assert re.search(r"^All \d+ steps worked\.$", said, re.MULTILINE), said


def test_a_login_through_the_helper_after_the_commands_that_it_prints(system):
    """Each of them, as it stands there."""
    machine, commands = system
    for command in commands:
        machine.run("sh", "-c", command)
    (machine.path / "etc/pam.d/locker").write_text(f"auth required {MODULES}/pam_passcode.so\n")
    machine.enroll()
    for code, status in ((OTHER, 1), (RIGHT, 0)):
        machine.run("pamtester", "locker", "alice", "authenticate", user="alice", input=f"{code}\n", status=status)
    assert machine.state()["enrolled"]
    assert machine.run("stat", "-c", "%U:%G %a", HELPER) == f"{ACCOUNT}:{ACCOUNT} 6755\n"
    assert machine.run("stat", "-c", "%U %a", "/var/lib/passcode") == f"{ACCOUNT} 700\n"
    for unit in ("passcode-finger.socket", "passcode-verifier.socket", "passcode-verifier-seen.timer"):
        assert machine.run("systemctl", "is-enabled", unit) == "enabled\n"
    assert machine.run("stat", "-c", "%U:%G %a", "/var/lib/passcode-verifier") == f"{ACCOUNT}:{ACCOUNT} 700\n"
    # Its group has no members, everything is where it looks for it, and nothing is an error.
    findings = machine.run("passcode", "check")
    assert "✗" not in findings, findings


def test_a_fleet_s_part_is_found_there(system):
    """After the commands: the tool starts the verifier, and its check the scripts."""
    machine, _ = system
    (machine.path / STUNNEL[1:]).symlink_to("/usr/bin/stunnel4")
    said = machine.run("passcode", "server", "init")
    assert "/etc/passcode/fleet.key: created" in said
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/passcode/fleet.key") == f"root:{ACCOUNT} 440\n"
    units = [f"{UNITS}/{name}" for name in ("passcode-fleet.service", "passcode-verifier.socket", "passcode-verifier-stunnel.service")]
    assert machine.run("systemd-analyze", "verify", "--man=no", *units) == ""
    (machine.path / "etc/passcode/verifier.conf").write_text("fleet=ward-7\n")
    machine.configure(verifier="/run/passcode-fleet/verifier.sock")
    found = [json.loads(line) for line in machine.run("passcode", "check", "--json", status=1).splitlines()]
    names = {finding["check"] for finding in found}
    # Of each script, and of the verifier itself.
    assert {"fleet-socket", "fleet-clock", "verifier-configuration", "verifier-port", "verifier-clock"} <= names, found
