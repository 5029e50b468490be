"""The five chat operations."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from connector_gateway.connectors.chat import mapping
from connector_gateway.connectors.chat.client import MARK, ChatClient, next_cursor
from connector_gateway.connectors.chat.mapping import Names, Raw
from connector_gateway.connectors.chat.models import (
    AddedReaction,
    AddReaction,
    Channel,
    EditedMessage,
    EditMessage,
    Event,
    ListChannels,
    PostedMessage,
    PostMessage,
    ReadEvents,
)
from connector_gateway.kit.call import Attempt, Call, LookUp
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    AmbiguousChannel,
    ChannelArchived,
    ChannelListTooLong,
    ChannelNotFound,
    ConnectionScopeMissing,
    EmojiNotFound,
    MessageNotFound,
    NotInChannel,
    NotMessageAuthor,
    ThreadNotFound,
    UpstreamConflict,
)
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page

T = TypeVar("T")
ChatCall = Call[ChatClient]

NAMES_SECONDS = 300.0
CONVERSATION_SECONDS = 24 * 60 * 60.0
WORKSPACE_SECONDS = 60 * 60.0
CLOCK_SKEW_SECONDS = 120.0
"""How far the vendor's clock may be from ours when a message of ours is looked for."""

SETTLE_SECONDS = 60.0
"""How long after it came into doubt a post may still appear."""

REQUESTS_PER_PAGE = 2
"""A page that comes out short is filled up once; the vendor lets few pages be read in a minute."""

NAMING = (AmbiguousChannel, ChannelArchived, ChannelListTooLong, ChannelNotFound)
"""Refusals that may be due to names remembered from before they were changed."""


async def recover_posted_message(
    call: ChatCall,
    params: PostMessage,  # noqa: ARG001  # what was tried is in the attempt
    attempt: Attempt,
) -> PostedMessage | None:
    """The message that an earlier attempt posted, found by its marker; None if it posted none."""
    marker, channel_id = attempt.progress.get("marker"), attempt.progress.get("channel_id")
    if marker is None or channel_id is None:
        return None
    posted = [raw async for raw in _candidates(call, attempt) if mapping.bears(raw, MARK, marker)]
    if not posted:
        return None
    first = min(posted, key=lambda raw: str(raw["ts"]))
    return mapping.posted_message(await _workspace(call), channel_id, first)


@writes("POST /messages", errors=[NotInChannel, ThreadNotFound, *NAMING], recover=recover_posted_message)
async def post_message(call: ChatCall, params: PostMessage) -> PostedMessage:
    """Post a message, or a reply in a thread."""
    workspace = await _workspace(call)

    async def post(channel_id: str) -> PostedMessage:
        marker = ulid()
        await call.notebook.intend(marker=marker, channel_id=channel_id, thread_ts=params.thread_ts)
        raw = await call.upstream.post_message(channel_id, params.text, params.thread_ts, marker)
        return mapping.posted_message(workspace, raw["channel"], raw["message"])

    return await _in_channel(call, params.channel, post)


async def recover_edited_message(
    call: ChatCall,
    params: EditMessage,
    attempt: Attempt,  # noqa: ARG001  # the message itself tells
) -> EditedMessage | None:
    """The message, if it already says what it should; otherwise None."""

    async def look(channel_id: str) -> EditedMessage | None:
        raw = await call.upstream.retrieve_message(channel_id, params.message_ts)
        return _edited(call, channel_id, raw) if mapping.says(raw, params.text) else None

    return await _in_channel(call, params.channel, look)


@writes(
    "PATCH /messages/{message_ts}",
    errors=[MessageNotFound, NotMessageAuthor, NotInChannel, UpstreamConflict, *NAMING],
    recover=recover_edited_message,
)
async def edit_message(call: ChatCall, params: EditMessage) -> EditedMessage:
    """Edit a message that was posted through this connection.

    Edits of one message through this service happen one after the other.
    """

    async def edit(channel_id: str) -> EditedMessage:
        async with call.exclusive(f"message {channel_id} {params.message_ts}"):
            raw = await call.upstream.update_message(channel_id, params.message_ts, params.text)
        return _edited(call, channel_id, {**raw["message"], "ts": raw["ts"]})

    return await _in_channel(call, params.channel, edit)


@reads("GET /channels")
async def list_channels(call: ChatCall, params: ListChannels) -> Page[Channel]:
    """List the channels that the connection can post into.

    A page may hold fewer than were asked for, even none, while there is a next one.
    """
    types = mapping.vendor_types(params.types)
    cursor = call.position["cursor"] if call.position else None
    items: list[Channel] = []
    for _ in range(REQUESTS_PER_PAGE):
        raw, scopes = await call.upstream.list_conversations(types, params.limit - len(items), cursor)
        items += mapping.channels(raw["channels"], scopes)
        cursor = next_cursor(raw)
        if not cursor or len(items) == params.limit:
            break
    return Page[Channel](items=items, position={"cursor": cursor} if cursor else None)


async def recover_added_reaction(
    call: ChatCall,
    params: AddReaction,
    attempt: Attempt,  # noqa: ARG001  # adding again tells
) -> AddedReaction:
    """The reaction, added again: the application keeps one of a kind, whichever attempt it is from."""
    name = mapping.emoji_name(params.emoji)
    await _react(call, params, name)
    return mapping.added_reaction(params.message_ts, name, already_present=False)


@writes(
    "POST /reactions",
    errors=[MessageNotFound, EmojiNotFound, NotInChannel, *NAMING],
    recover=recover_added_reaction,
)
async def add_reaction(call: ChatCall, params: AddReaction) -> AddedReaction:
    """Add an emoji reaction to a message; one that is there already is left as it is."""
    name = mapping.emoji_name(params.emoji)
    already_present = await _react(call, params, name)
    return mapping.added_reaction(params.message_ts, name, already_present=already_present)


@reads("GET /events", errors=NAMING)
async def read_events(call: ChatCall, params: ReadEvents) -> Page[Event]:
    """Read the messages that were observed on the watched channels, oldest first.

    They are kept for 30 days, on the free plan for 7.
    A header ``Warning`` tells of times of which messages may be missing.
    """

    async def read(channel_id: str | None) -> Page[Event]:
        return await call.events.page(
            call.connection_id,
            Event,
            call.position,
            limit=params.limit,
            since=params.since,
            type=params.type,
            channel=channel_id,
            confirm=call.upstream.auth_test,
        )

    if params.channel is None:
        return await read(None)
    if mapping.is_channel_id(params.channel):
        await _require_channel(call, params.channel)
    return await _in_channel(call, params.channel, read)


# Finding channels


async def _in_channel(call: ChatCall, named: str, use: Callable[[str], Awaitable[T]]) -> T:
    """What *use* makes of the channel; once more with fresh names if a remembered one may be outdated."""
    if mapping.is_channel_id(named):
        return await use(named)
    if mapping.is_user_id(named):
        return await use(await _conversation(call, named))

    async def use_one(names: Names) -> T:
        return await use(mapping.named(names, named))

    return await call.with_recalled(_names(call), use_one, outdated=NAMING)


async def _require_channel(call: ChatCall, channel_id: str) -> None:
    """Refuse a channel that there is not, or that the app may not see; what is known is asked for once in a while."""
    if call.memory.get(f"channel {channel_id}") is None:
        try:
            await call.upstream.channel_info(channel_id)
        except ConnectionScopeMissing:
            # An app that may not look at channels may still be told of their messages.
            return
        call.memory.put(f"channel {channel_id}", True, NAMES_SECONDS)


def _names(call: ChatCall) -> LookUp[Names]:
    """The channels by name."""

    async def find() -> Names:
        channels, complete = await call.upstream.channels()
        return mapping.names(channels, complete=complete)

    return LookUp("names", NAMES_SECONDS, find)


async def _conversation(call: ChatCall, user_id: str) -> str:
    """The conversation with a person."""

    async def find() -> str:
        return str((await call.upstream.open_conversation(user_id))["channel"]["id"])

    return await call.recall(LookUp(f"conversation {user_id}", CONVERSATION_SECONDS, find))


# Messages


async def _workspace(call: ChatCall) -> str:
    """The address under which people open the workspace; asked for before a post, so that nothing is left to fail."""

    async def find() -> str:
        raw, _ = await call.upstream.auth_test()
        return str(raw["url"])

    return await call.recall(LookUp("workspace", WORKSPACE_SECONDS, find))


def _candidates(call: ChatCall, attempt: Attempt) -> AsyncIterator[Raw]:
    """The messages among which those of *attempt* are, if it posted any."""
    channel_id, thread_ts = attempt.progress["channel_id"], attempt.progress["thread_ts"]
    oldest = attempt.started_at - CLOCK_SKEW_SECONDS
    latest = attempt.doubted_at + SETTLE_SECONDS + CLOCK_SKEW_SECONDS
    if thread_ts is None:
        return call.upstream.history(channel_id, oldest, latest)
    return _thread(call, channel_id, thread_ts, oldest, latest)


async def _thread(call: ChatCall, channel_id: str, ts: str, oldest: float, latest: float) -> AsyncIterator[Raw]:
    """The messages of the thread that message *ts* is in, be it the first one or a reply."""
    first = ts
    async for raw in call.upstream.replies(channel_id, ts, oldest, latest):
        first = raw.get("thread_ts", first)
        yield raw
    if first != ts:
        async for raw in call.upstream.replies(channel_id, first, oldest, latest):
            yield raw


def _edited(call: ChatCall, channel_id: str, raw: Raw) -> EditedMessage:
    return mapping.edited_message(channel_id, raw, instant(call.clock.now()))


# Reactions


async def _react(call: ChatCall, params: AddReaction, name: str) -> bool:
    """Add the reaction; whether it was there before."""

    async def react(channel_id: str) -> bool:
        return await call.upstream.add_reaction(channel_id, params.message_ts, name)

    return await _in_channel(call, params.channel, react)
