"""Finds and plants mutants: changes of a Swift source, each behind `mutant(N)`, all of them in one copy.

A careful tokenizer is enough, because swift-format has written the sources: operators have spaces around them, a statement
begins on a line or after a brace, and no brace stands in a condition. Each form is chosen so that it compiles nearly
everywhere; what doesn't is dropped (Tests/mutants). Lines stay where they are.
"""

import dataclasses
import re

OPEN, CLOSE = "([{", ")]}"
LEADING = re.compile(r"(?:try |unsafe |await )*")
COMPARISON = re.compile(r" (?:==|!=|<|<=|>|>=|&&|\|\|) ")


@dataclasses.dataclass
class Mutant:
    path: str  # below Sources
    kind: str
    text: str  # what is changed, in one line
    line: int
    edits: list  # (begin, end, what comes before, what comes after); M stands for `mutant(N)`
    number: int = 0

    @property
    def name(self):
        return f"{self.path}: {self.kind}: {self.text}"


def masked(text):
    """The same length, without the insides of strings and comments."""
    pattern = r'"""[\s\S]*?"""|"(?:\\\((?:[^()]|\([^()]*\))*\)|\\.|[^"\\\n])*"|//[^\n]*|/\*[\s\S]*?\*/'
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", "_" if found[0][0] == '"' else " ", found[0]), text)


def close(code, begin):
    """Where the bracket that opens at `begin` is closed; None if it isn't."""
    depth = 0
    for index in range(begin, len(code)):
        depth += (code[index] in OPEN) - (code[index] in CLOSE)
        if depth == 0:
            return index
    return None


def parts(code, begin, end, separator):
    """Ranges between separators that stand in no brackets, without the spaces around them."""
    depth, last, found = 0, begin, []
    for index in range(begin, end):
        depth += (code[index] in OPEN) - (code[index] in CLOSE)
        if depth == 0 and (word := separator.match(code, index, end)):
            found.append((last, index))
            last = word.end()
    found.append((last, end))
    return [stripped(code, *pair) for pair in found]


def stripped(code, begin, end):
    part = code[begin:end]
    return begin + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


class Source:
    """One file, and all of its mutants."""

    def __init__(self, path, text):
        self.path, self.text, self.code, self.found = path, text, masked(text), []
        for look in (self.conditions, self.values, self.comparisons, self.statements, self.constants, self.cases):
            look()

    def line(self, index):
        return self.text.count("\n", 0, index) + 1

    def add(self, kind, begin, end, *edits):
        text = " ".join(self.text[begin:end].split())
        if kind in ("moved", "constant"):  # with what is around it, so that its name says which it is
            first, last = self.text.rfind("\n", 0, begin) + 1, self.text.find("\n", end)
            text = f"{self.text[first:begin]}«{self.text[begin:end]}»{self.text[end:last]}".strip()
        new = Mutant(self.path, kind, text[:120], self.line(begin), list(edits))
        if all((new.kind, new.edits) != (old.kind, old.edits) for old in self.found):
            self.found.append(new)

    def negate(self, begin, end):
        """A condition, or each part of it."""
        begin, end = stripped(self.code, begin, end)
        begin = LEADING.match(self.code, begin, end).end()
        if re.match(r"let |var |case |#|\w+:", self.code[begin:end]) or "{" in self.code[begin:end] or begin >= end:
            return
        for first, last in parts(self.code, begin, end, re.compile(r" (?:&&|\|\|)\s|\n\s*(?:&&|\|\|) ")):
            lead = LEADING.match(self.code, first, last).end()
            if self.code[lead:last] not in ("true", "false"):
                self.add("negated", lead, last, (lead, last, "M != (", ")"))

    def conditions(self):
        for found in re.finditer(r"(?:^\s*|\{ |else |= |\()(if|guard|while) ", self.code, re.M):
            depth, index, begin = 0, found.end(), found.end()
            until = re.compile(r"\selse \{") if found[1] == "guard" else re.compile(r"\s\{")
            while index < len(self.code) and not (depth == 0 and until.match(self.code, index)):
                depth += (self.code[index] in OPEN) - (self.code[index] in CLOSE)
                index += 1
            for part in parts(self.code, begin, index, re.compile(",")):
                self.negate(*part)
        for found in re.finditer(r"(?:^|\s)\?\s", self.code):
            self.negate(self.operand(found.start()), found.start())

    def operand(self, end):
        """Where the condition before a ` ? ` begins."""
        depth, index = 0, end
        while index > 0:
            index -= 1
            depth += (self.code[index] in CLOSE) - (self.code[index] in OPEN)
            if depth < 0 or depth == 0 and self.code[index] in ",;":
                return index + 1
            word = re.compile(r"(?:return|in|:|=|\?|\?\?) ").match(self.code, index)
            if depth == 0 and word and not re.match(r"[\w=!<>?]", self.code[index - 1]):
                return word.end()
        return 0

    def values(self):
        """What is returned, where it is surely a truth value."""
        for found in re.finditer(r"(?:return |-> Bool \{\s+)([^\n]+?)(?= \}|\n)", self.code):
            begin, end = found.span(1)
            looks = COMPARISON.search(found[1]) or found[1].startswith("!") or "-> Bool" in found[0]
            if looks and " ? " not in found[1] and not re.match(r"(return|switch|if|guard|while|let|var|for|do|defer) ", found[1]):
                if found[1].count("(") == found[1].count(")"):
                    self.negate(begin, end)

    def comparisons(self):
        for found in re.finditer(r"\s(<|<=|>|>=)\s+(?=\S)", self.code):
            self.add("moved", *found.span(1), (found.end(), found.end(), "(M ? 1 : 0) + ", ""))

    def statements(self):
        pattern = r"(?:^ +|\{ )((?:try\?? |unsafe |_ = )*)(?!if |guard |return |switch |while |for |self\.init|super)[a-zA-Z_][\w.?!]*\("
        for found in re.finditer(pattern, self.code, re.M):
            begin, end = found.end() - len(found[0].lstrip(" {")), close(self.code, found.end() - 1)
            before = self.code[: found.start() + 1].rstrip()[-1:]
            after = self.code[(end or 0) + 1 :].split("\n")[0]
            if end is None or not re.fullmatch(r"( \}.*)?\s*", after) or before in "(,[=&|?:+-" or before.endswith("->"):
                continue
            if before == "{" and self.code[end + 1 :].lstrip()[:1] == "}" and self.is_value(found.start() + 1):
                continue
            self.add("left out", begin, end + 1, (begin, end + 1, "if !M { ", " }"))
            words = self.text[begin : end + 1]
            if re.match(r"(_ = )?try ", words) and not re.search(r"//|\{", words):
                flat = " ".join(re.sub(r"^(_ = )?try ", "_ = try? ", words).split())
                self.add("try?", begin, end + 1, (begin, end + 1, f"if M {{ {flat} }} else {{ ", " }"))

    def is_value(self, index):
        """Whether the brace before it opens what has a value: a function's, a property's or a closure's."""
        begin = self.code.rfind("{", 0, index)
        return re.search(r"-> |var \w+: |\($|= $", self.code[self.code.rfind("\n", 0, begin) + 1 : begin]) is not None

    def constants(self):
        for found in re.finditer(r"(?<![\w.$#\\])(0x[0-9a-fA-F_]+|\d[\d_]*|true|false)(?![\w.]*[\w])", self.code):
            start = self.code.rfind("\n", 0, found.start()) + 1
            before, whole = self.code[start : found.start()], self.code[start : self.code.find("\n", start)]
            if re.fullmatch(r"[\s\da-fx_,]+", whole):
                continue  # a table
            if re.match(r"\s*(case |@|\.init)", before) and ": " not in before or "while true" in before + found[0] or "= nil" in before:
                continue
            begin, end = found.span()
            if found[0] in ("true", "false"):
                self.add("constant", begin, end, (begin, end, "(M != ", ")"))
            else:
                self.add("constant", begin, end, (begin, end, f"(M ? {found[0]} + 1 : ", ")"))

    def cases(self):
        """Two that follow each other, with one line each: what they do is swapped."""
        rows = list(re.finditer(r"^( +)case ([^\n]*?): ([^\n]+)$", self.code, re.M))
        for one, two in zip(rows, rows[1:]):
            if one.end() + 1 != two.start() or one[1] != two[1] or re.search(r"\blet |\bvar |\bwhere ", one[2] + two[2]):
                continue
            (a, b), (c, d) = stripped(self.code, *one.span(3)), stripped(self.code, *two.span(3))
            first, second = self.text[a:b], self.text[c:d]
            if first != second:
                self.add("swapped", one.start(2), d, (a, b, f"if M {{ {second} }} else {{ ", " }"),
                         (c, d, f"if M {{ {first} }} else {{ ", " }"))  # fmt: skip


def by_hand(path, text, kind, before, after):
    """A change that somebody thought of: `before` stands once in the file, and `after` has M in it."""
    if text.count(before) != 1:
        raise SystemExit(f"{path}: stands there {text.count(before)} times: {before}")
    begin = text.index(before)
    flat = " ".join(after.split())
    edit = (begin, begin + len(before), flat.replace("ORIGINAL", before, 1), None)
    return Mutant(path, "by hand", kind, text.count("\n", 0, begin) + 1, [edit])


def planted(text, mutants):
    """The text with all of these; those that overlap in part, or within a change by hand, are left out, and returned."""
    taken, left_out = [], []
    for mutant in sorted(mutants, key=lambda mutant: mutant.kind != "by hand"):
        clash = any(
            (a < begin < b < end or begin < a < end < b) or (None in (after, other) and a < end and begin < b)
            for begin, end, _, after in mutant.edits
            for a, b, _, other in (edit for one in taken for edit in one.edits)
        )
        (left_out if clash else taken).append(mutant)
    edits = [(*edit, mutant.number) for mutant in taken for edit in mutant.edits]
    edits.sort(key=lambda edit: (edit[0], 0 if edit[0] == edit[1] else 1, -edit[1]))
    result, index, ends = [], 0, []

    def until(place):
        nonlocal index
        while ends and ends[-1][0] <= place:
            end, after = ends.pop()
            result.append(text[index:end] + after)
            index = end
        result.append(text[index:place])
        index = max(index, place)

    for begin, end, before, after, number in edits:
        until(begin)
        result.append(re.sub(r"\bM\b", f"mutant({number})", before))
        if after is None:
            index = end
        elif end > begin:
            ends.append((end, after))
    until(len(text))
    return "internal import CMutant; " + "".join(result), left_out
