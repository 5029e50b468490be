"""Conversations and their messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

ChannelType = Literal["public_channel", "private_channel", "im", "mpim"]

MICROSECONDS = 1_000_000
TS = re.compile(r"\d{10}\.\d{6}")


def to_ts(micros: int) -> str:
    """Return the message ID for a time. IDs sort in chronological order."""
    return f"{micros // MICROSECONDS}.{micros % MICROSECONDS:06d}"


def from_ts(ts: str) -> int:
    """Return the time of a message ID in microseconds."""
    return int(ts.replace(".", ""))


@dataclass(slots=True)
class Message:
    """A message. ``thread_ts`` is the ID of its parent, or None for messages in the channel itself."""

    ts: str
    text: str
    user: str | None
    thread_ts: str | None = None
    subtype: str | None = None
    bot_id: str | None = None
    app_id: str | None = None
    username: str | None = None
    client_msg_id: str | None = None
    metadata: dict[str, Any] | None = None
    blocks: list[Any] = field(default_factory=list)
    attachments: list[Any] = field(default_factory=list)
    edited: dict[str, str] | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """Further fields that depend on the subtype of the message."""

    @property
    def is_in_history(self) -> bool:
        """Whether the history of the channel includes the message."""
        return self.thread_ts is None or self.subtype == "thread_broadcast"


@dataclass(frozen=True, slots=True)
class Pin:
    """The time and the user of a pin."""

    created: int
    by: str


@dataclass(slots=True)
class Channel:
    """A conversation of any type. The ``name`` of an ``im`` is empty."""

    id: str
    name: str
    type: ChannelType
    creator: str
    created: int
    members: dict[str, None] = field(default_factory=dict)
    is_archived: bool = False
    is_general: bool = False
    topic: str = ""
    purpose: str = ""
    previous_names: list[str] = field(default_factory=list)
    updated: int = 0
    messages: dict[str, Message] = field(default_factory=dict)
    threads: dict[str, list[str]] = field(default_factory=dict)
    """The IDs of replies by the ID of their parent, oldest first."""

    pins: dict[str, Pin] = field(default_factory=dict)
    """Pins by message ID."""

    last_read: str = "0000000000.000000"
    """The ID of the last message that the bot has read."""

    is_open: bool = True
    """Whether a direct conversation is open."""

    _last: int = 0

    @property
    def is_private(self) -> bool:
        """Whether only members can see the conversation."""
        return self.type != "public_channel"

    @property
    def event_type(self) -> str:
        """The type of the conversation in message events."""
        return {"public_channel": "channel", "private_channel": "group"}.get(self.type, self.type)

    @property
    def family(self) -> str:
        """The prefix of events about the conversation itself."""
        return "group" if self.is_private else "channel"

    def next_ts(self, now: float) -> str:
        """Return an ID for a message at *now*, greater than all previous ones."""
        self._last = max(int(now * MICROSECONDS), self._last + 1)
        return to_ts(self._last)

    def add(self, message: Message) -> None:
        """Store the newest *message*, and add it to its thread."""
        self._last = max(self._last, from_ts(message.ts))
        self.messages[message.ts] = message
        if message.thread_ts is not None:
            self.threads.setdefault(message.thread_ts, []).append(message.ts)

    def newest_first(self) -> Iterator[Message]:
        """Return the messages of the history, newest first."""
        return (message for message in reversed(self.messages.values()) if message.is_in_history)

    def find_thread_parent(self, ts: str) -> Message | None:
        """Return the parent message of the thread that contains message *ts*."""
        message = self.messages.get(ts)
        if message is None or message.thread_ts is None:
            return message
        return self.messages.get(message.thread_ts)
