"""The stand-ins have the same files, so that whoever knows one finds their way in all."""

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
SHARED = {"__init__", "emulator", "routes", "wire", "access", "throttle", "user_actions"}
"""What every stand-in has; ``deliveries`` besides where it delivers, and a file for each of the vendor's nouns."""

NOUNLESS = {"utils", "helpers", "common", "base", "manager"}


KNOB = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
"""A row of a table of knobs: its name and first value."""


@pytest.fixture(scope="module")
def stand_ins() -> Mapping[str, Emulator]:
    return Sandbox(EMULATORS).emulators


def refusal_of(emulator: Emulator, action: Mapping[str, Any]) -> type[Exception] | None:
    try:
        emulator.perform(action)
    except ValueError:
        return ValueError
    return None


def modules(application: str) -> set[str]:
    return {path.stem for path in (FOLDER / application).glob("*.py")}


SAMPLE = ("content", "GET", SAMPLE_PATH)
"""The one route that no vendor has: a file for clients to attach."""


def test_every_folder_of_a_stand_in_is_registered() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}

    assert {*APPLICATIONS, "kit"} == folders


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_declared_route_says_how_far_it_is_played_and_is_served(
    stand_ins: Mapping[str, Emulator], application: str
) -> None:
    emulator = stand_ins[application]
    served = {
        (host, route.method, route.resource.canonical.removesuffix("{_}"))
        for host, made in emulator.applications().items()
        for route in made.router.routes()
        if route.resource and route.method != "HEAD"
    }
    declared = [(route.host, route.method, path) for route in emulator.routes for path in route.paths]

    assert served - {SAMPLE} == {(host, method, re.sub(r":[^{}]+}", "}", path)) for host, method, path in declared}
    assert {"fully", "partly"} == {route.support for route in emulator.routes}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_has_the_files_that_all_have(application: str) -> None:
    assert set() == SHARED - modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_tells_what_it_knows_and_what_nobody_could_verify(application: str) -> None:
    told = (FOLDER / application / "FIDELITY.md").read_text(encoding="utf-8")

    assert [
        f"# {application}: how faithful",
        "## Acts",
        "## Knobs",
        "## Against the published documents",
        "## Unverified",
        "## Differs on purpose",
    ] == [
        line[: len(f"# {application}: how faithful")] if line.startswith("# ") else line
        for line in told.splitlines()
        if line.startswith("#")
    ]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_tells_its_knobs_with_their_first_values(application: str) -> None:
    page = (FOLDER / application / "FIDELITY.md").read_text(encoding="utf-8")
    told = dict(KNOB.findall(page.partition("## Knobs")[2].partition("\n## ")[0]))
    first = {name: f"`{json.dumps(value)}`" for name, value in EMULATORS[application].knobs.items()}

    # Long lists are not written out.
    assert {name: told.get(name) if len(value) > 62 else value for name, value in first.items()} == told


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_act_without_a_field_that_it_needs_is_refused(stand_ins: Mapping[str, Emulator], application: str) -> None:
    emulator = stand_ins[application]
    needy = [name for name, act in emulator.user_actions.items() if any(field.needed for field in act.fields)]

    assert [ValueError] * len(needy) == [refusal_of(emulator, {"action": name}) for name in needy]


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("action", [{}, {"action": "dance"}], ids=str)
def test_an_act_that_there_is_not_is_refused_with_those_there_are(
    stand_ins: Mapping[str, Emulator], application: str, action: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match=f"; there are {', '.join(stand_ins[application].user_actions)}"):
        stand_ins[application].perform(action)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_has_no_file_that_is_named_for_nothing(application: str) -> None:
    assert set() == NOUNLESS & modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_emulators_have_the_same_folders(application: str) -> None:
    folders = {path.parent.name for path in (FOLDER / application).glob("*/__init__.py")}

    assert {"api", "data"} <= folders <= {"api", "data", "content", "formulas"}
