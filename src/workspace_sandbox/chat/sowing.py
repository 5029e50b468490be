"""Channels with their messages, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.chat import acts
from workspace_sandbox.chat.state import Workspace
from workspace_sandbox.kit.sowing import Plot


def sow(workspace: Workspace, plot: Plot) -> dict[str, Any]:
    """Make what *plot* tells; a channel that there is goes on. Identifiers by name, messages in their order."""
    plot.object_of("channels")
    channels = [one.object_of("name", "is_private", "bot", "messages", needs="name") for one in plot.each("channels")]
    return {"channels": {one.text("name"): _channel(workspace, one) for one in channels}}


def _channel(workspace: Workspace, plot: Plot) -> dict[str, Any]:
    name = plot.text("name")
    known = next((channel.id for channel in workspace.channels.values() if channel.name == name), "")
    with plot.doing():
        channel_id = known or _act(workspace, "create", name=name, is_private=plot.flag("is_private"))["channel_id"]
        if plot.flag("bot"):
            _act(workspace, "invite", channel_id=channel_id)
    return {
        "channel_id": channel_id,
        "messages": [_message(workspace, channel_id, one) for one in plot.each("messages")],
    }


def _message(workspace: Workspace, channel_id: str, plot: Plot) -> str:
    given = {"text": plot.value} if isinstance(plot.value, str) else plot.object_of("text", "user", needs="text").value
    with plot.doing():
        return str(_act(workspace, "message", channel_id=channel_id, **given)["ts"])


def _act(workspace: Workspace, action: str, **fields: Any) -> dict[str, Any]:
    return acts.perform(workspace, {"action": action, **fields})
