"""What the documentation says is so."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
PATIENCE = {"queue_seconds", "run_seconds", "grace_seconds", "attempts", "backoff_seconds"}
NAMES = sorted({field.name for field in dataclasses.fields(Settings)} - {"timeouts", "sites"} | PATIENCE)
ROOMS = sorted(CONNECTORS)


@pytest.mark.parametrize("name", NAMES)
def test_the_guide_names_every_setting(name: str) -> None:
    assert f"`GATEWAY_{name.upper()}`" in GUIDE


def test_the_documents_of_the_readme_exist() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert links
    assert [] == [link for link in links if not (ROOT / link).exists()]


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_checklist_with_nothing_open(room: str) -> None:
    readme = ROOT / "src" / "connector_gateway" / "connectors" / room / "README.md"
    lines = [line for line in readme.read_text(encoding="utf-8").splitlines() if line.startswith("- [")]

    assert len(lines) >= 20
    assert [] == [line for line in lines if not re.match(r"- \[x\] |- \[ \] exempt: ", line)]


def test_the_generated_document_is_json() -> None:
    document = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8"))

    assert "3.1.0" == document["openapi"]
