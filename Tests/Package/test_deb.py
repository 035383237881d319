"""The package itself: what is in it, how it was built, and that its parts fit the programs."""

import os
import re
import subprocess

import pytest

from apparmor import CALLS, Profile, needed
from debian_machine import MACHINES, OTHER, PASSWORD, RIGHT, TREE, WRONG, sh
from package import needed_packages, output

ARCHITECTURE = subprocess.run(
    ["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], check=True, capture_output=True, text=True
).stdout.strip()
FINGER = "usr/libexec/passcode-finger"
PROGRAMS = (
    "usr/bin/passcode",
    "usr/libexec/passcode-helper",
    f"usr/lib/{ARCHITECTURE}/security/pam_passcode.so",
)
FLEET, VERIFIER = "usr/libexec/passcode-fleet", "usr/sbin/passcode-verifier"
PACKAGES = {
    "libpam-passcode": PROGRAMS, "passcode-finger": (FINGER,), "passcode-fleet": (FLEET,), "passcode-verifier": (VERIFIER,),
}  # fmt: skip
STACKS = "libpam-passcode", "passcode-finger"


@pytest.fixture(scope="module")
def content(deb, finger_deb, fleet_debs):
    """All packages, unpacked into one folder."""
    folder = MACHINES / "content"
    for package in (deb, finger_deb, *fleet_debs):
        sh("dpkg-deb", "-x", package, folder)
    return folder


def test_lintian(built):
    """No error and no warning. Left out: a tag of bookworm's lintian. Later ones don't know it, and neither leave it out
    nor take an override of it (test_reviewers.py). Without systemd there is no sealed key, and no fleet: README.Debian
    says so."""
    (changes,) = built.glob("*.changes")
    tag = "package-supports-alternative-init-but-no-init.d-script"
    is_known = subprocess.run(["lintian-explain-tags", tag], capture_output=True).returncode == 0
    without = ["--suppress-tags", tag] if is_known else []
    said = output("lintian", "--fail-on", "error,warning", "--allow-root", *without, changes)
    assert not re.search("^[EW]:", said, re.MULTILINE)


def test_two_builds_are_the_same(built, built_again):
    """In folders of different names, at different times, and whatever else package.py varies."""
    names = sorted(path.name for path in built.glob("*.deb"))
    assert len(names) == 2 * len(PACKAGES)
    for name in names:
        assert (built / name).read_bytes() == (built_again / name).read_bytes(), name


def test_the_source_package(tmp_path):
    """The upstream tarball is the same for everybody, and with debian/ it is the tree."""
    made = []
    for place, environment, umask in (("here", {}, 0o022), ("there", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}, 0o077)):
        source = tmp_path / place / "source"
        sh("git", "-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", TREE, source)
        sh("debian/make-orig", cwd=source, env={**os.environ, **environment}, umask=umask, capture_output=True)
        made.append(next(source.parent.glob("*.orig.tar.xz")))
    assert made[0].name == made[1].name and made[0].read_bytes() == made[1].read_bytes()
    sh("dpkg-source", "--build", "source", cwd=tmp_path / "here", capture_output=True)
    sh("dpkg-source", "--extract", *(tmp_path / "here").glob("*.dsc"), "again", cwd=tmp_path / "here", capture_output=True)
    sh("diff", "--recursive", "--exclude=.git", "--exclude=.pc", "--no-dereference", "source", "again", cwd=tmp_path / "here")


@pytest.mark.parametrize("argument", [["nonsense"], ["HEAD", "HEAD"]])
def test_make_orig_refuses_what_is_no_commit(argument):
    done = subprocess.run(["debian/make-orig", *argument], cwd=TREE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: debian/make-orig [COMMIT]\n")


def test_hardening(content):
    """The programs of the packages pass what those of the build do; and debhelper's own check."""
    folder = MACHINES / "programs"
    folder.mkdir()
    for program in (*PROGRAMS, FINGER, FLEET, VERIFIER):
        sh("cp", content / program, folder)
        answers = hardening(content / program)
        if program == FINGER:  # its C code calls nothing that could be fortified
            assert answers.pop("Fortify Source functions") == "no, only unprotected functions found!"
            answers["Fortify Source functions"] = "yes"
        for feature in ("Position Independent Executable", "Stack protected", "Fortify Source functions",
                        "Read-only relocations", "Immediate binding"):  # fmt: skip
            assert answers.pop(feature).startswith("yes"), (program, feature)
        missing = {feature for feature, answer in answers.items() if answer.startswith("no")}
        assert missing <= {"Control flow integrity", "Branch Protection"}, program
    environment = {**os.environ, "PASSCODE_BUILD": str(folder)}
    for name in ("PASSCODE_NAMESPACE", "PASSCODE_SHARED"):
        environment.pop(name, None)
    done = subprocess.run(
        [TREE / "Tests/outside", TREE / "Tests/Outside/test_binaries.py"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def hardening(program):
    """{feature: what hardening-check says of it}. Its exit status says nothing: Debian 13's wants arm64's branch
    protection on every processor, and Debian 12's knows no option to leave that out."""
    said = subprocess.run(["hardening-check", program], stdout=subprocess.PIPE, text=True).stdout
    return dict(line.strip().split(": ", 1) for line in said.splitlines() if line.startswith(" "))


@pytest.mark.parametrize("package", PACKAGES)
def test_symbols_are_in_a_package_of_their_own(built, content, package):
    (symbols,) = built.glob(f"{package}-dbgsym_*.deb")
    listed = output("dpkg-deb", "-c", symbols)
    for program in PACKAGES[package]:
        identity = re.search(r"Build ID: (\w+)", output("readelf", "-n", content / program))[1]
        assert f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug" in listed
        assert ".symtab" not in output("readelf", "-SW", content / program)


def test_size(deb, content):
    """Without symbols, and without translations: those grow with each language."""
    catalogues = list((content / "usr/share/locale").rglob("libpam-passcode.mo"))
    assert {path.parts[-3] for path in catalogues} == {path.stem for path in (TREE / "Sources/system/po").glob("*.po")}
    size = int(output("dpkg-deb", "-f", deb, "Installed-Size"))
    size -= sum(-(-path.stat().st_size // 1024) for path in catalogues)
    print(
        f"installed: {size} KiB, of these {sum((content / name).stat().st_size for name in PROGRAMS)} bytes of programs"
    )
    assert size <= 794


def test_depends_on_nothing_unusual(deb):
    """And on nothing that the fingerprint needs."""
    names = needed_packages(deb, "Depends")
    assert names == {"adduser", "libc6", "libpam-runtime", "libpam0g", "libsodium23"}
    for field in ("Pre-Depends", "Recommends"):
        assert output("dpkg-deb", "-f", deb, field).strip() == ""


def test_every_example_stack_is_in_one_of_the_packages(content):
    examples = [path for package in STACKS for path in (content / f"usr/share/doc/{package}/examples").iterdir()]
    assert sorted(path.name for path in examples if "." not in path.name) == sorted(path.name for path in (TREE / "pam.d").iterdir())


def test_a_missing_old_or_broken_swift_is_named(tmp_path):
    """The build says what is missing, and where to get it."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "head", "realpath", "sed", "sort"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    run = dict(
        env={"PATH": str(tools), "HOME": "/"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    done = subprocess.run([TREE / "debian/build"], **run)
    assert done.returncode == 1
    assert done.stdout == (
        "swift is not in PATH: install Swift 6.2.3 or newer from https://www.swift.org/install/linux/\n"
    )
    for old in ("6.0.3", "6.2", "6.2.2"):
        script(tools / "swift", f"echo 'Swift version {old} (swift-{old}-RELEASE)'")
        done = subprocess.run([TREE / "debian/build"], **run)
        assert done.returncode == 1 and f"Swift {old} is too old: Swift 6.2.3 or newer is needed" in done.stdout
    script(tools / "swift", "echo 'swift: cannot open shared object file' >&2; exit 127")
    done = subprocess.run([TREE / "debian/build"], **run)
    assert done.returncode == 1 and "swift: cannot open shared object file" in done.stdout
    script(tools / "ldd", "printf '\\tlibc.so.6 => /lib/libc.so.6 (0x0)\\n\\tlibncurses.so.6 => not found\\n'")
    done = subprocess.run([TREE / "debian/build"], **run)
    assert (done.returncode, done.stdout) == (
        1,
        "Swift cannot run, because these libraries are missing: libncurses.so.6\n"
        "Run debian/setup as root: it installs them.\n",
    )


def script(path, text):
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def test_the_programs_look_where_the_package_puts_things(content):
    modules = f"usr/lib/{ARCHITECTURE}/security"
    for sought, by in (
        ("usr/libexec/passcode-helper", "usr/bin/passcode"),
        ("usr/libexec/passcode-helper", f"{modules}/pam_passcode.so"),
        (modules, "usr/bin/passcode"),
    ):
        assert (content / sought).exists()
        assert f"/{sought}\0".encode() in (content / by).read_bytes()


# MARK: autopkgtest


def test_autopkgtest(installed):
    """debian/tests, as autopkgtest runs it: root, in a test bed that it may break."""
    sh("cp", TREE / "debian/tests/stack", installed.path / "tmp")
    installed.run("/tmp/stack")


# MARK: AppArmor

@pytest.mark.parametrize(
    "program", ["libexec.passcode-helper", "libexec.passcode-finger", "libexec.passcode-fleet", "sbin.passcode-verifier"]
)
def test_the_apparmor_profile_compiles(fresh, program):
    """With the abstractions of that release, for a kernel that has AppArmor; the installation itself goes on where it
    doesn't."""
    sh("cp", TREE / f"Sources/system/apparmor/usr.{program}", fresh.path / "etc/apparmor.d")
    kernel = "--kernel-features", "/etc/apparmor.d/abi/3.0"
    fresh.run("apparmor_parser", *kernel, "--skip-kernel-load", "--skip-cache", f"/etc/apparmor.d/usr.{program}")


def test_the_apparmor_profile_lets_the_helper_do_its_work(installed, release):
    """Each file that it uses for an attempt, a change, a proof of the password and an enrolment. (The profile itself
    is parsed; test_kernel.py has it enforced.)"""
    installed.enroll()
    (installed.path / "etc/pam.d/locker").write_text("auth required pam_passcode.so\n")
    profile = Profile(TREE / "Sources/system/apparmor/usr.libexec.passcode-helper")
    trace = MACHINES / f"trace-{release}"
    acts = [
        (["pamtester", "locker", "alice", "authenticate"], "alice", f"{RIGHT}\n"),
        (["pamtester", "locker", "alice", "authenticate"], "alice", f"{WRONG[0]}\n"),
        (["passcode", "status"], "alice", ""),
        (["passcode", "change", "--stdin"], "alice", f"{RIGHT}\n{OTHER}\n"),
        (["passcode", "unlock", "--stdin"], "alice", f"{PASSWORD}\n"),
        (["passcode", "enroll", "--stdin"], "bob", f"{PASSWORD}\n{RIGHT}\n"),
        (["passcode", "remove", "--stdin"], "bob", f"{PASSWORD}\n"),
    ]
    used = set()
    for command, user, lines in acts:
        done = subprocess.run(
            ["strace", "-f", "-y", "-qq", "-s", "300", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", trace,
             *installed.command(*command, user=user)], input=lines, text=True, capture_output=True)  # fmt: skip
        assert done.returncode == (0 if WRONG[0] not in lines else 1), (command, done)
        helpers = set()
        for line in trace.read_text().splitlines():
            line = line.replace(str(installed.path), "")
            number = line.split()[0]
            if 'execve("/usr/libexec/passcode-helper"' in line:
                helpers.add(number)
            elif (
                number in helpers and "unfinished" not in line and "resumed" not in line and "+++" not in line
            ):
                if "execve(" in line:
                    helpers.discard(number)
                if asked := needed(line):
                    used.add(asked)
    files = {path for path, _ in used}
    assert files >= {
        "/etc/passcode/key",
        "/etc/security/passcode.conf",
        "/var/lib/passcode/places",
        "/dev/log",
    }
    refused = {(path, letters) for path, letters in used if not profile.allows(path, letters)}
    assert not refused
    assert profile.allows("/usr/sbin/unix_chkpwd", "x") and profile.allows("/run/passcode/1000", "rw")
    assert not profile.allows("/etc/sudoers", "r") and not profile.allows("/var/lib/other", "w")


# MARK: Completions

COMMANDS = "enroll change remove unlock pause resume disable enable rename status list verify key check check-weak calibrate configure try".split()
# passcode-verifier's, which is in another package: test_verifier_commands.py
ACTIONS = "init check seen restored list status enroll invite remove unlock disable enable".split()
FILES = {shell: TREE / "Sources/system/completions" / name
         for shell, name in (("bash", "passcode"), ("zsh", "_passcode"), ("fish", "passcode.fish"))}  # fmt: skip


def options(content, *command):
    return set(
        re.findall(r"^  (--[\w-]+)", output(content / "usr/bin/passcode", *command, "--help"), re.MULTILINE)
    )


def bash(*words):
    script = f"""
    source /usr/share/bash-completion/bash_completion
    source {FILES["bash"]}
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${{#COMP_LINE}}
    _passcode
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return set(output("bash", "-c", script, "bash", "passcode", *words).split())


def fish(*words):
    line = " ".join(("passcode", *words))
    return {
        row.split("\t")[0]
        for row in output("fish", "-c", f"source {FILES['fish']}; complete -C '{line}'").splitlines()
    }


@pytest.mark.parametrize("complete", [bash, fish])
def test_completions(content, complete):
    """Every command, and of each every option and no other."""
    assert complete("") >= {*COMMANDS, "server"}
    assert complete("server", "") >= set(ACTIONS)
    for command in COMMANDS:
        offered = complete(command, "--")
        assert {word for word in offered if word.startswith("--")} == options(content, command), command
    assert complete("key", "") == {"init", "status", "seal", "mount", "load", "unseal", "recover", "rotate"}
    assert "root" in complete("status", "")
    assert complete("enroll", "--length", "") >= {"4", "6"}


def test_the_completion_for_zsh_has_every_option(content):
    text = FILES["zsh"].read_text()
    sh("zsh", "-n", FILES["zsh"])
    of_the_fleet = {"--withdraw", "--first", "--at-least", "--workstation"}
    everything = set().union(*(options(content, command) for command in COMMANDS)) | of_the_fleet
    assert set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text)) == everything
    assert set(re.findall(r"^  '([\w-]+):", text, re.MULTILINE)) == {*COMMANDS, "server"}
