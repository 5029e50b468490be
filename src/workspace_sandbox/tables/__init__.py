"""A stand-in for Airtable: its Web API, its content host, its consent and token pages."""

from workspace_sandbox.tables.emulator import TablesEmulator

__all__ = ["TablesEmulator"]
