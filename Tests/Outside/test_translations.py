"""What people are told is in their language; the log and JSON are in English. And what each catalogue has."""

import contextlib
import json
import locale
import os
import re
import shutil
import subprocess
import unicodedata

import pytest

import host
import languages
import strace
from bed import BUILD, SERVICE, person
from languages import LATIN, catalogue, forms, languages as all_languages, setting, told, width
from messages import TREE, messages, parameters, said_by_setup, template
from scenario import RIGHT, WRONG
from tool import DONE

LANGUAGES = all_languages()
MESSAGES = messages()
COMPLETE = languages.made_up(lambda message, form: f"{len(message.text)} " + " ".join(parameters(message.text)))
# What the module tells, and where.
NOTICES = [
    message
    for message in MESSAGES.values()
    if {"Sources/PasscodePolicy/Text/Words.swift", "Sources/PasscodePolicy/Options/Options.swift"} & set(message.files)
]
WRONG_NOTICE = ("Wrong passcode, %d attempt left.", "Wrong passcode, %d attempts left.")
FILLED = {"%d": "90", "%1": "2026-11-22 03:12", "%2": "sudo"}
NUMBERS = [1, 2, 5, 21]
# Titles of columns, and how wide these are without the blank between them.
TITLES = {"USER": 16, "UID": 6, "LENGTH": 7, "FAILURES": 9, "STATE": 12}


@pytest.fixture(scope="module")
def installed():
    with languages.installed():
        yield


def speaks(**environment):
    """For `authenticate`: a program with this environment that asks for its locale, as almost all do."""

    def prepare():
        for name in ("LANG", "LANGUAGE", "LC_ALL"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        locale.setlocale(locale.LC_ALL, "")

    return {"prepare": prepare}


# MARK: Catalogues


def test_the_template_has_every_message_of_the_sources():
    assert (TREE / "Sources/system/po/libpam-passcode.pot").read_text() == template()
    assert len(MESSAGES) > 500 and len(NOTICES) > 20


def test_there_are_six_languages():
    assert {"de", "fr", "es", "pt_BR", "ja", "zh_CN"} <= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_has_only_messages_of_the_sources(language):
    """`Tests/messages --check` demands all of them, and that nothing is fuzzy: for a release."""
    table = catalogue(language)._catalog
    assert {key[0] if isinstance(key, tuple) else key for key in table} - {""} <= set(MESSAGES)


CANCEL = re.compile(r'msgid "Passcode:"\nmsgstr "(.*)"\n')


@pytest.mark.parametrize(
    "change, lacking",
    [
        (lambda text: text, []),
        (lambda text: CANCEL.sub('#, fuzzy\n\\g<0>', text), ["1 fuzzy; translate them"]),
        (lambda text: CANCEL.sub('msgid "Passcode:"\nmsgstr ""\n', text), ["1 untranslated; translate them"]),
        (lambda text: CANCEL.sub("", text), [f"{len(MESSAGES) - 1} messages, the sources have {len(MESSAGES)}; run Tests/messages"]),
        (lambda text: text + '\n#~ msgid "gone"\n#~ msgstr "weg"\n',
         ["messages that the sources no longer have; delete the lines that begin with #~"]),
    ],
    ids=["complete", "fuzzy", "untranslated", "missing", "too much"],
)  # fmt: skip
def test_what_a_catalogue_lacks_is_told(tmp_path, change, lacking):
    path = tmp_path / "xx.po"
    path.write_text(change(COMPLETE))
    assert languages.shortcomings(path) == [f"xx.po: {line}" for line in lacking]


def test_a_fuzzy_translation_is_told_in_english(alice, installed):
    languages.install("de", COMPLETE)
    assert alice.authenticate("alice", RIGHT, **speaks(**setting("de"))).prompts != ["Passcode: "]
    languages.install("de", CANCEL.sub("#, fuzzy\n\\g<0>", COMPLETE))
    try:
        assert alice.authenticate("alice", RIGHT, **speaks(**setting("de"))).prompts == ["Passcode: "]
    finally:
        languages.install("de", languages.PO / "de.po")


def test_the_command_refuses_another_argument_in_one_sentence():
    done = subprocess.run([TREE / "Tests/messages", "--chek"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: Tests/messages [--check]\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_differs_in_its_parameters(language):
    """Else the program would tell that one in English. Nor in its blanks, and nothing in it controls a terminal."""
    for message in MESSAGES.values():
        for form, text in forms(language, message).items():
            if not text:
                continue  # fuzzy: told in English
            assert parameters(text) == parameters(message.text), (form, text)
            assert languages.blanks(text) == languages.blanks(message.text), (form, text)
            assert all(unicodedata.category(sign)[0] != "C" or sign == "\n" for sign in text), (form, text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notice_fits_a_locker(language):
    """A line of 80 columns, which 800 pixels have; but for the one that has a shorter form."""
    for message in NOTICES:
        if {"%1", "%2"} <= set(parameters(message.text)):
            continue
        for text in forms(language, message).values():
            for name, value in FILLED.items():
                text = text.replace(name, value)
            assert width(text) <= 80, text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_titles_fit_their_columns(language):
    for title, most in TITLES.items():
        assert width(told(language, title) if catalogue(language).gettext(title) != title else title) <= most


LOOK_UP = f"""
import ctypes, json, locale, sys
locale.setlocale(locale.LC_ALL, "")
libc = ctypes.CDLL("libc.so.6")
libc.dngettext.restype = ctypes.c_char_p
print(json.dumps([
    libc.dngettext(b"{languages.DOMAIN}", one.encode(), many.encode(), ctypes.c_ulong(number)).decode()
    for one, many in json.load(sys.stdin) for number in {NUMBERS}
]))
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plural_goes_with_the_number(language, installed):
    """As the C library finds it, in a process of that language."""
    counted = [(message.text, message.plural) for message in MESSAGES.values() if message.plural]
    done = subprocess.run(
        ["python3", "-c", LOOK_UP], input=json.dumps(counted), capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], **setting(language)},
    )  # fmt: skip
    expected = [catalogue(language).ngettext(*forms, number) for forms in counted for number in NUMBERS]
    assert json.loads(done.stdout) == expected and len(expected) > 60
    fuzzy = {text for pair in counted if (pair[0], 0) not in catalogue(language)._catalog for text in pair}
    assert {text for pair in counted for text in pair} & set(expected) <= fuzzy


# MARK: The module


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_login_speaks_the_language_of_its_program(language, alice, installed):
    outcome = alice.authenticate("alice", WRONG[0], **speaks(**setting(language)))
    assert outcome.prompts == [told(language, "Passcode:") + " "]
    assert outcome.texts == [told(language, WRONG_NOTICE[0], 2, WRONG_NOTICE[1])]


def test_the_log_is_in_english(alice, installed):
    german = speaks(**setting("de"))
    alice.authenticate("alice", WRONG[0], **german)
    alice.authenticate("alice", RIGHT, **german)
    alice.configure(lockout="x")
    alice.authenticate("alice", RIGHT, **german)
    assert alice.tool("disable", "bob", setting=setting("de")).status != 0
    lines = [line.message for line in alice.module_log()]
    assert [re.search(r"passcode \w+", line)[0] for line in lines] == [
        "passcode wrong", "passcode granted", "passcode unavailable",
    ]  # fmt: skip
    assert "needs FAILURES:DELAY,... rising; the last may be reset" in lines[2]


def test_a_prompt_of_one_s_own_is_not_translated(alice, installed):
    alice.configure(prompt="Passcode or fingerprint:")
    assert alice.authenticate("alice", RIGHT, **speaks(**setting("de"))).prompts == ["Passcode or fingerprint: "]


@pytest.mark.parametrize(
    "environment",
    [
        {}, {"LC_ALL": "C", "LANGUAGE": "de"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "xx_YY.UTF-8", "LANGUAGE": "de"},
        setting("fi"), setting("../../../run/nowhere"), setting("x" * 5000), setting("%s%n:\xff"),
    ],
    ids=["none", "C", "POSIX", "unknown locale", "no catalogue", "path", "long", "signs"],
)  # fmt: skip
def test_without_a_catalogue_it_is_english(environment, alice, installed):
    def prepare():
        speaks()["prepare"]() if not environment else None
        os.environ.update({"LC_ALL": "C", **environment})
        try:
            locale.setlocale(locale.LC_ALL, "")
        except locale.Error:
            pass  # and it stays as it was: C

    outcome = alice.authenticate("alice", WRONG[0], prepare=prepare)
    assert outcome.prompts == ["Passcode: "] and outcome.texts == ["Wrong passcode, 2 attempts left."]
    answer = alice.tool("status", "alice", setting=environment or {"LC_ALL": ""})
    assert "alice: a passcode is set, 4 digits" in answer.output


def test_a_charset_without_our_letters_gets_no_others(alice, installed):
    """gettext converts, and what can't be said it spells in another way."""
    languages.make_latin()
    outcome = alice.authenticate("alice", WRONG[0], **speaks(**setting("de", LATIN)))
    expected = told("de", WRONG_NOTICE[0], 2, WRONG_NOTICE[1])
    assert [text.encode().decode("unicode_escape") for text in outcome.texts] == [expected]


@pytest.mark.parametrize(
    "pattern", ["%s%s%s%n", "%d %1", "nothing", "%d %", "%d %%", "%1$n %d", "%d" * 3000 + "%2", "", "%d %*d"]
)
def test_a_translation_with_other_parameters_is_not_told(pattern, alice, installed):
    """Whose catalogue it is, doesn't matter: no translation can read what isn't meant for it."""
    install = languages.made_up(lambda message, form: pattern if message.plural else "Passcode in xx:")
    languages.install("xx", install)
    outcome = alice.authenticate("alice", WRONG[0], **speaks(**setting("xx")))
    assert outcome.texts == ["Wrong passcode, 2 attempts left."]
    assert outcome.prompts == ["Passcode in xx: "]


def test_other_languages_have_more_plurals(bed, installed):
    """As Russian has: 1 and 21 are the first, 2 the second, 5 the third."""
    languages.install("xx", languages.made_up(
        lambda message, form: " ".join(["form", str(form), *parameters(message.text)]), languages.RUSSIAN, 3
    ))  # fmt: skip
    bed.configure(lockout="23:1m")
    bed.enroll("alice", RIGHT)
    answers = [code for code in WRONG[:2] * 11]
    forms_told = {}
    for code in answers:
        [text] = bed.authenticate("alice", code, **speaks(**setting("xx"))).texts
        _, form, number = text.split()
        forms_told[int(number)] = int(form)
    assert {number: forms_told[number] for number in (1, 2, 5, 21)} == {1: 0, 2: 1, 5: 2, 21: 0}


# MARK: Setuid programs


@pytest.fixture
def sudo(machine, installed):
    machine.enroll("alice", RIGHT)
    machine.typed |= {*WRONG[:1]}
    files = {"/etc/pam.d/sudo": "auth required {module}\naccount required pam_permit.so\n", "/etc/sudoers": SUDOERS}
    kept = {path: open(path, "rb").read() for path in files if os.path.exists(path)}
    machine.service(stack=files["/etc/pam.d/sudo"])
    shutil.copyfile(machine.services / SERVICE, "/etc/pam.d/sudo")
    with open("/etc/sudoers", "w") as file:
        file.write(SUDOERS)
    yield lambda **environment: subprocess.run(
        ["sudo", "-S", "id"], input=f"{WRONG[0]}\n", capture_output=True, text=True, timeout=60, cwd="/",
        **{**person("alice"), "env": {"PATH": os.environ["PATH"], **environment}},
    ).stderr  # fmt: skip
    for path, content in kept.items():
        with open(path, "wb") as file:
            file.write(content)


SUDOERS = "Defaults timestamp_timeout=0, !lecture, passwd_tries=1\nalice ALL=(ALL) ALL\nroot ALL=(ALL) ALL\n"


def test_sudo_speaks_the_language_of_its_caller(sudo):
    assert sudo(**setting("fr")).startswith(told("fr", "Passcode:") + " ")


@pytest.mark.parametrize("language", ["../../../run/evil", "/run/evil", "./../../../run/evil", "de/../../../../run/evil"])
def test_a_caller_s_own_catalogue_is_not_a_setuid_program_s(language, sudo):
    """LANGUAGE with a path, LOCPATH and NLSPATH: nothing of a caller's is opened."""
    install = languages.made_up(lambda message, form: " ".join(["EVIL", *parameters(message.text)]))
    languages.install("evil", install, root=languages.pathlib.Path("/run"))
    text = sudo(**setting(language), LOCPATH="/run/evil", NLSPATH="/run/evil/%N", TEXTDOMAINDIR="/run")
    assert "EVIL" not in text and text.startswith("Passcode: ")


# MARK: The tool


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tool_speaks_the_language_of_its_caller(language, alice, installed):
    def run(*arguments, **how):
        return alice.tool(*arguments, setting=setting(language), **how)

    assert run("enroll", "bob", "--stdin", stdin="8305\n").output.startswith(told(language, "Passcode set for %1.", p1="bob"))
    assert told(language, "failures since the last success: %1", p1=0) in run("status", "alice").output
    assert told(language, "%1: no passcode is set", p1="carol") in run("status", "carol").output
    assert told(language, 'no command "%1"', p1="x") in run("x").errors
    assert told(language, "clear a lockout and reset the failure count") in run("--help").output
    assert told(language, "not checked with --conf: this is about the installed system") in run("check").output
    assert told(language, "this is a year") in run("check-weak", stdin="1984\n").output
    wrong = run("verify", "alice", "--stdin", stdin=WRONG[0] + "\n")
    assert told(language, WRONG_NOTICE[0], 2, WRONG_NOTICE[1]) in wrong.errors
    alice.configure(lockout="x")
    values = told(language, "FAILURES:DELAY,... rising; the last may be reset")
    assert values in run("status", "alice").errors


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_columns_of_list_stand_below_their_titles(language, alice, installed):
    heading, row = alice.tool("list", setting=setting(language)).output.splitlines()
    words = [told(language, title) if catalogue(language).gettext(title) != title else title for title in TITLES]
    at = [width(heading[: heading.index(word)]) for word in words]
    assert at == [0, 17, 24, 32, 42]
    assert [row[place:].split()[0] for place in at] == ["alice", str(languages_uid("alice")), "4", "0", "ok"]


def languages_uid(name):
    return int(subprocess.run(["id", "-u", name], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("language", ["de", "ja"])
def test_the_demo_plays_in_every_language(language, alice, installed):
    done = alice.tool("try", "--demo", setting=setting(language))
    assert done.status == 0 and told(language, "All %1 steps worked.", p1=14) in done.output


def test_json_is_the_same_in_every_language(alice, installed):
    for arguments, lines in (
        (["status", "alice"], ""), (["list"], ""), (["check"], ""), (["check-weak"], "1984\n8305\nx\n"),
        (["remove", "--batch", "-"], "nobody-of-that-name\n"),
    ):  # fmt: skip
        english, german = (
            alice.tool(*arguments, "--json", stdin=lines, setting=environment)
            for environment in ({"LC_ALL": "C"}, setting("de"))
        )
        strip = re.compile(r"hashing takes \d+")
        assert strip.sub("", german.output) == strip.sub("", english.output) and german.errors == english.errors
        assert all(json.loads(line) for line in german.output.splitlines())


def test_every_message_that_is_looked_up_is_in_the_template(alice, installed, tmp_path):
    """A catalogue that marks each message: what has no mark is never looked up, or isn't in the template."""
    languages.install("xx", languages.made_up(
        lambda message, form: f"«{' '.join(parameters(message.text))}»"
    ))  # fmt: skip
    for arguments in (["--help"], ["enroll", "--help"], ["check"], ["status", "alice"], ["status", "carol"], ["x"]):
        answer = alice.tool(*arguments, setting=setting("xx"))
        for line in (answer.output + answer.errors).splitlines():
            bare = re.sub(r"«.*»", "", line)
            assert "«" in line or not line.strip() or re.fullmatch(r"[\W]*[a-z-]*", bare) or "»" in line, line


@pytest.mark.parametrize("language", ["en", *LANGUAGES])
def test_help_fits_80_columns(alice, installed, language):
    names = re.findall(r"^  ([a-z][a-z-]*) ", alice.tool("--help").output.split("\nExamples:")[0], re.MULTILINE)
    assert len(names) == 19
    for words in ([], *([name] for name in names)):
        text = alice.tool(*words, "--help", setting=setting(language), check=DONE).output
        assert [line for line in text.splitlines() if languages.width(line) > 80] == [], words


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fleet_s_server_speaks_the_language_of_its_caller(installed, language):
    """From the same catalogues, and in 80 columns."""
    def run(*arguments):
        return subprocess.run(
            [BUILD / "passcode-verifier", *arguments], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **setting(language)}
        )

    text = run("--help").stdout
    assert [line for line in text.splitlines() if languages.width(line) > 80] == []
    assert told(language, "show what is wrong on this server and what to do") in text
    assert told(language, 'no command "%1": see passcode server --help', p1="x") in run("x").stderr
    assert told(language, "--withdraw can't be used with --expires") in run("invite", "--withdraw", "--expires", "1d", "bob").stderr
    assert "list has no option --first: see passcode server --help" in run("list", "--json", "--first").stderr


# MARK: The script that `passcode check` runs for a fleet

SCRIPT = TREE / "Sources/system/check/passcode-fleet-check"


def findings(format, **environment):
    done = subprocess.run(
        ["sh", SCRIPT, format], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **environment}
    )
    assert (done.returncode, done.stderr) == (1, "")
    return done.stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_script_for_check_speaks_the_language_of_its_caller(language, installed):
    text = findings("lines", **setting(language))
    unreadable = told(language, "%1: can't be read", p1="/etc/stunnel/passcode-fleet.conf")
    start = told(language, "run: %1", p1="systemctl enable --now passcode-fleet.service")
    assert f"✗ fleet-certificates: {unreadable}\n" in text and f"\n    {start}\n" in text
    assert findings("json", **setting(language)) == findings("json", LC_ALL="C")


def test_the_script_for_check_is_english_without_a_catalogue_and_without_gettext(installed):
    english = findings("lines", LC_ALL="C")
    assert "✗ fleet-certificates: /etc/stunnel/passcode-fleet.conf: can't be read\n" in english
    assert findings("lines", LC_ALL="C", LANGUAGE="de") == findings("lines", **setting("fi")) == english
    with without_gettext():
        assert findings("lines", **setting("de")) == english


@contextlib.contextmanager
def without_gettext():
    """/dev/null can't be executed."""
    program = shutil.which("gettext")
    subprocess.run(["mount", "--bind", "/dev/null", program], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", program], check=True)


# MARK: The scripts that set a fleet up

SETUP = TREE / "Sources/system/setup"
NOT_A_HOST = 'not a host name: "%1"; it may have lower-case letters, digits, hyphens and dots'
NOT_A_NAME = 'not a workstation\'s name: "%1"; it may have lower-case letters, digits, hyphens and dots, at most 63 in all'
REFUSED = [
    ("verifier-create", ["ward-7", "a", "b", "--authority", "x"], "passcode server create", "name three or five servers: see --help", ""),
    ("verifier-create", ["ward-7", "--invite", "B"], "passcode server create", NOT_A_NAME, "B"),
    ("verifier-add", ["ward-7", "--\033"], "passcode server add", 'unknown option "%1": see --help', "--?"),
    ("verifier-replace", ["ward-7"], "passcode server replace", "--authority is missing: name the folder of the authorities", ""),
    ("verifier-invite-workstation", ["%1 %2"], "passcode server invite-workstation", NOT_A_NAME, "%1 %2"),
    ("fleet-join", ["a b"], "passcode-fleet-join", NOT_A_HOST, "a b"),
]  # fmt: skip
IN_SHELL = """
source <(sed -e '$d' -e "s|[$]{BASH_SOURCE\\[0\\]%/\\*}|${0%/*}|" "$0")
"""


def of_setup(script, *words, code=None, status=0, **environment):
    """What the script says; with `code`, a shell that has read it runs that instead."""
    path = SETUP / f"passcode-{script}"
    command = [path, *words] if code is None else ["bash", "-c", IN_SHELL + code, path, *words]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], **environment})
    assert done.returncode == status, done
    return done.stdout + done.stderr


@pytest.mark.parametrize("script, words, name, message, parameter", REFUSED)
def test_a_script_speaks_the_language_of_its_caller(script, words, name, message, parameter, installed):
    """English in the locale C, without a catalogue, and without gettext."""
    def said(**environment):
        return of_setup(script, *words, status=2, **environment)

    languages.install("xx", languages.made_up(lambda message, form: " ".join(["«", *parameters(message.text)])))
    assert said(**setting("xx")) == f"{name}: {' '.join(['«', parameter][: 1 + bool(parameter)])}\n"
    for language in LANGUAGES:
        assert said(**setting(language)) == f"{name}: {told(language, message).replace('%1', parameter)}\n"
    english = f"{name}: {message.replace('%1', parameter)}\n"
    assert said(LC_ALL="C", LANGUAGE="de") == said(**setting("fi")) == said() == english
    with without_gettext():
        assert said(**setting("xx")) == english


@pytest.mark.parametrize("language", ["en", *LANGUAGES])
@pytest.mark.parametrize("script", sorted({row[0] for row in REFUSED}))
def test_a_script_s_help_fits_80_columns(script, language, installed):
    text = of_setup(script, "--help", **setting(language))
    assert [line for line in text.splitlines() if languages.width(line) > 80] == [] and text


FOUND = {
    "problem %1 exists|/etc/x": "« /etc/x",
    "problem ssh doesn't log in there as root": "«",
    "problem its own\033 words %1%2|a\033b": "its own? words a?b",
    "problem --version": "--version",
    "problem |x": "«",
    "problem ": "«",
    "problem": "«",
    "complete 1 ward-7": "« ward-7",
    "fresh\nfresh": "«",
    "begun none": "«",
}


@pytest.mark.parametrize("found", FOUND)
def test_what_a_server_has_answered_is_told_in_the_caller_s_language(found, installed):
    """And nothing else of a catalogue, nor what controls a terminal."""
    languages.install("xx", languages.made_up(lambda message, form: " ".join(["«", *parameters(message.text)])))
    assert of_setup("verifier-add", found, code='authority=/nowhere; described "$1"', **setting("xx")) == FOUND[found] + "\n"


def test_the_log_of_a_renewal_by_the_timer_is_in_english(installed):
    languages.install("xx", languages.made_up(lambda message, form: "«"))
    code = 'renew() { say "Token:"; }\nmain "$@"\n'
    assert of_setup("fleet-join", "--renew", code=code, **setting("xx")) == "Token:\n"
    assert of_setup("fleet-join", "--renew", "--now", code=code, **setting("xx")) == "«\n"


def test_the_scripts_have_one_way_to_speak():
    """Two packages have it: a server's scripts, and passcode-fleet-join."""
    say = re.compile(r"^# say PATTERN.*?^}\n", re.M | re.S)
    [server], [workstation] = (say.findall((SETUP / f"passcode-{name}").read_text()) for name in ("verifier-issuer", "fleet-join"))
    assert server == workstation


# What isn't for people, and what stands before a message.
PLAIN = "$(say ", "set -euo pipefail; ", "passcode server %s: ", "passcode-fleet-join ${own#"


@pytest.mark.parametrize("script", ["verifier-create", "verifier-add", "verifier-servers", "verifier-invite-workstation", "fleet-join"])
def test_nothing_is_told_but_messages(script):
    """That what is passed to `say` and the like is a message, is the collector's business."""
    text = (SETUP / f"passcode-{script}").read_text()
    otherwise = re.findall(r"(?:\becho|\bprintf|-p) [\"']([^\"']*[a-z]{2} [a-z]{2}[^\"']*)|\b(cat .*<<.*)", text)
    assert [words for words, here in otherwise if here or not words.startswith(PLAIN)] == []


@pytest.mark.parametrize("line", ['fail "no $x"', "fail 'no x'", 'x || misuse no', 'if x; then say "$x"; fi', 'say "%1 %2" "$x"', 'say "x" "$x"'])
def test_a_call_without_a_message_is_found(tmp_path, line):
    path = tmp_path / "script"
    path.write_text(f"# say nothing\n{line}\n")
    with pytest.raises(AssertionError):
        list(said_by_setup(path))


# MARK: What it costs


def lookups(bed, **environment):
    """System calls of a login with a notice: the first of a process."""
    trace = bed.folder / "trace"
    host.results(bed, WRONG[0], before=strace.record(trace), env={"PATH": "/usr/bin:/bin", **environment})
    bed.tool("unlock", "alice")
    [calls] = strace.between_marks(strace.calls(trace))
    return calls


def test_a_translated_login_makes_few_more_system_calls(alice, installed, capsys):
    """None in the locale C. In others the catalogue is found, mapped and its charset looked up once a process."""
    english = lookups(alice)
    assert [call.line for call in english if "/usr/share/locale" in call.line] == []
    counts = {
        name: len(lookups(alice, **environment)) - len(english)
        for name, environment in (
            ("C", {"LC_ALL": "C", "LANGUAGE": "de"}), ("de_DE.UTF-8", setting()), ("ja", setting("ja")),
        )
    }  # fmt: skip
    with capsys.disabled():
        print(f"\n  system calls more than in English: {counts} (at most 12, and none in C)")
    assert counts["C"] == 0 and counts["de_DE.UTF-8"] <= 12 and counts["ja"] <= 12
