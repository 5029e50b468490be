"""What the documentation says is so."""

import json
import re
from pathlib import Path

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.environment import Environment
from connector_gateway.settings import Settings

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
TOLD = [line.split("`")[1] for line in GUIDE.splitlines() if line.startswith("| `GATEWAY_")]
REQUIRED = {"GATEWAY_SECRET_KEYS": "a secret that only tests know", "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef"}
ROOMS = sorted(CONNECTORS)


def test_the_guide_names_every_setting_and_no_other() -> None:
    environment = Environment(REQUIRED)
    Settings.read_from(environment, CONNECTORS)
    connectors = re.compile(rf"GATEWAY_({'|'.join(name.upper() for name in CONNECTORS)})_(?!CONTENT_URL)")
    names = {connectors.sub("GATEWAY_<CONNECTOR>_", name) for name in environment.names}

    assert sorted(names) == sorted({*TOLD, "GATEWAY_TABLES_CONTENT_URL"})
    assert "`GATEWAY_TABLES_CONTENT_URL`" in GUIDE
    assert len(set(TOLD)) == len(TOLD)


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
