"""Pages and single runs of a short and of a long history: they take as long in the one as in the other."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from random import Random

from benchmarks.filled import CONNECTIONS, KEPT_SECONDS, Wanted, filled
from connector_gateway.core.runs import Runs
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId
from connector_gateway.storage.database import Database

SHORT = 10_000
ROUNDS = 60
BAR = 2.0
WORKSPACE = WorkspaceId("ws_bench")

Row = tuple[str, str, str, bool]
Look = Callable[[Runs], Awaitable[object]]

FILTERS: Mapping[str, Mapping[str, str]] = {
    "newest page": {},
    "page of unsuccessful ones": {"status": "error"},
    "page of interrupted ones, of which there are none": {"status": "interrupted"},
    "page of an operation": {"operation": "create_page"},
    "page of an operation that nobody called": {"operation": "search_pages"},
    "page of a connector": {"connector": "notes"},
    "page of an error": {"code": "upstream_error"},
}


def rows(wanted: Wanted) -> Iterator[Row]:
    """What is measured, the figure, the bar, and whether it is reached."""
    short = replace(wanted, runs=SHORT, kept_in=None)
    with ExitStack() as stack:
        addresses = [stack.enter_context(filled(one)) for one in (short, wanted)]
        looks = [asyncio.run(_looked(address)) for address in addresses]
    for what, quick in looks[0].items():
        slow = looks[1][what]
        figure = f"{slow / quick:.2f}x ({slow * 1e6:.0f} us / {quick * 1e6:.0f} us)"
        yield (
            f"{wanted.kind}, {wanted.runs:,} runs over {SHORT:,}: {what}",
            figure,
            f"<= {BAR:.0f}x",
            slow <= BAR * quick,
        )


async def _looked(address: str) -> Mapping[str, float]:
    """Median seconds of each look into a history."""
    async with Database(address) as database:
        runs = Runs(database, ProcessId("proc_bench"), SystemClock())
        looks: dict[str, Look] = {what: partial(_page, **filters) for what, filters in FILTERS.items()}
        looks["page of a connection"] = _connection
        looks["page since ten days"] = lambda runs: runs.page(WORKSPACE, since=time.time() - KEPT_SECONDS / 3)
        looks["one run"] = partial(_one, await _some(runs))
        return {
            what: statistics.median([await _timed(look, runs) for _ in range(ROUNDS)]) for what, look in looks.items()
        }


async def _timed(look: Look, runs: Runs) -> float:
    began = time.perf_counter()
    await look(runs)
    return time.perf_counter() - began


def _page(runs: Runs, **filters: str) -> Awaitable[object]:
    return runs.page(WORKSPACE, **filters)  # type: ignore[arg-type]


def _connection(runs: Runs, chance: Random = Random(1)) -> Awaitable[object]:  # noqa: B008  # the same ones each time
    return runs.page(WORKSPACE, connection_id=f"conn_{chance.randrange(CONNECTIONS)}")


async def _some(runs: Runs) -> Iterator[str]:
    """The newest runs, of each connection some."""
    pages = [await runs.page(WORKSPACE, connection_id=f"conn_{number}") for number in range(CONNECTIONS)]
    return iter([row["run_id"] for page in pages for row in page.rows[:1]])


def _one(run_ids: Iterator[str], runs: Runs) -> Awaitable[object]:
    return runs.show(next(run_ids), WORKSPACE)
