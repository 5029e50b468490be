"""One Chromium for all tests of a worker, and a gateway with two connectors and names that are difficult to display."""

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.connectors.notes import NOTES
from connector_gateway.kit.operation import AnyConnector
from harness.chromium import Window, chromium, chromium_path, window
from harness.gateway_server import Gateway, run_gateway
from harness.ports import free_port
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.notes import NotesEmulator

HOSTILE_NAME = "<b>Ärger</b> \u202e\u05e9\u05dc\u05d5\u05dd \U0001f642 & " + "W" * 150
"""A name with markup, both directions, an emoji, and a word longer than any line."""


@pytest.fixture(scope="session")
def executable() -> str:
    return chromium_path()


@pytest.fixture(scope="session")
async def browser(executable: str) -> AsyncIterator[Browser]:
    async with chromium(executable) as started:
        yield started


@pytest.fixture(scope="session")
def gateway(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    connectors: dict[str, AnyConnector] = {"notes": NOTES, "boards": BOARDS}
    folder = tmp_path_factory.mktemp("browser")
    with (
        run_emulators(notes=NotesEmulator, boards=BoardsEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors=connectors, GATEWAY_NOTES_BUDGET="3/1") as gateway,
    ):
        gateway.clear("notes")
        gateway.clear("boards")
        populate(gateway)
        yield gateway


@pytest.fixture(scope="session")
def full_gateway(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of every emulator, with its own URL, so that vendors redirect browsers to it."""
    folder = tmp_path_factory.mktemp("six")
    with run_emulators(**EMULATORS) as sandbox, run_gateway(sandbox, folder, port=free_port()) as gateway:
        yield gateway


def populate(gateway: Gateway) -> None:
    """Create workspaces, keys, connections and runs with names that are difficult to display."""
    gateway.run(gateway.app.workspaces.change(gateway.workspace_id, name=HOSTILE_NAME))
    gateway.run(gateway.app.keys.create(gateway.workspace_id, "read", name=HOSTILE_NAME))
    gateway.run(gateway.app.connections.change(gateway.connections["notes"], name=HOSTILE_NAME))
    gateway.run(
        gateway.app.webhooks.create(gateway.workspace_id, "https://example.com/" + "e" * 150, name=HOSTILE_NAME)
    )
    gateway.get("/notes/databases")
    gateway.get("/notes/databases", limit="many")
    gateway.get("/boards/lists", board_id=gateway.examples("boards")["board_id"])


@pytest.fixture
async def operator(browser: Browser, gateway: Gateway) -> AsyncIterator[Window]:
    """A wide window with a signed-in operator."""
    async with window(browser, gateway.base_url) as opened:
        await opened.sign_in()
        yield opened
