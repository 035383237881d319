"""An emulated machine of arm64 (QEMU), sid with pages of 16 KiB. Nothing of arm64 runs outside the emulator: its root is
only unpacked, and is configured as an amd64 root with the same packages is."""

import gzip
import lzma
import re
import shutil

import pexpect

from debian_machine import MACHINES, root, sh
from guest import Shell

PROGRAMS = (
    "adduser gcc iproute2 libc6-dev libcrypt-dev libpam-modules libpam-runtime libpam0g-dev libsodium-dev login pamtester passwd procps"
    " python3 python3-dbus python3-pexpect python3-pytest strace sudo util-linux"
)
UNPACKED = (
    "--architectures=arm64", "--variant=extract", "--skip=essential/unlink,cleanup/apt,download/empty",
    "--include=?or(?essential,?priority(required))",
)  # fmt: skip
KERNEL = r"linux-(?:binary|modules)-[\d.]+[^ -]*-arm64-16k"
# In the order in which they are loaded.
MODULES = "virtio_mmio", "virtio_blk", "crc16", "crc32c-cryptoapi", "jbd2", "mbcache", "ext4", "virtio-rng", "overlay"

LOADER = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
until [ -b /dev/vda ]; do $b sleep 1; done
$b mount -t ext4 /dev/vda /root
$b mount --move /dev /root/dev
exec $b switch_root /root /first
"""
FIRST = """#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 PS1='# '
export DEBIAN_FRONTEND=noninteractive
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p /dev/pts /dev/shm /run/lock
mount -t devpts -o gid=5,mode=0620,ptmxmode=0666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
hostname machine
ip link set lo up
exec setsid -c bash --norc --noprofile -i </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
"""


def disk(*files, downloads=()):
    """An image with these files and the programs of these packages in /root, the kernel and what that starts with.
    Returns its folder."""
    folder = MACHINES / "arm64"
    folder.mkdir()
    unpacked = root("sid", f"{PROGRAMS} busybox-static", *UNPACKED)
    place = folder / "root"
    sh("cp", "-a", unpacked, place)
    configure(place, root("sid", PROGRAMS), unpacked)
    for file in files:
        sh("cp", "-a", file, place / "root")
    for package in download(unpacked, downloads, folder):
        sh("dpkg-deb", "-x", package, folder / "more")
        for program in (folder / "more/usr/bin").iterdir():
            sh("cp", "-a", program, place / "root")
    modules = kernel(folder, unpacked)
    (folder / "initrd").write_bytes(gzip.compress(archive(initial(unpacked, modules)), 1))
    image = folder / "disk"
    with image.open("wb") as file:
        file.truncate(3 << 30)
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-d", place, image)
    shutil.rmtree(place)
    return folder


def configure(place, configured, unpacked):
    """What maintainer scripts write doesn't depend on the architecture, but for ld.so's cache, which may be missing."""
    for name in ("etc", "var/lib"):
        shutil.rmtree(place / name)
        sh("cp", "-a", configured / name, place / name)
    sh("cp", "-a", configured / "var/cache/debconf", place / "var/cache")
    shutil.rmtree(place / "var/cache/apt")
    (place / "etc/ld.so.cache").unlink()
    (place / "etc/hosts").write_text("127.0.0.1 localhost machine\n")
    there = {path.name.split("_")[0] for path in (unpacked / "var/cache/apt/archives").glob("*.deb")}
    status = place / "var/lib/dpkg/status"
    entries = [entry for entry in status.read_text().split("\n\n") if re.match(r"Package: (\S+)", entry)]
    status.write_text("".join(
        entry.replace("Architecture: amd64", "Architecture: arm64") + "\n\n"
        for entry in entries if entry.split("\n")[0].removeprefix("Package: ") in there
    ))  # fmt: skip
    for path in list((place / "var/lib/dpkg/info").glob("*:amd64.*")):
        path.rename(path.with_name(path.name.replace(":amd64.", ":arm64.")))
    # base-files makes these when it is configured.
    for name in ("home", "mnt", "srv", "opt"):
        (place / name).mkdir(exist_ok=True)
    first = place / "first"
    first.write_text(FIRST)
    first.chmod(0o755)


def apt(unpacked):
    """Options by which apt uses the unpacked root's lists of packages."""
    options = (
        f"Dir={unpacked}", f"Dir::State::status={unpacked}/var/lib/dpkg/status", "APT::Architecture=arm64",
        "APT::Architectures=arm64", "Debug::NoLocking=1", "APT::Sandbox::User=root",
    )  # fmt: skip
    return [word for option in options for word in ("-o", option)]


def download(unpacked, names, folder):
    """Downloads these packages, and returns their files."""
    if names:
        sh("apt-get", *apt(unpacked), "download", *names, cwd=folder, capture_output=True)
    return [path for name in names for path in folder.glob(f"{name}_*.deb")]


def kernel(folder, unpacked):
    """Fetches it. Returns the folder of its modules."""
    said = sh("apt-cache", *apt(unpacked), "pkgnames", "linux-", capture_output=True, text=True).stdout
    names = sorted(name for name in said.split() if re.fullmatch(KERNEL, name))[-1:]
    names += [names[0].replace("linux-modules-", "linux-binary-")]
    for package in download(unpacked, names, folder):
        sh("dpkg-deb", "-x", package, folder / "kernel")
        package.unlink()
    [image] = (folder / "kernel").rglob("vmlinuz")
    image.rename(folder / "image")
    return folder / "kernel"


def initial(unpacked, modules):
    """[(name, mode, content)] of what the kernel starts with."""
    found = {path.name.split(".")[0]: path for path in modules.rglob("*.ko.xz")}
    files = [(name, 0o40755, b"") for name in ("bin", "dev", "modules", "root")]
    files += [("bin/busybox", 0o100755, (unpacked / "usr/bin/busybox").read_bytes()), ("init", 0o100755, LOADER.encode())]
    for number, name in enumerate(MODULES):
        files.append((f"modules/{number}-{name}", 0o100644, lzma.decompress(found[name].read_bytes())))
    return files


def archive(files):
    """cpio's format "newc"."""
    content = bytearray()
    for number, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")]):
        words = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        for part in (b"070701" + b"".join(b"%08X" % word for word in words) + name.encode() + b"\0", data):
            content += part + b"\0" * (-(len(content) + len(part)) % 4)
    return bytes(content)


class Guest:
    """Started on the disk of that folder, which it doesn't change."""

    def __init__(self, folder):
        self.qemu = pexpect.spawn(
            "qemu-system-aarch64",
            [
                "-machine", "virt", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on", "-smp", "2",
                "-m", "2048", "-nodefaults", "-no-reboot", "-display", "none", "-kernel", str(folder / "image"),
                "-initrd", str(folder / "initrd"), "-append", "console=ttyAMA0 quiet loglevel=1",
                "-drive", f"file={folder}/disk,if=none,id=disk,format=raw,snapshot=on",
                "-device", "virtio-blk-device,drive=disk", "-device", "virtio-rng-device", "-serial", "stdio",
            ], encoding="utf-8", codec_errors="replace", timeout=3_600)  # fmt: skip
        self.qemu.logfile_read = (folder / "console").open("a")
        self.shell = Shell(self.qemu)

    def run(self, command, *dialogue, status=0):
        """As root; checks its exit status unless that is None."""
        text, result = self.shell.run(command, *dialogue)
        assert status is None or result == status, f"{command}: {result}\n{text}"
        return text

    def remove(self):
        self.qemu.kill(9)
        self.qemu.wait()
