"""What is on the device: the records, as a key that is there opens them, and all files, to begin again from."""

import dataclasses
import os

import forge
from bed import SLOT
from machine import KEY, RUN, STORE
from scenario import is_valid

FOLDERS = (STORE, RUN, KEY.parent)


@dataclasses.dataclass(frozen=True)
class Saved:
    """What a record says, and its credential as a key on the device opens it."""

    generation: int
    name: str
    state: str
    disabled: bool
    paused: bool
    failures: int
    must_change: str
    plain: bytes  # b"" where there is none, None where no key opens it
    sealed: bytes


NOTHING = Saved(0, "", "none", False, False, 0, "no", b"", b"")


class Device:
    def __init__(self):
        self.opened = {}  # of a sealed credential and a key

    def snapshot(self):
        """All files of the folders, with what tells who may use them."""
        files = {}
        for folder in FOLDERS:
            for path in folder.rglob("*"):
                status = path.stat()
                files[path] = (status.st_mode, status.st_uid, status.st_gid, path.read_bytes() if path.is_file() else None)
        return files

    def restore(self, files):
        for folder in FOLDERS:
            for path in folder.rglob("*"):
                if path not in files:
                    path.unlink()
        for path, (mode, owner, group, content) in files.items():
            if content is None:
                continue
            if not path.exists() or path.read_bytes() != content:  # in place: as the programs do
                path.write_bytes(content)
            status = path.stat()
            if (status.st_uid, status.st_gid) != (owner, group):
                os.chown(path, owner, group)
            if status.st_mode != mode:
                path.chmod(mode & 0o7777)

    def keys(self):
        found = []
        for name in ("key", "key.new"):
            try:
                found.append((KEY.parent / name).read_bytes())
            except FileNotFoundError:
                pass
        return found

    def record(self, number):
        """Saved; None: no copy can be read."""
        try:
            whole = (STORE / str(number)).read_bytes()
        except FileNotFoundError:
            return NOTHING
        copies = [whole[:SLOT], whole[SLOT:]]
        saved = [self.saved(copy) for copy in copies if is_valid(copy)]
        if len(whole) != 2 * SLOT or not saved or len(saved) == 2 and abs(saved[0].generation - saved[1].generation) != 1:
            return None
        return max(saved, key=lambda one: one.generation)

    def saved(self, copy):
        said = dict(line.split("=", 1) for line in copy.rstrip(b"\0").decode().splitlines())
        sealed = bytes.fromhex(said["sealed"])
        return Saved(
            int(said["generation"]), said["name"], said["state"], said["disabled"] in ("yes", "both"),
            said["disabled"] in ("paused", "both"), int(said["failures"]),
            said["must_change"], self.plain(sealed, int(said["uid"]), said["name"]), sealed,
        )  # fmt: skip

    def plain(self, sealed, number, name):
        if not sealed:
            return b""
        for key in self.keys():
            if (sealed, key) not in self.opened:
                self.opened[sealed, key] = forge.opened(sealed, number, name, key)
            if self.opened[sealed, key]:
                return self.opened[sealed, key]
        return None
