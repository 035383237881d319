"""A fleet: three members of Debian's own etcd, and three servers with passcode-verifier, in a private network namespace.
Each server has a mount namespace of its own, with its own files in /etc/passcode and /var/lib/passcode-verifier."""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import helper
from bed import TOOL, built
from machine import ACCOUNT, CONFIGURATION
from process import make_urgent, wait_for
from shared import locked

TREE = pathlib.Path(__file__).parents[2]
UNPACKED = TREE / ".build/fleet/root"
PACKAGES = [
    "etcd-server", "etcd-client", "stunnel4", "libwrap0",
    "nftables", "libnftables1", "libnftnl11", "libjansson4", "libedit2", "libbsd0", "libmd0",
]  # fmt: skip
VERIFIER = built("passcode-verifier")
FOLDER = pathlib.Path("/run/passcode-etcd")
STATE, DOOR = "/var/lib/passcode-verifier", "/run/passcode-verifier"
LOOK, VERIFY, STATUS, CHANGE, ENROLL_BY_CODE = 1, 2, 3, 4, 9
NOBODY = 0xFFFFFFFF
GRANTED, WRONG, WRONG_AND_LOCKED, LOCKED, EXHAUSTED, DISABLED, NOT_ENROLLED, FORBIDDEN, UNAVAILABLE = (
    1, 2, 3, 5, 6, 7, 8, 9, 11,
)  # fmt: skip
OPEN, STATUS_REPLY, DONE, REFUSED, NO_CODE, STATION_LOCKED = 16, 17, 18, 21, 27, 28
# Where the package has passcode-verifier.
INSTALLED = pathlib.Path("/usr/sbin/passcode-verifier")
WARD = ["CN=ws1", "CN=ws2"]
# The key of a delay of alice's in etcd.
WAIT = "/passcode/1/u/" + b"alice".hex() + "/wait"
# etcd's own accounts, as the package's page makes them.
ETCD_ACCOUNTS = (
    "user add root:once", "user grant-role root root", "user add passcode:twice", "role add passcode",
    "role grant-permission passcode readwrite --prefix=true /passcode/", "user grant-role passcode passcode", "auth enable",
)  # fmt: skip
CLONE_FS = 0x200


def fetch():
    """Downloads Debian's packages of this release, and unpacks them, once; another run may be doing so."""
    with locked(UNPACKED.with_name("lock")):
        if not (UNPACKED / "usr/sbin/nft").is_file():
            unpack()


def unpack():
    shutil.rmtree(UNPACKED, ignore_errors=True)
    unfinished = UNPACKED.parent / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    unpack_packages(unfinished, PACKAGES)
    (unfinished / "root").rename(UNPACKED)
    shutil.rmtree(unfinished)


def unpack_packages(folder, packages):
    """Downloads packages of this release into a folder, and unpacks them below its "root"."""
    apt = ["apt-get", "-q", "-o", "APT::Sandbox::User=root"]
    with (folder / "apt.log").open("w") as log:
        download = [*apt, "download", *packages]
        if subprocess.run(download, cwd=folder, stdout=log, stderr=log).returncode != 0:
            subprocess.run([*apt, "update"], check=True, stdout=log, stderr=log)
            subprocess.run(download, cwd=folder, check=True, stdout=log, stderr=log)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder / "root"], check=True)


@contextlib.contextmanager
def refusing_weak():
    """The servers refuse weak choices, as without the tests' own configuration."""
    before = CONFIGURATION.read_text()
    lines = [line for line in before.splitlines() if not line.startswith("weak=")]
    CONFIGURATION.write_text("\n".join([*lines, "weak=refuse", ""]))
    yield
    CONFIGURATION.write_text(before)


class Holder:
    """A process that keeps a namespace."""

    def __init__(self, prefix, script):
        command = [*prefix, "sh", "-c", f"{script}; echo ready; exec sleep infinity"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        # `nsenter` and `unshare` replace themselves by the shell, and that by sleep.
        self.pid = self.process.pid

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def request(operation, account, *, uid=NOBODY, name="CN=ws1", **secrets):
    """What a verifier gets: the relay's head, the account, a helper's request (FleetMessage.swift)."""
    account = account.encode() if isinstance(account, str) else account
    relay = struct.pack("<BH", 3, len(name)) + name.encode()
    return relay + bytes([2, len(account)]) + account + helper.request(operation, uid, service="sudo", **secrets)


def decode(answer):
    """The reply, or None where it isn't a whole one."""
    answer = answer.lstrip(b"\0")
    if not answer.endswith((b"\4", b"\5")):
        return None
    return helper.reply(answer[:-1])


def says_not_listed(reply):
    """Whether a reply is the fault of a workstation that isn't on the list (`Fault.Reason.notListed`)."""
    return reply.kind == UNAVAILABLE and reply.text.startswith(b"%02x" % 69) and reply.text.endswith(b"/etc/passcode/workstations")


class Server:
    def __init__(self, fleet, number):
        self.fleet, self.number = fleet, number
        self.folder = FOLDER / f"server{number}"
        self.files, self.state, self.door = (self.folder / name for name in ("etc", "state", "run"))
        for folder in (self.files, self.state, self.door):
            folder.mkdir(parents=True)
        self.state.chmod(0o700)
        shutil.chown(self.state, ACCOUNT, ACCOUNT)
        (self.folder / "hostname").write_text(f"server{number}\n")
        places = {
            self.files: "/etc/passcode", self.state: STATE, self.door: DOOR,
            self.folder / "hostname": "/proc/sys/kernel/hostname",
        }  # fmt: skip
        script = " && ".join(f"mount --bind {own} {place}" for own, place in places.items())
        self.holder = Holder(
            [*fleet.inside(number), "unshare", "--mount", "--propagation", "private"], script
        )
        self.write("verifier.conf", f"fleet=ward-7\netcd={fleet.client(number)}\netcd_user=passcode\nlockout={fleet.lockout}\n")
        self.set_password("twice")
        self.write("workstations", "".join(name + "\n" for name in WARD))

    def write(self, name, text):
        path = self.files / name
        path.write_text(text)
        path.chmod(0o644)

    def set_password(self, password):
        """Of its account in etcd."""
        self.write("verifier.password", password + "\n")
        shutil.chown(self.files / "verifier.password", "root", ACCOUNT)
        (self.files / "verifier.password").chmod(0o440)

    def command(self, *words):
        namespaces = [f"--{kind}=/proc/{self.holder.pid}/ns/{name}" for kind, name in (("net", "net"), ("mount", "mnt"))]
        return ["nsenter", *namespaces, *(str(word) for word in words)]

    def enter(self):
        """From now on this thread, and what it starts, is on this server."""
        libc = ctypes.CDLL(None, use_errno=True)
        kinds = [os.open(f"/proc/{self.holder.pid}/ns/{name}", os.O_RDONLY) for name in ("net", "mnt")]
        # A thread can't enter a mount namespace while it shares its root and working directory with others.
        calls = [libc.unshare(CLONE_FS), *(libc.setns(kind, 0) for kind in kinds)]
        assert calls == [0, 0, 0], os.strerror(ctypes.get_errno())
        for kind in kinds:
            os.close(kind)

    def run(self, *words, check=0, **how):
        done = subprocess.run(self.command(VERIFIER, *words), capture_output=True, text=True, timeout=60, **how)
        assert check is None or done.returncode == check, (words, done)
        return done

    def install(self, program=VERIFIER, mode="0755"):
        """Puts it where the tool looks for it, on this server alone."""
        cover = self.folder / "sbin"
        if not cover.is_dir():
            for name in ("upper", "work"):
                (cover / name).mkdir(parents=True)
            layers = f"lowerdir=/usr/sbin,upperdir={cover}/upper,workdir={cover}/work"
            subprocess.run(self.command("mount", "-t", "overlay", "-o", layers, "overlay", "/usr/sbin"), check=True)
        subprocess.run(self.command("install", "-m", mode, program, INSTALLED), check=True)

    def tool(self, *words, check=0, **how):
        """`passcode server …`."""
        command = self.command(TOOL, "server", *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **how)
        assert check is None or done.returncode == check, (words, done)
        return done

    def invite(self, account, *words):
        """A one-time code."""
        return self.run("invite", account, *words).stdout.removesuffix("\n")

    def enroll(self, account, code):
        self.run("enroll", account, "--stdin", input=code + "\n")

    def start(self, data):
        """A verifier with this request: the process, and our end."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(self.command(VERIFIER), stdin=theirs, cwd="/")
        ours.sendall(data)
        return process, ours

    def converse(self, data, seconds=30):
        """The answer as it came."""
        process, ours = self.start(data)
        with ours:
            ours.shutdown(socket.SHUT_WR)  # after a look there is no attempt to wait for
            ours.settimeout(seconds)
            try:
                answer = b"".join(iter(lambda: ours.recv(4096), b""))
            except ConnectionResetError:
                answer = b""
        process.wait(seconds)
        return answer

    def ask(self, operation, account, **how):
        return decode(self.converse(request(operation, account, **how)))

    def verify(self, code, account="alice", **how):
        return self.ask(VERIFY, account, passcode=code, **how)

    def status(self, account="alice"):
        """The reply, as soon as this server's etcd answers; the last one if it doesn't."""
        reply, end = None, time.monotonic() + 20
        while (reply is None or reply.kind == UNAVAILABLE) and time.monotonic() < end:
            reply = self.ask(STATUS, account)
        return reply

    def failures(self, account="alice"):
        reply = self.status(account)
        assert reply and reply.kind != UNAVAILABLE, reply
        return reply.numbers[1]

    def end(self):
        self.holder.end()


class Fleet:
    credentials = ()

    def __init__(self, lockout="3:1m,5:5m,7:15m,9:1h,10:8h"):
        fetch()
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(mode=0o755)
        self.lockout = lockout
        for path in ("/etc/passcode", STATE, DOOR):
            pathlib.Path(path).mkdir(exist_ok=True)
        self.net = Holder(["unshare", "--net"], "ip link set lo up")
        self.make_networks()
        self.data = {number: FOLDER / f"data{number}" for number in range(3)}
        self.members = [self.start_member(number) for number in range(3)]
        self.servers = []
        self.servers = [Server(self, number) for number in range(3)]
        wait_for(lambda: self.leader() is not None, 30)
        for words in ETCD_ACCOUNTS:
            self.etcdctl(0, *words.split())
        self.credentials = ["--user=root:once"]
        self.servers[0].run("init")
        for server in self.servers[1:]:
            shutil.copy2(self.servers[0].files / "fleet.key", server.files / "fleet.key")
            shutil.chown(server.files / "fleet.key", "root", ACCOUNT)
        for server in self.servers:
            server.run("seen")

    def make_networks(self):
        """All members and servers share one."""

    def inside(self, _number):
        """Before a command in the network of this member and its server."""
        return ["nsenter", f"--net=/proc/{self.net.pid}/ns/net"]

    def client(self, number):
        """The port of 127.0.0.1 at which a member answers its server."""
        return 2379 + 10 * number

    def peer(self, number):
        """Where a member answers the others."""
        return f"http://127.0.0.1:{2380 + 10 * number}"

    def in_net(self, *words, **how):
        command = ["nsenter", f"--net=/proc/{self.net.pid}/ns/net", *(str(word) for word in words)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **how).stdout

    def start_member(self, number, state="new", *words):
        client, peer = f"http://127.0.0.1:{self.client(number)}", self.peer(number)
        cluster = ",".join(f"m{other}={self.peer(other)}" for other in range(3))
        log = (FOLDER / f"etcd{number}.log").open("a")
        command = [
            *self.inside(number), UNPACKED / "usr/bin/etcd", "--name", f"m{number}",
            "--data-dir", self.data[number], "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
            "--initial-cluster-state", state, "--initial-cluster-token", "ward-7",
            "--bcrypt-cost=4",  # each etcdctl costs one, of 70 ms by default, and of seconds on a busy machine
            *words,
        ]  # fmt: skip
        # A verifier waits 2 s for it, and the members 1 s for each other.
        return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=make_urgent)

    def etcdctl_words(self, number):
        endpoint = f"--endpoints=http://127.0.0.1:{self.client(number)}"
        # etcdctl of Debian 12 speaks the second API unless it is told otherwise.
        return [*self.inside(number), "env", "ETCDCTL_API=3", str(UNPACKED / "usr/bin/etcdctl"), endpoint]

    def etcdctl(self, number, *words, **how):
        # Anybody may ask for the status, which is asked often. Where nothing says otherwise, only a failure takes so long.
        credentials = [] if "endpoint" in words else ["--command-timeout=30s", *self.credentials]
        command = [*self.etcdctl_words(number), *credentials, *(str(word) for word in words)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **how).stdout

    def start_anew(self, *words):
        """All members, with these words."""
        for member in self.members:
            member.kill()
            member.wait()
        self.members = [self.start_member(number, "existing", *words) for number in range(3)]
        wait_for(lambda: self.leader() is not None, 30)

    def restart(self):
        """All members run, and all servers answer."""
        for number, member in enumerate(self.members):
            member.send_signal(signal.SIGCONT)
            if member.poll() is not None:
                self.members[number] = self.start_member(number, "existing")
        wait_for(lambda: self.leader() is not None, 30)
        for server in self.servers:
            wait_for(lambda server=server: server.ask(LOOK, "nobody").kind == NOT_ENROLLED, 30)

    def heal(self):
        """The same, and everything is forgotten but the servers' files."""
        self.restart()
        self.etcdctl(0, "del", "--prefix", "/passcode/")

    def knows(self, revision):
        """Whether this revision is still in etcd's history."""
        command = [*self.etcdctl_words(0), *self.credentials, "get", "x", f"--rev={revision}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 or "has been compacted" in done.stderr, done.stderr
        return done.returncode == 0

    def leader(self, without=()):
        """Its number; None where nobody knows one who is asked."""
        limits = ["--command-timeout=1s", "--dial-timeout=1s"] if without else []
        for number, member in enumerate(self.members):
            if member.poll() is not None or number in without:
                continue
            try:
                [status] = json.loads(self.etcdctl(number, *limits, "endpoint", "status", "--write-out=json"))
            except (subprocess.CalledProcessError, ValueError):
                continue
            if status["Status"].get("leader") and status["Status"]["leader"] == status["Status"]["header"]["member_id"]:
                return number
        return None

    def end(self):
        for server in self.servers:
            server.end()
        for member in self.members:
            member.send_signal(signal.SIGCONT)
            member.kill()
            member.wait()
        self.net.end()
        for path in ("/etc/passcode", STATE, DOOR):
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(FOLDER, ignore_errors=True)


def left(fleet, key):
    """Seconds of its lease; nothing where it isn't there."""
    [pair] = json.loads(fleet.etcdctl(0, "get", key, "--write-out=json"))["kvs"]
    answer = fleet.etcdctl(0, "lease", "timetolive", f"{pair['lease']:x}", "--write-out=json")
    return json.loads(answer)["ttl"]


def at_once(jobs, width=8):
    """The results of functions that are run in so many threads, in their order; where one fails, this does, too."""
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        return list(pool.map(lambda job: job(), jobs))
