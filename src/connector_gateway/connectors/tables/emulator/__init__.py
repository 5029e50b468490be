"""A stand-in for Airtable: its Web API, its content host, its consent and token pages."""

from connector_gateway.connectors.tables.emulator.wire import TablesEmulator

__all__ = ["TablesEmulator"]
