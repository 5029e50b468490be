"""A gateway in front of the notes emulator, and a browser user who connects an account."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.connect_pages import BrowserUser, user
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

RETURN_URL = "https://app.example.com/connected"


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder, connectors = tmp_path_factory.mktemp("connect"), {"notes": NOTES}
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors=connectors, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30") as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    module_gateway.clear("notes")
    module_gateway.operator(
        "PATCH", f"/v1/workspaces/{module_gateway.workspace_id}", json={"return_urls": [RETURN_URL], "name": "Acme"}
    )
    return module_gateway


@pytest.fixture
def browser_user(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as browser_user:
        yield browser_user
