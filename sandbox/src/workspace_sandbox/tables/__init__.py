"""An emulator of Airtable: its Web API, content host, consent page and token endpoint."""

from workspace_sandbox.tables.emulator import TablesEmulator

__all__ = ["TablesEmulator"]
