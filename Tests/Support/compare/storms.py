"""4 and 5. Many people at once, and many prompts of one person."""

import contextlib
import os

import bench
import forge
import host
from bed import SERVICE
from compare import stacks
from compare.figures import MEBIBYTE, figure, milliseconds, taking_turns
from cost import processor_seconds
from scenario import RIGHT

MOST = 500
CROWD = [(40_500 + number, f"citizen{number:03}") for number in range(MOST)]


# MARK: A storm: everybody types the correct secret at once


def storms(kit):
    """At the default cost; theirs with yescrypt. What is bare has as many processes as there are processors, chooses
    libsodium's fastest code as the module does, and takes fresh memory for each hash, as a login does."""
    bed = kit.make_bed(**kit.cost)
    yield from beside_one_hash(kit)
    with crowd_of_citizens(bed, kit.hashing) as setting:
        for size in (1, 10, 100, MOST):
            ours, theirs = [], []
            for _ in range(rounds_of(kit, size)):
                ours.append(storm(bed, size, SERVICE, "argon2", kit.operations, kit.bytes))
                theirs.append(storm(bed, size, "unix", "crypt", RIGHT, setting))
            yield from shown(ours, theirs, f"{size}")
            pair = memory(bed, size, SERVICE), memory(bed, size, "unix")
            yield figure("peak memory", "pam_unix", "MiB", [pair], variant=f"{size}")


def beside_one_hash(kit):
    """What a hash is made of: its memory's first touch; and what it takes where nobody called sodium_init, as in the
    first version of this comparison."""
    processes = len(os.sched_getaffinity(0))

    def seconds(kind):
        return lambda: host.bare(kind, 2 * processes, processes, kit.operations, kit.bytes)[0] / 2

    for name, kind in (("first touch of its memory", "touch"), ("portable code, without sodium_init", "portable")):
        pairs = taking_turns(kit.effort.of(15, 2), seconds(kind), seconds("argon2"))
        yield milliseconds(name, "bare libsodium", pairs)


def rounds_of(kit, size):
    return kit.effort.of(3 if size == MOST else 5, 1)


@contextlib.contextmanager
def crowd_of_citizens(bed, hashing):
    """They have accounts, passwords and passcodes, all with the same secret; yields how the password is hashed."""
    with bench.accounts(CROWD):
        users = [name for _, name in CROWD]
        bed.enroll(users[0], RIGHT)
        forge.enroll_like(bed, users[0], users[1:])
        others = stacks.Stacks(bed, hashing)
        stacks.passwords(others.setting, users)
        yield others.setting


class Storm:
    """One storm, and what its hashes alone take: half of them before it and half after."""

    def __init__(self, crowd, bare, processor):
        self.crowd, self.bare, self.processor = crowd, bare, processor
        self.longest = max(login.seconds for login in crowd.logins)

    @property
    def against_bare(self):
        return self.crowd.seconds, self.bare


def storm(bed, size, service, kind, *arguments):
    processes = min(size, len(os.sched_getaffinity(0)))
    count = max(size // 2, 1)
    bare = [host.bare(kind, count, processes, *arguments)]
    used = processor_seconds()
    crowd = everybody(bed, size, service)
    used = processor_seconds() - used
    bare.append(host.bare(kind, count, processes, *arguments))
    seconds, processor = (sum(column) * size / (2 * count) for column in zip(*bare, strict=True))
    return Storm(crowd, seconds, (used, processor))


def everybody(bed, size, service, **how):
    logins = [(name, RIGHT, 0) for _, name in CROWD[:size]]
    crowd = host.crowd(bed, logins, seconds=600, service=service, **how)
    assert crowd.count("SUCCESS") == size, [login for login in crowd.logins if login.result != "SUCCESS"]
    return crowd


def memory(bed, size, service):
    """MiB, in a storm of its own: to look at that many processes takes processor time, too."""
    crowd = everybody(bed, size, service, measures_memory=True)
    return (crowd.memory_peak - crowd.memory_before) / MEBIBYTE


def shown(ours, theirs, people):
    how = {"variant": people}
    yield figure("storm", "bare libsodium", "s", [one.against_bare for one in ours], **how)
    yield figure("storm, processor time", "bare libsodium", "s", [one.processor for one in ours], **how)
    yield figure("storm of pam_unix", "bare yescrypt", "s", [one.against_bare for one in theirs], **how)
    waits = [(one.longest, other.longest) for one, other in zip(ours, theirs, strict=True)]
    yield figure("longest wait", "pam_unix", "s", waits, **how)


# MARK: A budget: one person's prompts, all opened first, and answered with different wrong secrets



def budgets(kit):
    """Guesses that were verified beyond three, which is `deny` for pam_faillock, and where our delays begin."""
    for size in (10, 100, 400):
        results = [beyond(kit, size) for _ in range(kit.effort.of(3, 1))]
        for peer, place in (("pam_faillock", 1), ("pam_unix", 2)):
            pairs = [(result[0], result[place]) for result in results]
            yield figure("guesses verified beyond three", peer, "", pairs, variant=f"{size}")


def beyond(kit, size):
    """Of ours, of pam_faillock around pam_unix, and of pam_unix alone."""
    logins = [("carol", code, 0) for code in distinct(size)]
    bed = kit.make_bed(lockout="3:1m,5:5m,7:15m,9:1h,10:reset", **kit.cost)
    bed.enroll("carol", RIGHT)
    others = stacks.Stacks(bed, kit.hashing)
    stacks.passwords(others.setting, ["carol"])
    ours = host.crowd(bed, logins, seconds=600).hashes
    return ours - stacks.DENY, *(verified(bed, logins, service) - stacks.DENY for service in ("faillock", "unix"))


def distinct(count):
    """So many wrong passcodes, no two alike."""
    return [code for code in (f"{number:04}" for number in range(count + 1)) if code != RIGHT][:count]


def verified(bed, logins, service):
    """How many of these pam_unix hashed. Up to libpam 1.5 it does that in root's own process, where the host counts it;
    libpam 1.7 always has unix_chkpwd do it, which logs each wrong password."""
    before = len(bed.log())
    crowd = host.crowd(bed, logins, seconds=600, service=service)
    user = logins[0][0]
    failed = [line for line in bed.log()[before:] if line.message == f"password check failed for user ({user})"]
    return crowd.crypts or len(failed) + crowd.count("SUCCESS")
