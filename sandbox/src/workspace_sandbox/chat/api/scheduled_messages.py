"""``chat.scheduleMessage`` and related methods."""

from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.chat import pagination
from workspace_sandbox.chat.api.messages import find_destination, parse_content, parse_thread
from workspace_sandbox.chat.data.state import Workspace
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest

FARTHEST_SECONDS = 120 * 86_400
LAST_SECONDS = 60
"""Seconds before it is posted in which a scheduled message cannot be deleted."""

USUAL_PAGE = 100
MAX_PAGE_SIZE = 1000


@dataclass(frozen=True, slots=True)
class ScheduledMessage:
    """A scheduled message of the bot."""

    id: str
    channel_id: str
    post_at: int
    created_at: int
    text: str
    fields: dict[str, Any] = field(default_factory=dict)


def schedule(request: ApiRequest) -> dict[str, Any]:
    """``chat.scheduleMessage``."""
    channel = find_destination(request, request.arguments.text("channel"))
    post_at = _time(request)
    content = parse_content(request)
    text = content.pop("text", "")
    workspace = request.workspace
    identifier = f"Q{request.random.randrange(10**9, 10**10)}"
    fields = content | parse_thread(request, channel)
    waiting = ScheduledMessage(identifier, channel.id, post_at, int(workspace.now()), text, fields)
    workspace.scheduled[identifier] = waiting
    request.schedule_posting(post_at)
    team = workspace.team
    by = {"user": team.bot_user_id, "bot_id": team.bot_id, "team": team.id}
    message_json = {"type": "delayed_message", "text": text} | by
    response = {"channel": channel.id, "scheduled_message_id": identifier, "post_at": post_at}
    return response | {
        "message": message_json | {name: content[name] for name in ("blocks", "attachments") if name in content}
    }


def delete(request: ApiRequest) -> dict[str, Any]:
    """``chat.deleteScheduledMessage``, which is not possible in the last minute before the message is posted."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    waiting = request.workspace.scheduled.get(request.arguments.text("scheduled_message_id"))
    is_late = waiting is not None and waiting.post_at - request.workspace.now() < LAST_SECONDS
    if waiting is None or is_late or waiting.channel_id != channel.id:
        raise ApiError("invalid_scheduled_message_id")
    del request.workspace.scheduled[waiting.id]
    return {}


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``chat.scheduledMessages.list``: the pending messages, earliest first."""
    channel_id = request.arguments.optional("channel")
    if channel_id and channel_id not in request.workspace.channels:
        raise ApiError("invalid_channel")
    soonest = sorted(request.workspace.scheduled.values(), key=lambda one: (one.post_at, one.id))
    waiting = {one.id: one for one in soonest if one.channel_id == (channel_id or one.channel_id)}
    limit = request.arguments.limit(USUAL_PAGE, MAX_PAGE_SIZE)
    page, following = pagination.paginate(waiting, "next_ts", request.arguments.optional("cursor"), limit)
    return {"scheduled_messages": [_describe(one) for one in page]} | following


def post_due(workspace: Workspace) -> None:
    """Post all due messages in order. Messages without a channel are dropped."""
    now = workspace.now()
    due = sorted((one for one in workspace.scheduled.values() if one.post_at <= now), key=lambda one: one.post_at)
    for one in due:
        del workspace.scheduled[one.id]
        channel = workspace.channels[one.channel_id]
        if not channel.is_archived:
            workspace.post_as_bot(channel, one.text, **one.fields)


def _time(request: ApiRequest) -> int:
    value = str(request.arguments.raw("post_at") or "")
    if not value.isdecimal():
        raise ApiError("invalid_time")
    post_at, now = int(value), request.workspace.now()
    if post_at <= now:
        raise ApiError("time_in_past")
    if post_at > now + FARTHEST_SECONDS:
        raise ApiError("time_too_far")
    return post_at


def _describe(waiting: ScheduledMessage) -> dict[str, Any]:
    return {
        "id": waiting.id,
        "channel_id": waiting.channel_id,
        "post_at": waiting.post_at,
        "date_created": waiting.created_at,
        "text": waiting.text,
    }
