"""Emulators of the vendors' APIs, each on its own ports, and the control routes for tests."""

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
"""The package of each emulator, one per line, in the order of their ports. ``notes`` contains a ``NotesEmulator``."""


class Emulators(Mapping[str, type[Emulator]]):
    """The emulators by name. Each is imported on first use, so that a single one starts quickly."""

    def __getitem__(self, name: str) -> type[Emulator]:
        if name not in APPLICATIONS:
            raise KeyError(name)
        emulator: type[Emulator] = getattr(import_module(f"{__name__}.{name}"), f"{name.capitalize()}Emulator")
        return emulator

    def __iter__(self) -> Iterator[str]:
        return iter(APPLICATIONS)

    def __len__(self) -> int:
        return len(APPLICATIONS)


EMULATORS: Mapping[str, type[Emulator]] = Emulators()
"""All emulators."""

__all__ = ["APPLICATIONS", "EMULATORS", "Sandbox"]
