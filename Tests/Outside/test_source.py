"""What the compiler doesn't keep: where `unsafe` may stand, and which room may import which."""

import fnmatch
import pathlib
import re
import tomllib

from comments import first_sentence, is_riddle, riddles
from functions import functions

SOURCES = pathlib.Path(__file__).parents[2] / "Sources"
UNSAFE_ROOMS = {"PasscodeSystem", "PasscodePrograms", "PasscodeBus", "pam_passcode"}
UNSAFE_FILES = {("PasscodeBytes", "Literal.swift")}
IMPORTS = {
    "PasscodeBytes": set(),
    "PasscodePolicy": {"PasscodeBytes"},
    "PasscodeStacks": {"PasscodePolicy"},
    "PasscodeSystem": {"CSystem", "CSodium", "CPAM", "PasscodeBytes"},
    "PasscodePrograms": {"CSystem", "CSodium", "CPAM", "PasscodeBytes", "PasscodeSystem"},
    "PasscodeReader": {"PasscodePolicy"},
    "PasscodeBus": {"CBus", "PasscodePolicy", "PasscodeReader", "PasscodeSystem"},
    "PasscodeVault": {"PasscodePolicy", "PasscodeSystem"},
    "PasscodeAdmin": {"PasscodePolicy", "PasscodePrograms", "PasscodeSystem", "PasscodeVault"},
    "PasscodeTool": {"PasscodePolicy", "PasscodePrograms", "PasscodeSystem", "PasscodeVault"},
    "PasscodeFleetPolicy": {"PasscodePolicy"},
    "PasscodeFleet": {
        "PasscodeFleetPolicy", "PasscodePolicy", "PasscodePrograms", "PasscodeSystem", "PasscodeVault"
    },
    "pam_passcode": {"CPAM", "PasscodePolicy", "PasscodeSystem", "PasscodeVault"},
    "passcode-helper": {"PasscodePolicy", "PasscodeSystem", "PasscodeVault"},
}


def code(room):
    """{file: its lines without comments} of a room."""
    files = sorted((SOURCES / room).rglob("*.swift"))
    assert files, room
    return {file.name: re.sub(r"//.*", "", file.read_text()) for file in files}


def rooms():
    return {folder.name for folder in SOURCES.iterdir() if list(folder.rglob("*.swift"))}


def test_unsafe_stays_in_its_rooms():
    words = re.compile(r"\b(unsafe|unowned|nonisolated\(unsafe\))\b|@unchecked")
    found = {
        (room, name): words.findall(text)
        for room in rooms() - UNSAFE_ROOMS
        for name, text in code(room).items()
        if words.search(text)
    }
    assert found.keys() == UNSAFE_FILES


def test_what_is_dangerous_without_unsafe_stays_where_calls_are_made():
    """Pointers to secrets are `unsafe` anyway. A descriptor's number and a secret's length are not: others could close the
    one, and read beyond the secret by the other."""
    for room in rooms() - {"PasscodeSystem", "PasscodePrograms"}:
        for name, text in code(room).items():
            found = r"\.raw\b|\badopting:|(?<!\bself)\.count\s*[-+]?=(?!=)|&[\w.]+\.count\b"
            assert not re.search(found, text), (room, name)
            if re.search(r"\bextension (Descriptor|Passcode|TypedLine)\b", text):
                assert not re.search(r"\braw\b|(?<!let )(?<!var )\bcount\s*[-+]?=(?!=)", text), (room, name)


def test_dependencies_point_down_only():
    for room, allowed in IMPORTS.items():
        for name, text in code(room).items():
            imported = set(re.findall(r"^(?:@?\w+ )*import (\w+)", text, re.MULTILINE))
            assert imported <= allowed, (room, name)


def test_secrets_stay_in_their_allocation_and_libraries_take_only_parts():
    """The compiler lets nobody copy or move a part, but swap it with another allocation's."""
    for room in rooms():
        for name, text in code(room).items():
            assert not re.search(r"\b(swap|exchange)\(|\.move\(\)", text), (room, name)
    for room in IMPORTS.keys() - {"PasscodeSystem", "PasscodePrograms", "pam_passcode", "passcode-helper"}:
        for name, text in code(room).items():
            assert not re.search(r": (inout|borrowing|consuming) Secrets\b", text), (room, name)


def test_what_the_list_of_mutants_names_is_there():
    listed = tomllib.loads((SOURCES.parent / "Tests/Support/mutants.toml").read_text())
    for row in listed["by_hand"]:
        assert row["before"] in (SOURCES / row["path"]).read_text(), row
    for row in listed["equivalent"]:
        assert (SOURCES / row["mutant"].split(": ")[0]).is_file(), row
    paths = [str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.swift")]
    first = {next((row for row in listed["nearest"] if fnmatch.fnmatch(path, row)), None) for path in paths}
    assert listed["nearest"].keys() <= first, "a row is behind one that takes all its files"


def test_no_traps_on_purpose_and_no_package_dependency():
    for room in rooms():
        for name, text in code(room).items():
            assert not re.search(r"\btry!|\bfatalError\(|\bas!", text), (room, name)
    assert ".package(" not in (SOURCES.parent / "Package.swift").read_text()


def test_each_problem_with_the_machine_key_has_words():
    """Three of the tables of words have a default; and the last one has no words for what stands in those."""
    declared = (SOURCES / "PasscodePolicy/Key/KeyProblem.swift").read_text()
    tables = (SOURCES / "passcode/Messages/Key+Words.swift").read_text().partition("extension KeyProblem {")[2]
    problems = re.findall(r"\w+", " ".join(re.findall(r"^  case ([\w, ]+)$", declared, re.MULTILINE)))
    rows = re.findall(r"^    case (\.[\w.,\s]+):(?!\s*\"\"$)", tables, re.MULTILINE)
    assert len(problems) >= 30 and sorted(re.findall(r"\w+", " ".join(rows))) == sorted(problems)


def test_no_test_file_imports_another_one():
    """What they share is in Tests/Support."""
    for path in (SOURCES.parent / "Tests").glob("*/test_*.py"):
        assert not re.search(r"^\s*(import|from) test_", path.read_text(), re.MULTILINE), path.name


def test_functions_and_files_are_short():
    """CONTRIBUTING says what to aim for; these are the bounds."""
    for path in SOURCES.rglob("*.swift"):
        assert path.read_text().count("\n") <= 300, path.name
        long = [(name, line, lines) for name, line, lines in functions(path) if lines > 45]
        assert not long, (path.name, long)


def test_what_is_counted_as_a_function(tmp_path):
    text = """
enum Table {
  static let rows: [() -> Int] = [
    { 1 },
  ]
  static let plain = [
    1,
  ]
  var value: Int {
    get { 1 }
    set {}
  }
  init(_ one: Int, _ act: () -> Int = { 2 })
  {
    // }
    print("}")
  }
  func generic<T>(_ one: T)
    throws(Fault) -> T where T: Sendable
  {
    one
  }
}
"""
    path = tmp_path / "a.swift"
    path.write_text(text)
    assert [(name, lines) for name, _, lines in functions(path)] == [("rows", 3), ("value", 4), ("init", 5), ("generic", 5)]


NAME = re.compile(r"\btest_\w+(?:\.py)?|\b[A-Z]\w+Tests\b")


def comments(text):
    """Each run of lines that are a comment."""
    return re.findall(r"(?:^[ \t]*(?://|/?\*).*\n)+", text, re.MULTILINE)


def test_every_comment_that_says_must_names_a_test():
    """But for one that only refers to a list, or to a number there."""
    promises = 0
    for path in (path for kind in ("swift", "c", "h") for path in SOURCES.rglob(f"*.{kind}")):
        for comment in comments(path.read_text()):
            if re.search(r"\bMUST\b(?! (list|\d))", comment):
                promises += 1
                assert NAME.search(comment), (path.name, comment)
    assert promises > 50


def test_every_test_that_a_comment_names_is_there():
    tests = SOURCES.parent / "Tests"
    outside = [*tests.glob("Outside/test_*.py"), *tests.glob("Package/test_*.py")]
    there = {path.name for path in outside} | {path.stem for path in tests.glob("*Tests/**/*.swift")}
    for path in outside:
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    for room in rooms():
        for path in (SOURCES / room).rglob("*.swift"):
            named = set(NAME.findall(path.read_text()))
            assert named <= there, path.name


# Doc comments whose first sentence a stranger may not understand. The number may only fall: write a new comment so that a
# reader understands it who knows only the folder's name. What is left are sentences that the rule takes for riddles.
RIDDLES = 27


def test_a_stranger_understands_the_comments():
    found = [f"{path.name}:{line}: {sentence}" for path, lines in riddles(SOURCES).items() for line, sentence in lines]
    assert len(found) <= RIDDLES, "\n".join(found)


def test_riddles_are_found():
    for text in ("Keeps it, and notes that.", "This worker's.", "Its row.", "The same, started by root.", "As it is sent.", "nil: there is none."):
        assert is_riddle(text), text
    for text in ("Milliseconds.", "The account's uid.", "Draws a passcode, uniformly.", "Keeps a one-time code in etcd, and logs that."):
        assert not is_riddle(text), text
    assert first_sentence(["Reads a key,", "if it is there. Else nil.", "", "- Returns: nil"]) == "Reads a key, if it is there."
