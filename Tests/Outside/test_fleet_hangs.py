"""A server of a fleet that hangs, or that has no etcd: what a login on a workstation costs then."""

import contextlib
import os
import pathlib
import re
import signal
import time

import pytest
from between import Fates, between
from fleet import FOLDER
from logind import cgroups
from machine import ALICE
from process import wait_for
from scenario import NEW, PASSWORD, PROMPT, RIGHT, WRONG, refused_unasked
from tool import DONE
from ward import NOTE, STACK, UNAVAILABLE, at, within_five_seconds


def asked():
    """At which sockets this workstation's stunnel was asked until now: at .sock, where the first server comes first, or at .2,
    where it comes last."""
    return re.findall(r"Service \[(\.sock|\.2)\] accepted", (FOLDER / "ws1.log").read_text())


def login(machine, **how):
    """One that succeeds: the sockets at which it asked."""
    before = len(asked())
    assert machine.authenticate("alice", RIGHT, **how).result == "SUCCESS"
    return asked()[before:]


def freeze(ward, number):
    """Each thread: one that runs on another processor stops a little later."""
    process = ward.processes[f"server{number}"].pid
    os.kill(process, signal.SIGSTOP)
    wait_for(lambda: all(state(task) == "T" for task in pathlib.Path(f"/proc/{process}/task").iterdir()))


def state(task):
    """That of a thread which has just ended: as of one that is stopped."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "T"


@pytest.fixture
def thawed(ward):
    yield ward
    for process in (*ward.processes.values(), *ward.fleet.members):
        process.send_signal(signal.SIGCONT)
    for listener in ward.listeners:
        listener.is_silent = False


def silence_verifiers(ward):
    """The relay goes on, and gives its own signs."""
    ward.listeners[0].is_silent = True


def has_another_leader(fleet):
    return fleet.leader(without=(0,)) is not None


def freeze_etcd(ward):
    ward.fleet.members[0].send_signal(signal.SIGSTOP)
    wait_for(lambda: has_another_leader(ward.fleet), 30)


HANGS = {"its stunnel": lambda ward: freeze(ward, 0), "its etcd": freeze_etcd, "its verifiers": silence_verifiers}


@pytest.mark.calm
@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
@pytest.mark.parametrize("how", [{}, ALICE], ids=["direct", "helper"])
def test_the_first_server_hangs(machine, thawed, hang, how):
    """The first login waits for it, those of the next minute don't ask it."""
    hang(thawed)
    first, *others = [within_five_seconds(lambda: login(machine, **how)) for _ in range(4)]
    assert first[:2] == [".sock", ".2"]
    assert {socket for sockets in others for socket in sockets} == {".2"}


def test_the_first_server_has_no_etcd(machine, thawed):
    """It says so at once; the passcode works all the same."""
    thawed.fleet.members[0].kill()
    wait_for(lambda: has_another_leader(thawed.fleet), 30)
    for _ in range(3):
        login(machine)


def test_the_first_server_has_no_memory_for_a_hash(machine, thawed):
    """Its look says so: the code is typed for another server. The next logins ask that one first."""
    machine.configure(memlimit="256M", opslimit=1)
    thawed.fleet.servers[0].enroll("alice", RIGHT)
    thawed.listeners[0].before = ["prlimit", f"--as={200 << 20}"]
    for _ in range(3):
        login(machine)


@pytest.fixture
def tighten(machine, thawed):
    """The first server's verifiers are in a cgroup. Called, it leaves that 200 MiB, though the machine has more."""
    machine.configure(memlimit="256M", opslimit=1)
    thawed.fleet.servers[0].enroll("alice", RIGHT)
    top, limit = cgroups(), "memory.max"
    if "memory" in (top / "cgroup.controllers").read_text():
        (top / "cgroup.subtree_control").write_text("+memory")
    else:
        top, limit = pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
    group = top / f"passcode-{os.getpid()}"
    group.mkdir()
    group.chmod(0o755)
    (group / limit).chmod(0o666)  # alice's login calls it, too
    thawed.listeners[0].before = ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
    yield lambda: (group / limit).write_text(str(200 << 20))
    wait_for(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@contextlib.contextmanager
def charges(ward):
    """How many each server has sent to its etcd since then."""
    counters = [Fates() for _ in ward.fleet.servers]
    with contextlib.ExitStack() as undo:
        for server, counter in zip(ward.fleet.servers, counters, strict=True):
            undo.enter_context(between(server, counter))
        yield lambda: [len(counter.charged) for counter in counters]


@pytest.mark.cgroups
@pytest.mark.parametrize("how", [{}, ALICE], ids=["direct", "helper"])
def test_the_first_server_s_cgroup_has_no_memory_for_a_hash(machine, tighten, thawed, how):
    """Its look is refused before a code is typed: the kernel would kill whoever has the most, who may be charged already."""
    tighten()
    for _ in range(2):
        login(machine, **how)
    assert thawed.fleet.servers[1].failures() == 0
    assert thawed.listeners[0].children[0].wait(10) == 0
    assert len(thawed.listeners[1].children) == 2, "one other server was asked, once a login"


@pytest.mark.cgroups
@pytest.mark.parametrize("how", [{}, ALICE], ids=["direct", "helper"])
def test_the_first_server_s_cgroup_has_none_left_once_the_code_is_typed(machine, tighten, thawed, how):
    """Its look has allowed the prompt; its attempt is refused before the charge, and another server decides."""

    def answer(_handle):
        tighten()
        return RIGHT

    with charges(thawed) as charged:
        outcome = machine.authenticate("alice", answer, **how)
        assert (outcome.result, outcome.prompts, charged()) == ("SUCCESS", [PROMPT], [0, 1, 0])
    assert [len(listener.children) for listener in thawed.listeners] == [1, 1, 0]
    assert thawed.listeners[0].children[0].wait(10) == 0


@pytest.mark.cgroups
@pytest.mark.parametrize("of_code, of_passcode", [("256M", "8K"), ("8K", "256M")], ids=["the code's", "the passcode's"])
def test_the_first_server_s_cgroup_has_no_memory_for_a_hash_of_a_one_time_code(machine, tighten, thawed, of_code, of_passcode):
    """It refuses before the charge if one of the two hashes doesn't fit, and another server sets the passcode."""
    machine.configure(memlimit=of_code)
    code = thawed.fleet.servers[0].invite("alice")
    machine.configure(memlimit=of_passcode)
    machine.typed |= {code, NEW}
    tighten()
    with charges(thawed) as charged:
        machine.tool("enroll", "--stdin", stdin=f"{code}\n{NEW}\n", user="alice", check=DONE)
        assert charged() == [0, 1, 0]
    assert thawed.listeners[0].children[-1].wait(10) == 0
    assert machine.authenticate("alice", NEW).result == "SUCCESS"


def test_after_a_minute_the_first_server_is_asked_again(machine, thawed):
    freeze(thawed, 0)
    before = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
    assert login(machine)[:2] == [".sock", ".2"]
    with open(NOTE, "r+b") as file:
        noted = int.from_bytes(file.read(8), "little")
        assert int(before) <= noted <= time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
        file.seek(0)
        file.write((noted - 60_000).to_bytes(8, "little"))
    assert login(machine)[:2] == [".sock", ".2"]
    for content in (b"", b"\xff" * 8, b"no number"):  # content that isn't ours changes nothing
        with open(NOTE, "wb") as file:
            file.write(content)
        login(machine)


@pytest.mark.calm
def test_all_servers_hang(with_passwords, thawed):
    """Within 5 s there is an answer, and the password works."""
    machine = with_passwords
    for number in range(3):
        freeze(thawed, number)
    for how in ({}, ALICE):
        assert refused_unasked(within_five_seconds(lambda how=how: machine.authenticate("alice", RIGHT, **how)), UNAVAILABLE)
    machine.service(stack=STACK)
    outcome = within_five_seconds(lambda: machine.authenticate("alice", PASSWORD))
    assert (outcome.result, outcome.prompts) == ("SUCCESS", ["Password: "])


def test_a_code_is_never_sent_twice(machine, thawed):
    """A server hangs after its look has allowed the prompt: that attempt has no verdict, and isn't tried at the others,
    which would answer. What has reached the one that hung is charged there later, once at most."""

    def hang(_handle):
        freeze(thawed, 0)
        return WRONG[0]

    outcome = machine.authenticate("alice", hang)
    assert (outcome.result, outcome.prompts) == (UNAVAILABLE, [PROMPT])
    failures = thawed.fleet.servers[1].failures
    assert failures() == 0
    thawed.processes["server0"].send_signal(signal.SIGCONT)
    pathlib.Path(NOTE).unlink(missing_ok=True)  # so that it is asked first
    assert machine.authenticate("alice", "").prompts == [PROMPT]
    wait_for(lambda: all(verifier.poll() is not None for verifier in thawed.listeners[0].children), 20)
    assert failures() <= 1
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"


@pytest.mark.parametrize("number", [0, 1])
def test_only_a_server_with_its_name_is_believed_at_either_socket(machine, thawed, number):
    """The name is demanded once for both sections of stunnel's configuration. Here the only server has the right
    authority, and another name."""
    certificates = thawed.certificates
    certificates.make("other", "servers")
    for server in thawed.fleet.servers:
        thawed.stop(f"server{server.number}")
    thawed.serve(thawed.fleet.servers[number], "other")
    for _ in range(2):
        assert refused_unasked(machine.authenticate("alice", RIGHT), UNAVAILABLE)
    log = (FOLDER / "ws1.log").read_text()
    assert "Service [.sock] accepted" in log and "Service [.2] accepted" in log
    assert log.count("Subject checks failed") >= 4
    thawed.stop(f"server{number}")
    thawed.serve(thawed.fleet.servers[number])
    at(machine, "ws1")
    assert machine.authenticate("alice", RIGHT).result == "SUCCESS"
