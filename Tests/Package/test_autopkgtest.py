"""debian/tests for what needs systemd, as autopkgtest runs them: as root, in a container of each release that they may
break, with the packages that they declare. debian/tests/stack: test_deb.py."""

import re

import pytest

from container import Container
from debian_machine import TREE

pytestmark = pytest.mark.on_request


def declared(test):
    """The Debian packages that debian/tests/control names for it, without ours."""
    control = (TREE / "debian/tests/control").read_text()
    [names] = re.findall(rf"^Tests: {test}\nDepends: (.*)$", control, re.MULTILINE)
    return [name for name in names.split(", ") if not name.startswith("passcode-")]


@pytest.mark.parametrize("test", ["finger", "fleet"])
def test_with_systemd(release, deb, finger_deb, fleet_debs, test):
    debs = {"finger": [deb, finger_deb], "fleet": [deb, *fleet_debs]}[test]
    needed = declared(test) + {"finger": [], "fleet": ["nftables", "stunnel4"]}[test]
    script = {f"root/{test}": (TREE / "debian/tests" / test).read_text()}
    container = Container(release, *debs, programs=" " + " ".join(needed), files=script)
    try:
        container.run("dpkg --install --force-confold " + " ".join({f"/root/{path.name}" for path in debs}))
        print(container.run(f"/root/{test}"))
    finally:
        container.remove()
