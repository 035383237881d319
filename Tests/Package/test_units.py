"""systemd's units, as systemd runs them: the runtime directory's own memory, and how far each service is confined."""

import re
import shlex

import pytest

from container import Container
from debian_machine import PASSWORD, RIGHT, TREE, WRONG

UNITS = TREE / "Sources/system/systemd"
RUN = "/run/passcode"


@pytest.fixture(scope="module")
def guest(release, deb):
    """The package installed there, alice enrolled, and her passcode waiting for another login."""
    made = Container(release, deb)
    made.run("printf 'opslimit=1\\nmemlimit=8M\\nfirst_login=deny\\n' > /etc/security/passcode.conf")
    made.run(f"dpkg --install --force-confold /root/{deb.name}")
    made.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    made.run("pam-auth-update --enable passcode")
    yield made
    made.remove()


def is_ready(guest):
    """Memory of its own, with the file for the helpers."""
    assert guest.run(f"findmnt --noheadings --output FSTYPE,OPTIONS --mountpoint {RUN}").split()[0] == "tmpfs"
    shown = guest.run(f"stat -c '%A %U %G' {RUN} {RUN}/waiting").splitlines()
    assert shown == ["drwx------ _passcode root", "-rw------- _passcode _passcode"]
    assert guest.run("systemctl --failed --no-legend") == ""


def use_up(guest):
    """Bob takes all inodes of /run: a package has a folder there in which everybody may write."""
    guest.run("mkdir -p -m 1777 /run/everybody")
    guest.run("mount -o remount,nr_inodes=$(($(df --output=iused /run | tail -n 1) + 50)) /run")
    guest.run("runuser -u bob -- sh -c 'for n in $(seq 100); do : >/run/everybody/$n; done'", None)
    guest.run("touch /run/another", 1)


@pytest.mark.on_request
def test_a_full_run_takes_nothing_from_the_runtime_directory(guest):
    """From the installation on, and after each boot: a wrong passcode again isn't counted, and a login is marked."""
    is_ready(guest)
    guest.cut()
    guest.start()
    guest.machine.ready()
    is_ready(guest)
    line = guest.terminal()
    use_up(guest)
    for _ in range(2):
        guest.run(f"echo {WRONG[0]} | passcode verify alice --stdin", 1)
    assert "failures since the last success: 1" in guest.run("passcode status alice")
    guest.log_in("alice", ("Password: ", PASSWORD), line=line)
    guest.run(f"test -f {RUN}/$(id -u alice).login")
    guest.run("mount -o remount,nr_inodes=0 /run")


@pytest.mark.on_request
def test_the_passcode_is_paused_before_the_machine_sleeps(guest):
    """The package's example, started by systemd for sleep.target, which every kind of sleep waits for."""
    example = "/usr/share/doc/libpam-passcode/examples/passcode-pause-on-suspend@.service"
    unit = "passcode-pause-on-suspend@alice.service"
    guest.run(f"cp {example} /etc/systemd/system && systemctl daemon-reload && systemctl enable {unit}")
    assert "sleep.target" in guest.run(f"systemctl show --property=Before {unit}")
    # In place of a sleep: when it runs, the pause stands.
    asleep = "[Unit]\nAfter=sleep.target\nRequires=sleep.target\n[Service]\nType=oneshot\nExecStart=sh -c 'passcode status alice >/run/asleep'\n"
    guest.run(f"printf {shlex.quote(asleep)} >/run/systemd/system/asleep.service && systemctl daemon-reload")
    guest.run("passcode unlock alice; passcode resume alice; systemctl start asleep.service")
    assert "state: paused" in guest.run("cat /run/asleep")
    guest.run(f"passcode resume alice && systemctl disable {unit} && systemctl stop sleep.target")


@pytest.mark.on_request
def test_a_key_that_does_not_open_is_tried_again_until_it_does(guest):
    """After longer and longer pauses; they are cut short here. What opens nothing stands for a TPM that refuses."""
    shown = guest.run("systemctl show --property=TimersMonotonic passcode-key.timer")
    pauses = {"OnActiveUSec=1min", "OnActiveUSec=3min", "OnActiveUSec=7min", "OnUnitInactiveUSec=15min"}
    assert {re.search(r"\w+=\w+(?= ;)", line)[0] for line in shown.splitlines()} == pauses
    folder = "/run/systemd/system/passcode-key.timer.d"
    guest.run(f"mkdir -p {folder} && printf '[Timer]\nOnActiveSec=\nOnActiveSec=2\nOnUnitInactiveSec=4\n' >{folder}/soon.conf")
    guest.run("systemctl daemon-reload && echo nothing >/etc/passcode/key.cred && chmod 0600 /etc/passcode/key.cred")

    def failures():
        return int(guest.run("journalctl --unit=passcode-key --output=cat --grep='Failed to start' | wc -l"))

    before = failures()
    guest.run("systemctl restart passcode-key", 1)
    assert guest.run("systemctl is-active passcode-key.timer").strip() == "active"
    guest.run("sleep 16")
    assert 4 <= failures() - before <= 6
    guest.run("rm /etc/passcode/key.cred && sleep 6")
    assert guest.run("systemctl is-active passcode-key").strip() == "active"
    opened, after = guest.run("systemctl show --property=ActiveEnterTimestampMonotonic passcode-key"), failures()
    guest.run("sleep 10")
    assert (guest.run("systemctl show --property=ActiveEnterTimestampMonotonic passcode-key"), failures()) == (opened, after)
    guest.run(f"systemctl stop passcode-key.timer; rm -r {folder}; systemctl daemon-reload")


@pytest.mark.on_request
def test_purged_its_memory_goes_too(guest):
    guest.run("apt-get purge -y libpam-passcode")
    guest.run(f"findmnt --mountpoint {RUN}", 1)
    guest.run(f"test -e {RUN}", 1)


# The goals are tenths of systemd's points: more is more exposed.
MOST = {
    "passcode-finger@.service": 40, "passcode-fleet.service": 35, "passcode-key.service": 26,
    "passcode-verifier-etcd.service": 50, "passcode-verifier-stunnel.service": 35, "passcode-verifier.service": 35,
}  # fmt: skip


@pytest.mark.parametrize("unit", MOST)
def test_a_service_is_confined(fresh, unit):
    """As far as systemd itself tells from the file."""
    (fresh.path / "root" / unit).write_text((UNITS / unit).read_text())
    said = fresh.run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST[unit]}", "--no-pager", f"/root/{unit}")
    assert "Overall exposure level" in said
