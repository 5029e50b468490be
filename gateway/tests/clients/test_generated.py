"""Clients generated from the OpenAPI document pass strict type checks and perform reads, writes and event polls."""

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

EXPECTED = {
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


def run_command(folder: Path, *command: str | Path, **more: Any) -> str:
    """Run *command* in *folder*, and return its output."""
    words = [*map(str, command)]
    done: Done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **more)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def build_program_input(gateway: Gateway) -> str:
    """Return the input with which a program can call *gateway*, as JSON."""
    return json.dumps({"base_url": gateway.base_url, "key": gateway.key, "connections": gateway.connections})


def read_guide(language: str, gateway: Gateway) -> str:
    """Return the example of the generated-clients guide in *language*, for *gateway*."""
    (text,) = [block.text for block in blocks_of("docs/guide/generated-clients.md") if block.language == language]
    here = text.replace("http://127.0.0.1:8080", gateway.base_url).replace("<API key>", gateway.key)
    return here.replace("<connection>", gateway.connections["notes"])


def document_file(gateway: Gateway, folder: Path) -> Path:
    """A file with the document that *gateway* serves."""
    path = folder / "openapi.json"
    path.write_bytes(gateway.http.get(f"{gateway.base_url}/openapi.json").content)
    return path


@requirement("common-132")
def test_a_generated_python_client_type_checks_and_runs(gateway: Gateway, tmp_path: Path, cache: pytest.Cache) -> None:
    described = document_file(gateway, tmp_path)
    (tmp_path / "settings.yml").write_text("post_hooks: []\n", encoding="utf-8")
    into = ["--meta", "none", "--output-path", "gateway_client", "--config", "settings.yml", "--fail-on-warning"]
    # Unchanged files are not checked again.
    strict = ["--strict", "--config-file=", f"--cache-dir={cache.mkdir('mypy')}"]
    shutil.copy(HERE / "calls.py", tmp_path)

    run_command(tmp_path, BIN / "openapi-python-client", "generate", "--path", described, *into)
    run_command(tmp_path, BIN / "mypy", *strict, "calls.py", "gateway_client")
    output = run_command(tmp_path, sys.executable, "calls.py", input=build_program_input(gateway))
    guide_output = run_command(tmp_path, sys.executable, "-c", read_guide("python", gateway))

    assert EXPECTED == json.loads(output)
    assert "Leads" in guide_output


@pytest.fixture(scope="module")
def typescript_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages that generate and check the TypeScript client."""
    return packages_in(tmp_path_factory.mktemp("project"), HERE, "calls.ts")


BINARIES = Path("node_modules", ".bin")
STRICT = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext", "--types", "node"]


@requirement("common-132")
@pytest.mark.javascript
def test_a_generated_typescript_client_type_checks_and_runs(gateway: Gateway, typescript_project: Path) -> None:
    described = document_file(gateway, typescript_project)

    (typescript_project / "guide.ts").write_text(read_guide("typescript", gateway), encoding="utf-8")

    run_command(
        typescript_project,
        BINARIES / "openapi-typescript",
        described,
        "--default-non-nullable=false",
        "--output",
        "schema.ts",
    )
    run_command(typescript_project, BINARIES / "tsc", *STRICT, "calls.ts", "guide.ts")
    output = run_command(typescript_project, "node", "calls.js", input=build_program_input(gateway))
    guide_output = run_command(typescript_project, "node", "guide.js")

    assert EXPECTED == json.loads(output)
    assert "Leads" in guide_output


QUIET = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
"""Turns off telemetry and update checks of the linter."""


RULES = """
extends: ["spectral:oas"]
rules:
  info-contact: off
"""
"""All rules of one linter except for contact details, which depend on the installation."""


LINTERS = {"redocly": ["lint"], "spectral": ["lint", "--quiet", "--ruleset", "rules.yaml"]}


@requirement("common-132")
@pytest.mark.javascript
@pytest.mark.parametrize("linter", LINTERS)
def test_linters_report_no_problems_in_the_document(gateway: Gateway, typescript_project: Path, linter: str) -> None:
    described = document_file(gateway, typescript_project)
    (typescript_project / "rules.yaml").write_text(RULES, encoding="utf-8")

    report = run_command(
        typescript_project, BINARIES / linter, *LINTERS[linter], "--format", "json", described, env=QUIET
    )

    assert [] == list_violations(json.loads(report))


def list_violations(report: Any) -> list[str]:
    """Return the violated rules in the report of either linter."""
    problems = report if isinstance(report, list) else report["problems"]
    return [str(one.get("code", one.get("ruleId"))) for one in problems]
