"""A stateful stand-in for Trello's REST API, written from the vendor's documentation."""

from connector_gateway.connectors.boards.emulator.wire import BoardsEmulator

__all__ = ["BoardsEmulator"]
