"""A fleet that is made by a few commands: fresh machines on a network, and ssh to the servers from the first one, or from a
machine that is none."""

import re

from fleet_machines import SAID, SERVERS, Host, Network
from howto import Person, steps

PASSPHRASE = "correct horse battery"
AUTHORITY = "/root/ward-7"
CREATE = f"passcode server create ward-7 {{}} --authority {AUTHORITY} --passphrase-fd 0 --yes"
NAMES = " ".join(f"{name}.example.org" for name in SERVERS)
ETCD = "export ETCDCTL_API=3 ETCDCTL_USER=root:$(cat /root/etcd-root.password);"  # on server1
TOKEN = re.compile(r"^(?:[0-9a-f]{4}-){7}[0-9a-f]{4}$", re.MULTILINE)
MAKING = "0.1", "0.2"  # the steps for which the page allows a machine that is no server
SSH = "StrictHostKeyChecking accept-new\n"

FOLDERS = "etc/passcode", "etc/stunnel", "etc/etcd", "etc/default", "etc/systemd", "root", "var/lib/passcode-verifier"
# What a run of ours has besides: ssh, and the issuer of workstations' certificates.
BESIDES = re.compile(r"root/\.|etc/passcode/issuer|root/(ward-7|fleet\.tar)|.*/passcode-(verifier-issue|fleet-renew)\.")


class Few:
    def __init__(self, release, debs, *more, source="server1"):
        """`more`: further servers; `source`: the machine that makes the fleet."""
        self.release, self.debs, self.source = release, debs, source
        self.network = Network()
        self.hosts = {}
        self.commands = 0  # of the page, so far
        for name in dict.fromkeys((*SERVERS, *more, "ws1", source)):
            self.add(name)
        self.hosts["ws1"].machine.people()
        self.trust(source, *SERVERS, *more)

    def add(self, name):
        self.hosts[name] = Host(self.release, self.network, name, self.debs)

    def trust(self, source, *targets):
        """Root on `source` may log in on these by ssh."""
        self.run("[ -e /root/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519", source)
        self.path("root/.ssh/config", source).write_text(SSH)
        key = self.path("root/.ssh/id_ed25519.pub", source).read_text()
        for target in targets:
            self.run("mkdir -p -m 0700 /root/.ssh", target)
            self.path("root/.ssh/authorized_keys", target).write_text(key)

    def path(self, path, name="server1"):
        return self.hosts[name].machine.path / path

    def run(self, command, name="server1", status=0, input=""):
        return self.hosts[name].machine.run("bash", "-c", command, input=input, status=status, timeout=300)

    def create(self, servers=NAMES, status=0, more="", passphrase=PASSPHRASE):
        return self.run(CREATE.format(servers) + more, self.source, status, passphrase + "\n")

    def token(self, workstation="ws1", server="server1"):
        return TOKEN.search(self.run(f"passcode server invite-workstation {workstation}", server))[0]

    def join(self, token, name="ws1", server="server1.example.org", status=0, more=""):
        return self.run(f"passcode-fleet-join {server} {more}", name, status, input=token + "\n")

    def follow(self, *numbers):
        """These steps of the page's short way."""
        page = steps(self.debs[-1])
        phrase = dict.fromkeys(("Passphrase of the authorities:", "Repeat it:"), PASSPHRASE)
        answers = {**SAID, **phrase, "Create the fleet ward-7? [y/N]": "y", "Change the fleet ward-7? [y/N]": "y"}
        for number in numbers:
            name = {"server1": self.source if number in MAKING else "server1", "the workstation": "ws1"}[page[number].place]
            person = Person(self.hosts[name].machine, answers=answers)
            person.follow(page, number)
            answers["Token:"] = person.names.get("TOKEN") or answers.get("Token:")
            self.commands += sum(len(part[0].replace("\\\n", "").splitlines()) for part in page[number].parts if isinstance(part, tuple))

    def end(self):
        for host in self.hosts.values():
            host.remove()
        self.network.end()


def described(machine, *folders):
    """{path: (mode, owner, group, what it is)} below these, with what differs between any two fleets left out."""
    found = {}
    names = {name: dict(re.findall(r"^([^:]*):[^:]*:(\d+):", (machine.path / f"etc/{name}").read_text(), re.MULTILINE))
             for name in ("passwd", "group")}  # fmt: skip
    owners, groups = ({int(number): name for name, number in names[kind].items()} for kind in ("passwd", "group"))
    for path, (mode, owner, group, content) in machine.snapshot(*folders).items():
        if not BESIDES.match(path):
            found[path] = mode, owners[owner], groups[group], likeness(machine, path, content)
    return found


def likeness(machine, path, content):
    if path.endswith(".pem"):
        fields = "-noout -subject -issuer -ext subjectAltName".split()
        return machine.run("openssl", "x509", "-in", f"/{path}", *fields)
    if path.endswith(("key", ".password")) or "passcode-verifier/" in path or "root/" in path:
        return "a secret"
    if isinstance(content, bytes) and path.endswith(("workstations", "passcode-fleet.conf")):
        return sorted(line for line in content.decode().splitlines() if not re.match("# [0-9a-f]{32} ws|CN=ws[2-9]", line))
    return content
