"""A stand-in for Airtable with the seed in it, by a clock that is told to go."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from sandbox.tests.tables.played import NOON, Played
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator


@pytest.fixture(scope="module")
def airtable_sandbox() -> Iterator[Sandbox]:
    with run_emulators(tables=TablesEmulator) as sandbox:
        yield sandbox


@pytest.fixture
def airtable(airtable_sandbox: Sandbox) -> Iterator[Played]:
    clock = ManualClock(NOON)
    airtable_sandbox.emulators["tables"].context.clock = clock
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {airtable_sandbox.emulators['tables'].credentials()['token']}"
        played = Played(airtable_sandbox, clock, session)
        played.emulator.context.reset()
        played.emulator.context.knobs["limits"] = False
        yield played
        if played.steered or played.has_written():
            played.emulator.reset()
