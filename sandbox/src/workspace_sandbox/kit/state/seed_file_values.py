"""Seed values that know their path in the seed file, so that errors can be located."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.input_validation import suggest

Path = tuple[str | int, ...]


class InvalidSeed(ValueError):
    """A seed contains an invalid value at ``path``."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class SeedValue:
    """A value in a seed and its path."""

    value: Any
    path: Path = ()

    def error(self, message: str) -> InvalidSeed:
        """Return an error about this value."""
        return InvalidSeed(self.path, message)

    def check_object(self, *known: str, required: str = "") -> "SeedValue":
        """Return the value if it is an object with no fields other than *known*, and with the field *required*."""
        if not isinstance(self.value, Mapping):
            raise self.error("An object is required here.")
        for name in self.value:
            if name not in known:
                raise InvalidSeed((*self.path, name), f"Unknown field {name!r}; {suggest(str(name), known)}")
        if required and required not in self.value:
            raise self.error(f"{required} is required here.")
        return self

    def items(self) -> Iterator[tuple[str, "SeedValue"]]:
        """Return the fields of an object with arbitrary names."""
        if not isinstance(self.value, Mapping):
            raise self.error("An object is required here.")
        return ((str(name), SeedValue(value, (*self.path, name))) for name, value in self.value.items())

    def list_items(self, name: str) -> list["SeedValue"]:
        """Return the items of the list *name*, or none if it is missing."""
        listed = self.value.get(name, [])
        if not isinstance(listed, list):
            raise InvalidSeed((*self.path, name), f"{name} must be a list.")
        return [SeedValue(value, (*self.path, name, index)) for index, value in enumerate(listed)]

    def text(self, name: str, default: str = "") -> str:
        """Return the string *name*."""
        return SeedValue(self.value.get(name, default), (*self.path, name)).as_text()

    def as_text(self) -> str:
        """Return the value if it is a string."""
        if not isinstance(self.value, str):
            raise self.error("A string is required here.")
        return self.value

    def flag(self, name: str) -> bool:
        """Return the boolean *name*, False by default."""
        value = self.value.get(name, False)
        if not isinstance(value, bool):
            raise InvalidSeed((*self.path, name), f"{name} must be true or false.")
        return value

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Report errors that are raised inside the context as errors of this value."""
        try:
            yield
        except InvalidSeed:
            raise
        # Errors of emulators state the reason, but not the location in the seed.
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.error(str(error).rstrip(".") + ".") from error
