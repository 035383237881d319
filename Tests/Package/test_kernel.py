"""On a kernel of its own: AppArmor in force, polkit, a boot with another id, and the power cut in the middle."""

import base64
import json
import random
import time

import pytest

from guest import Guest, disk
from debian_machine import OTHER, PASSWORD, RIGHT, WRONG

pytestmark = pytest.mark.on_request

ASKED = "Passcode or password: "


@pytest.fixture(scope="module")
def guest(deb):
    """The package installed there, alice enrolled, the profile enabled."""
    guest = Guest(disk("trixie", deb))
    configure(guest, COSTS)
    guest.run(f"dpkg --install --force-confold /root/{deb.name}")
    guest.run("printf 'auth include common-auth\\naccount include common-account\\n' > /etc/pam.d/locker")
    guest.run(f"echo {RIGHT} | passcode enroll alice --stdin")
    guest.run("pam-auth-update --enable passcode")
    yield guest
    guest.cut()


@pytest.fixture(scope="module")
def alice(guest):
    return guest.log_in("alice", (ASKED, RIGHT))


def test_apparmor_is_in_force(guest, alice):
    """Every act of a person's own, with the profile as the kernel enforces it: nothing is refused, or reported."""
    assert "passcode-helper (enforce)" in guest.run("cat /sys/kernel/security/apparmor/profiles")
    locker = "pamtester locker alice authenticate"
    success = "pamtester: successfully authenticated"
    acts = [
        (locker, [(ASKED, RIGHT)], success),
        (f"! {locker}", [(ASKED, WRONG[0])], "Wrong passcode, 2 attempts left."),
        ("passcode status", [], "failures since the last success: 1"),
        ("passcode change", [("Old passcode: ", RIGHT), ("New .*: ", OTHER), ("Repeat .*: ", OTHER)], "Passcode changed"),
        *[(f"! {locker}", [(ASKED, code)], "Authentication failure") for code in WRONG[:3]],
        (locker, [("left to unlock.*Password: ", PASSWORD)], success),
        ("passcode unlock", [("Password: ", PASSWORD)], "Passcode unlocked"),
        (locker, [(ASKED, OTHER)], success),
        ("passcode remove", [("Passcode or password: ", OTHER)], "Passcode removed"),
        ("passcode enroll", [("Password: ", PASSWORD), ("New .*: ", RIGHT), ("Repeat .*: ", RIGHT)], "Passcode set"),
    ]  # fmt: skip
    for command, dialogue, expected in acts:
        text, status = alice.run(command, *dialogue)
        assert expected in text and status == 0, (command, text)
    assert guest.denials() == []
    # What is refused is seen here.
    guest.run("aa-exec -p passcode-helper -- /bin/cat /etc/sudoers", None)
    assert guest.denials() != []


def test_polkit(alice):
    """Its helper runs as alice, in her session; ours then does the work."""
    asked = f"Authenticating as: alice\r\n{ASKED}"
    text, status = alice.run("pkexec id -u", (asked, RIGHT), pause=2)
    assert "COMPLETE" in text and text.endswith("0\n") and status == 0
    text, status = alice.run("pkexec id -u", (asked, WRONG[0]), pause=2)
    assert "2 attempts left" in text and "FAILED" in text and status == 127
    text, status = alice.run("pkexec id -u", (asked, PASSWORD), pause=2)
    assert "COMPLETE" in text and text.endswith("0\n") and status == 0


def test_units_and_folders(guest):
    assert guest.run("systemctl --failed --no-legend") == ""
    assert guest.run("stat -c '%A %U %G' /run/passcode") == "drwx------ _passcode root\n"


# MARK: The power goes

COSTS = "opslimit=1\nmemlimit=8M\n"  # of Argon2, low: the processor is emulated
GUESSERS = range(6)
GUESSING = """
for round in $(seq 0 99); do
  for user in 0 1 2 3 4 5; do
    (echo $((300000 + 7 * round + user)) | passcode verify u$user --stdin >/dev/null 2>&1; echo "answer $user $?") &
  done
  (echo $((917341 + 7 * round)) | passcode enroll u6 --stdin >/dev/null 2>&1; echo "answer 6 $?") &
  wait
done
"""


def configure(guest, text):
    guest.run(f"printf '{text}' > /etc/security/passcode.conf".replace("\n", "\\n"))


def status(guest, user):
    return json.loads(guest.run(f"passcode status {user} --json", None))


def test_a_power_cut_refunds_nothing_and_loses_nothing(guest, alice):
    """Six people guess and a seventh's passcode is set anew, again and again; then the power goes at any moment. In
    the end alice, who was locked, is: the delay is served in time that the machine is up."""
    for code in WRONG[:3]:
        guest.run(f"echo {code} | passcode verify alice --stdin", None)
    configure(guest, "opslimit=1\nmemlimit=64K\nlockout=500:reset\nweak=allow\n")
    for user in range(7):
        guest.run(f"useradd u{user}; echo {RIGHT} | passcode enroll u{user} --stdin")
    guest.run(f"echo {base64.b64encode(GUESSING.encode()).decode()} | base64 -d > /root/guessing")
    answers = dict.fromkeys(range(7), 0)
    end = time.monotonic() + random.uniform(4, 8)
    guest.qemu.send("bash /root/guessing\r")
    while time.monotonic() < end:
        guest.qemu.expect(r"answer (\d) (\d+)\r")
        user, result = int(guest.qemu.match[1]), int(guest.qemu.match[2])
        assert result == (0 if user == 6 else 1)
        answers[user] += 1
    guest.cut()
    guest.start()

    print(f"cut after {answers}")
    assert min(answers.values()) > 0
    for user in GUESSERS:
        assert status(guest, f"u{user}")["failures"] in (answers[user], answers[user] + 1)
        guest.run(f"echo {RIGHT} | passcode verify u{user} --stdin")
        assert status(guest, f"u{user}")["failures"] == 0
    newest = 917341 + 7 * (answers[6] - 1)
    assert any(
        guest.run(f"echo {code} | passcode verify u6 --stdin; echo $?").endswith("0\n")
        for code in (newest, newest + 7)
    )
    configure(guest, COSTS)
    after = status(guest, "alice")
    assert (after["state"], after["failures"]) == ("locked", 3) and after["seconds_left"] > 45
