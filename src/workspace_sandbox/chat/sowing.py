"""Channels with their messages, created from a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.sowing import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.chat.emulator import ChatEmulator


def sow(slack: "ChatEmulator", given: SeedValue) -> dict[str, Any]:
    """Create the objects in *given*, and extend existing channels. Returns identifiers by name, messages in order."""
    given.object_of("channels")
    channels = [one.object_of("name", "is_private", "bot", "messages", needs="name") for one in given.each("channels")]
    return {"channels": {one.text("name"): _channel(slack, one) for one in channels}}


def _channel(slack: "ChatEmulator", entry: SeedValue) -> dict[str, Any]:
    name, private = entry.text("name"), entry.flag("is_private")
    existing = next((channel.id for channel in slack.workspace.channels.values() if channel.name == name), "")
    with entry.locate_errors():
        channel_id = existing or slack.perform({"action": "create", "name": name, "is_private": private})["channel_id"]
        if entry.flag("bot"):
            slack.perform({"action": "invite", "channel_id": channel_id})
    messages = [_message(slack, channel_id, one) for one in entry.each("messages")]
    return {"channel_id": channel_id, "messages": messages}


def _message(slack: "ChatEmulator", channel_id: str, entry: SeedValue) -> str:
    is_text = isinstance(entry.value, str)
    fields = {"text": entry.value} if is_text else entry.object_of("text", "user", needs="text").value
    with entry.locate_errors():
        return str(slack.perform({"action": "message", "channel_id": channel_id, **fields})["ts"])
