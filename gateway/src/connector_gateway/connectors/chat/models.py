"""What the chat operations accept and return."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.chat import urls
from connector_gateway.kit.pasted_urls import id_or_url, name_or_url
from connector_gateway.kit.shapes import (
    NON_EMPTY,
    Cursor,
    IdempotencyKey,
    Mentions,
    Params,
    Result,
    TextPattern,
    UtcDatetime,
)

ChannelName = Annotated[
    str,
    Field(min_length=1, max_length=100),
    TextPattern(
        r"^#?[^\s#]+$", "Should be a name or an identifier in one word, in which only the first character may be #"
    ),
    name_or_url(*urls.CHANNEL),
]
"""A channel's identifier or name, or the identifier of a person."""

MessageTs = Annotated[
    str,
    TextPattern(r"^[0-9]{10}\.[0-9]{6}$", "Should be ten digits, a dot and six digits"),
    id_or_url("a message", *urls.MESSAGE),
]
"""A message's identifier: seconds and microseconds, as text."""

EDIT_LENGTH = 4_000
"""Source: docs.slack.dev/reference/methods/chat.update, read 2026-11."""

UNESCAPED = re.compile(r"<(?:@[UW]|#[CG]|!|https?:|mailto:|tel:)[^<>\n]*>|&(?:amp|lt|gt);")
"""What the vendor keeps as it is: its own markup, and what is escaped already."""


MENTION = re.compile(r"<(?!!date\^)([@!][^<>]*)>?")
"""A person, a group of people or a whole channel in the vendor's markup; closed or not, since that is its to judge."""


def _without_mentions(text: str) -> str:
    """*text* with its mentions as plain text, as the vendor escapes it."""
    return MENTION.sub(lambda mention: f"&lt;{mention[1]}{'&gt;' if mention[0].endswith('>') else ''}", text)


def _require_editable(text: str) -> str:
    """Refuse a text that is too long once the vendor has escaped it, which is when it counts."""
    bare = UNESCAPED.sub("", text)
    escaped = len(text) + 4 * bare.count("&") + 3 * (bare.count("<") + bare.count(">"))
    if escaped > EDIT_LENGTH:
        raise PydanticCustomError(
            "escaped_length",
            "Should have at most 4,000 characters, with every '&' counted as 5 and every '<' and '>' as 4 "
            "where they are not markup",
        )
    return text


TYPES = TextPattern(
    r"^ *(public|private|im) *(, *(public|private|im) *)*$",
    "Should be one or more of public, private and im, separated by commas",
)


class PostMessage(Params):
    """A message to be posted."""

    channel: ChannelName
    """Channel identifier, or name with or without ``#``; a person's identifier posts into the conversation with them.
    Private channels work once the app has been invited."""

    text: Annotated[str, Field(max_length=40_000), NON_EMPTY, Mentions(_without_mentions)]
    """Body in the application's own markup; what is longer than 4,000 characters cannot be edited as a whole."""

    thread_ts: MessageTs | None = None
    """``message_ts`` of the message to reply to, which makes this a threaded reply; a reply to a reply goes to the
    thread of its root."""

    idempotency_key: IdempotencyKey | None = None
    """Repeating it within 24 hours returns the original message instead of posting twice."""


class PostedMessage(Result):
    """The message that was posted."""

    message_ts: str
    """Identifies the message within its channel only."""

    channel_id: str
    permalink: str
    posted_at: UtcDatetime


class EditMessage(Params):
    """The new body of a message."""

    message_ts: MessageTs
    """The message to edit; it must have been posted through this connection."""

    channel: ChannelName
    """Channel holding the message, named as for posting."""

    text: Annotated[
        str, Field(max_length=EDIT_LENGTH), NON_EMPTY, AfterValidator(_require_editable), Mentions(_without_mentions)
    ]
    """Replaces the whole body. Its characters are counted as the application escapes them: ``&`` as 5, ``<`` and ``>``
    as 4, unless they are part of its markup."""


class EditedMessage(Result):
    """The message after the edit."""

    message_ts: str
    channel_id: str
    edited_at: UtcDatetime


class ListChannels(Params):
    """Which channels to list."""

    types: Annotated[str, Field(max_length=100), TYPES] = "public,private"
    """Comma-separated list of ``public``, ``private`` and ``im``."""

    limit: Annotated[int, Field(ge=1, le=200)] = 100
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class Channel(Result):
    """A channel, or a conversation with one person, that can be posted into."""

    channel_id: str
    name: str
    """Of a conversation with one person: the identifier of that person."""

    is_private: bool
    member_count: int


class AddReaction(Params):
    """A reaction to be added."""

    channel: ChannelName
    """Channel containing the message, named as for posting."""

    message_ts: MessageTs
    """The message to react to."""

    emoji: Annotated[
        str,
        Field(max_length=120),
        TextPattern(
            r"^:?[^\s:]+(::[^\s:]+)?:?$", "Should be the short name of an emoji, with or without colons around it"
        ),
    ]
    """Short name, with or without colons; a skin tone is part of it, as in ``wave::skin-tone-3``."""


class AddedReaction(Result):
    """The reaction as it now is."""

    message_ts: str
    emoji: str
    """Short name without colons."""

    already_present: bool
    """Whether the app had reacted with it before."""


class ReadChatEvents(Params):
    """Which observed messages to read."""

    channel: ChannelName | None = None
    """Only messages of this channel; otherwise of every channel that is watched."""

    since: UtcDatetime | None = None
    type: Literal["message.keyword", "message.posted"] | None = None
    """Only events of this type."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class ChatEvent(Result):
    """A message that was observed."""

    event_id: str
    type: str
    channel_id: str
    author: str
    """Identifier of who wrote it."""

    text: str
    matched_keyword: str | None
    observed_at: UtcDatetime


class WatchSettings(Params):
    """What a connection watches for."""

    channels: list[ChannelName] = Field(default_factory=list, max_length=1000)
    """Channels to watch; none means every channel the app is in."""

    keywords: list[Annotated[str, Field(max_length=100), NON_EMPTY]] = Field(default_factory=list, max_length=100)
    """Words to look for in messages, whatever their case; none means every message."""
