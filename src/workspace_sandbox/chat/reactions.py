"""``reactions.*`` and ``emoji.list``."""

from typing import Any

from workspace_sandbox.chat import emoji, wire
from workspace_sandbox.chat.call import Call
from workspace_sandbox.chat.messages import permalink
from workspace_sandbox.chat.state import TS, Channel, Message
from workspace_sandbox.chat.wire import SlackError

MOST_EMOJI = 50
"""Distinct emoji on one message."""

MOST_REACTIONS = 23
"""Distinct emoji of one user on one message."""


def add(call: Call) -> dict[str, Any]:
    """``reactions.add``."""
    channel, message = _item(call)
    if channel.is_archived:
        raise SlackError("is_archived")
    name = _name(call)
    bot = call.workspace.team.bot_user_id
    users = message.reactions.get(name, [])
    if bot in users:
        # It counts by user: the same emoji from somebody else is no repetition.
        raise SlackError("already_reacted")
    if not users and len(message.reactions) >= MOST_EMOJI:
        raise SlackError("too_many_emoji")
    if sum(bot in others for others in message.reactions.values()) >= MOST_REACTIONS:
        raise SlackError("too_many_reactions")
    message.reactions[name] = [*users, bot]
    return {}


def remove(call: Call) -> dict[str, Any]:
    """``reactions.remove``."""
    _, message = _item(call)
    name = _name(call)
    bot = call.workspace.team.bot_user_id
    if bot not in message.reactions.get(name, []):
        raise SlackError("no_reaction")
    message.reactions[name].remove(bot)
    if not message.reactions[name]:
        del message.reactions[name]
    return {}


def get(call: Call) -> dict[str, Any]:
    """``reactions.get``."""
    channel, message = _item(call)
    shown = wire.message(call.workspace, channel, message) | {"permalink": permalink(call, channel, message)}
    return {"type": "message", "channel": channel.id, "message": shown}


def list_emoji(_: Call) -> dict[str, Any]:
    """``emoji.list``: those that people added."""
    return {"emoji": emoji.CUSTOM, "cache_ts": "1735689600.000000"}


def _item(call: Call) -> tuple[Channel, Message]:
    channel_id = call.arguments.optional("channel")
    ts = call.arguments.optional("timestamp")
    if channel_id is None or ts is None:
        raise SlackError("no_item_specified")
    if not TS.fullmatch(ts):
        raise SlackError("bad_timestamp")
    channel = call.workspace.joined(channel_id)
    return channel, call.workspace.message(channel, ts)


def _name(call: Call) -> str:
    name = emoji.canonical(call.arguments.text("name"))
    if name is None:
        raise SlackError("invalid_name")
    return name
