"""A gateway with the notes connector and a fake vendor, over real HTTP; one for all tests of a module."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.core_fixture import FakeUpstream, connectors
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture(scope="module")
def shelf() -> FakeUpstream:
    return FakeUpstream()


@pytest.fixture(scope="module")
def module_gateway(shelf: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    connectors_by_name = {"notes": NOTES, **connectors(shelf)}
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("http"), connectors=connectors_by_name) as gateway,
    ):
        credentials = {"token": "shelf-token-1"}
        connection = gateway.run(gateway.app.connections.create(gateway.workspace_id, "shelf", credentials))
        gateway.connections["shelf"] = connection["connection_id"]
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway, shelf: FakeUpstream) -> Gateway:
    module_gateway.clear("notes")
    shelf.things.clear()
    shelf.troubles.clear()
    return module_gateway
