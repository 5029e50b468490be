"""The history on PostgreSQL: a partition for each day, made ahead and dropped as a whole."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.runs import OUTCOME, Runs
from connector_gateway.kit.errors import RunNotFound
from connector_gateway.kit.identifiers import ProcessId, WorkspaceId, ulid
from connector_gateway.storage import schema, tables
from connector_gateway.storage.database import Database
from connector_gateway.storage.partitions import DAY_SECONDS, DAYS_AHEAD, add_day, bound_of, maintain, partitions
from harness.clocks import NOON, HandClock

TODAY = int(NOON // DAY_SECONDS)
WORKSPACE = WorkspaceId("x")
LAST_OF_OLD = "0012"
"""The newest step of the release before the one with partitions."""

OLD_PUT = """
INSERT INTO runs (run_id, workspace_id, key_id, connector, operation, surface, started_at, status, upstream, process_id)
VALUES (:run_id, 'x', 'x', 'x', 'x', 'x', :at, :status, '[]', :process) ON CONFLICT (run_id) DO UPDATE SET
status = excluded.status, process_id = excluded.process_id
"""
OLD_INTERRUPT = "UPDATE runs SET status = 'interrupted', process_id = NULL WHERE process_id IS NOT NULL"
LATER = {"dry_run", "parameters"}
"""Columns that the releases before had not."""

_INSERT = insert(tables.runs)
OLD_PUT_RUN = _INSERT.on_conflict_do_update(
    index_elements=[tables.runs.c.run_id], set_={name: _INSERT.excluded[name] for name in OUTCOME if name not in LATER}
)
OLD_PURGE = "DELETE FROM runs WHERE run_id IN (SELECT run_id FROM runs ORDER BY run_id LIMIT 1)"


def identifier(at: float) -> str:
    return f"run_{ulid((int(at * 1000) << 80) + 7)}"


def run(at: float) -> dict[str, Any]:
    empty = dict.fromkeys(column.name for column in tables.runs.c if column.name not in LATER)
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
        await served.put(OLD_PUT_RUN, run(days_ago(days)))

    assert {f"runs_d{TODAY}": 1, f"runs_d{TODAY + 1}": 1, "runs_rest": 2} == await counted(served)


async def test_a_page_goes_through_the_days_from_the_newest(served: Database, runs: Runs) -> None:
    times = [days_ago(days) for days in (0, -1.5, -2.5, 300)]
    await asyncio.gather(*(served.put(OLD_PUT_RUN, run(at)) for at in times))
    first = await runs.page(WORKSPACE, limit=3)
    second = await runs.page(WORKSPACE, limit=3, before=first.before)

    newest = [identifier(at) for at in sorted(times, reverse=True)]
    assert newest == [row["run_id"] for page in (first, second) for row in page.rows]


async def test_days_that_are_past_their_time_are_dropped_and_nothing_else(served: Database, runs: Runs) -> None:
    for days in (3, 2, 1):
        await served.write(partial(add_day, day=TODAY - days))
    for days in (3, 2, 1, 0):
        await served.put(OLD_PUT_RUN, run(days_ago(days)))
    await runs.purge(days_ago(1))

    assert {f"runs_d{TODAY - 1}": 1, f"runs_d{TODAY}": 1} == await counted(served)
    assert f"runs_d{TODAY - 2}" not in await names(served)
    with pytest.raises(RunNotFound):
        await runs.show(identifier(days_ago(2)), WORKSPACE)


async def test_what_is_past_its_time_in_the_rest_is_deleted_run_by_run(served: Database, runs: Runs) -> None:
    for days in (300, 200, 5):
        await served.put(OLD_PUT_RUN, run(days_ago(days)))
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
    await served.put(OLD_PUT_RUN, run(days_ago(-4.0)))
    clock.at += DAY_SECONDS
    await served.maintain_history(0)
    await served.put(OLD_PUT_RUN, run(days_ago(-4.1)))

    assert {"runs_rest": 2} == await counted(served)


async def test_processes_that_make_partitions_at_once_make_each_once(served: Database) -> None:
    later = NOON + 20 * DAY_SECONDS
    await asyncio.gather(*(asyncio.to_thread(maintain, served._engine, later) for _ in range(4)))

    assert 2 * (DAYS_AHEAD + 1) + 1 == len(await names(served))


# From the release before


def old_database(address: str, *runs: dict[str, Any]) -> None:
    """A database of the release before, with *runs*."""
    engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"))
    configuration = schema._configuration()
    with engine.connect() as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, LAST_OF_OLD)
        for row in runs:
            connection.execute(OLD_PUT_RUN, row)
        connection.commit()
    engine.dispose()


def file_of(connection: Connection, name: str) -> Any:
    return connection.execute(text("SELECT pg_relation_filenode(CAST(:name AS regclass))"), {"name": name}).scalar()


async def test_what_was_there_before_becomes_a_partition_without_being_written_anew(empty_postgres: str) -> None:
    old_database(empty_postgres, run(days_ago(40)), run(days_ago(2)))
    engine = create_engine(make_url(empty_postgres).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        before = [file_of(connection, name) for name in ("runs", "runs_pkey", "ix_runs_connection")]
    async with Database(empty_postgres) as database:
        parts = await counted(database)
        with engine.connect() as connection:
            names = ("runs_first", "runs_first_pkey", "ix_runs_connection_first")
            after = [file_of(connection, name) for name in names]
    engine.dispose()

    assert {"runs_first": 2} == parts
    assert before == after


async def test_runs_from_before_are_deleted_run_by_run_until_all_are_past_their_time(
    empty_postgres: str, clock: HandClock
) -> None:
    old_database(empty_postgres, run(days_ago(40)), run(days_ago(2)))
    async with Database(empty_postgres, clock=clock.now) as database:
        await Runs(database, ProcessId("proc"), clock).purge(days_ago(30))
        some = await counted(database)
        await database.maintain_history(2_000 * DAY_SECONDS + NOON)

        assert {"runs_first": 1} == some
        assert {} == await counted(database)


async def test_processes_of_the_release_before_go_on_writing(empty_postgres: str) -> None:
    old_database(empty_postgres, run(days_ago(40)))
    values = [
        {"run_id": identifier(at), "at": at, "process": "p"} for at in (days_ago(40), days_ago(0), days_ago(-300))
    ]
    async with Database(empty_postgres) as database:
        for status in ("running", "ok", "running"):
            await database.write(
                lambda writing, status=status: [  # type: ignore[misc]
                    writing.execute(text(OLD_PUT), value | {"status": status}) for value in values
                ]
            )
        interrupted = await database.write(lambda writing: writing.execute(text(OLD_INTERRUPT)).rowcount)
        purged = await database.write(lambda writing: writing.execute(text(OLD_PURGE)).rowcount)

        assert (3, 1) == (interrupted, purged)
        assert 2 == sum((await counted(database)).values())


async def test_a_step_that_gets_no_lock_is_tried_again(empty_postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old_database(empty_postgres, run(days_ago(2)))
    monkeypatch.setattr(schema, "LOCK_MILLISECONDS", 50)
    monkeypatch.setattr(schema, "TRIES", 1_000)
    engine = create_engine(make_url(empty_postgres).set(drivername="postgresql+psycopg"))
    opening = Database(empty_postgres)
    with engine.connect() as other:
        other.execute(text("SELECT 1 FROM runs"))
        migrating = asyncio.create_task(asyncio.to_thread(opening.migrate))
        done, _ = await asyncio.wait([migrating], timeout=0.5)
    engine.dispose()
    await migrating
    opening._engine.dispose()

    assert set() == done


def test_identifiers_of_a_day_lie_between_its_bounds() -> None:
    first, last = identifier(TODAY * DAY_SECONDS), identifier((TODAY + 1) * DAY_SECONDS - 0.001)

    assert bound_of(TODAY) <= first < last < bound_of(TODAY + 1)
