"""The gateway in front of the seeded Airtable emulator."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.core.public_urls.public_file_fetcher import PublicFileFetcher
from connector_gateway.kit.identifiers import WorkspaceId
from gateway.tests.connectors.tables.vendor_view import VendorInspector, copied, inspect
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables.data.state import Base


def local_files() -> PublicFileFetcher:
    """Return a file fetcher that also accepts local URLs."""
    return PublicFileFetcher(2, 12_000_000, is_reachable=lambda address: address == "127.0.0.1")


@pytest.fixture(scope="module")
def room(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("tables")
    with run_gateway(sandbox, folder, connectors=only("tables"), files=local_files()) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def seeded(room: Gateway) -> list[Base]:
    return copied(inspect(room).emulator.workspace.bases)


@pytest.fixture
def gateway(room: Gateway, seeded: list[Base]) -> Gateway:
    """Return the gateway with the default data and an empty cache."""
    emulator = inspect(room).emulator
    emulator.workspace.bases = copied(seeded)
    emulator.authorise()
    room.clear("tables")
    room.forget_writes()
    workspace_id = WorkspaceId(room.workspace_id)
    created = room.run(room.app.connections.create(workspace_id, "tables", emulator.credentials()))
    return replace(room, connections={"tables": created["connection_id"]})


@pytest.fixture
def unsettled(gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose vendor may process a request for up to a minute."""
    settings = {"GATEWAY_TABLES_SETTLE_SECONDS": "60", "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.5"}
    rooms: dict[str, Any] = {"connectors": only("tables"), **settings}
    with run_gateway(gateway.sandbox, tmp_path, files=local_files(), **rooms) as unhurried:
        yield unhurried


@pytest.fixture
def inside(gateway: Gateway) -> VendorInspector:
    return inspect(gateway)
