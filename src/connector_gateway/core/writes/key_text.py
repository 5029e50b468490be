"""Idempotency keys as text: one normal form and one set of limits for header, body, tools and command line."""

import hashlib
import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

MAX_KEY_CHARACTERS = 1000
"""The longest key, in code points of its normal form."""

BLANKS = " \t"
"""Characters that HTTP removes around the value of a header, and that therefore never count."""

LONGEST_STORED = 255
"""Bytes of a key up to which it is stored as it is, since indexes of databases do not take longer ones."""

HASHED = "sha256:"
"""The namespace of digests."""

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DISPLAY = re.compile(r'%"((?:[ !#$&-~]|%[0-9A-Fa-f]{2})*)"')
"""A Display String of RFC 9651, section 3.3.8; upper-case digits are accepted too, as ``encodeURIComponent`` writes."""

LENGTH = f"Should have 1 to {MAX_KEY_CHARACTERS} characters"
UNFIT = "Contains control characters or half of a surrogate pair"
NOT_UTF8 = "Should be UTF-8, or a Display String of RFC 9651, in the header Idempotency-Key"
NOT_DISPLAY = 'Begins with %" in the header Idempotency-Key, but is not a Display String of RFC 9651 in UTF-8'


class KeyText(Struct, frozen=True):
    """A key in its normal form."""

    text: str
    fault: str | None = None
    """Why it cannot be a key."""

    @property
    def header(self) -> str:
        """The value of the header that carries the key."""
        # What begins like a Display String has to be one, or it would be read as another key.
        return f'%"{quote(self.text)}"' if self.text.startswith('%"') else self.text

    @property
    def stored(self) -> str:
        """The key as it is stored: a digest, if it is too long for an index of the database."""
        text = self.text
        # A key that looks like a digest is hashed as well, so that no key is stored under another one's digest.
        is_long = len(text) > LONGEST_STORED or (not text.isascii() and len(text.encode()) > LONGEST_STORED)
        return _hashed(text) if is_long or text.startswith(HASHED) else text

    @classmethod
    def of(cls, raw: str) -> "KeyText":
        """The key that *raw* spells: composed (NFC), and without blanks around it."""
        text = raw.strip(BLANKS)
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        return cls(text, _fault_of(text))

    @classmethod
    def of_header(cls, value: bytes) -> "KeyText":
        """The key in a header: UTF-8, or a Display String where a client can send ASCII only."""
        try:
            raw = value.decode()
        except UnicodeDecodeError:
            spelled = value.decode("latin-1")
            return cls(spelled, NOT_UTF8)
        if not raw.startswith('%"'):
            return cls.of(raw)
        shown = _DISPLAY.fullmatch(raw)
        try:
            text = unquote_to_bytes(shown[1]).decode() if shown else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            return cls(raw, NOT_DISPLAY)
        return cls.of(text)


def _hashed(text: str) -> str:
    return HASHED + hashlib.sha256(text.encode()).hexdigest()


def _fault_of(text: str) -> str | None:
    # Whatever is printable holds no control character and no surrogate, which is quicker to find out.
    if not text.isprintable() and _UNFIT.search(text):
        return UNFIT
    return None if 1 <= len(text) <= MAX_KEY_CHARACTERS else LENGTH
