"""A report in words: the table on the terminal, the tables of Tests/README.md, and README's three sentences."""

import re
import textwrap

from compare.peers import TREE
from compare.report import Figures

# Said wherever they are shown.
QUICK = "No figures yet: `Tests/compare` takes them."
PICTURE = (
    "[![Time to load, time beside the hash, system calls and guesses of pam_passcode and other modules]"
    "(Tests/compare.svg)](Tests/README.md#measured-side-by-side)"
)
MARK = "<!-- Tests/compare writes this -->\n", "<!-- until here -->\n"


def number(value):
    """Three digits or so, as people read them."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 and abs(value) < 1e9 and value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(row):
    if row["ratio"] is None:
        return "-"
    low, middle, high = map(number, row["ratio"])
    return middle if low == high else f"{middle} ({low} to {high})"


def amount(row, which):
    return f"{number(row[which])} {row['unit']}".strip()


def title(row):
    return f"{row['name']}, {row['variant']}" if row["variant"] else row["name"]


# MARK: Tables


def cells(row):
    return title(row), row["peer"], amount(row, "ours"), amount(row, "theirs"), ratio(row)


def table(report):
    """For a terminal."""
    lines = [f"{'':47} {'compared with':41} {'ours':>12} {'theirs':>12}  ratio (quartiles)"]
    for section in report["sections"]:
        lines += ["", section["title"]]
        for row in section["rows"]:
            name, peer, ours, theirs, quotient = cells(row)
            lines.append(f"  {name:45.45} {peer:41} {ours:>12} {theirs:>12}  {quotient}")
    return "\n".join(lines) + "\n"


def markdown(report):
    if not is_full(report):
        return QUICK + "\n"
    figures, parts = Figures(report), [where(report)]
    for name, section in figures.sections.items():
        rows = by_peer(section["rows"]) if name == "load" else by_figure(section["rows"])
        parts.append(f"**{section['title']}**\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows))
    return "\n".join(parts)


def where(report):
    taken = report["taken"]
    versions = ", ".join(f"{name} {version}" for name, version in taken["versions"].items())
    machine = f"{taken['release']}, {taken['processor']}, {taken['processors']} processors, Linux {taken['kernel']}"
    return wrapped(f"Taken on {taken['date']}: {machine}. The peers: {versions}.")


def is_full(report):
    """What a quick run measured is shown nowhere."""
    return report["taken"]["mode"] == "full"


def by_figure(rows):
    yield "what", "compared with", "ours", "theirs", "ratio (quartiles)"
    yield "---", "---", "---:", "---:", "---:"
    for row in rows:
        yield tuple(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells(row))


def by_peer(rows):
    """All figures of a module in one line."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    found = {(row["name"], row["peer"]): row for row in rows}
    yield "module", *names
    yield "---", *["---:"] * len(names)
    yield "pam_passcode", *(amount(found[name, peers[0]], "ours") for name in names)
    for peer in peers:
        yield peer, *(f"{amount(found[name, peer], 'theirs')}; {ratio(found[name, peer])}" for name in names)


# MARK: Sentences


def sentences(report):
    figures = Figures(report)
    load = figures.one("load", "dlopen", peer="pam_unix")
    login = figures.one("authenticate", "whole login, ext4 with a real fsync")
    storm, memory = figures.largest("storm", "storm"), figures.largest("storm", "peak memory")
    faillock = figures.largest("budget", "guesses verified beyond three", peer="pam_faillock")
    times = [number(row["ratio"][1]) for row in (load, login, storm)]
    return wrapped(
        f"Loading the module takes {times[0]} times as long as loading `pam_unix`, and a login {times[1]} times as long as "
        f"its hash alone. When {storm['variant']} people log in at once, their logins take {times[2]} times as long as their "
        f"hashes in bare libsodium, and {number(memory['ours'])} MiB of memory; with `pam_unix` it is "
        f"{number(memory['theirs'])} MiB. With {faillock['variant']} prompts open at once, `pam_passcode` verifies "
        f"{guesses(faillock['ours'])} beyond the third; `pam_faillock` verifies {number(faillock['theirs'])}."
    )


def readme(report):
    """With the picture."""
    return f"{sentences(report)}\n{PICTURE}\n" if is_full(report) else ""


def wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def guesses(count):
    return "no guess" if count == 0 else f"{number(count)} guesses"


# MARK: Documents


def documents(report):
    """{path: its text with these figures}."""
    return {
        path: replaced(path.read_text(), words(report))
        for path, words in ((TREE / "README.md", readme), (TREE / "Tests/README.md", markdown))
    }


def replaced(document, words):
    start, end = MARK
    pattern = re.escape(start) + ".*?" + re.escape(end)
    changed, count = re.subn(pattern, lambda _: f"{start}{words}{end}", document, flags=re.DOTALL)
    assert count == 1, "the marks that Tests/compare writes between are not there"
    return changed
