"""Idempotency keys as text: one normal form and one set of limits for header, body, MCP, command line and client."""

import hashlib
import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

MAX_KEY_CHARACTERS = 1000
"""The maximum length of a key, in code points of its normal form."""

BLANKS = " \t"
"""Characters that HTTP strips from header values. They are ignored around a key on every surface."""

MAX_STORED_BYTES = 255
"""The maximum bytes of a key that is stored unchanged. Longer keys do not fit into database indexes."""

HASHED = "sha256:"
"""The namespace of digests."""

_INVALID = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DISPLAY = re.compile(r'%"((?:[ !#$&-~]|%[0-9A-Fa-f]{2})*)"')
"""A Display String of RFC 9651, section 3.3.8. Upper-case digits, as written by ``encodeURIComponent``, are allowed."""

LENGTH = f"Should have 1 to {MAX_KEY_CHARACTERS} characters"
INVALID_CHARACTERS = "Contains control characters or half of a surrogate pair"
NOT_UTF8 = "Should be UTF-8, or a Display String of RFC 9651, in the header Idempotency-Key"
NOT_DISPLAY = 'Begins with %" in the header Idempotency-Key, but is not a Display String of RFC 9651 in UTF-8'


class NormalizedKey(Struct, frozen=True):
    """A key in its normal form."""

    text: str
    violation: str | None = None
    """The reason why the text is not a valid key, or None."""

    @property
    def header(self) -> str:
        """The value of the header that carries the key."""
        # A key that starts like a Display String must be encoded as one, or it would be parsed as another key.
        return f'%"{quote(self.text)}"' if self.text.startswith('%"') else self.text

    @property
    def stored(self) -> str:
        """The key as stored: a digest if it is too long for a database index."""
        text = self.text
        # A key that looks like a digest is hashed as well, so that it cannot collide with the digest of another key.
        is_long = len(text) > MAX_STORED_BYTES or (not text.isascii() and len(text.encode()) > MAX_STORED_BYTES)
        return _hash(text) if is_long or text.startswith(HASHED) else text

    @classmethod
    def parse(cls, raw: str) -> "NormalizedKey":
        """Parse *raw*: compose it (NFC) and strip blanks around it."""
        text = raw.strip(BLANKS)
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        return cls(text, _validate(text))

    @classmethod
    def parse_header(cls, value: bytes) -> "NormalizedKey":
        """Parse a header value: UTF-8, or a Display String for clients that can only send ASCII."""
        try:
            raw = value.decode()
        except UnicodeDecodeError:
            raw = value.decode("latin-1")
            return cls(raw, NOT_UTF8)
        if not raw.startswith('%"'):
            return cls.parse(raw)
        match = _DISPLAY.fullmatch(raw)
        try:
            text = unquote_to_bytes(match[1]).decode() if match else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            return cls(raw, NOT_DISPLAY)
        return cls.parse(text)


def _hash(text: str) -> str:
    return HASHED + hashlib.sha256(text.encode()).hexdigest()


def _validate(text: str) -> str | None:
    # Printable text contains no control characters or surrogates, and this check is faster.
    if not text.isprintable() and _INVALID.search(text):
        return INVALID_CHARACTERS
    return None if 1 <= len(text) <= MAX_KEY_CHARACTERS else LENGTH
