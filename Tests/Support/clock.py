"""Other times and other boots."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def later(seconds):
    """The command that runs another one so many seconds later, by the clocks that count from the boot."""
    return ["unshare", "--time", "--boottime", str(int(seconds)), "--monotonic", str(int(seconds))]
