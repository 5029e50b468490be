"""A gateway with the notes room only, in front of its emulator; one of each for all tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.playing import playing
from harness.serving import Gateway, Restarting, serving
from harness.serving import restarting as serving_again
from workspace_sandbox.notes import NotesEmulator


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


@pytest.fixture
def patient(gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that waits half a second for answers, of an application that may work on a request for a minute."""
    with serving(
        gateway.sandbox,
        tmp_path,
        connectors={"notes": NOTES},
        GATEWAY_NOTES_SETTLE_SECONDS="60",
        GATEWAY_UPSTREAM_TIMEOUT_SECONDS="0.5",
    ) as another:
        yield another


@pytest.fixture
def restarting(gateway: Gateway, tmp_path: Path) -> Restarting:
    """A gateway of its own that can be started again."""
    return serving_again(gateway.sandbox, tmp_path, connectors={"notes": NOTES})
