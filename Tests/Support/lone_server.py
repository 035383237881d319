"""A fleet's server with an etcd of one member, as root, where libpam-passcode is installed:
lone_server.py ETCD VERIFIER ACCOUNT PASSCODE makes the fleet, enrols that account, and prints its state."""

import pathlib
import shutil
import subprocess
import sys
import time

VERIFIER = pathlib.Path("/usr/sbin/passcode-verifier")
STATE = pathlib.Path("/var/lib/passcode-verifier")


def install(program):
    shutil.copy(program, VERIFIER)
    STATE.mkdir(mode=0o700)
    shutil.chown(STATE, "_passcode", "_passcode")
    pathlib.Path("/etc/passcode/verifier.conf").write_text("fleet=ward-7\n")
    pathlib.Path("/etc/passcode/workstations").write_text("CN=ws1\n")


def start_etcd(program):
    """Returns once etcd has answered the verifier, which waits only 2 s each time: an emulated machine is slow."""
    with open("/run/etcd.log", "w") as log:
        etcd = subprocess.Popen([program, "--data-dir", "/run/etcd"], stdout=log, stderr=log)
    until = time.monotonic() + 240
    while subprocess.run([VERIFIER, "seen"]).returncode != 0:
        assert time.monotonic() < until, pathlib.Path("/run/etcd.log").read_text()[-3000:]
        time.sleep(1)
    return etcd


def main(etcd, program, account, code):
    install(program)
    subprocess.run([VERIFIER, "init"], check=True)
    running = start_etcd(etcd)
    subprocess.run([VERIFIER, "enroll", account, "--stdin"], input=code + "\n", text=True, check=True)
    subprocess.run([VERIFIER, "status", account], check=True)
    running.kill()


main(*sys.argv[1:])
