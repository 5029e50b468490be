"""Fixtures of the Airtable emulator's tests."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from sandbox.tests.tables.airtable_client import NOON, AirtableClient
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator


@pytest.fixture(scope="module")
def airtable_sandbox() -> Iterator[Sandbox]:
    with run_emulators(tables=TablesEmulator) as sandbox:
        yield sandbox


@pytest.fixture
def airtable(airtable_sandbox: Sandbox) -> Iterator[AirtableClient]:
    clock = ManualClock(NOON)
    airtable_sandbox.emulators["tables"].context.clock = clock
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {airtable_sandbox.emulators['tables'].credentials()['token']}"
        airtable_client = AirtableClient(airtable_sandbox, clock, session)
        airtable_client.emulator.context.reset()
        airtable_client.emulator.context.knobs["limits"] = False
        yield airtable_client
        if airtable_client.was_controlled or airtable_client.has_written():
            airtable_client.emulator.reset()
