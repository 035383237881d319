"""What one reads to follow three things through the sources: the files whose functions run, by callgrind, in programs that are
neither optimised nor folded, so that each function that ran is there by its own lines. Building them takes 90 s."""

import collections
import contextlib
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import host
import pytest
from fleet import GRANTED, VERIFY, decode, request
from scenario import RIGHT

pytestmark = pytest.mark.on_request
TREE = pathlib.Path(__file__).parents[2]
SWIFT = pathlib.Path(shutil.which("swift")).resolve().parent
BUILD = TREE / ".build/walks"


def out(*command, **how):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, **how).stdout.decode()


@pytest.fixture(scope="module", autouse=True)
def programs():
    """As debian/build --quick, but with lines, and with each function where it was written."""
    [tables] = SWIFT.parent.glob(f"lib/swift/embedded/{platform.machine()}-unknown-linux-gnu/libswiftUnicodeDataTables.a")
    options = "-c release --traits Embedded --disable-local-rpath -q -Xswiftc -Onone -Xswiftc -g -Xlinker --icf=none -Xlinker"
    out("swift", "build", "--package-path", TREE, "--scratch-path", BUILD, *options.split(), tables)


def functions(program):
    """{its name in Swift: its symbol}"""
    symbols = [line.split()[-1] for line in out("nm", program).splitlines()]
    names = out(SWIFT / "swift-demangle", "--simplified", input="\n".join(symbols).encode())
    return dict(zip(names.splitlines(), symbols, strict=True))


class Walk:
    """What callgrind saw, in one or several programs."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="passcode-walk-", dir="/run"))
        self.folder.chmod(0o777)
        self.programs = {}

    def copy(self, name):
        """Of a program, without DWARF: callgrind reads no version 5."""
        copy = self.folder / name
        out("objcopy", "--strip-debug", BUILD / "release" / name, copy)
        self.programs[copy] = BUILD / "release" / name
        return copy

    def command(self, *words, inside=()):
        """`inside`: only while one of these functions runs."""
        toggles = [f"--toggle-collect={name}" for name in inside]
        return ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={self.folder}/out.%p", "--dump-instr=yes",
                "--compress-strings=no", "--compress-pos=no", *toggles, *words]  # fmt: skip

    @contextlib.contextmanager
    def for_all(self):
        """callgrind makes its file when a program begins, as root. Meanwhile, those are anybody's that become somebody else."""
        done = threading.Event()

        def keep():
            while not done.wait(0.01):
                for file in self.folder.glob("out.*"):
                    file.chmod(0o666)

        thread = threading.Thread(target=keep)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def files(self):
        """Their paths in Sources."""
        ran, program = collections.defaultdict(set), None
        for line in (line for out in self.folder.glob("out.*") for line in out.read_text().splitlines()):
            if line.startswith("ob="):
                program = self.programs.get(pathlib.Path(line[3:]))
            elif program and line.startswith("0x"):
                ran[program].add(line.split()[0])
        found = set()
        for program, addresses in ran.items():
            lines = out(SWIFT / "llvm-symbolizer", f"--obj={program}", "--inlines", input="\n".join(addresses).encode())
            found |= set(re.findall(r"\bSources/(\S+?):\d+:\d+$", lines, re.MULTILINE))
        return found


@pytest.fixture
def walk():
    made = Walk()
    yield made
    shutil.rmtree(made.folder)


def tell(capsys, what, files):
    with capsys.disabled():
        print(f"\n  {what}: {len(files)} files", *sorted(files), sep="\n    ")


def test_a_right_passcode(machine, walk, capsys):
    """From pam_sm_authenticate to its return."""
    machine.enroll("alice", RIGHT)
    (machine.services / "walk").write_text(f"auth required {walk.copy('libpam_passcode.so')}\n")
    login = [host.compiled("bare"), "login", "walk", machine.services, "alice", RIGHT, "1"]
    done = out(*walk.command(*login, inside=["pam_sm_authenticate"]))
    assert host.named(done.encode()) == ["SUCCESS"]
    tell(capsys, "a right passcode", files := walk.files())
    assert len(files) <= 40


def test_a_line_of_a_batch(machine, walk, capsys):
    """From the line that was read to its result."""
    tool = walk.copy("passcode")
    found = functions(tool)
    inside = [found["StoreBatch.begin(_:)"], found["Batch.wait(orInput:milliseconds:)"]]
    out(*walk.command(tool, "enroll", "--batch", "-", inside=inside), input=f"alice:{RIGHT}\n".encode())
    tell(capsys, "a line of a batch", files := walk.files())
    assert len(files) <= 50


def test_a_fleet_s_login(machine, ward, walk, capsys):
    """The module, passcode-fleet, and the verifier, here with nothing between them."""
    (machine.services / "walk").write_text(f"auth required {walk.copy('libpam_passcode.so')}\n")
    program = pathlib.Path("/usr/libexec/passcode-fleet")
    shutil.copyfile(walk.copy(program.name), program)
    walk.programs[program] = BUILD / "release" / program.name
    login = [host.compiled("bare"), "login", "walk", machine.services, "alice", RIGHT, "1"]
    command = ward.fleet.servers[0].command(*walk.command(walk.copy("passcode-verifier")))
    ours, theirs = socket.socketpair()
    with walk.for_all():
        done = out(*walk.command(*login, inside=["pam_sm_authenticate", functions(walk.copy(program.name))["passcode_fleet_main"]]))
        assert host.named(done.encode()) == ["SUCCESS"]
        with theirs:
            verifier = subprocess.Popen(command, stdin=theirs, cwd="/")
        with ours:
            ours.sendall(request(VERIFY, "alice", passcode=RIGHT))
            ours.shutdown(socket.SHUT_WR)
            assert decode(b"".join(iter(lambda: ours.recv(4096), b""))).kind == GRANTED
        assert verifier.wait(60) == 0
    tell(capsys, "a fleet's login", files := walk.files())
    assert {"PasscodeFleet/FleetLogin.swift", "PasscodeFleet/VerifierClient.swift"} <= files
