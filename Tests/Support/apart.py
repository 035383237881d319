"""A fleet whose members are on machines of their own, as far as the network is concerned: each in its own namespace, with
its server, all on one bridge."""

import subprocess

from fleet import Fleet, Holder


class Apart(Fleet):
    def make_networks(self):
        self._hub("ip", "link", "add", "hub", "type", "bridge")
        self._hub("ip", "link", "set", "hub", "up")
        self.nets = []
        for number in range(3):
            net = Holder(["unshare", "--net"], "ip link set lo up")
            self.nets.append(net)
            self._hub("ip", "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns", str(net.pid))
            self._hub("ip", "link", "set", f"to{number}", "master", "hub", "up")
            for words in (f"addr add 10.77.0.{number + 1}/24 dev eth0", "link set eth0 up"):
                subprocess.run([*self.inside(number), "ip", *words.split()], check=True)

    def _hub(self, *words):
        subprocess.run(["nsenter", f"--net=/proc/{self.net.pid}/ns/net", *words], check=True)

    def inside(self, number):
        return ["nsenter", f"--net=/proc/{self.nets[number].pid}/ns/net"]

    def client(self, _number):
        return 2379

    def peer(self, number):
        return f"http://10.77.0.{number + 1}:2380"

    def cut_off(self, number):
        self._hub("ip", "link", "set", f"to{number}", "down")

    def connect(self, number):
        self._hub("ip", "link", "set", f"to{number}", "up")

    def restart(self):
        for number in range(3):
            self.connect(number)
        super().restart()

    def end(self):
        super().end()
        for net in self.nets:
            net.end()
