"""``pins.*``: pinned messages of channels."""

from typing import Any

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.api.messages import create_permalink
from workspace_sandbox.chat.api.reactions import item
from workspace_sandbox.chat.data.channel import Channel, Message, Pin
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest

MAX_PINS = 100


def add(request: ApiRequest) -> dict[str, Any]:
    """``pins.add``."""
    channel, message = item(request)
    if message.ts in channel.pins:
        raise ApiError("already_pinned")
    if len(channel.pins) >= MAX_PINS:
        raise ApiError("not_pinnable")
    channel.pins[message.ts] = Pin(int(request.workspace.now()), request.workspace.team.bot_user_id)
    _emit(request, "pin_added", channel, message)
    return {}


def remove(request: ApiRequest) -> dict[str, Any]:
    """``pins.remove``."""
    channel, message = item(request)
    if message.ts not in channel.pins:
        raise ApiError("not_pinned")
    del channel.pins[message.ts]
    _emit(request, "pin_removed", channel, message)
    return {}


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``pins.list``: the pins of a channel, newest first."""
    channel = request.workspace.joined(request.arguments.text("channel"))
    newest = sorted(channel.pins.items(), key=lambda pinned: (pinned[1].created, pinned[0]), reverse=True)
    return {"items": [_describe(request, channel, channel.messages[ts], pin) for ts, pin in newest]}


def _describe(request: ApiRequest, channel: Channel, message: Message, pin: Pin) -> dict[str, Any]:
    item_json = object_json.message(request.workspace, channel, message) | {
        "permalink": create_permalink(request, channel, message)
    }
    base = {"type": "message", "created": pin.created, "created_by": pin.by, "channel": channel.id}
    return base | {"message": item_json}


def _emit(request: ApiRequest, event_type: str, channel: Channel, message: Message) -> None:
    item_json = {
        "type": "message",
        "created": int(request.workspace.now()),
        "created_by": request.workspace.team.bot_user_id,
    }
    item = item_json | {"channel": channel.id, "message": object_json.message(request.workspace, channel, message)}
    event = {"type": event_type, "user": request.workspace.team.bot_user_id, "channel_id": channel.id, "item": item}
    extra: dict[str, Any] = {"item_user": message.user, "pin_count": len(channel.pins), "pinned_info": {}}
    request.workspace.emit_event(
        channel, event | extra | ({"has_pins": bool(channel.pins)} if event_type == "pin_removed" else {})
    )
