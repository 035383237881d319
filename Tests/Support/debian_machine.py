"""Debian machines to throw away: a fresh root of a release, an overlay on it, namespaces and no network."""

import ctypes
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pexpect

from journal import Journal
from process import end_child, sh, wait_for
from scenario import PASSWORD
from shared import locked

TREE = pathlib.Path(__file__).parents[2]
DEV = TREE / "Tests/Support/dev.sh"
MACHINES = TREE / ".build/machines"
ROOTS = pathlib.Path(os.environ.get("PASSCODE_ROOTS", MACHINES / "roots"))

# What the tests use there besides the package: programs that ask PAM, and what drives them.
PROGRAMS = (
    "adduser ansible-core apparmor apt bash-completion dbus expect fprintd i3lock iproute2 libpam-runtime libsodium23 login"
    " nftables opendoas openssh-client openssh-server pamtester passwd pkexec polkitd procps sasl2-bin stunnel4 sudo"
    " util-linux xdotool xvfb"
)
# What only one release has, or where one is enough.
MORE_PROGRAMS = {"trixie": " sudo-rs sway swaylock wtype"}

LIBC = ctypes.CDLL(None, use_errno=True)  # not loaded in a child: another thread may have held the loader's lock

RIGHT, OTHER = "640297", "917340"
WRONG = "918273", "605142", "281709", "730951"

BOOT = """set -e
root=$1
source "$2"
hostname machine
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mkdir -p "$root/run/sshd" "$root/run/lock"
make_dev "$root/dev" /dev/pts
chroot "$root" ip link set lo up
echo 127.0.0.1 localhost machine > "$root/etc/hosts"
echo up
exec chroot "$root" /bin/sleep infinity
"""


def sources(suite, folder):
    """In this folder: this machine's apt sources, for another release: its mirrors, its keys."""
    release = dict(
        line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if line
    )
    here = release["VERSION_CODENAME"].strip('"')
    folder.mkdir()
    apt = pathlib.Path("/etc/apt")
    paths = apt / "sources.list", *apt.glob("sources.list.d/*.list"), *apt.glob("sources.list.d/*.sources")
    texts = {path.name: path.read_text() for path in paths if path.exists()}
    if suite == "sid":  # has no updates, no security, and nothing of third parties
        lines = [line for text in texts.values() for line in text.splitlines() if not line.startswith("#")]
        mirror = re.search(r"\w+://\S+/debian(?=[/\s])", "\n".join(lines))[0]
        key = "/usr/share/keyrings/debian-archive-keyring.gpg"
        texts = {"sid.list": f"deb [signed-by={key}] {mirror} sid main\n"}
    for name, text in texts.items():
        (folder / name).write_text(text.replace(here, suite))
    return list(folder.iterdir())


def root(suite, programs=None, *options):
    """A fresh root with these programs, made once; with these options of mmdebstrap."""
    programs = programs or PROGRAMS + MORE_PROGRAMS.get(suite, "")
    kind = "\n".join((programs, *options))
    path = ROOTS / f"{suite}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"
    with locked(ROOTS / f"{path.name}.lock"):
        if not path.exists():
            with tempfile.TemporaryDirectory(prefix=f"{path.name}-", dir=ROOTS) as unfinished:
                make_root(suite, programs, pathlib.Path(unfinished), options)
                (pathlib.Path(unfinished) / "root").rename(path)
    return path


def make_root(suite, programs, folder, options):
    """After the package's build, for which others wait, too."""
    folder.chmod(0o755)
    sh(
        "nice", "-n", "10", "mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(programs.split())}",
        "--aptopt=Acquire::Check-Valid-Until false", *options, suite, folder / "root", *sources(suite, folder / "sources"),
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Content:
    """That of a file in a layer below a machine, which stays as it is."""

    path: pathlib.Path

    def __eq__(self, other):
        if isinstance(other, Content):
            return self.path == other.path or self.path.read_bytes() == other.path.read_bytes()
        return self.path.read_bytes() == other


class Machine:
    """A machine of its own: started, restarted and thrown away. Its files lie under `path`."""

    numbers = itertools.count(1)
    boot = BOOT
    network = ""  # of BOOT in container.py: what makes its network
    before = None  # in the process that becomes its first one; where there is nothing, no Python runs after a fork
    namespaces = ("mount", "pid", "net", "uts", "ipc")

    def __init__(self, *lower):
        self.top = MACHINES / str(next(Machine.numbers))
        self.path = self.top / "root"
        for name in ("upper", "work", "root"):
            (self.top / name).mkdir(parents=True)
        self.lower, self.terminals = lower, []
        layers = ":".join(str(path) for path in lower)
        sh("mount", "-t", "overlay", "overlay", "-o",
           f"lowerdir={layers},upperdir={self.top}/upper,workdir={self.top}/work", self.path)  # fmt: skip
        self.start()

    def start(self):
        self.keeper = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "unshare", *(f"--{name}" for name in self.namespaces), "--fork", "--kill-child",
             "--", "bash", "-c", self.boot, "boot", str(self.path), str(DEV), self.network],
            stdout=subprocess.PIPE, text=True, preexec_fn=self.before)  # fmt: skip
        assert self.keeper.stdout.readline() == "up\n"
        children = pathlib.Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children")
        self.pid = children.read_text().split()[0]
        self.inside = pathlib.Path(f"/proc/{self.pid}/root")
        while os.path.samefile(self.inside, "/"):  # not yet there
            time.sleep(0.001)
        self.ready()

    def ready(self):
        """It has a root."""
        self.log = Journal(self.inside / "dev/log")

    def stop(self):
        """All processes die at once, and what was in /run is gone: as when the power is cut."""
        for terminal in self.terminals:
            end_child(terminal)
        self.keeper.kill()
        self.keeper.wait()
        while is_running(self.pid):
            time.sleep(0.01)

    def restart(self, boot_id="11111111-2222-4333-8444-555555555555\n"):
        """A boot of the same disk: the kernel is the same, so the boot's id is put over its own."""
        self.stop()
        self.start()
        (self.inside / "run/boot_id").write_text(boot_id)
        self.run("mount", "--bind", "/run/boot_id", "/proc/sys/kernel/random/boot_id")

    def remove(self):
        self.stop()
        sh("umount", "--lazy", self.path)
        shutil.rmtree(self.top)

    def copy(self):
        """Another machine with the disk of this one, which is stopped for good."""
        self.stop()
        sh("umount", "--lazy", self.path)
        return lambda: Machine(self.top / "upper", *self.lower)

    # MARK: Commands

    def command(self, *command, user="root"):
        """How to run it there, as that person, in no environment of ours."""
        return [
            "nsenter", f"--target={self.pid}", "--mount", "--pid", "--net", "--uts", "--ipc", "--root",
            *self.person(*command, user=user),
        ]  # fmt: skip

    def person(self, *command, user):
        who = () if user == "root" else ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups")
        home = "/root" if user == "root" else f"/home/{user}"
        return [
            "/usr/bin/env", "--chdir=/", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            f"HOME={home}", f"USER={user}", "LANG=C.UTF-8", "TERM=dumb", "DEBIAN_FRONTEND=noninteractive", *who,
            *[str(part) for part in command],
        ]  # fmt: skip

    def run(self, *command, user="root", input="", status=0, timeout=120):
        """Runs it, and checks its exit status unless that is None."""
        done = subprocess.run(
            self.command(*command, user=user), input=input, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=timeout,
        )  # fmt: skip
        assert status is None or done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def terminal(self, *command, user="alice"):
        """On a terminal of its own, whose first process it is: login hangs it up. So, without nsenter."""
        enter(self.pid, "pid")
        try:
            command = self.person(*command, user=user)
            self.terminals.append(
                pexpect.spawn(command[0], command[1:], preexec_fn=self.enter, encoding="utf-8", timeout=20)
            )
        finally:
            enter(os.getpid(), "pid")
        return self.terminals[-1]

    def enter(self):
        root = os.open(self.inside, os.O_PATH)
        for namespace in ("mnt", "net", "uts", "ipc"):
            enter(self.pid, namespace)
        os.fchdir(root)
        os.chroot(".")

    # MARK: The package

    def install(self, *debs):
        """As an administrator does; nothing else has to be fetched."""
        for deb in debs:
            shutil.copy(deb, self.path / "tmp")
        return self.run(
            "apt-get", "install", "-q", "-y", "--allow-downgrades", "--reinstall", *(f"/tmp/{deb.name}" for deb in debs)
        )

    def people(self):
        for name in ("alice", "bob"):
            self.run("useradd", "--create-home", "--shell", "/bin/bash", name)
            self.run("chpasswd", input=f"{name}:{PASSWORD}\n")
        (self.path / "etc/sudoers.d/alice").write_text(
            "Defaults timestamp_timeout=0, !lecture\nalice ALL=(ALL) ALL\n"
        )

    def enable(self):
        self.run("pam-auth-update", "--enable", "passcode")

    def enroll(self, user="alice", code=RIGHT):
        self.run("passcode", "enroll", user, "--stdin", input=f"{code}\n")

    def configure(self, **options):
        path = self.path / "etc/security/passcode.conf"
        path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))

    def state(self, user="alice"):
        return json.loads(self.run("passcode", "status", user, "--json", status=None))

    # MARK: What is there

    def snapshot(self, *folders):
        """{path: what it is} of everything below."""
        return {
            str(path.relative_to(self.path)): self.describe(path)
            for folder in folders
            for path in [self.path / folder, *(self.path / folder).rglob("*")]
            if os.path.lexists(path)
        }

    def describe(self, path):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else self.content(path) if path.is_file() else None
        return (oct(status.st_mode), status.st_uid, status.st_gid, content)

    def content(self, path):
        """Of what this machine hasn't written it is read later, if at all: the layers below stay as they are."""
        place = path.relative_to(self.path)
        if not os.path.lexists(self.top / "upper" / place):
            for layer in self.lower:
                if os.path.lexists(layer / place):
                    return Content(layer / place)
        return path.read_bytes()

    def stacks_name_missing_modules(self):
        """The lines of PAM's files that name a module of ours where there is none."""
        if list(self.path.glob("usr/lib/*/security/pam_passcode.so")):
            return []
        return [
            f"{path.name}: {line}"
            for path in (self.path / "etc/pam.d").iterdir()
            for line in path.read_text().splitlines()
            if "pam_passcode.so" in line
        ]


def enter(pid, namespace):
    """This process; of "pid", only the processes that it makes."""
    with open(f"/proc/{pid}/ns/{namespace}") as file:
        assert LIBC.setns(file.fileno(), 0) == 0, os.strerror(ctypes.get_errno())


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before it was opened, or after
        return False


def prompted(child, *dialogue):
    """Answers these prompts, in this order, each without echo."""
    for prompt, answer in dialogue:
        child.expect(prompt)
        assert child.waitnoecho(timeout=20)
        child.send(answer + "\r")


def finished(child):
    """What it said to its end, and its exit status."""
    child.expect(pexpect.EOF)
    return child.before, exit_status(child)


def exit_status(child):
    """Of a program that has said all. It may close its terminal a little before it ends, and is hung up by `close`."""
    wait_for(lambda: not child.isalive())
    child.close()
    return child.exitstatus
