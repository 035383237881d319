"""A fleet's machines, as an administrator has them: fresh ones of a release with systemd, on one network, and Debian's
packages where apt finds them. Nothing of a fleet is installed there yet."""

import functools
import os
import shutil
import subprocess

from container import PROGRAMS, Container, Systemd
from debian_machine import RIGHT, Machine, root, sh
from howto import Person, steps

SERVERS = "server1", "server2", "server3"
OURS = "Passcode or password: "
SAID = {"New passcode (4 or 6 digits):": RIGHT, "Repeat new passcode:": RIGHT}
ARCHIVE = "srv/packages"
# By which one machine sets up others.
SSH = "openssh-client openssh-server"
# What apt on them can install besides our own packages.
AVAILABLE = "etcd-server etcd-client nftables openssl stunnel4 systemd-journal-remote"
DOWNLOAD = f"""--customize-hook=export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" && apt-get clean && \
apt-get -q -y --download-only install {AVAILABLE} >/dev/null && \
mkdir -p "$1/{ARCHIVE}" && mv "$1"/var/cache/apt/archives/*.deb "$1/{ARCHIVE}/" """
ADDRESSES = {**{f"server{number}": f"192.0.2.{number}" for number in range(1, 6)}, "ws1": "192.0.2.11"}
ADDRESSES |= {"admin": "192.0.2.21", "log": "192.0.2.22"}  # no servers
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
    return root(release, f"{PROGRAMS} {SSH}", DOWNLOAD)


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


class Ward:
    """The machines, and who is at each of them, with the README.Debian of these packages."""

    def __init__(self, release, debs):
        self.release, self.debs = release, debs
        self.page = steps(debs[-1])
        self.network = Network()
        self.hosts, self.people = {}, {}
        self.authorities = Person(offline(release))
        for name in (*SERVERS, "ws1"):
            self.add(name)
        self.hosts["ws1"].machine.people()
        self.alice, self.code = None, RIGHT

    def add(self, name):
        self.hosts[name] = Host(self.release, self.network, name, self.debs)
        self.sit_down(name)

    def sit_down(self, name):
        own = {"server1": name, ADDRESSES["server1"]: ADDRESSES[name]}
        self.people[name] = Person(self.hosts[name].machine, own, SAID)

    def start(self, name):
        """A server whose power was cut. It is ready once it has noted how far etcd has come."""
        self.hosts[name].start()
        self.sit_down(name)
        self.hosts[name].wait("systemctl start passcode-verifier-seen")

    def lose(self, name):
        """The machine is gone, with its disk."""
        self.hosts.pop(name).remove()
        self.people.pop(name)

    def follow(self, *numbers, new=None):
        """Each of these steps, on the machines that it names."""
        for number in numbers:
            for person in self.at(self.page[number].place, new):
                person.follow(self.page, number)

    def set_up(self):
        """From fresh machines to where alice can log in on the workstation."""
        self.follow("1.1", "1.2", "1.3")
        for name in (*SERVERS, "ws1"):
            self.carry(f"root/fleet-ca/{name}.tar", self.authorities, name)
        self.follow("2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7")
        self.carry("root/fleet.tar", self.people["server1"], "server2", "server3")
        self.follow("2.8", "2.9", "3.1", "4.1", "4.2", "4.3", "4.4")

    def at(self, place, new):
        if place == "the offline machine":
            return [self.authorities]
        if place in ("the workstation", "each workstation"):
            return [self.people["ws1"]]
        if place == "the log machine":
            return [self.people["log"]]
        if place == f"the new {new}":
            return [self.people[new]]
        return [self.people[name] for name in (SERVERS if place == "each server" else place.split(" and "))]

    def carry(self, path, source, *targets):
        """What the page says is to be copied."""
        for target in targets:
            shutil.copy(source.machine.path / path, self.people[target].machine.path / "root")

    def server(self, command, name="server1"):
        return self.hosts[name].run(command, None)

    def sudo(self, *answers):
        """alice's sudo with these answers at its prompts: what it said, and its exit status."""
        self.alice.line.send('sudo -k id -u; echo "<$?"">"\r')
        text = ""
        for answer in answers:
            self.alice.line.expect("assword[^\n]*: ")
            text += self.alice.line.before + self.alice.line.after
            self.hosts["ws1"].wait("sleep 0.2")  # until the echo is off
            self.alice.line.send(answer + "\r")
        self.alice.line.expect(r"<(\d+)>")
        result = text + self.alice.line.before, int(self.alice.line.match[1])
        self.alice.line.expect(">> ")
        return result

    def opens(self):
        text, status = self.sudo(self.code)
        assert status == 0 and text.split()[-1] == "0", text

    def end(self):
        for host in self.hosts.values():
            host.remove()
        self.authorities.machine.remove()
        self.network.end()
