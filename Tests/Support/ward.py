"""What is between a fleet's workstations and its servers: two certificate authorities, and Debian's stunnel at both ends."""

import pathlib
import shutil
import socket
import subprocess
import threading
import time

import host
from bed import built
from fleet import FOLDER, TREE, UNPACKED, VERIFIER, at_once
from machine import ACCOUNT
from process import listens, wait_for

# Each workstation's socket is in a folder of its own; the one that this machine is has it where passcode-fleet looks.
SOCKETS = FOLDER.with_name("passcode-ward")
PLACE = FOLDER.with_name("passcode-fleet")
SOCKET = PLACE / "verifier.sock"
PROGRAM = pathlib.Path("/usr/libexec/passcode-fleet")
# That the first server was silent, so that the second one is asked first.
NOTE = "/run/passcode/second"
FIRST_PORT = 7470
SAMPLE = TREE / "Sources/system/stunnel/passcode-verifier.conf"
TIMEOUTS = "".join(line for line in SAMPLE.read_text().splitlines(keepends=True) if line.startswith("TIMEOUT"))
STACK = "auth [success=done default=ignore] {module}\nauth required pam_unix.so"
UNAVAILABLE = "AUTHINFO_UNAVAIL"
# Not by LD_LIBRARY_PATH: what stunnel starts would search there, too.
LOADER = ["/lib64/ld-linux-x86-64.so.2", "--library-path", UNPACKED / "usr/lib/x86_64-linux-gnu"]


def install_fleet(owner="root", mode=0o755):
    """passcode-fleet, as the package installs it."""
    PROGRAM.unlink(missing_ok=True)
    shutil.copyfile(built("passcode-fleet"), PROGRAM)
    shutil.chown(PROGRAM, owner, owner)
    PROGRAM.chmod(mode)


def make_folder(path):
    """As passcode-fleet.service has it."""
    path.mkdir(parents=True)
    path.chmod(0o750)
    shutil.chown(path, "root", ACCOUNT)


def at(machine, workstation):
    """Which of the workstations this machine is from now on."""
    leave()
    PLACE.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", SOCKETS / workstation, PLACE], check=True)
    machine.configure(verifier=SOCKET)


def leave():
    """This machine is none of them any more."""
    while subprocess.run(["umount", PLACE], stderr=subprocess.DEVNULL).returncode == 0:
        pass
    if PLACE.exists():
        shutil.rmtree(PLACE)


class Certificates:
    """Of servers by one authority, of workstations by another one."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for authority in ("servers", "workstations"):
            self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                          "-subj", f"/CN={authority}", "-keyout", f"{authority}.key", "-out", f"{authority}.pem")  # fmt: skip
        self.make("server", "servers")
        for name in ("ws1", "ws2", "ws3"):
            self.make(name, "workstations")

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def make(self, name, authority):
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                      "-CAcreateserial", "-days", "2", "-out", f"{name}.pem")  # fmt: skip


class Listener:
    """Starts a verifier for each connection, as systemd does for a socket with Accept=yes: directly, not with nsenter,
    whose time isn't part of a login's cost."""

    def __init__(self, server):
        self.server, self._children, self.lock = server, [], threading.Lock()
        self.before = []  # words before the verifier's
        self.is_silent, self.held = False, []  # then it accepts connections, and no verifier starts
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(server.door / "socket"))
        self.door.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        self.server.enter()
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            if self.is_silent:
                self.held.append(connection)
                continue
            with connection, self.lock:
                self._children.append(subprocess.Popen([*self.before, VERIFIER], stdin=connection, cwd="/"))

    @property
    def children(self):
        """All verifiers that it has started, with each that has answered already."""
        with self.lock:
            return list(self._children)

    def end(self):
        self.door.shutdown(socket.SHUT_RDWR)  # and not closed: the thread may be about to use its number
        for child in self.children:
            child.kill()
            child.wait()


class Ward:
    def __init__(self, fleet):
        self.fleet = fleet
        self.certificates = Certificates(FOLDER / "certificates")
        shutil.rmtree(SOCKETS, ignore_errors=True)
        self.processes = {}
        self.listeners = [Listener(server) for server in fleet.servers]
        for server in fleet.servers:
            self.serve(server)
        for name in ("ws1", "ws2", "ws3"):
            self.connect(name, name)

    def _stunnel(self, name, prefix, text):
        file = FOLDER / f"{name}.conf"
        file.write_text(f"foreground = yes\npid =\nsyslog = no\ndebug = 5\n{text}")
        log = (FOLDER / f"{name}.log").open("w")
        command = [*prefix, *LOADER, UNPACKED / "usr/bin/stunnel4", file]
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def _identity(self, name, authority):
        folder = self.certificates.folder
        return (
            f"cert = {folder}/{name}.pem\nkey = {folder}/{name}.key\nCAfile = {folder}/{authority}.pem\nverifyChain = yes\n"
        )

    def serve(self, server, identity="server"):
        port = FIRST_PORT + server.number
        self._stunnel(
            f"server{server.number}", server.command("prlimit", "--nofile=4096"),  # as in the unit
            f"[passcode]\naccept = 127.0.0.1:{port}\nexec = {VERIFIER}\nexecArgs = passcode-verifier relay\n{TIMEOUTS}"
            + self._identity(identity, "workstations"),
        )  # fmt: skip
        self.fleet.in_net("python3", "-c", f"if True:\n import socket, time\n for _ in range(400):\n"
                          f"  if socket.socket().connect_ex(('127.0.0.1', {port})) == 0: break\n  time.sleep(0.05)\n else: raise SystemExit(1)")  # fmt: skip

    def connect(self, name, identity, first=0):
        """A workstation's end: the socket that its passcode.conf names, and the second one."""
        paths = SOCKETS / name / "verifier.sock", SOCKETS / name / "verifier.sock.2"
        make_folder(paths[0].parent)
        text = "client = yes\nfailover = prio\nTIMEOUTconnect = 1\ncheckHost = server\n" + self._identity(identity, "servers")
        for path, order in zip(paths, ((0, 1, 2), (1, 2, 0)), strict=True):
            servers = "".join(f"connect = 127.0.0.1:{FIRST_PORT + (first + number) % 3}\n" for number in order)
            text += f"[{path.suffix}]\naccept = {path}\n{servers}"
        self._stunnel(name, ["nsenter", f"--net=/proc/{self.fleet.net.pid}/ns/net"], text)
        for path in paths:
            wait_for(lambda path=path: listens(self.processes[name], path))
            shutil.chown(path, "root", ACCOUNT)
            path.chmod(0o660)

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        process.wait()

    def end(self):
        for name in list(self.processes):
            self.stop(name)
        for listener in self.listeners:
            listener.end()
        leave()
        shutil.rmtree(SOCKETS, ignore_errors=True)


def within_five_seconds(login):
    """What it comes to; with a fleet that doesn't answer, it still ends."""
    started = time.monotonic()
    outcome = login()
    assert time.monotonic() - started < 5
    return outcome


def crowds(machine, halves, **how):
    """A crowd of logins at each workstation, both at the same time: each has its own socket in a mount namespace."""
    jobs = []
    for name, logins in zip(("ws1", "ws2"), halves, strict=True):
        script = f'mount --bind {SOCKETS / name} {PLACE} && exec "$@"'
        before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        jobs.append(lambda logins=logins, before=before: host.crowd(machine, logins, before=before, **how))
    return at_once(jobs, 2)


def ask_program(data, before=()):
    """What passcode-fleet answers to these bytes, started by whoever this process is; and its exit status."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen([*before, PROGRAM], stdin=theirs, stderr=subprocess.DEVNULL)
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        ours.settimeout(20)
        try:
            answer = b"".join(iter(lambda: ours.recv(4096), b""))
        except ConnectionResetError:
            answer = b""
    return answer, process.wait(20)
