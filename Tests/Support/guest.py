"""A whole machine in QEMU (its emulator, so no /dev/kvm is needed): a kernel of its own with AppArmor or SELinux, systemd,
polkit, an ext4 disk whose power can be cut, and, if it is asked for, a TPM."""

import re
import shutil
import socket
import subprocess
import time

import pexpect
import pexpect.fdpexpect

import tpm
from debian_machine import MACHINES, Machine, root, sh

PROGRAMS = (
    "adduser apparmor dbus initramfs-tools iproute2 libpam-runtime libpam-systemd libsodium23"
    " linux-image-cloud-amd64 login pamtester passwd pkexec polkitd procps sudo systemd-sysv udev"
    " libtss2-esys-3.0.2-0t64 libtss2-mu-4.0.1-0t64 libtss2-rc0t64"
)

# A root shell without a login on the first serial line, and a login prompt on the second.
SHELL = """[Service]
ExecStart=
ExecStart=-/bin/bash --norc --noprofile -i
Environment=HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
StandardInput=tty
StandardOutput=tty
"""
COMMAND_LINE = "root=/dev/vda rw console=ttyS0 quiet loglevel=1 systemd.show_status=0"


def disk(release, *debs, programs="", files=(), prepare=None, label=None, name=None):
    """An image of a machine with people, on which the packages lie, not installed. Answers with its folder.
    `files`: more of them, {path: text}; a text that begins with "#!" is made executable. `prepare`: what is done on that
    machine, `label`: with its folder, once it is stopped."""
    folder = MACHINES / (name or f"guest-{release}")
    folder.mkdir()
    machine = Machine(root(release, PROGRAMS + programs))
    machine.people()
    etc = machine.path / "etc"
    (etc / "fstab").write_text("/dev/vda / ext4 defaults 0 0\n")
    (etc / "hostname").write_text("machine\n")
    shell = etc / "systemd/system/serial-getty@ttyS0.service.d"
    shell.mkdir()
    (shell / "shell.conf").write_text(SHELL)
    machine.run("usermod", "-aG", "sudo", "alice")  # for polkit an administrator
    machine.run("systemctl", "enable", "serial-getty@ttyS1")
    # A hundred profiles of other programs take their time to load; this one is of a program that the helper starts.
    for path in (etc / "apparmor.d").iterdir():
        if path.is_file() and path.name != "unix-chkpwd":
            path.unlink()
    # Nothing is to be made anew at the first boot.
    for path in (etc, machine.path / "var"):
        (path / ".updated").touch()
    for deb in debs:
        shutil.copy(deb, machine.path / "root")
    for path, text in dict(files).items():
        place = machine.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755 if text.startswith("#!") else 0o644)
    (boot,) = (machine.path / "boot").glob("vmlinuz-*")
    shutil.copy(boot, folder / "kernel")
    (boot,) = (machine.path / "boot").glob("initrd.img-*")
    shutil.copy(boot, folder / "initrd")
    if prepare:
        prepare(machine)
    machine.stop()
    if label:
        label(machine.path)
    image = folder / "disk"
    with image.open("wb") as file:
        file.truncate(2 << 30)
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-d", machine.path, image)
    machine.remove()
    return folder


class TPM:
    """In software, by swtpm: for machines that have none. It keeps its secrets while it is off."""

    def __init__(self):
        # Another root has the program.
        self.machine = Machine(root("trixie", tpm.PROGRAMS + tpm.MORE_PROGRAMS["trixie"]))
        self.state = self.machine.path / "var/tmp/tpm"
        self.process = None

    def start(self):
        """With the machine: it ends with that, too."""
        self.stop()
        self.state.mkdir(exist_ok=True)
        (self.state / "socket").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            ["chroot", self.machine.path, "swtpm", "socket", "--tpm2", "--tpmstate", "dir=/var/tmp/tpm",
             "--ctrl", "type=unixio,path=/var/tmp/tpm/socket"]
        )  # fmt: skip
        while not (self.state / "socket").exists():
            assert self.process.poll() is None
            time.sleep(0.05)

    def clear(self):
        """As the firmware's menu does, or another board."""
        self.stop()
        shutil.rmtree(self.state)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def remove(self):
        self.stop()
        self.machine.remove()

    def options(self):
        """QEMU's."""
        return ["-chardev", f"socket,id=tpm,path={self.state}/socket", "-tpmdev", "emulator,id=tpm0,chardev=tpm",
                "-device", "tpm-tis,tpmdev=tpm0"]  # fmt: skip


class Guest:
    """Started, cut off and started again on the disk of that folder."""

    def __init__(self, folder, tpm=None, security="security=apparmor"):
        self.folder, self.tpm, self.security = folder, tpm, security
        self.start()

    def start(self):
        if self.tpm:
            self.tpm.start()
        line = self.folder / "line"
        line.unlink(missing_ok=True)
        self.qemu = pexpect.spawn(
            "qemu-system-x86_64",
            [
                "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024", "-nodefaults", "-no-reboot",
                "-display", "none", "-kernel", str(self.folder / "kernel"), "-initrd", str(self.folder / "initrd"),
                "-append", f"{COMMAND_LINE} {self.security}", "-drive", f"file={self.folder}/disk,if=virtio,format=raw,cache=writeback",
                "-serial", "stdio", "-serial", f"unix:{line},server=on,wait=off",
                *(self.tpm.options() if self.tpm else []),
            ], encoding="utf-8", codec_errors="replace", timeout=180)  # fmt: skip
        self.qemu.logfile_read = (self.folder / "console").open("a")
        self.shell = Shell(self.qemu)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(line))
        self.line = pexpect.fdpexpect.fdspawn(
            self.socket, encoding="utf-8", codec_errors="replace", timeout=180
        )
        self.line.logfile_read = (self.folder / "terminal").open("a")

    def run(self, command, status=0):
        """As root; checks its exit status unless that is None."""
        text, result = self.shell.run(command)
        assert status is None or result == status, f"{command}: {result}\n{text}"
        return text

    def denials(self):
        """What AppArmor refused or reported since the boot."""
        return re.findall(r'apparmor="(?:DENIED|ALLOWED)".*', self.run("journalctl -q -b --no-pager", None))

    def log_in(self, user, *dialogue):
        """On the second serial line, by getty and login. Answers with that person's shell."""
        self.line.send("\r")
        self.line.expect("login: ")
        self.line.send(f"{user}\r")
        answer(self.line, dialogue)
        return Shell(self.line)

    def power_off(self):
        """In order."""
        self.qemu.send("systemctl poweroff\r")
        self.qemu.expect(pexpect.EOF)
        self.qemu.wait()
        self.socket.close()

    def cut(self):
        """The power goes: what the kernel had not yet written to the disk is lost."""
        self.qemu.kill(9)
        self.qemu.wait()
        self.socket.close()


class Shell:
    """A shell on a serial line: nothing but what its commands print comes back."""

    def __init__(self, line):
        self.line = line
        line.expect(r"[#$] ")
        line.send("bind 'set enable-bracketed-paste off'; stty -echo; PS1='>''> ' PROMPT_COMMAND=\r")
        line.expect(">> ")

    def run(self, command, *dialogue, pause=0.2):
        """(what it printed, its exit status), after these prompts were answered, each this many seconds later: some
        programs forget what was typed before they had turned the echo off."""
        self.line.send(f'{command}; echo "<$?"">"\r')
        before = answer(self.line, dialogue, pause)
        self.line.expect(r"<(\d+)>")
        text, status = before + self.line.before, int(self.line.match[1])
        self.line.expect(">> ")
        return text.replace("\r", ""), status


def answer(line, dialogue, pause=0.2):
    text = ""
    for prompt, reply in dialogue:
        line.expect(prompt)
        text += line.before + line.after
        time.sleep(pause)
        line.send(f"{reply}\r")
    return text
