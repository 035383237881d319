"""What is compared with: Debian's own builds.

The packages are unpacked below .build, and laid over /usr/lib in the tests' mount namespace. Installing them would do
more than measuring needs: libpam-fprintd, for one, enables itself in the machine's own PAM files.
"""

import contextlib
import json
import pathlib
import shutil
import subprocess

from process import sh

TREE = pathlib.Path(__file__).parents[3]
FOLDER = TREE / ".build/compare"
UNPACKED = FOLDER / "peers"
PACKAGES = ["libpam-google-authenticator", "libpam-u2f", "libpam-oath", "libpam-fprintd", "libpam-pwdfile"]
MODULES = [
    "pam_unix", "pam_faillock", "pam_google_authenticator", "pam_u2f", "pam_oath", "pam_fprintd", "pam_pwdfile"
]  # fmt: skip
VERSIONS = "versions.json"
CACHE = pathlib.Path("/etc/ld.so.cache")

_APT = ["-q", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true"]


def fetch():
    """Downloads what isn't installed here, with the libraries that it needs, and unpacks it, once."""
    if (UNPACKED / "usr").is_dir():
        return
    unfinished = FOLDER / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "partial").mkdir(parents=True)
    places = ["-o", f"Dir::Cache::archives={unfinished}", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]
    install = ["apt-get", *_APT, *places, "install", "-y", "--download-only", "--no-install-recommends", *PACKAGES]
    with (FOLDER / "apt.log").open("w") as log:
        # A machine whose lists are old, or that has none, asks for new ones.
        if subprocess.run(install, stdout=log, stderr=log).returncode != 0:
            sh("apt-get", *_APT, "update", stdout=log, stderr=log)
            sh(*install, stdout=log, stderr=log)
        if not shutil.which("valgrind"):
            sh("apt-get", *_APT, *places, "download", "valgrind", stdout=log, stderr=log, cwd=unfinished)
    unpacked = {}
    for package in unfinished.glob("*.deb"):
        sh("dpkg-deb", "--extract", package, unfinished / "root")
        name, version = (field_of(package, name) for name in ("Package", "Version"))
        unpacked[name] = version
    (unfinished / "root/usr").mkdir(parents=True, exist_ok=True)
    (unfinished / "root" / VERSIONS).write_text(json.dumps(unpacked))
    (unfinished / "root").rename(UNPACKED)
    shutil.rmtree(unfinished)


@contextlib.contextmanager
def installed():
    """Laid over /usr/lib, with the linker's cache made for it, so that a library of theirs is found as any other."""
    layers = [str(UNPACKED / name) for name in ("usr/lib", "lib") if (UNPACKED / name).is_dir()]
    cache = CACHE.read_bytes()
    if layers:
        sh("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={':'.join([*layers, '/usr/lib'])}", "/usr/lib")
    try:
        sh("mount", "-t", "tmpfs", "tmpfs", "/var/cache/ldconfig")
        try:
            sh("ldconfig", "-X", "-i")
        finally:
            sh("umount", "/var/cache/ldconfig")
        yield
    finally:
        CACHE.write_bytes(cache)
        if layers:
            sh("umount", "--lazy", "/usr/lib")


def module(name):
    [path] = pathlib.Path("/usr/lib").glob(f"*-linux-gnu/security/{name}.so")
    return path


def valgrind():
    """The command, and the environment that it needs."""
    if path := shutil.which("valgrind"):
        return path, {}
    return str(UNPACKED / "usr/bin/valgrind"), {"VALGRIND_LIB": str(UNPACKED / "usr/libexec/valgrind")}


def versions():
    """{package: version}, of those that are installed and of those that are unpacked."""
    names = ["libpam-modules", "libpam-modules-bin", "libsodium23", "libcrypt1", *PACKAGES]
    command = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *names]
    listed = subprocess.run(command, capture_output=True, text=True).stdout
    found = {line.split()[1]: line.split()[2] for line in listed.splitlines() if line.startswith("installed ")}
    unpacked = json.loads((UNPACKED / VERSIONS).read_text())
    return dict(sorted({**found, **{name: unpacked[name] for name in PACKAGES if name not in found}}.items()))


def field_of(package, name):
    return sh("dpkg-deb", "--field", package, name, capture_output=True, text=True).stdout.strip()
