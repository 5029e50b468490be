"""SIGTERM: calls under way end, new ones are not taken, and nothing is left behind."""

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, select

from connector_gateway.storage import tables
from harness.installation import CallThread, Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


def test_a_call_under_way_is_answered_and_then_the_process_ends(
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
        answer = calling.ended()
        with pytest.raises(httpx.TransportError):
            httpx.get(url)
    engine = create_engine(f"sqlite:///{folder / 'gateway.db'}")
    with engine.connect() as reading:
        run_id, status = reading.execute(select(tables.runs.c.run_id, tables.runs.c.status)).one()
        processes = reading.execute(select(tables.processes)).all()
    engine.dispose()

    assert answer is not None
    assert (200, 0) == (answer.status_code, code)
    assert (answer.json()["run_id"], "ok") == (run_id, status)
    assert [] == processes


def start_call(installation: Installation, query: str = "databases") -> CallThread:
    """A read under way."""
    url = f"{installation.base_url}/v1/connectors/notes/{query}"
    headers = {"Authorization": f"Bearer {installation.key}"}
    params = {"connection_id": installation.connections["notes"]}
    return CallThread(lambda: httpx.get(url, params=params, headers=headers, timeout=60))


def written(installation: Installation, key: str | None = None) -> CallThread:
    """A page under way."""
    database_id = installation.sandbox.emulators["notes"].examples()["database_id"]
    body = {"database_id": database_id, "properties": {}, "idempotency_key": key}
    return CallThread(lambda: installation.call("POST", "/notes/pages", **body))


def runs(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What the history says of each run."""
    engine = create_engine(f"sqlite:///{folder / 'gateway.db'}")
    columns = tables.runs.c
    with engine.connect() as reading:
        rows = reading.execute(select(columns.run_id, columns.status, columns.http_status, columns.code)).all()
    engine.dispose()
    return {row.run_id: tuple(row[1:]) for row in rows}


@requirement("common-143")
def test_a_queued_call_is_rejected_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    # One for asking whose the connection is when it is made, and one for the first call.
    settings = {"GATEWAY_NOTES_BUDGET": "2/60", "GATEWAY_QUEUE_SECONDS": "1000"}
    with run_installation(sandbox, tmp_path, **settings) as installation:
        going_on = start_call(installation)
        wait_until(lambda: "/v1/search" in [one.path for one in sandbox.emulators["notes"].context.request_log])
        waiting = written(installation, "key-0")
        wait_until(lambda: ("running", None, None) in runs(tmp_path).values())
        began = time.monotonic()
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        answer = waiting.ended()
        took, still_there = time.monotonic() - began, installation.process.poll() is None
        installation.end(signal.SIGKILL)
        going_on.ended()

    assert answer is not None
    body = answer.json()
    assert (503, "overloaded", True) == (answer.status_code, body["error"]["code"], still_there)
    assert str(body["retry_after"]) == answer.headers["retry-after"]
    assert ("error", 503, "overloaded") == runs(tmp_path)[body["run_id"]]
    assert took < 5


@requirement("common-143")
def test_a_call_that_waits_for_another_with_its_key_is_rejected_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 0.5}
    with run_installation(sandbox, tmp_path) as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        first = written(installation, "key-1")
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        second = written(installation, "key-1")
        wait_until(lambda: 2 == len(runs(tmp_path)))
        installation.end(signal.SIGTERM)
        answers = [first.ended(), second.ended()]

    assert [200, 503] == [None if answer is None else answer.status_code for answer in answers]


@requirement("common-218")
def test_one_that_retires_says_so_and_takes_calls_until_ctrl_c(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_installation(sandbox, tmp_path, GATEWAY_RETIRE_SECONDS="1000") as installation:
        assert installation.process is not None
        installation.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not installation.ready())
        readiness = installation.http.get(f"{installation.base_url}/readyz")
        answer = start_call(installation).ended()
        code = installation.end(signal.SIGINT)

    assert answer is not None
    assert (503, "stopping", 200, 0) == (readiness.status_code, readiness.json()["status"], answer.status_code, code)
    assert ["close", "close"] == [one.headers["connection"] for one in (readiness, answer)]


@requirement("common-144")
def test_a_call_that_does_not_end_in_time_is_answered_with_its_run(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 1.9}
    with run_installation(sandbox, tmp_path, GATEWAY_STOP_SECONDS="0.3") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = start_call(installation)
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        code = installation.end(signal.SIGTERM)
        answer = calling.ended()

    assert answer is not None
    body = answer.json()
    assert (503, "overloaded", 0) == (answer.status_code, body["error"]["code"], code)
    assert "retry-after" in answer.headers
    assert ("error", 503, "overloaded") == runs(tmp_path)[body["run_id"]]


@requirement("common-144")
def test_a_second_ctrl_c_cuts_calls_off_which_are_answered_all_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 60}
    with run_installation(sandbox, tmp_path, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="60") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = start_call(installation)
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        assert installation.process is not None
        installation.process.send_signal(signal.SIGINT)
        wait_until(lambda: not takes_connections(installation))
        code = installation.end(signal.SIGINT)
        answer = calling.ended()

    assert answer is not None
    assert (503, "overloaded", 0) == (answer.status_code, answer.json()["error"]["code"], code)
    assert ("error", 503, "overloaded") == runs(tmp_path)[answer.json()["run_id"]]


def takes_connections(installation: Installation) -> bool:
    """Whether anybody listens at its address."""
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", httpx.URL(installation.base_url).port))


@requirement("common-80", "common-144")
def test_a_write_that_is_cut_off_has_an_unknown_outcome(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 1.9}
    with run_installation(sandbox, tmp_path, GATEWAY_STOP_SECONDS="0.3") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        calling = written(installation, "cut off")
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        installation.end(signal.SIGTERM)
        answer = calling.ended()

    assert answer is not None
    body = answer.json()
    assert (502, "outcome_unknown") == (answer.status_code, body["error"]["code"])
    assert ("error", 502, "outcome_unknown") == runs(tmp_path)[body["run_id"]]
