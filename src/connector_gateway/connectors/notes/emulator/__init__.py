"""A stateful stand-in for Notion, on real HTTP."""

from connector_gateway.connectors.notes.emulator.oauth import CLIENT_ID, CLIENT_SECRET
from connector_gateway.connectors.notes.emulator.wire import NotesEmulator

__all__ = ["CLIENT_ID", "CLIENT_SECRET", "NotesEmulator"]
