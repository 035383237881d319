"""A fleet that is made by a few commands: fresh machines on a network, and ssh from the first server to the others."""

import re

from fleet_machines import SAID, SERVERS, Host, Network
from howto import Person, steps

PASSPHRASE = "correct horse battery"
AUTHORITY = "/root/ward-7"
CREATE = f"passcode server create ward-7 {{}} --authority {AUTHORITY} --passphrase-fd 0 --yes"
NAMES = " ".join(f"{name}.example.org" for name in SERVERS)
SSH = "StrictHostKeyChecking accept-new\n"


class Few:
    def __init__(self, release, debs):
        self.release, self.debs = release, debs
        self.network = Network()
        self.hosts = {}
        for name in (*SERVERS, "ws1"):
            self.add(name)
        self.hosts["ws1"].machine.people()
        self.trust("server1", *SERVERS)

    def add(self, name):
        self.hosts[name] = Host(self.release, self.network, name, self.debs)

    def trust(self, source, *targets):
        """Root on `source` may log in on these by ssh."""
        self.run("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519", source)
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
        return self.run(CREATE.format(servers) + more, status=status, input=passphrase + "\n")

    def token(self, workstation="ws1", server="server1"):
        said = self.run(f"passcode server invite-workstation {workstation}", server)
        return re.search(r"^(?:[0-9a-f]{4}-){7}[0-9a-f]{4}$", said, re.MULTILINE)[0]

    def join(self, token, name="ws1", server="server1.example.org", status=0, more=""):
        return self.run(f"passcode-fleet-join {server} {more}", name, status, input=token + "\n")

    def follow(self, *numbers):
        """These steps of the page's short way."""
        page = steps(self.debs[-1])
        phrase = dict.fromkeys(("Passphrase of the authorities:", "Repeat it:"), PASSPHRASE)
        answers = {**SAID, **phrase, "Create the fleet ward-7? [y/N]": "y"}
        for number in numbers:
            name = {"server1": "server1", "the workstation": "ws1"}[page[number].place]
            person = Person(self.hosts[name].machine, answers=answers)
            person.follow(page, number)
            answers["Token:"] = person.names.get("TOKEN")

    def end(self):
        for host in self.hosts.values():
            host.remove()
        self.network.end()
