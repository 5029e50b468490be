"""The vendor stand-ins, each on ports of its own, and the address they are steered by."""

from collections.abc import Mapping

from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

EMULATORS: Mapping[str, type[Emulator]] = {
    "notes": NotesEmulator,
    "boards": BoardsEmulator,
    "mail": MailEmulator,
    "chat": ChatEmulator,
    "crm": CrmEmulator,
    "tables": TablesEmulator,
}
"""The rooms' emulators, in the order of the contract and so of their ports."""

__all__ = ["EMULATORS", "Sandbox"]
