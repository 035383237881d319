"""A fleet's server with an etcd of one member, as root, where libpam-passcode is installed:
lone_server.py ETCD VERIFIER ACCOUNT PASSCODE makes the fleet, enrols that account, and prints its state."""

import base64
import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

VERIFIER = pathlib.Path("/usr/sbin/passcode-verifier")
STATE = pathlib.Path("/var/lib/passcode-verifier")


def install(program):
    shutil.copy(program, VERIFIER)
    STATE.mkdir(mode=0o700)
    shutil.chown(STATE, "_passcode", "_passcode")
    pathlib.Path("/etc/passcode/verifier.conf").write_text("fleet=ward-7\netcd_user=passcode\n")
    password = pathlib.Path("/etc/passcode/verifier.password")
    password.write_text("twice\n")
    shutil.chown(password, "root", "_passcode")
    password.chmod(0o440)
    pathlib.Path("/etc/passcode/workstations").write_text("CN=ws1\n")


def text(string):
    return base64.b64encode(string.encode()).decode()


# etcd's own accounts, as the package's page makes them; here there is no etcdctl.
ACCOUNTS = (
    ("user/add", {"name": "root", "password": "once"}), ("user/grant", {"user": "root", "role": "root"}),
    ("user/add", {"name": "passcode", "password": "twice"}), ("role/add", {"name": "passcode"}),
    ("role/grant", {"name": "passcode",
                    "perm": {"permType": "READWRITE", "key": text("/passcode/"), "range_end": text("/passcode0")}}),
    ("user/grant", {"user": "passcode", "role": "passcode"}), ("enable", {}),
)  # fmt: skip


def is_asked(path, body):
    """Whether etcd answers."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:2379/v3/{path}", json.dumps(body).encode()).read()
    except OSError:
        return False
    return True


def wait_for(condition):
    until = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < until, pathlib.Path("/run/etcd.log").read_text()[-3000:]
        time.sleep(1)


def start_etcd(program):
    """Returns once etcd has answered the verifier, which waits only 2 s each time: an emulated machine is slow."""
    with open("/run/etcd.log", "w") as log:
        command = [program, "--data-dir", "/run/etcd", "--bcrypt-cost=4"]
        etcd = subprocess.Popen(command, stdout=log, stderr=log)
    wait_for(lambda: is_asked("maintenance/status", {}))
    for path, body in ACCOUNTS:
        assert is_asked(f"auth/{path}", body), path
    wait_for(lambda: subprocess.run([VERIFIER, "seen"]).returncode == 0)
    return etcd


def main(etcd, program, account, code):
    install(program)
    subprocess.run([VERIFIER, "init"], check=True)
    running = start_etcd(etcd)
    subprocess.run([VERIFIER, "enroll", account, "--stdin"], input=code + "\n", text=True, check=True)
    subprocess.run([VERIFIER, "status", account], check=True)
    running.kill()


main(*sys.argv[1:])
