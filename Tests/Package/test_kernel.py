"""On a kernel of its own: AppArmor in force, polkit, a boot with another id, and the power cut in the middle."""

import json
import random
import re
import time

import pytest

from guest import Guest, disk
from machine import OTHER, PASSWORD, RIGHT, WRONG

CUTS = 2


@pytest.fixture(scope="module")
def guest(deb):
    """The package installed there by apt, alice enrolled, the profile enabled. What Argon2 costs is low: the
    processor is emulated."""
    guest = Guest(disk("trixie", deb))
    guest.run("printf 'opslimit=1\\nmemlimit=8M\\n' > /etc/security/passcode.conf")
    guest.run(f"apt-get install -q -y -o Dpkg::Options::=--force-confold /root/{deb.name}")
    guest.run("printf 'auth include common-auth\\naccount include common-account\\n' > /etc/pam.d/locker")
    guest.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    guest.run("pam-auth-update --enable passcode")
    yield guest
    guest.cut()


@pytest.fixture(scope="module")
def alice(guest):
    return guest.log_in("alice", ("Passcode: ", RIGHT))


def denials(guest):
    return re.findall(r'apparmor="(?:DENIED|ALLOWED)".*', guest.run("journalctl -q -b --no-pager", None))


def test_apparmor_is_in_force(guest, alice):
    """Every act of a person's own, with the profile as the kernel enforces it: nothing is refused, or reported."""
    assert "passcode-helper (enforce)" in guest.run("cat /sys/kernel/security/apparmor/profiles")
    locker = "pamtester locker alice authenticate"
    success = "pamtester: successfully authenticated"
    acts = [
        (locker, [("Passcode: ", RIGHT)], success),
        (locker, [("Passcode: ", WRONG[0]), ("Password: ", PASSWORD)], "Wrong passcode, 2 attempts left."),
        ("passcode status", [], "failures since the last success: 1"),
        ("passcode change", [("Old passcode: ", RIGHT), ("New .*: ", OTHER), ("again: ", OTHER)], "Passcode changed"),
        *[(locker, [("Passcode: ", code), ("Password: ", PASSWORD)], success) for code in WRONG[:3]],
        (locker, [("left to unlock.*Password: ", PASSWORD)], success),
        ("passcode unlock", [("Password: ", PASSWORD)], "Passcode unlocked"),
        (locker, [("Passcode: ", OTHER)], success),
        ("passcode remove", [("Passcode or password: ", OTHER)], "Passcode removed"),
        ("passcode enroll", [("Password: ", PASSWORD), ("New .*: ", RIGHT), ("again: ", RIGHT)], "Passcode set"),
    ]  # fmt: skip
    for command, dialogue, expected in acts:
        text, status = alice.run(command, *dialogue)
        assert expected in text and status == 0, (command, text)
    assert denials(guest) == []
    # What is refused is seen here.
    guest.run("aa-exec -p passcode-helper -- /bin/cat /etc/sudoers", None)
    assert denials(guest) != []


def test_polkit(alice):
    """Its helper runs as alice, in her session; ours then does the work."""
    asked = "Authenticating as: alice\r\nPasscode: "
    text, status = alice.run("pkexec id -u", (asked, RIGHT))
    assert text.endswith("\n0\n") and status == 0
    text, status = alice.run("pkexec id -u", (asked, WRONG[0]), ("2 attempts left.*Password: ", PASSWORD))
    assert text.endswith("\n0\n") and status == 0


def test_units_and_folders(guest):
    assert guest.run("systemctl --failed --no-legend") == ""
    assert guest.run("stat -c '%A %U %G' /run/passcode") == "drwxrws--- _passcode root\n"


# MARK: The power goes


def status(guest, user="alice"):
    return json.loads(guest.run(f"passcode status {user} --json", None))


def test_a_lock_starts_over_with_the_boot(guest, alice):
    """The delay is served in time that the machine is up."""
    for code in WRONG[:3]:
        guest.run(f"echo {code} | passcode verify alice --stdin", 1)
    guest.cut()
    guest.start()
    after = status(guest)
    assert (after["state"], after["failures"]) == ("locked", 3)
    assert after["seconds_left"] > 45


GUESSING = """
for round in $(seq 0 99); do
  for user in 0 1 2 3 4 5; do
    (echo $((300000 + 7 * round + user)) | passcode verify u$user --stdin >/dev/null 2>&1; echo "answer $user $?") &
  done
  (echo $((917341 + 7 * round)) | passcode enroll u6 --stdin >/dev/null 2>&1; echo "answer 6 $round $?") &
  wait
done
"""


def test_power_cuts_refund_nothing_and_lose_nothing(guest, alice):
    """Six people guess, a seventh's passcode is set anew again and again; then the power is cut at any moment."""
    guest.run("printf 'opslimit=1\\nmemlimit=1M\\nlockout=500:reset\\nweak=allow\\n' > /etc/security/passcode.conf")
    users = range(7)
    for user in users:
        guest.run(f"useradd u{user}; echo {RIGHT} | passcode enroll u{user} --stdin")
    guest.run(f"cat > /root/guessing <<'END'{GUESSING}END")
    answered = dict.fromkeys(users, 0)
    code = RIGHT
    for cut in range(CUTS):
        guest.qemu.send("bash /root/guessing\r")
        end = time.monotonic() + random.uniform(4, 8)
        newest = None
        while time.monotonic() < end:
            guest.qemu.expect(r"answer (\d) (?:(\d+) )?(\d+)\r")
            user, turn, result = guest.qemu.match.groups()
            if user == "6":
                assert result == "0"
                newest = int(turn)
            else:
                assert result == "1"
                answered[int(user)] += 1
        guest.cut()
        guest.start()
        for user in users[:6]:
            failures = status(guest, f"u{user}")["failures"]
            assert failures in (answered[user], answered[user] + 1), (cut, user)
            answered[user] = failures
        codes = [code] if newest is None else [str(917341 + 7 * newest)]
        codes.append(str(917341 + 7 * (0 if newest is None else newest + 1)))
        fits = [code for code in codes if "0" in guest.run(f"echo {code} | passcode verify u6 --stdin; echo $?")]
        code = fits[0]
        guest.run("grep -rl . /var/lib/passcode >/dev/null; passcode list")
    for user in users[:6]:
        guest.run(f"echo {RIGHT} | passcode verify u{user} --stdin")
        assert status(guest, f"u{user}")["failures"] == 0


# MARK: The end


def test_purge_unloads_the_profile(guest):
    guest.run("apt-get purge -q -y libpam-passcode")
    assert "passcode" not in guest.run("cat /sys/kernel/security/apparmor/profiles; grep -rl pam_passcode /etc/pam.d", None)
    shell = guest.log_in("alice", ("Password: ", PASSWORD))
    assert shell.run("id -un") == ("alice\n", 0)
