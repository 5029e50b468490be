"""The existing connectors and the registered ones."""

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


def test_every_room_is_registered() -> None:
    assert set(CONNECTOR_NAMES) == {path.parent.name for path in FOLDER.glob("*/__init__.py")}


def test_a_connector_has_the_name_of_its_room() -> None:
    assert list(CONNECTOR_NAMES) == [connector.name for connector in CONNECTORS.values()]


def test_every_room_has_its_stand_in() -> None:
    assert list(CONNECTOR_NAMES) == list(APPLICATIONS)


@pytest.mark.parametrize("room", CONNECTOR_NAMES)
def test_a_room_has_a_readme_and_nothing_but_modules_and_packages_besides(room: str) -> None:
    modules = {*(FOLDER / room).glob("*.py"), *(path.parent for path in (FOLDER / room).glob("*/__init__.py"))}
    others = {path.name for path in {*(FOLDER / room).iterdir()} - modules} - {"__pycache__"}

    assert {"README.md"} == others


@pytest.mark.parametrize("room", CONNECTOR_NAMES)
def test_a_room_shows_a_sample_of_its_own_operations(room: str) -> None:
    connector = CONNECTORS[room]

    assert connector.sample is not None
    assert connector.sample.operation in connector.operations


@pytest.mark.parametrize("room", CONNECTOR_NAMES)
def test_operations_are_kept_by_noun_and_handed_on_together(room: str) -> None:
    operations = CONNECTORS[room].operations
    package = import_module(f"{connectors.__name__}.{room}.operations")
    handed_on = [vars(package)[operation.name] for operation in operations]
    homes = {operation.handler.__module__.removeprefix(f"{package.__name__}.") for operation in operations}

    assert list(operations) == handed_on
    assert homes <= {path.stem for path in (FOLDER / room / "operations").glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("room", CONNECTOR_NAMES)
def test_a_module_of_a_room_is_about_one_noun_and_short(room: str) -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in (FOLDER / room).rglob("*.py")}

    assert {} == {name: length for name, length in lengths.items() if length > MAX_LINES}


@pytest.mark.parametrize("room", CONNECTOR_NAMES)
def test_the_readme_of_a_room_has_the_sections_of_the_others(room: str) -> None:
    text = (FOLDER / room / "README.md").read_text(encoding="utf-8")
    *sections, last = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]

    assert list(SECTIONS) == sections[: len(SECTIONS)]
    assert "Checklist" == last
