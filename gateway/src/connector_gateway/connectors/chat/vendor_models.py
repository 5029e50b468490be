"""The fields read from the vendor's responses and deliveries."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from connector_gateway.kit.vendor_model import VendorModel

Ts = Annotated[str, Meta(pattern=r"\A[0-9]{10}\.[0-9]{6}\Z")]
"""A message's identifier, which is its time: seconds and microseconds, as text."""

Minute = Annotated[int, Meta(ge=0, lt=10**10)]
"""The start of a minute, in epoch seconds."""


# Fields of every response


class ResponseStatus(VendorModel):
    """Acceptance of a request, independent of its HTTP status. Both fields may have any value after a vendor error."""

    ok: Any = None
    error: Any = None


class ResponseMetadata(VendorModel):
    """The vendor's warnings on a request."""

    messages: Sequence[str]


class ErrorWithWarnings(VendorModel):
    """An error with optional warnings."""

    response_metadata: ResponseMetadata


class WarningCodes(VendorModel):
    """The codes of warnings about a successful request."""

    warnings: Sequence[str] = ()


class WithWarnings(VendorModel):
    """A response with warnings, whose codes are in one text, separated by commas, and in a list."""

    warning: str = ""
    response_metadata: WarningCodes = WarningCodes()


class Paging(VendorModel):
    """The cursor of the next page, empty or absent after the last."""

    next_cursor: str = ""


class Listing(VendorModel):
    """A page of a list."""

    response_metadata: Paging | None = None


# The app in its workspace


class Identity(VendorModel):
    """The identity of a token."""

    url: str
    team_id: str
    user_id: str
    team: str | None = None
    bot_id: str | None = None


# Conversations


class ConversationRef(VendorModel):
    """A conversation of which only the identifier is read."""

    id: str


class Opened(VendorModel):
    """The response to opening a conversation."""

    channel: ConversationRef


class Conversation(VendorModel):
    """A channel, or a conversation with one person, which has no name.

    Lists of the app's conversations contain neither membership nor member count.
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
        """Reject a missing name or visibility, which must not be guessed."""
        if self.is_im and self.user is None:
            raise ValueError("Object missing required field `user`")
        if not self.is_im and (self.name is None or self.is_private is None):
            raise ValueError("Object missing required field `name` or `is_private`")


class Conversations(Listing, kw_only=True):
    """A page of conversations."""

    channels: Sequence[Conversation]


# Messages


class Edit(VendorModel):
    """The time of a message's last edit."""

    ts: Ts


class Metadata(VendorModel):
    """Metadata that an app attached to a message. Each app defines its own payload."""

    event_type: str = ""
    event_payload: Mapping[str, Any] = {}


class Reaction(VendorModel):
    """A reaction to a message, and some of those who reacted."""

    name: str
    users: Sequence[str]


class BaseMessage(VendorModel):
    """The author and text of a message. *subtype* distinguishes messages from channel news."""

    ts: Ts
    text: str | None = None
    subtype: str | None = None
    hidden: bool = False
    user: str | None = None
    bot_id: str | None = None


class Message(BaseMessage):
    """A message of a channel.

    Its thread may have any value that an app sent, because the vendor does not validate it.
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


class Posted(VendorModel):
    """The response to a post: its channel and the message."""

    channel: str
    message: Message


class Change(VendorModel):
    """The new state of a message. The vendor does not always include the time of the edit."""

    edited: Edit | None = None


class Updated(VendorModel):
    """The response to an edit."""

    ts: Ts
    message: Change


# Deliveries


class Authorization(VendorModel):
    """An installation of the app that can see the event, with the app's identity there."""

    user_id: str
    team_id: str | None = None
    enterprise_id: str | None = None
    is_bot: bool = False
    is_enterprise_install: bool = False


class Envelope(VendorModel):
    """A delivery. Its content depends on its type, and that of an event on the event's type."""

    type: str = ""
    challenge: str | None = None
    team_id: str | None = None
    context_team_id: str | None = None
    api_app_id: str = ""
    authorizations: Any = None
    """Decoded one by one, because an invalid one must not hide the others."""

    minute_rate_limited: Minute | None = None
    event: Mapping[str, Any] | None = None


class EventType(VendorModel):
    """The type of an event."""

    type: str = ""


class MessageEvent(BaseMessage, kw_only=True):
    """The event of a message."""

    channel: str
    channel_type: str | None = None


class MemberJoinedEvent(VendorModel):
    """The event of a user who joined a channel."""

    user: str | None = None


class RevokedTokens(VendorModel):
    """The users and bots whose tokens were revoked."""

    bot: Sequence[str] | None = None
    oauth: Sequence[str] | None = None


class TokensRevokedEvent(VendorModel):
    """The event of revoked tokens."""

    tokens: RevokedTokens | None = None
