"""A separate port for operators: no other port serves the console, management or metrics."""

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
from harness.gateway_process import Installation, run_installation
from harness.gateway_server import FAST, OPERATOR
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.subprocesses import run
from harness.valkey import Server
from workspace_sandbox.notes import NotesEmulator

OPERATORS = {"Authorization": f"Bearer {OPERATOR}"}
OPERATOR_ROUTES = [
    *((route.method, route.path) for route in MANAGEMENT if route.is_for_operators),
    *((route.method, route.path) for route in ROUTES),
    ("GET", "/metrics"),
]
"""Routes for operators only."""


@pytest.fixture(scope="module", params=["one process", "two workers"])
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    settings = {"GATEWAY_ADMIN_PORT": str(free_port())}
    if request.param == "two workers":
        store: Server = request.getfixturevalue("valkey_of_tests")
        database = postgres_on(request.getfixturevalue("postgres_server"))
        settings |= {"GATEWAY_WORKERS": "2", "GATEWAY_DATABASE_URL": database, "GATEWAY_SHARED_URL": store.url}
    folder = tmp_path_factory.mktemp("apart")
    with run_emulators(notes=NotesEmulator) as sandbox, run_installation(sandbox, folder, **settings) as installation:
        yield installation


def get_operator_route_statuses(address: str) -> set[int]:
    """Return the statuses of all operator routes at *address*, requested with the operator token."""
    with httpx.Client(base_url=address, headers=OPERATORS) as http:
        return {http.request(method, re.sub(r"\{\w+\}", "x", path)).status_code for method, path in OPERATOR_ROUTES}


@requirement("deployment-1")
def test_operator_routes_are_served_at_the_admin_port_only(installation: Installation) -> None:
    assert {404} == get_operator_route_statuses(installation.base_url)
    assert 404 not in {
        httpx.get(f"{installation.admin_url}{path}", headers=OPERATORS).status_code
        for path in ("/console/sign-in", "/v1/workspaces", "/v1/keys", "/v1/webhooks", "/metrics")
    }


@requirement("deployment-1")
@pytest.mark.parametrize("path", ["//console", "/console/", "/v1/../console", "/%63onsole", "/CONSOLE", "/metrics/"])
def test_path_variants_do_not_reach_operator_routes(installation: Installation, path: str) -> None:
    assert 404 == get_status(installation, path, f"127.0.0.1:{installation.port}")


@requirement("deployment-1")
def test_host_headers_of_the_admin_port_do_not_reach_operator_routes(installation: Installation) -> None:
    other = installation.admin_url.removeprefix("http://")

    assert [404, 404] == [
        get_status(installation, path, other) for path in ("/console", f"{installation.admin_url}/console")
    ]


def get_status(installation: Installation, path: str, host: str) -> int:
    """Return the status of a request whose *path* is sent unchanged."""
    connection = HTTPConnection("127.0.0.1", installation.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": host, "X-Forwarded-Host": host, "Forwarded": f"host={host}", **OPERATORS}.items():
        connection.putheader(name, value)
    connection.endheaders()
    with connection.getresponse() as response:
        status = response.status
    connection.close()
    return status


@requirement("deployment-2")
def test_the_operator_token_is_rejected_at_the_public_port(installation: Installation) -> None:
    replies = [
        httpx.get(f"{installation.base_url}{path}", headers=OPERATORS) for path in ("/v1/connections", "/v1/runs")
    ]
    taken = [
        httpx.get(f"{installation.admin_url}{path}", headers=OPERATORS) for path in ("/v1/connections", "/v1/runs")
    ]

    assert [(401, "invalid_api_key")] * 2 == [(one.status_code, one.json()["error"]["code"]) for one in replies]
    assert "the operator token is accepted at GATEWAY_ADMIN_PORT only" in replies[0].text
    assert [200, 200] == [one.status_code for one in taken]


@requirement("deployment-1")
def test_keys_are_served_at_the_public_port(installation: Installation) -> None:
    key = {"Authorization": f"Bearer {installation.key}"}
    paths = (
        "/v1/connections",
        "/v1/runs",
        f"/v1/connections/{installation.connections['notes']}",
        "/healthz",
        "/readyz",
    )

    assert [200] * 5 == [httpx.get(installation.base_url + path, headers=key).status_code for path in paths]


@requirement("deployment-1")
def test_suggestions_at_the_public_port_contain_no_operator_routes(installation: Installation) -> None:
    hints = [httpx.get(f"{address}/v1/workspace").json()["error"]["details"] for address in get_base_urls(installation)]

    assert "GET or POST /v1/workspaces" == hints[1][0]["did_you_mean"]
    assert "workspaces" not in str(hints[0])


def get_base_urls(installation: Installation) -> tuple[str, str]:
    return installation.base_url, installation.admin_url


def run_until_failure(port: int, admin_port: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``serve`` until it fails."""
    own = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}
    settings = {"GATEWAY_DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}", "GATEWAY_ADMIN_PORT": str(admin_port)}
    return run("serve", "--port", str(port), env={**os.environ, **FAST, **own, **settings})


def test_the_public_port_is_rejected_as_admin_port(tmp_path: Path) -> None:
    port = free_port()

    ended = run_until_failure(port, port, tmp_path)

    message = f"Error: GATEWAY_ADMIN_PORT is {port}, which is also the public port. Choose another.\n"
    assert (3, message) == (ended.returncode, ended.stderr)


def test_an_admin_port_in_use_is_reported_with_its_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_until_failure(0, port, tmp_path)

    message = f"Error: Port {port} on 127.0.0.1 is in use; choose another with GATEWAY_ADMIN_PORT.\n"
    assert (3, message) == (ended.returncode, ended.stderr)
