"""Message texts without the vendor's markup."""

import re

CALLS = frozenset({"!channel", "!everyone", "!here"})
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

MARKUP = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
"""The vendor's markup of links, mentions and channels, with an optional label."""


def plain_text(text: str) -> str:
    """Return *text* as displayed to readers."""
    return unescape(MARKUP.sub(_label, text))


def _label(markup: re.Match[str]) -> str:
    target, label = markup[1], markup[2]
    if target in CALLS:
        return f"@{target[1:]}"
    sigil = target[0] if target[0] in "@#" else ""
    if label:
        return sigil + label
    return markup[0] if sigil or target[0] == "!" else target


def unescape(text: str) -> str:
    """Return *text* with the vendor's escapes decoded."""
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text
