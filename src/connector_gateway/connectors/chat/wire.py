"""What the vendor answers and delivers: the fields that are read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from connector_gateway.kit.wire import WireModel

Ts = Annotated[str, Meta(pattern=r"\A[0-9]{10}\.[0-9]{6}\Z")]
"""A message's identifier, and the instant it was written at: seconds and microseconds, as text."""

Minute = Annotated[int, Meta(ge=0, lt=10**10)]
"""The beginning of a minute, in seconds since the epoch."""


# What every answer has


class ResponseStatus(WireModel):
    """Whether a request was accepted, which the status does not tell; both may be anything where the vendor errs."""

    ok: Any = None
    error: Any = None


class ResponseMetadata(WireModel):
    """What the vendor remarks on a request."""

    messages: Sequence[str]


class Remarked(WireModel):
    """A refusal with remarks, where it has any."""

    response_metadata: ResponseMetadata


class Paging(WireModel):
    """Where the next page of a list begins; empty or absent after the last."""

    next_cursor: str = ""


class Listing(WireModel):
    """A page of a list."""

    response_metadata: Paging | None = None


# The application in its workspace


class Identity(WireModel):
    """Whose a token is, and where."""

    url: str
    team_id: str
    user_id: str
    team: str | None = None
    bot_id: str | None = None


# Conversations


class Place(WireModel):
    """A conversation of which no more is read than its identifier."""

    id: str


class Opened(WireModel):
    """The answer to opening a conversation."""

    channel: Place


class Conversation(WireModel):
    """A channel, or a conversation with one person, who stands in place of a name.

    Lists of what the app is in tell neither membership nor the number of members.
    """

    id: str
    name: str | None = None
    user: str | None = None
    is_im: bool = False
    is_private: bool | None = None
    is_member: bool = False
    is_archived: bool = False
    is_user_deleted: bool = False
    num_members: int | None = None

    def __post_init__(self) -> None:
        """Refuse what must not be guessed: how it is called, and whether everybody may read it."""
        if self.is_im and self.user is None:
            raise ValueError("Object missing required field `user`")
        if not self.is_im and (self.name is None or self.is_private is None):
            raise ValueError("Object missing required field `name` or `is_private`")


class Conversations(Listing, kw_only=True):
    """A page of conversations."""

    channels: Sequence[Conversation]


# Messages


class Edit(WireModel):
    """When a message was edited last."""

    ts: Ts


class Metadata(WireModel):
    """What an app has noted with a message; the payload is of that app's own making."""

    event_type: str = ""
    event_payload: Mapping[str, Any] = {}


class Reaction(WireModel):
    """A reaction to a message, and some of those who reacted."""

    name: str
    users: Sequence[str]


class BaseMessage(WireModel):
    """What tells whether somebody wrote something, and what: *subtype* tells messages from news of the channel."""

    ts: Ts
    text: str | None = None
    subtype: str | None = None
    hidden: bool = False
    user: str | None = None
    bot_id: str | None = None


class Message(BaseMessage):
    """A message of a channel.

    Its thread may be named by anything that some app once sent, since the vendor does not check that.
    """

    thread_ts: str | None = None
    reply_count: int = 0
    latest_reply: str | None = None
    edited: Edit | None = None
    metadata: Metadata | None = None
    reactions: Sequence[Reaction] = ()


class Messages(Listing, kw_only=True):
    """A page of messages."""

    messages: Sequence[Message]


class Posted(WireModel):
    """The answer to a post: the channel it went to, and the message."""

    channel: str
    message: Message


class Change(WireModel):
    """The new state of a message; the vendor does not always say when it was edited."""

    edited: Edit | None = None


class Updated(WireModel):
    """The answer to an edit."""

    ts: Ts
    message: Change


# Deliveries


class Authorization(WireModel):
    """An installation of the app that may see the event, and as whom the app is there."""

    user_id: str
    team_id: str | None = None
    enterprise_id: str | None = None
    is_bot: bool = False
    is_enterprise_install: bool = False


class Envelope(WireModel):
    """A delivery; what it carries depends on its type, and that of an event on the event's own type."""

    type: str = ""
    challenge: str | None = None
    team_id: str | None = None
    context_team_id: str | None = None
    api_app_id: str = ""
    authorizations: Any = None
    """Read one by one: an odd one must not hide the others."""

    minute_rate_limited: Minute | None = None
    event: Mapping[str, Any] | None = None


class Kind(WireModel):
    """The type of an event."""

    type: str = ""


class MessageEvent(BaseMessage, kw_only=True):
    """The event of a message."""

    channel: str
    channel_type: str | None = None


class Joined(WireModel):
    """The event of somebody who entered a channel."""

    user: str | None = None


class Tokens(WireModel):
    """The users and bots whose tokens were withdrawn."""

    bot: Sequence[str] | None = None
    oauth: Sequence[str] | None = None


class Revoked(WireModel):
    """The event of tokens that were withdrawn."""

    tokens: Tokens | None = None
