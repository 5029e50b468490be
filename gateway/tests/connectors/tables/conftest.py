"""The gateway in front of the seeded Airtable emulator."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.identifiers import WorkspaceId
from gateway.tests.connectors.tables.vendor_view import VendorInspector, copy_bases, inspect
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables.data.state import Base


def local_files() -> PublicFileFetcher:
    """Return a file fetcher that also accepts local URLs."""
    return PublicFileFetcher(2, 12_000_000, is_reachable=lambda address: address == "127.0.0.1")


@pytest.fixture(scope="module")
def module_gateway(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("tables")
    with run_gateway(sandbox, folder, connectors=only("tables"), files=local_files()) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def default_bases(module_gateway: Gateway) -> list[Base]:
    return copy_bases(inspect(module_gateway).emulator.workspace.bases)


@pytest.fixture
def gateway(module_gateway: Gateway, default_bases: list[Base]) -> Gateway:
    """Return the gateway with the default data and an empty cache."""
    emulator = inspect(module_gateway).emulator
    emulator.workspace.bases = copy_bases(default_bases)
    emulator.authorise()
    module_gateway.clear("tables")
    module_gateway.forget_writes()
    workspace_id = WorkspaceId(module_gateway.workspace_id)
    created = module_gateway.run(module_gateway.app.connections.create(workspace_id, "tables", emulator.credentials()))
    return replace(module_gateway, connections={"tables": created["connection_id"]})


@pytest.fixture
def slow_vendor_gateway(gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose vendor can take up to a minute to process a request."""
    settings = {"GATEWAY_TABLES_SETTLE_SECONDS": "60", "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.5"}
    options: dict[str, Any] = {"connectors": only("tables"), **settings}
    with run_gateway(gateway.sandbox, tmp_path, files=local_files(), **options) as slow_gateway:
        yield slow_gateway


@pytest.fixture
def inspector(gateway: Gateway) -> VendorInspector:
    return inspect(gateway)
