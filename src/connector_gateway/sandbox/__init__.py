"""The vendor stand-ins, each on ports of its own, and the address they are steered by."""

from collections.abc import Mapping

from connector_gateway.connectors.boards.emulator import BoardsEmulator
from connector_gateway.connectors.chat.emulator import ChatEmulator
from connector_gateway.connectors.crm.emulator import CrmEmulator
from connector_gateway.connectors.mail.emulator import MailEmulator
from connector_gateway.connectors.notes.emulator import NotesEmulator
from connector_gateway.connectors.tables.emulator import TablesEmulator
from connector_gateway.kit.emulation import Emulator
from connector_gateway.sandbox.sandbox import Sandbox

EMULATORS: Mapping[str, type[Emulator]] = {
    "notes": NotesEmulator,
    "boards": BoardsEmulator,
    "mail": MailEmulator,
    "chat": ChatEmulator,
    "crm": CrmEmulator,
    "tables": TablesEmulator,
}
"""The rooms' emulators, in the order of the specification and so of their ports."""

__all__ = ["EMULATORS", "Sandbox"]
