"""The protocol's conformance suite for authorization servers."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from connector_gateway.connectors.notes import NOTES
from harness.agent_oauth import OAuthAgent, agent_code
from harness.gateway_server import Gateway, run_gateway
from harness.npm_packages import node_in, packages_in
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

HERE = Path(__file__).parent
CALLBACK_PORT = 33418


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(
            sandbox,
            tmp_path_factory.mktemp("oauth"),
            connectors={"notes": NOTES},
            port=free_port(),
            GATEWAY_AGENT_OAUTH="on",
        ) as gateway,
    ):
        yield gateway


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite and a recent version of Node."""
    return packages_in(tmp_path_factory.mktemp("suite"), HERE)


@pytest.fixture
def agent(gateway: Gateway) -> Iterator[OAuthAgent]:
    with httpx.Client(timeout=30) as http:
        yield OAuthAgent(gateway, http)


@requirement("oauth-1")
@pytest.mark.javascript
def test_the_authorization_server_passes_the_suite(suite: Path, agent: OAuthAgent) -> None:
    base = agent.gateway.base_url
    agent.register(redirect_uris=[f"http://127.0.0.1:{CALLBACK_PORT}/callback"])
    options = ["--client-id", agent.client_id, "--resource", f"{base}/mcp", "--port", str(CALLBACK_PORT)]

    command = [node_in(suite), "node_modules/.bin/conformance", "authorization", "--url", base, *options, "-o", "out"]

    with subprocess.Popen(command, cwd=suite, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        url = next(line.strip() for line in program.stdout if "/oauth/authorize?" in line)
        request = httpx.URL(agent.http.get(url).headers["location"]).params["request"]
        page = agent.decide(request, agent_code(agent.gateway)["agent_code"], allow="yes")
        agent.http.get(page.headers["refresh"].removeprefix("0; url="))
        program.communicate(timeout=60)

    results = [check for file in (suite / "out").rglob("checks.json") for check in json.loads(file.read_bytes())]
    assert [] == [check for check in results if check["status"] != "SUCCESS"]
    assert {"authorization-code-grant", "authorization-server-metadata"} <= {check["id"] for check in results}
