"""A client that keeps calling after the key's rate limit is exhausted, seen from outside the process."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from connector_gateway.core.history.rejected_calls import MAX_RECORDED
from harness.gateway_process import Installation, run_installation
from harness.gateway_server import OPERATOR
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

MORE = 50
REJECTED = "SELECT count(*), max(and_more) FROM runs WHERE code = 'rate_limited'"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with run_emulators(notes=NotesEmulator) as sandbox, run_installation(sandbox, tmp_path) as started:
        yield started


def narrow_key(installation: Installation) -> str:
    """A key with a limit of one call per minute."""
    (workspace,) = installation.manage("GET", "/v1/workspaces")
    options = {"workspace_id": workspace["workspace_id"], "scope": "read", "calls_per_minute": 1}
    return str(installation.manage("POST", "/v1/keys", **options)["key"])


def call_on(installation: Installation, key: str, count: int) -> list[httpx.Response]:
    """Make *count* calls, as fast as one caller can."""
    url = f"{installation.base_url}/v1/connectors/notes/databases"
    sent: dict[str, Any] = {"headers": {"Authorization": f"Bearer {key}"}, "params": {"connection_id": "conn_1"}}
    return [installation.http.get(url, **sent) for _ in range(count)]


def row_counts(installation: Installation) -> Any:
    """Return the number of stored rejected calls, and the count in the last of them."""
    with closing(sqlite3.connect(installation.folder / "gateway.db")) as database:
        return database.execute(REJECTED).fetchone()


@requirement("common-121")
def test_rate_limited_calls_do_not_fill_the_disk(installation: Installation) -> None:
    rejections = call_on(installation, narrow_key(installation), 1 + MAX_RECORDED + MORE)[1:]
    wait_until(lambda: row_counts(installation) == (MAX_RECORDED, MORE))
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    rows = [
        installation.http.get(f"{installation.base_url}/v1/runs/{response.json()['run_id']}", headers=headers)
        for response in (rejections[MAX_RECORDED - 1], rejections[-1])
    ]

    assert {429} == {response.status_code for response in rejections}
    assert MORE == rows[0].json()["data"]["and_more"]
    assert (404, "run_not_recorded") == (rows[1].status_code, rows[1].json()["error"]["code"])
