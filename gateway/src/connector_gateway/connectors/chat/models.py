"""Parameters and results of the chat operations."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.chat import urls
from connector_gateway.kit.identifier_urls import id_or_url, name_or_url
from connector_gateway.kit.models import (
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
"""The texts that the vendor does not escape: its own markup and existing escapes."""


MENTION = re.compile(r"<(?!!date\^)([@!][^<>]*)>?")
"""A mention of a person, a group or a whole channel in the vendor's markup, closed or not."""


def _without_mentions(text: str) -> str:
    """Return *text* with its mentions as plain text, escaped like the vendor's."""
    return MENTION.sub(lambda mention: f"&lt;{mention[1]}{'&gt;' if mention[0].endswith('>') else ''}", text)


def mentions(text: str) -> list[str]:
    """Return the mentions in *text*, in the vendor's markup."""
    return [mention[0] for mention in MENTION.finditer(text)]


def _check_editable(text: str) -> str:
    """Reject a text that is too long. The vendor counts its characters after escaping."""
    bare = UNESCAPED.sub("", text)
    escaped = len(text) + 4 * bare.count("&") + 3 * (bare.count("<") + bare.count(">"))
    if escaped > EDIT_LENGTH:
        raise PydanticCustomError(
            "escaped_length",
            "Should have at most 4,000 characters, with every '&' counted as 5 and every '<' and '>' as 4, "
            "unless they are markup",
        )
    return text


TYPES = TextPattern(
    r"^ *(public|private|im) *(, *(public|private|im) *)*$",
    "Should be one or more of public, private and im, separated by commas",
)


class PostMessage(Params):
    """A message to post."""

    channel: ChannelName
    """Channel identifier, or name with or without ``#``. A person's identifier posts to the conversation with them.
    Private channels work once the app has been invited."""

    text: Annotated[str, Field(max_length=40_000), NON_EMPTY, Mentions(_without_mentions)]
    """Body in the vendor's markup. A text of more than 4,000 characters cannot be edited."""

    thread_ts: MessageTs | None = None
    """``message_ts`` of the message to reply to, which makes this a threaded reply. A reply to a reply goes to the
    same thread."""

    idempotency_key: IdempotencyKey | None = None
    """Repeating it within 24 hours returns the original message instead of posting twice."""


class PostedMessage(Result):
    """The posted message."""

    message_ts: str
    """The message's identifier, which is unique only within its channel."""

    channel_id: str
    permalink: str
    posted_at: UtcDatetime


class EditMessage(Params):
    """The new body of a message."""

    message_ts: MessageTs
    """The message to edit, which was posted through this connection."""

    channel: ChannelName
    """Channel containing the message: its identifier, or its name with or without ``#``."""

    text: Annotated[
        str, Field(max_length=EDIT_LENGTH), NON_EMPTY, AfterValidator(_check_editable), Mentions(_without_mentions)
    ]
    """Replacement body. Characters are counted after the vendor's escaping: ``&`` as 5, ``<`` and ``>`` as 4, unless
    they are markup."""


class EditedMessage(Result):
    """The edited message."""

    message_ts: str
    channel_id: str
    edited_at: UtcDatetime


class ListChannels(Params):
    """The types of channels to list."""

    types: Annotated[str, Field(max_length=100), TYPES] = "public,private"
    """Comma-separated list of ``public``, ``private`` and ``im``."""

    limit: Annotated[int, Field(ge=1, le=200)] = 100
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class Channel(Result):
    """A channel, or a conversation with one person, that the connection can post to."""

    channel_id: str
    name: str
    """The channel's name. For a conversation with one person, that person's identifier."""

    is_private: bool
    member_count: int


class AddReaction(Params):
    """A reaction to add."""

    channel: ChannelName
    """Channel containing the message: its identifier, or its name with or without ``#``."""

    message_ts: MessageTs
    """The message to react to."""

    emoji: Annotated[
        str,
        Field(max_length=120),
        TextPattern(
            r"^:?[^\s:]+(::[^\s:]+)?:?$", "Should be the short name of an emoji, with or without colons around it"
        ),
    ]
    """Short name, with or without colons and with any skin tone, as in ``wave::skin-tone-3``."""


class AddedReaction(Result):
    """The reaction after the call."""

    message_ts: str
    emoji: str
    """Short name without colons."""

    already_present: bool
    """Whether the app had already reacted with this emoji."""


class ReadChatEvents(Params):
    """A filter for observed messages."""

    channel: ChannelName | None = None
    """Only messages of this channel. By default, messages of every watched channel."""

    since: UtcDatetime | None = None
    type: Literal["message.keyword", "message.posted"] | None = None
    """Only events of this type."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class ChatEvent(Result):
    """An observed message."""

    event_id: str
    type: str
    channel_id: str
    author: str
    """Identifier of the message's author."""

    text: str
    matched_keyword: str | None
    observed_at: UtcDatetime


class WatchSettings(Params):
    """The channels and keywords that a connection watches."""

    channels: list[ChannelName] = Field(default_factory=list, max_length=1000)
    """Channels to watch. If empty, every channel the app is in."""

    keywords: list[Annotated[str, Field(max_length=100), NON_EMPTY]] = Field(default_factory=list, max_length=100)
    """Words to search for in messages, ignoring case. If empty, every message is reported."""
