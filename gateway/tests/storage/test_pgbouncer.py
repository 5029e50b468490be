"""PgBouncer with transaction pooling. Requires its program on the path, or in ``TESTS_PGBOUNCER``."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from connector_gateway.core.writes.idempotency import CLAIM
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.pgbouncer import run_pgbouncer

INSERT = insert(tables.workspaces)


@pytest.fixture(params=["", "extra_float_digits,options"], ids=["options refused", "options ignored"])
def pooler_url(request: pytest.FixtureRequest, new_postgres: str) -> Iterator[str]:
    with run_pgbouncer(new_postgres, ignored=request.param or "extra_float_digits") as address:
        yield address


def workspace(name: str) -> dict[str, Any]:
    return {"workspace_id": name, "name": name, "plan": "free", "created_at": 1.0}


def claim(key: str, run_id: str) -> dict[str, Any]:
    names = dict.fromkeys(("workspace_id", "connection_id", "operation"), "x")
    row = {"idempotency_key": key, "run_id": run_id, "attempt": 1, "state": "held", "process_id": "p"}
    return {**names, **row, "settle_seconds": 0.0, "expires_at": 9e9}


async def test_fenced_rows_are_written_correctly_behind_a_pooler(pooler_url: str) -> None:
    async with Database(pooler_url) as one, Database(pooler_url) as other:
        passed = await asyncio.gather(
            *(
                database.put_all(
                    [(INSERT, workspace(f"{name} {key}"))], (CLAIM, claim(str(key), f"{name} {key}")), name
                )
                for name, database in (("one", one), ("other", other))
                for key in range(20)
            )
        )
        names = await one.read(lambda db: db.execute(select(func.count()).select_from(tables.workspaces)).scalar())

    assert 20 == sum(passed) == names


async def test_statements_time_out_behind_a_pooler(pooler_url: str) -> None:
    query = select(func.current_setting("statement_timeout"))
    async with Database(pooler_url, seconds=4) as database:
        reading = await database.read(lambda connection: connection.execute(query).scalar())
        writing = await database.write(lambda connection: connection.execute(query).scalar())

    assert ("2s", "2s") == (reading, writing)
