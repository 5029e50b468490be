"""SIGTERM: calls under way end, new ones are not taken, and nothing is left behind."""

import signal
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import create_engine, select

from connector_gateway.connectors.notes.emulator import NotesEmulator
from connector_gateway.sandbox.sandbox import Sandbox
from connector_gateway.storage import tables
from harness.installed import Calling, installed, wait_until
from harness.playing import playing


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with playing(notes=NotesEmulator) as started:
        yield started


def test_a_call_under_way_is_answered_and_then_the_process_ends(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stopping")
    fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 1.0}
    with installed(sandbox, folder) as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        url = f"{installation.base_url}/v1/connectors/notes/databases"
        query = {"connection_id": installation.connections["notes"]}
        headers = {"Authorization": f"Bearer {installation.key}"}
        calling = Calling(lambda: httpx.get(url, params=query, headers=headers, timeout=20))
        wait_until(lambda: not sandbox.emulators["notes"].stage.faults[0].times)
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
