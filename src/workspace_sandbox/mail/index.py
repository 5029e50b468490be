"""What of a message can be searched: its words, field by field, made once per message."""

import html
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from workspace_sandbox.mail.mime import Part, decoded

WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
"""A word; in scripts without blanks each character is one."""

UNSEEN = re.compile(r"<(style|script|head|title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
SNIPPET_LENGTH = 200


class Words:
    """The words of one field, in order."""

    def __init__(self, text: str) -> None:
        self.sequence = words(text)
        self.known = frozenset(self.sequence)

    def contain(self, phrase: Sequence[str]) -> bool:
        """Whether the words of *phrase* follow one another here."""
        if len(phrase) < 2:
            return bool(phrase) and phrase[0] in self.known
        if not self.known.issuperset(phrase):
            return False
        length = len(phrase)
        return any(self.sequence[at : at + length] == list(phrase) for at in self._places(phrase[0]))

    def near(self, left: Sequence[str], right: Sequence[str], within: int) -> bool:
        """Whether the first words of both occur at most *within* words apart."""
        if not (left and right and self.contain(left) and self.contain(right)):
            return False
        return any(abs(one - other) <= within for one in self._places(left[0]) for other in self._places(right[0]))

    def _places(self, word: str) -> list[int]:
        return [at for at, known in enumerate(self.sequence) if known == word]


class Index:
    """The searchable side of one message."""

    def __init__(self, root: Part) -> None:
        self.root = root
        self._headers: dict[tuple[str, ...], Words] = {}

    @cached_property
    def subject(self) -> Words:
        """The subject."""
        return Words(decoded(self.root.header("Subject") or ""))

    @cached_property
    def body(self) -> list[Words]:
        """The text of the body in each of its forms."""
        return [Words(text) for text in texts(self.root) if text]

    @cached_property
    def names(self) -> list[str]:
        """The file names of the attachments and inline files."""
        return [part.filename for part in self.root.walk() if part.filename]

    @cached_property
    def attached(self) -> bool:
        """Whether there is a real attachment."""
        return bool(self.root.attachments)

    @cached_property
    def everything(self) -> list[Words]:
        """All that a bare word is looked for in."""
        # The names of attachments count as words of the message, the other headers do not ("Refine searches in Gmail").
        people = [self.header("From", "Sender"), self.header("To"), self.header("Cc"), self.header("Bcc")]
        return [self.subject, *people, *self.body, *map(Words, self.names)]

    def header(self, *names: str) -> Words:
        """The words of the headers of those *names*, decoded."""
        if names not in self._headers:
            wanted = {name.lower() for name in names}
            values = [decoded(value) for name, value in self.root.headers if name.lower() in wanted]
            self._headers[names] = Words(" ".join(values))
        return self._headers[names]


def words(text: str) -> list[str]:
    """The words of *text* in one case."""
    return WORD.findall(text.casefold())


def texts(root: Part) -> Iterable[str]:
    """The plain form of the body and, where there is one, the HTML form without its tags."""
    plain, rich = root.body("text/plain"), root.body("text/html")
    return [plain.text if plain else "", untagged(rich.text) if rich else ""]


def untagged(text: str) -> str:
    """*text* of an HTML document as a reader sees it."""
    return html.unescape(TAG.sub(" ", UNSEEN.sub(" ", text)))


def snippet(root: Part) -> str:
    """The beginning of the text, entities escaped as the vendor escapes them."""
    text = next((text for text in texts(root) if text.strip()), "")
    short = " ".join(text[: SNIPPET_LENGTH * 10].split())[:SNIPPET_LENGTH].strip()
    # Gmail writes the apostrophe in decimal, Python in hexadecimal.
    return html.escape(short).replace("&#x27;", "&#39;")
