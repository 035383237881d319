"""What an auditor of the passcode reads: the files that have instructions in the module and in the helper."""

import pytest

from trusted import LIST, PACKAGE, files, trusted

pytestmark = pytest.mark.shipped

# How others wait in their own way.
ONLY_NAMED = {"PasscodeVault/ClosureClock.swift"}


def paths(text):
    """{file: lines} of a list."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {row[1]: int(row[0]) for row in rows if len(row) == 2}


def test_the_list_has_each_file_that_is_in_the_module_or_the_helper():
    """Run Tests/trusted after a change that adds or takes away one, and say why in the commit."""
    assert paths(trusted()).keys() == paths(LIST.read_text()).keys()


def test_they_have_no_more_lines_than_the_list_says():
    """Run Tests/trusted after a change that is meant to add some, and say why in the commit."""
    assert sum(paths(trusted()).values()) <= sum(paths(LIST.read_text()).values())


@pytest.mark.parametrize("target", ["PasscodeSystem", "PasscodeVault"])
def test_these_targets_have_nothing_else(target):
    sources = {str(file.relative_to(LIST.parent)) for file in (LIST.parent / target).rglob("*.swift")}
    assert sources - ONLY_NAMED == {file for file in paths(trusted()) if file.startswith(f"{target}/")}


@pytest.mark.parametrize("name", ["pam_passcode.so", "passcode-helper"])
def test_what_only_others_need_is_in_neither(name):
    """The targets of administrators, fleets, stacks and of the reader, whatever the list says."""
    targets = {file.split("/")[0] for file in files(PACKAGE / name)}
    assert {"PasscodePolicy", "PasscodeSystem", "PasscodeVault"} <= targets
    assert targets <= {
        "CPAM", "CSystem", "PasscodeBytes", "PasscodePolicy", "PasscodeSystem", "PasscodeVault",
        "pam_passcode", "passcode-helper",
    }  # fmt: skip
