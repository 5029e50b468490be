"""Reads of pages and single runs take as long in a long history as in a short one."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from random import randrange

from benchmarks.history_database_filler import CONNECTIONS, RETENTION_SECONDS, HistorySpec, filled_database
from connector_gateway.core.history.runs import RunStore
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId
from connector_gateway.storage.sql.database import Database

SHORT = 10_000
ROUNDS = 60
BAR = 2.0
WORKSPACE = WorkspaceId("ws_bench")

Row = tuple[str, str, str, bool]
Look = Callable[[], Awaitable[object]]

FILTERS: Mapping[str, Mapping[str, str]] = {
    "newest page": {},
    "page of unsuccessful ones": {"status": "error"},
    "page of interrupted ones, of which there are none": {"status": "interrupted"},
    "page of an operation": {"operation": "create_page"},
    "page of an operation without calls": {"operation": "search_pages"},
    "page of a connector": {"connector": "notes"},
    "page of an error": {"code": "upstream_error"},
}


def rows(spec: HistorySpec) -> Iterator[Row]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    short = replace(spec, runs=SHORT, directory=None)
    with ExitStack() as stack:
        addresses = [stack.enter_context(filled_database(one)) for one in (short, spec)]
        looked = asyncio.run(_looked(*addresses))
    for what, (quick, slow) in looked.items():
        figure = f"{slow / quick:.2f}x ({slow * 1e6:.0f} us / {quick * 1e6:.0f} us)"
        yield (
            f"{spec.kind}, {spec.runs:,} runs over {SHORT:,}: {what}",
            figure,
            f"<= {BAR:.0f}x",
            slow <= BAR * quick,
        )


async def _looked(short: str, long: str) -> Mapping[str, tuple[float, float]]:
    """Return the median seconds of each read of two histories, alternating to even out other load."""
    async with Database(short) as one, Database(long) as other:
        both = [RunStore(database, ProcessId("proc_bench"), SystemClock()) for database in (one, other)]
        looks = [_looks(runs, await _some(runs)) for runs in both]
        took = {what: [await _measure(looks, what) for _ in range(ROUNDS)] for what in looks[0]}
    return {what: tuple(map(statistics.median, zip(*seconds, strict=True))) for what, seconds in took.items()}


async def _measure(looks: Sequence[Mapping[str, Look]], what: str) -> Sequence[float]:
    return [await _timed(look[what]) for look in looks]


def _looks(runs: RunStore, some: Iterator[str]) -> Mapping[str, Look]:
    looks: dict[str, Look] = {what: partial(_page, runs, **filters) for what, filters in FILTERS.items()}
    looks["page of a connection"] = partial(_connection, runs)
    looks["page since ten days"] = lambda: runs.page(WORKSPACE, since=time.time() - RETENTION_SECONDS / 3)
    looks["one run"] = lambda: runs.show(next(some), WORKSPACE)
    return looks


async def _timed(look: Look) -> float:
    began = time.perf_counter()
    await look()
    return time.perf_counter() - began


def _page(runs: RunStore, **filters: str) -> Awaitable[object]:
    return runs.page(WORKSPACE, **filters)  # type: ignore[arg-type]


def _connection(runs: RunStore) -> Awaitable[object]:
    return runs.page(WORKSPACE, connection_id=f"conn_{randrange(CONNECTIONS)}")


async def _some(runs: RunStore) -> Iterator[str]:
    """Return the newest runs, some of each connection."""
    pages = [await runs.page(WORKSPACE, connection_id=f"conn_{number}") for number in range(CONNECTIONS)]
    return iter([row["run_id"] for page in pages for row in page.rows[:1]])
