"""kill -9 during a write: a retry of the call returns one page, never two."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from harness.gateway_process import CallThread, Installation, run_installation
from harness.requirement import requirement
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox

SETTLE_SECONDS = "4"
"""Longer than the emulator processes any request in these tests."""


@pytest.fixture
def emulator(sandbox: Sandbox) -> NotesEmulator:
    emulator = sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    emulator.context.faults.clear()
    emulator.context.knobs["limits"] = False
    return emulator


@pytest.fixture(scope="module")
def installation(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder: Path = tmp_path_factory.mktemp("installation")
    with run_installation(sandbox, folder, GATEWAY_NOTES_SETTLE_SECONDS=SETTLE_SECONDS) as installation:
        yield installation


def create(installation: Installation, emulator: NotesEmulator, name: str, **more: Any) -> Any:
    database_id = emulator.examples()["database_id"]
    return installation.call(
        "POST", "/notes/pages", database_id=database_id, properties={"Name": name}, idempotency_key=name, **more
    )


def find_page_ids(emulator: NotesEmulator, name: str) -> list[str]:
    return [page.id for page in list(emulator.workspace.pages.values()) if page.title == name]


def kill_during_creation(
    installation: Installation, emulator: NotesEmulator, fault: dict[str, Any], **more: Any
) -> str:
    """Kill the gateway while *fault* delays a request of a creation, restart it, and return the page's name."""
    name = f"Crash {uuid4()}"
    installation.http.post(f"{emulator_control(installation)}/faults", json=fault).raise_for_status()
    calling = CallThread(lambda: create(installation, emulator, name, **more))
    wait_until(lambda: not emulator.context.faults[0].times)
    installation.end()
    assert calling.ended() is None
    installation.start()
    return name


def emulator_control(installation: Installation) -> str:
    return f"{installation.sandbox.address}/_control/notes"


@requirement("common-93", "common-94")
@pytest.mark.parametrize(
    "fault",
    [
        {"method": "GET", "path": "/v1/databases", "fault": "delay", "seconds": 1.0},
        {"method": "POST", "path": "/v1/pages", "fault": "slow_body", "seconds": 30},
    ],
    ids=["before the write", "after the write"],
)
def test_retry_after_a_kill_returns_the_only_page(
    installation: Installation, emulator: NotesEmulator, fault: dict[str, Any]
) -> None:
    name = kill_during_creation(installation, emulator, fault)
    again = create(installation, emulator, name)

    assert 200 == again.status_code
    assert [again.json()["data"]["page_id"]] == find_page_ids(emulator, name)


@requirement("common-112", "common-113")
def test_history_reports_interrupted_run_and_recovered_retry(
    installation: Installation, emulator: NotesEmulator
) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "slow_body", "seconds": 30}
    name = kill_during_creation(installation, emulator, fault)
    create(installation, emulator, name)
    repeat, killed = installation.manage("GET", "/v1/runs?limit=2")

    assert ("interrupted", "create_page") == (killed["status"], killed["operation"])
    assert {"key": name, "outcome": "unfinished"} == killed["idempotency"]
    assert ("ok", "recovered") == (repeat["status"], repeat["idempotency"]["outcome"])
