"""The tree of ARCHITECTURE.md lists every package of the gateway, and nothing that does not exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from connector_gateway.connectors import CONNECTOR_NAMES

PROJECT = Path(__file__).parent.parent
GATEWAY = PROJECT / "gateway" / "src" / "connector_gateway"
TREE = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]

INSIDE_CONNECTORS = GATEWAY / "connectors"
"""Connectors have the same packages, so that the tree lists their modules once."""

NO_PACKAGES = {"migrations", "template"}
"""Folders of files that are not part of the gateway's own packages."""

MAX_MODULES = 18
"""Modules of a folder, beyond which nobody reads the list."""


def packages() -> Iterator[Path]:
    for path in GATEWAY.rglob("__init__.py"):
        folder = path.parent
        if folder != GATEWAY and INSIDE_CONNECTORS not in folder.parents and not NO_PACKAGES & set(folder.parts):
            yield folder


def listed() -> set[str]:
    """Return the paths of folders in the tree, by their indentation."""
    paths, parents = set(), [""]
    for line in TREE.split("sandbox/src/workspace_sandbox")[0].splitlines():
        entry = re.match(r"((?:  )+)([a-z_]+)/\s", line)
        if entry:
            depth = len(entry[1]) // 2
            parents[depth:] = [f"{parents[depth - 1]}{entry[2]}/"]
            paths.add(parents[depth])
    return paths


def test_every_package_is_listed() -> None:
    assert {f"{folder.relative_to(GATEWAY)}/" for folder in packages()} - {"http/console/pages/"} == listed()


def test_every_listed_file_exists() -> None:
    existing = {path.name for path in PROJECT.glob("*/src/**/*.py")}

    assert [] == [name for name in re.findall(r"\w+\.py", TREE) if name not in existing]


def test_no_folder_has_too_many_modules() -> None:
    assert {} == {
        str(folder.relative_to(GATEWAY)): count
        for folder in packages()
        if (count := sum(path.name != "__init__.py" for path in folder.glob("*.py"))) > MAX_MODULES
    }


def test_only_connectors_name_connectors() -> None:
    named = {
        (str(path.relative_to(GATEWAY)), node.value)
        for path in GATEWAY.rglob("*.py")
        if INSIDE_CONNECTORS not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in CONNECTOR_NAMES
    }

    assert set() == named


@pytest.mark.parametrize("package", ["connector_gateway", "connector_gateway_client", "workspace_sandbox"])
def test_no_modules_import_each_other(package: str) -> None:
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    cycles = {
        f"{module} -> {imported}"
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if graph.chain_exists(importer=imported, imported=module)
    }

    assert set() == cycles
