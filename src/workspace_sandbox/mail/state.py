"""A mailbox: messages as raw bytes, threads, drafts, labels and the history of their changes."""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workspace_sandbox.kit.hooks import unheard
from workspace_sandbox.mail.index import Index, snippet
from workspace_sandbox.mail.mime import Part, decoded, parse, read_headers, split_head

MESSAGE_ID = re.compile(r"<[^<>\s]+>")
REPLY_PREFIX = re.compile(r"^\s*(?:(?:re|fwd?|aw|wg|sv|tr)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
FIRST_HISTORY_ID = 90_000
READ = frozenset({"root", "index", "snippet", "headers"})
"""What is read of a message's bytes when it is asked for."""

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
"""Each system label by its id, which is its name too, with the visibility that is told of it."""


@dataclass
class Label:
    """One label of one mailbox."""

    id: str
    name: str
    type: str
    visibility: dict[str, str]
    color: dict[str, str] | None = None

    @property
    def resource(self) -> dict[str, Any]:
        """What a list tells of it."""
        told = {"id": self.id, "name": self.name, **self.visibility, "type": self.type}
        return told | ({"color": dict(self.color)} if self.color else {})

    @property
    def query_name(self) -> str:
        """How the search language spells it."""
        return hyphenated(self.name)


def hyphenated(name: str) -> str:
    """*name* as the search language spells it: small, blanks and slashes as hyphens."""
    return name.casefold().replace(" ", "-").replace("/", "-")


def system_labels() -> dict[str, Label]:
    """The labels that every mailbox has from the beginning."""
    return {name: Label(name, name, "system", dict(told)) for name, told in SYSTEM.items()}


@dataclass(eq=False)
class Message:
    """One message of one mailbox."""

    id: str
    thread_id: str
    raw: bytes
    label_ids: list[str]
    internal_date: int
    sequence: int
    history_id: int = 0

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of it; what its bytes tell is read again from the few that somebody asks for."""
        return {name: value for name, value in vars(self).items() if name not in READ}

    @cached_property
    def root(self) -> Part:
        """The tree of its parts."""
        return parse(self.raw)

    @cached_property
    def index(self) -> Index:
        """What of it can be searched."""
        return Index(self.root)

    @cached_property
    def snippet(self) -> str:
        """The beginning of its text."""
        return snippet(self.root)

    @cached_property
    def headers(self) -> list[tuple[str, str]]:
        """Its own headers, read without the rest."""
        return read_headers(self.raw, 0, split_head(self.raw, 0, len(self.raw))[0])

    @property
    def key(self) -> Key:
        """Its place among all messages, the oldest first."""
        return self.internal_date, self.sequence

    @property
    def message_id(self) -> str:
        """Its ``Message-ID`` as stored, empty when there is none."""
        return self.header("Message-ID")

    @property
    def references(self) -> set[str]:
        """The messages that it says it follows."""
        return set(MESSAGE_ID.findall(f"{self.header('References')} {self.header('In-Reply-To')}"))

    @property
    def subject(self) -> str:
        """Its subject without prefixes and differences of case and blanks, as threads compare it."""
        return plain_subject(self.header("Subject"))

    def header(self, name: str) -> str:
        """The first header of that name, empty when there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")

    def has(self, *label_ids: str) -> bool:
        """Whether it carries any of *label_ids*."""
        return any(label_id in self.label_ids for label_id in label_ids)


class Mailbox:
    """Everything one account holds."""

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
        """Addresses that mail may be forwarded to, with how far each is verified."""

        self.heard: Callable[[Mailbox, Mapping[str, Any]], None] = unheard
        """Is told of every record of the history."""

        self._new_id = new_id
        self._order: list[tuple[Key, Message]] = []
        self._by_message_id: dict[str, Message] = {}

    def add(self, raw: bytes, label_ids: Sequence[str], at: int, thread_id: str | None = None) -> Message:
        """Take in a message of the instant *at*, in milliseconds; without a thread it begins one."""
        new, sequence = self._new_id(at)
        message = Message(new, thread_id or new, raw, list(label_ids), at, sequence)
        self.messages[new] = message
        insort(self._order, (message.key, message), key=lambda entry: entry[0])
        insort(self.threads.setdefault(message.thread_id, []), message, key=lambda member: member.key)
        # Identifiers of senders are not unique; the first to come keeps the name.
        self._by_message_id.setdefault(message.message_id, message)
        self._record(message, "messagesAdded")
        return message

    def remove(self, message: Message) -> None:
        """Delete a message for good, with its draft."""
        del self.messages[message.id]
        del self._order[bisect_left(self._order, message.key, key=lambda entry: entry[0])]
        self.threads[message.thread_id].remove(message)
        if not self.threads[message.thread_id]:
            del self.threads[message.thread_id]
        if self._by_message_id.get(message.message_id) is message:
            del self._by_message_id[message.message_id]
        self.drafts = {draft_id: held for draft_id, held in self.drafts.items() if held is not message}
        self._record(message, "messagesDeleted")

    def relabel(self, message: Message, add: Collection[str], remove: Collection[str]) -> None:
        """Put labels on and take labels off; what moves to trash or spam leaves the inbox."""
        if not {"TRASH", "SPAM"}.isdisjoint(add):
            # What lies in the trash or in spam cannot be in the inbox.
            remove = {*remove, "INBOX"}
        added = [label_id for label_id in dict.fromkeys(add) if label_id not in message.label_ids]
        removed = [label_id for label_id in message.label_ids if label_id in remove and label_id not in add]
        message.label_ids = [held for held in message.label_ids if held not in removed] + added
        if added:
            self._record(message, "labelsAdded", added)
        if removed:
            self._record(message, "labelsRemoved", removed)

    def newest(self, before: Key | None = None) -> Iterator[Message]:
        """The messages, newest first; with *before*, those that come after that place in this order."""
        end = len(self._order) if before is None else bisect_left(self._order, before, key=lambda entry: entry[0])
        return (entry[1] for entry in reversed(self._order[:end]))

    def joins(self, thread_id: str, raw: bytes) -> bool:
        """Whether a message belongs to that thread: it refers to one of its messages under the same subject."""
        new = Message("", "", raw, [], 0, 0)
        members = self.threads.get(thread_id, [])
        return any(
            member.message_id in new.references and member.subject == new.subject
            for member in members
            if member.message_id
        )

    def thread_of(self, raw: bytes) -> str | None:
        """The thread that an incoming message belongs to by what it refers to."""
        new = Message("", "", raw, [], 0, 0)
        found = (self._by_message_id[one] for one in new.references if one in self._by_message_id)
        return next((message.thread_id for message in found if message.subject == new.subject), None)

    def label_named(self, name: str) -> Label | None:
        """The label of that name, whatever its case."""
        wanted = name.casefold()
        return next((label for label in self.labels.values() if label.name.casefold() == wanted), None)

    def forget_label(self, label_id: str) -> None:
        """Delete a label and take it off every message."""
        del self.labels[label_id]
        for message in self.messages.values():
            self.relabel(message, (), [label_id])

    def _record(self, message: Message, kind: str, label_ids: Sequence[str] = ()) -> None:
        self.history_id += 1
        message.history_id = self.history_id
        short = {"id": message.id, "threadId": message.thread_id}
        change: dict[str, Any] = {"message": short | labelled(message)}
        if label_ids:
            change["labelIds"] = list(label_ids)
        self.history.append({"id": str(self.history_id), "messages": [short], kind: [change]})
        self.heard(self, self.history[-1])


def labelled(message: Message) -> dict[str, list[str]]:
    """The ``labelIds`` of a resource: absent when there are none."""
    # The key is left out when a message has no labels, which clients that expect a list do not survive.
    return {"labelIds": list(message.label_ids)} if message.label_ids else {}


def plain_subject(subject: str) -> str:
    """*subject* as threads compare it."""
    return " ".join(REPLY_PREFIX.sub("", decoded(subject)).casefold().split())
