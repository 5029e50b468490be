"""The newest page of a connection's history, in a short and in a long one."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import insert

from connector_gateway.core.runs import Runs
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId, ulid
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

SHORT, LONG = 10_000, 1_000_000
BATCH = 20_000
CONNECTIONS = 100
ROUNDS = 200


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """What is measured, the figure, the bar, and whether it is reached."""
    short, long = asyncio.run(_look_up(SHORT)), asyncio.run(_look_up(LONG))
    ratio = long / short
    figure = f"{ratio:.2f}x ({long * 1e6:.0f} us / {short * 1e6:.0f} us)"
    yield f"newest page of history, {LONG:,} runs over {SHORT:,}, SQLite", figure, "<= 2x", ratio <= 2


async def _look_up(count: int) -> float:
    """Median seconds of a look-up among *count* runs."""
    with tempfile.TemporaryDirectory() as folder:
        async with Database(f"sqlite:///{Path(folder) / 'history.db'}") as database:
            for start in range(0, count, BATCH):
                made = [_run(number) for number in range(start, min(start + BATCH, count))]
                await database.write(lambda writing, made=made: writing.execute(insert(tables.runs), made))  # type: ignore[misc]
            runs = Runs(database, ProcessId("proc_bench"), SystemClock())
            return statistics.median([await _timed(runs, number) for number in range(ROUNDS)])


async def _timed(runs: Runs, number: int) -> float:
    began = time.perf_counter()
    await runs.list(WorkspaceId("ws_bench"), connection_id=f"conn_{number % CONNECTIONS}", limit=50)
    return time.perf_counter() - began


def _run(number: int) -> dict[str, object]:
    return {
        "run_id": f"run_{ulid(1_700_000_000_000 + number << 80)}",
        "workspace_id": "ws_bench",
        "key_id": "key_bench",
        "connection_id": f"conn_{number % CONNECTIONS}",
        "connector": "notes",
        "operation": "search_pages",
        "surface": "http",
        "status": "ok",
        "http_status": 200,
        "started_at": 1_700_000_000 + number / 1000,
        "duration_ms": 1.0,
        "upstream": [],
    }
