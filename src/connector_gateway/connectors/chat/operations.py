"""The five chat operations."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from connector_gateway.connectors.chat import mapping, wire
from connector_gateway.connectors.chat.client import MARK, ChatClient, next_cursor
from connector_gateway.connectors.chat.mapping import Kept, Names
from connector_gateway.connectors.chat.models import (
    AddedReaction,
    AddReaction,
    Channel,
    ChatEvent,
    EditedMessage,
    EditMessage,
    ListChannels,
    PostedMessage,
    PostMessage,
    ReadChatEvents,
)
from connector_gateway.kit.call import Call, LookUp
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
    OutcomeUnknown,
    ThreadNotFound,
    UpstreamConflict,
    UpstreamRateLimited,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

T = TypeVar("T")
ChatCall = Call[ChatClient]

NAMES = "names"
NAMES_SECONDS = 300.0
CONVERSATION_SECONDS = 24 * 60 * 60.0
IDENTITY_SECONDS = 60 * 60.0
ROOT_SECONDS = 24 * 60 * 60.0
"""How long the first message of a thread is remembered; it never changes."""

LOOKED_SECONDS = 300.0
"""How long is known that a reaction was looked for: from the look until the request that follows it at once."""

REQUESTS_PER_PAGE = 2
"""A page that comes out short is filled up once; the vendor lets few pages be read in a minute."""

NAMING = (AmbiguousChannel, ChannelArchived, ChannelListTooLong, ChannelNotFound)
"""Refusals that may be due to names remembered from before they were changed."""


# The steps that change something


async def _send_post(call: ChatCall, intent: Intent, mark: str) -> Learned:
    posted = await call.upstream.post_message(intent["channel_id"], intent["text"], intent["thread_ts"], mark)
    ts = posted.message.ts
    call.memory.put(_root_of(posted.channel, ts), posted.message.thread_ts or ts, ROOT_SECONDS)
    return mapping.kept_post(posted.channel, posted.message)


async def _find_post(call: ChatCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The message whose metadata bears the mark; the first, should the application have split a long one."""
    channel_id = intent["channel_id"]
    posted = [one async for one in _since(call, intent, sent.earliest) if mapping.bears(one, MARK, sent.mark)]
    return [Found(mapping.kept_post(channel_id, one)) for one in sorted(posted, key=lambda one: one.ts)[:1]]


async def _send_edit(call: ChatCall, intent: Intent, _: str) -> Learned:
    updated = await call.upstream.update_message(intent["channel_id"], intent["ts"], intent["text"])
    return mapping.kept_edit(intent["channel_id"], updated.ts, updated.message.edited, call.clock.now())


async def _find_edit(call: ChatCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The message, if it says what it should."""
    message = await call.upstream.retrieve_message(intent["channel_id"], intent["ts"])
    kept = mapping.kept_edit(intent["channel_id"], message.ts, message.edited, call.clock.now())
    return [Found(kept)] if mapping.says(message, intent["text"]) else []


async def _send_reaction(call: ChatCall, intent: Intent, mark: str) -> Learned:
    """Add the reaction; what is there already counts as there before, unless an earlier sending may have added it."""
    is_there = await call.upstream.add_reaction(intent["channel_id"], intent["ts"], intent["name"])
    return {"already_present": is_there and call.memory.get(_looked(mark)) is None}


async def _find_reaction(call: ChatCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The reaction of the app, under the name that it was asked for.

    Nothing where the channel may not be read: it can be added again, since the application keeps one of a kind.
    """
    call.memory.put(_looked(sent.mark), value=True, seconds=LOOKED_SECONDS)
    with suppress(OutcomeUnknown):
        message = await call.upstream.retrieve_message(intent["channel_id"], intent["ts"])
        identity = await call.recall(_identity(call))
        if mapping.has_reaction(message, intent["name"], identity.user_id):
            return [Found({"already_present": False})]
    return []


def _looked(mark: str) -> str:
    return f"looked {mark}"


POST = Step("post the message", _send_post, _find_post, tells=mapping.told_message)
EDIT = Step("edit the message", _send_edit, _find_edit, tells=mapping.told_message)
REACT = Step("add the reaction", _send_reaction, _find_reaction)


# The operations


@writes("POST /messages", errors=[NotInChannel, ThreadNotFound, *NAMING])
async def post_message(call: ChatCall, params: PostMessage) -> PostedMessage:
    """Post a message, or a reply in a thread."""
    # Asked for beforehand, so that nothing is left to fail once the message is posted.
    workspace = await call.plan(partial(_workspace, call))

    async def post(channel_id: str) -> Learned:
        thread_ts = params.thread_ts
        if thread_ts is not None:
            thread_ts = await call.plan(partial(_root, call, channel_id, thread_ts))
        return await call.step(POST, {"channel_id": channel_id, "text": params.text, "thread_ts": thread_ts})

    return mapping.posted_message(workspace, await _write_in_channel(call, params.channel, post))


@writes(
    "PATCH /messages/{message_ts}",
    errors=[MessageNotFound, NotMessageAuthor, NotInChannel, UpstreamConflict, *NAMING],
)
async def edit_message(call: ChatCall, params: EditMessage) -> EditedMessage:
    """Edit a message that was posted through this connection.

    Edits of one message through this service happen one after the other.
    """

    async def edit(channel_id: str) -> Learned:
        async with call.exclusive(f"message {channel_id} {params.message_ts}"):
            return await call.step(EDIT, {"channel_id": channel_id, "ts": params.message_ts, "text": params.text})

    return mapping.edited_message(await _write_in_channel(call, params.channel, edit))


@reads("GET /channels")
async def list_channels(call: ChatCall, params: ListChannels) -> Page[Channel]:
    """List the channels that the connection can post into.

    A page may hold fewer than were asked for, even none, while there is a next one.
    """
    types = mapping.vendor_types(params.types)
    cursor = call.position["cursor"] if call.position else None
    items: list[Channel] = []
    for _ in range(REQUESTS_PER_PAGE):
        page, scopes = await call.upstream.list_conversations(types, params.limit - len(items), cursor)
        items += mapping.channels(page.channels, scopes)
        cursor = next_cursor(page)
        if not cursor or len(items) == params.limit:
            break
    return Page[Channel](items=items, position={"cursor": cursor} if cursor else None)


@writes("POST /reactions", errors=[MessageNotFound, EmojiNotFound, NotInChannel, *NAMING])
async def add_reaction(call: ChatCall, params: AddReaction) -> AddedReaction:
    """Add an emoji reaction to a message; one that is there already is left as it is."""
    name = mapping.emoji_name(params.emoji)

    def react(channel_id: str) -> Awaitable[Learned]:
        return call.step(REACT, {"channel_id": channel_id, "ts": params.message_ts, "name": name})

    added = await _write_in_channel(call, params.channel, react)
    return mapping.added_reaction(params.message_ts, name, already_present=added["already_present"])


@reads("GET /events", errors=NAMING)
async def read_events(call: ChatCall, params: ReadChatEvents) -> Page[ChatEvent]:
    """Read the messages that were observed on the watched channels, oldest first.

    They are kept for 30 days, on the free plan for 7.
    A header ``Warning`` tells of times of which messages may be missing.
    """

    async def read(channel_id: str | None) -> Page[ChatEvent]:
        return await call.events.page(
            call.connection_id,
            ChatEvent,
            call.position,
            limit=params.limit,
            since=params.since,
            type=params.type,
            channel=channel_id,
            confirm=call.upstream.auth_test,
        )

    async def read_known(channel_id: str) -> Page[ChatEvent]:
        if channel_id == params.channel:
            await _require_channel(call, channel_id)
        return await read(channel_id)

    return await (read(None) if params.channel is None else _in_channel(call, params.channel, read_known))


# Finding channels


async def _in_channel(call: ChatCall, named: str, use: Callable[[str], Awaitable[T]]) -> T:
    """What *use* reads of the channel; *use* is called again with new names if a remembered one may be outdated."""
    if mapping.is_channel_id(named):
        return await use(named)
    if mapping.is_user_id(named):
        return await use(await _conversation(call, named))

    async def use_one(names: Names) -> T:
        return await use(await _identified(call, mapping.named(names, named)))

    return await call.with_recalled(_names(call), use_one, outdated=NAMING)


async def _require_channel(call: ChatCall, channel_id: str) -> None:
    """Refuse a channel that there is not, or that the app may not see; what is known is asked for once in a while."""
    if call.memory.get(f"channel {channel_id}") is None:
        try:
            await call.upstream.require_channel(channel_id)
        except ConnectionScopeMissing:
            # An app that may not look at channels may still be told of their messages.
            return
        call.memory.put(f"channel {channel_id}", True, NAMES_SECONDS)


async def _write_in_channel(call: ChatCall, named: str, use: Callable[[str], Awaitable[Learned]]) -> Learned:
    """What *use* does in the channel; *use* is called again with new names if a remembered one was refused."""
    found = await call.plan(partial(_channel, call, named))
    try:
        return await use(found["channel_id"])
    except NAMING:
        if not found["remembered"]:
            raise
    found = await call.plan(partial(_channel_now, call, named))
    return await use(found["channel_id"])


async def _channel(call: ChatCall, named: str) -> Kept:
    """The channel that is meant, and whether by a name that was remembered."""
    is_identified = mapping.is_channel_id(named) or mapping.is_user_id(named)
    known: Names | None = None if is_identified else call.memory.get(NAMES)

    async def find(channel_id: str) -> Kept:
        return {"channel_id": channel_id, "remembered": known is not None and call.memory.get(NAMES) is known}

    return await _in_channel(call, named, find)


async def _channel_now(call: ChatCall, named: str) -> Kept:
    """The channel that has that name now."""
    found = mapping.named(await call.renew(_names(call)), named)
    return {"channel_id": await _identified(call, found)}


async def _identified(call: ChatCall, found: str) -> str:
    """The channel of what a name was found to mean; of a person, the conversation with them."""
    return await _conversation(call, found) if mapping.is_person(found) else found


def _names(call: ChatCall) -> LookUp[Names]:
    """The channels by name."""

    async def find() -> Names:
        channels, complete = await call.upstream.channels()
        return mapping.names(channels, complete=complete)

    return LookUp(NAMES, NAMES_SECONDS, find)


async def _conversation(call: ChatCall, user_id: str) -> str:
    """The conversation with a person; to open it twice opens it once."""

    async def find() -> str:
        return (await call.upstream.open_conversation(user_id)).id

    return await call.recall(LookUp(f"conversation {user_id}", CONVERSATION_SECONDS, find))


# Threads


async def _root(call: ChatCall, channel_id: str, ts: str) -> str:
    """The message that begins the thread of *ts*; *ts* itself where the app may not look, or not now."""

    async def find() -> str:
        return await call.upstream.thread_root(channel_id, ts)

    with suppress(OutcomeUnknown, UpstreamRateLimited):
        return await call.recall(LookUp(_root_of(channel_id, ts), ROOT_SECONDS, find))
    return ts


def _root_of(channel_id: str, ts: str) -> str:
    return f"root {channel_id} {ts}"


# Who the app is, and where


async def _workspace(call: ChatCall) -> str:
    """The address under which people open the workspace."""
    return (await call.recall(_identity(call))).url


def _identity(call: ChatCall) -> LookUp[wire.Identity]:
    async def find() -> wire.Identity:
        identity, _ = await call.upstream.auth_test()
        return identity

    return LookUp("identity", IDENTITY_SECONDS, find)


# Recognising what a write has made


def _since(call: ChatCall, intent: Intent, earliest: float) -> AsyncIterator[wire.Message]:
    """The messages that include a post, if it was posted."""
    channel_id, thread_ts = intent["channel_id"], intent["thread_ts"]
    if thread_ts is None:
        return call.upstream.history(channel_id, earliest)
    return _thread(call, channel_id, thread_ts, earliest)


async def _thread(call: ChatCall, channel_id: str, ts: str, earliest: float) -> AsyncIterator[wire.Message]:
    """The messages of the thread that message *ts* is in, be it the first one or a reply."""
    first = ts
    async for message in call.upstream.replies(channel_id, ts, earliest):
        first = message.thread_ts or first
        yield message
    if first != ts:
        async for message in call.upstream.replies(channel_id, first, earliest):
            yield message
