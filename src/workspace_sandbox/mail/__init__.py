"""A stateful stand-in for Gmail, written from its public documentation."""

from workspace_sandbox.mail.wire import MailEmulator

__all__ = ["MailEmulator"]
