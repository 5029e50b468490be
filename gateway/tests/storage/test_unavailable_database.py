"""Unavailable, slow or silent databases: errors, retries and deferred records."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, insert, make_url, select, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql import database as module
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.storage_faults import Attempts, Stuck, lose_acknowledgements, read_only

INSERT = insert(tables.workspaces)
SOON = 0.4
"""The timeout of the impatient databases in these tests, in seconds."""


def workspace(name: str, **more: Any) -> dict[str, Any]:
    return {"workspace_id": name, "name": name, "plan": "free", "created_at": 1.0} | more


def insert_workspace(name: str) -> Callable[[Connection], None]:
    """Return work that adds a workspace, unless it exists."""

    def add(db: Connection) -> None:
        there = select(tables.workspaces).where(tables.workspaces.c.name == name)
        if db.execute(there).first() is None:
            db.execute(INSERT, workspace(name))

    return add


async def read_names(database: Database) -> list[str]:
    query = select(tables.workspaces.c.name).order_by(tables.workspaces.c.name)
    return list(await database.read(lambda db: db.execute(query).scalars().all()))


async def outcome_codes(*writing: Any) -> list[str]:
    """Return the codes with which writers end."""
    outcomes = await asyncio.gather(*writing, return_exceptions=True)
    return [getattr(outcome, "code", "ok" if outcome is None else repr(outcome)) for outcome in outcomes]


@pytest.fixture
async def impatient(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url, seconds=SOON) as opened:
        yield opened


async def test_a_read_only_database_is_unavailable_and_then_works_again(database: Database) -> None:
    with read_only(database):
        with pytest.raises(StorageUnavailable) as caught:
            await database.put(INSERT, workspace("lost"))
        await read_names(database)
    await database.put(INSERT, workspace("kept"))

    assert ["kept"] == await read_names(database)
    assert "read" in caught.value.private
    assert "read" not in caught.value.message
    assert caught.value.retry_after


async def test_a_full_disk_is_reported_as_unavailable(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        await database.write(lambda db: db.execute(text("PRAGMA max_page_count=1")))

        with pytest.raises(StorageUnavailable, match="cannot be reached") as caught:
            await database.write(
                lambda db: db.execute(INSERT, [workspace(f"{number}" * 150) for number in range(10, 200)])
            )

    assert "full" in caught.value.private


async def test_an_error_in_a_statement_is_raised_unchanged(database: Database) -> None:
    await database.put(INSERT, workspace("taken"))

    with pytest.raises(IntegrityError):
        await database.put(INSERT, workspace("taken"))
    with pytest.raises((ProgrammingError, Exception), match="nowhere") as caught:
        await database.read(lambda db: db.execute(text("SELECT * FROM nowhere")))
    assert not isinstance(caught.value, StorageUnavailable)


async def test_an_unavailable_database_is_tried_once_for_all_waiting_writers(impatient: Database) -> None:
    attempts = Attempts(impatient)
    with read_only(impatient):
        codes = await outcome_codes(*(impatient.write(insert_workspace(f"ws {number}")) for number in range(50)))

    assert {"storage_unavailable"} == set(codes)
    assert 2 == attempts.count


async def test_the_wait_for_a_lock_is_limited(impatient: Database) -> None:
    engine = create_engine(
        make_url(impatient.url).set(drivername="sqlite" if impatient.embedded else "postgresql+psycopg")
    )
    lock = "BEGIN EXCLUSIVE" if impatient.embedded else "LOCK TABLE workspaces IN EXCLUSIVE MODE"
    with engine.connect() as other:
        other.exec_driver_sql(lock)
        began = time.monotonic()
        codes = await outcome_codes(*(impatient.write(insert_workspace(f"ws {number}")) for number in range(30)))
        took = time.monotonic() - began
        other.rollback()
    engine.dispose()

    assert {"storage_unavailable"} == set(codes)
    assert took < 3 * SOON
    assert None is await impatient.write(insert_workspace("after"))  # type: ignore[func-returns-value]


@requirement("common-139")
async def test_a_possibly_committed_write_is_not_retried(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(database)
    with monkeypatch.context() as losing:
        lose_acknowledgements(database, losing)
        codes = await outcome_codes(*(database.write(insert_workspace(name)) for name in "ab"))
    count = attempts.count

    assert ["storage_unavailable"] * 2 == codes
    assert 1 == count
    assert ["a", "b"] == await read_names(database)


async def test_writers_of_a_silent_database_time_out_and_later_ones_are_not_started(impatient: Database) -> None:
    stuck = Stuck()
    silent = asyncio.ensure_future(impatient.write(stuck))
    await asyncio.to_thread(stuck.begun.wait, 5)
    codes = await outcome_codes(silent, *(impatient.write(insert_workspace(f"behind {number}")) for number in range(3)))
    stuck.go.set()
    await impatient.write(insert_workspace("after"))

    assert ["storage_unavailable"] * 4 == codes
    assert ["after"] == await read_names(impatient)


async def test_a_read_from_a_silent_database_times_out(impatient: Database) -> None:
    stuck = Stuck()
    codes = await outcome_codes(impatient.read(stuck))
    stuck.go.set()

    assert ["storage_unavailable"] == codes
    assert [] == await read_names(impatient)


async def test_a_silent_database_does_not_block_shutdown(database_url: str) -> None:
    stuck = Stuck()
    async with Database(database_url, seconds=SOON) as database:
        silent = asyncio.ensure_future(database.write(stuck))
        await asyncio.to_thread(stuck.begun.wait, 5)
        began = time.monotonic()
        pool = database._engine.pool
    took = time.monotonic() - began
    stuck.go.set()
    await asyncio.gather(*(asyncio.to_thread(writer.shutdown) for writer in database._writers))
    pool.dispose()

    assert ["storage_unavailable"] == await outcome_codes(silent)
    assert took < 5 * SOON


async def test_an_excess_writer_is_rejected_immediately(impatient: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)

    assert ["ok", "ok", "storage_unavailable"] == await outcome_codes(
        *(impatient.write(insert_workspace(name)) for name in "abc")
    )


async def test_an_excess_reader_is_rejected_immediately(impatient: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    reading = [impatient.read(lambda db: db.execute(text("SELECT NULL")).scalar()) for _ in range(3)]

    assert ["ok", "ok", "storage_unavailable"] == await outcome_codes(*reading)


# Deferred records


@requirement("common-138")
async def test_deferred_records_are_written_once_storage_is_available(database: Database) -> None:
    with read_only(database):
        database.write_deferred(insert_workspace("owed"))
        await database.flush()
        before = await read_names(database)
    await database.flush()

    assert ([], ["owed"]) == (before, await read_names(database))


async def test_deferred_records_are_tried_immediately(database: Database) -> None:
    database.write_deferred(insert_workspace("owed"))
    assert database._flushing is not None
    await database._flushing

    assert ["owed"] == await read_names(database)
    assert {} == database._deferred


async def test_deferred_records_are_written_at_shutdown(database_url: str) -> None:
    async with Database(database_url) as database:
        with read_only(database):
            database.write_deferred(insert_workspace("owed"))
            await database.flush()

    async with Database(database_url) as again:
        assert ["owed"] == await read_names(again)


async def test_a_record_that_cannot_be_written_is_dropped(database: Database) -> None:
    await database.put(INSERT, workspace("taken"))
    database.write_deferred(lambda db: db.execute(INSERT, workspace("taken")))
    await database.flush()

    assert {} == database._deferred


async def test_the_number_of_deferred_records_is_limited(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DEFERRED", 1)
    with read_only(database):
        database.write_deferred(insert_workspace("first"))
        database.write_deferred(insert_workspace("second"))
        await database.flush()
    await database.flush()

    assert ["first"] == await read_names(database)


# Time and threads


async def test_the_time_of_the_database_is_available_in_any_statement(database: Database) -> None:
    before = time.time()
    await database.write(lambda db: db.execute(INSERT.values(workspace("now", created_at=database.now))))
    query = select(tables.workspaces.c.created_at, (database.now - tables.workspaces.c.created_at).label("age"))
    row = await database.read(lambda db: db.execute(query).one())

    assert before - 1 < row.created_at < time.time() + 1
    assert 0 <= row.age < 1


async def test_an_injected_clock_replaces_that_of_the_database(database_url: str, clock: ManualClock) -> None:
    async with Database(database_url, clock=clock.now) as database:
        first = await database.read(lambda db: db.execute(select(database.now)).scalar())
        clock.at += 60
        second = await database.read(lambda db: db.execute(select(database.now)).scalar())

    assert (clock.at - 60, clock.at) == (first, second)


async def test_setting_the_machines_clock_does_not_change_the_time_of_an_embedded_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        before = time.time()
        monkeypatch.setattr(time, "time", lambda: before - 3600)
        row = await database.read(lambda db: db.execute(select(database.now)).scalar())

    assert row is not None
    assert row > before - 1


class Inline(Executor):
    """Executes work immediately, in the thread of the caller."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # passed to the future
            future.set_exception(error)
        return future


async def test_one_thread_can_do_everything(database_url: str) -> None:
    async with Database(database_url, readers=Inline(), writer=Inline()) as database:
        codes = await outcome_codes(*(database.write(insert_workspace(name)) for name in "ab"))

        assert ["ok", "ok"] == codes
        assert ["a", "b"] == await read_names(database)


async def test_a_server_that_ends_all_sessions_works_at_the_next_statement(postgres_server: str) -> None:
    async with Database(postgres_server) as database:
        await database.write(insert_workspace("before"))
        end_all = text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        await database.read(lambda db: db.execute(end_all).all())
        await database.write(insert_workspace("later"))

        assert {"before", "later"} <= set(await read_names(database))


async def test_a_missing_server_is_reported_as_unavailable() -> None:
    with pytest.raises(StorageUnavailable):
        async with Database("postgresql://nobody@127.0.0.1:1/nothing", seconds=1):
            pass


# Reads of the history


@requirement("common-154")
async def test_history_reads_do_not_delay_other_readers(database: Database) -> None:
    stuck = Stuck()
    browsing = [asyncio.create_task(database.read_slow(stuck)) for _ in range(20)]
    await asyncio.to_thread(stuck.begun.wait, 10)
    read = await read_names(database)
    unfinished = [task.done() for task in browsing]
    stuck.go.set()
    await asyncio.gather(*browsing)

    assert [] == read
    assert [False] * 20 == unfinished


async def test_an_excess_history_read_is_rejected_promptly(
    impatient: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_HISTORY", 2)
    browsing = [impatient.read_slow(lambda db: db.execute(text("SELECT NULL")).scalar()) for _ in range(3)]

    assert ["ok", "ok", "storage_unavailable"] == await outcome_codes(*browsing)
