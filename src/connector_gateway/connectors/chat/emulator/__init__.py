"""The chat vendor's stand-in: its web methods, its consent page, and its event deliveries."""

from connector_gateway.connectors.chat.emulator.wire import ChatEmulator

__all__ = ["ChatEmulator"]
