"""The history on PostgreSQL: a partition for each day, made ahead and dropped as a whole."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from connector_gateway.core.runs import PUT_RUN, Runs
from connector_gateway.kit.errors import RunNotFound
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId, ulid
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database
from connector_gateway.storage.partitions import DAY_SECONDS, DAYS_AHEAD, add_day, bound_of, maintain, partitions
from harness.clocks import NOON, HandClock

TODAY = int(NOON // DAY_SECONDS)
WORKSPACE = WorkspaceId("x")


def identifier(at: float) -> str:
    return f"run_{ulid((int(at * 1000) << 80) + 7)}"


def run(at: float) -> dict[str, Any]:
    empty = dict.fromkeys(column.name for column in tables.runs.c)
    names = ("workspace_id", "key_id", "connector", "operation", "surface", "status")
    return empty | dict.fromkeys(names, "x") | {"run_id": identifier(at), "started_at": at, "upstream": []}


def days_ago(days: float) -> float:
    return NOON - days * DAY_SECONDS


async def counted(database: Database) -> dict[str, int]:
    """How many runs each partition has that has any."""
    query = text("SELECT tableoid::regclass::text AS part, count(*) AS runs FROM runs GROUP BY 1 ORDER BY 1")
    return {row.part: row.runs for row in await database.read(lambda reading: reading.execute(query).all())}


async def names(database: Database) -> list[str]:
    return await database.read(lambda reading: [partition.name for partition in partitions(reading)])


@pytest.fixture
async def served(empty_postgres: str, clock: HandClock) -> AsyncIterator[Database]:
    async with Database(empty_postgres, clock=clock.now) as database:
        yield database


@pytest.fixture
def runs(served: Database, clock: HandClock) -> Runs:
    return Runs(served, ProcessId("proc"), clock)


async def test_days_have_their_partitions_before_they_begin(served: Database, clock: HandClock) -> None:
    days = [f"runs_d{TODAY + ahead}" for ahead in range(DAYS_AHEAD + 1)]
    before = await names(served)
    clock.at += DAY_SECONDS
    await served.maintain_history(0)

    assert {*days, "runs_rest"} == set(before)
    assert {*before, f"runs_d{TODAY + DAYS_AHEAD + 1}"} == set(await names(served))


async def test_a_run_is_in_the_partition_of_its_day_and_whatever_no_day_takes_in_the_rest(served: Database) -> None:
    for days in (0, -1, 300, -300):
        await served.put(PUT_RUN, run(days_ago(days)))

    assert {f"runs_d{TODAY}": 1, f"runs_d{TODAY + 1}": 1, "runs_rest": 2} == await counted(served)


async def test_a_page_goes_through_the_days_from_the_newest(served: Database, runs: Runs) -> None:
    times = [days_ago(days) for days in (0, -1.5, -2.5, 300)]
    await asyncio.gather(*(served.put(PUT_RUN, run(at)) for at in times))
    first = await runs.page(WORKSPACE, limit=3)
    second = await runs.page(WORKSPACE, limit=3, before=first.before)

    newest = [identifier(at) for at in sorted(times, reverse=True)]
    assert newest == [row["run_id"] for page in (first, second) for row in page.rows]


async def test_days_that_are_past_their_time_are_dropped_and_nothing_else(served: Database, runs: Runs) -> None:
    for days in (3, 2, 1):
        await served.write(partial(add_day, day=TODAY - days))
    for days in (3, 2, 1, 0):
        await served.put(PUT_RUN, run(days_ago(days)))
    await runs.purge(days_ago(1))

    assert {f"runs_d{TODAY - 1}": 1, f"runs_d{TODAY}": 1} == await counted(served)
    assert f"runs_d{TODAY - 2}" not in await names(served)
    with pytest.raises(RunNotFound):
        await runs.show(identifier(days_ago(2)), WORKSPACE)


async def test_what_is_past_its_time_in_the_rest_is_deleted_run_by_run(served: Database, runs: Runs) -> None:
    for days in (300, 200, 5):
        await served.put(PUT_RUN, run(days_ago(days)))
    deleted = await runs.purge(days_ago(30))

    assert 2 == deleted
    assert {"runs_rest": 1} == await counted(served)


async def test_who_reads_for_long_keeps_a_day_from_being_dropped_but_nobody_waits(served: Database) -> None:
    await served.write(partial(add_day, day=TODAY - 9))
    engine = create_engine(served.url.set(drivername="postgresql+psycopg"))
    with engine.connect() as other:
        other.execute(text("SELECT count(*) FROM runs"))
        await served.maintain_history(days_ago(5))
        kept = f"runs_d{TODAY - 9}" in await names(served)
    engine.dispose()
    await served.maintain_history(days_ago(5))

    assert kept
    assert f"runs_d{TODAY - 9}" not in await names(served)


async def test_a_day_whose_runs_came_before_its_partition_stays_in_the_rest(served: Database, clock: HandClock) -> None:
    await served.put(PUT_RUN, run(days_ago(-4.0)))
    clock.at += DAY_SECONDS
    await served.maintain_history(0)
    await served.put(PUT_RUN, run(days_ago(-4.1)))

    assert {"runs_rest": 2} == await counted(served)


async def test_processes_that_make_partitions_at_once_make_each_once(served: Database) -> None:
    later = NOON + 20 * DAY_SECONDS
    await asyncio.gather(*(asyncio.to_thread(maintain, served._engine, later) for _ in range(4)))

    assert 2 * (DAYS_AHEAD + 1) + 1 == len(await names(served))


def test_identifiers_of_a_day_lie_between_its_bounds() -> None:
    first, last = identifier(TODAY * DAY_SECONDS), identifier((TODAY + 1) * DAY_SECONDS - 0.001)

    assert bound_of(TODAY) <= first < last < bound_of(TODAY + 1)
