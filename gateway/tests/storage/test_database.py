"""The database: group commits, migrations, and the schema, on both kinds."""

import asyncio
from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import DBAPIError

from connector_gateway.core.history.runs import PUT_RUN
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.storage_faults import Attempts

INSERT = insert(tables.workspaces)
INSERT_RUN = insert(tables.runs)


def workspace_row(name: str, **more: Any) -> dict[str, Any]:
    return {"workspace_id": name, "name": name, "plan": "free", "created_at": 1.0} | more


def run_row(run_id: str, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(column.name for column in tables.runs.c)
    required = ("workspace_id", "key_id", "connector", "operation", "surface", "status")
    return empty | dict.fromkeys(required, "x") | {"run_id": run_id, "started_at": 1.5, "upstream": []} | more


async def read_names(database: Database) -> set[str]:
    rows = await database.read(lambda db: db.execute(select(tables.workspaces.c.name)).all())
    return {row.name for row in rows}


async def test_an_inserted_row_is_read(database: Database) -> None:
    await database.put(INSERT, workspace_row("one"))

    assert {"one"} == await read_names(database)


async def test_a_write_returns_its_result(database: Database) -> None:
    def work(db: Connection) -> int:
        db.execute(INSERT, workspace_row("one"))
        return 42

    assert 42 == await database.write(work)
    assert {"one"} == await read_names(database)


async def test_many_concurrent_writers_are_all_committed(database: Database) -> None:
    await asyncio.gather(*(database.put(INSERT, workspace_row(f"ws {number}")) for number in range(300)))

    assert {f"ws {number}" for number in range(300)} == await read_names(database)


async def test_every_row_of_a_batch_has_its_own_values(database: Database) -> None:
    rows = [run_row(f"run_{number:02}", upstream=[{"status": number}] * (number % 3)) for number in range(45)]
    rows[7] |= {"code": "upstream_error", "idempotency": {"key": "k"}}

    await asyncio.gather(*(database.put(insert(tables.runs), row) for row in rows[:3]))
    await asyncio.gather(*(database.put(INSERT_RUN, row) for row in rows[3:]))

    query = select(tables.runs).order_by(tables.runs.c.run_id)
    assert rows == await database.read(lambda db: [dict(row) for row in db.execute(query).mappings()])


async def test_the_last_write_of_a_row_in_a_commit_applies(database: Database) -> None:
    statuses = ["running", "ok"]

    await asyncio.gather(*(database.put(PUT_RUN, run_row("run_1", status=status)) for status in statuses))

    query = select(tables.runs.c.status)
    assert ["ok"] == await database.read(lambda db: list(db.execute(query).scalars()))


async def test_row_writers_and_work_writers_share_transactions_in_order(database: Database) -> None:
    def rename(db: Connection) -> None:
        db.execute(tables.workspaces.update().values(name="renamed"))

    await asyncio.gather(
        database.put(INSERT, workspace_row("before")),
        database.write(rename),
        database.put(INSERT, workspace_row("after")),
    )

    assert {"renamed", "after"} == await read_names(database)


async def test_a_failing_writer_does_not_affect_others(database: Database) -> None:
    await database.put(INSERT, workspace_row("taken"))

    outcomes = await asyncio.gather(
        *(database.put(INSERT, workspace_row(name)) for name in ("a", "b", "taken", "c")),
        database.put(INSERT, workspace_row("d")),
        return_exceptions=True,
    )

    assert [True] * 4 == [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    assert isinstance(outcomes[2], DBAPIError)
    assert {"taken", "a", "b", "c", "d"} == await read_names(database)


async def test_commits_to_an_embedded_database_share_a_connection(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        attempts = Attempts(database)
        await database.put(INSERT, workspace_row("one"))
        await database.write(lambda db: db.execute(INSERT, workspace_row("two")).rowcount)

    assert 1 == attempts.count


async def test_failed_work_is_rolled_back(database: Database) -> None:
    def insert_and_fail(db: Connection) -> None:
        db.execute(INSERT, workspace_row("half"))
        raise LookupError("halfway")

    outcomes = await asyncio.gather(
        database.write(insert_and_fail), database.put(INSERT, workspace_row("other")), return_exceptions=True
    )

    assert isinstance(outcomes[0], LookupError)
    assert {"other"} == await read_names(database)


async def test_a_cancelled_writer_does_not_affect_others(database: Database) -> None:
    leaving = asyncio.ensure_future(database.put(INSERT, workspace_row("left")))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await database.put(INSERT, workspace_row("next"))

    assert {"left", "next"} == await read_names(database)


async def test_closing_waits_for_pending_writes(database_url: str) -> None:
    async with Database(database_url) as first:
        writing = [asyncio.ensure_future(first.put(INSERT, workspace_row(f"ws {number}"))) for number in range(50)]
        await asyncio.sleep(0)
    await asyncio.gather(*writing)

    async with Database(database_url) as second:
        assert 50 == len(await read_names(second))


async def test_reads_continue_during_a_write(database: Database) -> None:
    seen: list[set[str]] = []
    loop = asyncio.get_running_loop()

    def work(db: Connection) -> None:
        db.execute(INSERT, workspace_row("unfinished"))
        seen.append(asyncio.run_coroutine_threadsafe(read_names(database), loop).result(5))

    await database.write(work)

    assert [set()] == seen


async def test_two_instances_write_to_one_database_concurrently(database_url: str) -> None:
    async with Database(database_url) as one, Database(database_url) as other:
        await asyncio.gather(
            *(one.put(INSERT, workspace_row(f"one {number}")) for number in range(40)),
            *(other.put(INSERT, workspace_row(f"other {number}")) for number in range(40)),
        )

        assert 80 == len(await read_names(one))


async def test_migrating_again_changes_nothing(database: Database) -> None:
    await database.put(INSERT, workspace_row("kept"))
    await asyncio.to_thread(database.migrate)

    assert {"kept"} == await read_names(database)


async def test_the_migrations_create_the_declared_tables(database: Database) -> None:
    def differences(db: Connection) -> list[Any]:
        opts = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(db, opts=opts)
        return list(compare_metadata(context, tables.metadata))

    assert [] == await database.read(differences)


async def test_embedded_databases_use_a_write_ahead_log(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        mode = await database.read(lambda db: db.execute(text("PRAGMA journal_mode")).scalar())

    assert "wal" == mode
