"""What it costs to keep a long history short: how long a purge beside calls holds whoever writes."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.filled import CONNECTIONS, KEPT_SECONDS, Wanted, filled
from connector_gateway.core.claims import CLAIM, RELEASE_ABANDONED, Claims
from connector_gateway.core.retention import JobRunner
from connector_gateway.core.runs import INTERRUPT_ABANDONED, PUT_RUN, Runs
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ProcessId, ulid
from connector_gateway.storage.database import Database

CALLS_PER_SECOND = 500
MEASURED_SECONDS = 30.0
BAR_SECONDS = 0.05
TICK_SECONDS = 0.005
SETTLING_SECONDS = 1.0

T = TypeVar("T")
Row = tuple[str, str, str, bool]


def rows(wanted: Wanted) -> Iterator[Row]:
    """What is measured, the figure, the bar, and whether it is reached."""
    with filled(wanted) as address:
        yield from asyncio.run(_measured(address, str(wanted)))


async def _measured(address: str, name: str) -> Sequence[Row]:
    writer = TimedWriter()
    async with Database(address, writer=writer) as database:
        await asyncio.sleep(SETTLING_SECONDS)
        writer.held.clear()
        return await Bench(database, writer).measure(name)


class TimedWriter(ThreadPoolExecutor):
    """The thread that writes: for how many seconds each transaction had it, and how much of that it worked."""

    def __init__(self) -> None:
        super().__init__(1)
        self.held: list[float] = []
        self.worked: list[float] = []

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have *work* done, and note how long it took."""

        def timed() -> T:
            began, waited, worked = time.perf_counter(), _waited(), time.thread_time()
            try:
                return work(*args, **kwargs)
            finally:
                self.held.append(time.perf_counter() - began - (_waited() - waited))
                self.worked.append(time.thread_time() - worked)

        return super().submit(timed)


class Bench:
    """Calls that come evenly, a purge beside them, and what both cost."""

    def __init__(self, database: Database, writer: "TimedWriter") -> None:
        self._writer = writer
        self._database = database
        self._runs = Runs(database, ProcessId("proc_bench"), SystemClock())
        self._claims = Claims(database, ProcessId("proc_bench"), SystemClock())
        self._deleted = 0
        self._deleted_at = 0.0
        """When something was deleted last: once nothing is left, the time that passes says nothing of the rate."""

        self._called = 0

    async def measure(self, name: str) -> Sequence[Row]:
        """The figures of calls with a purge beside them, then of what the dead left."""
        idle = await _lateness(asyncio.sleep(MEASURED_SECONDS / 3))
        retention = JobRunner(SystemClock(), always=(self._purge_runs, self._purge_claims), calm=self._database.calm)
        began = time.monotonic()
        async with retention:
            late = await _lateness(self._call_for(MEASURED_SECONDS))
        held, worked = self._writer.held.copy(), self._writer.worked.copy()
        abandoned = statistics.median([await _timed(self._abandoned) for _ in range(20)])
        rate = self._deleted / max(self._deleted_at - began, TICK_SECONDS)
        wanted = CALLS_PER_SECOND * 2
        return [
            _row(f"{name}: longest hold of the writer", max(held)),
            _row(f"{name}: longest that it worked in one hold, in CPU time", max(worked)),
            (f"{name}: holds of the writer, median, 99 and 99.9 in a hundred", _spread(held), "-", True),
            _row(f"{name}: longest hold of the event loop, over {idle * 1e3:.1f} ms of an idle one", late - idle),
            (
                f"{name}: deleted a second beside {self._called / MEASURED_SECONDS:.0f} calls",
                f"{rate:.0f} rows",
                f">= {wanted}",
                rate >= wanted,
            ),
            _row(f"{name}: what the dead left, looked for", abandoned),
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
                (CLAIM, _claim(f"new {ulid()[::-1]}", now)),
            ]
        )

    async def _purge_runs(self) -> int:
        return self._note(await self._runs.purge(time.time() - KEPT_SECONDS))

    async def _purge_claims(self) -> int:
        return self._note(await self._claims.purge())

    def _note(self, deleted: int) -> int:
        self._deleted += deleted
        if deleted:
            self._deleted_at = time.monotonic()
        return deleted

    async def _abandoned(self) -> None:
        await self._database.write(
            lambda writing: (writing.execute(INTERRUPT_ABANDONED), writing.execute(RELEASE_ABANDONED))
        )


def _row(what: str, seconds: float) -> Row:
    return what, f"{seconds * 1e3:.1f} ms", f"<= {BAR_SECONDS * 1e3:.0f} ms", seconds <= BAR_SECONDS


def _spread(seconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(seconds, n=1000)
    return ", ".join(f"{cuts[place] * 1e3:.2f}" for place in (499, 989, 998)) + " ms"


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
