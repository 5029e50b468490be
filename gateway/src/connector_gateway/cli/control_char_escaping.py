"""Makes untrusted text safe for terminals: invisible and control characters are printed as escapes."""

import re

HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters, including terminal commands
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directional marks
    "\u200b\u2028\u2029\u2060-\u2064\ufeff"  # separators and zero-width spaces
    "\ud800-\udfff]"  # surrogates
)
"""Characters that are always escaped. Joiners are not, since scripts and emoji need them."""

NAMED_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape_control_chars(text: str) -> str:
    """Return *text* on one line, with escapes for invisible characters."""
    return HIDDEN.sub(_escape, text)


def printable_json(text: str) -> str:
    """Return an equivalent JSON text with escapes for invisible characters, except line ends."""
    return HIDDEN.sub(lambda match: match[0] if match[0] in NAMED_ESCAPES else f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return NAMED_ESCAPES.get(match[0]) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")
