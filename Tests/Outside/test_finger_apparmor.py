"""What the AppArmor profile of passcode-finger lets it do, against what it does. (No kernel enforces it here.)"""

import pathlib
import struct
import time

import finger
import machine as machines
import pytest
from apparmor import CALLS, Profile, needed
from bed import uid
from finger import LIST, Finger, Match, count_file
from logind import Logind
from reader import PRINTS

PROFILE = pathlib.Path(__file__).parents[2] / "Sources/system/apparmor/usr.libexec.passcode-finger"


class Traced(Finger):
    """One prompt under strace, whose process isn't the program's parent: that must be who made the connection."""

    def __init__(self, trace, **how):
        self.trace = trace
        strace = ("strace", "-D", "-y", "-qq", "-s", "300", "-e", f"trace={CALLS}", "-e", "signal=none", "-f", "-o", trace)
        super().__init__(program=(*strace, finger.PROGRAM), **how)

    def used(self):
        """{(path, permissions)} of what worked."""
        self.close()
        lines = [line for line in self.trace.read_text().splitlines() if "+++" not in line]
        assert "execve" in lines[0]  # strace's own
        return {asked for line in lines[1:] if (asked := needed(line))}


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_the_apparmor_profile_lets_passcode_finger_do_its_work(restored, tmp_path, name):
    """A prompt for a session with a match, also where the bus has to start fprintd; and the list of fingers."""
    restored.stop()
    used = set()
    with Logind(), Traced(tmp_path / "watch", name=name, wants_session=name == "alice") as prompt:
        if name == "alice":
            assert [prompt.event(starting=True), prompt.event()] == ["starting", "watching"]
            restored.touch("alice-finger")
            assert isinstance(prompt.event(), Match)
            assert count_file().exists()
        else:
            assert prompt.events() == ["not enrolled"]
        used |= prompt.used()
    with Traced(tmp_path / "list", name=name, operation=LIST) as listed:
        assert listed.events() == [{6} if name == "alice" else "not enrolled"]
        used |= listed.used()
    paths = {path for path, _ in used}
    assert "/run/dbus/system_bus_socket" in paths
    if name == "alice":
        assert {f"/run/passcode/{uid(name)}.finger", f"/run/systemd/users/{uid(name)}"} <= paths
    profile = Profile(PROFILE)
    assert {asked for asked in used if not profile.allows(*asked)} == set()


def test_the_apparmor_profile_lets_it_tell_whether_prints_changed(restored, tmp_path):
    machines.CONFIGURATION.write_text("finger_for=1h\n")
    noted, use = (machines.RUN / f"{uid('alice')}.{end}" for end in ("prints", "use"))
    noted.unlink(missing_ok=True)
    paths, profile = set(), Profile(PROFILE)
    with Logind():
        for name, event in (("first", "prints changed"), ("second", "watching")):
            with Traced(tmp_path / name, wants_session=True) as prompt:
                assert prompt.event() == event
                used = prompt.used()
            assert {asked for asked in used if not profile.allows(*asked)} == set()
            paths |= {path for path, _ in used}
            use.write_bytes(struct.pack("<Q", int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1_000) + 1))
            use.chmod(0o600)
    machines.CONFIGURATION.unlink()
    print_file = next(path for path in (PRINTS / "alice").rglob("*") if path.is_file())
    assert {str(machines.CONFIGURATION), str(noted), str(use), str(print_file)} <= paths


def test_the_apparmor_profile_forbids_the_rest():
    profile = Profile(PROFILE)
    for path, letters in (("/etc/shadow", "r"), ("/etc/passcode/key", "r"), ("/var/lib/passcode/1000", "r"),
                          ("/run/passcode/1000", "r"), ("/usr/bin/true", "x"), ("/var/lib/fprint/alice", "w")):  # fmt: skip
        assert not profile.allows(path, letters), path
