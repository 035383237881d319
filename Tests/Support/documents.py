"""README.Debian as the package installs it: its pages, and the commands on them."""

import gzip
import re
import textwrap


def page(machine, title):
    """The text below this title, up to the next one."""
    path = machine.path / "usr/share/doc/libpam-passcode/README.Debian.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    [found] = re.findall(rf"^{re.escape(title)}\n-+\n\n(.*?)(?:\n\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found


def blocks(page):
    """What is indented on it, block by block: the commands."""
    found = re.findall(r"^((?: {4,}\S.*\n)+)", page + "\n", re.MULTILINE)
    return [textwrap.dedent(block).strip() for block in found]
