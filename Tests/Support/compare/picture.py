"""A report as a picture: plain SVG, no fonts or colours of elsewhere; light or dark, as the reader has it."""

import html

from compare.report import Figures
from compare.words import QUICK, number

WIDTH, MARGIN, LINE, LABEL, BAR = 800, 24, 24, 250, 380

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 14px }
.note { fill: #57606a }
.ours { fill: #0a7f4f }
.theirs { fill: #8c959f }
.range { stroke: #24292f; stroke-width: 1.5 }
.one { stroke: #57606a; stroke-dasharray: 3 3 }
.edge { fill: #ffffff; stroke: #d0d7de }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.note { fill: #9198a1 }
.ours { fill: #3fb950 }
.theirs { fill: #6e7681 }
.range { stroke: #e6edf3 }
.one { stroke: #9198a1 }
.edge { fill: #0d1117; stroke: #30363d }
}
"""


def drawn(report):
    """The picture, and what it says as its text alternative."""
    panels = [loading, hashing, calls, guessing]
    parts, said, top = [], [], MARGIN
    if report["taken"]["mode"] != "full":
        said.append(QUICK)
        parts.append(f'<text class="title" x="{MARGIN}" y="{top + 10}">{html.escape(QUICK)}</text>\n')
        top += 2 * LINE
    for panel in panels:
        title, note, bars = panel(Figures(report))
        parts.append(panel_of(title, note, bars, top))
        said.append(f"{title}: " + ", ".join(f"{label} {text}" for label, text, *_ in bars) + ".")
        top += (len(bars) + 1) * LINE + MARGIN
    return head(top, " ".join(said)) + "".join(parts) + "</svg>\n"


def head(height, said):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-labelledby="title desc">\n'
        '<title id="title">pam_passcode beside other PAM modules</title>\n'
        f'<desc id="desc">{html.escape(said)}</desc>\n<style>{STYLE}</style>\n'
        f'<rect class="edge" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
    )


def panel_of(title, note, bars, top):
    """A bar is (label, text, value, low, high, is ours); the values share a scale that starts at 0."""
    most = max(max(value, high) for _, _, value, _, high, _ in bars) or 1
    parts = [
        f'<text class="title" x="{MARGIN}" y="{top + 10}">{html.escape(title)} '
        f'<tspan class="note" font-weight="400">{html.escape(note)}</tspan></text>\n'
    ]
    for index, bar in enumerate(bars, 1):
        parts.append(line(bar, top + index * LINE, BAR / most))
    return "".join(parts)


def line(bar, top, scale):
    label, text, value, low, high, is_ours = bar
    start, end = MARGIN + LABEL, MARGIN + LABEL + max(value * scale, 1)
    kind = "ours" if is_ours else "theirs"
    parts = [
        f'<text x="{start - 10}" y="{top + 10}" text-anchor="end">{html.escape(label)}</text>',
        f'<rect class="{kind}" x="{start}" y="{top - 2}" width="{end - start:.1f}" height="15" rx="2"/>',
    ]
    if high > low:
        y = top + 5.5
        parts.append(f'<path class="range" d="M{start + low * scale:.1f} {y}H{start + high * scale:.1f}"/>')
    after = max(end, start + high * scale) + 8
    parts.append(f'<text x="{after:.1f}" y="{top + 10}">{html.escape(text)}</text>')
    return "".join(parts) + "\n"


# MARK: The panels: a title, a note, and bars


def plain(label, row, which, unit=""):
    value = row[which]
    return label, f"{number(value)} {unit}".strip(), value, value, value, which == "ours"


def modules(rows, unit=""):
    """Ours first, then theirs."""
    return [plain("pam_passcode", rows[0], "ours", unit), *(plain(row["peer"], row, "theirs", unit) for row in rows)]


def loading(figures):
    return "Loading the module", "microseconds, with its libraries", modules(figures.rows("load", "dlopen"), "µs")


def hashing(figures):
    rows = [
        ("a login, on tmpfs", figures.one("authenticate", "whole login, tmpfs"), True),
        ("a login, on ext4 with fsync", figures.one("authenticate", "whole login, ext4 with a real fsync"), True),
        ("a storm of people", figures.largest("storm", "storm"), True),
        ("the same of pam_unix", figures.largest("storm", "storm of pam_unix"), False),
    ]
    bars = []
    for label, row, is_ours in rows:
        low, middle, high = row["ratio"]
        label = label.replace("people", f"{row['variant']} people")
        bars.append((label, number(middle), middle, low, high, is_ours))
    return "Beside the hash alone", "1 = only the hash; lines: quartiles", bars


def calls(figures):
    rows = figures.rows("authenticate", "system calls of an attempt, libpam's with it")
    return "System calls of an attempt", "libpam's own with them", modules(rows)


def guessing(figures):
    name = "guesses verified beyond three"
    rows = [figures.largest("budget", name, peer=peer) for peer in ("pam_faillock", "pam_unix")]
    people = rows[0]["variant"]
    return "Guesses verified beyond the third", f"{people} prompts of one person, all open at once", modules(rows)
