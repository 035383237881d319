"""2 and 3. What an attempt costs, and what a refusal costs: whole calls of pam_authenticate, beside their hash."""

import contextlib
import os
import subprocess
import tempfile
import time

import bench
import host
import pam
import strace
from bed import SERVICE
from compare import stacks
from compare.figures import counted, milliseconds, taking_turns
from compare.peers import FOLDER, sh
from cost import in_child
from scenario import RIGHT, WRONG

SYNCS = {"fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"}
# Which answer once and for all, without a device.
COUNTED = {"unix": "pam_unix", "faillock": "pam_faillock", "pwdfile": "pam_pwdfile",
           "google": "pam_google_authenticator", "oath": "pam_oath"}  # fmt: skip
ATTEMPTS = 3  # on one handle; the last one is counted, as in a program that lives on


# MARK: Authenticating


def authenticating(kit):
    for name, mounted in (("tmpfs", on_tmpfs), ("ext4 with a real fsync", on_ext4)):
        bed = kit.make_bed()
        with mounted(bed.store):
            bed.configure(**kit.cost)
            bed.enroll("alice", RIGHT)
            yield milliseconds(f"whole login, {name}", "bare libsodium", against_the_hash(bed, kit))
    yield from against_other_modules(kit)
    yield from system_calls(kit)
    yield milliseconds("locked answer of the helper", "unix_chkpwd", helper_against_unix_chkpwd(kit))
    yield milliseconds("correct passcode through the helper", "directly", helper_against_direct(kit))


@contextlib.contextmanager
def on_tmpfs(folder):
    folder.mkdir(mode=0o700)
    sh("mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", folder)
    try:
        yield
    finally:
        sh("umount", folder)


@contextlib.contextmanager
def on_ext4(folder):
    """An ext4 of its own in a file on the disk where the tree is, whose fsync goes to that disk."""
    folder.mkdir(mode=0o700)
    with tempfile.NamedTemporaryFile(dir=FOLDER, suffix=".ext4") as image:
        image.truncate(64 << 20)
        sh("mkfs.ext4", "-q", "-F", image.name)
        with loop_devices():
            sh("mount", "-o", "loop", image.name, folder)
            try:
                folder.chmod(0o700)
                yield
            finally:
                sh("umount", folder)


@contextlib.contextmanager
def loop_devices():
    """The nodes, in the tests' own /dev."""
    made = []
    try:
        for name, kind, major, minor in [("loop-control", "c", 10, 237), *((f"loop{n}", "b", 7, n) for n in range(16))]:
            if not os.path.exists(f"/dev/{name}"):
                sh("mknod", "-m", "0600", f"/dev/{name}", kind, major, minor)
                made.append(f"/dev/{name}")
        yield
    finally:
        for path in made:
            os.unlink(path)


def call(bed, user, code, result, service=SERVICE):
    """The seconds of one pam_authenticate on a handle of its own, so that the module is loaded within it."""

    def work():
        outcome = pam.Outcome()
        handle = pam.Handle(service, user, bed.services, [code], outcome)
        start = time.perf_counter()
        handle.call("authenticate")
        taken = time.perf_counter() - start
        handle.end()
        assert outcome.results == [result], outcome
        return taken

    return work


def against_the_hash(bed, kit):
    bare = bench.bare_hash(kit.operations, kit.bytes)
    right = call(bed, "alice", RIGHT, "SUCCESS")
    return taking_turns(kit.effort.of(41, 3), right, lambda: bench.seconds(bare))


def against_other_modules(kit):
    bed = kit.make_bed(**kit.cost)
    bed.enroll("alice", RIGHT)
    stacks.Stacks(bed, kit.hashing).enroll("alice")
    ours = call(bed, "alice", RIGHT, "SUCCESS")
    for service in ("unix", "faillock", "pwdfile"):
        theirs = call(bed, "alice", RIGHT, "SUCCESS", service)
        pairs = taking_turns(kit.effort.of(41, 3), ours, theirs)
        yield milliseconds("whole login, theirs with yescrypt", COUNTED[service], pairs)


def system_calls(kit):
    """As it is installed."""
    machine = kit.machine
    machine.enroll("alice", RIGHT)
    others = stacks.Stacks(machine, kit.hashing)
    others.enroll("alice")
    machine.service()
    counts = {name: traced(machine, name, others.codes(name, ATTEMPTS)) for name in COUNTED}
    ours = traced(machine, SERVICE, [RIGHT] * ATTEMPTS)
    for service, peer in COUNTED.items():
        yield counted("system calls of an attempt, libpam's with it", peer, "", ours[0], counts[service][0])
    for service, peer in COUNTED.items():
        yield counted("syncs of an attempt", peer, "", ours[1], counts[service][1])


def traced(bed, service, codes):
    """How many system calls, and how many syncs, the last of these attempts made."""
    with tempfile.NamedTemporaryFile() as file:
        command = [*strace.record(file.name), *host.one(bed, *codes, service=service)]
        done = subprocess.run(command, capture_output=True, timeout=60, env={"PATH": "/usr/sbin:/usr/bin"})
        results, calls = host.named(done.stdout), strace.between_marks(strace.calls(file.name))[-1]
    assert results == ["SUCCESS"] * len(codes), (service, results)
    names = [name for name, _ in calls]
    return len(names), sum(name in SYNCS for name in names)


def helper_against_unix_chkpwd(kit):
    return in_child(lambda: bench.locked_helper_and_unix_chkpwd(kit.machine, kit.effort.of(101, 5)))


def helper_against_direct(kit):
    kit.machine.configure(**kit.cost)
    kit.machine.enroll("alice", RIGHT)
    direct, helped = bench.both_ways(kit.machine, kit.effort.of(31, 3))
    return list(zip(helped, direct, strict=True))


# MARK: Refusing


def refusing(kit):
    """In turns with a verification at the default cost, of the same store."""
    bed = kit.make_bed(**kit.cost)
    for user in ("alice", "bob", "carol"):
        bed.enroll(user, RIGHT)
    bed.tool("disable", "carol", check=0)
    for code in WRONG[:3]:
        bed.authenticate("bob", code)
    right = call(bed, "alice", RIGHT, "SUCCESS")
    cases = [
        ("locked", "bob", RIGHT, "AUTH_ERR"),
        ("disabled", "carol", RIGHT, "AUTH_ERR"),
        ("not enrolled", "nobody", RIGHT, "USER_UNKNOWN"),
        ("not a passcode", "alice", "a password", "AUTH_ERR"),
    ]
    for name, user, code, result in cases:
        pairs = taking_turns(kit.effort.of(31, 3), call(bed, user, code, result), right)
        yield milliseconds(name, "a verification", pairs)
