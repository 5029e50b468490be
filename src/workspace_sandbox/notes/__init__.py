"""A stateful stand-in for Notion, on real HTTP."""

from workspace_sandbox.notes.oauth import CLIENT_ID, CLIENT_SECRET
from workspace_sandbox.notes.wire import NotesEmulator

__all__ = ["CLIENT_ID", "CLIENT_SECRET", "NotesEmulator"]
