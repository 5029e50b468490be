"""A stateful stand-in for Gmail, written from its public documentation."""

from connector_gateway.connectors.mail.emulator.wire import MailEmulator

__all__ = ["MailEmulator"]
