"""SIGTERM: running calls are finished, new ones are rejected, and no state is left behind."""

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, select

from connector_gateway.storage.sql import tables
from harness.gateway_process import CallThread, Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


def test_the_process_exits_after_finishing_a_running_call(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stopping")
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 0.5}
    with run_installation(sandbox, folder) as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        url = f"{installation.base_url}/v1/connectors/notes/databases"
        query = {"connection_id": installation.connections["notes"]}
        headers = {"Authorization": f"Bearer {installation.key}"}
        calling = CallThread(lambda: httpx.get(url, params=query, headers=headers, timeout=60))
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        code = installation.end(signal.SIGTERM)
        response = calling.ended()
        with pytest.raises(httpx.TransportError):
            httpx.get(url)
    engine = create_engine(f"sqlite:///{folder / 'gateway.db'}")
    with engine.connect() as reading:
        run_id, status = reading.execute(select(tables.runs.c.run_id, tables.runs.c.status)).one()
        processes = reading.execute(select(tables.processes)).all()
    engine.dispose()

    assert response is not None
    assert (200, 0) == (response.status_code, code)
    assert (response.json()["run_id"], "ok") == (run_id, status)
    assert [] == processes


def start_call(installation: Installation, query: str = "databases") -> CallThread:
    """Start a read."""
    url = f"{installation.base_url}/v1/connectors/notes/{query}"
    headers = {"Authorization": f"Bearer {installation.key}"}
    params = {"connection_id": installation.connections["notes"]}
    return CallThread(lambda: httpx.get(url, params=params, headers=headers, timeout=60))


def start_write(installation: Installation, key: str | None = None) -> CallThread:
    """Start the creation of a page."""
    database_id = installation.sandbox.emulators["notes"].examples()["database_id"]
    body = {"database_id": database_id, "properties": {}, "idempotency_key": key}
    return CallThread(lambda: installation.call("POST", "/notes/pages", **body))


def read_runs(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the outcome of each run in the history."""
    engine = create_engine(f"sqlite:///{folder / 'gateway.db'}")
    columns = tables.runs.c
    with engine.connect() as reading:
        rows = reading.execute(select(columns.run_id, columns.status, columns.http_status, columns.code)).all()
    engine.dispose()
    return {row.run_id: tuple(row[1:]) for row in rows}


@requirement("common-143")
def test_a_queued_call_is_rejected_immediately(sandbox: Sandbox, tmp_path: Path) -> None:
    # One for the account of the new connection, and one for the first call.
    settings = {"GATEWAY_NOTES_BUDGET": "2/20", "GATEWAY_QUEUE_SECONDS": "1000"}
    with run_installation(sandbox, tmp_path, **settings) as installation:
        going_on = start_call(installation)
        wait_until(lambda: "/v1/search" in [one.path for one in sandbox.emulators["notes"].context.request_log])
        waiting = start_write(installation, "key-0")
        wait_until(lambda: ("running", None, None) in read_runs(tmp_path).values())
        began = time.monotonic()
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        response = waiting.ended()
        took, still_there = time.monotonic() - began, installation.process.poll() is None
        installation.end(signal.SIGKILL)
        going_on.ended()

    assert response is not None
    body = response.json()
    assert (503, "overloaded", True) == (response.status_code, body["error"]["code"], still_there)
    assert str(body["retry_after"]) == response.headers["retry-after"]
    assert ("error", 503, "overloaded") == read_runs(tmp_path)[body["run_id"]]
    assert took < 5


@requirement("common-143")
def test_a_call_that_waits_for_its_key_is_rejected_immediately(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 0.5}
    with run_installation(sandbox, tmp_path) as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        first = start_write(installation, "key-1")
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        second = start_write(installation, "key-1")
        wait_until(lambda: 2 == len(read_runs(tmp_path)))
        installation.end(signal.SIGTERM)
        responses = [first.ended(), second.ended()]

    assert [200, 503] == [None if response is None else response.status_code for response in responses]


@requirement("common-218")
def test_a_draining_process_is_not_ready_and_serves_until_ctrl_c(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_installation(sandbox, tmp_path, GATEWAY_RETIRE_SECONDS="1000") as installation:
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not installation.ready())
        readiness = installation.http.get(f"{installation.base_url}/readyz")
        response = start_call(installation).ended()
        code = installation.end(signal.SIGINT)

    assert response is not None
    assert (503, "stopping", 200, 0) == (readiness.status_code, readiness.json()["status"], response.status_code, code)
    assert ["close", "close"] == [one.headers["connection"] for one in (readiness, response)]


@requirement("common-144")
def test_an_unfinished_call_is_answered_with_its_run(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 1.9}
    with run_installation(sandbox, tmp_path, GATEWAY_STOP_SECONDS="0.3") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = start_call(installation)
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        code = installation.end(signal.SIGTERM)
        response = calling.ended()

    assert response is not None
    body = response.json()
    assert (503, "overloaded", 0) == (response.status_code, body["error"]["code"], code)
    assert "retry-after" in response.headers
    assert ("error", 503, "overloaded") == read_runs(tmp_path)[body["run_id"]]


@requirement("common-144")
def test_a_second_ctrl_c_cancels_calls_and_sends_their_responses(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 60}
    with run_installation(sandbox, tmp_path, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="60") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = start_call(installation)
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        assert installation.process is not None
        installation.process.send_signal(signal.SIGINT)
        wait_until(lambda: not accepts_connections(installation))
        code = installation.end(signal.SIGINT)
        response = calling.ended()

    assert response is not None
    assert (503, "overloaded", 0) == (response.status_code, response.json()["error"]["code"], code)
    assert ("error", 503, "overloaded") == read_runs(tmp_path)[response.json()["run_id"]]


def accepts_connections(installation: Installation) -> bool:
    """Return True if the installation accepts connections."""
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", httpx.URL(installation.base_url).port))


@requirement("common-80", "common-144")
def test_a_cancelled_write_has_an_unknown_outcome(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 1.9}
    with run_installation(sandbox, tmp_path, GATEWAY_STOP_SECONDS="0.3") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = start_write(installation, "cut off")
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        installation.end(signal.SIGTERM)
        response = calling.ended()

    assert response is not None
    body = response.json()
    assert (502, "outcome_unknown") == (response.status_code, body["error"]["code"])
    assert ("error", 502, "outcome_unknown") == read_runs(tmp_path)[body["run_id"]]
