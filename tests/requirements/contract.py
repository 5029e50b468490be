"""The clauses of the contract, parsed from its pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOT_BUILT = "Not built yet."
"""The end of a clause that is decided and not implemented yet."""

PROJECT = Path(__file__).parents[2]
PAGES = [path for path in sorted((PROJECT / "docs" / "contract").glob("*.md")) if path.stem != "README"]

_CLAUSE = re.compile(r"- \*\*(?P<page>[a-z]+)-(?P<number>[1-9][0-9]*)\*\* (?P<text>\S.*[.*])")


@dataclass(frozen=True)
class Clause:
    """One promise of the contract."""

    page: str
    number: int
    text: str

    @property
    def name(self) -> str:
        """The name by which the clause is cited."""
        return f"{self.page}-{self.number}"

    @property
    def withdrawn(self) -> bool:
        """Whether only its number is left."""
        return self.text.startswith("*Withdrawn")

    @property
    def built(self) -> bool:
        """Whether it is implemented."""
        return not self.text.endswith(f"*{NOT_BUILT}*")


def items(page: Path) -> Sequence[str]:
    """Return the list items of a page; its sections contain nothing else."""
    return [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(("-", "*", "  "))]


def clauses(page: Path) -> Sequence[Clause]:
    """Return the clauses of a page. Raises ``ValueError`` for an item that is not a clause."""
    return [_clause(item) for item in items(page)]


def _clause(item: str) -> Clause:
    match = _CLAUSE.fullmatch(item)
    if match is None:
        raise ValueError(f"This is not a clause: {item}")
    return Clause(match["page"], int(match["number"]), match["text"])
