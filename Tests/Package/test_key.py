"""The machine key in a TPM, on both releases: sealed, loaded at boot, lost and recovered, replaced.

Interrupted at each step, and at random: on request. Tests/Outside/test_key_sealing.py has the same, with a stand-in for the TPM.
"""

import collections
import hashlib
import os
import random
import re
import shutil

import pytest

import debian_machine as machines
import tpm as tpms
from debian_machine import OTHER, PASSWORD, RIGHT
from package import KEY, STORE
from recovery import key_of, printed, recovery_copy
from tpm import TPM

SEALED, LOADED = "etc/passcode/key.cred", "run/passcode-key/key"
UNUSABLE = 7
SERVICE = "auth sufficient pam_passcode.so\nauth required pam_unix.so\naccount required pam_permit.so\n"


@pytest.fixture(scope="module")
def installed(deb):
    """Makes machines of a release where it is installed, and alice and bob are enrolled."""
    made = {}

    def make(release):
        if release not in made:
            root = machines.root(release, tpms.PROGRAMS + tpms.MORE_PROGRAMS[release])
            first = machines.Machine(root)
            for name, code in (("alice", RIGHT), ("bob", OTHER)):
                first.run("useradd", "--create-home", name)
                first.run("chpasswd", input=f"{name}:{PASSWORD}\n")
            first.install(deb)
            (first.path / "etc/pam.d/test").write_text(SERVICE)
            first.configure(fail_delay="0", opslimit="1", memlimit="64K")
            for name, code in (("alice", RIGHT), ("bob", OTHER)):
                first.enroll(name, code)
            made[release] = first.copy()
        return made[release]()

    return make


@pytest.fixture
def machine(release, installed):
    machine = installed(release)
    yield machine
    machine.remove()


@pytest.fixture
def tpm(machine):
    return TPM(machine).start("firmware")


def logs_in(machine, answers, user="alice", by="root"):
    """Whether these answers, to one prompt after the other, are a login."""
    said = machine.run(
        "pamtester", "-I", f"ruser={by}", "test", user, "authenticate", user=by, status=None,
        input="".join(f"{answer}\n" for answer in answers),
    )  # fmt: skip
    return "successfully authenticated" in said


def works(machine):
    """The passcode is right or wrong, directly and through the helper."""
    for by in ("root", "alice"):
        assert logs_in(machine, [RIGHT], by=by)
    failures = machine.state()["failures"]
    # Another one each time: the same one typed again doesn't count.
    wrong = f"{random.randrange(100_000, 600_000)}"
    assert not logs_in(machine, [wrong, "not the password"])
    assert machine.state()["failures"] == failures + 1
    assert logs_in(machine, [RIGHT]) and logs_in(machine, [OTHER], user="bob")
    return True


def only_the_password_works(machine):
    """And nothing is counted."""
    store = {path.name: path.read_bytes() for path in (machine.path / STORE).iterdir()}
    for by in ("root", "alice"):
        assert not logs_in(machine, [RIGHT], by=by)
        assert logs_in(machine, [PASSWORD], by=by)
    assert store == {path.name: path.read_bytes() for path in (machine.path / STORE).iterdir()}
    return True


def boot(machine, tpm, *measured):
    """With a TPM, whose firmware measures this; or, with None, without."""
    if tpm.is_on:
        tpm.stop()
    machine.restart()
    tpm.is_on = False
    if measured != (None,):
        tpm.start(*measured)


def opens_after_a_boot(machine, tpm, measured):
    """By what the unit does."""
    boot(machine, tpm, measured)
    tpm.boot_unit()
    return works(machine)


def is_anywhere(machine, key):
    """Whether a file of the disk holds these bytes."""
    folders = [machine.path / name for name in ("etc", "var", "home", "root", "tmp")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) > 500
    return [str(path) for path in files if key in (content := path.read_bytes()) or key.hex().encode() in content]


# MARK: Sealed and loaded


# systemd 252 opens nothing that was sealed without a PCR.
BOUND = {"bookworm": "bound to PCR 16 while that is 0", "trixie": "bound to no PCR"}


def test_a_sealed_key_is_loaded_once_per_boot(machine, tpm, release):
    key = (machine.path / KEY).read_bytes()
    assert is_anywhere(machine, key) == [str(machine.path / KEY)]
    said = tpm.key("seal")
    assert "sealed by this machine's TPM, and loaded. The plain key has been removed." in said
    assert is_anywhere(machine, key) == [], "only sealed, and in /run"
    assert key_of(recovery_copy(said)) == key
    assert (machine.path / SEALED).stat().st_mode & 0o777 == 0o400
    folder, loaded = (machine.inside / LOADED).parent.stat(), (machine.inside / LOADED).stat()
    assert (folder.st_mode & 0o777, loaded.st_mode & 0o777) == (0o750, 0o440)
    assert folder.st_uid == loaded.st_uid == 0 and folder.st_gid == loaded.st_gid != 0
    assert tpm.key("status").startswith(f"/{SEALED}: sealed by the TPM, {BOUND[release]}, and loaded: OK.\n")
    assert works(machine)

    boot(machine, tpm, "other firmware")
    assert only_the_password_works(machine)
    assert any("load it (passcode key load)" in line.message for line in machine.log.lines())
    assert "passcode key load" in machine.run("passcode", "enroll", "bob", status=UNUSABLE)
    assert "passcode key load" in tpm.key("status", status=UNUSABLE)
    assert tpm.boot_unit() == ""
    assert works(machine) and (machine.inside / LOADED).read_bytes() == key
    assert tpm.boot_unit() == "" and works(machine), "twice does no harm"


def test_the_unit_is_started_at_boot_and_nobody_waits_for_it(machine):
    """And it does nothing where nothing is sealed: no TPM is asked."""
    unit = "usr/lib/systemd/system/passcode-key.service"
    wanted = machine.path / "usr/lib/systemd/system/multi-user.target.wants/passcode-key.service"
    assert wanted.is_symlink() and wanted.resolve() == (machine.path / unit).resolve()
    said = machine.run("systemd-analyze", "verify", "--man=no", f"/{unit}", f"/{unit[:-7]}timer", status=None)
    assert "passcode" not in said
    memory = (machine.path / "usr/lib/systemd/system/passcode-key-memory.service").read_text()
    assert not re.search("^(Private|Protect|ReadWrite|ReadOnly|Inaccessible|Temporary|Bind|Root)", memory, re.MULTILINE)
    # A TPM that takes its time must not hold up a login with the password.
    assert not re.search("^Before=(?!shutdown.target$)", (machine.path / unit).read_text(), re.MULTILINE)
    assert TPM(machine).boot_unit() == "" and not (machine.inside / LOADED).exists()


def test_bound_to_a_pcr_it_opens_only_while_that_is_the_same(machine, tpm):
    copy = recovery_copy(tpm.key("seal", "--pcrs", "7"))
    assert "bound to PCR 7, and loaded: OK." in tpm.key("status")
    assert opens_after_a_boot(machine, tpm, "firmware")

    boot(machine, tpm, "another firmware")
    said = tpm.boot_unit(status=UNUSABLE)
    assert f"/{SEALED}: the TPM did not unseal it: " in said and "use your recovery copy: passcode key recover" in said
    assert said.count("\n") == 1 and said == tpm.key("status", status=UNUSABLE)
    assert only_the_password_works(machine)
    assert "sealed again" in tpm.key("recover", "--stdin", "--pcrs", "7", input=copy)
    assert works(machine)
    assert opens_after_a_boot(machine, tpm, "another firmware")


def test_status_tells_before_the_boot_that_it_will_not_open(machine, tpm):
    """After an update of the firmware's lists: PCR 7 is what it will be."""
    tpm.key("seal", "--pcrs", "7")
    tpm.stop()
    tpm.start("another firmware")
    said = tpm.key("status")
    assert "warning" in said and "the TPM will not unseal it at the next boot" in said and "run: passcode key seal" in said
    tpm.key("seal", "--pcrs", "7")
    assert "warning" not in tpm.key("status")
    assert opens_after_a_boot(machine, tpm, "another firmware")


@pytest.mark.parametrize("number", [16, 7])
def test_a_value_that_passes_is_refused_where_systemd_needs_a_pcr(machine, tpm, release, number):
    """Keylime's agent extends PCR 16; another one doesn't matter."""
    tpm.run("tpm2_pcrextend", f"{number}:sha256={hashlib.sha256(b'a quote').hexdigest()}")
    is_refused = (release, number) == ("bookworm", 16)
    if tpm.leaks:  # a restart resets both
        said = TPM.run(tpm, "passcode", "key", "seal", "--force", status=UNUSABLE if is_refused else 0)
    else:
        said = tpm.key("seal")
    assert ("PCR 16 is not 0" in said) == is_refused == (machine.path / KEY).exists()


def test_a_lockout_of_the_tpm_is_told_and_ends(machine, tpm):
    tpm.key("seal")
    tpm.run("tpm2_dictionarylockout", "--setup-parameters", "--max-tries=1", "--recovery-time=1000",
            "--lockout-recovery-time=1000")  # fmt: skip
    # Without a resource manager what a command loads stays, and there is room for three.
    guess = " && tpm2_flushcontext -t && ".join((
        "tpm2_createprimary -Q -c /tmp/p",
        "echo secret | tpm2_create -Q -C /tmp/p -i - -p right -u /tmp/u -r /tmp/r",
        "tpm2_load -Q -C /tmp/p -u /tmp/u -r /tmp/r -c /tmp/o",
        "tpm2_unseal -c /tmp/o -p wrong",
    ))  # fmt: skip
    tpm.run("sh", "-c", f"{guess}; tpm2_flushcontext -t; tpm2_flushcontext -l", status=None)
    said = tpm.run("passcode", "key", "status")
    assert "dictionary attack lockout" in said and "run: tpm2_dictionarylockout --clear-lockout" in said
    tpm.run("tpm2_dictionarylockout", "--clear-lockout")
    assert "lockout" not in tpm.key("status")


# MARK: Lost


def test_without_a_tpm_the_recovery_copy_loads_the_key(machine, tpm):
    copy = recovery_copy(tpm.key("seal"))
    boot(machine, tpm, None)
    assert "the TPM did not unseal it: " in tpm.boot_unit(status=UNUSABLE)
    assert only_the_password_works(machine)
    said = tpm.key("recover", "--stdin", input=copy, status=UNUSABLE)
    assert "works until the next boot" in said and "passcode key unseal" in said
    assert works(machine)
    assert "the TPM will not unseal it at the next boot" in tpm.key("status")
    tpm.key("unseal")
    assert tpm.key("status").startswith(f"/{KEY}: OK.\n") and not (machine.path / SEALED).exists()
    boot(machine, tpm, None)
    assert works(machine)


def test_a_cleared_tpm_takes_the_recovered_key(machine, tpm):
    copy = recovery_copy(tpm.key("seal"))
    tpm.stop()
    tpm.clear()
    boot(machine, tpm, "firmware")
    assert "the TPM did not unseal it: " in tpm.boot_unit(status=UNUSABLE)
    assert only_the_password_works(machine)
    assert "sealed again" in tpm.key("recover", "--stdin", input=copy.upper().replace(" ", ""))
    assert opens_after_a_boot(machine, tpm, "firmware")


@pytest.mark.parametrize("missing", ["TPM", "library", "systemd-creds"])
def test_what_cannot_be_sealed_stays_as_it_is(machine, missing):
    tpm = TPM(machine)
    if missing != "TPM":
        tpm.start("firmware")
    if missing == "library":
        for library in machine.path.glob("usr/lib/*/libtss2-esys*"):
            library.unlink()
    if missing == "systemd-creds":
        (machine.path / "usr/bin/systemd-creds").unlink()
        tpm.run = lambda *command, **how: TPM.run(tpm, *command, **how)
    before = (machine.path / KEY).read_bytes()
    said = TPM.run(tpm, "passcode", "key", "seal", status=UNUSABLE)
    assert said.count("\n") == 1 and "nothing was changed" in said and "libtss2-esys" in said
    if missing == "systemd-creds":
        assert "/usr/bin/systemd-creds: No such file or directory" in said
    assert (machine.path / KEY).read_bytes() == before and not (machine.path / SEALED).exists()
    assert works(machine)


def test_sealed_by_one_release_and_opened_by_the_next(installed):
    """An upgrade of Debian: the same disk and the same TPM, with systemd 252 and then 257."""
    old, new = installed("bookworm"), installed("trixie")
    try:
        tpm = TPM(old).start("firmware")
        tpm.key("seal", "--pcrs", "7")
        tpm.stop()
        for folder in ("etc/passcode", "var/lib/passcode", tpms.STATE):
            shutil.rmtree(new.path / folder, ignore_errors=True)
            machines.sh("cp", "-a", old.path / folder, new.path / folder)
        new.run("chown", "-R", "_passcode:root", "/var/lib/passcode")
        new.run("chown", "root:root", "/var/lib/passcode/0", status=None)
        tpm = TPM(new).start("firmware")
        tpm.boot_unit()
        assert works(new) and "bound to PCR 7" in tpm.key("status")
    finally:
        old.remove()
        new.remove()


# MARK: Interrupted


def disturbed(tpm, call, number, *action, **how):
    """Kills the action at the N-th of these calls. What it said, and its exit status."""
    tpm.restart()
    said = tpm.run(
        "sh", "-c",
        f"strace -qq -o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={number} passcode key {' '.join(printed(*action))};"
        ' echo "ended: $?"', status=None, **how,
    )  # fmt: skip
    return said, int(re.search(r"ended: (\d+)", said)[1])


def killed(tpm, call, number, *action):
    """False: it ended before, or the one before it was killed when everything was done."""
    was_sealed = any((tpm.machine.path / name).exists() for name in (SEALED, f"{SEALED}.new", f"{SEALED}.gone"))
    said, status = disturbed(tpm, call, number, *action)
    if tpm.leaks and "out of memory for session contexts" in said:
        # It made more calls than a TPM without a resource manager has room for: what it advises makes fewer.
        for _ in range(3):
            if advised := re.search(r"run: passcode key (\w+)", said):
                said = tpm.key(advised[1], status=None)
        return number < 100
    is_done = status == UNUSABLE and "the machine key is not sealed" in said and action == ("unseal",)
    assert status in (0, 137) or (is_done and not was_sealed), said
    return status == 137


@pytest.mark.on_request
@pytest.mark.parametrize("call", ["linkat", "renameat", "unlinkat", "fsync", "pwrite64", "mkdir"])
def test_killed_while_sealing_and_unsealing_everybody_logs_in(machine, tpm, call):
    number = 0
    for action in ("seal", "unseal"):
        number = 1
        while killed(tpm, call, number, action):
            assert logs_in(machine, [RIGHT])
            said = tpm.key("status")
            both = (machine.path / KEY).exists() and (machine.path / SEALED).exists()
            assert ("a plain key exists as well as the sealed one" in said) == both
            number += 1
        tpm.key(action, status=None)
        assert "warning" not in tpm.key("status")
        assert (machine.path / KEY).exists() == (action == "unseal") and logs_in(machine, [RIGHT])


def test_a_sealed_key_stays_sealed_when_it_is_replaced(machine, tpm):
    old = recovery_copy(tpm.key("seal", "--pcrs", "7"))
    key = (machine.inside / LOADED).read_bytes()
    said = tpm.key("rotate")
    assert "2 passcodes are under the new machine key." in said and recovery_copy(said) != old
    assert (machine.inside / LOADED).read_bytes() != key
    assert "bound to PCR 7" in (status := tpm.key("status")) and "warning" not in status
    assert is_anywhere(machine, (machine.inside / LOADED).read_bytes()) == []
    assert opens_after_a_boot(machine, tpm, "firmware")


@pytest.mark.on_request
def test_killed_while_replacing_a_sealed_key_every_boot_opens_everything(machine, tpm):
    tpm.key("seal")
    for call in ("fdatasync", "linkat", "renameat"):
        number = 1
        while killed(tpm, call, number, "rotate"):
            if random.random() < 0.5:
                boot(machine, tpm, "firmware")
                tpm.boot_unit()
            assert logs_in(machine, [RIGHT]) and logs_in(machine, [OTHER], user="bob")
            if (machine.path / f"{SEALED}.new").exists() and (machine.inside / f"{LOADED}.new").exists():
                assert "still under the old machine key; run: passcode key rotate" in tpm.key("status")
            number += 1
        assert number > 1
    tpm.key("rotate")
    assert "warning" not in tpm.key("status") and not (machine.path / f"{SEALED}.new").exists()
    assert opens_after_a_boot(machine, tpm, "firmware")


ACTIONS = {"seal": 5, "rotate": 6, "unseal": 3, "load": 2, "recover --stdin": 2}
CALLS = {"openat": 70, "pwrite64": 12, "fdatasync": 8, "fsync": 14, "renameat": 7, "unlinkat": 12, "write": 12, "clone3": 4}


@pytest.mark.on_request
def test_killed_at_random_nobody_is_lost(machine, tpm, capsys):
    """With boots between. PASSCODE_KILLS=, PASSCODE_SEED=: as in key_kills.py, which does more with a stand-in for the TPM."""
    seed = int(os.environ.get("PASSCODE_SEED") or random.SystemRandom().randrange(1 << 32))
    with capsys.disabled():
        print(f"\n  seed {seed}", flush=True)
    chance, copies, kills, history = random.Random(seed), [""], collections.Counter(), []
    while kills.total() < int(os.environ.get("PASSCODE_KILLS", "300")):
        action, call = chance.choices(list(ACTIONS), ACTIONS.values())[0], chance.choice(list(CALLS))
        number = chance.randint(1, CALLS[call])
        said, status = disturbed(tpm, call, number, *action.split(), input=chance.choice(copies))
        history.append((action, call, number, status, said[-300:]))
        kills[action] += status == 137
        if len(re.findall(r"^    \d  ", said, re.MULTILINE)) == 4:
            copies = [*copies[-2:], recovery_copy(said)]
        if chance.random() < 0.3:
            boot(machine, tpm, "firmware")
            tpm.boot_unit(status=None)
        tpm.key("load", status=None)
        assert logs_in(machine, [RIGHT]) and logs_in(machine, [OTHER], user="bob"), history[-20:]
    for _ in range(4):
        for advised in re.findall(r"run: passcode key (\w+)", tpm.key("status", status=None))[:1]:
            tpm.key(advised, status=None)
    tpm.key("rotate")
    assert "warning" not in tpm.key("status") and works(machine), history[-20:]
    with capsys.disabled():
        print(f"  {kills.total()} killed in {len(history)} commands: {dict(kills)}; no passcode lost")


def lose_the_tpm_while_rotating(machine, tpm, call, number):
    """The recovery copies of the old and of the new key."""
    old = recovery_copy(tpm.key("seal"))
    tpm.restart()
    said = tpm.run(
        "strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
        "passcode", "key", "rotate", "--force", status=None)  # fmt: skip
    assert (machine.path / f"{SEALED}.new").exists()
    boot(machine, tpm, None)
    assert "the TPM did not unseal it" in tpm.boot_unit(status=UNUSABLE)
    return old, recovery_copy(said)


@pytest.mark.on_request
def test_a_tpm_that_is_lost_while_the_key_is_replaced(machine, tpm, release):
    """Both keys come back from their copies, in either order, and the rotation is finished with them."""
    # Of the sealed key, of the loaded one, of both copies of alice's record: bob's is as it was.
    copies = lose_the_tpm_while_rotating(machine, tpm, "pwrite64", 5)
    for number, copy in enumerate(random.sample(copies, 2)):
        assert "To finish its rotation" in tpm.key("recover", "--stdin", input=copy)
        assert logs_in(machine, [RIGHT]) + logs_in(machine, [OTHER], user="bob") == number + 1
    if release == "trixie":  # more calls in one command than 252 makes without a resource manager
        tpm.clear()
        tpm.start("firmware")
        tpm.key("rotate")
        assert opens_after_a_boot(machine, tpm, "firmware")


@pytest.mark.on_request
def test_a_recovered_key_that_opens_everything_ends_the_rotation(machine, tpm):
    """The last copy was written, and not yet synced."""
    old, new = lose_the_tpm_while_rotating(machine, tpm, "fdatasync", 3)
    assert "fits none of the 2" in tpm.key("recover", "--stdin", input=old, status=UNUSABLE)
    assert "works until the next boot" in tpm.key("recover", "--stdin", input=new, status=UNUSABLE)
    assert works(machine)
    tpm.clear()
    tpm.start("firmware")
    assert "sealed again" in tpm.key("recover", "--stdin", input=new)
    assert "warning" not in tpm.key("status") and not (machine.path / f"{SEALED}.new").exists()
    assert opens_after_a_boot(machine, tpm, "firmware")
    tpm.key("rotate")
    assert works(machine)


# MARK: The package


def test_an_upgrade_makes_no_key_beside_a_sealed_one_and_purging_takes_all(machine, tpm, deb):
    tpm.key("seal")
    assert "created" not in machine.install(deb) and not (machine.path / KEY).exists()
    boot(machine, tpm, None)
    said = machine.install(deb)
    assert "created" not in said and not (machine.path / KEY).exists() and "passwords keep working" in said
    machine.run("apt-get", "purge", "-q", "-y", "libpam-passcode")
    assert not (machine.path / "etc/passcode").exists() and not (machine.inside / "run/passcode-key").exists()
