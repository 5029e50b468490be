"""What a requirement is: a clause of the contract, as something that a caller would notice."""

from dataclasses import dataclass

NOT_BUILT = "Not built yet."
"""The gap of a clause that is decided and not kept yet; the contract marks such clauses with the same words."""


@dataclass(frozen=True)
class Requirement:
    """One behaviour that is promised."""

    clause: str
    """The clause of ``docs/contract`` that promises it, such as ``notes-7``."""

    requirement_id: str
    behaviour: str
    gap: str = ""
    """Why no test shows it yet."""


def promised(*rows: tuple[str, str, str] | tuple[str, str, str, str]) -> tuple[Requirement, ...]:
    """The requirements of some rows, each a clause, an identifier, a behaviour, and the gap if there is one."""
    return tuple(Requirement(*row) for row in rows)
