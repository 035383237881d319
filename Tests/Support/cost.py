"""What work costs this process, and work in a process of its own."""

import gc
import os
import pathlib
import re
import resource
import traceback


def cost():
    """Resident memory in KiB (counted page by page), open descriptors, mappings."""
    gc.collect()
    memory = pathlib.Path("/proc/self/smaps_rollup").read_text()
    maps = pathlib.Path("/proc/self/maps").read_text().count("\n")
    return int(re.search(r"Rss: +(\d+)", memory)[1]), len(os.listdir("/proc/self/fd")), maps


def processor_seconds():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_child(work):
    """Runs it in a child, whose cost is its own; returns its growth."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(writing, repr(work()).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    data = b"".join(iter(lambda: os.read(reading, 4096), b""))
    os.close(reading)
    assert os.waitpid(child, 0)[1] == 0
    return eval(data)


def growth(step, times):
    """The least of three spans of so many steps: a leak is in each of them, the test program's own growth isn't."""
    for _ in range(times // 10):
        step()
    cost()  # the first measurement costs something itself
    marks = [cost()]
    for _ in range(3):
        for _ in range(times):
            step()
        marks.append(cost())
    spans = [[after - before for after, before in zip(*pair, strict=True)] for pair in zip(marks[1:], marks)]
    return tuple(map(min, zip(*spans, strict=True)))
