"""The stand-ins have the same files, so that whoever knows one finds their way in all."""

from pathlib import Path

import pytest

import workspace_sandbox
from workspace_sandbox import APPLICATIONS

FOLDER = Path(workspace_sandbox.__file__).parent
SHARED = {"__init__", "emulator", "state", "seed", "routes", "wire", "access", "throttle", "acts", "sowing"}
"""What every stand-in has; ``deliveries`` besides where it delivers, and a file for each of the vendor's nouns."""

NOUNLESS = {"utils", "helpers", "common", "base", "manager"}


def modules(application: str) -> set[str]:
    return {path.stem for path in (FOLDER / application).glob("*.py")}


def test_every_folder_of_a_stand_in_is_registered() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}

    assert {*APPLICATIONS, "kit"} == folders


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_has_the_files_that_all_have(application: str) -> None:
    assert set() == SHARED - modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_tells_what_it_knows_and_what_nobody_could_verify(application: str) -> None:
    told = (FOLDER / application / "FIDELITY.md").read_text(encoding="utf-8")

    assert [f"# {application}: how faithful", "## Unverified", "## Differs on purpose"] == [
        line[: len(f"# {application}: how faithful")] if line.startswith("# ") else line
        for line in told.splitlines()
        if line.startswith("#")
    ]


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_has_no_file_that_is_named_for_nothing(application: str) -> None:
    assert set() == NOUNLESS & modules(application)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_stand_in_is_one_folder_deep(application: str) -> None:
    assert [] == [path.name for path in (FOLDER / application).glob("*/__init__.py")]
