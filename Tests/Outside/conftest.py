"""Fixtures. What is missing fails loudly: nothing here is ever skipped."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(__file__)), "Support"))

import compiled  # noqa: E402, F401, I001
# Where a test needs a fleet, or the fingerprint reader, its fixture imports what stands in for them.
import bed as beds  # noqa: E402
import capabilities  # noqa: E402
import machine as machines  # noqa: E402
import tally  # noqa: E402
from journal import Journal  # noqa: E402
from process import heed_signals  # noqa: E402
from scenario import NEW, PASSWORD, RIGHT  # noqa: E402
from capabilities import pytest_runtest_makereport, pytest_runtest_setup  # noqa: E402, F401
from shared import begin_with, pytest_runtest_protocol  # noqa: E402, F401

# The longest; and before the others, those that mostly wait.
FIRST = [
    f"test_{name}.py"
    for name in "helper_time verifier fleet_uncharged workstation_attacks etcd_in_memory every_call hashing_slots batch"
    " revocation parallel finger finger_prompt helper_attacks programs check fleet_fence fleet_forged fleet_hangs"
    " key_ways_out key_sealing key_overwriting core_images selfservice verifier_attacks key_rotation".split()
]
UIDS = ("-K", "UID_MIN=20001", "-K", "UID_MAX=59999")


def pytest_configure(config):
    capabilities.add_marks(config)
    config.addinivalue_line("markers", "alone: measures time or memory; Tests/all runs nothing beside it")
    config.addinivalue_line("markers", "calm: counts seconds, and computes little: Tests/all runs such tests side by side, and nothing else")
    config.addinivalue_line("markers", "on_request: waits long; runs where its file is named, see Tests/README.md")
    config.addinivalue_line("markers", "shipped: of size, symbols, instructions, memory: needs what ships, not a quick build")
    if not os.environ.get("PASSCODE_NAMESPACE"):
        pytest.exit("run these by Tests/outside, which makes a mount namespace for them", 1)
    heed_signals()


def pytest_collection_modifyitems(config, items):
    """A quick build isn't what ships: it is larger, and its code is another."""
    capabilities.mark(items)
    begin_with(FIRST, items)
    if os.environ.get("PASSCODE_QUICK"):
        left_out = [item for item in items if item.get_closest_marker("shipped")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
        if left_out:
            files = sorted({item.path.name for item in left_out})
            config.quick = f"Left out, because they test what ships: {len(left_out)} tests of {', '.join(files)}"


def pytest_terminal_summary(terminalreporter, config):
    """The table of the attacks; the runner's last line stays the last."""
    if hasattr(config, "quick"):
        terminalreporter.write_line(config.quick)
    for line in tally.table():
        terminalreporter.write_line(line)


NICENESS = os.getpriority(os.PRIO_PROCESS, 0)


def pytest_runtest_logstart(nodeid):
    """The fingerprint reader's tests go before what runs beside them: what they look at waits for 100 or 300 ms at most."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10 if "/test_finger" in nodeid else NICENESS)


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
def stage(machine):
    """Where two operations at once are watched call by call."""
    import stage as stages
    import traced

    passwd = stages.PASSWD.read_text()
    try:
        with traced.marked_hashes():
            yield stages.Stage(machine)
    finally:
        stages.PASSWD.write_text(passwd)


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
    import sealing

    sealing.install()
    yield
    sealing.uninstall()


@pytest.fixture
def tpm(sealing_program):
    """Seals keys with it."""
    import sealing

    tpm = sealing.TPM()
    yield tpm
    tpm.stop()
    sealing.boot()


@pytest.fixture
def sealed(own, tpm):
    """Alice's and bob's passcodes are under a key that is sealed."""
    from recovery import recovery_copy
    from sealed import key

    own.copy = recovery_copy(key(own, "seal").output)
    return own


@pytest.fixture(scope="module")
def running_fleet(installation, journal):
    """Three servers with a store each for their hashing slots: one folder, since they are one machine here."""
    import fleet as fleets

    with contextlib.ExitStack() as undo:
        undo.callback(machines.Machine(journal).remove)
        made = fleets.Fleet()
        undo.callback(made.end)
        yield made


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
    from apart import Apart
    from history import LOCKOUT

    with contextlib.ExitStack() as undo:
        undo.callback(machines.Machine(journal).remove)
        made = Apart(lockout=LOCKOUT)
        undo.callback(made.end)
        yield made


@pytest.fixture
def workstation(machine):
    """The installed system with the package passcode-fleet."""
    import ward as wards

    wards.install_fleet()
    yield machine
    wards.PROGRAM.unlink(missing_ok=True)


@pytest.fixture
def ward(workstation):
    """A fleet with three servers, two workstations and one that isn't on the list; this machine is the first of them."""
    import fleet as fleets
    import ward as wards

    with contextlib.ExitStack() as undo:
        # Not kept for other tests: with a machine goes /etc/passcode, and with that the servers' own.
        fleet = fleets.Fleet()
        undo.callback(fleet.end)
        fleet.servers[0].enroll("alice", RIGHT)
        made = wards.Ward(fleet)
        undo.callback(made.end)
        wards.at(workstation, "ws1")
        yield made


@contextlib.contextmanager
def knowing_alice():
    """A reader that knows her finger; the touches go with it."""
    import finger as fingers
    import reader as readers

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
    import finger as fingers

    return fingers.untouched(enrolled_reader)


@pytest.fixture(scope="module")
def installed_reader(installation):
    """Beside the installed system, which covers /var/lib."""
    with knowing_alice() as made:
        yield made


@pytest.fixture
def free_reader(installed_reader):
    import finger as fingers

    return fingers.untouched(installed_reader)


@pytest.fixture
def touchable(free_reader, machine):
    """The installed system with a reader: alice and bob have a passcode, alice an enrolled finger."""
    import finger as fingers

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
