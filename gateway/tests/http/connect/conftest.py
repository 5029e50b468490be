"""A gateway in front of the notes stand-in, and somebody who connects an account."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.connecting import BrowserUser, user
from harness.playing import playing
from harness.serving import Gateway, serving
from workspace_sandbox.notes import NotesEmulator

RETURN_URL = "https://app.example.com/connected"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder, rooms = tmp_path_factory.mktemp("connect"), {"notes": NOTES}
    with (
        playing(notes=NotesEmulator) as sandbox,
        serving(sandbox, folder, connectors=rooms, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30") as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(house: Gateway) -> Gateway:
    house.clear("notes")
    house.operator("PATCH", f"/v1/workspaces/{house.workspace_id}", json={"return_urls": [RETURN_URL], "name": "Acme"})
    return house


@pytest.fixture
def someone(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as someone:
        yield someone
