"""Other times and other boots."""

import contextlib
import pathlib
import subprocess
import uuid

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def later(seconds):
    """The command that runs another one so many seconds later, by the clocks that count from the boot."""
    return ["unshare", "--time", "--boottime", str(int(seconds)), "--monotonic", str(int(seconds))]


@contextlib.contextmanager
def boot_id(bed, content):
    file = bed.folder / "boot_id"
    file.write_text(content)
    subprocess.run(["mount", "--bind", str(file), BOOT_ID], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", BOOT_ID], check=True)


def rebooted(bed):
    return boot_id(bed, f"{uuid.uuid4()}\n")


def by_wall_clock(moment):
    [library] = pathlib.Path("/usr/lib").glob("*-linux-gnu/faketime/libfaketime.so.1")
    return {"LD_PRELOAD": str(library), "FAKETIME": f"@{moment}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
