"""A report in words: the table on the terminal, the tables of Tests/README.md, and README's table."""

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


# MARK: The table of README


def gains_and_costs(report):
    """What it gains, then what it costs: {what: (ours, the peer's)}, each in its unit."""
    figures = Figures(report)
    faillock = figures.largest("budget", "guesses verified beyond three", peer="pam_faillock")
    few, many = (figures.rows("storm", "peak memory", variant=crowd)[0] for crowd in ("10", "500"))
    wait = figures.one("storm", "longest wait", variant=many["variant"])
    load, light = (figures.one("load", "dlopen", peer=peer) for peer in ("pam_unix", "pam_faillock"))
    login = figures.one("authenticate", "whole login, theirs with yescrypt", peer="pam_unix")
    bare = figures.one("authenticate", "whole login, ext4 with a real fsync")
    prompts = f"guesses that are checked, with {faillock['variant']} prompts open at once and a limit of three"
    checked = {side: f"{number(faillock[side] + 3)}" for side in ("ours", "theirs")}
    return {
        prompts: (checked["ours"], f"`pam_faillock`: {checked['theirs']}"),
        f"memory when {many['variant']} people log in at once": sides(many, "pam_unix"),
        "time to load the module": sides(load, "pam_unix", light, "pam_faillock"),
        "one login, with its hash": sides(login, "pam_unix", bare, "the bare hash on the same disk"),
        f"longest wait when {wait['variant']} people log in at once": sides(wait, "pam_unix"),
        f"memory when {few['variant']} people log in at once": sides(few, "pam_unix"),
    }


def sides(row, peer, other=None, others=None):
    """Our figure; the peer's, and another peer's with the ratio of ours to it."""
    name = peer if " " in peer else f"`{peer}`"
    theirs = f"{name}: {amount(row, 'theirs')}"
    if other:
        name = others if " " in others else f"`{others}`"
        theirs += f"; {number(other['ratio'][1])} times {name}"
    return amount(row, "ours"), theirs


def readme(report):
    """With the picture."""
    if not is_full(report):
        return ""
    rows = [("", "`pam_passcode`", "others"), ("---", "---:", "---")]
    rows += [(what, *both) for what, both in gains_and_costs(report).items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + f"\n{PICTURE}\n"


def wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


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
