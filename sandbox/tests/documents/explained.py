"""What the pages on fidelity say of findings: the table under "Against the published documents"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import workspace_sandbox
from sandbox.tests.documents.checking import Finding

HEADING = "## Against the published documents"
ROW = re.compile(r"^\| (`[^|]+`) \| (`[^|]+`) \| (`[^|]+`) \| [^|]+ \|$", re.MULTILINE)
Patterns = tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """One row: patterns, in which ``*`` stands for anything."""

    endpoints: Patterns
    places: Patterns
    rules: Patterns

    def explains(self, finding: Finding) -> bool:
        """Whether *finding* is one of those meant."""
        told = ((self.endpoints, finding.endpoint), (self.places, finding.place), (self.rules, finding.says))
        return all(any(_matches(pattern, text) for pattern in patterns) for patterns, text in told)


def page_of(application: str) -> str:
    """The page on how faithful the stand-in of *application* is."""
    return (Path(workspace_sandbox.__file__).parent / application / "FIDELITY.md").read_text(encoding="utf-8")


def read(page: str) -> Iterator[Explanation]:
    """The rows in the text of a *page*."""
    part = page.partition(HEADING)[2].partition("\n## ")[0]
    for cells in ROW.findall(part):
        yield Explanation(*(tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells))


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
