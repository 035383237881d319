"""Doc comments that only their author understands: riddles.

A doc comment's first sentence should be understood by a reader who knows only the folder's name. It is a riddle if it

- begins with a word that points back ("It ...", "The same ...") and is short,
- or has a single word of its own ("Keeps."), unless it is a unit ("Milliseconds."),
- or has three at most, and a pronoun ("Keeps it, and notes that.") or no subject ("For faults.", "As it is sent.").

Words of its own are those that aren't pronouns, articles, prepositions and the like.
"""

import re

EMPTY = set(
    "a about above after again against all also an and any are as at away be because been before being below beside but by"
    " can can't could did do does doesn't done down each either else every few for from get gets given gives go goes"
    " had has have he her here him his how i if in into is isn't it its itself just later least less made make makes many may"
    " me more most much must my neither never next no nobody none nor not nothing now of off on one ones only or other"
    " others our out over same she should since so some somebody something still such take taken takes than that"
    " the their them themselves then there these they thing things this those though through till to together too two"
    " until up upon us very was we well were what whatever when where whether which while who whoever whole whom whose why will"
    " with without would yet you your".split()
)
POINTS_BACK = re.compile(
    r"^(?:It|Its|They|Their|This|That|These|Those|Both|Neither|Such|The (?:same|other|others|rest|inverse))\b(?! \w+ing\b)"
    r"|^(?:As above|Likewise|With one more|Without one)\b"
)
FRAGMENT = re.compile(r"^(?:Of|As|From|Where|For|To|In|Up to|After|Before|By|With|Without|Else|At|On|Until|While|Among|More|Not)\b")
PRONOUN = re.compile(
    r"\b(?:it|its|them|their|they)\b|\b(?:this|that|these|those)\b(?=[.,;:]| (?:is|are|was|were|has|have|can|may|must)\b)", re.IGNORECASE
)
# A unit, a parameter of an enum's case, a pointer to a manual page, or code alone.
EXEMPT = re.compile(r"^(?:In )?(?:nano|micro|milli)?seconds\b|^Bytes\b|^CLOCK_|^See |^- |^\(|^`[^`]+`$|^\d+$", re.IGNORECASE)


def first_sentence(lines):
    """Of a doc comment's lines, without the marks."""
    text = re.split(r"\n\s*\n|\n\s*- ", "\n".join(lines))[0]
    return " ".join(re.split(r"(?<=\.)\s", text + " ")[0].split())


def own_words(sentence):
    words = re.findall(r"`[^`]+`|[A-Za-z0-9_'’-]+", sentence)
    return [word for word in words if word.startswith("`") or word.lower() not in EMPTY]


def is_riddle(sentence):
    if EXEMPT.match(sentence):
        return False
    own = len(own_words(sentence))
    return own < 2 or own < 6 and bool(POINTS_BACK.match(sentence)) or own < 4 and bool(PRONOUN.search(sentence) or FRAGMENT.match(sentence))


def doc_comments(text):
    """(line, first sentence) of each doc comment in a Swift file."""
    block, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        if found := re.match(r"^\s*/// ?(.*)$", line):
            if not block:
                start = number
            block.append(found[1])
        elif block:
            yield start, first_sentence(block)
            block = []


def riddles(folder):
    """{path: [(line, sentence)]} of the files below a folder."""
    found = {}
    for path in sorted(folder.rglob("*.swift")):
        for number, sentence in doc_comments(path.read_text()):
            if is_riddle(sentence):
                found.setdefault(path, []).append((number, sentence))
    return found
