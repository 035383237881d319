"""The messages in the Swift sources, as gettext needs them: what `Tests/messages` writes into the template.

A literal is a message where its type is Phrase, Sentence or Pattern: by the declaration around it, or by the call that
it is an argument of. xgettext can't do this: it doesn't know Swift, nor what `\\(…)` is. In the scripts that `passcode check`
runs, it is the third argument of `say`; in those that set a fleet up, the first one of each function that speaks.
"""

import bisect
import dataclasses
import functools
import os
import pathlib
import re
import shlex

TREE = pathlib.Path(__file__).parents[2]
ROOMS = ("PasscodePolicy", "PasscodeTool", "passcode", "passcode-verifier")
SCRIPTS = TREE / "Sources/system/check"
SETUP = TREE / "Sources/system/setup"
# A call of a function that speaks, and its first argument; `"$@"` and the like are passed on.
SAYING = re.compile(r"""(?:^|&&|\|\||[;({)]|\b(?:then|else|do)\b)[ ]*(say|fail|misuse|agrees|problem)[ ]+("(?:[^"\\]|\\.)*"|\S+)(?=(.*))""", re.M)
PASSED_ON = re.compile(r'"\$@"|"\$\{\w+\[@\]\}"')
# Declarations with one of these types have messages, and calls of these functions.
SPOKEN = re.compile(r"\b(Phrase|Sentence|Pattern|CheckWords)\b")
PATTERNS = re.compile(r"\b(Sentence|Pattern|CheckWords)\b")
CALLS = {"Phrase": False, "line": False, "Sentence": True, "told": True, "tell": False, "Failure": False}
# The options' values, among other literals.
OPTION_CALLS = {"policy", "door"}
COMMAND = "; run: "
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "0": "\0"}


@dataclasses.dataclass
class Literal:
    """A string literal: its pattern, and the expressions that stand for its parameters."""

    pattern: str
    parameters: list
    line: int


@dataclasses.dataclass
class Message:
    text: str
    plural: str = ""
    files: list = dataclasses.field(default_factory=list)
    comments: list = dataclasses.field(default_factory=list)


class Source:
    """One file in tokens: (kind, value, line); kinds are "string", "word", "sign" and "comment"."""

    WORD, BLANK = re.compile(r"\w+"), re.compile(r"\s+")

    def __init__(self, path):
        self.name = os.path.relpath(path, TREE)
        self.text = path.read_text()
        self.ends = [place for place, sign in enumerate(self.text) if sign == "\n"]
        self.at = 0
        self.tokens = []
        while self.at < len(self.text):
            self.step()

    def line(self):
        return bisect.bisect_left(self.ends, self.at) + 1

    def step(self):
        line = self.line()
        if self.text.startswith("//", self.at):
            end = self.text.index("\n", self.at)
            self.tokens.append(("comment", self.text[self.at : end].strip("/ "), line))
            self.at = end
        elif self.text[self.at] == '"':
            self.tokens.append(("string", self.literal(line), line))
        elif word := self.WORD.match(self.text, self.at):
            self.tokens.append(("word", word[0], line))
            self.at = word.end()
        elif blank := self.BLANK.match(self.text, self.at):
            self.at = blank.end()
        else:
            self.tokens.append(("sign", self.text[self.at], line))
            self.at += 1

    def literal(self, line):
        quote = '"""' if self.text.startswith('"""', self.at) else '"'
        self.at += len(quote)
        parts, parameters = [], []
        while not self.text.startswith(quote, self.at):
            if self.text.startswith("\\(", self.at):
                self.at += 2
                parameters.append(self.expression())
                parts.append(f"%{len(parameters)}")
            elif self.text[self.at] == "\\":
                parts.append(self.escape())
            else:
                parts.append(self.text[self.at])
                self.at += 1
        self.at += len(quote)
        text = "".join(parts)
        return Literal(self.unindented(text) if len(quote) == 3 else text, parameters, line)

    def escape(self):
        """A backslash and what is behind it; a line that goes on has its end as \\0 until the indentation is known."""
        after = self.text[self.at + 1]
        if after == "\n":
            self.at += 2
            return "\0"
        if scalar := re.match(r"u\{(\w+)\}", self.text[self.at + 1 :]):
            self.at += 1 + len(scalar[0])
            return chr(int(scalar[1], 16))
        self.at += 2
        return ESCAPES[after]

    def unindented(self, text):
        indent = re.search(r"\n( *)$", text)[1]
        lines = re.sub(r"\0", "\0\n", text)[1:].split("\n")[:-1]
        assert all(line.startswith(indent) or not line for line in lines), self.name
        return "\n".join(line[len(indent) :] for line in lines).replace("\0\n", "")

    def expression(self):
        """What is interpolated, up to its parenthesis; literals in it are messages of their own, if any."""
        start, depth = self.at, 1
        while depth:
            if self.text[self.at] == '"':
                self.literal(self.line())
                continue
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1
        return " ".join(self.text[start : self.at - 1].split())


def declared(header):
    """The type that a declaration gives what is in its braces; None: braces within one."""
    text = " ".join(header)
    function = re.search(r"\bfunc\b.* - > (.+)$", text)
    if function:
        return function[1]
    if re.search(r"\b(func|init|struct|enum|class|extension|deinit)\b[^=]*$", text):
        return ""
    variable = re.search(r"\bvar (\w+) : ([^=]+)$", text)
    return variable[2] if variable else None


def found(source):
    """(literal, its plural or None, whether a command may follow) of each message in a file."""
    scopes, calls, header = [""], [], []
    literals, previous, annotation, comments = [], ("", "", 0), "", []
    tokens = source.tokens
    for index, (kind, value, line) in enumerate(tokens):
        if kind == "comment":
            continue
        if kind == "string":
            literals.append((index, value, scopes[-1], list(calls), annotation))
            header.append("literal")
        else:
            header.append(value)
        if value == "{":
            type = declared(header[:-1])
            scopes.append(scopes[-1] if type is None else type)
            calls.append(("{", None))
            header = []
        elif value == "}":
            scopes.pop()
            while calls.pop()[0] != "{":
                pass
            header = []
        elif value in ("(", "["):
            callee = previous[1] if value == "(" and previous[0] == "word" and previous[1] not in ("return", "in") else None
            calls.append((value, callee))
        elif value in (")", "]"):
            calls.pop()
        elif kind == "word" and value in ("let", "var", "func", "case", "return"):
            header = [value]
            annotation = ""
        if kind == "sign" and value == "=" and len(header) > 3 and header[0] in ("let", "var") and ":" in header:
            annotation = " ".join(header[header.index(":") + 1 : -1])
        previous = (kind, value, line)
    for index, literal, scope, around, note in literals:
        kind = spoken(tokens, index, scope, around, note)
        if kind is not None and re.search(r"[A-Za-z]", re.sub(r"%[1-9d]", "", literal.pattern)):
            yield index, literal, kind


def spoken(tokens, index, scope, around, note):
    """None: not a message; else whether a command may follow it."""
    after = [token[1] for token in tokens[index + 1 : index + 3]]
    if after == ["as", "Text"]:
        return None
    if after == ["as", "Phrase"]:
        return False
    for sign, callee in reversed(around):
        if sign == "{":
            break
        if callee in CALLS:
            return CALLS[callee]
        if callee in OPTION_CALLS:
            return None if not is_third(tokens, index, callee) else False
        if callee == "OptionRow" and tokens[index - 2][1] == "values":
            return False
        if callee is not None:
            return None
    if SPOKEN.search(note):
        return bool(PATTERNS.search(note))
    if note:
        return None
    return bool(PATTERNS.search(scope)) if SPOKEN.search(scope) else None


def is_third(tokens, index, callee):
    """Whether two literals stand between the call's name and this one."""
    before = 0
    while tokens[index][1] != callee:
        index -= 1
        before += tokens[index][0] == "string"
    return before == 2


def label(tokens, index):
    return tokens[index - 2][1] if tokens[index - 1][1] == ":" else ""


@functools.cache
def messages():
    """{text: Message} in the order of the sources."""
    known = {}
    for room in ROOMS:
        for path in sorted((TREE / "Sources" / room).rglob("*.swift")):
            source = Source(path)
            collect(source, known)
    for path in [*SCRIPTS.iterdir(), *sorted(SETUP.iterdir())]:
        for text, values in (said_by_check if path.parent == SCRIPTS else said_by_setup)(path):
            message = known.setdefault(text, Message(text))
            name = str(path.relative_to(TREE))
            if name not in message.files:
                message.files.append(name)
            names = [script_name(value) for value in values]
            if all(names):
                explain(message, Literal(text, names, 0))
    return known


def script_name(value):
    """What translators are told of a script's parameter: its variable's name. None: it has none."""
    variable = re.fullmatch(r"\$\{?(#?)([A-Za-z]\w*)(\[[\w*@]+\])?([#%].*)?\}?", value)
    if variable:
        return f"{'number of ' if variable[1] else ''}{variable[2].lower()}"
    return value if "$" not in value else "file" if "/" in value and "(" not in value else None


def said_by_check(path):
    """(message, its parameters) of each call."""
    script = re.sub(r"\\\n\s*", "", path.read_text())
    for say in re.finditer(r"\bsay (?:error|warning|skipped) .*", script):
        words = shlex.split(say[0].partition(";;")[0])
        yield words[3].rstrip(";"), words[6:]


def said_by_setup(path):
    script = re.sub(r"^\s*#.*", "", re.sub(r"\\\n\s*", "", path.read_text()), flags=re.M)
    for _, text, rest in SAYING.findall(script):
        if PASSED_ON.fullmatch(text):
            continue
        assert re.fullmatch(r'"([^"\\$`]|\\")*"', text), f"{path.name}: not a literal: {text}"
        text = text[1:-1].replace('\\"', '"')
        # "$(…)" as a whole, and what stands between blanks.
        values = re.match(r'(?: +(?:"\$\([^)]*\)"|"[^"]*"|/[\w/.-]+))*', rest)[0]
        values = [value.strip('"') for value in re.findall(r'"\$\([^)]*\)"|"[^"]*"|\S+', values)]
        assert len(values) == len(parameters(text)), f"{path.name}: {len(values)} parameters: {text}"
        yield text, values


def collect(source, known):
    singular = None
    for index, literal, has_command in found(source):
        text = literal.pattern.split(COMMAND)[0] if has_command else literal.pattern
        name = label(source.tokens, index)
        if name in ("plural", "other"):
            assert singular is not None, (source.name, literal)
            assert singular.plural in ("", text), (source.name, text)
            singular.plural = text
            explain(singular, literal)
            continue
        assert all(re.fullmatch("%[1-9d]", found) for found in parameters(text)), (source.name, text)
        message = known.setdefault(text, Message(text))
        if name == "counted":
            message.plural = text
        if source.name not in message.files:
            message.files.append(source.name)
        explain(message, literal)
        message.comments += [note for note in notes(source.tokens, index) if note not in message.comments]
        singular = message


def explain(message, literal):
    told = ", ".join(f"%{number}: {text}" for number, text in enumerate(literal.parameters, 1))
    if told and told not in message.comments:
        message.comments.append(told)


def notes(tokens, index):
    """The comment `// Translators: …` above the line of a literal, in as many lines as it has."""
    line = tokens[index][2]
    above = {}
    for token in tokens:
        if token[0] == "comment":
            above[token[2]] = token[1]
    found = []
    while (line := line - 1) in above:
        found.insert(0, above[line])
    text = " ".join(found)
    return [text[text.index("Translators: ") :]] if "Translators: " in text else []


# MARK: - The template

HEAD = """# Messages of pam_passcode: what the module and the tool tell people.
# Written by Tests/messages from the sources: change those, not this file.
#
# Parameters: %1 to %9 and %d, which is a number, must stay as they are, each of them; their order is free. Where a
# comment doesn't say more, %1 is a file or the account, %2 a name, and %3 the system's words. Commands, options with their
# values, and files stay as they are; so do blanks and line ends at the beginning and the end.
msgid ""
msgstr ""
"Project-Id-Version: pam-passcode\\n"
"Report-Msgid-Bugs-To: \\n"
"Language: \\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"
"""


def quoted(text):
    """A string of a catalogue, a line of the text each."""
    escape = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})
    lines = [line.translate(escape) for line in text.splitlines(keepends=True)] or [""]
    if len(lines) > 1:
        lines.insert(0, "")
    return "\n".join(f'"{line}"' for line in lines)


def parameters(text):
    return sorted(set(re.findall(r"%.?", text)))


def flag(message):
    """By which msgfmt checks the parameters; a percent sign isn't printf's."""
    found = parameters(message.text)
    if found == ["%d"]:
        return "c-format"
    return "kde-format" if found and "%d" not in found else "no-c-format" if found else ""


def entry(message):
    lines = [f"#. {comment}" for comment in message.comments]
    lines += [f"#: {name}" for name in message.files]
    if flag(message):
        lines.append(f"#, {flag(message)}")
    lines.append(f"msgid {quoted(message.text)}")
    if message.plural:
        lines += [f"msgid_plural {quoted(message.plural)}", 'msgstr[0] ""', 'msgstr[1] ""']
    else:
        lines.append('msgstr ""')
    return "\n".join(lines) + "\n"


def template():
    return HEAD + "".join("\n" + entry(message) for message in messages().values())
