"""Clients that are generated from the document compile strictly, and are used for reads, writes, errors and events."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.code_blocks import blocks_of
from harness.example_calls import playground
from harness.gateway_server import Gateway
from harness.npm_packages import packages_in
from harness.requirement import requirement

Done = subprocess.CompletedProcess[str]
HERE = Path(__file__).parent
BIN = Path(sys.executable).parent

TOLD = {
    "title": "Leads",
    "status": "ok",
    "once": True,
    "operation": "create_page",
    "code": "lossy_cast",
    "kind": "LossyCast",
    "property": "Value",
    "unauthorized": "invalid_api_key",
    "events": ["page.created", "message.posted"],
    "before": None,
    "text": "The invoice is on its way",
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with playground(tmp_path_factory.mktemp("clients")) as gateway:
        yield gateway


def ran(folder: Path, *command: str | Path, **more: Any) -> str:
    """What *command* says, run in *folder*."""
    words = [*map(str, command)]
    done: Done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **more)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def given(gateway: Gateway) -> str:
    """What a program needs in order to call *gateway*."""
    return json.dumps({"base_url": gateway.base_url, "key": gateway.key, "connections": gateway.connections})


def guide(language: str, gateway: Gateway) -> str:
    """What the guide to generated clients shows in *language*, for *gateway*."""
    (text,) = [block.text for block in blocks_of("docs/guide/generated-clients.md") if block.language == language]
    here = text.replace("http://127.0.0.1:8080", gateway.base_url).replace("<API key>", gateway.key)
    return here.replace("<connection>", gateway.connections["notes"])


def document(gateway: Gateway, folder: Path) -> Path:
    """The document that *gateway* serves, in a file."""
    path = folder / "openapi.json"
    path.write_bytes(gateway.http.get(f"{gateway.base_url}/openapi.json").content)
    return path


@requirement("common-132")
def test_a_python_client_is_made_type_checked_and_used(gateway: Gateway, tmp_path: Path, cache: pytest.Cache) -> None:
    described = document(gateway, tmp_path)
    (tmp_path / "settings.yml").write_text("post_hooks: []\n", encoding="utf-8")
    into = ["--meta", "none", "--output-path", "gateway_client", "--config", "settings.yml", "--fail-on-warning"]
    # What is as it was at the last run is not checked again.
    strict = ["--strict", "--config-file=", f"--cache-dir={cache.mkdir('mypy')}"]
    shutil.copy(HERE / "calls.py", tmp_path)

    ran(tmp_path, BIN / "openapi-python-client", "generate", "--path", described, *into)
    ran(tmp_path, BIN / "mypy", *strict, "calls.py", "gateway_client")
    told = ran(tmp_path, sys.executable, "calls.py", input=given(gateway))
    shown = ran(tmp_path, sys.executable, "-c", guide("python", gateway))

    assert TOLD == json.loads(told)
    assert "Leads" in shown


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what makes and checks the client for TypeScript."""
    return packages_in(tmp_path_factory.mktemp("project"), HERE, "calls.ts")


BINARIES = Path("node_modules", ".bin")
STRICT = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext", "--types", "node"]


@requirement("common-132")
@pytest.mark.javascript
def test_a_typescript_client_is_made_type_checked_and_used(gateway: Gateway, project: Path) -> None:
    described = document(gateway, project)

    (project / "guide.ts").write_text(guide("typescript", gateway), encoding="utf-8")

    ran(project, BINARIES / "openapi-typescript", described, "--default-non-nullable=false", "--output", "schema.ts")
    ran(project, BINARIES / "tsc", *STRICT, "calls.ts", "guide.ts")
    told = ran(project, "node", "calls.js", input=given(gateway))
    shown = ran(project, "node", "guide.js")

    assert TOLD == json.loads(told)
    assert "Leads" in shown


QUIET = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
"""The linter reports nothing to its makers, and asks nobody for a newer one."""


RULES = """
extends: ["spectral:oas"]
rules:
  info-contact: off
"""
"""All rules of one linter, but that somebody is named whom to write to: that is for each installation to say."""


LINTERS = {"redocly": ["lint"], "spectral": ["lint", "--quiet", "--ruleset", "rules.yaml"]}


@requirement("common-132")
@pytest.mark.javascript
@pytest.mark.parametrize("linter", LINTERS)
def test_linters_find_nothing_wrong_with_the_document(gateway: Gateway, project: Path, linter: str) -> None:
    described = document(gateway, project)
    (project / "rules.yaml").write_text(RULES, encoding="utf-8")

    told = ran(project, BINARIES / linter, *LINTERS[linter], "--format", "json", described, env=QUIET)

    assert [] == findings(json.loads(told))


def findings(told: Any) -> list[str]:
    """The rules that are broken, in the words of either linter."""
    found = told if isinstance(told, list) else told["problems"]
    return [str(one.get("code", one.get("ruleId"))) for one in found]
