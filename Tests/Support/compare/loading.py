"""1. Loading: what a login program pays before anything is asked."""

import os
import re
import shutil
import subprocess

import host
from bed import MODULE
from compare import peers
from compare.figures import counted, figure


def figures(kit):
    ours, *others = loads = samples(kit.effort.of(401, 7))
    for peer, load in zip(peers.MODULES, others, strict=True):
        yield figure("dlopen", peer, "µs", list(zip(ours.nanoseconds, load.nanoseconds, strict=True)), scale=1e-3)
    for name, unit, value in [
        ("resident memory added", "KiB", lambda load: load.resident),
        ("private memory added", "KiB", lambda load: load.private),
        ("relocations, with its libraries", "", lambda load: sum(map(relocations, load.files))),
        ("file size", "KiB", lambda load: load.module.stat().st_size / 1024),
        ("libraries pulled in", "", lambda load: len(load.files) - 1),
    ]:
        values = [value(load) for load in loads]
        for peer, other in zip(peers.MODULES, values[1:], strict=True):
            yield counted(name, peer, unit, values[0], other)


class Load:
    """What `bare load` says of one module."""

    def __init__(self, module, lines):
        self.module = module
        self.nanoseconds = [float(line[1]) for line in lines]
        # The median: what is resident depends on what the kernel read ahead.
        self.resident, self.private = (sorted(int(line[n]) for line in lines)[len(lines) // 2] for n in (2, 3))
        self.files = next(line[4:] for line in lines if len(line) > 4)


def samples(rounds):
    modules = [on_disk(MODULE), *map(peers.module, peers.MODULES)]
    command = [host.compiled("bare"), "load", str(rounds), *map(str, modules)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    lines = [line.split("\t") for line in output.splitlines()]
    return [Load(module, [line for line in lines if line[0] == str(n)]) for n, module in enumerate(modules)]


def on_disk(module):
    """A copy that is read from a disk, as theirs are: what is read from a tmpfs counts as written."""
    copy = peers.FOLDER / module.name
    shutil.copyfile(module, copy)
    with copy.open("rb") as file:
        os.fsync(file)
    return copy


def relocations(path):
    """So many words of the file are written when it is loaded; packed ones are counted one by one."""
    text = subprocess.run(["readelf", "-rW", path], check=True, capture_output=True, text=True).stdout
    total, section = 0, r"^Relocation section '(.*?)' at .* contains (\d+) entr.*\n(?:  (\d+) offsets)?"
    for _, entries, offsets in re.findall(section, text, re.MULTILINE):
        total += int(offsets or entries)
    return total
