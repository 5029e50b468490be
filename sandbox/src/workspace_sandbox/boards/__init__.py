"""The emulator of Trello's REST API, written from the vendor's documentation."""

from workspace_sandbox.boards.emulator import BoardsEmulator

__all__ = ["BoardsEmulator"]
