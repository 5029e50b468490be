"""The boards emulator on real HTTP."""

from collections.abc import Iterator

import pytest
import requests

from harness.sandbox_server import run_emulators
from sandbox.tests.boards.boards_client import Trello
from workspace_sandbox.boards import BoardsEmulator


@pytest.fixture(scope="module")
def emulator_and_control_url() -> Iterator[tuple[BoardsEmulator, str]]:
    with run_emulators(boards=BoardsEmulator) as sandbox:
        emulator = sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        yield emulator, sandbox.address


@pytest.fixture
def trello(emulator_and_control_url: tuple[BoardsEmulator, str]) -> Iterator[Trello]:
    emulator, control = emulator_and_control_url
    with requests.Session() as session:
        session.post(f"{control}/_control/reset", timeout=60)
        yield Trello(emulator, control, session)
