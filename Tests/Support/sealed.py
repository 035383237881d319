"""A bed whose key the stand-in for a TPM seals: the files, and what is done with them."""

import shutil
import signal
import subprocess

import sealing
from bed import become
from machine import ACCOUNT, KEY, sh
from recovery import printed
from scenario import RIGHT
from sealing import LOADED
from tool import DONE

SEALED = KEY.with_name("key.cred")
NEXT, SEALED_NEXT, LOADED_NEXT = (path.with_name(path.name + ".new") for path in (KEY, SEALED, LOADED))


def key(bed, *action, check=DONE, **how):
    return bed.tool("key", *printed(*action), check=check, **how)


def recover(bed, copy, check=DONE):
    return key(bed, "recover", "--stdin", stdin=copy, check=check)


def logs_in(bed, user="alice", code=RIGHT):
    """Directly, and through the helper."""
    hows = [{}, {"prepare": become(user)}] if user != "root" else [{}]
    results = {bed.authenticate(user, code, **how).result for how in hows}
    assert results in ({"SUCCESS"}, {"AUTHINFO_UNAVAIL"}), results
    return results == {"SUCCESS"}


def everybody_logs_in(bed):
    return logs_in(bed) and logs_in(bed, "bob")


def boot(bed, check=DONE):
    """And what the unit does."""
    sealing.boot()
    return key(bed, "load", check=check)


def status(bed):
    """Its warnings."""
    return key(bed, "status").errors


def killed(bed, call, number, *action):
    """Kills it at the N-th of these calls. What it printed, and whether it was."""
    run = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
         *bed.tool_words(), "key", *printed(*action)], capture_output=True, text=True,
    )  # fmt: skip
    return run.stdout, run.returncode == -signal.SIGKILL


def put_back(content, path=KEY):
    """A plain key, as from a backup."""
    path.write_bytes(content)
    path.chmod(0o440)
    shutil.chown(path, "root", ACCOUNT)


def another_sealed_key(content):
    options = "--name=passcode.key", "--with-key=tpm2", "--tpm2-pcrs=7", "-", "-"
    return sh(sealing.PROGRAM, "encrypt", *options, input=content, stdout=subprocess.PIPE).stdout
