"""Addition of reactions to messages."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Awaitable, Sequence
from contextlib import suppress

from connector_gateway.connectors.chat import mapping
from connector_gateway.connectors.chat.client import requests
from connector_gateway.connectors.chat.models import AddedReaction, AddReaction
from connector_gateway.connectors.chat.operations.cached_lookups import ChatCall, identity_lookup
from connector_gateway.connectors.chat.operations.channels import NAME_ERRORS, with_channel_for_write
from connector_gateway.kit.errors import EmojiNotFound, MessageNotFound, NotInChannel, OutcomeUnknown
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

SEARCHED_SECONDS = 300.0
"""Seconds for which a search for a reaction is cached, until the request that follows it immediately."""


async def _send_reaction(ctx: ChatCall, intent: StepInput, mark: str) -> StepResult:
    """Add the reaction. It counts as present before, unless an earlier attempt may have added it."""
    is_there = await ctx.upstream.add_reaction(intent["channel_id"], intent["ts"], intent["name"])
    return {"already_present": is_there and ctx.cache.get(_looked(mark)) is None}


async def _find_reaction(ctx: ChatCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the app's reaction. In an unreadable channel, return none, because a repeat changes nothing."""
    ctx.cache.put(_looked(sent.mark), value=True, seconds=SEARCHED_SECONDS)
    with suppress(OutcomeUnknown):
        message = await ctx.upstream.retrieve_message(intent["channel_id"], intent["ts"])
        identity = await ctx.cached(identity_lookup(ctx))
        if mapping.reactions.has_reaction(message, intent["name"], identity.user_id):
            return [Match({"already_present": False})]
    return []


def _looked(mark: str) -> str:
    return f"looked {mark}"


REACT = WriteStep(
    "add the reaction",
    _send_reaction,
    _find_reaction,
    notifies=lambda intent: [f"author of the message {intent['ts']}"],
)


@writes(
    "POST /reactions",
    errors=[MessageNotFound, EmojiNotFound, NotInChannel, *NAME_ERRORS],
    idempotent=True,
    targets=["channel", "message_ts"],
    requests=TypicalRequests(
        requests("own channels", "channels", "channels", "reactions"), requests("reactions"), "channels of a name"
    ),
    examples=[lambda one: {"channel": one["channel"], "message_ts": one["message_ts"], "emoji": "eyes"}],
)
async def add_reaction(ctx: ChatCall, params: AddReaction) -> AddedReaction:
    """Add an emoji reaction to a message. An existing reaction is left unchanged.

    To answer in words, use ``chat_post_message``.
    """
    name = mapping.reactions.emoji_name(params.emoji)

    def react(channel_id: str) -> Awaitable[StepResult]:
        return ctx.step(REACT, {"channel_id": channel_id, "ts": params.message_ts, "name": name})

    added = await with_channel_for_write(ctx, params.channel, react)
    return mapping.reactions.added_reaction(params.message_ts, name, already_present=added["already_present"])
