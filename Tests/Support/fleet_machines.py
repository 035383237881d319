"""A fleet's machines, as an administrator has them: fresh ones of a release with systemd, on one network, and Debian's
packages where apt finds them. Nothing of a fleet is installed there yet."""

import functools
import os
import shutil
import subprocess

from container import PROGRAMS, Container, Systemd
from debian_machine import Machine, root, sh

ARCHIVE = "srv/packages"
# What apt on them can install besides our own packages.
AVAILABLE = "etcd-server etcd-client nftables openssl stunnel4"
DOWNLOAD = f"""--customize-hook=export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" && apt-get clean && \
apt-get -q -y --download-only install {AVAILABLE} >/dev/null && \
mkdir -p "$1/{ARCHIVE}" && mv "$1"/var/cache/apt/archives/*.deb "$1/{ARCHIVE}/" """
ADDRESSES = {"server1": "192.0.2.1", "server2": "192.0.2.2", "server3": "192.0.2.3", "ws1": "192.0.2.11"}
HOSTS = "".join(f"{address} {name}.example.org {name}\\n" for name, address in ADDRESSES.items())
# In BOOT: a cable to the switch, which is a bridge in a namespace. The port there has its machine's name.
CABLE = """hostname {name}
echo {name} > "$root/etc/hostname"
printf '{hosts}' >> "$root/etc/hosts"
ip link add lan type veth peer name {name} netns {switch}
ip address add {address}/24 dev lan
ip link set lan up
nsenter --net={switch} ip link set {name} master lan up
"""
SWITCH = "ip link add lan type bridge && ip link set lan up && echo up && exec sleep infinity"


def fleet_root(release):
    return root(release, PROGRAMS, DOWNLOAD)


class Network:
    """What its machines are connected by."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sh", "-c", SWITCH], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"up\n"
        self.path = f"/proc/{self.process.pid}/ns/net"

    def cable(self, name):
        return CABLE.format(name=name, hosts=HOSTS, switch=self.path, address=ADDRESSES[name])

    def unplug(self, name):
        sh("nsenter", f"--net={self.path}", "ip", "link", "delete", name)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Connected(Systemd):
    def __init__(self, network, name, *lower):
        self.switch, self.name = network, name
        self.network = network.cable(name)
        super().__init__(*lower)

    def stop(self):
        """Its network lives on while its connections have something to send, and would still answer for its address."""
        self.switch.unplug(self.name)
        super().stop()


class Host(Container):
    """`name` says its address, too."""

    def __init__(self, release, network, name, debs):
        self.name = name
        self.machine = Connected(network, name, fleet_root(release))
        offer(self.machine, release, debs)


def offline(release):
    """A machine without a network, for the authorities."""
    machine = Machine(fleet_root(release))
    offer(machine, release, ())
    return machine


def offer(machine, release, debs):
    """These packages, and those of Debian that a fleet needs, are what its apt knows."""
    folder = machine.path / ARCHIVE
    for deb in debs:
        shutil.copy(deb, folder)
    (folder / "Packages").write_text(index(release, tuple(debs)))
    apt = machine.path / "etc/apt"
    shutil.rmtree(apt / "sources.list.d", ignore_errors=True)
    (apt / "sources.list").write_text(f"deb [trusted=yes] file:/{ARCHIVE} ./\n")
    machine.run("apt-get", "-q", "update")


@functools.cache
def index(release, debs):
    """apt's list of them."""
    folders = {fleet_root(release) / ARCHIVE, *(os.path.dirname(deb) for deb in debs)}
    texts = [
        sh("dpkg-scanpackages", "--multiversion", ".", cwd=folder, capture_output=True, text=True).stdout
        for folder in folders
    ]
    return "\n".join(texts)
