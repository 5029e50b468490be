"""Posting and editing of messages."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from connector_gateway.connectors.chat import mapping
from connector_gateway.connectors.chat.client import MARKER_EVENT_TYPE, POST_REQUEST, requests
from connector_gateway.connectors.chat.models import EditedMessage, EditMessage, PostedMessage, PostMessage, mentions
from connector_gateway.connectors.chat.operations.cached_lookups import ChatCall, workspace_url
from connector_gateway.connectors.chat.operations.channels import NAME_ERRORS, with_channel_for_write
from connector_gateway.connectors.chat.operations.in_doubt_search import since_post
from connector_gateway.kit import errors
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

ROOT_SECONDS = 24 * 60 * 60.0
"""Seconds for which the first message of a thread is cached. It never changes."""


# Write steps


async def _send_post(ctx: ChatCall, intent: StepInput, mark: str) -> StepResult:
    posted = await ctx.upstream.post_message(intent["channel_id"], intent["text"], intent["thread_ts"], mark)
    ts = posted.message.ts
    ctx.cache.put(_root_of(posted.channel, ts), posted.message.thread_ts or ts, ROOT_SECONDS)
    return mapping.messages.stored_post(posted.channel, posted.message)


async def _find_post(ctx: ChatCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the message whose metadata has the marker. If the vendor split a long message, return the first part."""
    channel_id = intent["channel_id"]
    posted = [
        one
        async for one in since_post(ctx, intent, sent.earliest)
        if mapping.in_doubt_matching.has_marker(one, MARKER_EVENT_TYPE, sent.mark)
    ]
    return [Match(mapping.messages.stored_post(channel_id, one)) for one in sorted(posted, key=lambda one: one.ts)[:1]]


async def _send_edit(ctx: ChatCall, intent: StepInput, _: str) -> StepResult:
    updated = await ctx.upstream.update_message(intent["channel_id"], intent["ts"], intent["text"])
    return mapping.messages.stored_edit(intent["channel_id"], updated.ts, updated.message.edited, ctx.clock.now())


async def _find_edit(ctx: ChatCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the message if its text is the intended one."""
    message = await ctx.upstream.retrieve_message(intent["channel_id"], intent["ts"])
    stored = mapping.messages.stored_edit(intent["channel_id"], message.ts, message.edited, ctx.clock.now())
    return [Match(stored)] if mapping.in_doubt_matching.has_text(message, intent["text"]) else []


POST = WriteStep(
    "post the message",
    _send_post,
    _find_post,
    public_result=mapping.messages.public_message,
    notifies=lambda intent: [f"members of {intent['channel_id']}", *mentions(intent["text"])],
)
EDIT = WriteStep(
    "edit the message",
    _send_edit,
    _find_edit,
    changes=lambda intent: [f"message {intent['channel_id']} {intent['ts']}"],
    public_result=mapping.messages.public_message,
)


# The operations


@writes(
    "POST /messages",
    errors=[errors.NotInChannel, errors.ThreadNotFound, *NAME_ERRORS],
    targets=["channel", "thread_ts"],
    requests=TypicalRequests(
        requests("identity", "own channels", "channels", "channels") + POST_REQUEST,
        POST_REQUEST,
        "workspace's URL; channels of a name in two lists, concurrently",
    ),
    examples=[lambda one: {"channel": one["channel"], "text": "The release is out :tada:"}],
)
async def post_message(ctx: ChatCall, params: PostMessage) -> PostedMessage:
    """Send a message to a channel or a person, or a reply in a thread.

    For a correction of an earlier message, use ``chat_edit_message``.
    """
    # Looked up before the post, so that nothing can fail after it.
    workspace = await ctx.plan(partial(workspace_url, ctx))

    async def post(channel_id: str) -> StepResult:
        thread_ts = params.thread_ts
        if thread_ts is not None:
            thread_ts = await ctx.plan(partial(_find_root, ctx, channel_id, thread_ts))
        return await ctx.step(POST, {"channel_id": channel_id, "text": params.text, "thread_ts": thread_ts})

    return mapping.messages.posted_message(workspace, await with_channel_for_write(ctx, params.channel, post))


@writes(
    "PATCH /messages/{message_ts}",
    errors=[errors.MessageNotFound, errors.NotMessageAuthor, errors.NotInChannel, *NAME_ERRORS],
    targets=["channel"],
    requests=TypicalRequests(
        requests("own channels", "channels", "channels", "edits"), requests("edits"), "channels of a name"
    ),
    examples=[
        lambda one: {"channel": one["channel"], "message_ts": one["message_ts"], "text": "Standup in 10 minutes"},
        lambda one: {"channel": one["channel"], "message_ts": one["message_ts"], "text": "Standup is over"},
    ],
)
async def edit_message(ctx: ChatCall, params: EditMessage) -> EditedMessage:
    """Change the text of a message that was posted through this connection.

    Messages of others cannot be edited.

    Concurrent edits of one message through this service are applied one after the other.
    """

    async def edit(channel_id: str) -> StepResult:
        async with ctx.exclusive(f"message {channel_id} {params.message_ts}"):
            return await ctx.step(EDIT, {"channel_id": channel_id, "ts": params.message_ts, "text": params.text})

    return mapping.messages.edited_message(await with_channel_for_write(ctx, params.channel, edit))


# Threads


async def _find_root(ctx: ChatCall, channel_id: str, ts: str) -> str:
    """Return the first message of the thread of *ts*, or *ts* itself if it cannot be read."""
    find = partial(ctx.upstream.thread_root, channel_id, ts)
    with suppress(errors.OutcomeUnknown, errors.UpstreamRateLimited):
        return await ctx.cached(CachedLookup(_root_of(channel_id, ts), ROOT_SECONDS, find))
    return ts


def _root_of(channel_id: str, ts: str) -> str:
    return f"root {channel_id} {ts}"
