"""The vendor stand-ins, each on ports of its own, and the address by which tests control them."""

from collections.abc import Mapping
from importlib import import_module

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.sandbox import Sandbox

APPLICATIONS = (
    "notes",
    "boards",
    "mail",
    "chat",
    "crm",
    "tables",
)
"""The folder of each stand-in, one to a line, in the order of their ports; ``notes`` has a ``NotesEmulator``."""

EMULATORS: Mapping[str, type[Emulator]] = {
    name: getattr(import_module(f"{__name__}.{name}"), f"{name.capitalize()}Emulator") for name in APPLICATIONS
}
"""The stand-ins by name."""

__all__ = ["APPLICATIONS", "EMULATORS", "Sandbox"]
