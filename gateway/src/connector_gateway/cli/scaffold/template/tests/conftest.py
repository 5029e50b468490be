"""A gateway with the emulators, which one run of the tests starts and each test resets."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

START_SECONDS = 120

SETTINGS = {
    "GATEWAY_CONNECTORS": "acme",  # without it, the gateway would start although it cannot serve the connector
    "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "2",
    # Longer than the delay of a write whose timeout is tested.
    "GATEWAY_ACME_SETTLE_SECONDS": "4",
    "GATEWAY_ACME_WATCH_SECONDS": "0.5",  # --events
}


@dataclass(frozen=True)
class Acme:
    """The connector in a running gateway, and its emulator."""

    gateway: httpx2.Client
    sandbox: httpx2.Client
    connection_id: str
    described: Mapping[str, Any]
    """The installation, with its keys."""

    def list_page(self, **query: Any) -> Mapping[str, Any]:
        """Return a page of items."""
        response = self.gateway.get("items", params={"connection_id": self.connection_id, **query})
        page: Mapping[str, Any] = response.raise_for_status().json()
        return page

    def titles(self) -> list[str]:
        """Return the titles of all items."""
        return [item["title"] for item in self.list_page(limit=100)["data"]]

    def create(self, title: str, key: str | None = None) -> httpx2.Response:
        """Create an item."""
        body = {"connection_id": self.connection_id, "title": title, "idempotency_key": key or secrets.token_hex()}
        return self.gateway.post("items", json=body)

    def control(self, route: str, **body: Any) -> Any:
        """Control the emulator, and return its response."""
        return self.sandbox.post(route, json=body).raise_for_status().json()

    def statuses(self) -> set[int]:
        """Return the statuses with which the emulator responded."""
        return {request["status"] for request in self.sandbox.get("acme/requests").json()}


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acme]:
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
        key = {"Authorization": f"Bearer {described['keys']['write']}"}
        url = f"{described['base_url']}/v1/connectors/acme/"
        with (
            httpx2.Client(base_url=url, headers=key, timeout=60) as gateway,
            httpx2.Client(base_url=f"{described['sandbox_url']}/_control/") as sandbox,
        ):
            yield Acme(gateway, sandbox, described["connections"]["acme"], described)
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
def acme(running: Acme) -> Acme:
    """The connector, with the default data of the emulator and without faults."""
    running.control("reset")
    return running
