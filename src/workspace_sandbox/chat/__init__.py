"""The chat vendor's stand-in: its web methods, its consent page, and its event deliveries."""

from workspace_sandbox.chat.emulator import ChatEmulator

__all__ = ["ChatEmulator"]
