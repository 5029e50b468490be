"""The stand-ins have the same files, so that whoever knows one finds their way in all."""

import json
import re
from collections.abc import Collection, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import workspace_sandbox
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.boards import acts as boards
from workspace_sandbox.kit.emulator import Emulator

FOLDER = Path(workspace_sandbox.__file__).parent
SHARED = {"__init__", "emulator", "state", "seed", "routes", "wire", "access", "throttle", "acts", "sowing"}
"""What every stand-in has; ``deliveries`` besides where it delivers, and a file for each of the vendor's nouns."""

NOUNLESS = {"utils", "helpers", "common", "base", "manager"}


READ = re.compile(r"""action(?:\.get\(|\[)['"](\w+)['"]|\baction, ['"](\w+)['"]""")
"""How acts read their fields."""

KNOB = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
"""A row of a table of knobs: its name and first value."""

BY_TABLE: Mapping[str, Collection[str]] = {
    "boards": boards.CHANGED.keys(),
    "crm": {f"{kind}_id" for kind in ("contact", "company", "deal")},
}
"""What is read by a name that is put together."""


class Recorded(dict[str, Any]):
    """An action that knows which of its fields were asked for."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(fields)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, otherwise: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, otherwise)


@pytest.fixture(scope="module")
def stand_ins() -> Mapping[str, Emulator]:
    return Sandbox(EMULATORS).emulators


def refusal_of(emulator: Emulator, action: Mapping[str, Any]) -> type[Exception] | None:
    try:
        emulator.act(action)
    except ValueError:
        return ValueError
    return None


def modules(application: str) -> set[str]:
    return {path.stem for path in (FOLDER / application).glob("*.py")}


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

    assert served == {(host, method, re.sub(r":[^{}]+}", "}", path)) for host, method, path in declared}
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
def test_acts_declare_every_field_that_is_read_and_no_other(application: str) -> None:
    performed = (FOLDER / application / "acts.py").read_text(encoding="utf-8")
    emulator = (FOLDER / application / "emulator.py").read_text(encoding="utf-8")
    read = {name for name, _, _ in chain.from_iterable(act.fields() for act in EMULATORS[application].acts.values())}
    found = {one for match in READ.findall(performed + emulator) for one in match if one}

    assert read == (found | {*BY_TABLE.get(application, ())}) - {"action"}


@pytest.mark.parametrize(("application", "act"), [(name, act) for name in APPLICATIONS for act in EMULATORS[name].acts])
def test_an_act_asks_first_for_a_field_that_it_declares(
    stand_ins: Mapping[str, Emulator], application: str, act: str
) -> None:
    action = Recorded(action=act)
    refusal_of(stand_ins[application], action)

    assert set() == action.asked - {"action", *(name for name, _, _ in EMULATORS[application].acts[act].fields())}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_act_without_a_field_that_it_needs_is_refused(stand_ins: Mapping[str, Emulator], application: str) -> None:
    emulator = stand_ins[application]
    needy = [name for name, act in emulator.acts.items() if act.needs]

    assert [ValueError] * len(needy) == [refusal_of(emulator, {"action": name}) for name in needy]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_has_no_file_that_is_named_for_nothing(application: str) -> None:
    assert set() == NOUNLESS & modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_is_one_folder_deep(application: str) -> None:
    assert [] == [path.name for path in (FOLDER / application).glob("*/__init__.py")]
