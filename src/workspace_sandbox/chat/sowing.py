"""Channels with their messages, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.chat import acts
from workspace_sandbox.chat.state import Workspace
from workspace_sandbox.kit.sowing import SeedValue


def sow(workspace: Workspace, given: SeedValue) -> dict[str, Any]:
    """Make what *given* tells; a channel that there is goes on. Identifiers by name, messages in their order."""
    given.object_of("channels")
    channels = [one.object_of("name", "is_private", "bot", "messages", needs="name") for one in given.each("channels")]
    return {"channels": {one.text("name"): _channel(workspace, one) for one in channels}}


def _channel(workspace: Workspace, given: SeedValue) -> dict[str, Any]:
    name = given.text("name")
    known = next((channel.id for channel in workspace.channels.values() if channel.name == name), "")
    with given.doing():
        channel_id = known or _act(workspace, "create", name=name, is_private=given.flag("is_private"))["channel_id"]
        if given.flag("bot"):
            _act(workspace, "invite", channel_id=channel_id)
    return {
        "channel_id": channel_id,
        "messages": [_message(workspace, channel_id, one) for one in given.each("messages")],
    }


def _message(workspace: Workspace, channel_id: str, given: SeedValue) -> str:
    is_text = isinstance(given.value, str)
    fields = {"text": given.value} if is_text else given.object_of("text", "user", needs="text").value
    with given.doing():
        return str(_act(workspace, "message", channel_id=channel_id, **fields)["ts"])


def _act(workspace: Workspace, action: str, **fields: Any) -> dict[str, Any]:
    return acts.perform(workspace, {"action": action, **fields})
