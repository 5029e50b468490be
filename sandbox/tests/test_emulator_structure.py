"""Emulators have the same files, declared routes and documents."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import workspace_sandbox
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.tables.api.attachments import SAMPLE_PATH

FOLDER = Path(workspace_sandbox.__file__).parent
SHARED = {"__init__", "emulator", "routes", "error_responses", "access", "rate_limits", "user_actions"}
"""The modules of every emulator. Those that deliver events also have ``deliveries``."""

GENERIC_NAMES = {"utils", "helpers", "common", "base", "manager"}


KNOB = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
"""A row of a table of knobs: its name and first value."""


@pytest.fixture(scope="module")
def emulators() -> Mapping[str, Emulator]:
    return Sandbox(EMULATORS).emulators


def error_type(emulator: Emulator, action: Mapping[str, Any]) -> type[Exception] | None:
    try:
        emulator.perform(action)
    except ValueError:
        return ValueError
    return None


def modules(application: str) -> set[str]:
    return {path.stem for path in (FOLDER / application).glob("*.py")}


SAMPLE = ("content", "GET", SAMPLE_PATH)
"""The one route that no vendor has: a file for clients to attach."""


def test_every_emulator_folder_is_registered() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}

    assert {*APPLICATIONS, "kit"} == folders


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_declared_route_is_served_and_states_its_support(
    emulators: Mapping[str, Emulator], application: str
) -> None:
    emulator = emulators[application]
    served = {
        (host, route.method, route.resource.canonical.removesuffix("{_}"))
        for host, app in emulator.applications().items()
        for route in app.router.routes()
        if route.resource and route.method != "HEAD"
    }
    declared = [(route.host, route.method, path) for route in emulator.routes for path in route.paths]

    assert served - {SAMPLE} == {(host, method, re.sub(r":[^{}]+}", "}", path)) for host, method, path in declared}
    assert {"fully", "partly"} == {route.support for route in emulator.routes}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_emulator_has_the_shared_modules(application: str) -> None:
    assert set() == SHARED - modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_fidelity_page_has_the_shared_sections(application: str) -> None:
    page = (FOLDER / application / "FIDELITY.md").read_text(encoding="utf-8")

    assert [
        f"# {application}: how faithful",
        "## Acts",
        "## Knobs",
        "## Against the published documents",
        "## Unverified",
        "## Differs on purpose",
    ] == [
        line[: len(f"# {application}: how faithful")] if line.startswith("# ") else line
        for line in page.splitlines()
        if line.startswith("#")
    ]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_fidelity_page_lists_all_knobs_with_their_defaults(application: str) -> None:
    page = (FOLDER / application / "FIDELITY.md").read_text(encoding="utf-8")
    documented = dict(KNOB.findall(page.partition("## Knobs")[2].partition("\n## ")[0]))
    defaults = {name: f"`{json.dumps(value)}`" for name, value in EMULATORS[application].knobs.items()}

    # Long lists are not written out.
    assert {name: documented.get(name) if len(value) > 62 else value for name, value in defaults.items()} == documented


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_user_action_without_a_required_field_is_rejected(
    emulators: Mapping[str, Emulator], application: str
) -> None:
    emulator = emulators[application]
    names = [
        name for name, user_action in emulator.user_actions.items() if any(field.needed for field in user_action.fields)
    ]

    assert [ValueError] * len(names) == [error_type(emulator, {"action": name}) for name in names]


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("action", [{}, {"action": "dance"}], ids=str)
def test_an_unknown_user_action_is_rejected_with_the_available_names(
    emulators: Mapping[str, Emulator], application: str, action: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match=f"; allowed: {', '.join(emulators[application].user_actions)}"):
        emulators[application].perform(action)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_emulator_has_no_module_with_a_generic_name(application: str) -> None:
    assert set() == GENERIC_NAMES & modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_emulators_have_the_same_folders(application: str) -> None:
    folders = {path.parent.name for path in (FOLDER / application).glob("*/__init__.py")}

    assert {"api", "data"} <= folders <= {"api", "data", "content", "formulas"}
