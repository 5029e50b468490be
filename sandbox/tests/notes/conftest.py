"""Fixtures of the notes emulator."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from sandbox.tests.notes.notes_client import Notes
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def client(sandbox: Sandbox) -> Iterator[Notes]:
    client_ = Notes(sandbox)
    yield client_
    client_.close()


@pytest.fixture
def notes(client: Notes) -> Notes:
    client.reset_if_changed()
    return client


@pytest.fixture(scope="module")
def everything(client: Notes) -> list[dict[str, Any]]:
    """All rows of the database that has a property of every type."""
    client.reset_if_changed()
    return client.rows(client.source("Everything")["id"])


@pytest.fixture
def clock(notes: Notes) -> Iterator[ManualClock]:
    """A hand clock in place of the emulator's own, at 2026-10-05T14:07:31.402Z."""
    original_clock = notes.emulator.context.clock
    manual_clock = ManualClock(1_791_209_251.402)
    notes.emulator.context.clock = manual_clock
    yield manual_clock
    notes.emulator.context.clock = original_clock
