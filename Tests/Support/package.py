"""The Debian package: how it is built, where its files lie, and logins where it is installed."""

import functools
import os
import re
import shutil
import subprocess

from debian_machine import PASSWORD, RIGHT, TREE, finished, prompted, sh
from shared import locked

STORE, KEY, HELPER = "var/lib/passcode", "etc/passcode/key", "usr/libexec/passcode-helper"


def copy_tree(source, is_backwards=False):
    """A copy of the tree, without what was built; where a folder lists the newest name first, in the other order."""
    source.mkdir(parents=True)
    names = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TREE, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in sorted(filter(None, names.split("\0")), reverse=is_backwards):
        target = source / name
        if (TREE / name).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, target)
    return source


# Of what reprotest varies: user, home, umask, time zone, locale, folder, and the order of the files; the time differs
# anyway. Left out: a clock that is wrong, with which make and SwiftPM compare the times of files; a kernel, processors and
# a host name of another machine.
ANOTHER = "setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override".split()
ELSEWHERE = {"HOME": "/nonexistent", "USER": "nobody", "TZ": "Asia/Tokyo", "LC_ALL": "POSIX"}
# The linker looks for a file with access(2), for which capabilities don't count: nobody mustn't come by /root.
THERE = 'mount --bind "$0" /mnt && cd /mnt/source && exec "$@"'


def build_otherwise(folder):
    """By another user, in another environment. Beside tests, and they have limits."""

    def tree(source):
        copy_tree(source, is_backwards=True)
        sh("chown", "--recursive", "nobody:nogroup", folder)
        return source

    who = ["nice", "-n", "10", "unshare", "--mount", "sh", "-c", THERE, folder, *ANOTHER]
    return build(folder, tree, who, {**os.environ, **ELSEWHERE}, umask=0o002)


def build(folder, tree=copy_tree, who=(), environment=os.environ, **how):
    """Builds the package in this folder, from a copy of the tree or from what else `tree` puts there."""
    source = tree(folder / "source")
    log = folder / "log"
    with log.open("w") as output:
        done = subprocess.run(
            [*who, "dpkg-buildpackage", "-us", "-uc", "-b", "-Ppkg.pam-passcode.localswift"],
            cwd=source, env={**environment, "DEB_BUILD_OPTIONS": "nocheck"}, stdout=output, stderr=output, **how,
        )  # fmt: skip
    # One line of a linker's has 10,000 characters.
    assert done.returncode == 0, "\n".join(line[:300] for line in log.read_text().splitlines()[-40:])
    return folder


def build_once(folder, build=build):
    """The same, unless another run has built there. What one left that failed goes first."""
    with locked(folder / "lock"):
        if not (folder / "built").exists():
            shutil.rmtree(folder / "source", ignore_errors=True)
            build(folder)
            (folder / "built").touch()
    return folder


def output(*command, **how):
    return sh(*command, capture_output=True, text=True, **how).stdout


def needed_packages(package, *fields):
    """The names in these fields of a package."""
    return set(re.findall(r"[\w-]+(?= \(|,|$)", output("dpkg-deb", "-f", package, *fields).removeprefix("Depends: ")))


@functools.cache
def needing(version):
    """Makes a package need libpam-passcode in this version."""

    def change(folder):
        control = folder / "DEBIAN/control"
        control.write_text(re.sub(r"libpam-passcode \(= [^)]*\)", f"libpam-passcode (= {version})", control.read_text()))

    return change


def number(machine, user):
    return machine.run("id", "-u", user).strip()


def su(machine, prompt, answer):
    child = machine.terminal("su", "alice", "-c", "id -un")
    prompted(child, (f"^{prompt}", answer))
    assert finished(child) == ("\r\nalice\r\n", 0)


def passcode_works(machine):
    su(machine, "Passcode or password: ", RIGHT)


def only_the_password_is_asked(machine):
    su(machine, "Password: ", PASSWORD)


def the_password_works(machine):
    """Whether the passcode may be typed there, too, or not."""
    child = machine.terminal("su", "alice", "-c", "id -un")
    child.expect("^(Passcode or p|P)assword: ")
    prompted(child, ("^", PASSWORD))
    assert "alice" in finished(child)[0]
