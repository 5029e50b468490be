"""Text from elsewhere, made safe for a terminal: invisible and control characters are shown as escapes."""

import re

HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls, among them those that steer a terminal
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of writing
    "\u200b\u2028\u2029\u2060-\u2064\ufeff"  # separators and spaces without a width
    "\ud800-\udfff]"  # halves of characters
)
"""What is never printed as it is; joiners stay, since scripts and emoji need them."""

NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape_control_chars(text: str) -> str:
    """*text* on one line, with escapes for invisible characters."""
    return HIDDEN.sub(_escape, text)


def printable_json(text: str) -> str:
    """A JSON text that means the same, with escapes for invisible characters; line ends stay."""
    return HIDDEN.sub(lambda found: found[0] if found[0] in NAMED else f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return NAMED.get(found[0]) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")
