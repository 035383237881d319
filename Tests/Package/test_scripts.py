"""Programs that no person types into: scripts, Ansible, a screen locker, a mail server's daemon; with the profile."""

import contextlib
import gzip
import re
import subprocess
import textwrap

import pytest

from debian_machine import PASSWORD, RIGHT, WRONG
from dialogue import put_faillock_around, tallied
from process import accepts, wait_for

ONE_RELEASE = pytest.mark.only("trixie")


def lock(machine):
    for code in WRONG[:3]:
        machine.run("passcode", "verify", "alice", "--stdin", input=f"{code}\n", status=1)


# MARK: Scripts


def ansible(secret, method="sudo", user="root"):
    """Ansible runs `id -u`, by the method of its own that becomes somebody else."""
    return [
        "ansible", "localhost", "--connection=local", "--module-name=raw", "--args=id -u", "--become",
        f"--become-method={method}", f"--become-user={user}", "--extra-vars", f"ansible_become_password='{secret}'",
    ]  # fmt: skip


def become(machine, *how, status=0):
    return machine.run(*ansible(*how), user="alice", status=status)


def sudo_asks_once(machine):
    with (machine.path / "etc/sudoers.d/alice").open("a") as file:
        file.write("Defaults:alice passwd_tries=1\n")


def test_ansible(machine):
    """It waits for the prompt that it told sudo to show; from su it takes anything that ends in "password:"."""
    machine.configure(fail_delay="0")
    assert "CHANGED" in (said := become(machine, RIGHT)) and "\n0\n" in said
    lock(machine)
    assert "\n0\n" in become(machine, PASSWORD)
    machine.run("passcode", "unlock", "alice")
    assert "\n0\n" in become(machine, PASSWORD)
    assert "\n1000\n" in become(machine, PASSWORD, "su", "alice")
    assert machine.state()["failures"] == 0


def test_ansible_fails_after_a_wrong_passcode(machine, release):
    """One attempt. Bookworm's needs README.Debian's line for sudo; the next test says why."""
    machine.configure(fail_delay="0")
    if release == "bookworm":
        sudo_asks_once(machine)
    assert become(machine, WRONG[3], status=2)
    assert machine.state()["failures"] == 1
    assert "\n0\n" in become(machine, RIGHT)


def waits(machine, secret):
    """Whether sudo asks again after this secret, and Ansible does not answer. Then ends both."""
    before = refusals(machine)
    running = subprocess.Popen(machine.command(*ansible(secret), user="alice"), stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: refusals(machine) > before and reads_its_input(machine, "sudo"), 60)
        running.wait(timeout=3)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        machine.run("pkill", "-9", "--exact", "ansible|sudo", status=None)
        running.wait(timeout=20)


def refusals(machine):
    return sum(bool(re.search("authentication failure|wrong", line.text)) for line in machine.log.lines())


def reads_its_input(machine, name):
    return any(call.startswith("0 0x0 ") for call in system_calls(machine, name))  # read, of descriptor 0


def system_calls(machine, name):
    """In which each program of that name waits, or "running"."""
    calls = []
    for pid in machine.run("pgrep", "--exact", name, status=None).split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            calls.append((machine.inside / "proc" / pid / "syscall").read_text())
    return calls


@pytest.mark.only("bookworm")
def test_ansible_2_14_waits_for_ever_after_a_wrong_password_too(machine):
    """Without us, too: it gives sudo a pseudo-terminal, answers once, and reads until sudo ends."""
    machine.configure(fail_delay="0")
    assert waits(machine, WRONG[3]) and machine.state()["failures"] == 1
    machine.run("pam-auth-update", "--disable", "passcode")
    assert waits(machine, "not the password")


ASKPASS = '#!/bin/sh\necho "$1" >> /tmp/asked\ncat /tmp/answer\n'


@pytest.mark.parametrize("secret", [PASSWORD, RIGHT])
def test_sudo_a_shows_its_program_what_the_prompt_says(machine, secret):
    """Also while the passcode is locked: then it takes the password alone, and from sudo -S, too."""
    machine.configure(fail_delay="0")
    (machine.path / "tmp/askpass").write_text(ASKPASS)
    (machine.path / "tmp/askpass").chmod(0o755)
    (machine.path / "tmp/answer").write_text(f"{secret}\n")

    def asked(status):
        machine.run("env", "SUDO_ASKPASS=/tmp/askpass", "sudo", "-A", "id", "-u", user="alice", status=status)
        told = (machine.path / "tmp/asked").read_text().splitlines()
        (machine.path / "tmp/asked").unlink()
        return told

    assert asked(0) == ["Passcode or password: "]
    lock(machine)
    status = 0 if secret == PASSWORD else 1
    told = asked(status)
    assert len(told) == (1 if secret == PASSWORD else 3)
    for prompt in told:
        assert re.fullmatch(r"Passcode locked \(\d+ \w+ left to unlock\)\. Password: ", prompt)
    machine.run("sudo", "-S", "id", "-u", user="alice", input=f"{secret}\n", status=status)


@ONE_RELEASE
@pytest.mark.parametrize("lines", [[PASSWORD], [RIGHT], [WRONG[0], RIGHT], [WRONG[0], PASSWORD]], ids=str)
def test_sudo_rs_reads_its_standard_input(machine, lines):
    machine.configure(fail_delay="0")
    (machine.path / "etc/sudoers-rs").write_text("alice ALL=(ALL:ALL) ALL\n")
    said = machine.run("sudo-rs", "-S", "id", "-u", user="alice", input="".join(f"{line}\n" for line in lines))
    prompts = re.findall(r"Passcode (?:\(2 attempts left\) )?or password: ", said)
    assert said.endswith("\n0\n") and len(prompts) == len(lines)
    assert "Password: " not in said


SCRIPT = """log_user 0
spawn setpriv --reuid=alice --regid=alice --init-groups su alice -c "id -un"
expect "assword: " { send "$env(SECRET)\\r" }
expect "alice" { puts "let in" }
"""


@pytest.mark.parametrize("secret", [PASSWORD, RIGHT])
def test_su_in_a_script_of_expect_s(machine, secret):
    assert machine.run("env", f"SECRET={secret}", "expect", "-c", SCRIPT) == "let in\n"


def test_programs_show_their_own_prompt_if_ours_is_the_password_s(machine):
    """What a script must wait for, if it can't wait for another text."""
    machine.configure(prompt="Password:")
    (machine.path / "etc/doas.conf").write_text("permit alice\n")
    own = {"sudo": r"^\[sudo\] password for alice: ", "doas": r"^\r?doas \(alice@machine\) password: "}
    for command, prompt in own.items():
        for typed in (RIGHT, PASSWORD):
            child = machine.terminal(command, "id", "-u")
            child.expect(prompt)
            assert child.waitnoecho(timeout=20)
            child.send(f"{typed}\r")
            child.expect("\n0\r\n")


# MARK: A screen locker


class Screen:
    """swaylock in a headless sway of alice's."""

    def __init__(self, machine):
        self.machine, self.folder = machine, "/home/alice/run"
        machine.run("mkdir", "-m", "0700", self.folder, user="alice")
        self.log = machine.path / self.folder[1:] / "log"
        self.sway = self.start("sway", "--debug", "--config", "/dev/null")
        wait_for(lambda: accepts(machine.inside / self.folder[1:] / "wayland-1"))

    def start(self, *command):
        script = f'exec "$@" >>{self.folder}/log 2>&1'
        return subprocess.Popen(self.command("sh", "-c", script, "sh", *command))

    def command(self, *command):
        return self.machine.command(
            "env", f"XDG_RUNTIME_DIR={self.folder}", "WAYLAND_DISPLAY=wayland-1", "WLR_BACKENDS=headless",
            "WLR_RENDERER=pixman", "LIBSEAT_BACKEND=noop", *command, user="alice",
        )  # fmt: skip

    def count(self, text):
        return self.log.read_text().count(text)

    def lock(self):
        before = self.count("session locked")
        self.locker = self.start("env", "WAYLAND_DEBUG=client", "swaylock", "--debug")
        wait_for(lambda: self.count("session locked") > before)

    def keyboards(self):
        """How often the locker was told that it has the keyboard."""
        return len(re.findall(r"wl_keyboard[@#]\d+\.enter\(", self.log.read_text()))

    def type(self, text):
        """The seat has a keyboard only while wtype runs, and the locker has to notice it."""
        before = self.keyboards()
        with subprocess.Popen(self.command("wtype", "-"), stdin=subprocess.PIPE, text=True) as program:
            wait_for(lambda: self.keyboards() > before)
            program.communicate(f"{text}\n")
        assert program.returncode == 0

    def is_refused(self, text):
        """The locker stays, and says that PAM said no. It ignores keys until its first process has heard of it, too."""
        before = self.count("pam_authenticate failed")
        self.type(text)
        wait_for(lambda: self.count("pam_authenticate failed") > before)
        wait_for(lambda: not any(call.startswith("running") for call in system_calls(self.machine, "swaylock")))
        return self.locker.poll() is None

    def opens(self, text):
        self.type(text)
        return self.locker.wait(20) == 0

    def close(self):
        self.machine.run("pkill", "-9", "sway", status=None)
        self.sway.wait()


@ONE_RELEASE
def test_swaylock(machine):
    """It answers every prompt with the same text: none may come after a wrong passcode."""
    machine.configure(fail_delay="0")
    put_faillock_around(machine)
    screen = Screen(machine)
    try:
        screen.lock()
        assert screen.is_refused(WRONG[0]) and machine.state()["failures"] == 1
        assert screen.opens(RIGHT) and machine.state()["failures"] == 0
        screen.lock()
        for code in WRONG[1:4]:
            assert screen.is_refused(code)
        assert machine.state()["state"] == "locked"
        assert not any("pam_unix(swaylock:auth)" in line.text for line in machine.log.lines())
        assert tallied(machine) == []
        assert screen.opens(PASSWORD)
        machine.run("passcode", "unlock", "alice")
        screen.lock()
        assert screen.is_refused("") and screen.opens(PASSWORD)
        assert machine.state()["failures"] == 0
    finally:
        screen.close()


# MARK: Without a terminal


def test_mail_is_no_place_for_passcodes(machine):
    """saslauthd tells PAM nothing, and its service has no file: "other" asks as everything does."""
    machine.configure(fail_delay="0")
    machine.run("saslauthd", "-a", "pam", "-n", "1", "-m", "/run/saslauthd")
    wait_for(lambda: accepts(machine.inside / "run/saslauthd/mux"))  # it goes to the background before that

    def mail(secret, status):
        command = ["testsaslauthd", "-f", "/run/saslauthd/mux", "-u", "alice", "-p", secret, "-s", "smtp"]
        machine.run(*command, status=status)

    mail(PASSWORD, 0)
    for code in (RIGHT, WRONG[0]):
        mail(code, 255)
    assert machine.state()["failures"] == 0 and machine.state()["last_success"] is None
    assert any("remote login user=alice service=smtp" in line.text for line in machine.log.lines())
    # What README.Debian says to write.
    readme = gzip.decompress((machine.path / "usr/share/doc/libpam-passcode/README.Debian.gz").read_bytes()).decode()
    [stack] = re.findall(r"For /etc/pam.d/smtp:\n\n(.*?)\n\n", readme, re.DOTALL)
    (machine.path / "etc/pam.d/smtp").write_text(textwrap.dedent(stack) + "\n")
    for secret in (RIGHT, PASSWORD):
        mail(secret, 0)
