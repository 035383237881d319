"""The examples for Debian's own Ansible. enroll.yml enrols a list, once, and leaves no passcode anywhere. install.yml
installs, configures and enables the package, once, and leaves no machine with an error."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, WRONG
from package import only_the_password_is_asked, passcode_works
from strace import calls, record

EXAMPLE = "usr/share/doc/libpam-passcode/examples/enroll.yml"
PLAY = """- hosts: localhost
  connection: local
  gather_facts: false
  become: true
  tasks:
    - ansible.builtin.include_tasks: enroll.yml
"""
LIST = f"alice:{RIGHT}\nbob:{OTHER}\n"
# Alice's own commands; the list is encrypted, as the example says.
ENCRYPT = """umask 077
echo secret >vault-password
exec ansible-vault encrypt --vault-password-file vault-password --output list.yml"""
# As strace shows it; passcode and its workers have a pair of sockets.
THROUGH_A_PIPE = r"(write|sendto)\(\d+<(pipe|socket):\[\d+\]>"
# Ansible's own numbers are longer, or fractions of a second: a passcode may be in those by chance.
SHOWN = re.compile(rf"(?<![\d.])(?:{RIGHT}|{OTHER})(?!\d)")
RUN = "exec ansible-playbook play.yml -vvv --vault-password-file vault-password --extra-vars @list.yml"


@pytest.fixture
def site(machine):
    """alice's home has the play; she becomes root by her password. Nobody has a passcode."""
    machine.configure(fail_delay="0")
    machine.run("passcode", "remove", "alice")
    home = machine.path / "home/alice"
    (home / "play.yml").write_text(PLAY)
    shutil.copy(machine.path / EXAMPLE, home)
    return machine


def encrypt(machine, passcodes):
    values = {"passcode_list": passcodes, "ansible_become_password": PASSWORD}
    shell(machine, ENCRYPT, input=json.dumps(values))


def shell(machine, script, **how):
    return machine.run("sh", "-ec", f"cd /home/alice; {script}", user="alice", **how)


def counted(said):
    """What Ansible counted: {"ok": 2, "changed": 1, ...}."""
    [recap] = re.findall(r"^localhost +: (.*)", said, re.MULTILINE)
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", recap)}


def enrolled(machine):
    return [name for name in ("alice", "bob") if machine.state(name)["enrolled"]]


def test_a_list_is_enrolled_once(site):
    """The second run changes nothing, not even if the list has another passcode by then: the user may have, too."""
    encrypt(site, LIST)
    first = counted(shell(site, RUN))
    assert (first["changed"], first["failed"]) == (1, 0) and enrolled(site) == ["alice", "bob"]
    assert counted(shell(site, RUN))["changed"] == 0
    encrypt(site, f"alice:{WRONG[0]}\nbob:{WRONG[1]}\n")
    again = counted(shell(site, RUN))
    assert (again["changed"], again["failed"]) == (0, 0)
    for name, code in (("alice", RIGHT), ("bob", OTHER)):
        site.run("passcode", "verify", name, "--stdin", input=f"{code}\n")


def test_who_cannot_be_enrolled_is_named_and_stops_nobody_else(site):
    encrypt(site, f"nobody-here:{RIGHT}\nbob:1234\nalice:{OTHER}\n")
    said = shell(site, RUN, status=2)
    found = counted(said)
    assert (found["changed"], found["failed"]) == (1, 1) and enrolled(site) == ["alice"]
    for user, result in (("nobody-here", "unknown_user"), ("bob", "weak")):
        assert re.search(rf'\\"user\\":\\"{user}\\",\\"result\\":\\"{result}\\"', said)
    assert not SHOWN.search(said) and not re.search(r"\b1234\b", said)


def test_a_store_that_cannot_be_used_is_told(site):
    encrypt(site, LIST)
    site.run("mv", "/etc/passcode/key", "/etc/passcode/away")
    said = shell(site, RUN, status=2)
    assert counted(said)["changed"] == 0 and "/etc/passcode/key" in said and enrolled(site) == []


def test_a_dry_run_changes_nothing(site):
    encrypt(site, LIST)
    found = counted(shell(site, f"{RUN} --check"))
    assert (found["changed"], found["failed"]) == (0, 0) and enrolled(site) == []


def test_no_passcode_is_shown_logged_or_written(site, tmp_path):
    """Nor in a command line or an environment: nothing but pipes has them, not even for a moment."""
    encrypt(site, LIST)
    trace = tmp_path / "trace"
    traced = "execve,execveat,write,pwrite64,writev,pwritev,pwritev2,send,sendto,sendmsg,sendmmsg"
    done = subprocess.run(
        [
            *record(trace, "-y", "-v", "-s", "4000000", "-e", f"trace={traced}"),
            *site.command("sh", "-ec", f"cd /home/alice; {RUN}", user="alice"),
        ],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert enrolled(site) == ["alice", "bob"]
    carried = [call.line for call in calls(trace) if SHOWN.search(call.line)]
    assert carried and [line[:200] for line in carried if not re.match(THROUGH_A_PIPE, line)] == []
    assert not SHOWN.search(done.stdout + done.stderr)
    assert not any(SHOWN.search(line.text) for line in site.log.lines())


# MARK: install.yml

TREE = pathlib.Path(__file__).parents[2]
INSTALL = TREE / "debian/examples/install.yml"
COMMON = "etc/pam.d/common-auth"


@pytest.fixture
def new(bare, deb):
    """A machine without the package, which is in alice's home, with the tasks and a play."""
    machine = bare()
    home = machine.path / "home/alice"
    (home / "play.yml").write_text(PLAY.replace("enroll.yml", "install.yml"))
    shutil.copy(INSTALL, home)
    shutil.copy(deb, home / "package.deb")
    values = {
        "passcode_package": "/home/alice/package.deb", "ansible_become_password": PASSWORD,
        "passcode_conf": "lengths=6\nfail_delay=0\n",
    }  # fmt: skip
    (home / "values.json").write_text(json.dumps(values))
    yield machine
    machine.remove()


def installs(machine, *options, status=0):
    command = "exec ansible-playbook play.yml --extra-vars @values.json"
    said = shell(machine, " ".join([command, *options]), status=status)
    return counted(said), said


def test_a_machine_gets_the_package_its_configuration_and_the_profile_once(new):
    first, _ = installs(new)
    assert (first["changed"], first["failed"]) == (3, 0)
    assert (new.path / "etc/security/passcode.conf").read_text() == "lengths=6\nfail_delay=0\n"
    new.enroll()
    passcode_works(new)
    before = new.snapshot("etc")
    again, _ = installs(new)
    assert (again["changed"], again["failed"]) == (0, 0) and new.snapshot("etc") == before


def test_a_profile_that_makes_errors_is_disabled_again(new):
    """A stack that the profile would get into, and that libpam can't carry out."""
    (new.path / "etc/pam.d/kiosk").write_text("@include common-auth\nauth required\n")
    before = (new.path / COMMON).read_text()
    found, said = installs(new, status=2)
    assert (found["failed"], found["rescued"]) == (1, 1) and "/etc/pam.d/kiosk:2" in said
    assert (new.path / COMMON).read_text() == before
    new.enroll()
    only_the_password_is_asked(new)


def test_a_configuration_with_an_error_changes_no_login(new):
    before = (new.path / COMMON).read_text()
    found, said = installs(new, "--extra-vars", "passcode_conf=lengths=5", status=2)
    assert found["failed"] == 1 and "lengths" in said and (new.path / COMMON).read_text() == before


def test_a_dry_run_of_the_installation_changes_nothing(new):
    before = new.snapshot("etc", "usr/bin")
    found, _ = installs(new, "--check")
    assert found["failed"] == 0 and new.snapshot("etc", "usr/bin") == before
