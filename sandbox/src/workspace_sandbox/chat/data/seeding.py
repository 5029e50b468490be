"""Channels with their messages, created from a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.state.seed_file_values import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.chat.emulator import ChatEmulator


def apply_seed(slack: "ChatEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the objects in *data*, and extend existing channels. Returns identifiers by name, messages in order."""
    data.check_object("channels")
    channels = [
        one.check_object("name", "is_private", "bot", "messages", required="name")
        for one in data.list_items("channels")
    ]
    return {"channels": {one.text("name"): _channel(slack, one) for one in channels}}


def _channel(slack: "ChatEmulator", entry: SeedValue) -> dict[str, Any]:
    name, private = entry.text("name"), entry.flag("is_private")
    existing = next((channel.id for channel in slack.workspace.channels.values() if channel.name == name), "")
    with entry.locate_errors():
        channel_id = existing or slack.perform({"action": "create", "name": name, "is_private": private})["channel_id"]
        if entry.flag("bot"):
            slack.perform({"action": "invite", "channel_id": channel_id})
    messages = [_message(slack, channel_id, one) for one in entry.list_items("messages")]
    return {"channel_id": channel_id, "messages": messages}


def _message(slack: "ChatEmulator", channel_id: str, entry: SeedValue) -> str:
    is_text = isinstance(entry.value, str)
    fields = {"text": entry.value} if is_text else entry.check_object("text", "user", required="text").value
    with entry.locate_errors():
        return str(slack.perform({"action": "message", "channel_id": channel_id, **fields})["ts"])
