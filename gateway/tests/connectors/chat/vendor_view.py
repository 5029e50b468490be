"""A view of the emulator's workspace."""

from collections.abc import Sequence

from harness.gateway_server import Gateway
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.chat.data.channel import Message
from workspace_sandbox.chat.data.state import Workspace

GENERAL = "C04GENERAL1"
RANDOM = "C04RANDOM01"
EMPTY = "C04EMPTY001"
PRIVATE = "C04PRIVATE1"
FOREIGN = "C04FOREIGN1"
ARCHIVED = "C04ARCHIVE1"
UNJOINED = "C04FINANCE1"
OURS = "1759000100.000100"
THEIRS = "1759000200.000200"
PERSON = "U04NW000002"
EVERY_SCOPE = str(ChatEmulator.knobs["scopes"])


def workspace(gateway: Gateway) -> Workspace:
    emulator = gateway.sandbox.emulators["chat"]
    assert isinstance(emulator, ChatEmulator)
    return emulator.workspace


def find_channels(gateway: Gateway, text: str) -> Sequence[str]:
    """Return the channel of each message with *text*."""
    return [
        channel.id
        for channel in workspace(gateway).channels.values()
        for message in channel.messages.values()
        if message.text == text
    ]


def message(gateway: Gateway, channel_id: str, ts: str) -> Message:
    return workspace(gateway).channels[channel_id].messages[ts]


def count_requests(gateway: Gateway, method: str) -> int:
    """Return how often a method of the vendor was called."""
    return [path for _, path, _ in gateway.journal("chat")].count(f"/api/{method}")


def get_scopes_without(*scopes: str) -> str:
    """Return every scope except these, in the form of the emulator's knob."""
    return ",".join(scope for scope in EVERY_SCOPE.split(",") if scope not in scopes)


def create_connection_without_cache(gateway: Gateway) -> str:
    """Create a connection of the same account with an empty cache."""
    credentials = gateway.sandbox.emulators["chat"].credentials()
    created = gateway.run(gateway.app.connections.create(gateway.workspace_id, "chat", credentials))
    return str(created["connection_id"])
