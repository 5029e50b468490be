"""The search language of ``q``: read into a tree of conditions, then asked of one message at a time.

Evaluated: bare words and phrases, ``AND``, ``OR``, ``{}``, ``()``, ``-``, ``+``, ``AROUND n`` and every operator in
``OPERATORS``. Anything else of the form ``word:word`` is plain text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

from workspace_sandbox.mail.index import words
from workspace_sandbox.mail.mime import Part
from workspace_sandbox.mail.state import Mailbox, Message, hyphenated

Condition = Callable[[Message], bool]
TOKEN = re.compile(
    r"""
    (?P<blank>\s+) | (?P<open>[({]) | (?P<close>[)}])
    | (?P<sign>[-+])(?=\S)
    | "(?P<phrase>[^"]*)"?
    | (?P<operator>[A-Za-z_0-9]+):(?=[^\s)}])
    | (?P<word>[^\s(){}"]+)
    """,
    re.VERBOSE,
)
PST = timezone(timedelta(hours=-8))
"""Dates in a query begin at midnight here, summer or winter."""

MAX_NESTING = 100
"""Brackets and signs that are read as such; a query with more of them is read as plain words."""

DATES = ("%Y/%m/%d", "%Y-%m-%d", "%m/%d/%Y")
AGES = {"h": 3600, "d": 86_400, "m": 30 * 86_400, "y": 365 * 86_400}
SIZES = {"": 1, "k": 1024, "m": 1024 * 1024}
CATEGORIES = {"primary": "PERSONAL", "social": "SOCIAL", "promotions": "PROMOTIONS", "updates": "UPDATES"}
CATEGORIES |= {"forums": "FORUMS"}
STATES = {"starred": "STARRED", "important": "IMPORTANT", "unread": "UNREAD"}
PLACES = {"inbox": "INBOX", "sent": "SENT", "draft": "DRAFT", "drafts": "DRAFT", "trash": "TRASH", "spam": "SPAM"}
NOT_ARCHIVED = ("INBOX", "SPAM", "TRASH", "DRAFT", "SENT", "CHAT")
STARS = re.compile(r"(yellow|red|orange|blue|green|purple)-(star|bang|info|guillemet|question|check)")
LINKS = {
    "drive": ("drive.google.com",),
    "document": ("docs.google.com/document",),
    "spreadsheet": ("docs.google.com/spreadsheets",),
    "presentation": ("docs.google.com/presentation",),
    "youtube": ("youtube.com", "youtu.be"),
}


@dataclass
class Query:
    """A read query: what it asks of a message, and which hidden places it opens."""

    matches: Condition
    opens: frozenset[str]

    def shows(self, message: Message, *, everything: bool) -> bool:
        """Whether *message* is found; spam and trash only with *everything* or where the query opens them."""
        hidden = not everything and any(message.has(place) and place not in self.opens for place in ("SPAM", "TRASH"))
        return not hidden and self.matches(message)


def read(q: str, mailbox: Mailbox, now: float) -> Query:
    """What *q* means in *mailbox* at this time; nothing in it is ever an error."""
    reader = Reader(_tokens(q), mailbox, now)
    parts: list[Condition] = []
    while reader.at < len(reader.tokens):
        parts.append(reader.conjunction())
        reader.at += 1
    return Query(lambda message: all(part(message) for part in parts), frozenset(reader.opens))


def _tokens(q: str) -> list[tuple[str, str]]:
    found = [(match.lastgroup or "", match[match.lastgroup or 0]) for match in TOKEN.finditer(q)]
    if sum(kind in {"open", "sign"} for kind, _ in found) > MAX_NESTING:
        return [(kind, text) for kind, text in found if kind in {"word", "phrase"}]
    return [(kind, text) for kind, text in found if kind != "blank"]


@dataclass
class Reader:
    """Goes once through the tokens of a query."""

    tokens: list[tuple[str, str]]
    mailbox: Mailbox
    now: float
    opens: set[str] = field(default_factory=set)
    at: int = 0
    negated: bool = False

    def conjunction(self, operator: str | None = None) -> Condition:
        """Everything up to the end of the group: all of it has to hold."""
        parts: list[Condition] = []
        while self.at < len(self.tokens) and self._kind() != "close":
            if self.tokens[self.at] in {("word", "AND"), ("word", "OR")}:
                self.at += 1
                continue
            parts.append(self.disjunction(operator))
        return lambda message: all(part(message) for part in parts)

    def disjunction(self, operator: str | None) -> Condition:
        """Terms with ``OR`` between them, which binds tighter than standing side by side."""
        parts = [self.nearness(operator)]
        while self._follows("OR"):
            self.at += 1
            parts.append(self.nearness(operator))
        return parts[0] if len(parts) == 1 else lambda message: any(part(message) for part in parts)

    def nearness(self, operator: str | None) -> Condition:
        """A term, or two with ``AROUND n`` between them."""
        left = self.tokens[self.at][1]
        condition = self.term(operator)
        if not self._follows("AROUND") or self.at + 2 >= len(self.tokens):
            return condition
        count, right = self.tokens[self.at + 1][1], self.tokens[self.at + 2][1]
        if not count.isdecimal():
            return condition
        self.at += 3
        one, other = words(left), words(right)
        return lambda message: any(field.near(one, other, int(count)) for field in message.index.everything)

    def term(self, operator: str | None) -> Condition:
        """One word, phrase, group or operator with its value, maybe negated."""
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "sign":
            return self._signed(text, operator)
        if kind == "open":
            return self._group(text, operator)
        if kind == "operator" and self.at < len(self.tokens):
            return self._operation(text.lower())
        return self._value(operator, text, quoted=kind == "phrase")

    def _signed(self, sign: str, operator: str | None) -> Condition:
        if self.at >= len(self.tokens):
            return lambda _: True
        if sign == "+":
            return self.term(operator)
        self.negated = not self.negated
        inner = self.term(operator)
        self.negated = not self.negated
        return lambda message: not inner(message)

    def _group(self, bracket: str, operator: str | None) -> Condition:
        inner = self._alternatives(operator) if bracket == "{" else self.conjunction(operator)
        self.at += 1
        return inner

    def _alternatives(self, operator: str | None) -> Condition:
        parts: list[Condition] = []
        while self.at < len(self.tokens) and self._kind() != "close":
            parts.append(self.disjunction(operator))
        return lambda message: any(part(message) for part in parts)

    def _operation(self, name: str) -> Condition:
        if name in OPERATORS:
            return self.term(name)
        return self._value(None, f"{name} {self._take()}", quoted=True)

    def _value(self, operator: str | None, text: str, *, quoted: bool) -> Condition:
        if operator is None:
            phrase = words(text)
            return lambda message: not phrase or any(field.contain(phrase) for field in message.index.everything)
        if operator in {"in", "is", "label"} and not self.negated:
            self.opens |= OPENED.get(text.lower(), frozenset())
        return OPERATORS[operator](self, text if quoted else text.strip(","))

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _kind(self) -> str:
        return self.tokens[self.at][0]

    def _follows(self, word: str) -> bool:
        return self.at + 1 < len(self.tokens) and self.tokens[self.at] == ("word", word)


OPENED = {"spam": frozenset({"SPAM"}), "trash": frozenset({"TRASH"}), "anywhere": frozenset({"SPAM", "TRASH"})}


def _people(reader: Reader, value: str, *, headers: tuple[str, ...]) -> Condition:
    wanted = reader.mailbox.address if value.lower() == "me" else value.lower()
    if "@" in wanted.strip("@"):
        exact = wanted.strip("<>")
        return lambda message: any(exact == one.lower() for _, one in message.root.addresses(*headers))
    phrase = words(wanted)
    return lambda message: message.index.header(*headers).contain(phrase)


def _header(_: Reader, value: str, *, headers: tuple[str, ...]) -> Condition:
    phrase = words(value)
    return lambda message: message.index.header(*headers).contain(phrase)


def _subject(_: Reader, value: str) -> Condition:
    phrase = words(value)
    return lambda message: message.index.subject.contain(phrase)


def _has(_: Reader, value: str) -> Condition:
    wanted = value.lower()
    if wanted in LINKS:
        return lambda message: any(link in part.text for link in LINKS[wanted] for part in _body_parts(message))
    if STARS.fullmatch(wanted):
        return lambda message: message.has("STARRED") and wanted == "yellow-star"
    return HAVINGS.get(wanted, _never)


def _body_parts(message: Message) -> list[Part]:
    return [part for part in (message.root.body("text/plain"), message.root.body("text/html")) if part]


def _user_labelled(message: Message) -> bool:
    return any(label_id.startswith("Label_") for label_id in message.label_ids)


def _never(_: Message) -> bool:
    return False


HAVINGS: Mapping[str, Condition] = {
    "attachment": lambda message: message.index.attached,
    "userlabels": _user_labelled,
    "nouserlabels": lambda message: not _user_labelled(message),
}


def _filename(_: Reader, value: str) -> Condition:
    wanted, phrase = value.lower(), words(value)

    def fits(message: Message) -> bool:
        names = message.index.names
        typed = any(part.mime_type.endswith(f"/{wanted}") for part in message.root.attachments)
        return typed or any(
            name.lower() == wanted or name.lower().endswith(f".{wanted}") or _contains(words(name), phrase)
            for name in names
        )

    return fits


def _contains(known: list[str], phrase: list[str]) -> bool:
    length = len(phrase)
    return bool(phrase) and any(known[at : at + length] == phrase for at in range(len(known) - length + 1))


def _label(reader: Reader, value: str) -> Condition:
    wanted = hyphenated(value)
    found = [label.id for label in reader.mailbox.labels.values() if label.query_name == wanted]
    place = PLACES.get(wanted)
    return lambda message: message.has(*found) or (place is not None and message.has(place))


def _in(reader: Reader, value: str) -> Condition:
    wanted = value.lower()
    if wanted == "anywhere":
        return lambda _: True
    if wanted == "archive":
        return lambda message: not message.has(*NOT_ARCHIVED)
    return _label(reader, wanted)


def _is(reader: Reader, value: str) -> Condition:
    wanted = value.lower()
    if wanted == "read":
        return lambda message: not message.has("UNREAD")
    if wanted in STATES:
        return lambda message: message.has(STATES[wanted])
    return _never if wanted in {"muted", "snoozed"} else _label(reader, wanted)


def _category(_: Reader, value: str) -> Condition:
    label_id = f"CATEGORY_{CATEGORIES.get(value.lower(), value.upper())}"
    return lambda message: message.has(label_id)


def _dated(_: Reader, value: str, *, after: bool) -> Condition:
    limit = _midnight(value)
    if limit is None:
        return lambda _: True
    return lambda message: (message.internal_date >= limit * 1000) == after


def _midnight(value: str) -> float | None:
    if value.isdecimal() and len(value) > 4:
        return float(value)
    for form in DATES:
        try:
            return datetime.strptime(value, form).replace(tzinfo=PST).astimezone(UTC).timestamp()
        except ValueError:
            continue
    return None


def _aged(reader: Reader, value: str, *, newer: bool) -> Condition:
    found = re.fullmatch(r"(\d{1,6})([hdmy])", value.lower())
    if not found:
        return lambda _: True
    limit = (reader.now - int(found[1]) * AGES[found[2]]) * 1000
    return lambda message: (message.internal_date >= limit) == newer


def _sized(_: Reader, value: str, *, larger: bool) -> Condition:
    found = re.fullmatch(r"(\d{1,15})([km]?)b?", value.lower())
    if not found:
        return lambda _: True
    limit = int(found[1]) * SIZES[found[2]]
    return lambda message: len(message.raw) > limit if larger else len(message.raw) < limit


def _message_id(_: Reader, value: str) -> Condition:
    wanted = value.strip("<>")
    return lambda message: message.message_id.strip("<>") == wanted


OPERATORS: Mapping[str, Callable[[Reader, str], Condition]] = {
    "from": partial(_people, headers=("From",)),
    "to": partial(_people, headers=("To", "Cc", "Bcc")),
    "cc": partial(_people, headers=("Cc",)),
    "bcc": partial(_people, headers=("Bcc",)),
    "deliveredto": partial(_people, headers=("Delivered-To",)),
    "list": partial(_header, headers=("List-Id", "List-Post")),
    "subject": _subject,
    "has": _has,
    "filename": _filename,
    "label": _label,
    "in": _in,
    "is": _is,
    "category": _category,
    "after": partial(_dated, after=True),
    "newer": partial(_dated, after=True),
    "before": partial(_dated, after=False),
    "older": partial(_dated, after=False),
    "newer_than": partial(_aged, newer=True),
    "older_than": partial(_aged, newer=False),
    "larger": partial(_sized, larger=True),
    "size": partial(_sized, larger=True),
    "smaller": partial(_sized, larger=False),
    "rfc822msgid": _message_id,
}
"""How each operator reads its value."""
