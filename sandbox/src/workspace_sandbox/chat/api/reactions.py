"""``reactions.*`` and ``emoji.list``."""

from collections.abc import Iterator
from typing import Any

from workspace_sandbox.chat import object_json, pagination
from workspace_sandbox.chat.api import emoji
from workspace_sandbox.chat.api.messages import create_permalink
from workspace_sandbox.chat.data.channel import TS, Channel, Message
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

MAX_EMOJI = 50
"""Maximum number of distinct emoji on a message."""

USUAL_PAGE, MAX_PAGE_SIZE = 100, 1000

MAX_REACTIONS = 23
"""Maximum number of distinct emoji of a user on a message."""


def add(request: ApiRequest) -> dict[str, Any]:
    """``reactions.add``."""
    channel, message = item(request)
    if channel.is_archived:
        raise ApiError("is_archived")
    name = _name(request)
    bot = request.workspace.team.bot_user_id
    users = message.reactions.get(name, [])
    if bot in users:
        # Counted per user: the same emoji of another user is not a duplicate.
        raise ApiError("already_reacted")
    if not users and len(message.reactions) >= MAX_EMOJI:
        raise ApiError("too_many_emoji")
    if sum(bot in others for others in message.reactions.values()) >= MAX_REACTIONS:
        raise ApiError("too_many_reactions")
    request.workspace.react(channel, message, name, bot)
    return {}


def remove(request: ApiRequest) -> dict[str, Any]:
    """``reactions.remove``."""
    channel, message = item(request)
    name = _name(request)
    bot = request.workspace.team.bot_user_id
    if bot not in message.reactions.get(name, []):
        raise ApiError("no_reaction")
    request.workspace.unreact(channel, message, name, bot)
    return {}


def get(request: ApiRequest) -> dict[str, Any]:
    """``reactions.get``."""
    return _describe(request, *item(request))


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``reactions.list``: the reactions of a user in the bot's channels, by channel."""
    user = request.arguments.optional("user") or request.workspace.team.bot_user_id
    if user not in request.workspace.users:
        raise ApiError("user_not_found")
    items = {f"{channel.id}:{message.ts}": (channel, message) for channel, message in _reacted_to(request, user)}
    limit = request.arguments.limit(USUAL_PAGE, MAX_PAGE_SIZE)
    page, following = pagination.paginate(items, "next_item", request.arguments.optional("cursor"), limit)
    return {"items": [_describe(request, *one) for one in page]} | following


def list_emoji(_: ApiRequest) -> dict[str, Any]:
    """``emoji.list``: the custom emoji."""
    return {"emoji": emoji.CUSTOM, "cache_ts": "1735689600.000000"}


def _reacted_to(request: ApiRequest, user: str) -> Iterator[tuple[Channel, Message]]:
    for channel in filter(request.workspace.is_member, request.workspace.channels.values()):
        for message in reversed(channel.messages.values()):
            if any(user in users for users in message.reactions.values()):
                yield channel, message


def _describe(request: ApiRequest, channel: Channel, message: Message) -> dict[str, Any]:
    described = object_json.message(request.workspace, channel, message) | {
        "permalink": create_permalink(request, channel, message)
    }
    return {"type": "message", "channel": channel.id, "message": described}


def item(request: ApiRequest) -> tuple[Channel, Message]:
    """Return the message of the request."""
    channel_id = request.arguments.optional("channel")
    ts = request.arguments.optional("timestamp")
    if channel_id is None or ts is None:
        raise ApiError("no_item_specified")
    if not TS.fullmatch(ts):
        raise ApiError("bad_timestamp")
    channel = request.workspace.joined(channel_id)
    return channel, request.workspace.message(channel, ts)


def _name(request: ApiRequest) -> str:
    return require(emoji.canonical_name(request.arguments.text("name")), ApiError("invalid_name"))
