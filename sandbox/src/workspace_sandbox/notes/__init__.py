"""A stateful emulator of Notion, on real HTTP."""

from workspace_sandbox.notes.access import CLIENT_ID, CLIENT_SECRET
from workspace_sandbox.notes.emulator import NotesEmulator

__all__ = ["CLIENT_ID", "CLIENT_SECRET", "NotesEmulator"]
