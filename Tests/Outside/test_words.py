"""One word for one thing, in everything that people read: messages, help, the first pages and the manual pages."""

import re

import pytest

import contract
from messages import TREE, messages

# Where one of these was meant, the field's word is the one behind it. Names in JSON, in the log and of options stay.
BANNED = {
    r"\b(is|be|was|both|the) right\b(?! (thumb|(index|middle|ring|little) finger))": "correct",
    r"\b(the|no|a|or|enrol a|with) finger\b(?!=)|\bFinger (not|off|or)\b|\bor finger:": "fingerprint, reader",
    r"\b(log|logs|logged|logging) on\b|\bsign(s|ed)? in\b|\bto login\b|\blogin (to|into)\b": "log in",
    r"\bblocked until\b|\blocked (for good|for ever|until someone)\b": "locked out",
    r"\bdelet(e|es|ed|ing) (the|a|an|his|her|your|old|one-time) ?(old )?(passcode|code)": "remove, withdraw",
    r"\b(erase|wipe|reset) (the|a|your) passcode\b": "remove",
    r"\bPIN\b": "passcode",
    r"\b(enrol|enrols|enrolled|enroll) (yourself|herself|himself|themselves)\b": "set a passcode",
    r"\b(passcode|code|key|login) opens\b|\bopens (one login|nothing|the passcodes?)\b": "be valid, unseal, let in",
    r"\bpasscode verifier [a-z]+\b": "passcode server",
    r"\b(wholly|whoever|elsewhere than|otherwise than|by chance|watch over|mends?)\b": "plain English",
}
# In the pages about the design, which speak of keys that open records, and of a finger on the reader.
IN_DESIGN = {
    r"\bright (old |new |one-time )?(passcode|password|code|digits|answer|one)s?\b": "correct",
    r"(?<![a-z] )\bSo (?!(that|many) )[a-z`]": "therefore, thus, or one sentence",
}
# What isn't ours: others' names for their own things.
OTHERS = re.compile(r"pam_u2f.*|a PIN as the password|counts wrong PINs|TPM.?s? PIN")
PAGES = [
    TREE / "README.md", *sorted(TREE.glob("debian/*README.Debian")), TREE / ".github/SECURITY.md",
    TREE / "Sources/system/passcode.conf", *sorted(TREE.glob("pam.d/*")), *sorted(TREE.glob("Sources/system/completions/*")),
    *sorted(TREE.glob("Sources/system/man/*")), *sorted(TREE.glob("debian/*.templates")),
]  # fmt: skip


def strays(text, banned=BANNED | IN_DESIGN):
    """(what is said, what to say) of each of the banned forms."""
    text = " ".join(OTHERS.sub("", text).replace("\\-", "-").split())
    return [
        (text[max(0, found.start() - 30) : found.end() + 30], meant)
        for form, meant in banned.items()
        for found in re.finditer(form, text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_one_word_for_one_thing(page):
    assert strays(page.read_text()) == []


@pytest.mark.parametrize("page", [*contract.PAGES, TREE / "Tests/README.md"], ids=lambda page: page.name)
def test_a_page_about_the_design_has_it_too(page):
    assert strays(page.read_text(), IN_DESIGN) == []


def test_the_messages_have_one_word_for_one_thing():
    """The help is made of them. What is `exhausted` in JSON and in the log is locked out for people."""
    texts = [text for message in messages().values() for text in (message.text, message.plural)]
    assert len(texts) > 600 and [stray for text in texts for stray in strays(text)] == []
    named = [text for text in texts if "exhausted" in text]
    assert all("must_change" in text for text in named) and len(named) == 2


@pytest.mark.parametrize(
    "said", [
        "the passcode is right", "a right passcode", "the finger is off", "Passcode or finger:", "log on with it",
        "delete the old passcode", "Your PIN", "the key opens", "it opens nothing", "passcode verifier list", "whoever has it", "let them enrol themselves",
        "two right ones", "It is locked. So nobody gets in.", "(So it isn't used.)",
    ],
)  # fmt: skip
def test_a_banned_form_is_found(said):
    assert strays(said) != []
