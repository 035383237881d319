"""debian/examples/panel.py, a front end as others would write one: driven by keys on a display, with a picture of each
state."""

import pytest

from debian_machine import OTHER, PASSWORD, RIGHT, TREE, WRONG, Machine, root, sh
from lockers import Display
from process import wait_for

pytestmark = pytest.mark.on_request

NEEDED = (
    "adduser fonts-dejavu-core gir1.2-gtk-3.0 imagemagick iproute2 libpam-runtime libsodium23 passwd procps python3-gi"
    " util-linux xdotool xvfb"
)


class Panel(Display):
    def __init__(self, machine):
        self.machine, self.pictures = machine, []
        self.start_display()
        self.start("python3", "/home/alice/panel.py")

    def window(self, name):
        """Gives it the keyboard: there is no window manager."""
        number = self.run("xdotool", "search", "--sync", "--onlyvisible", "--name", f"^{name}$").split()[-1]
        self.run("xdotool", "windowfocus", "--sync", number)

    def do(self, name, *secrets):
        """Presses the button with that name, by its letter, and types them."""
        self.window("Passcode")
        self.key(f"alt+{name[0].lower()}")
        self.window(name)
        for secret in secrets:
            self.run("xdotool", "type", "--delay", "40", secret)
            self.key("Return" if secret is secrets[-1] else "Tab")
        # The panel draws it once the command has ended.
        wait_for(lambda: not self.run("xdotool", "search", "--onlyvisible", "--name", f"^{name}$", status=None))

    def picture(self):
        """Of the window, once it is drawn and looks other than before."""

        def is_new():
            said = self.run("import", "-window", "root", "-depth", "8", "/tmp/picture.ppm")
            self.now = (self.machine.path / "tmp/picture.ppm").read_bytes()
            return self.now not in self.pictures[-1:] and len(set(self.now)) > 20 and said == ""

        wait_for(is_new)
        self.pictures.append(self.now)


@pytest.fixture
def panel(deb):
    machine = Machine(root("bookworm", NEEDED))
    machine.run("useradd", "--create-home", "alice")
    machine.run("chpasswd", input=f"alice:{PASSWORD}\n")
    machine.install(deb)
    sh("cp", TREE / "debian/examples/panel.py", machine.path / "home/alice")
    panel = Panel(machine)
    yield panel
    panel.stop()
    machine.remove()


def test_a_person_sets_changes_locks_unlocks_and_removes_a_passcode(panel):
    def becomes(**expected):
        def is_so():
            state = panel.machine.state()
            return {name: state[name] for name in expected} == expected

        wait_for(is_so)

    panel.picture()
    panel.do("Set", PASSWORD, RIGHT)
    becomes(enrolled=True, state="ok", length=6)
    panel.picture()
    panel.do("Change", RIGHT, OTHER)
    for number, code in enumerate(WRONG[:3], 1):
        panel.do("Change", code, RIGHT)
        becomes(failures=number)
    becomes(state="locked")
    panel.picture()
    panel.do("Unlock", PASSWORD)
    becomes(state="ok", failures=0)
    panel.picture()
    panel.do("Remove", OTHER)
    becomes(enrolled=False)
    panel.picture()
