"""The tree of ARCHITECTURE.md: it names what there is, and nothing else."""

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
GATEWAY = PROJECT / "src" / "connector_gateway"
TREE = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]

UNNAMED = {"__init__", "__main__"}
"""What every package may have."""

ELSEWHERE = {"connectors", "management", "migrations"}
"""Packages whose modules are alike, so that they are named once or not at all."""


def test_every_module_is_named() -> None:
    modules = [path.relative_to(GATEWAY) for path in GATEWAY.rglob("*.py") if path.stem not in UNNAMED]
    named = set(re.findall(r"\w+", TREE))

    assert [] == [str(path) for path in modules if not ELSEWHERE & {*path.parts} and path.stem not in named]


def test_every_file_that_is_named_exists() -> None:
    there = {path.name for path in (PROJECT / "src").rglob("*.py")}

    assert [] == [name for name in re.findall(r"\w+\.py", TREE) if name not in there]
