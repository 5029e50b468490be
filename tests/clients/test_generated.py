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

from harness.recording import playground
from harness.requirement import requirement
from harness.serving import Gateway

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


def document(gateway: Gateway, folder: Path) -> Path:
    """The document that *gateway* serves, in a file."""
    path = folder / "openapi.json"
    path.write_bytes(gateway.http.get(f"{gateway.base_url}/openapi.json").content)
    return path


@requirement("health:openapi")
def test_a_python_client_is_made_type_checked_and_used(gateway: Gateway, tmp_path: Path) -> None:
    described = document(gateway, tmp_path)
    (tmp_path / "settings.yml").write_text("post_hooks: []\n", encoding="utf-8")
    into = ["--meta", "none", "--output-path", "gateway_client", "--config", "settings.yml", "--fail-on-warning"]
    shutil.copy(HERE / "calls.py", tmp_path)

    ran(tmp_path, BIN / "openapi-python-client", "generate", "--path", described, *into)
    ran(tmp_path, BIN / "mypy", "--strict", "--config-file=", "calls.py", "gateway_client")
    told = ran(tmp_path, sys.executable, "calls.py", input=given(gateway))

    assert TOLD == json.loads(told)


@pytest.fixture
def node_modules(tmp_path: Path) -> Path:
    """A folder with the locked packages in it; skips, or fails on CI, where there is no node."""
    npm = shutil.which("npm")
    if npm is None:
        assert os.environ.get("CI") != "true", "npm is missing"
        pytest.skip("there is no npm here to make the TypeScript client with")
    for name in ("package.json", "package-lock.json", "calls.ts"):
        shutil.copy(HERE / name, tmp_path)
    ran(tmp_path, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    return tmp_path / "node_modules" / ".bin"


STRICT = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext", "--types", "node"]


@requirement("health:openapi")
def test_a_typescript_client_is_made_type_checked_and_used(
    gateway: Gateway, node_modules: Path, tmp_path: Path
) -> None:
    described = document(gateway, tmp_path)

    ran(tmp_path, node_modules / "openapi-typescript", described, "--output", "schema.ts")
    ran(tmp_path, node_modules / "tsc", *STRICT, "calls.ts")
    told = ran(tmp_path, "node", "calls.js", input=given(gateway))

    assert TOLD == json.loads(told)
