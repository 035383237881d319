"""The whole report: all sections, on this machine, as JSON."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import time

from compare import loading, logins, offline, peers, profile, scale, stacks, storms
from compare.figures import Effort

SCHEMA = 1
FILE, PICTURE = (peers.TREE / "Tests" / name for name in ("compare.json", "compare.svg"))

SECTIONS = [
    ("load", "Loading the module", loading.figures),
    ("authenticate", "A correct secret", logins.authenticating),
    ("refuse", "A refusal", logins.refusing),
    ("storm", "Many people at once", storms.storms),
    ("budget", "One person's prompts, all open at once", storms.budgets),
    ("scale", "Stores of many", scale.figures),
    ("offline", "A search of a stolen record", offline.figures),
    ("profile", "What an attempt does besides hashing", profile.figures),
]


@dataclasses.dataclass
class Kit:
    """What the sections measure with: fixtures of the tests, and costs."""

    effort: Effort
    make_bed: object
    machine: object

    @property
    def operations(self):
        return self.effort.of(3, 1)

    @property
    def bytes(self):
        return self.effort.of(64, 1) << 20

    @property
    def cost(self):
        return {"opslimit": self.operations, "memlimit": f"{self.bytes >> 20}M"}

    @property
    def hashing(self):
        """crypt(3)'s prefix and cost."""
        return self.effort.of(stacks.YESCRYPT, stacks.CHEAPEST)


def measured(kit, versions, tell=print):
    begun, sections = time.monotonic(), []
    for name, title, figures in SECTIONS:
        rows = []
        for row in figures(kit):
            rows.append(dataclasses.asdict(row))
        sections.append({"name": name, "title": title, "rows": rows})
        tell(f"{title}: {len(rows)} figures, {time.monotonic() - begun:.0f} s")
    return {"schema": SCHEMA, "taken": taken(kit, versions), "sections": sections}


def taken(kit, versions):
    """When and where, as far as it explains the figures."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    release = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "mode": kit.effort.of("full", "quick"),
        "release": release[1],
        "kernel": ".".join(platform.release().split(".")[:2]),
        "processor": cpu[1] if cpu else platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "versions": versions,
    }


def read(path=FILE):
    return json.loads(path.read_text())


def text(report):
    """With a row to a line, so that a difference shows which figures changed."""
    lines = json.dumps({**report, "sections": []}, indent=1)[: -len('[]\n}')].rstrip().removesuffix("[]")
    parts = []
    for section in report["sections"]:
        rows = ",\n".join(f"   {json.dumps(row)}" for row in section["rows"])
        head = f'  {{"name": {json.dumps(section["name"])}, "title": {json.dumps(section["title"])}, "rows": ['
        parts.append(f"{head}\n{rows}\n  ]}}")
    return lines + "[\n" + ",\n".join(parts) + "\n ]\n}\n"


class Figures:
    """A report's rows, by name."""

    def __init__(self, report):
        self.taken = report["taken"]
        self.sections = {section["name"]: section for section in report["sections"]}

    def rows(self, section, name=None, **what):
        wanted = {"name": name, **what} if name else what
        found = self.sections[section]["rows"]
        return [row for row in found if all(row[key] == value for key, value in wanted.items())]

    def one(self, section, name, **what):
        [row] = self.rows(section, name, **what)
        return row

    def largest(self, section, name, **what):
        """That with the largest crowd or store: the sections go upwards."""
        return self.rows(section, name, **what)[-1]
