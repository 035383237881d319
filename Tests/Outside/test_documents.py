"""What is written about the programs is what they do: the contract, manual pages, sample file and picture."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from bed import BUILD
from option_table import table
from tool import DONE

TREE = pathlib.Path(__file__).parents[2]
DOCUMENTS = {
    name: (TREE / name).read_text()
    for name in (
        "README.md", "Sources/README.md", "Tests/README.md", "Tests/weak/README.md", ".github/SECURITY.md",
        ".github/CONTRIBUTING.md", ".github/PEERS.md",
    )
}  # fmt: skip
CONTRACT = DOCUMENTS["Sources/README.md"]
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
    assert f"\n| `conf` | `{usual}` | line only |" in CONTRACT


def test_the_sample_file_has_every_option_commented_out():
    policy, door = SAMPLE.split("# ---- Service options")
    for text, kind in ((policy, "policy"), (door, "door")):
        assert dict(re.findall(r"^#(\w+)=(.*)$", text, re.MULTILINE)) == table(kind)
    assert all(line.startswith("#") for line in SAMPLE.splitlines() if line)


def test_the_contract_has_every_option():
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (file|line) \|", CONTRACT, re.MULTILINE)
    for kind, where in (("policy", "file"), ("door", "line")):
        assert {name: value for name, value, place in rows if place == where} == table(kind)


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


def test_the_contract_has_every_command(bed):
    told, _ = commands(bed)
    text = CONTRACT.replace("\\|", "|")
    rows = re.findall(r"^\| (`passcode .*?`) \| ", text, re.MULTILINE)
    assert {usage for row in rows for usage in re.findall("`(.*?)`", row)} == set(told)


def test_every_exit_status_is_documented():
    statuses = set(re.findall(r"^  case \w+ = (\d)$", source("passcode/ExitStatus.swift"), re.MULTILINE))
    assert statuses and set(items(section(TOOL_PAGE, "EXIT STATUS"))) == statuses
    listed = re.search(r"^Exit status: .*?\n\n", CONTRACT, re.DOTALL | re.MULTILINE)[0]
    assert set(re.findall(r"(\d) \w", listed)) == statuses


def test_every_name_in_json_is_documented(alice):
    of_status, of_codes, of_line, of_all, of_check = re.split(
        r"^\.B check-weak\nprints|^\.B --batch|^The summary:|^\.B check\nprints", section(TOOL_PAGE, "JSON"),
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
    assert list(items(of_check)) == list(json.loads(alice.tool("check", "--json").output.splitlines()[0]))


# MARK: PAM and the log


def test_every_result_is_documented():
    text = source("pam_passcode/PAMResult.swift")
    codes = set(re.findall(r"^    case \.\w+: (PAM_\w+)$", text, re.MULTILINE))
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


def test_every_test_that_a_document_names_is_there():
    tests = TREE / "Tests"
    files = [*tests.glob("Outside/test_*.py"), *tests.glob("Package/test_*.py")]
    there = {path.name for path in files} | {path.stem for path in tests.glob("*Tests/**/*.swift")}
    for path in files:
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    named = set(re.findall(r"\btest_\w+(?:\.py)?|\b[A-Z]\w+Tests\b", "".join(DOCUMENTS.values())))
    assert len(named) > 50
    folders = {path.name for path in tests.glob("*Tests")}
    assert named - there - folders == set()


def test_every_row_of_a_table_of_musts_names_a_test():
    text = (TREE / "Sources/README.md").read_text()
    tables = re.findall(r"^\| # \|.* MUST \| shown by \|\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(tables) >= 5 and len(rows) > 50
    for row in rows:
        assert re.search(r"`?test_\w+|[A-Z]\w+Tests", row.rstrip("| ").rpartition("|")[2]), row


def test_the_attempt_protocol_names_the_same_tests_in_the_contract_and_in_the_source():
    """The contract may name a test where the source names its file."""
    name = re.compile(r"\btest_\w+(?:\.py)?|\b[A-Z]\w+Tests\b")
    files = {
        test: path.name
        for path in (TREE / "Tests").glob("*/test_*.py")
        for test in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    contract = (TREE / "Sources/README.md").read_text().partition("\n## The attempt protocol\n")[2].partition("\n\n**")[0]
    in_contract = {
        number: {files.get(test, test) for test in name.findall(shown)}
        for number, shown in re.findall(r"^\| (\d+) \|.*\|(.*)\|$", contract, re.MULTILINE)
    }
    source = (TREE / "Sources/PasscodeVault/Attempt/Attempt.swift").read_text().partition("\n\n///")[0]
    in_source = {row[0]: set(name.findall(row[1])) for row in re.findall(r"^// {1,2}(\d+)  ((?:.*\n(?://   .*\n)*))", source + "\n", re.MULTILINE)}
    assert len(in_source) == 15 and in_source == in_contract


def test_the_readme_fits_three_pages():
    assert DOCUMENTS["README.md"].count("\n") <= 150


def test_the_licence_is_the_one_that_the_package_names():
    assert (TREE / "LICENSE").read_bytes() == pathlib.Path("/usr/share/common-licenses/Apache-2.0").read_bytes()
    assert "/usr/share/common-licenses/Apache-2.0" in (TREE / "debian/copyright").read_text()


def test_the_picture_is_what_the_demo_prints():
    done = subprocess.run(
        [TREE / "Tests/picture", "--check"], env={**os.environ, "PASSCODE_BUILD": str(BUILD)}
    )
    assert done.returncode == 0


# MARK: The tests that pages name


def every_test():
    """All that a page may name: functions and files of these tests, suites and files of unit tests."""
    found = set()
    for path in (TREE / "Tests").rglob("*"):
        if path.suffix == ".py":
            found |= {path.name, *re.findall(r"^\s*def (test_\w+)", path.read_text(), re.MULTILINE)}
        elif path.suffix == ".swift":
            found |= {path.stem, *re.findall(r"^(?:struct|final class) (\w+Tests)\b", path.read_text(), re.MULTILINE)}
    return found


@pytest.mark.parametrize("page", ["Sources/README.md", ".github/PEERS.md", ".github/SECURITY.md"])
def test_each_test_that_a_page_names_exists(page):
    named = set(re.findall(r"`(test_\w+(?:\.py)?)|\b([A-Z]\w+Tests)\b", (TREE / page).read_text()))
    missing = {first or second for first, second in named} - every_test()
    assert missing == set()
