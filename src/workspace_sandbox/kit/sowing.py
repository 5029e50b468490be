"""A seed in plain words: values that know where they stand in their file, so that what is wrong can be found."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.asking import suggested

Path = tuple[str | int, ...]


class InvalidSeed(ValueError):
    """Something in a seed cannot be made; ``path`` leads to it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class SeedValue:
    """A value of a seed, and the way to it."""

    value: Any
    path: Path = ()

    def wrong(self, message: str) -> InvalidSeed:
        """What is raised where this value will not do."""
        return InvalidSeed(self.path, message)

    def object_of(self, *known: str, needs: str = "") -> "SeedValue":
        """The same, if it is an object of these fields alone and has the one it *needs*."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("An object is needed here.")
        for name in self.value:
            if name not in known:
                raise InvalidSeed((*self.path, name), f"There is no {name!r}; {suggested(str(name), known)}")
        if needs and needs not in self.value:
            raise self.wrong(f"{needs} is needed here.")
        return self

    def items(self) -> Iterator[tuple[str, "SeedValue"]]:
        """What an object of any fields has."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("An object is needed here.")
        return ((str(name), SeedValue(value, (*self.path, name))) for name, value in self.value.items())

    def each(self, name: str) -> list["SeedValue"]:
        """The items of the list *name*; none where there is none."""
        listed = self.value.get(name, [])
        if not isinstance(listed, list):
            raise InvalidSeed((*self.path, name), f"{name} must be a list.")
        return [SeedValue(value, (*self.path, name, index)) for index, value in enumerate(listed)]

    def text(self, name: str, otherwise: str = "") -> str:
        """The text *name*."""
        return SeedValue(self.value.get(name, otherwise), (*self.path, name)).as_text()

    def as_text(self) -> str:
        """The text that this is."""
        if not isinstance(self.value, str):
            raise self.wrong("A text is needed here.")
        return self.value

    def flag(self, name: str) -> bool:
        """Whether *name* is true."""
        given = self.value.get(name, False)
        if not isinstance(given, bool):
            raise InvalidSeed((*self.path, name), f"{name} must be true or false.")
        return given

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """What an application does not take while inside is wrong with this value."""
        try:
            yield
        except InvalidSeed:
            raise
        # Applications refuse in their own way, which says what is wrong and not where.
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise self.wrong(str(fault).rstrip(".") + ".") from fault
