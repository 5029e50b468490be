"""PostgreSQL servers that restart, fail over, are full or read-only, and replicas with different clocks."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, make_url, select, text

from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.heartbeats import ProcessHeartbeats
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.core.writes.idempotency import Claim, ClaimName, Claims
from connector_gateway.core.writes.request_digests import RequestDigests
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.errors import IdempotencyInProgress, StorageUnavailable
from connector_gateway.kit.identifiers import ConnectionId, ProcessId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.postgres import execute, new_database, postgres, stopped
from harness.postgres_proxy import run_postgres_proxy
from harness.storage_faults import read_only

INSERT = insert(tables.workspaces)
HOUR = 3600.0

FULL = """
CREATE FUNCTION be_full() RETURNS trigger AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
LANGUAGE plpgsql
"""


def workspace(name: str) -> dict[str, Any]:
    return {"workspace_id": name, "name": name, "plan": "free", "created_at": 1.0}


async def put(database: Database, *names: str) -> list[str]:
    """Return the outcomes of concurrent writers of rows with *names*."""
    putting = (database.put(INSERT, workspace(name), name) for name in names)
    outcomes = await asyncio.gather(*putting, return_exceptions=True)
    return [getattr(outcome, "code", "ok" if outcome is True else repr(outcome)) for outcome in outcomes]


async def read_names(database: Database) -> list[str]:
    query = select(tables.workspaces.c.name).order_by(tables.workspaces.c.name)
    return list(await database.read(lambda db: db.execute(query).scalars().all()))


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """A separate server, since the test stops it."""
    with postgres() as address:
        yield address


@pytest.fixture
async def database(new_postgres: str) -> AsyncIterator[Database]:
    async with Database(new_postgres, seconds=4) as opened:
        yield opened


async def test_a_restarted_server_receives_the_deferred_records(own_server: str) -> None:
    async with Database(new_database(own_server), seconds=4) as database:
        before = await put(database, "before")
        with stopped(own_server):
            during_outage = await put(database, "a", "b")
            database.write_deferred(partial(_add, "owed"))
            await database.flush()
        after = await put(database, "c", "d")
        await database.flush()

        assert (["ok"], ["storage_unavailable"] * 2, ["ok"] * 2) == (before, during_outage, after)
        assert ["before", "c", "d", "owed"] == await read_names(database)


def _add(name: str, db: Connection) -> None:
    db.execute(INSERT, workspace(name))


async def test_a_session_without_the_prepared_statement_gets_the_plain_one(database: Database) -> None:
    forget = text("DEALLOCATE ALL")
    before = await put(database, *"abcdef")
    lost = [await database.write(lambda db: db.execute(forget).rowcount) for _ in range(12)]
    outcomes = [await put(database, name) for name in "ghijkl"]

    assert (["ok"] * 6, 12, [["ok"]] * 6) == (before, len(lost), outcomes)
    assert list("abcdefghijkl") == await read_names(database)


async def test_a_silent_server_is_reported_as_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql+psycopg://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        with pytest.raises(StorageUnavailable):
            await Database(address, seconds=2).__aenter__()


async def test_the_reachable_one_of_several_addresses_is_used(new_postgres: str) -> None:
    async with (
        run_postgres_proxy(new_postgres) as (first, one),
        run_postgres_proxy(new_postgres) as (_, other),
        Database(join_addresses(one, other), seconds=4) as database,
    ):
        before = await put(database, "before")
        first.close()
        after = await put(database, "after")

        assert (["ok"], ["ok"]) == (before, after)
        assert ["after", "before"] == await read_names(database)


async def test_a_read_only_former_primary_is_not_used_after_a_failover(own_server: str, new_postgres: str) -> None:
    former_primary = (
        make_url(own_server).set(database=make_url(new_postgres).database).render_as_string(hide_password=False)
    )
    execute(own_server, f"CREATE DATABASE {make_url(former_primary).database}")
    execute(own_server, f"ALTER DATABASE {make_url(former_primary).database} SET default_transaction_read_only = on")
    async with (
        run_postgres_proxy(former_primary) as (_, one),
        run_postgres_proxy(new_postgres) as (_, other),
        Database(join_addresses(one, other), seconds=4) as database,
    ):
        assert ["ok"] == await put(database, "written")


def join_addresses(*addresses: str) -> str:
    """Return one URL with the servers of all *addresses*, as for a primary and its standbys."""
    urls = [make_url(address) for address in addresses]
    hosts = [f"{url.host}:{url.port}" for url in urls]
    return urls[0].set(host=None, port=None, query={**urls[0].query, "host": hosts}).render_as_string(False)


async def test_a_connection_to_a_server_that_became_read_only_is_dropped(database: Database) -> None:
    left: list[Any] = []
    event.listen(database._engine, "invalidate", lambda *connection: left.append(connection))
    with read_only(database):
        rejected = await put(database, "refused")
    taken = await put(database, "taken")

    assert (["storage_unavailable"], ["ok"]) == (rejected, taken)
    assert 1 == len(left)


async def test_a_full_disk_fails_only_the_writers_that_need_space(
    database: Database,
) -> None:
    await database.write(lambda db: db.execute(text(FULL)))
    trigger = "CREATE TRIGGER full_disk BEFORE INSERT ON workspaces FOR EACH ROW EXECUTE FUNCTION be_full()"
    await database.write(lambda db: db.execute(text(trigger)))
    full = await put(database, "a", "b", "c")
    await database.write(lambda db: db.execute(text("DROP TRIGGER full_disk ON workspaces")))
    with_space = await put(database, "d")

    assert (["storage_unavailable"] * 3, ["ok"]) == (full, with_space)
    assert ["d"] == await read_names(database)


class SkewedClock(SystemClock):
    """A wrong wall clock."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return super().now() + self._seconds


async def test_replicas_with_different_clocks_do_not_take_over_each_others_claims(new_postgres: str) -> None:
    name = ClaimName.create(WorkspaceId("ws"), ConnectionId("conn"), "make", NormalizedKey.parse("key"))
    async with Database(new_postgres) as one, Database(new_postgres) as other:
        early, late = (replica(database, skew) for database, skew in ((one, -HOUR), (other, HOUR)))
        async with early[0], late[0]:
            recording = early[1].record(Run("http"), *WHAT, connection_id="conn")
            claim = await early[2].take(name, DIGESTS, recording, 0)
            await late[0].heartbeat()
            await early[0].heartbeat()
            with pytest.raises(IdempotencyInProgress):
                await late[2].take(name, DIGESTS, late[1].record(Run("http"), *WHAT, connection_id="conn"), 0)

            alive = await other.read(lambda db: len(db.execute(select(tables.processes)).all()))
            assert isinstance(claim, Claim)
            assert (2, True, True) == (alive, early[0].alive, late[0].alive)


WHAT = (WorkspaceId("ws"), "notes", "make")
DIGESTS = RequestDigests("target", "parameters")


def replica(database: Database, skew: float) -> tuple[ProcessHeartbeats, RunStore, Claims]:
    """Return a process on another machine with its own clock."""
    process_id, clock = ProcessId(f"proc {skew}"), SkewedClock(skew)
    runs, claims = RunStore(database, process_id, clock), Claims(database, process_id, clock)
    return ProcessHeartbeats(database, process_id, clock, runs=runs, claims=claims, single_instance=False), runs, claims
