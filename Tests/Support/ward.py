"""What is between a fleet's workstations and its servers: two certificate authorities, and Debian's stunnel at both ends."""

import os
import shutil
import socket
import subprocess
import threading

from fleet import FOLDER, UNPACKED, VERIFIER
from machine import ACCOUNT
from process import wait_for

SOCKETS = FOLDER.with_name("passcode-ward")
FIRST_PORT = 7470
LIBRARIES = {**os.environ, "LD_LIBRARY_PATH": str(UNPACKED / "usr/lib/x86_64-linux-gnu")}


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
    """Starts a verifier for each connection, as systemd does for a socket with Accept=yes."""

    def __init__(self, server):
        self.server, self.children = server, []
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(server.door / "socket"))
        self.door.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            with connection:
                self.children.append(subprocess.Popen(self.server.command(VERIFIER), stdin=connection, cwd="/"))

    def end(self):
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()
        for child in self.children:
            child.kill()
            child.wait()


class Ward:
    def __init__(self, fleet):
        self.fleet = fleet
        self.certificates = Certificates(FOLDER / "certificates")
        shutil.rmtree(SOCKETS, ignore_errors=True)
        SOCKETS.mkdir()
        SOCKETS.chmod(0o750)
        shutil.chown(SOCKETS, "root", ACCOUNT)
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
        command = [*prefix, UNPACKED / "usr/bin/stunnel4", file]
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env=LIBRARIES)

    def _identity(self, name, authority):
        folder = self.certificates.folder
        return (
            f"cert = {folder}/{name}.pem\nkey = {folder}/{name}.key\nCAfile = {folder}/{authority}.pem\nverifyChain = yes\n"
        )

    def serve(self, server, identity="server"):
        port = FIRST_PORT + server.number
        self._stunnel(
            f"server{server.number}", server.command(),
            f"[passcode]\naccept = 127.0.0.1:{port}\nexec = {VERIFIER}\nexecArgs = passcode-verifier relay\n"
            + self._identity(identity, "workstations"),
        )  # fmt: skip
        self.fleet.in_net("python3", "-c", f"if True:\n import socket, time\n for _ in range(400):\n"
                          f"  if socket.socket().connect_ex(('127.0.0.1', {port})) == 0: break\n  time.sleep(0.05)\n else: raise SystemExit(1)")  # fmt: skip

    def connect(self, name, identity):
        """A workstation's end: the socket that its passcode.conf names."""
        path = SOCKETS / f"{name}.sock"
        servers = "".join(f"connect = 127.0.0.1:{FIRST_PORT + number}\n" for number in range(3))
        self._stunnel(
            name, ["nsenter", f"--net=/proc/{self.fleet.net.pid}/ns/net"],
            f"[passcode]\nclient = yes\naccept = {path}\n{servers}failover = prio\nTIMEOUTconnect = 1\n"
            f"checkHost = server\n" + self._identity(identity, "servers"),
        )  # fmt: skip
        wait_for(path.exists)
        path.chmod(0o666)  # the folder says who may
        return path

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        process.wait()

    def end(self):
        for name in list(self.processes):
            self.stop(name)
        for listener in self.listeners:
            listener.end()
        shutil.rmtree(SOCKETS, ignore_errors=True)


