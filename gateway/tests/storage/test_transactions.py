"""Transactions: results of fences, and round trips to a PostgreSQL server and lost connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_or_not

from connector_gateway.core.writes.idempotency import CLAIM, SET_INTENT
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql import postgres_engine, tables
from connector_gateway.storage.sql.database import Database
from harness.postgres_proxy import PostgresProxy, run_postgres_proxy
from harness.storage_faults import Stuck

INSERT = insert(tables.workspaces)
TAKE = insert_or_not(tables.workspaces).on_conflict_do_nothing()
RENAME = (
    update(tables.workspaces)
    .where(tables.workspaces.c.workspace_id == bindparam("_id"))
    .values(name=bindparam("_name"), plan="paid")
)


def workspace(name: str) -> dict[str, Any]:
    return {"workspace_id": name, "name": name, "plan": "free", "created_at": 1.0}


def claim(key: str, run_id: str) -> dict[str, Any]:
    columns = dict.fromkeys(("workspace_id", "connection_id", "operation"), "x")
    row = {"idempotency_key": key, "run_id": run_id, "attempt": 1, "state": "held", "process_id": "p"}
    return {**columns, **row, "settle_seconds": 0.0, "expires_at": 9e9}


def intent_row(key: str, run_id: str, sealed: bytes) -> dict[str, Any]:
    columns = dict.fromkeys(("_workspace_id", "_connection_id", "_operation"), "x")
    return {**columns, "_idempotency_key": key, "_run_id": run_id, "_sealed": sealed, "_settle": 1.5}


def insert_workspace(name: str) -> Callable[[Connection], None]:
    def add(db: Connection) -> None:
        db.execute(INSERT, workspace(name))

    return add


async def read_names(database: Database) -> list[str]:
    query = select(tables.workspaces.c.name).order_by(tables.workspaces.c.workspace_id)
    return list(await database.read(lambda db: db.execute(query).scalars().all()))


@pytest.fixture
async def proxied(new_postgres: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[PostgresProxy, Database]]:
    """A database behind a relay, recently written to."""
    # However slow this machine is, no connection is checked before its use.
    monkeypatch.setattr(postgres_engine, "IDLE_SECONDS", 60)
    async with run_postgres_proxy(new_postgres) as (relay, address), Database(address) as database:
        await asyncio.gather(*(database.write(insert_workspace(f"first {number}"), str(number)) for number in range(3)))
        relay.round_trips = 0
        yield relay, database


@pytest.fixture
async def server_database(new_postgres: str) -> AsyncIterator[Database]:
    async with Database(new_postgres) as database:
        yield database


async def test_rows_are_committed_in_one_round_trip(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    await asyncio.gather(*(database.put(INSERT, workspace(f"ws {number}")) for number in range(40)))

    assert 1 == relay.round_trips
    assert 43 == len(await read_names(database))


async def test_fenced_rows_are_committed_in_one_round_trip(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    fences = [(CLAIM, claim(f"key {number}", f"run {number}")) for number in range(20)]
    passed = await asyncio.gather(*(database.put_all([(INSERT, workspace(f[1]["run_id"]))], f) for f in fences))

    assert 1 == relay.round_trips
    assert [True] * 20 == passed


async def test_one_of_several_claims_of_a_name_in_a_commit_succeeds(database: Database) -> None:
    runs = ["run 3", "run 1", "run 2"]
    claims = [((CLAIM, claim("same", run)), [(INSERT, workspace(run))]) for run in runs]
    claims += [((CLAIM, claim("other", "run 4")), [(INSERT, workspace("run 4"))])]
    passed = await asyncio.gather(*(database.put_all(puts, fence) for fence, puts in claims))
    again = await database.put_all([(INSERT, workspace("late"))], (CLAIM, claim("other", "run 5")))

    query = select(tables.claims.c.run_id).order_by(tables.claims.c.run_id)
    holders = await database.read(lambda db: list(db.execute(query).scalars()))
    assert [True, False, False, True, False] == [*passed, again]
    assert ["run 3", "run 4"] == holders == await read_names(database)


async def test_each_fence_of_a_commit_is_checked_separately(database: Database) -> None:
    await asyncio.gather(*(database.put_all([], (CLAIM, claim(key, f"run {key}"))) for key in "abc"))
    tries = [("a", "run a"), ("b", "run of another"), ("c", "run c"), ("d", "run d")]
    passed = await asyncio.gather(
        *(
            database.put_all([(INSERT, workspace(key))], (SET_INTENT, intent_row(key, run_id, key.encode() * 3)), key)
            for key, run_id in tries
        )
    )

    query = select(tables.claims.c.sealed).order_by(tables.claims.c.idempotency_key)
    rows = await database.read(lambda db: list(db.execute(query).scalars()))
    assert [True, False, True, False] == passed
    assert [b"aaa", None, b"ccc"] == rows
    assert ["a", "c"] == await read_names(database)


async def test_unusual_values_are_stored_unchanged(database: Database) -> None:
    odd = '“\\x00” {"a": [1]} \\ \' % %s \n\t \u2028 😀'
    await database.put(INSERT, workspace("odd") | {"name": odd, "created_at": 1_700_000_000.123_456_7})
    await database.put_all([], (CLAIM, claim("k", "r") | {"sealed": bytes(range(256)), "status": None}))

    workspaces, claims = select(tables.workspaces), select(tables.claims)
    stored = await database.read(lambda db: db.execute(workspaces).one())
    claimed = await database.read(lambda db: db.execute(claims).one())
    assert (odd, 1_700_000_000.123_456_7) == (stored.name, stored.created_at)
    assert (bytes(range(256)), None) == (claimed.sealed, claimed.status)


async def test_a_commit_can_exceed_the_socket_buffer(database: Database) -> None:
    rows = [claim(f"key {number}", f"run {number}") | {"sealed": bytes(500_000)} for number in range(8)]
    passed = await asyncio.gather(
        *(database.put_all([(INSERT, workspace(row["run_id"]))], (CLAIM, row)) for row in rows)
    )

    length = select(func.sum(func.length(tables.claims.c.sealed)))
    assert [True] * 8 == passed
    assert 4_000_000 == await database.read(lambda db: db.execute(length).scalar())
    assert 8 == len(await read_names(database))


async def test_writes_about_one_subject_are_ordered_and_others_continue(server_database: Database) -> None:
    database = server_database
    stuck = Stuck()
    first = asyncio.ensure_future(database.write(stuck, "one"))
    await asyncio.to_thread(stuck.begun.wait, 10)
    second = asyncio.ensure_future(database.write(insert_workspace("one"), "one"))
    await database.write(insert_workspace("other"), "other")
    before = await read_names(database)
    stuck.go.set()
    await asyncio.gather(first, second)

    assert ["other"] == before
    assert ["one", "other"] == await read_names(database)


async def test_writers_about_one_subject_do_not_share_a_statement(database: Database) -> None:
    await database.put(INSERT, workspace("ws"))
    renamed = [(RENAME, {"_id": "ws", "_name": name}) for name in ("second", "third")]
    await asyncio.gather(*(database.put_all([], fence, "ws") for fence in renamed))

    assert ["third"] == await read_names(database)


async def test_a_transaction_interrupted_after_sending_is_not_retried(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    relay.cut_after = b"INSERT"
    outcomes = await asyncio.gather(*(database.put(INSERT, workspace(name)) for name in "ab"), return_exceptions=True)
    await database.put(INSERT, workspace("c"))

    assert [StorageUnavailable] * 2 == [type(outcome) for outcome in outcomes]
    assert ["a", "b", "c"] == (await read_names(database))[:3]


async def test_fenced_rows_interrupted_after_sending_are_not_retried(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    relay.cut_after = b"COMMIT"
    fenced = [([(INSERT, workspace(name))], (TAKE, workspace(f"fence {name}")), name) for name in "ab"]
    outcomes = await asyncio.gather(*(database.put_all(*each) for each in fenced), return_exceptions=True)
    await database.put(INSERT, workspace("c"))

    assert [StorageUnavailable] * 2 == [type(outcome) for outcome in outcomes]
    assert ["a", "b", "c"] == (await read_names(database))[:3]


async def test_a_transaction_interrupted_before_its_commit_is_retried(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    relay.cut_after = b"INSERT"
    await asyncio.gather(*(database.write(insert_workspace(name), name) for name in "ab"))

    assert ["a", "b"] == (await read_names(database))[:2]


async def test_rows_of_a_failed_fence_are_not_written_alongside_others(database: Database) -> None:
    await database.put_all([(INSERT, workspace("kept"))], (CLAIM, claim("taken", "first")))
    rename = [(RENAME, {"_id": "kept", "_name": "renamed"})]
    passed = await asyncio.gather(
        database.put_all([(INSERT, workspace("without a fence"))]),
        database.put_all(rename, (CLAIM, claim("taken", "second"))),
        database.put_all([(INSERT, workspace("fenced"))], (SET_INTENT, intent_row("taken", "first", b"x"))),
        database.put_all([(INSERT, workspace("lost"))], (SET_INTENT, intent_row("taken", "second", b"y")), "second"),
    )

    assert [True, False, True, False] == list(passed)
    assert ["fenced", "kept", "without a fence"] == await read_names(database)


async def test_connections_lost_while_idle_are_detected_before_use(proxied: tuple[PostgresProxy, Database]) -> None:
    relay, database = proxied
    relay.cut()
    await asyncio.sleep(0)

    assert True is await database.put(INSERT, workspace("after"))


async def test_processes_inserting_equal_rows_in_different_order_do_not_deadlock(new_postgres: str) -> None:
    async with Database(new_postgres) as one, Database(new_postgres) as other:
        keys = [f"key {number}" for number in range(50)]
        passed = await asyncio.gather(
            *(one.put_all([], (CLAIM, claim(key, f"one {key}"))) for key in keys),
            *(other.put_all([], (CLAIM, claim(key, f"other {key}"))) for key in reversed(keys)),
        )

        deadlocks = text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        assert 50 == sum(passed)
        assert 0 == await one.read(lambda db: db.execute(deadlocks).scalar())


async def test_a_pooler_without_options_gets_timeouts_in_each_transaction(new_postgres: str) -> None:
    query = select(func.current_setting("statement_timeout"))
    async with (
        run_postgres_proxy(new_postgres, refuses_options=True) as (_, address),
        Database(address, seconds=4) as database,
    ):
        reading = await database.read(lambda connection: connection.execute(query).scalar())
        writing = await database.write(lambda connection: connection.execute(query).scalar())
        await database.put(INSERT, workspace("put"))

        assert ("2s", "2s") == (reading, writing)
        assert ["put"] == await read_names(database)


PREPARED = text("SELECT count(*) FROM pg_prepared_statements")


async def test_a_statement_is_prepared_once_for_each_session(server_database: Database) -> None:
    database = server_database
    results = [await database.put(INSERT, workspace(f"ws {number}")) for number in range(30)]
    counts = [await database.write(lambda db: db.execute(PREPARED).scalar_one()) for _ in range(12)]

    assert (30, 1) == (sum(results), max(counts))


async def test_no_statement_is_prepared_behind_a_pooler(new_postgres: str) -> None:
    async with run_postgres_proxy(new_postgres, refuses_options=True) as (_, address), Database(address) as database:
        results = [await database.put(INSERT, workspace(f"ws {number}")) for number in range(6)]
        counts = [await database.write(lambda db: db.execute(PREPARED).scalar_one()) for _ in range(12)]

        assert (6, 0) == (sum(results), max(counts))


async def test_one_process_creates_the_schema_while_others_wait(new_postgres: str) -> None:
    async with Database(new_postgres) as one, Database(new_postgres) as other, Database(new_postgres) as third:
        databases = [one, other, third]
        count = text("SELECT count(*) FROM pg_class WHERE relname LIKE 'runs%'")
        before = await one.read(lambda db: db.execute(count).scalar())
        await one.write(lambda db: db.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public")))
        await asyncio.gather(*(asyncio.to_thread(database.migrate) for database in databases))

        assert before == await one.read(lambda db: db.execute(count).scalar())
