"""Tests/compare: measures in full, or with PASSCODE_COMPARE=quick only to show that everything works."""

import os

import pytest
from compare import output, report, words
from compare.figures import Effort

pytestmark = pytest.mark.alone


def test_compare(peers, make_bed, machine, capsys):
    kit = report.Kit(Effort(os.environ["PASSCODE_COMPARE"] == "full"), make_bed, machine)
    with capsys.disabled():
        print()
        figures = report.measured(kit, peers)
        print("\n" + words.table(figures))
        print(f"The figures are in {output.keep(figures)}.")
