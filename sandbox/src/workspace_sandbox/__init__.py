"""Emulators of the vendors' APIs, each on its own ports, and the control routes for tests."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

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

GROUP = "workspace_sandbox.applications"
"""The entry points of emulators in installed packages, each named after its connector."""


class Emulators(Mapping[str, type[Emulator]]):
    """The emulators by name: those of this package, then those of installed packages.

    Each is imported on first use, so that a single one starts quickly.
    """

    @cached_property
    def _entry_points(self) -> Mapping[str, EntryPoint]:
        built_in = [EntryPoint(name, f"{__name__}.{name}:{name.capitalize()}Emulator", GROUP) for name in APPLICATIONS]
        installed = sorted(entry_points(group=GROUP), key=lambda one: one.name)
        return {one.name: one for one in [*built_in, *(one for one in installed if one.name not in APPLICATIONS)]}

    def __getitem__(self, name: str) -> type[Emulator]:
        emulator: type[Emulator] = self._entry_points[name].load()
        return emulator

    def __iter__(self) -> Iterator[str]:
        return iter(self._entry_points)

    def __len__(self) -> int:
        return len(self._entry_points)


EMULATORS: Mapping[str, type[Emulator]] = Emulators()
"""All emulators."""

__all__ = ["APPLICATIONS", "EMULATORS", "Sandbox"]
