"""The search index of a message: its words by field, computed once per message."""

import html
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from workspace_sandbox.mail.data.mime_parser import Part, decode_words

WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
"""A word. In scripts without spaces each character is a word."""

INVISIBLE = re.compile(r"<(style|script|head|title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
SNIPPET_LENGTH = 200


class Words:
    """The words of one field, in order."""

    def __init__(self, text: str) -> None:
        self.sequence = words(text)
        self.word_set = frozenset(self.sequence)

    def contains(self, phrase: Sequence[str]) -> bool:
        """Return True if the words of *phrase* occur here consecutively."""
        if len(phrase) < 2:
            return bool(phrase) and phrase[0] in self.word_set
        if not self.word_set.issuperset(phrase):
            return False
        length = len(phrase)
        return any(
            self.sequence[position : position + length] == list(phrase) for position in self._positions(phrase[0])
        )

    def near(self, left: Sequence[str], right: Sequence[str], within: int) -> bool:
        """Return True if the first words of both phrases occur at most *within* words apart."""
        if not (left and right and self.contains(left) and self.contains(right)):
            return False
        return any(
            abs(position - other_position) <= within
            for position in self._positions(left[0])
            for other_position in self._positions(right[0])
        )

    def _positions(self, word: str) -> list[int]:
        return [position for position, candidate in enumerate(self.sequence) if candidate == word]


class Index:
    """The search index of one message."""

    def __init__(self, root: Part) -> None:
        self.root = root
        self._headers: dict[tuple[str, ...], Words] = {}

    @cached_property
    def subject(self) -> Words:
        """The words of the subject."""
        return Words(decode_words(self.root.header("Subject") or ""))

    @cached_property
    def body(self) -> list[Words]:
        """The words of each body, plain and HTML."""
        return [Words(text) for text in texts(self.root) if text]

    @cached_property
    def names(self) -> list[str]:
        """The file names of attachments and inline files."""
        return [part.filename for part in self.root.walk() if part.filename]

    @cached_property
    def has_attachment(self) -> bool:
        """Whether the message has a real attachment."""
        return bool(self.root.attachments)

    @cached_property
    def all_fields(self) -> list[Words]:
        """All fields that a bare word is matched against."""
        # Attachment names count as words of the message, the other headers do not ("Refine searches in Gmail").
        people = [self.header("From", "Sender"), self.header("To"), self.header("Cc"), self.header("Bcc")]
        return [self.subject, *people, *self.body, *map(Words, self.names)]

    def header(self, *names: str) -> Words:
        """Return the words of the named headers, decoded."""
        if names not in self._headers:
            lower_names = {name.lower() for name in names}
            values = [decode_words(value) for name, value in self.root.headers if name.lower() in lower_names]
            self._headers[names] = Words(" ".join(values))
        return self._headers[names]


def words(text: str) -> list[str]:
    """Return the words of *text*, case-folded."""
    return WORD.findall(text.casefold())


def texts(root: Part) -> Iterable[str]:
    """Return the plain body, and the HTML body without its tags."""
    plain, rich = root.body("text/plain"), root.body("text/html")
    return [plain.text if plain else "", strip_tags(rich.text) if rich else ""]


def strip_tags(text: str) -> str:
    """Return the visible text of an HTML document."""
    return html.unescape(TAG.sub(" ", INVISIBLE.sub(" ", text)))


def snippet(root: Part) -> str:
    """Return the beginning of the text, with entities escaped in the vendor's way."""
    text = next((text for text in texts(root) if text.strip()), "")
    short = " ".join(text[: SNIPPET_LENGTH * 10].split())[:SNIPPET_LENGTH].strip()
    # Gmail writes the apostrophe as a decimal entity, Python as a hexadecimal one.
    return html.escape(short).replace("&#x27;", "&#39;")
