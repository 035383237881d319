"""How long the functions and computed properties of a Swift file are."""

from messages import Source

DECLARATIONS = {"func", "init", "deinit", "subscript", "var", "let"}
OPEN, CLOSED = set("([{"), set(")]}")
# A declaration goes on in the next line after one of these, or before one.
AFTER = set("=,:?+|&>.") | OPEN
BEFORE = set("{.?:+|&-=") | {"where", "throws", "else"}


def end(tokens, start):
    """The index of a declaration's last token, and whether it has a body: closures in a table count as one."""
    depth, body = 0, False
    for index in range(start + 1, len(tokens)):
        value, line = tokens[index][1:]
        before, last = tokens[index - 1][1:]
        if not depth and (value in CLOSED or line > last and before not in AFTER and value not in BEFORE):
            return index - 1, body
        if value in OPEN:
            depth += 1
            body |= value == "{"
        elif value in CLOSED:
            depth -= 1
    return len(tokens) - 1, body


def functions(path):
    """(name, line, lines) of each; a local one is part of its function, too."""
    tokens = [(kind, "literal" if kind == "string" else value, line) for kind, value, line in Source(path).tokens if kind != "comment"]
    for index, (_, value, line) in enumerate(tokens[:-1]):
        # `.init(` is a call.
        if value in DECLARATIONS and tokens[index - 1][1] != ".":
            last, body = end(tokens, index)
            if body:
                yield tokens[index + 1][1] if value not in ("init", "deinit") else value, line, tokens[last][2] - line + 1
