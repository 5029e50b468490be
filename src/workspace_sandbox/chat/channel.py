"""A conversation, and what is said in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

ChannelType = Literal["public_channel", "private_channel", "im", "mpim"]

MICROSECONDS = 1_000_000
TS = re.compile(r"\d{10}\.\d{6}")


def ts_of(micros: int) -> str:
    """The message id of an instant; ids sort as text like the instants they name."""
    return f"{micros // MICROSECONDS}.{micros % MICROSECONDS:06d}"


def micros_of(ts: str) -> int:
    """The instant a message id names."""
    return int(ts.replace(".", ""))


@dataclass(slots=True)
class Message:
    """One message; ``thread_ts`` is its parent's id, none for one that stands in the channel itself."""

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
    told: dict[str, Any] = field(default_factory=dict)
    """What messages of its subtype tell beside."""

    @property
    def stands_in_channel(self) -> bool:
        """Whether the channel's own history shows it."""
        return self.thread_ts is None or self.subtype == "thread_broadcast"


@dataclass(frozen=True, slots=True)
class Pin:
    """When something was pinned, and by whom."""

    created: int
    by: str


@dataclass(slots=True)
class Channel:
    """A conversation of any type; ``name`` of an ``im`` is empty."""

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
    """The replies' ids by their parent's, oldest first."""

    pins: dict[str, Pin] = field(default_factory=dict)
    """By message."""

    last_read: str = "0000000000.000000"
    """Up to where the bot has read."""

    is_open: bool = True
    """Whether a conversation without a channel is in sight."""

    _last: int = 0

    @property
    def is_private(self) -> bool:
        """Whether only its members know of it."""
        return self.type != "public_channel"

    @property
    def event_type(self) -> str:
        """The word for its type in events."""
        return {"public_channel": "channel", "private_channel": "group"}.get(self.type, self.type)

    @property
    def family(self) -> str:
        """The word that events about the conversation itself begin with."""
        return "group" if self.is_private else "channel"

    def next_ts(self, now: float) -> str:
        """An id for a message of *now*, greater than every one before."""
        self._last = max(int(now * MICROSECONDS), self._last + 1)
        return ts_of(self._last)

    def add(self, message: Message) -> None:
        """Keep *message*, which is the newest one, and note it in its thread."""
        self._last = max(self._last, micros_of(message.ts))
        self.messages[message.ts] = message
        if message.thread_ts is not None:
            self.threads.setdefault(message.thread_ts, []).append(message.ts)

    def newest_first(self) -> Iterator[Message]:
        """What its history shows."""
        return (message for message in reversed(self.messages.values()) if message.stands_in_channel)

    def root_of(self, ts: str) -> Message | None:
        """The message that starts the thread of message *ts*."""
        message = self.messages.get(ts)
        if message is None or message.thread_ts is None:
            return message
        return self.messages.get(message.thread_ts)
