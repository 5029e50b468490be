"""A gateway with the notes room only, in front of its emulator; one of each for all tests of a module."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.connectors.notes.emulator import NotesEmulator
from harness.playing import playing
from harness.serving import Gateway, serving


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(notes=NotesEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("notes"), connectors={"notes": NOTES}) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("notes")
    return room


@pytest.fixture
def leads(gateway: Gateway) -> str:
    """The seeded database with a property of most types."""
    return str(gateway.examples("notes")["database_id"])
