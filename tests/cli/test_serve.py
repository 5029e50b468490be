"""``serve`` where it cannot start: one sentence, and nothing touched."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from connector_gateway.storage import tables
from harness.installed import Calling, installed, wait_until
from harness.playing import playing
from harness.requirement import requirement
from harness.serving import FAST, OPERATOR
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with playing(notes=NotesEmulator) as started:
        yield started


def serve(database_url: str, port: int = 0) -> subprocess.CompletedProcess[str]:
    """Serve until it fails."""
    environment = {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": OPERATOR,
        "GATEWAY_STORAGE_SECONDS": "2",
    }
    command = [sys.executable, "-m", "connector_gateway", "serve", "--port", str(port)]
    return subprocess.run(
        command, env={**os.environ, **FAST, **environment}, capture_output=True, text=True, timeout=30, check=False
    )


@requirement("storage:alone")
def test_a_second_one_on_the_same_file_is_refused_and_the_first_goes_on(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 60}
    database_url = f"sqlite:///{tmp_path / 'gateway.db'}"
    with installed(sandbox, tmp_path, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="60") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        body = {"database_id": sandbox.emulators["notes"].examples()["database_id"], "properties": {}}
        calling = Calling(lambda: installation.call("POST", "/notes/pages", idempotency_key="key-1", **body))
        wait_until(lambda: not sandbox.emulators["notes"].stage.faults[0].times)
        second = serve(database_url)
        engine = create_engine(database_url)
        with engine.connect() as reading:
            processes = reading.execute(select(tables.processes)).all()
            state = reading.execute(select(tables.claims.c.state)).scalar()
        engine.dispose()
        installation.http.delete(f"{sandbox.address}/_control/notes/faults")
        first = calling.ended()
        assert installation.process is not None
        named = f"process {installation.process.pid} on {socket.gethostname()}"

    assert (3, "") == (second.returncode, second.stdout)
    served = f"The database {(tmp_path / 'gateway.db').resolve()} is being served by another process"
    assert [f"Error: {served}, {named}; stop that one first."] == second.stderr.splitlines()
    assert first is not None
    assert (200, 1, "held") == (first.status_code, len(processes), state)


@requirement("storage:port")
def test_one_whose_port_is_taken_has_touched_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = serve(f"sqlite:///{tmp_path / 'gateway.db'}", port)

    assert (3, "") == (ended.returncode, ended.stdout)
    assert [f"Error: Port {port} on 127.0.0.1 is in use; choose another with --port."] == ended.stderr.splitlines()
    assert [] == list(tmp_path.iterdir())


@requirement("storage:alone")
def test_a_database_that_is_not_there_is_said_in_a_sentence() -> None:
    ended = serve("postgresql://nobody@127.0.0.1:1/nothing")

    assert 3 == ended.returncode
    assert ended.stderr.startswith("Error: The database cannot be opened: ")
    assert "Traceback" not in ended.stderr


@requirement("storage:alone")
def test_a_killed_one_leaves_the_file_free(sandbox: Sandbox, tmp_path: Path) -> None:
    with installed(sandbox, tmp_path) as installation:
        installation.end(signal.SIGKILL)
        installation.start()

        assert installation.ready()
