"""Connectors import only the public modules of the kit, and nothing else of the gateway."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from connector_gateway import connectors
from connector_gateway.cli import scaffold
from connector_gateway.kit import PUBLIC_MODULES
from harness.requirement import requirement
from workspace_sandbox import kit as emulator_kit

KIT = "connector_gateway.kit"
PACKAGES = [path.parent for path in Path(connectors.__file__).parent.glob("*/__init__.py")]
TEMPLATE = Path(scaffold.__file__).parent / "template" / "src" / "acme_connector"
EXAMPLE = Path(__file__).parents[2] / "examples" / "asana-connector" / "src" / "asana_connector"
PUBLIC = {KIT, *(f"{KIT}.{name}" for name in PUBLIC_MODULES)}


def imports(folder: Path, product: str = "connector_gateway") -> Iterator[tuple[str, str]]:
    """Yield the modules and names that the modules in *folder* import from a product."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{product}."):
                yield from ((node.module or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names if alias.name.startswith(product))


@requirement("packages-4")
@pytest.mark.parametrize("folder", [*PACKAGES, TEMPLATE, EXAMPLE], ids=lambda folder: folder.name)
def test_a_connector_imports_only_the_public_kit(folder: Path) -> None:
    own = f"connector_gateway.connectors.{folder.name}"
    imported = [(module, name) for module, name in imports(folder) if not f"{module}.".startswith(f"{own}.")]
    allowed = [(module, name) for module, name in imported if module in PUBLIC and not name.startswith("_")]

    assert [] != imported
    assert allowed == [one for one in imported if one[1] != own.rpartition(".")[2]]


@requirement("packages-4")
@pytest.mark.parametrize("folder", [TEMPLATE, EXAMPLE], ids=lambda folder: folder.name)
def test_an_emulator_of_a_package_imports_only_the_public_kit_of_the_sandbox(folder: Path) -> None:
    public = {f"{emulator_kit.__name__}.{name}" for name in emulator_kit.PUBLIC_MODULES}
    used = {module for module, _ in imports(folder, "workspace_sandbox")}

    assert set() != used
    assert used <= public
    assert all(find_spec(name) for name in public)


@requirement("packages-4")
def test_every_public_module_exists_and_is_used() -> None:
    used = {module for folder in PACKAGES for module, _ in imports(folder)}
    used |= {f"{KIT}.{name}" for folder in PACKAGES for module, name in imports(folder) if module == KIT}

    assert {name for name in PUBLIC if name != KIT} <= used
    assert all(find_spec(name) for name in PUBLIC)
