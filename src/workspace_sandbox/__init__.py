"""The vendor stand-ins, each on ports of its own, and the address by which tests control them."""

from collections.abc import Iterator, Mapping
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


class Emulators(Mapping[str, type[Emulator]]):
    """The stand-ins by name; each is loaded when it is asked for, so that one alone starts at once."""

    def __getitem__(self, name: str) -> type[Emulator]:
        if name not in APPLICATIONS:
            raise KeyError(name)
        found: type[Emulator] = getattr(import_module(f"{__name__}.{name}"), f"{name.capitalize()}Emulator")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(APPLICATIONS)

    def __len__(self) -> int:
        return len(APPLICATIONS)


EMULATORS: Mapping[str, type[Emulator]] = Emulators()
"""All stand-ins."""

__all__ = ["APPLICATIONS", "EMULATORS", "Sandbox"]
