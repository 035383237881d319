"""The options and their defaults, as the programs have them."""

import pathlib
import re

SOURCES = pathlib.Path(__file__).parents[2] / "Sources"


def table(*kinds):
    """{name: default} of these kinds, as OptionTable.swift has it; a flag's is no."""
    [file] = SOURCES.rglob("OptionTable.swift")
    text = file.read_text()
    body = re.search(r"func all\(\) -> \[OptionRow\] {\n    \[\n(.*?)\n    \]", text, re.DOTALL)[1]
    options = re.findall(r'\b(policy|door)\(\s*"(\w+)", "([^"]+)", "[^"]+"\s*(?:, set: \w+)?\)', body)
    flags = re.findall(r'\bflag\((isPolicy: true, )?"(\w+)"[,)]', body)
    assert len(options) + len(flags) == len(re.findall(r"^      \w", body, re.MULTILINE))
    rows = options + [("policy" if policy else "door", name, "no") for policy, name in flags]
    return {name: default for kind, name, default in rows if kind in kinds}
