"""The runners: Tests/outside tests no programs that are older than their sources, and Tests/all counts all tests."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import capabilities
import plain
import pytest
from bed import BUILD, built
from process import wait_for
from results import results

TREE = pathlib.Path(__file__).parents[2]
INPUTS = ["Sources/passcode/Main.swift", "Sources/CSystem/include/csystem.h", "Package.swift", "debian/build"]
PROGRAMS = [
    "passcode", "passcode-helper", "passcode-finger", "passcode-fleet", "passcode-verifier", "pam_passcode.so",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    """A tree with the runner, some sources, and programs that were built after them."""
    for name in [*INPUTS, *(f".build/{folder}/out/{program}" for folder in ("ship", "quick") for program in PROGRAMS)]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "Tests/Support").mkdir(parents=True)
    for name in ("Tests/outside", "Tests/Support/dev.sh", "Tests/Support/plain.sh"):
        shutil.copy(TREE / name, tmp_path / name)
    for path in tmp_path.rglob("*"):
        age(path, 200 if ".build" not in str(path) else 100)
    return tmp_path


def age(path, seconds):
    time = path.stat().st_mtime - seconds
    os.utime(path, (time, time))


def run(tree, *arguments, **setting):
    """The runner, which only says pytest's version where it would begin."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PASSCODE_")}
    return subprocess.run(
        [tree / "Tests/outside", *arguments, "--version"], cwd=tree, env=environment | setting, capture_output=True, text=True
    )


def test_what_is_newer_than_its_sources_is_tested(tree):
    assert "pytest" in run(tree).stdout


@pytest.mark.parametrize("newer", INPUTS)
def test_what_is_older_than_a_source_is_refused(tree, newer):
    (tree / newer).touch()
    done = run(tree)
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr == f"Tests/outside: .build/ship/out/passcode is older than {newer}; run debian/build first\n"


@pytest.mark.parametrize("path", ["Sources/README.md", "Sources/TRUSTED", "Sources/system/passcode.conf"])
def test_what_is_not_built_does_not_count(tree, path):
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).touch()
    assert "pytest" in run(tree).stdout


def test_a_source_that_has_gone_counts(tree):
    (tree / INPUTS[0]).unlink()
    assert "older than Sources/passcode;" in run(tree).stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_counts(tree, program):
    age(tree / ".build/ship/out" / program, 500)
    assert f"{program} is older than " in run(tree).stderr
    (tree / ".build/ship/out" / program).unlink()
    assert f"{program} is not there; run debian/build first" in run(tree).stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_where_a_file_is_named_each_test_needs_the_module_and_the_tool_only(tree, program):
    """What it uses besides, it asks bed.py for."""
    (tree / ".build/ship/out" / program).unlink()
    done = run(tree, INPUTS[0])
    if program in ("passcode", "pam_passcode.so"):
        assert done.stderr == f"Tests/outside: .build/ship/out/{program} is not there; run debian/build first\n"
    else:
        assert "pytest" in done.stdout


def test_a_test_fails_that_uses_a_program_which_is_older_than_its_sources():
    why = ".build/ship/out/passcode-helper is older than Package.swift; run debian/build first"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASSCODE_REFUSED", f"passcode-helper {why}\n")
        with pytest.raises(pytest.fail.Exception, match=why):
            built("passcode-helper")
        assert built("passcode-finger") == BUILD / "passcode-finger"


def test_a_quick_run_tests_the_quick_build(tree):
    shutil.rmtree(tree / ".build/ship")
    assert "pytest" in run(tree, "--quick").stdout
    (tree / INPUTS[0]).touch()
    assert "run debian/build --quick passcode first" in run(tree, "--quick", INPUTS[0]).stderr


@pytest.mark.parametrize("argument", ["--quik", "", "passcode-", "passcode pam_passcode.so", "libpam_passcode.so"])
def test_the_build_refuses_another_argument_in_one_sentence(argument):
    done = subprocess.run([TREE / "debian/build", "--quick", argument], capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert f'debian/build: "{argument}" is neither --quick, --verbose nor one of the programs ' in done.stderr


def test_programs_of_another_folder_are_tested_as_they_are(tree):
    shutil.copytree(tree / ".build/ship/out", tree / "mine")
    (tree / INPUTS[0]).touch()
    assert "pytest" in run(tree, PASSCODE_BUILD=str(tree / "mine")).stdout
    assert "older than" in run(tree, PASSCODE_BUILD=str(tree / ".build/ship/out")).stderr


def test_a_run_leaves_alone_the_files_that_another_run_has_begun(tmp_path):
    """And it marks those that it begins itself as taken."""
    files, shared, programs = ["test_deleted.py", "test_patience.py"], tmp_path / "shared", tmp_path / "programs"
    shared.mkdir()
    (shared / f"Tests-Outside-{files[0]}").touch()
    shutil.copytree(BUILD, programs)  # out of this run's /run
    setting = {"PASSCODE_SHARED": str(shared), "PASSCODE_BUILD": str(programs)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PASSCODE_")}
    done = subprocess.run(
        [TREE / "Tests/outside", "-vv", *(f"Tests/Outside/{file}" for file in files)],
        env=environment | setting, capture_output=True, text=True,
    )  # fmt: skip
    begun = {line.partition("::")[0] for line in done.stdout.splitlines() if "PASSED" in line}
    assert done.returncode == 0 and begun == {f"Tests/Outside/{files[1]}"}, done
    assert sorted(path.name for path in shared.iterdir()) == [f"Tests-Outside-{file}" for file in files]


# MARK: Tests/all

UNIT = """<testsuites><testsuite name="unit" errors="0" tests="2" failures="0" skipped="0" time="1">
<testcase classname="Ones" name="one()" time="0.1"/>
<testcase classname="Ones" name="`two of "abc"`(_:)" time="0.1"/>
</testsuite></testsuites>
"""
WITH_A_FAILURE = UNIT.replace("</testsuite>", """<testcase classname="Ones" name="three()" time="0.1">
<failure message="Expectation failed"/></testcase></testsuite>""")
# Tests that run side by side write between one another's words.
INTERLEAVED = """✔ Test "one" pas✔ Test "two" with 3 test cases passed after 0.1 seconds.
sed after 0.1 seconds.
✔ Test run with 2 tests in 1 suite passed after 1 seconds.
"""
PYTEST = '''while [[ $1 != --junit-xml ]]; do shift; done
cat >$2 <<EOF
<testsuites><testsuite tests="%d">
%s</testsuite></testsuites>
EOF
'''


def pytest_with(*outcomes):
    """A stand-in for what runs pytest, and how these tests came out."""
    inner = {"passed": "", "failed": "<failure message='x'/>", "error": "<error message='x'/>", "skipped": "<skipped message='y'/>"}
    cases = "".join(f"<testcase classname='a' name='t{n}'>{inner[how]}</testcase>\n" for n, how in enumerate(outcomes))
    return PYTEST % (len(outcomes), cases)


def whole(tmp_path, unit=UNIT, changed=(), **setting):
    """What Tests/all says, and its exit status; each part is a stand-in for its command."""
    parts = {
        "debian/setup": "", "debian/build": "", "Tests/Support/ship.py": "", "Tests/fuzz": "echo 'ok      FuzzOne: 9 inputs in 5 s'", "Tests/package": pytest_with(*["passed"] * 4),
        "Tests/outside": pytest_with(*["passed"] * 8), ".build/ship/out/passcode": "", "Tests/contract": "",
        "Tests/messages": "if [ $1 = --check ]; then echo de.po: 1 fuzzy >&2; exit 1; fi",
        "bin/swift": f"""if [ $1 = test ]; then
cat <<'EOF'
{INTERLEAVED}EOF
cat >"${{!#%.xml}}-swift-testing.xml" <<'EOF'
{unit}EOF
fi""",
    } | dict(changed)  # fmt: skip
    for name, text in parts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "Tests/Support").mkdir(exist_ok=True)
    for name in ("Tests/all", "Tests/Support/plain.sh", "Tests/Support/results.py"):
        shutil.copy(TREE / name, tmp_path / name)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PASSCODE_")}
    environment = clean | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"} | setting
    done = subprocess.run([tmp_path / "Tests/all"], env=environment, capture_output=True)
    return done.stdout.decode().splitlines(), done.returncode


@pytest.mark.parametrize("setting", [{}, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}], ids=str)
def test_every_test_is_counted_though_the_log_is_interleaved(tmp_path, setting):
    """Four commands, two unit tests, a fuzzer, 8 from outside in each of seven runs, 4 of the package in each of two."""
    lines, status = whole(tmp_path, **setting)
    assert (lines[-1], status) == ("71 passed, 0 failed, 0 skipped", 0)
    assert "warning: de.po: 1 fuzzy" in lines


def test_a_table_has_the_figures_of_each_part(tmp_path):
    lines, _ = whole(tmp_path, changed={"Tests/package": pytest_with("passed", "failed", "error")})
    table = lines[lines.index("part          passed  failed skipped seconds") + 1 : -1]
    rows = {name: figures[:3] for name, *figures in map(str.split, table) if not name.endswith(":")}
    assert rows["unit"] == ["2", "0", "0"] and rows["package"] == rows["package-2"] == ["1", "2", "0"]
    assert list(rows) == ["setup", "build", "layout", "demo", "outside", "outside-2", "outside-3", "outside-4", "unit", "fuzz",
                          "package", "package-2", "calm", "calm-2", "measured"]  # fmt: skip
    assert [sum(int(row[n]) for row in rows.values()) for n in range(3)] == [65, 4, 0]
    assert lines[-5:] == ["failed: a::t1: x", "failed: a::t2: x"] * 2 + ["65 passed, 4 failed, 0 skipped"]


def test_a_failed_unit_test_is_counted_once(tmp_path):
    lines, status = whole(tmp_path, WITH_A_FAILURE)
    assert (lines[-2:], status) == (["failed: Ones::three(): Expectation failed", "71 passed, 1 failed, 0 skipped"], 1)


@pytest.mark.parametrize(
    "text", ["kill -9 $$", "exit 0", "exit 3", pytest_with(), pytest_with("passed") + "truncate -s 20 $2"],
    ids=["dies", "runs nothing", "fails", "has no tests", "wrote half its file"],
)  # fmt: skip
def test_a_part_that_dies_or_runs_nothing_has_failed(tmp_path, text):
    lines, status = whole(tmp_path, changed={"Tests/package": text})
    assert (lines[-1], status) == ("63 passed, 2 failed, 0 skipped", 1)


def test_a_part_that_fails_after_its_tests_passed_has_failed(tmp_path):
    lines, status = whole(tmp_path, changed={"Tests/package": pytest_with(*["passed"] * 4) + "exit 1"})
    assert (lines[-1], status) == ("71 passed, 2 failed, 0 skipped", 1)


def test_unit_tests_that_an_earlier_run_counted_are_not_counted_again(tmp_path):
    whole(tmp_path)
    lines, status = whole(tmp_path, changed={"bin/swift": "[ $1 != test ]"})
    assert (lines[-1], status) == ("69 passed, 1 failed, 0 skipped", 1)


def test_a_promise_whose_test_did_not_run_is_a_failure(tmp_path):
    contract = "[ $1 = --ran ] && [ -e $2/unit-swift-testing.xml ] && echo test_a.py did not run: attempt 3 >&2; exit 1"
    lines, status = whole(tmp_path, changed={"Tests/contract": contract})
    assert "contract: test_a.py did not run: attempt 3" in lines
    assert (lines[-1], status) == ("71 passed, 1 failed, 0 skipped", 1)


def test_the_whole_run_refuses_another_argument_in_one_sentence(tmp_path):
    done = subprocess.run([TREE / "Tests/all", "--quick"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: Tests/all [--this-machine]\n")


# MARK: Tests/again


def again(tmp_path, *arguments):
    """What Tests/again says, with a stand-in for Tests/outside whose second run has a failure, and whose third dies."""
    for name in ("Tests/again", "Tests/Support/results.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, tmp_path / name)
    (tmp_path / "Tests/Outside").mkdir()
    (tmp_path / "Tests/Outside/test_one.py").touch()
    (tmp_path / "Tests/outside").write_text(
        "#!/bin/bash\necho >>runs\ncase $(wc -l <runs) in\n"
        f"2) {pytest_with('passed', 'failed', 'skipped')}exit 1;;\n3) exit 139;;\n*) {pytest_with('passed')};;\nesac\n"
    )
    (tmp_path / "Tests/outside").chmod(0o755)
    done = subprocess.run([tmp_path / "Tests/again", *arguments], capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr, done.returncode


def test_what_failed_how_often_is_told(tmp_path):
    lines, _, status = again(tmp_path, "4", "Tests/Outside/test_one.py")
    assert status == 1 and lines[4:] == [
        "left out in 1 of 4: a::t2",
        "failed in 1 of 4: a::t1",
        "failed in 1 of 4: a run that ended with status 139 and names no test",
        "4 runs, 2 with failures",
    ]


@pytest.mark.parametrize(
    "arguments", [[], ["0"], ["-1"], ["x"], ["2", "Tests/Outside/test_two.py"], ["2", "README.md"], ["2", "--quick"]], ids=str
)
def test_again_refuses_another_argument_in_one_sentence(tmp_path, arguments):
    lines, errors, status = again(tmp_path, *arguments)
    assert (lines, errors.count("\n"), status) == ([], 1, 2) and errors.startswith("usage: Tests/again N [FILE...]")
    assert not (tmp_path / ".build").exists()


# MARK: A release


@pytest.fixture
def release(tmp_path):
    """A tree that could be released as 1.2.3, with a release that would run no suite."""
    tree = tmp_path / "tree"
    for name, text in {
        "debian/changelog": "pam-passcode (1.2.3-1) unstable; urgency=medium\n", "debian/build": "#!/bin/false\n",
        "Sources/CSystem/version.c": '#define VERSION "1.2.3"\n', ".gitignore": ".build\n",
        "Sources/system/man/a.1": '.TH A 1 2026-11-21 "pam_passcode 1.2.3" "User commands"\n',
        "Sources/system/schema/passcode-1.json": "{}\n", "Tests/Outside/released/passcode-1.json": "{}\n",
        "Tests/messages": "#!/bin/true\n", "Tests/contract": "#!/bin/true\n", "Tests/fresh": "#!/bin/false\n",
        "bin/swift": "#!/bin/true\n",
    }.items():  # fmt: skip
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    shutil.copy(TREE / "Tests/release", tree / "Tests/release")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "all")

    def run(*arguments):
        path = f"{tree / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([tree / "Tests/release", *arguments], capture_output=True, text=True, env={**os.environ, "PATH": path})

    run.tree = tree
    return run


def git(tree, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*")
    subprocess.run(["git", *identity, "-C", tree, *arguments], check=True)


def test_what_can_be_released_passes_the_cheap_checks(release):
    done = release("--check", "1.2.3")
    assert (done.returncode, done.stderr) == (0, "") and "FAILED" not in done.stdout
    assert done.stdout.count("ok ") == 9


@pytest.mark.parametrize(
    "file, text, step",
    [
        ("debian/changelog", "pam-passcode (1.2.3-1) UNRELEASED; urgency=medium\n", "changelog"),
        ("debian/changelog", "pam-passcode (1.2.30-1) unstable; urgency=medium\n", "changelog"),
        ("Sources/CSystem/version.c", '#define VERSION "1.2.2"\n', "program-version"),
        ("Sources/system/man/b.8", '.TH B 8 2026-11-21 "pam_passcode 1.2.2" "System"\n', "manual-pages"),
        ("Tests/messages", "#!/bin/false\n", "catalogues"),
        ("Tests/contract", "#!/bin/false\n", "contract"),
        ("Sources/system/schema/passcode-1.json", "[]\n", "schema"),
        ("bin/swift", "#!/bin/false\n", "layout"),
        ("new", "not committed", "clean-tree"),
    ],
)
def test_what_cannot_be_released_is_told_and_runs_no_suite(release, file, text, step):
    (release.tree / file).write_text(text)
    (release.tree / file).chmod(0o755)
    if step != "clean-tree":
        git(release.tree, "add", ".")
        git(release.tree, "commit", "-q", "-m", "worse")
    done = release("1.2.3")
    assert done.returncode == 1
    assert re.findall(r"^FAILED  (\S+):", done.stdout, re.MULTILINE) == [step]
    assert done.stdout.endswith("1 failed; nothing else was run\n")


def test_a_version_that_is_tagged_is_no_new_one(release):
    git(release.tree, "tag", "v1.2.3")
    assert "FAILED  no-tag: the tag v1.2.3 is there already" in release("1.2.3").stdout


@pytest.mark.parametrize("arguments", [[], ["x"], ["--now"], ["1.2"], ["v1.2.3"], ["1.2.3", "1.2.4"], ["--check"]], ids=str)
def test_a_release_refuses_another_argument_in_one_sentence(release, arguments):
    done = release(*arguments)
    assert (done.stdout, done.stderr.count("\n"), done.returncode) == ("", 1, 2)
    assert done.stderr.startswith("usage: Tests/release [--check] VERSION")
    assert not (release.tree / ".build").exists()


def test_versions_agree():
    first = (TREE / "debian/changelog").read_text().partition("\n")[0]
    version = re.match(r"pam-passcode \(([\d.]+)", first)[1]
    assert f'#define VERSION "{version}"\n' in (TREE / "Sources/CSystem/version.c").read_text()
    for page in (TREE / "Sources/system/man").iterdir():
        assert re.match(rf'\.TH \S+ \d \S+ "pam_passcode {re.escape(version)}" ', page.read_text()), page.name


# MARK: What a machine lacks

SKIPS = '''import pytest
from capabilities import add_marks as pytest_configure, pytest_runtest_makereport, pytest_runtest_setup


@pytest.mark.mounts
def test_mounts():
    pass


def test_skips():
    pytest.skip("because")


def test_busy():
    pytest.skip("too busy to measure: a load of 9")


def test_plain():
    pass
'''


MEASURED = '''import capabilities, pytest
from capabilities import pytest_runtest_makereport

capabilities.used_by_others = lambda: {used}


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures")
'''
FAILING = '''import pytest


@pytest.mark.alone
@pytest.mark.parametrize("figure", [1, 2])
def test_measured(figure):
    assert figure == 1


@pytest.mark.alone
def test_crash():
    raise OSError


@pytest.fixture
def broken():
    assert False


@pytest.mark.alone
def test_broken(broken):
    pass


def test_plain():
    assert False
'''


@pytest.mark.parametrize("used, expected", [(0.4, "failed"), (0.6, "skipped")])
def test_what_measures_is_left_out_only_if_it_failed_beside_other_programs(tmp_path, used, expected):
    (tmp_path / "conftest.py").write_text(MEASURED.format(used=used))
    (tmp_path / "test_failing.py").write_text(FAILING)
    file = tmp_path / "results.xml"
    subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", file, tmp_path],
        env=os.environ | {"PYTHONPATH": str(TREE / "Tests/Support")}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    found = {name.partition("::")[2]: (outcome, reason) for name, outcome, reason in results(file)}
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "test_measured[1]": "passed", "test_measured[2]": expected, "test_plain": "failed",
        "test_crash": "failed", "test_broken": "failed",
    }  # fmt: skip
    assert expected == "failed" or found["test_measured[2]"][1] == "too busy to measure: other programs use 0.6 processors"


@pytest.mark.mounts
def test_what_this_run_has_started_is_no_other_program():
    loop = "while :; do :; done"
    with contextlib.ExitStack() as stack:
        own, apart = (
            stack.enter_context(subprocess.Popen([*words, "sh", "-c", loop])) for words in ((), ("unshare", "--mount"))
        )
        script = f'setsid --fork unshare --mount sh -c \'echo $$; exec >&-; {loop}\''
        other = int(subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True).stdout)
        try:
            before = capabilities.processes()
            wait_for(lambda: capabilities.processes()[other][1] > before[other][1] + 5)
            found = capabilities.foreign(before, capabilities.processes())
        finally:
            for pid in (own.pid, apart.pid, other):
                os.kill(pid, signal.SIGKILL)
    assert found[other] > 5 and not {own.pid, apart.pid} & found.keys()


def test_what_a_run_changes_in_a_plain_container_is_put_back(tmp_path):
    """Also by the next run, if it was killed."""
    here, saved = tmp_path / "etc", tmp_path / "saved"
    (here / "pam.d").mkdir(parents=True)
    for name in ("passwd", "group", "pam.d/sudo"):
        (here / name).write_text(name)
    (here / "link").symlink_to("passwd")
    (here / "group").chmod(0o600)

    def state():
        return {path: (path.lstat().st_mode, path.is_file() and path.read_text()) for path in here.rglob("*")}

    before = state()
    for end in (plain.restore, plain.save):
        plain.save([here], saved)
        (here / "passwd").write_text("changed")
        (here / "group").chmod(0o644)
        (here / "pam.d/sudo").unlink()
        (here / "pam.d/sudo").mkdir()
        (here / "new").mkdir()
        (here / "new/file").touch()
        (here / "link").unlink()
        (here / "link").symlink_to("group")
        assert state() != before
        end([here], saved)
        assert state() == before
    plain.restore([here], saved)
    with pytest.raises(SystemExit, match="nothing was put back"):
        plain.restore([here], saved)
    assert state() == before


def test_each_line_of_the_list_of_needs_names_a_test():
    """And a capability that there is."""
    files = {file for _, file, _ in capabilities.listed()}
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--collect-only", *sorted(files)],
        cwd=TREE, capture_output=True, text=True, env=os.environ | {"PASSCODE_QUICK": "", "PASSCODE_SHARED": ""},
    )  # fmt: skip
    there = {line for line in done.stdout.splitlines() if "::" in line}
    there |= {line.partition("[")[0] for line in there}
    assert {f"{file}::{rest}" for _, file, rest in capabilities.listed()} <= there and len(there) > 100
    assert {what for what, _, _ in capabilities.listed()} <= set(capabilities.NAMES)


@pytest.mark.parametrize(
    "missing, expected",
    [
        ("", {"test_mounts": "passed", "test_skips": "failed", "test_busy": "skipped", "test_plain": "passed"}),
        ("mounts", {"test_mounts": "skipped", "test_skips": "failed", "test_busy": "skipped", "test_plain": "passed"}),
    ],
)
def test_nothing_is_left_out_where_nothing_is_missing(tmp_path, missing, expected):
    """And where something is, only what needs that."""
    (tmp_path / "conftest.py").write_text(SKIPS.partition("\n\n\n")[0])
    (tmp_path / "test_skips.py").write_text("import pytest\n" + SKIPS.partition("\n\n\n")[2])
    file = tmp_path / "results.xml"
    subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", file, tmp_path],
        env=os.environ | {"PASSCODE_MISSING": missing, "PYTHONPATH": str(TREE / "Tests/Support")}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert {name.partition("::")[2]: outcome for name, outcome, _ in results(file)} == expected
