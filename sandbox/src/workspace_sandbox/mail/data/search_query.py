"""The search language of ``q``: parsed into a tree of conditions that is evaluated per message.

Evaluated: bare words and phrases, ``AND``, ``OR``, ``{}``, ``()``, ``-``, ``+``, ``AROUND n`` and every operator in
``OPERATORS``. Anything else of the form ``word:word`` is plain text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

from workspace_sandbox.mail.data.mime_parser import Part
from workspace_sandbox.mail.data.search_index import words
from workspace_sandbox.mail.data.state import Mailbox, Message, to_query_name

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
"""The time zone of dates in a query, without daylight saving."""

MAX_NESTING = 100
"""The maximum number of brackets and signs. A query with more of them is parsed as plain words."""

DATES = ("%Y/%m/%d", "%Y-%m-%d", "%m/%d/%Y")
AGES = {"h": 3600, "d": 86_400, "m": 30 * 86_400, "y": 365 * 86_400}
SIZES = {"": 1, "k": 1024, "m": 1024 * 1024}
CATEGORIES = {"primary": "PERSONAL", "social": "SOCIAL", "promotions": "PROMOTIONS", "updates": "UPDATES"}
CATEGORIES |= {"forums": "FORUMS"}
STATES = {"starred": "STARRED", "important": "IMPORTANT", "unread": "UNREAD"}
SYSTEM_LABELS = {
    "inbox": "INBOX",
    "sent": "SENT",
    "draft": "DRAFT",
    "drafts": "DRAFT",
    "trash": "TRASH",
    "spam": "SPAM",
}
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
class MessageSearch:
    """A parsed query: its condition, and the hidden labels that it includes."""

    matches: Condition
    hidden_labels: frozenset[str]

    def includes(self, message: Message, *, everything: bool) -> bool:
        """Return True if *message* matches. Spam and trash need *everything* or a query that includes them."""
        hidden = not everything and any(
            message.has_label(label_id) and label_id not in self.hidden_labels for label_id in ("SPAM", "TRASH")
        )
        return not hidden and self.matches(message)


def read(q: str, mailbox: Mailbox, now: float) -> MessageSearch:
    """Parse *q* for *mailbox* at the time *now*. Invalid syntax is never an error."""
    reader = QueryParser(_tokens(q), mailbox, now)
    parts: list[Condition] = []
    while reader.at < len(reader.tokens):
        parts.append(reader.conjunction())
        reader.at += 1
    return MessageSearch(lambda message: all(part(message) for part in parts), frozenset(reader.hidden_labels))


def _tokens(q: str) -> list[tuple[str, str]]:
    tokens = [(match.lastgroup or "", match[match.lastgroup or 0]) for match in TOKEN.finditer(q)]
    if sum(kind in {"open", "sign"} for kind, _ in tokens) > MAX_NESTING:
        return [(kind, text) for kind, text in tokens if kind in {"word", "phrase"}]
    return [(kind, text) for kind, text in tokens if kind != "blank"]


@dataclass
class QueryParser:
    """A single-pass parser over the tokens of a query."""

    tokens: list[tuple[str, str]]
    mailbox: Mailbox
    now: float
    hidden_labels: set[str] = field(default_factory=set)
    at: int = 0
    negated: bool = False

    def conjunction(self, operator: str | None = None) -> Condition:
        """Parse terms up to the end of the group, all of which must match."""
        parts: list[Condition] = []
        while self.at < len(self.tokens) and self._kind() != "close":
            if self.tokens[self.at] in {("word", "AND"), ("word", "OR")}:
                self.at += 1
                continue
            parts.append(self.disjunction(operator))
        return lambda message: all(part(message) for part in parts)

    def disjunction(self, operator: str | None) -> Condition:
        """Parse terms joined by ``OR``, which binds more tightly than juxtaposition."""
        parts = [self.nearness(operator)]
        while self._follows("OR"):
            self.at += 1
            parts.append(self.nearness(operator))
        return parts[0] if len(parts) == 1 else lambda message: any(part(message) for part in parts)

    def nearness(self, operator: str | None) -> Condition:
        """Parse a term, or two terms joined by ``AROUND n``."""
        left = self.tokens[self.at][1]
        condition = self.term(operator)
        if not self._follows("AROUND") or self.at + 2 >= len(self.tokens):
            return condition
        count, right = self.tokens[self.at + 1][1], self.tokens[self.at + 2][1]
        if not count.isdecimal():
            return condition
        self.at += 3
        left_words, right_words = words(left), words(right)
        return lambda message: any(
            field.near(left_words, right_words, int(count)) for field in message.index.all_fields
        )

    def term(self, operator: str | None) -> Condition:
        """Parse a word, phrase, group or operator with its value, possibly negated."""
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
        return self._value(None, f"{name} {self._next_text()}", quoted=True)

    def _value(self, operator: str | None, text: str, *, quoted: bool) -> Condition:
        if operator is None:
            phrase = words(text)
            return lambda message: not phrase or any(field.contains(phrase) for field in message.index.all_fields)
        if operator in {"in", "is", "label"} and not self.negated:
            self.hidden_labels |= HIDDEN_LABELS.get(text.lower(), frozenset())
        return OPERATORS[operator](self, text if quoted else text.strip(","))

    def _next_text(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _kind(self) -> str:
        return self.tokens[self.at][0]

    def _follows(self, word: str) -> bool:
        return self.at + 1 < len(self.tokens) and self.tokens[self.at] == ("word", word)


HIDDEN_LABELS = {"spam": frozenset({"SPAM"}), "trash": frozenset({"TRASH"}), "anywhere": frozenset({"SPAM", "TRASH"})}


def _people(reader: QueryParser, value: str, *, headers: tuple[str, ...]) -> Condition:
    person = reader.mailbox.address if value.lower() == "me" else value.lower()
    if "@" in person.strip("@"):
        exact = person.strip("<>")
        return lambda message: any(exact == address.lower() for _, address in message.root.addresses(*headers))
    phrase = words(person)
    return lambda message: message.index.header(*headers).contains(phrase)


def _header(_: QueryParser, value: str, *, headers: tuple[str, ...]) -> Condition:
    phrase = words(value)
    return lambda message: message.index.header(*headers).contains(phrase)


def _subject(_: QueryParser, value: str) -> Condition:
    phrase = words(value)
    return lambda message: message.index.subject.contains(phrase)


def _has(_: QueryParser, value: str) -> Condition:
    feature = value.lower()
    if feature in LINKS:
        return lambda message: any(link in part.text for link in LINKS[feature] for part in _body_parts(message))
    if STARS.fullmatch(feature):
        return lambda message: message.has_label("STARRED") and feature == "yellow-star"
    return HAS_CONDITIONS.get(feature, _never)


def _body_parts(message: Message) -> list[Part]:
    return [part for part in (message.root.body("text/plain"), message.root.body("text/html")) if part]


def _user_labelled(message: Message) -> bool:
    return any(label_id.startswith("Label_") for label_id in message.label_ids)


def _never(_: Message) -> bool:
    return False


HAS_CONDITIONS: Mapping[str, Condition] = {
    "attachment": lambda message: message.index.has_attachment,
    "userlabels": _user_labelled,
    "nouserlabels": lambda message: not _user_labelled(message),
}


def _filename(_: QueryParser, value: str) -> Condition:
    lower_value, phrase = value.lower(), words(value)

    def is_match(message: Message) -> bool:
        names = message.index.names
        typed = any(part.mime_type.endswith(f"/{lower_value}") for part in message.root.attachments)
        return typed or any(
            name.lower() == lower_value or name.lower().endswith(f".{lower_value}") or _contains(words(name), phrase)
            for name in names
        )

    return is_match


def _contains(sequence: list[str], phrase: list[str]) -> bool:
    length = len(phrase)
    return bool(phrase) and any(
        sequence[start : start + length] == phrase for start in range(len(sequence) - length + 1)
    )


def _label(reader: QueryParser, value: str) -> Condition:
    query_name = to_query_name(value)
    label_ids = [label.id for label in reader.mailbox.labels.values() if label.query_name == query_name]
    system_label = SYSTEM_LABELS.get(query_name)
    return lambda message: (
        message.has_label(*label_ids) or (system_label is not None and message.has_label(system_label))
    )


def _in(reader: QueryParser, value: str) -> Condition:
    name = value.lower()
    if name == "anywhere":
        return lambda _: True
    if name == "archive":
        return lambda message: not message.has_label(*NOT_ARCHIVED)
    return _label(reader, name)


def _is(reader: QueryParser, value: str) -> Condition:
    state = value.lower()
    if state == "read":
        return lambda message: not message.has_label("UNREAD")
    if state in STATES:
        return lambda message: message.has_label(STATES[state])
    return _never if state in {"muted", "snoozed"} else _label(reader, state)


def _category(_: QueryParser, value: str) -> Condition:
    label_id = f"CATEGORY_{CATEGORIES.get(value.lower(), value.upper())}"
    return lambda message: message.has_label(label_id)


def _by_date(_: QueryParser, value: str, *, after: bool) -> Condition:
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


def _by_age(reader: QueryParser, value: str, *, newer: bool) -> Condition:
    match = re.fullmatch(r"(\d{1,6})([hdmy])", value.lower())
    if not match:
        return lambda _: True
    limit = (reader.now - int(match[1]) * AGES[match[2]]) * 1000
    return lambda message: (message.internal_date >= limit) == newer


def _by_size(_: QueryParser, value: str, *, larger: bool) -> Condition:
    match = re.fullmatch(r"(\d{1,15})([km]?)b?", value.lower())
    if not match:
        return lambda _: True
    limit = int(match[1]) * SIZES[match[2]]
    return lambda message: len(message.raw) > limit if larger else len(message.raw) < limit


def _message_id(_: QueryParser, value: str) -> Condition:
    message_id = value.strip("<>")
    return lambda message: message.message_id.strip("<>") == message_id


OPERATORS: Mapping[str, Callable[[QueryParser, str], Condition]] = {
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
    "after": partial(_by_date, after=True),
    "newer": partial(_by_date, after=True),
    "before": partial(_by_date, after=False),
    "older": partial(_by_date, after=False),
    "newer_than": partial(_by_age, newer=True),
    "older_than": partial(_by_age, newer=False),
    "larger": partial(_by_size, larger=True),
    "size": partial(_by_size, larger=True),
    "smaller": partial(_by_size, larger=False),
    "rfc822msgid": _message_id,
}
"""The parsers of the operators' values."""
