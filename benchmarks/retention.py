"""What it costs to keep the history short: purging beside calls, and looking into a long history."""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import insert

from connector_gateway.core.claims import CLAIM, RELEASE_ABANDONED, Claims
from connector_gateway.core.retention import Retention
from connector_gateway.core.runs import INTERRUPT_ABANDONED, PUT_RUN, Runs
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId, ulid
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

RUNS = int(os.environ.get("BENCHMARK_RUNS", "1000000"))
"""Runs that there are at the beginning; a tenth as many claims."""

BATCH = 20_000
CONNECTIONS = 100
CALLS_PER_SECOND = 500
MEASURED_SECONDS = 30.0
KEPT_SECONDS = 30 * 24 * 60 * 60.0
BAR_SECONDS = 0.05
TICK_SECONDS = 0.005
SETTLING_SECONDS = 1.0

T = TypeVar("T")
Row = tuple[str, str, str, bool]


def rows() -> Iterator[Row]:
    """What is measured, the figure, the bar, and whether it is reached."""
    yield from asyncio.run(_measured())


async def _measured() -> Sequence[Row]:
    with tempfile.TemporaryDirectory() as folder:
        writer = TimedWriter()
        async with Database(f"sqlite:///{Path(folder) / 'history.db'}", seconds=600, writer=writer) as database:
            await _fill(database)
            await asyncio.sleep(SETTLING_SECONDS)
            bench = Bench(database, writer)
            writer.held.clear()
            return await bench.measure()


class TimedWriter(ThreadPoolExecutor):
    """The thread that writes, and for how many seconds each transaction had it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.held: list[float] = []

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have *work* done, and note how long it took."""

        def timed() -> T:
            began, waited = time.perf_counter(), _waited()
            try:
                return work(*args, **kwargs)
            finally:
                self.held.append(time.perf_counter() - began - (_waited() - waited))

        return super().submit(timed)


class Bench:
    """Calls that come evenly, a purge beside them, and what both cost."""

    def __init__(self, database: Database, writer: "TimedWriter") -> None:
        self._writer = writer
        self._database = database
        self._runs = Runs(database, ProcessId("proc_bench"), SystemClock())
        self._claims = Claims(database, ProcessId("proc_bench"), SystemClock())
        self._deleted = 0
        self._called = 0

    async def measure(self) -> Sequence[Row]:
        """The figures of calls with a purge beside them, then of look-ups."""
        idle = await _lateness(asyncio.sleep(MEASURED_SECONDS / 3))
        retention = Retention(SystemClock(), always=(self._purge_runs, self._purge_claims))
        async with retention:
            late = await _lateness(self._call_for(MEASURED_SECONDS))
        abandoned = await self._usual(self._abandoned)
        pages = [(filters, await self._usual(self._page(**filters))) for filters in FILTERS]
        rate = self._deleted / MEASURED_SECONDS
        name = f"{RUNS:,} runs, {RUNS // 10:,} claims"
        return [
            _row(f"{name}: longest hold of the writer", max(self._writer.held)),
            (f"{name}: median hold of the writer", f"{statistics.median(self._writer.held) * 1e3:.2f} ms", "-", True),
            _row(f"{name}: longest hold of the event loop, over {idle * 1e3:.1f} ms of an idle one", late - idle),
            (
                f"{name}: deleted a second beside {self._called / MEASURED_SECONDS:.0f} calls",
                f"{rate:.0f} rows",
                f">= {2 * CALLS_PER_SECOND}",
                rate >= 2 * CALLS_PER_SECOND,
            ),
            _row(f"{name}: what the dead left, looked for", abandoned),
            *[_row(f"{name}: a page of {wanted or 'all'}", took) for wanted, took in pages],
        ]

    async def _call_for(self, seconds: float) -> None:
        """Write runs and claims as so many keyed writes a second do."""
        began, number = time.monotonic(), 0
        until = began + seconds
        writing: set[asyncio.Task[Any]] = set()
        while time.monotonic() < until:
            while number < (time.monotonic() - began) * CALLS_PER_SECOND:
                number += 1
                task = asyncio.create_task(self._call(number))
                writing.add(task)
                task.add_done_callback(writing.discard)
            await asyncio.sleep(TICK_SECONDS)
        await asyncio.gather(*writing)
        self._called = number

    async def _call(self, number: int) -> None:
        now = time.time()
        await self._database.put_all(
            [
                (PUT_RUN, _run(f"run_{ulid()}", number, now)),
                (CLAIM, _claim(f"new {ulid()}", now)),
            ]
        )

    async def _purge_runs(self) -> int:
        deleted = await self._runs.purge(time.time() - KEPT_SECONDS)
        self._deleted += deleted
        return deleted

    async def _purge_claims(self) -> int:
        deleted = await self._claims.purge()
        self._deleted += deleted
        return deleted

    async def _abandoned(self) -> None:
        await self._database.write(
            lambda writing: (writing.execute(INTERRUPT_ABANDONED), writing.execute(RELEASE_ABANDONED))
        )

    def _page(self, **filters: str) -> Callable[[], Awaitable[object]]:
        return lambda: self._runs.page(WorkspaceId("ws_bench"), **filters)  # type: ignore[arg-type]

    @staticmethod
    async def _usual(work: Callable[[], Awaitable[object]]) -> float:
        return statistics.median([await _timed(work) for _ in range(20)])


FILTERS: Sequence[dict[str, str]] = (
    {},
    {"connection_id": "conn_7"},
    {"status": "error"},
    {"status": "interrupted"},
    {"operation": "nowhere"},
)


def _row(what: str, seconds: float) -> Row:
    return what, f"{seconds * 1e3:.1f} ms", f"<= {BAR_SECONDS * 1e3:.0f} ms", seconds <= BAR_SECONDS


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _lateness(work: Awaitable[object]) -> float:
    """How late the event loop wakes somebody at the worst, while *work* goes on; in seconds."""
    late: list[float] = []
    ticking = asyncio.create_task(_tick(late))
    await work
    ticking.cancel()
    with suppress(asyncio.CancelledError):
        await ticking
    return max(late)


async def _tick(late: list[float]) -> None:
    """Note how much later than wanted this is woken, each time."""
    while True:
        began, waited = time.perf_counter(), _waited()
        await asyncio.sleep(TICK_SECONDS)
        late.append(time.perf_counter() - began - TICK_SECONDS - (_waited() - waited))


def _waited() -> float:
    """Seconds that this thread has waited for a processor, which other programs had: no figure of ours."""
    return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9


async def _fill(database: Database) -> None:
    """Put in runs of which a third is past its time, and claims all of which are, so that there is work for a purge."""
    first = time.time() - 1.5 * KEPT_SECONDS
    step = 1.5 * KEPT_SECONDS / RUNS
    for start in range(0, RUNS, BATCH):
        made = [_dated_run(number, first + number * step) for number in range(start, min(start + BATCH, RUNS))]
        claims = [_claim(f"old {number}", first) for number in range(start // 10, (start + len(made)) // 10)]
        await database.write(
            lambda writing, made=made, claims=claims: (  # type: ignore[misc]
                writing.execute(insert(tables.runs), made),
                writing.execute(insert(tables.claims), claims),
            )
        )


def _dated_run(number: int, at: float) -> dict[str, object]:
    return _run(f"run_{ulid(int(at * 1000) << 80 | number)}", number, at)


def _run(run_id: str, number: int, at: float) -> dict[str, object]:
    failed = number % 50 == 0
    return {
        "run_id": run_id,
        "workspace_id": "ws_bench",
        "key_id": "key_bench",
        "connection_id": f"conn_{number % CONNECTIONS}",
        "connector": "notes",
        "operation": "create_page",
        "surface": "http",
        "status": "error" if failed else "ok",
        "http_status": 502 if failed else 200,
        "code": "upstream_error" if failed else None,
        "started_at": at,
        "duration_ms": 1.0,
        "upstream": [],
        "idempotency": None,
        "process_id": None,
    }


def _claim(key: str, at: float) -> dict[str, object]:
    return {
        "workspace_id": "ws_bench",
        "connection_id": f"conn_{hash(key) % CONNECTIONS}",
        "operation": "create_page",
        "idempotency_key": key,
        "run_id": "run_bench",
        "attempt": 1,
        "state": "done",
        "process_id": None,
        "settle_seconds": 60.0,
        "status": "ok",
        "data": '{"page_id": "0123456789"}',
        "expires_at": at + 24 * 60 * 60,
    }
