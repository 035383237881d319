"""What an AppArmor profile lets a program do with files, as far as path rules say it: `apparmor_parser -p`, and here
the meaning of its patterns (apparmor.d(5)). No kernel is asked, so it works where AppArmor isn't there."""

import os
import re
import subprocess


class Profile:
    def __init__(self, path, child=None):
        """`child`: the name of a profile within that one; its rules alone."""
        text = subprocess.run(
            ["apparmor_parser", "--preprocess", str(path)], check=True, capture_output=True, text=True
        ).stdout
        self.variables = {}
        self.rules = []
        inside = None
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if found := re.fullmatch(r"profile (\w+) \{", line):
                inside = found[1]
            elif line == "}":
                inside = None
            if found := re.fullmatch(r"(@\{\w+\})\s*(\+?)=\s*(.*)", line):
                values = found[3].split()
                self.variables[found[1]] = (self.variables.get(found[1], []) if found[2] else []) + values
            elif inside != child:
                continue
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


# MARK: What a program asks for

CALLS = "open,openat,stat,newfstatat,access,faccessat,faccessat2,readlink,readlinkat,statx,link,linkat,rename,renameat," \
    "renameat2,unlink,unlinkat,mkdir,mkdirat,chmod,fchmodat,execve,connect,bind"  # fmt: skip


def needed(line):
    """(path, permissions) of a traced call that worked; None for one that asks nothing of AppArmor."""
    call, arguments, result = re.fullmatch(r"\d+ +(\w+)\((.*)\) += (-?\d+|\?).*", line).groups()
    paths = re.findall(r'"([^"]*)"', arguments)
    if (
        result.startswith("-")
        or not paths
        or "sun_path=@" in arguments  # an abstract name: no file's rule
        or call in ("stat", "newfstatat", "statx", "access", "faccessat", "readlink", "readlinkat")
    ):
        return None
    path = paths[-1]
    if call in ("open", "openat"):
        letters = {"O_RDWR": "rw", "O_WRONLY": "w"}.get(
            re.search("O_RDONLY|O_RDWR|O_WRONLY", arguments)[0], "r"
        )
        if "O_PATH" in arguments:
            return None
        if "O_TMPFILE" in arguments:
            path += "/#1"
    elif call in ("linkat",):
        letters = "l"
    elif call == "connect":
        letters = "w"
    elif call == "execve":
        letters = "x"
    else:
        letters = "w"
    folder = re.match(r"(?:AT_FDCWD|\d+)<([^>]*)>", arguments) if not path.startswith("/") else None
    if call == "linkat":
        folder = re.search(r", \d+<([^>]*)>, \"[^\"]*\", [^,]*$", arguments)
    path = os.path.normpath(f"{folder[1]}/{path}" if folder else path)
    is_folder = call.startswith("mkdir") or "O_DIRECTORY" in arguments and "O_TMPFILE" not in arguments
    return (f"{path}/" if is_folder else path), letters
