"""Fixtures. What is missing fails loudly: nothing here is ever skipped."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(__file__)), "Support"))

import bed as beds  # noqa: E402
import finger as fingers  # noqa: E402
import fleet as fleets  # noqa: E402
import machine as machines  # noqa: E402
import reader as readers  # noqa: E402
import sealing  # noqa: E402
import tally  # noqa: E402
import ward as wards  # noqa: E402
from apart import Apart  # noqa: E402
from history import LOCKOUT  # noqa: E402
from journal import Journal  # noqa: E402
from process import heed_signals  # noqa: E402
from scenario import NEW, PASSWORD, RIGHT  # noqa: E402
from shared import pytest_runtest_protocol  # noqa: E402, F401

UIDS = ("-K", "UID_MIN=20001", "-K", "UID_MAX=59999")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures time or memory; Tests/all runs nothing beside it")
    config.addinivalue_line("markers", "on_request: waits long; runs where its file is named, see Tests/README.md")
    if not os.environ.get("PASSCODE_NAMESPACE"):
        pytest.exit("run these by Tests/outside, which makes a mount namespace for them", 1)
    for program in (beds.MODULE, beds.TOOL, beds.BUILD / "passcode-helper", fingers.PROGRAM):
        if not program.is_file():
            pytest.exit(f"{program} is not there: build it first", 1)
    heed_signals()


def pytest_terminal_summary(terminalreporter):
    """The table of the attacks; the runner's last line stays the last."""
    for line in tally.table():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def journal():
    return Journal()


@pytest.fixture(scope="session", autouse=True)
def people(journal):
    """Ordinary accounts, in the namespace's copy of /etc. Their uids have five digits: no passcode has."""
    for name in beds.PEOPLE:
        # The copy may have somebody of that name already.
        subprocess.run(["userdel", "--force", name], stderr=subprocess.DEVNULL)
        subprocess.run(["useradd", *UIDS, "--no-create-home", "--shell", "/bin/sh", name], check=True)
    return beds.PEOPLE


@pytest.fixture(scope="session")
def peers():
    """Debian's own modules, for comparison; their versions. Needs the network where they were never fetched."""
    from compare import peers

    peers.fetch()
    versions = peers.versions()
    with peers.installed():
        yield versions


@pytest.fixture
def make_bed(journal, request):
    """Makes beds, and takes them away after the test and after a look into the log. What is measured is on a disk, whose
    syncs take time; everything else in memory."""
    made, place = [], None if request.node.get_closest_marker("alone") else "/run"

    def make(owner="root", usual=False, **options):
        made.append(beds.Bed(owner, journal, usual, place, **options))
        return made[-1]

    yield make
    try:
        for bed in made:
            bed.assert_nothing_typed_was_logged()
    finally:
        for bed in made:
            bed.remove()


@pytest.fixture
def bed(make_bed):
    """An empty bed of root's."""
    return make_bed()


@pytest.fixture
def usual(make_bed):
    """Alice has the passcode 0471, and the configuration is the usual file: last wrong codes are remembered."""
    shutil.rmtree(beds.MEMORY, ignore_errors=True)
    bed = make_bed(usual=True)
    bed.enroll("alice", RIGHT)
    yield bed
    shutil.rmtree(beds.MEMORY, ignore_errors=True)


@pytest.fixture
def alice(bed):
    """A bed in which alice has the passcode 0471."""
    bed.enroll("alice", RIGHT)
    return bed


@pytest.fixture
def keyed(bed):
    """A bed with a machine key, and nobody enrolled."""
    bed.tool("key", "init", check=0)
    return bed


@pytest.fixture(scope="module")
def installation(people):
    """The account, and place for the helper and the store; nobody else's tests see it."""
    machines.install()
    yield
    machines.uninstall()


@pytest.fixture
def machine(installation, journal):
    """The installed system, with a machine key and nobody enrolled."""
    made = machines.Machine(journal)
    yield made
    print(*made.log(), sep="\n")  # shown where a test failed
    try:
        made.assert_nothing_typed_was_logged()
    finally:
        made.remove()


@pytest.fixture
def own(machine):
    """Alice and bob have a passcode; root set it."""
    for name in ("alice", "bob"):
        machine.enroll(name, RIGHT)
    return machine


@pytest.fixture
def with_passwords(machine):
    """Alice and bob have passwords, and no passcode."""
    for name in ("alice", "bob"):
        machines.set_password(name)
    machine.typed |= {PASSWORD, NEW}
    return machine


@pytest.fixture(scope="module")
def sealing_program():
    """Stands in for systemd-creds."""
    sealing.install()
    yield
    sealing.uninstall()


@pytest.fixture
def tpm(sealing_program):
    """Seals keys with it."""
    tpm = sealing.TPM()
    yield tpm
    tpm.stop()
    sealing.boot()


@pytest.fixture(scope="module")
def running_fleet(installation, journal):
    """Three servers with a store each for their hashing slots: one folder, since they are one machine here."""
    machine = machines.Machine(journal)
    made = None
    try:
        made = fleets.Fleet()
        yield made
    finally:
        if made:
            made.end()
        machine.remove()


@pytest.fixture
def fleet(running_fleet):
    """All is well, and alice and bob are enrolled."""
    running_fleet.heal()
    for name in ("alice", "bob"):
        running_fleet.servers[0].enroll(name, RIGHT)
    return running_fleet


@pytest.fixture(scope="module")
def apart(installation, journal):
    """A fleet whose members can be cut off."""
    machine = machines.Machine(journal)
    made = None
    try:
        made = Apart(lockout=LOCKOUT)
        yield made
    finally:
        if made:
            made.end()
        machine.remove()


@pytest.fixture
def workstation(machine):
    """The installed system with the package passcode-fleet."""
    wards.install_fleet()
    yield machine
    wards.PROGRAM.unlink(missing_ok=True)


@pytest.fixture
def ward(workstation):
    """A fleet with three servers, two workstations and one that isn't on the list; this machine is the first of them."""
    # Not kept for other tests: with a machine goes /etc/passcode, and with that the servers' own.
    fleet = fleets.Fleet()
    made = None
    try:
        fleet.servers[0].enroll("alice", RIGHT)
        made = wards.Ward(fleet)
        wards.at(workstation, "ws1")
        yield made
    finally:
        try:
            if made:
                made.end()
        finally:
            fleet.end()


@contextlib.contextmanager
def knowing_alice():
    """A reader that knows her finger; the touches go with it."""
    made = readers.Reader()
    try:
        made.start()
        made.enroll("alice")
        yield made
    finally:
        made.close()
        shutil.rmtree(fingers.COUNTS, ignore_errors=True)


@pytest.fixture(scope="module")
def enrolled_reader(people):
    with knowing_alice() as made:
        yield made


@pytest.fixture
def reader(enrolled_reader):
    return fingers.untouched(enrolled_reader)


@pytest.fixture(scope="module")
def installed_reader(installation):
    """Beside the installed system, which covers /var/lib."""
    with knowing_alice() as made:
        yield made


@pytest.fixture
def free_reader(installed_reader):
    return fingers.untouched(installed_reader)


@pytest.fixture
def touchable(free_reader, machine):
    """The installed system with a reader: alice and bob have a passcode, alice an enrolled finger."""
    machine.reader = free_reader
    machine.listener = fingers.install()
    for name in ("alice", "bob"):
        machine.enroll(name, RIGHT)
    machine.configure(finger="yes")
    yield machine
    machine.listener.close()
    fingers.INSTALLED.unlink(missing_ok=True)


@pytest.fixture
def restored(reader):
    """A reader that the test may break."""
    yield reader
    reader.restore()
