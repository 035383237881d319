#!/usr/bin/python3
"""Tests in a machine itself, where nothing can be mounted: what they change is saved first, and put back.

    plain.py save       before the tests; puts back first what a run left that was killed
    plain.py restore    afterwards
"""

import filecmp
import os
import pathlib
import shutil
import stat
import subprocess
import sys

PLAIN = bool(os.environ.get("PASSCODE_PLAIN"))
SAVED = pathlib.Path("/var/tmp/passcode-tests-saved")
PATHS = [pathlib.Path(path) for path in (
    "/etc", "/run", "/usr/libexec", "/var/lib/passcode", "/var/lib/passcode-verifier",
    "/var/lib/pam", "/dev/log",
)]  # fmt: skip


def save(paths=PATHS, saved=SAVED):
    """Into `saved`, each below the path that it has."""
    if (saved / "complete").exists():
        restore(paths, saved)
    shutil.rmtree(saved, ignore_errors=True)
    saved.mkdir(mode=0o700, parents=True)
    for path in paths:
        if os.path.lexists(path):
            target = saved / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", path, target], check=True)
    (saved / "complete").touch()


def restore(paths=PATHS, saved=SAVED):
    """What wasn't there goes, and what has changed comes back; nothing else is touched. Without a whole copy nothing is: all
    would count as new, /etc included."""
    if not (saved / "complete").exists():
        sys.exit(f"{saved}: no whole copy of /etc and /run: nothing was put back")
    for path in paths:
        put_back(saved / path.relative_to("/"), path)
    (saved / "complete").unlink()
    shutil.rmtree(saved)


def put_back(old, new):
    if not os.path.lexists(old):
        remove(new)
    elif is_folder(old) and is_folder(new):
        for name in {*os.listdir(old), *os.listdir(new)}:
            put_back(old / name, new / name)
        shutil.copystat(old, new)
        os.chown(new, old.stat().st_uid, old.stat().st_gid)
    elif not same(old, new):
        replace(old, new)


def is_folder(path):
    return path.is_dir() and not path.is_symlink()


def same(old, new):
    if not os.path.lexists(new):
        return False
    before, now = old.lstat(), new.lstat()
    if (before.st_mode, before.st_uid, before.st_gid) != (now.st_mode, now.st_uid, now.st_gid):
        return False
    if stat.S_ISLNK(before.st_mode):
        return os.readlink(old) == os.readlink(new)
    return not stat.S_ISREG(before.st_mode) or filecmp.cmp(old, new, shallow=False)


def replace(old, new):
    try:
        remove(new)
    except OSError:  # a container's engine has mounted /etc/hosts and others: in their place
        new.write_bytes(old.read_bytes())
        return
    subprocess.run(["cp", "-a", old, new], check=True)


def remove(path):
    if is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


if __name__ == "__main__":
    {"save": save, "restore": restore}[sys.argv[1]]()
