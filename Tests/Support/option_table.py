"""The options and their defaults, as the programs have them."""

import pathlib
import re

SOURCES = pathlib.Path(__file__).parents[2] / "Sources"


def table(*kinds):
    """{name: default} of these kinds, as OptionTable.swift has it."""
    [file] = SOURCES.rglob("OptionTable.swift")
    lines = re.search(r'let table = """\n(.*?)\n  """', file.read_text(), re.DOTALL)[1].splitlines()
    rows = [re.fullmatch(r"  (policy|door) (\w+)=([^|]+)\|.+", line).groups() for line in lines]
    return {name: default for kind, name, default in rows if kind in kinds}
