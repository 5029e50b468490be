"""A stateful emulator of Gmail, written from its public documentation."""

from workspace_sandbox.mail.emulator import MailEmulator

__all__ = ["MailEmulator"]
