"""examples/enroll.yml with Debian's own Ansible: it enrols a list, once, and leaves no passcode anywhere."""

import json
import re
import shutil
import subprocess

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, WRONG
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
    assert not re.search(rf"{RIGHT}|{OTHER}|\b1234\b", said)


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
    carried = [call.line for call in calls(trace) if RIGHT in call.line or OTHER in call.line]
    assert carried and [line[:200] for line in carried if not re.match(THROUGH_A_PIPE, line)] == []
    assert RIGHT not in done.stdout + done.stderr
    assert not any(RIGHT in line.text or OTHER in line.text for line in site.log.lines())
