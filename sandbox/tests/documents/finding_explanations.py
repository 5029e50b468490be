"""Explanations of findings: the table "Against the published documents" in FIDELITY.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import workspace_sandbox
from sandbox.tests.documents.comparison import Finding

HEADING = "## Against the published documents"
ROW = re.compile(r"^\| (`[^|]+`) \| (`[^|]+`) \| (`[^|]+`) \| [^|]+ \|$", re.MULTILINE)
Patterns = tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A row of patterns, in which ``*`` matches anything."""

    endpoints: Patterns
    locations: Patterns
    rules: Patterns

    def explains(self, finding: Finding) -> bool:
        """Return True if the row matches *finding*."""
        columns = ((self.endpoints, finding.endpoint), (self.locations, finding.location), (self.rules, finding.rule))
        return all(any(_matches(pattern, text) for pattern in patterns) for patterns, text in columns)


def fidelity_page(application: str) -> str:
    """Return the text of FIDELITY.md of *application*."""
    return (Path(workspace_sandbox.__file__).parent / application / "FIDELITY.md").read_text(encoding="utf-8")


def read(page: str) -> Iterator[Explanation]:
    """Yield the rows of the table in *page*."""
    part = page.partition(HEADING)[2].partition("\n## ")[0]
    for cells in ROW.findall(part):
        yield Explanation(*(tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells))


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
