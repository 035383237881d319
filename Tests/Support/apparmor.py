"""What an AppArmor profile lets a program do with files, as far as path rules say it: `apparmor_parser -p`, and here
the meaning of its patterns (apparmor.d(5)). No kernel is asked, so it works where AppArmor isn't there."""

import re
import subprocess


class Profile:
    def __init__(self, path):
        text = subprocess.run(
            ["apparmor_parser", "--preprocess", str(path)], check=True, capture_output=True, text=True
        ).stdout
        self.variables = {}
        self.rules = []
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if found := re.fullmatch(r"(@\{\w+\})\s*(\+?)=\s*(.*)", line):
                values = found[3].split()
                self.variables[found[1]] = (self.variables.get(found[1], []) if found[2] else []) + values
            elif found := re.fullmatch(r"(?:owner\s+)?([/@]\S+)\s+([rwaklmixPUCuc]+),", line):
                self.rules += [(re.compile(pattern(path)), found[2]) for path in self.expanded(found[1])]

    def expanded(self, path):
        found = re.search(r"@\{\w+\}", path)
        if not found:
            return [re.sub("/+", "/", path)]
        # A process has its own number below /proc; the tests write it as "self".
        values = ["self", "[0-9]*"] if found[0] in ("@{pid}", "@{tid}") else self.variables[found[0]]
        return [
            result
            for value in values
            for result in self.expanded(path[: found.start()] + value + path[found.end() :])
        ]

    def allows(self, path, permissions):
        """Each of the permissions by some rule, as the kernel adds them up."""
        return all(
            any(rule.fullmatch(path) and letter in granted for rule, granted in self.rules)
            for letter in permissions
        )


def pattern(glob):
    parts = re.split(r"(\*\*|\*|\?|\{|\}|,|\[[^]]*\])", glob)
    meaning = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    return "".join(meaning.get(part, part if part.startswith("[") else re.escape(part)) for part in parts)
