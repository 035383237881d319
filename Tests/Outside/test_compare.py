"""Tests/compare: that it measures everything, and that picture and documents say what the kept figures say."""

import json
import math
import os
import subprocess
import xml.etree.ElementTree as xml

import pytest

from bed import BUILD
from compare import output, picture, report, words
from compare.figures import Effort, Figure, figure

KEPT = report.read()
ROW = {field for field in Figure.__dataclass_fields__}


def names(figures):
    """All rows; a function's name and a size depend on the run."""
    return [
        (section["name"], row["name"], row["peer"], row["unit"])
        for section in figures["sections"]
        for row in section["rows"]
    ]


def test_a_quick_run_has_every_row_of_the_kept_figures(peers, make_bed, machine, capsys):
    figures = report.measured(report.Kit(Effort(False), make_bed, machine), peers, tell=lambda _: None)
    assert names(figures) == names(KEPT)
    assert_complete(figures)
    assert json.loads(report.text(figures)) == json.loads(json.dumps(figures))
    assert_picture(picture.drawn(figures), figures)
    budget = [row["ours"] for row in figures["sections"][4]["rows"]]
    assert budget == [0] * len(budget), "a guess was verified beyond the third"


def assert_complete(figures):
    assert figures["schema"] == report.SCHEMA
    assert [section["name"] for section in figures["sections"]] == [name for name, _, _ in report.SECTIONS]
    assert all(figures["taken"]["versions"].values()) and figures["taken"]["processor"]
    for section in figures["sections"]:
        assert section["rows"], section["name"]
        for row in section["rows"]:
            assert set(row) == ROW and row["rounds"] > 0, row
            assert math.isfinite(row["ours"]) and math.isfinite(row["theirs"]), row
            assert row["ratio"] is None or sorted(row["ratio"]) == list(row["ratio"]), row


def assert_picture(text, figures):
    root = xml.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg" and root.get("role") == "img"
    alternative = root.find(f"{name}desc").text
    shown = ["".join(part.itertext()) for part in root.iter(f"{name}text")]
    assert len(shown) > 20
    for panel in (picture.loading, picture.hashing, picture.calls, picture.guessing):
        title, _, bars = panel(report.Figures(figures))
        assert title in alternative
        for label, value, *_ in bars:
            assert f"{label} {value}" in alternative and label in shown and value in shown
    assert len(text) < 60_000 and "prefers-color-scheme: dark" in text
    assert not [part for part in ("http", "url(", "@import", "<image", "<script") if part in text.replace(name[1:-1], "")]


def test_the_kept_figures_are_complete():
    assert_complete(KEPT)
    assert_picture(picture.drawn(KEPT), KEPT)


def of_mode(mode, figures=KEPT):
    return {**figures, "taken": {**figures["taken"], "mode": mode}}


def test_figures_of_a_quick_run_are_not_shown_in_documents():
    quick, full = of_mode("quick"), of_mode("full")
    assert (words.readme(quick), words.markdown(quick)) == ("", words.QUICK + "\n")
    assert words.QUICK in picture.drawn(quick)
    for text in (words.readme(full), words.markdown(full), picture.drawn(full)):
        assert len(text) > 300 and words.QUICK not in text


def test_picture_and_documents_are_made_from_the_kept_figures():
    assert output.stale() == []


def test_other_figures_make_another_picture_and_other_documents():
    """So a claim of the README can't differ from the figures."""
    other = json.loads(json.dumps(of_mode("full")))
    for section in other["sections"]:
        for row in section["rows"]:
            row["ours"] += 1
            row["ratio"] = row["ratio"] and [value + 1 for value in row["ratio"]]
    now, then = output.shown(of_mode("full")), output.shown(other)
    assert [path for path in now if now[path] == then[path]] == []


def test_the_readme_has_what_it_costs_beside_what_it_gains():
    rows = {what: ours for what, (ours, _) in words.gains_and_costs(KEPT).items()}
    gains = [what for what in rows if "guesses" in what or "500 people" in what and "memory" in what]
    assert len(gains) == 2 and len(rows) - len(gains) == 4
    assert all(f"| {what} | {ours} | " in words.readme(KEPT) for what, ours in rows.items())


@pytest.mark.parametrize(
    "pairs, expected", [([(1, 2)], (0.5, 0.5, 0.5)), ([(1, 1), (3, 1), (2, 1)], (1.5, 2, 2.5)), ([(1, 0)], None)]
)
def test_a_figure_is_a_ratio_with_its_quartiles(pairs, expected):
    assert figure("what", "whom", "ms", pairs).ratio == expected


def test_the_command_says_how_it_is_called():
    command = report.peers.TREE / "Tests/compare"
    environment = {**os.environ, "PASSCODE_BUILD": str(BUILD)}
    done = subprocess.run([command, "--nonsense"], capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and done.stderr.startswith("usage: Tests/compare")
