"""The vendor stand-ins, each on ports of its own, and the address they are steered by."""

from collections.abc import Mapping

from connector_gateway.connectors.notes.emulator import NotesEmulator
from connector_gateway.kit.emulation import Emulator
from connector_gateway.sandbox.sandbox import Sandbox

EMULATORS: Mapping[str, type[Emulator]] = {
    "notes": NotesEmulator,
}
"""The rooms' emulators, in the order of the specification and so of their ports."""

__all__ = ["EMULATORS", "Sandbox"]
