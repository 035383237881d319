"""Catalogues: those of Sources/system/po, compiled, and others that tests make up; and locales to use them in.

Debian's roots have no locale but C and C.UTF-8. `installed` makes another one, in the tests' own mount namespace: a copy
of C.UTF-8 under another name, for which gettext looks. It puts catalogues where the C library finds them; LANGUAGE then
chooses among all of them.
"""

import contextlib
import functools
import gettext
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unicodedata

from messages import TREE, entry, messages

PO = TREE / "Sources/system/po"
DOMAIN = "libpam-passcode"
LOCALE, LATIN = "de_DE.UTF-8", "de_DE.ISO-8859-1"
CATALOGUES, LOCALES = pathlib.Path("/usr/share/locale"), pathlib.Path("/usr/lib/locale")
HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: {}\\n"\n'
NO_PLURAL, RUSSIAN = "nplurals=1; plural=0;", (
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
)  # fmt: skip


def languages():
    """Those that there is a catalogue for."""
    return sorted(path.stem for path in PO.glob("*.po"))


def shortcomings(path):
    """What a catalogue lacks, a sentence each. Nothing of it stops anybody: what isn't translated is told in English."""
    done = subprocess.run(
        ["msgfmt", "--check-format", "--check-domain", "--statistics", "-o", "/dev/null", path], capture_output=True, text=True,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode != 0:
        return [f"{path.name}: {line}" for line in done.stderr.splitlines()]
    text = path.read_text()
    there = set(re.findall(r"(\d+) (translated|fuzzy|untranslated)", done.stderr))
    counts = {kind: int(number) for number, kind in there}
    lacking = [f"{path.name}: {counts[kind]} {kind}; translate them" for kind in ("fuzzy", "untranslated") if kind in counts]
    if sum(counts.values()) != len(messages()):
        lacking.append(f"{path.name}: {sum(counts.values())} messages, the sources have {len(messages())}; run Tests/messages")
    if "\n#~" in text:
        lacking.append(f"{path.name}: messages that the sources no longer have; delete the lines that begin with #~")
    return lacking


@functools.cache
def catalogue(language):
    """A catalogue as Python's gettext reads it."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "messages.mo"
        subprocess.run(["msgfmt", "-o", made, PO / f"{language}.po"], check=True)
        with made.open("rb") as file:
            return gettext.GNUTranslations(file)


def forms(language, message):
    """{number or None: translation} of all of a message's forms."""
    table = catalogue(language)._catalog
    if not message.plural:
        return {None: table.get(message.text, "")}
    return {key[1]: text for key, text in table.items() if isinstance(key, tuple) and key[0] == message.text}


def told(language, text, number=None, plural=None, **parameters):
    """What is said: the translation with its parameters; `p1` stands for %1, and so on."""
    found = catalogue(language)
    pattern = found.gettext(text) if plural is None else found.ngettext(text, plural, number)
    # In English where it is fuzzy, or not translated yet; but it is one of ours.
    assert pattern not in (text, plural) or language == "en" or text in messages(), text
    for name, value in parameters.items():
        pattern = pattern.replace(f"%{name[1:]}", str(value))
    return pattern if number is None else pattern.replace("%d", str(number))


def made_up(translate, plurals=NO_PLURAL, forms=1):
    """The text of a catalogue in which each message has this translation: a function of the message and the form. The
    blanks around it stay."""
    def said(message, form):
        before, after = blanks(message.text)
        text = translate(message, form)
        return quoted(before + text + after if text else "")

    parts = [HEAD.format(plurals)]
    for message in messages().values():
        lines = [line for line in entry(message).splitlines() if line.startswith(("msgid", '"'))]
        if message.plural:
            lines += [f"msgstr[{form}] {said(message, form)}" for form in range(forms)]
        else:
            lines.append(f"msgstr {said(message, 0)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def install(language, source, root=CATALOGUES):
    """Compiles a catalogue, a file or its text, to where the C library looks for it."""
    folder = root / language / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    text = source.read_text() if isinstance(source, pathlib.Path) else source
    subprocess.run(["msgfmt", "-o", folder / f"{DOMAIN}.mo", "-"], input=text.encode(), check=True)


@contextlib.contextmanager
def installed():
    """The locale and all catalogues, until it is left."""
    aliases = CATALOGUES / "locale.alias"
    kept = aliases.read_bytes() if aliases.exists() else None
    with tempfile.TemporaryDirectory(dir="/run") as made, contextlib.ExitStack() as stack:
        for name in ("C.utf8", "de_DE.utf8"):
            shutil.copytree(LOCALES / "C.utf8", f"{made}/{name}")
        for place in (LOCALES, CATALOGUES):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", place], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", place], check=True)
        shutil.copytree(made, LOCALES, dirs_exist_ok=True)
        if kept is not None:
            aliases.write_bytes(kept)
        for language in languages():
            install(language, PO / f"{language}.po")
        yield


def make_latin():
    """The other locale, which has a charset of its own."""
    command = ["localedef", "--no-archive", "-i", "de_DE", "-f", "ISO-8859-1", LOCALES / "de_DE.iso88591"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def setting(language=None, locale=LOCALE):
    """The environment of somebody with this language."""
    return {"LC_ALL": locale, **({"LANGUAGE": language} if language else {})}


def width(text):
    """In columns of a terminal."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def blanks(text):
    """What stands before and after the words."""
    return re.match(r"\s*", text)[0], re.search(r"\s*$", text)[0]
