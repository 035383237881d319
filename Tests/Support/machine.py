"""The installed system, as far as the package will make it: the account `_passcode`, the helper at its fixed place
with its bits, configuration, key and store where they really are. All in the tests' mount namespace."""

import contextlib
import pathlib
import shutil

import pam
import plain
from bed import QUICK, SERVICE, Bed, become, built
from process import sh
from scenario import PASSWORD

ACCOUNT = "_passcode"
HELPER = pathlib.Path("/usr/libexec/passcode-helper")
CONFIGURATION = pathlib.Path("/etc/security/passcode.conf")
KEY = pathlib.Path("/etc/passcode/key")
STORE = pathlib.Path("/var/lib/passcode")
RUN = pathlib.Path("/run/passcode")
PROOF = pathlib.Path("/etc/pam.d/passcode")
ALICE = {"prepare": become("alice")}  # for authenticate: she reaches it through the helper


def cover(place, folder):
    """Whatever is changed in the folder from now on lies at this place, and nothing in the folder itself."""
    for name in ("upper", "work"):
        (place / name).mkdir(parents=True)
    sh("mount", "-t", "overlay", "-o", f"lowerdir={folder},upperdir={place}/upper,workdir={place}/work", "overlay", folder)


def install():
    """Once for the tests that need it; `uninstall` takes all of it away."""
    sh("useradd", "--system", "--user-group", "--no-create-home", "--badname", ACCOUNT)
    if plain.PLAIN:  # and plain.py puts back what was there
        return
    cover(pathlib.Path("/run/passcode-cover"), "/usr/libexec")
    # Enough for the record files, and for what the programs of the tests keep there.
    sh("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", "/var/lib")


def uninstall():
    if plain.PLAIN:
        shutil.rmtree(STORE, ignore_errors=True)
        for program in HELPER.parent.glob("passcode-*"):
            program.unlink()
    else:
        sh("umount", "--lazy", "/var/lib")
        sh("umount", "--lazy", "/usr/libexec")
        shutil.rmtree("/run/passcode-cover")
    sh("userdel", "--force", ACCOUNT)


@contextlib.contextmanager
def modules_of_libpam():
    """Its folder of modules, in which a test may put some: a copy over it, or itself where nothing can be mounted."""
    [unix] = pathlib.Path("/usr/lib").glob("*-linux-gnu/security/pam_unix.so")
    there = {path.name for path in unix.parent.iterdir()}
    copy = pathlib.Path("/run/security")
    if not plain.PLAIN:
        shutil.copytree(unix.parent, copy, symlinks=True)
        sh("mount", "--bind", copy, unix.parent)
    try:
        yield unix.parent
    finally:
        if plain.PLAIN:
            for path in unix.parent.iterdir():
                if path.name not in there:
                    path.unlink()
        else:
            sh("umount", "--lazy", unix.parent)
            shutil.rmtree(copy)


@contextlib.contextmanager
def installed_tool():
    """The tool where the module starts it."""
    place, tool = pathlib.Path("/run/passcode-tool"), pathlib.Path("/usr/bin/passcode")
    if not plain.PLAIN:
        cover(place, "/usr/bin")
    shutil.copyfile(built("passcode"), tool)
    tool.chmod(0o755)
    try:
        yield tool
    finally:
        if plain.PLAIN:
            tool.unlink()
        else:
            sh("umount", "--lazy", "/usr/bin")
            shutil.rmtree(place)


def install_helper(mode=0o6755, owner=ACCOUNT):
    HELPER.unlink(missing_ok=True)
    shutil.copyfile(built("passcode-helper"), HELPER)
    shutil.chown(HELPER, owner, owner)
    HELPER.chmod(mode)


def set_password(name, password=PASSWORD):
    sh("chpasswd", "-c", "SHA256", input=f"{name}:{password}".encode())


class Machine(Bed):
    """A bed whose paths are the real ones. People reach it through the helper, root directly."""

    def __init__(self, journal, **options):
        self.owner, self.journal, self.usual = "root", journal, True
        self.folder = pathlib.Path("/run/passcode-machine")
        self.folder.mkdir(mode=0o755)
        self.configuration, self.key, self.store = CONFIGURATION, KEY, STORE
        self.services = self.folder / "pam.d"
        self.services.mkdir()
        self.options = dict(QUICK)
        self.typed = set()
        install_helper()
        # The package's has no "nodelay": each wrong password would take 2 s.
        PROOF.write_text("auth required pam_unix.so nodelay\n")
        PROOF.chmod(0o644)
        RUN.mkdir(mode=0o700)
        shutil.chown(RUN, ACCOUNT, "root")
        self.configure(**options)
        self.service()
        self._first_line = len(journal.lines())
        self.tool("key", "init", check=0)

    def remove(self):
        HELPER.unlink(missing_ok=True)
        for folder in (self.folder, RUN, KEY.parent, STORE):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (CONFIGURATION, PROOF):
            file.unlink(missing_ok=True)


def pam_run_switched(bed, first, second):
    """Authenticates one account and opens a session for another on the same handle, as sudo does."""
    outcome = pam.Outcome()
    handle = pam.Handle(SERVICE, first, bed.services, [], outcome)
    handle.call("authenticate")
    handle.set("USER", second)
    handle.call("open_session")
    handle.end()
    return outcome.results
