"""A full disk, seen from outside a process that cannot write to files."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.gateway_process import Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_installation(sandbox, tmp_path, GATEWAY_STORAGE_SECONDS="5") as started,
    ):
        yield started


@contextmanager
def full_disk(installation: Installation) -> Iterator[None]:
    """Make all writes of the process to files fail inside the context."""
    assert installation.process is not None
    before = resource.prlimit(installation.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(installation.process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(installation.process.pid, resource.RLIMIT_FSIZE, before)


def create_page(installation: Installation) -> httpx.Response:
    examples = installation.sandbox.emulators["notes"].examples()
    return installation.call("POST", "/notes/pages", database_id=examples["database_id"], properties={})


def create_pages(installation: Installation, count: int) -> list[tuple[int, Any]]:
    """Return status and code of *count* writing calls."""
    outcomes = [create_page(installation) for _ in range(count)]
    return [(response.status_code, response.json().get("error", {}).get("code")) for response in outcomes]


@requirement("common-158")
def test_a_full_disk_is_503_and_not_ready_until_space_is_free_again(installation: Installation) -> None:
    with full_disk(installation):
        outcomes = create_pages(installation, 5)
        ready = installation.http.get(f"{installation.base_url}/readyz").status_code
        alive = installation.http.get(f"{installation.base_url}/healthz").status_code
    after = create_pages(installation, 5)

    assert [(503, "storage_unavailable")] * 5 == outcomes
    assert (503, 200) == (ready, alive)
    assert [(200, None)] * 5 == after
