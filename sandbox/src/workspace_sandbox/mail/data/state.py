"""A mailbox: messages as raw bytes, threads, drafts, labels and the history of their changes."""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workspace_sandbox.kit.webhook_sender import ignore_event
from workspace_sandbox.mail.data.mime_parser import Part, decode_words, parse, read_headers, split_head
from workspace_sandbox.mail.data.search_index import Index, snippet

MESSAGE_ID = re.compile(r"<[^<>\s]+>")
REPLY_PREFIX = re.compile(r"^\s*(?:(?:re|fwd?|aw|wg|sv|tr)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
FIRST_HISTORY_ID = 90_000
DERIVED = frozenset({"root", "index", "snippet", "headers"})
"""Attributes that are derived from the raw bytes on first use."""

Key = tuple[int, int]

HIDDEN = {"messageListVisibility": "hide", "labelListVisibility": "labelHide"}
SHOWN = {"messageListVisibility": "show", "labelListVisibility": "labelShow"}
SYSTEM: Mapping[str, Mapping[str, str]] = {
    "CHAT": HIDDEN,
    "SENT": {},
    "INBOX": {},
    "IMPORTANT": HIDDEN,
    "TRASH": HIDDEN,
    "DRAFT": {},
    "SPAM": HIDDEN,
    "CATEGORY_FORUMS": HIDDEN,
    "CATEGORY_UPDATES": HIDDEN,
    "CATEGORY_PERSONAL": HIDDEN,
    "CATEGORY_PROMOTIONS": HIDDEN,
    "CATEGORY_SOCIAL": HIDDEN,
    "STARRED": {},
    "UNREAD": {},
}
"""The system labels by id, which is also their name, with their visibility in lists."""


@dataclass
class Label:
    """A label of a mailbox."""

    id: str
    name: str
    type: str
    visibility: dict[str, str]
    color: dict[str, str] | None = None

    @property
    def resource(self) -> dict[str, Any]:
        """The label as a list returns it."""
        fields = {"id": self.id, "name": self.name, **self.visibility, "type": self.type}
        return fields | ({"color": dict(self.color)} if self.color else {})

    @property
    def query_name(self) -> str:
        """The label's name in the search language."""
        return to_query_name(self.name)


def to_query_name(name: str) -> str:
    """Return *name* in the spelling of the search language: lower case, with spaces and slashes as hyphens."""
    return name.casefold().replace(" ", "-").replace("/", "-")


def system_labels() -> dict[str, Label]:
    """Return the labels that every mailbox has initially."""
    return {name: Label(name, name, "system", dict(visibility)) for name, visibility in SYSTEM.items()}


@dataclass(eq=False)
class Message:
    """A message of a mailbox."""

    id: str
    thread_id: str
    raw: bytes
    label_ids: list[str]
    internal_date: int
    sequence: int
    history_id: int = 0

    def __getstate__(self) -> dict[str, Any]:
        """Return the stored state, without derived attributes: few of them are read again."""
        return {name: value for name, value in vars(self).items() if name not in DERIVED}

    @cached_property
    def root(self) -> Part:
        """The root of the message's part tree."""
        return parse(self.raw)

    @cached_property
    def index(self) -> Index:
        """The search index of the message."""
        return Index(self.root)

    @cached_property
    def snippet(self) -> str:
        """The beginning of the message's text."""
        return snippet(self.root)

    @cached_property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the message itself, parsed without its body."""
        return read_headers(self.raw, 0, split_head(self.raw, 0, len(self.raw))[0])

    @property
    def key(self) -> Key:
        """The position of the message in the mailbox, ordered from oldest to newest."""
        return self.internal_date, self.sequence

    @property
    def message_id(self) -> str:
        """The stored ``Message-ID``, empty if there is none."""
        return self.header("Message-ID")

    @property
    def references(self) -> set[str]:
        """The messages that this one refers to."""
        return set(MESSAGE_ID.findall(f"{self.header('References')} {self.header('In-Reply-To')}"))

    @property
    def subject(self) -> str:
        """The subject in the form in which threads compare it: without prefixes, case-folded, with single spaces."""
        return normalise_subject(self.header("Subject"))

    def header(self, name: str) -> str:
        """Return the first header with that name, empty if there is none."""
        lower_name = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower_name), "")

    def has_label(self, *label_ids: str) -> bool:
        """Return True if the message has any of *label_ids*."""
        return any(label_id in self.label_ids for label_id in label_ids)


class Mailbox:
    """All data of one account."""

    def __init__(self, address: str, name: str, new_id: Callable[[int], tuple[str, int]]) -> None:
        self.address = address
        self.name = name
        self.labels: dict[str, Label] = system_labels()
        self.messages: dict[str, Message] = {}
        self.threads: dict[str, list[Message]] = {}
        self.drafts: dict[str, Message] = {}
        self.history: list[dict[str, Any]] = []
        self.history_id = FIRST_HISTORY_ID
        self.settings: dict[str, dict[str, Any]] = {}
        self.filters: dict[str, dict[str, Any]] = {}
        self.forwarding: dict[str, str] = {}
        """Forwarding addresses with their verification status."""

        self.on_change: Callable[[Mailbox, Mapping[str, Any]], None] = ignore_event
        """The callback for every history record."""

        self._new_id = new_id
        self._order: list[tuple[Key, Message]] = []
        self._by_message_id: dict[str, Message] = {}

    def add(self, raw: bytes, label_ids: Sequence[str], at: int, thread_id: str | None = None) -> Message:
        """Store a message received at *at*, in milliseconds. Without a thread it starts a new one."""
        message_id, sequence = self._new_id(at)
        message = Message(message_id, thread_id or message_id, raw, list(label_ids), at, sequence)
        self.messages[message_id] = message
        insort(self._order, (message.key, message), key=lambda entry: entry[0])
        insort(self.threads.setdefault(message.thread_id, []), message, key=lambda member: member.key)
        # Senders may reuse a Message-ID. It stays assigned to the first message.
        self._by_message_id.setdefault(message.message_id, message)
        self._record(message, "messagesAdded")
        return message

    def remove(self, message: Message) -> None:
        """Delete a message permanently, with its draft."""
        del self.messages[message.id]
        del self._order[bisect_left(self._order, message.key, key=lambda entry: entry[0])]
        self.threads[message.thread_id].remove(message)
        if not self.threads[message.thread_id]:
            del self.threads[message.thread_id]
        if self._by_message_id.get(message.message_id) is message:
            del self._by_message_id[message.message_id]
        self.drafts = {draft_id: draft for draft_id, draft in self.drafts.items() if draft is not message}
        self._record(message, "messagesDeleted")

    def relabel(self, message: Message, add: Collection[str], remove: Collection[str]) -> None:
        """Add and remove labels. A message moved to trash or spam leaves the inbox."""
        if not {"TRASH", "SPAM"}.isdisjoint(add):
            # A message in trash or spam cannot be in the inbox.
            remove = {*remove, "INBOX"}
        added = [label_id for label_id in dict.fromkeys(add) if label_id not in message.label_ids]
        removed = [label_id for label_id in message.label_ids if label_id in remove and label_id not in add]
        message.label_ids = [existing for existing in message.label_ids if existing not in removed] + added
        if added:
            self._record(message, "labelsAdded", added)
        if removed:
            self._record(message, "labelsRemoved", removed)

    def newest(self, before: Key | None = None) -> Iterator[Message]:
        """Return the messages, newest first. With *before*, only those that are older than this position."""
        end = len(self._order) if before is None else bisect_left(self._order, before, key=lambda entry: entry[0])
        return (entry[1] for entry in reversed(self._order[:end]))

    def belongs_to_thread(self, thread_id: str, raw: bytes) -> bool:
        """Return True if *raw* belongs to that thread: it refers to one of its messages and has the same subject."""
        new = Message("", "", raw, [], 0, 0)
        members = self.threads.get(thread_id, [])
        return any(
            member.message_id in new.references and member.subject == new.subject
            for member in members
            if member.message_id
        )

    def find_thread(self, raw: bytes) -> str | None:
        """Return the thread that an incoming message joins by its references."""
        new = Message("", "", raw, [], 0, 0)
        candidates = (
            self._by_message_id[reference] for reference in new.references if reference in self._by_message_id
        )
        return next((message.thread_id for message in candidates if message.subject == new.subject), None)

    def find_label(self, name: str) -> Label | None:
        """Return the label with that name, regardless of case."""
        folded = name.casefold()
        return next((label for label in self.labels.values() if label.name.casefold() == folded), None)

    def delete_label(self, label_id: str) -> None:
        """Delete a label and remove it from every message."""
        del self.labels[label_id]
        for message in self.messages.values():
            self.relabel(message, (), [label_id])

    def _record(self, message: Message, kind: str, label_ids: Sequence[str] = ()) -> None:
        self.history_id += 1
        message.history_id = self.history_id
        short = {"id": message.id, "threadId": message.thread_id}
        change: dict[str, Any] = {"message": short | label_ids_field(message)}
        if label_ids:
            change["labelIds"] = list(label_ids)
        self.history.append({"id": str(self.history_id), "messages": [short], kind: [change]})
        self.on_change(self, self.history[-1])


def label_ids_field(message: Message) -> dict[str, list[str]]:
    """Return the ``labelIds`` field of a resource. It is absent if there are no labels."""
    # Gmail omits the key if a message has no labels, which breaks clients that expect a list.
    return {"labelIds": list(message.label_ids)} if message.label_ids else {}


def normalise_subject(subject: str) -> str:
    """Return *subject* in the form in which threads compare it."""
    return " ".join(REPLY_PREFIX.sub("", decode_words(subject)).casefold().split())
