"""Texts as people see them, without the vendor's markup."""

import re

CALLS = frozenset({"!channel", "!everyone", "!here"})
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

MARKUP = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
"""What the vendor writes for links, mentions and channels, with or without the words that readers see."""


def plain_text(text: str) -> str:
    """*text* as a reader sees it."""
    return unescaped(MARKUP.sub(_label, text))


def _label(markup: re.Match[str]) -> str:
    target, label = markup[1], markup[2]
    if target in CALLS:
        return f"@{target[1:]}"
    sigil = target[0] if target[0] in "@#" else ""
    if label:
        return sigil + label
    return markup[0] if sigil or target[0] == "!" else target


def unescaped(text: str) -> str:
    """*text* with the characters that the vendor escapes."""
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text
