"""A stateful stand-in for Gmail, written from its public documentation."""

from workspace_sandbox.mail.emulator import MailEmulator

__all__ = ["MailEmulator"]
