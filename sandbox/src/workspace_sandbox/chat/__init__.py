"""The emulator of Slack: its Web API, its consent page and its event deliveries."""

from workspace_sandbox.chat.emulator import ChatEmulator

__all__ = ["ChatEmulator"]
