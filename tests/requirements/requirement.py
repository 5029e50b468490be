"""What a requirement is: a sentence of the specification, as something that a caller would notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    """One behaviour that is promised."""

    requirement_id: str
    section: str
    """Where it is promised: a numbered section of the interface, or a table of the decisions."""

    behaviour: str
    gap: str = ""
    """Why no test shows it yet."""


def section(name: str, *rows: tuple[str, str] | tuple[str, str, str]) -> tuple[Requirement, ...]:
    """The requirements of one section, each an identifier, a behaviour, and the gap if there is one."""
    return tuple(Requirement(row[0], name, *row[1:]) for row in rows)
