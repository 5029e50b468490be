"""Keyword matching in texts."""

from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, combining, normalize

from connector_gateway.connectors.chat.mapping.message_text import plain_text

EDGE = "\0"

MAX_MARKS = 30
"""Maximum number of consecutive combining marks, because normalisation is superlinear in it.

Source: Unicode Standard Annex 15, Stream-Safe Text Format.
"""

UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1100, 0x1200),  # Hangul
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x1AB0),  # Tai Le to Tai Tham
    range(0x1B00, 0x1B80),  # Balinese
    range(0x3000, 0xA4D0),  # kana, Bopomofo, Han, Yi
    range(0xA960, 0xA9E0),  # Hangul, Javanese
    range(0xA9E0, 0xAA00),  # Myanmar
    range(0xAA60, 0xAAE0),  # Myanmar, Tai Viet
    range(0xAC00, 0xD800),  # Hangul
    range(0xF900, 0xFB00),  # Han
    range(0x1AFF0, 0x1B170),  # kana
    range(0x20000, 0x323B0),  # Han
)
"""Scripts without spaces between words, or with attached particles."""


def matching_keywords(text: str, keywords: Iterable[str]) -> list[str]:
    """Return the *keywords* that *text* contains as complete words, ignoring case, each once."""
    keywords_by_form: dict[str, str] = {}
    for keyword in keywords:
        keywords_by_form.setdefault(_within_edges(folded_text(keyword)), keyword)
    normalised = _within_edges(folded_text(plain_text(text)))
    return [keyword for words, keyword in keywords_by_form.items() if words.strip(EDGE) and words in normalised]


def folded_text(text: str) -> str:
    """Normalise *text* for comparison. Case, width, composition and kinds of white space are ignored."""
    text = normalize("NFKC", _limit_marks(" ".join(text.split())))
    return normalize("NFKC", text.casefold()).replace("i\u0307", "i")


def _limit_marks(text: str) -> str:
    if text.isascii():
        return text
    characters: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if combining(character) else 0
        if marks <= MAX_MARKS:
            characters.append(character)
    return "".join(characters)


def _within_edges(text: str) -> str:
    """Return *text* with a mark at each possible word boundary, so that a substring search matches complete words."""
    marked = text.translate(_EDGES)
    return f"{'' if marked.startswith(EDGE) else EDGE}{marked}{'' if marked.endswith(EDGE) else EDGE}"


@lru_cache(maxsize=20_000)
def _with_edges(code: int) -> str:
    """Return a character with a boundary on both sides, unless it is a word character of a spaced script."""
    character = chr(code)
    kind = category(character)
    if kind == "Cf" or 0xFE00 <= code <= 0xFE0F:
        return ""
    if kind[0] in "LMN" and not any(code in block for block in UNSPACED):
        return character
    return f"{EDGE}{character}{EDGE}"


class _Edges:
    """The ``str.translate`` table that inserts the boundaries."""

    def __getitem__(self, code: int) -> str:
        return _with_edges(code)


_EDGES = _Edges()
