"""Operators at a port of their own: elsewhere there is no console, no management and no metrics."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from connector_gateway.http.console.routes import ROUTES
from connector_gateway.management.routes import MANAGEMENT
from harness.databases import postgres_on
from harness.gateway_server import FAST, OPERATOR, free_port
from harness.installation import Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.subprocesses import run
from harness.valkey import Server
from workspace_sandbox.notes import NotesEmulator

OPERATORS = {"Authorization": f"Bearer {OPERATOR}"}
OURS = [
    *((route.method, route.path) for route in MANAGEMENT if route.is_for_operators),
    *((route.method, route.path) for route in ROUTES),
    ("GET", "/metrics"),
]
"""What operators alone use."""


@pytest.fixture(scope="module", params=["one process", "two workers"])
def apart(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    settings = {"GATEWAY_ADMIN_PORT": str(free_port())}
    if request.param == "two workers":
        store: Server = request.getfixturevalue("valkey_of_tests")
        database = postgres_on(request.getfixturevalue("postgres_server"))
        settings |= {"GATEWAY_WORKERS": "2", "GATEWAY_DATABASE_URL": database, "GATEWAY_SHARED_URL": store.url}
    folder = tmp_path_factory.mktemp("apart")
    with run_emulators(notes=NotesEmulator) as sandbox, run_installation(sandbox, folder, **settings) as installation:
        yield installation


def statuses(address: str) -> set[int]:
    """How everything of the operators is answered at *address*, where their token is sent."""
    with httpx.Client(base_url=address, headers=OPERATORS) as http:
        return {http.request(method, re.sub(r"\{\w+\}", "x", path)).status_code for method, path in OURS}


@requirement("deployment-1")
def test_operator_routes_are_served_at_the_admin_port_only(apart: Installation) -> None:
    assert {404} == statuses(apart.base_url)
    assert 404 not in {
        httpx.get(f"{apart.admin_url}{path}", headers=OPERATORS).status_code
        for path in ("/console/sign-in", "/v1/workspaces", "/v1/keys", "/v1/webhooks", "/metrics")
    }


@requirement("deployment-1")
@pytest.mark.parametrize("path", ["//console", "/console/", "/v1/../console", "/%63onsole", "/CONSOLE", "/metrics/"])
def test_no_spelling_leads_there(apart: Installation, path: str) -> None:
    assert 404 == status_of(apart, path, f"127.0.0.1:{apart.port}")


@requirement("deployment-1")
def test_a_header_that_names_the_other_port_leads_nowhere(apart: Installation) -> None:
    other = apart.admin_url.removeprefix("http://")

    assert [404, 404] == [status_of(apart, path, other) for path in ("/console", f"{apart.admin_url}/console")]


def status_of(installation: Installation, path: str, host: str) -> int:
    """The status of a request whose *path* is sent as it stands."""
    connection = HTTPConnection("127.0.0.1", installation.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": host, "X-Forwarded-Host": host, "Forwarded": f"host={host}", **OPERATORS}.items():
        connection.putheader(name, value)
    connection.endheaders()
    with connection.getresponse() as answer:
        status = answer.status
    connection.close()
    return status


@requirement("deployment-2")
def test_the_operator_token_opens_nothing_at_the_public_port(apart: Installation) -> None:
    replies = [httpx.get(f"{apart.base_url}{path}", headers=OPERATORS) for path in ("/v1/connections", "/v1/runs")]
    taken = [httpx.get(f"{apart.admin_url}{path}", headers=OPERATORS) for path in ("/v1/connections", "/v1/runs")]

    assert [(401, "invalid_api_key")] * 2 == [(one.status_code, one.json()["error"]["code"]) for one in replies]
    assert "the operator token is accepted at GATEWAY_ADMIN_PORT only" in replies[0].text
    assert [200, 200] == [one.status_code for one in taken]


@requirement("deployment-1")
def test_keys_are_served_at_the_public_port(apart: Installation) -> None:
    key = {"Authorization": f"Bearer {apart.key}"}
    paths = ("/v1/connections", "/v1/runs", f"/v1/connections/{apart.connections['notes']}", "/healthz", "/readyz")

    assert [200] * 5 == [httpx.get(apart.base_url + path, headers=key).status_code for path in paths]


@requirement("deployment-1")
def test_no_hint_leads_from_the_public_port_to_a_route_that_is_not_there(apart: Installation) -> None:
    hints = [httpx.get(f"{address}/v1/workspace").json()["error"]["details"] for address in base_urls(apart)]

    assert "GET or POST /v1/workspaces" == hints[1][0]["did_you_mean"]
    assert "workspaces" not in str(hints[0])


def base_urls(installation: Installation) -> tuple[str, str]:
    return installation.base_url, installation.admin_url


def start(port: int, admin_port: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Serve until it fails."""
    own = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}
    settings = {"GATEWAY_DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}", "GATEWAY_ADMIN_PORT": str(admin_port)}
    return run("serve", "--port", str(port), env={**os.environ, **FAST, **own, **settings})


def test_the_public_port_is_not_taken_for_the_operators(tmp_path: Path) -> None:
    port = free_port()

    ended = start(port, port, tmp_path)

    message = f"Error: GATEWAY_ADMIN_PORT is {port}, which is also the public port. Choose another.\n"
    assert (3, message) == (ended.returncode, ended.stderr)


def test_a_taken_port_of_operators_is_named_with_its_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = start(0, port, tmp_path)

    message = f"Error: Port {port} on 127.0.0.1 is in use; choose another with GATEWAY_ADMIN_PORT.\n"
    assert (3, message) == (ended.returncode, ended.stderr)
