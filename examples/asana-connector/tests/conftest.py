"""A gateway with the emulators, which one run of the tests starts and each test resets."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from asana_connector.emulator.access import PERSONAL

START_SECONDS = 120
WAIT_SECONDS = 30

SETTINGS = {"GATEWAY_ASANA_WATCH_SECONDS": "0.5", "GATEWAY_ASANA_SETTLE_SECONDS": "1"}


@dataclass(frozen=True)
class Asana:
    """One connection of the connector in a running gateway, and the emulator."""

    gateway: httpx2.Client
    operator: httpx2.Client
    sandbox: httpx2.Client
    described: Mapping[str, Any]
    connection_id: str

    @property
    def project_id(self) -> str:
        """The first project."""
        return str(self.described["examples"]["asana"]["project_id"])

    @property
    def tasks_path(self) -> str:
        """The path of the tasks of the first project."""
        return f"projects/{self.project_id}/tasks"

    def get(self, path: str, **query: Any) -> httpx2.Response:
        """Call an operation that reads."""
        return self.gateway.get(path, params={"connection_id": self.connection_id, **query})

    def list_page(self, **query: Any) -> Mapping[str, Any]:
        """Return a page of the tasks."""
        page: Mapping[str, Any] = self.get(self.tasks_path, **query).raise_for_status().json()
        return page

    def tasks(self) -> list[dict[str, Any]]:
        """Return all tasks of the first project."""
        tasks: list[dict[str, Any]] = self.list_page(limit=100)["data"]
        return tasks

    def names(self) -> list[str]:
        """Return the names of all tasks."""
        return [task["name"] for task in self.tasks()]

    def create(self, name: str, key: str | None = None, **fields: Any) -> httpx2.Response:
        """Create a task."""
        fields |= {"connection_id": self.connection_id, "idempotency_key": key or secrets.token_hex()}
        return self.gateway.post(self.tasks_path, json={"name": name, **fields})

    def update(self, task_id: str, **fields: Any) -> httpx2.Response:
        """Change a task."""
        fields |= {"connection_id": self.connection_id}
        return self.gateway.patch(f"tasks/{task_id}", json=fields)

    def events(self) -> list[dict[str, Any]]:
        """Return the observed events."""
        events: list[dict[str, Any]] = self.get("events", limit=200).raise_for_status().json()["data"]
        return events

    def control(self, route: str, **body: Any) -> Any:
        """Control the emulator."""
        return self.sandbox.post(route, json=body).raise_for_status().json()

    def user(self, action: str, **fields: Any) -> Any:
        """Let another user act in Asana."""
        return self.control("asana/act", action=action, **fields)

    def requests(self, method: str) -> list[Mapping[str, Any]]:
        """Return the requests with a method that the emulator received."""
        return [request for request in self.sandbox.get("asana/requests").json() if request["method"] == method]

    def add(self, **fields: Any) -> "Asana":
        """Return a new connection."""
        return replace(self, connection_id=self._create(**fields)["connection_id"])

    def connect(self, **fields: Any) -> "Asana":
        """Connect an account in a browser, as the user who is preselected, and return the new connection."""
        created = self._create(**fields)
        with httpx2.Client(follow_redirects=True, timeout=60) as browser:
            # The connect page redirects with a header, which browsers follow.
            consent = browser.post(created["connect_url"]).headers["refresh"].removeprefix("0; url=")
            browser.get(f"{consent}&auto_approve=1").raise_for_status()
        return replace(self, connection_id=created["connection_id"])

    def _create(self, **fields: Any) -> Mapping[str, Any]:
        body = {"workspace_id": self.described["workspace_id"], "connector": "asana", **fields}
        connection: Mapping[str, Any] = self.operator.post("/v1/connections", json=body).raise_for_status().json()
        created: Mapping[str, Any] = connection["data"]
        return created

    def described_connection(self) -> Mapping[str, Any]:
        """Return the connection."""
        connection = self.operator.get(f"/v1/connections/{self.connection_id}").raise_for_status().json()
        data: Mapping[str, Any] = connection["data"]
        return data


def wait_until(is_true: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, "The condition did not become true."
        time.sleep(0.1)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asana]:
    """A running gateway."""
    data = tmp_path_factory.mktemp("data") / ".data"
    port = secrets.choice(range(10_000, 30_000, 20))
    options = ["--quiet", "--data", str(data), "--port", str(port), "--sandbox-port", str(port + 1)]
    command = [sys.executable, "-P", "-m", "connector_gateway", "dev", *options]
    output = data.with_name("output.txt")
    with output.open("w") as file:
        process = subprocess.Popen(command, env={**os.environ, **SETTINGS}, stdout=file, stderr=subprocess.STDOUT)
    try:
        described = _read_when_ready(data / "dev.json", process, output)
        url, key = described["base_url"], {"Authorization": f"Bearer {described['keys']['write']}"}
        operator_key = {"Authorization": f"Bearer {described['operator_token']}"}
        with (
            httpx2.Client(base_url=f"{url}/v1/connectors/asana/", headers=key, timeout=60) as gateway,
            httpx2.Client(base_url=url, headers=operator_key, timeout=60) as operator,
            httpx2.Client(base_url=f"{described['sandbox_url']}/_control/", timeout=60) as sandbox,
        ):
            yield Asana(gateway, operator, sandbox, described, described["connections"]["asana"])
    finally:
        process.terminate()
        process.wait()


def _read_when_ready(description: Path, process: "subprocess.Popen[bytes]", output: Path) -> Any:
    deadline = time.monotonic() + START_SECONDS
    while not description.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.exit(f"The gateway did not start:\n{output.read_text()}")
        time.sleep(0.05)
    return json.loads(description.read_text())


@pytest.fixture
def installation(running: Asana) -> Asana:
    """The running gateway, with the default data of the emulator and without faults."""
    running.control("reset")
    return running


@pytest.fixture
def asana(installation: Asana) -> Asana:
    """A new connection by OAuth."""
    return installation.connect()


@pytest.fixture
def personal(installation: Asana) -> Asana:
    """A new connection by personal access token."""
    return installation.add(credentials=PERSONAL)
