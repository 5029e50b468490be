"""A gateway with the notes room and a shelf, over real HTTP; one for all tests of a module."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.playing import playing
from harness.rehearsing import FakeUpstream, connectors
from harness.serving import Gateway, serving
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture(scope="module")
def shelf() -> FakeUpstream:
    return FakeUpstream()


@pytest.fixture(scope="module")
def house(shelf: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    rooms = {"notes": NOTES, **connectors(shelf)}
    with (
        playing(notes=NotesEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("http"), connectors=rooms) as gateway,
    ):
        credentials = {"token": "shelf-token-1"}
        made = gateway.run(gateway.app.connections.create(gateway.workspace_id, "shelf", credentials))
        gateway.connections["shelf"] = made["connection_id"]
        yield gateway


@pytest.fixture
def gateway(house: Gateway, shelf: FakeUpstream) -> Gateway:
    house.clear("notes")
    shelf.things.clear()
    shelf.troubles.clear()
    return house
