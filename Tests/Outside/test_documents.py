"""What is written about the programs is what they do: the contract, manual pages and sample file."""

import json
import os
import pathlib
import re
import subprocess

import pytest

import contract
from option_table import table
from ran import every_test, on_request, unshown
from tool import DONE

TREE = pathlib.Path(__file__).parents[2]
DOCUMENTS = {
    str(path.relative_to(TREE)): path.read_text()
    for path in (TREE / "README.md", TREE / "Tests/README.md", TREE / "Tests/weak/README.md", *contract.PAGES)
}
SAMPLE = (TREE / "Sources/system/passcode.conf").read_text()
PAGES = {path.name: path.read_text().replace("\\-", "-") for path in (TREE / "Sources/system/man").iterdir()}
TOOL_PAGE, FILE_PAGE, MODULE_PAGE = (
    PAGES[name] for name in ("passcode.1", "passcode.conf.5", "pam_passcode.8")
)


def source(path):
    return (TREE / "Sources" / path).read_text()


def section(page, title):
    """A manual page's section, or its subsection."""
    return re.search(rf'^\.S[HS] "?{title}"?\n(.*?)(?=^\.SH |\Z)', page, re.DOTALL | re.MULTILINE)[1]


def items(text):
    """{name: paragraph} of each tagged paragraph, by the first word of its tag."""
    return {
        re.match(r"(?:\.(?:BI|BR|RB|B|I) )?([\w-]+)", item)[1]: item
        for item in re.split(r"^\.TP\n", text, flags=re.MULTILINE)[1:]
    }


# MARK: Options


def defaults(text):
    return {name: re.search(r"Default: \\fB(.+?)\\fR\.", item)[1] for name, item in items(text).items()}


def test_the_manual_page_of_the_file_has_every_option():
    assert defaults(section(FILE_PAGE, "POLICY OPTIONS")) == table("policy")
    assert defaults(section(FILE_PAGE, "SERVICE OPTIONS")) == table("door")


def test_the_manual_page_of_the_module_has_every_option_of_a_module_line():
    text = source("PasscodeVault/Access/Configuration.swift")
    [usual] = re.findall(r'usualPath: Bytes \{ Bytes\(text: "(.*)"\)', text)
    assert defaults(section(MODULE_PAGE, "OPTIONS")) == {"conf": usual, "second_factor": "no", **table("door")}


def test_the_sample_file_has_every_option_commented_out():
    policy, door = SAMPLE.split("# ---- Service options")
    for text, kind in ((policy, "policy"), (door, "door")):
        assert dict(re.findall(r"^#(\w+)=(.*)$", text, re.MULTILINE)) == table(kind)
    assert all(line.startswith("#") for line in SAMPLE.splitlines() if line)


def test_the_sample_file_is_accepted_as_it_is_and_with_its_defaults_written_out(alice):
    written = re.sub(r"^#(\w+=.+)$", r"\1", SAMPLE, flags=re.MULTILINE)
    for text in (SAMPLE, written):
        text = re.sub(r"^store=.*\n|^key_file=.*\n", "", text, flags=re.MULTILINE)
        alice.configuration.write_text(f"{text}\nstore={alice.store}\nkey_file={alice.key}\n")
        assert alice.status("alice")["length"] == 4
        assert alice.authenticate("alice", "0471").result == "SUCCESS"


# MARK: The tool


def commands(bed):
    """{usage: options} of each command as its --help tells, and the options that all of them have."""
    listed, overview = bed.tool("--help", check=DONE).output.split("\nOptions")
    told = {}
    for name in re.findall(r"^  ([a-z][a-z-]*)", listed, re.MULTILINE):
        text = bed.tool(name, "--help", check=DONE).output
        usage = re.match(r"Usage: (passcode .*?) \[OPTIONS\]", text)[1]
        told[usage] = listed_options(text)
    common = set.intersection(*told.values())
    assert listed_options(overview) == common
    return {usage: own - common for usage, own in told.items()}, common


def listed_options(text):
    return set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE))


def documented(text):
    return set(re.findall(r"^\.(?:B|BR|BI) (--[\w-]+)", text, re.MULTILINE))


def test_the_manual_page_of_the_tool_has_every_command_and_option(bed):
    told, common = commands(bed)
    assert documented(section(TOOL_PAGE, "OPTIONS")) == common
    parts = re.split(r'^\.SS "(passcode .*?)"\n', section(TOOL_PAGE, "COMMANDS"), flags=re.MULTILINE)
    pages = dict(zip(parts[1::2], map(documented, parts[2::2]), strict=True))
    assert pages == told


def test_every_exit_status_is_documented():
    statuses = set(re.findall(r"^  case \w+ = (\d)$", source("PasscodeTool/ExitStatus.swift"), re.MULTILINE))
    assert statuses and set(items(section(TOOL_PAGE, "EXIT STATUS"))) == statuses


def test_every_name_in_json_is_documented(alice):
    of_status, of_codes, of_line, of_all, of_option, of_preset, of_check = re.split(
        r"^\.B check-weak\nprints|^\.B --batch|^The summary:|^\.B configure\nprints|^Then a last object:|^\.B check\nprints",
        section(PAGES["passcode-json.5"], "OBJECTS"),
        flags=re.MULTILINE,
    )  # fmt: skip
    assert ["version", *items(of_status)] == list(alice.status("alice"))
    answer = alice.tool("check-weak", "--json", stdin="1234\n8305\n", check=DONE)
    names = {name for line in answer.output.splitlines() for name in json.loads(line)}
    assert {"version", *items(of_codes)} == names
    answer = alice.tool("remove", "--batch", "-", "--json", stdin="alice\n", check=DONE)
    for text, line in zip((of_line, of_all), answer.output.splitlines(), strict=True):
        tags = re.findall(r"^\.TP\n\.BR? (.*)$", text, re.MULTILINE)
        assert re.findall(r"\w+", " ".join(tags)) == [name for name in json.loads(line) if name != "version"]
    lines = alice.tool("configure", "--preset", "desktop", "--dry-run", "--json").output.splitlines()
    assert ["version", *items(of_option)] == list(json.loads(lines[0]))
    assert ["version", *items(of_preset)] == list(json.loads(lines[-1]))
    assert list(items(of_check)) == list(json.loads(alice.tool("check", "--json").output.splitlines()[0]))


# MARK: PAM and the log


def test_every_result_is_documented():
    text = source("pam_passcode/PAM.swift")
    codes = set(re.findall(r"PAMResult\(code: (PAM_\w+)\)", text))
    assert codes and set(items(section(MODULE_PAGE, "RETURN VALUES"))) == codes


def test_every_message_is_documented():
    sentences = re.findall(r'"((?:[^"\\\n]|\\.)*\.)"', source("PasscodePolicy/Text/Words.swift"))
    said = [".+".join(map(re.escape, re.split("%[d123]", sentence))) for sentence in sentences]
    told = section(MODULE_PAGE, "MESSAGES").split(".nf\n.RS\n")[1].split("\n.RE")[0].splitlines()
    assert len(said) > 4 and len(told) == len(said)
    assert [pattern for pattern in said if not any(re.fullmatch(pattern, line) for line in told)] == []


def test_every_key_of_the_log_is_documented():
    written = {
        key
        for path in (TREE / "Sources").rglob("*.swift")
        for key in re.findall(r'\.add\(\s*"(\w+)"', path.read_text())
    }
    tags = re.findall(r"^\.TP\n\.BR? (.*)$", section(MODULE_PAGE, "LOG"), re.MULTILINE)
    assert {word for tag in tags for word in re.findall(r"\w+", tag)} == written


# MARK: That it can be read


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_manual_page_is_without_faults(page):
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", TREE / "Sources/system/man" / page],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"},
    )  # fmt: skip
    assert done.stderr == ""


def links(name):
    """(path, anchor) of each link of a document to the tree."""
    found = re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", DOCUMENTS[name])
    return [(os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name, anchor) for path, anchor in found]


def anchors(text):
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_everything_that_a_document_names_is_there(name):
    named = [path for path, _ in links(name)] + re.findall(
        r"`((?:Sources|Tests|debian|pam\.d)/[\w./-]+)", DOCUMENTS[name]
    )
    assert named
    assert [path for path in named if not (TREE / path).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_title_leads_somewhere(name):
    to_titles = [(path, anchor) for path, anchor in links(name) if anchor]
    assert [link for link in to_titles if link[1] not in anchors((TREE / link[0]).read_text())] == []


def test_every_document_is_named_in_the_readme():
    assert set(DOCUMENTS) - {"README.md"} <= {path for path, _ in links("README.md")}


def test_the_readme_fits_three_pages():
    assert DOCUMENTS["README.md"].count("\n") <= 150


def test_the_licence_is_the_one_that_the_package_names():
    assert (TREE / "LICENSE").read_bytes() == pathlib.Path("/usr/share/common-licenses/Apache-2.0").read_bytes()
    assert "/usr/share/common-licenses/Apache-2.0" in (TREE / "debian/copyright").read_text()


# MARK: The contract


def test_the_tables_of_the_pages_are_those_of_the_heads():
    assert subprocess.run([TREE / "Tests/contract", "--check"], capture_output=True, text=True).stderr == ""


def test_every_table_of_musts_is_on_a_page_once_and_without_a_gap():
    on_pages = [name for page in contract.PAGES for name, _ in contract.TABLE.findall(page.read_text())]
    assert sorted(on_pages) == sorted(contract.tables())
    for name, rows in contract.tables().items():
        first = rows[0].number
        assert [row.number for row in rows] == list(range(first, first + len(rows))) and first in (0, 1), name


def test_every_row_of_a_table_of_musts_names_a_test():
    rows = [(name, row.number, row.tests) for name, rows in contract.tables().items() for row in rows]
    assert len(rows) > 90
    assert [row for row in rows if not row[2]] == []


def test_the_base_is_read_in_twenty_minutes():
    assert DOCUMENTS["Sources/README.md"].count("\n") <= 350


NAMED = re.compile(r"\btest_\w+(?:\.py)?|\b[A-Z]\w+Tests\b|\bFuzz[A-Z][a-z]\w+")


@pytest.mark.parametrize("page", DOCUMENTS)
def test_each_test_that_a_page_names_exists(page):
    assert set(NAMED.findall(DOCUMENTS[page])) - every_test() == set()


def test_each_test_that_a_comment_in_the_sources_names_exists():
    comments = {
        str(path.relative_to(TREE)): re.findall(r"^\s*//.*$", text, re.MULTILINE)
        for path, text in contract.sources().items()
    }
    named = {(file, test) for file, lines in comments.items() for test in NAMED.findall("\n".join(lines))}
    assert len(named) > 200
    assert {(file, test) for file, test in named if test not in every_test()} == set()


def test_both_tables_say_the_same_of_what_a_thief_finds_out():
    """For {disk; disk and TPM; backup; running machine}, with {plain key; sealed; sealed and encrypted}: every passcode?"""
    security = (TREE / ".github/SECURITY.md").read_text().partition("| what they have |")[2]
    rows = re.findall(r"^ *\| (?:the|a) [^|]*\|(.*)\|$", security, re.MULTILINE)
    told = [[cell.strip(" *").startswith("every passcode") for cell in row.split("|")] for row in rows]
    readme = (TREE / "debian/libpam-passcode.README.Debian").read_text().partition("The key in the TPM\n---")[2]
    rows = re.findall(r"^  (?:the|a) .*?  +(.*(?:thing).*)$", readme, re.MULTILINE)
    assert [[cell == "everything" for cell in row.split()] for row in rows] == told
    assert told == [[True, False, False], [True, True, False], [True, False, False], [True, True, True]]


def junit(folder, part, *cases):
    """What a part's runner wrote: (classname, name, element)."""
    lines = [f'<testcase classname="{group}" name="{name}">{inside}</testcase>' for group, name, inside in cases]
    (folder / f"{part}.xml").write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")


def test_a_named_test_that_failed_or_did_not_run_is_told(tmp_path, monkeypatch):
    shown = {
        "test_clock.py": ["attempt 10"], "LedgerTests": ["attempt 10"], "FuzzFinger": ["finger 7"],
        "test_a_lying_helper": ["helper's caller 3"], "test_disk.py": ["attempt 8"], "test_gdm.py": ["attempt 1"],
        "EtcdTests": ["fleet 1"],
    }  # fmt: skip
    monkeypatch.setattr("ran.shown_by_rows", lambda: shown)
    monkeypatch.delenv("PASSCODE_PLAIN", raising=False)
    assert "test_gdm.py" in on_request()
    passed, failed, skipped = "", '<failure message="no"/>', '<skipped message="needs mounts"/>'
    junit(tmp_path, "outside", ("Tests.Outside.test_clock", "test_a[1]", passed), ("Tests.Outside.test_helper_host", "test_a_lying_helper[x]", passed), ("Tests.Outside.test_disk", "test_d", skipped))
    of_a_file = "PasscodePolicyTests.EtcdTransactionTests"  # in EtcdTests.swift
    junit(tmp_path, "unit-swift-testing", ("PasscodePolicyTests.LedgerTests", "delays()", passed), (of_a_file, "a()", passed))
    (tmp_path / "fuzz.log").write_text("ok      FuzzFinger: 5 executions\n")
    assert unshown(tmp_path) == ["test_disk.py did not run: attempt 8"]
    monkeypatch.setenv("PASSCODE_PLAIN", "1")
    assert unshown(tmp_path) == []
    junit(tmp_path, "measured", ("Tests.Outside.test_clock", "test_b", failed), ("Tests.Outside.test_disk", "test_e", passed))
    assert unshown(tmp_path) == ["test_clock.py failed: attempt 10"]
    (tmp_path / "outside.xml").write_text("<testsuites>")
    assert "test_a_lying_helper did not run: helper's caller 3" in unshown(tmp_path)
    (tmp_path / "fuzz.log").unlink()
    assert "FuzzFinger did not run: finger 7" in unshown(tmp_path)
