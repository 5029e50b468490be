"""The structure of the connector packages, and their registration."""

from importlib import import_module
from pathlib import Path

import pytest

from connector_gateway import connectors
from connector_gateway.connectors import CONNECTOR_NAMES, CONNECTORS
from workspace_sandbox import APPLICATIONS

FOLDER = Path(connectors.__file__).parent

SECTIONS = (
    "Which requests an operation makes",
    "Scopes",
    "Connecting in a browser",
    "Budgets",
    "Known differences and decisions",
    "How lost responses are resolved",
)
"""The first sections of every connector's README. Optional ones follow, and the checklist is last."""

MAX_LINES = 400
"""Maximum lines of a connector's module. A longer one becomes a package of the same name."""


def test_every_connector_package_is_registered() -> None:
    assert set(CONNECTOR_NAMES) == {path.parent.name for path in FOLDER.glob("*/__init__.py")}


def test_connectors_are_named_after_their_packages() -> None:
    assert list(CONNECTOR_NAMES) == [connector.name for connector in CONNECTORS.values()]


def test_every_connector_has_an_emulator() -> None:
    assert list(CONNECTOR_NAMES) == list(APPLICATIONS)


@pytest.mark.parametrize("name", CONNECTOR_NAMES)
def test_a_connector_package_contains_only_python_files_a_readme_and_facts(name: str) -> None:
    modules = {
        *(FOLDER / name).glob("*.py"),
        *(path.parent for path in (FOLDER / name).glob("*/__init__.py")),
    }
    others = {path.name for path in {*(FOLDER / name).iterdir()} - modules} - {"__pycache__"}

    assert {"README.md", "facts.toml"} == others


@pytest.mark.parametrize("name", CONNECTOR_NAMES)
def test_the_sample_of_a_connector_is_one_of_its_operations(name: str) -> None:
    connector = CONNECTORS[name]

    assert connector.sample is not None
    assert connector.sample.operation in connector.operations


@pytest.mark.parametrize("name", CONNECTOR_NAMES)
def test_operations_are_defined_in_submodules_and_exported_together(name: str) -> None:
    operations = CONNECTORS[name].operations
    package = import_module(f"{connectors.__name__}.{name}.operations")
    exported = [vars(package)[operation.name] for operation in operations]
    modules = {operation.handler.__module__.removeprefix(f"{package.__name__}.") for operation in operations}

    assert list(operations) == exported
    assert modules <= {path.stem for path in (FOLDER / name / "operations").glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("name", CONNECTOR_NAMES)
def test_connector_modules_are_short(name: str) -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in (FOLDER / name).rglob("*.py")}

    assert {} == {name: length for name, length in lengths.items() if length > MAX_LINES}


@pytest.mark.parametrize("name", CONNECTOR_NAMES)
def test_connector_readmes_have_the_required_sections(name: str) -> None:
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    *sections, last = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]

    assert list(SECTIONS) == sections[: len(SECTIONS)]
    assert "Checklist" == last
