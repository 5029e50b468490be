"""Refreshes of idle tokens, on both databases: when, how fast, and how they are found."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import insert, select, text

from connector_gateway.core.background_jobs import ROUND_SECONDS
from connector_gateway.core.connections.token_client import BUDGETS
from connector_gateway.core.connections.token_refresh import MAX_PER_ROUND, RETRY_SECONDS, select_due
from connector_gateway.kit.errors import UpstreamError
from connector_gateway.storage.sql import tables
from gateway.tests.core.connections.test_token_refresh import DAY, HOUR, OAUTH, TwoProcesses, idle, processes
from harness.requirement import requirement

__all__ = ["processes"]

table = tables.connections


@requirement("connections-29")
async def test_idle_tokens_are_refreshed_long_before_they_expire(processes: TwoProcesses) -> None:
    processes.clock.at += 39 * DAY
    early = await processes.idle.refresh_idle_tokens()
    processes.clock.at += 2 * DAY
    due = await processes.idle.refresh_idle_tokens()
    after = await processes.idle.refresh_idle_tokens()

    assert ((0, 1, 0), ["refresh-token-1"]) == ((early, due, after), processes.issuer.requests)
    assert "access-token-2" == (await processes.connection(processes.elsewhere)).stored["token"]


@requirement("connections-29")
async def test_idle_tokens_are_refreshed_again_after_the_same_time(processes: TwoProcesses) -> None:
    processes.clock.at += 41 * DAY
    await processes.idle.refresh_idle_tokens()
    processes.clock.at += 41 * DAY
    await processes.idle.refresh_idle_tokens()

    assert ["refresh-token-1", "refresh-token-2"] == processes.issuer.requests


@requirement("connections-29")
async def test_two_processes_refresh_an_idle_token_once(processes: TwoProcesses) -> None:
    processes.clock.at += 41 * DAY
    await asyncio.gather(
        processes.idle.refresh_idle_tokens(), idle(processes.elsewhere, processes.clock).refresh_idle_tokens()
    )

    assert ["refresh-token-1"] == processes.issuer.requests


@requirement("connections-21", "connections-29")
async def test_a_failed_idle_refresh_is_retried_the_next_day(processes: TwoProcesses) -> None:
    processes.issuer.troubles = [UpstreamError("The vendor failed.")]
    processes.clock.at += 41 * DAY
    await processes.idle.refresh_idle_tokens()
    processes.clock.at += HOUR
    soon = await processes.idle.refresh_idle_tokens()
    processes.clock.at += RETRY_SECONDS
    later = await processes.idle.refresh_idle_tokens()

    assert (0, 1, ["refresh-token-1", "refresh-token-1"]) == (soon, later, processes.issuer.requests)
    assert ("active", None) == await processes.status()


@requirement("connections-29")
async def test_tokens_that_do_not_expire_when_idle_are_checked_only_once(processes: TwoProcesses) -> None:
    processes.issuer.known = replace(OAUTH, idle_seconds=None)
    processes.clock.at += 41 * DAY
    looked_at, again = await processes.idle.refresh_idle_tokens(), await processes.idle.refresh_idle_tokens()

    assert ((1, 0), []) == ((looked_at, again), processes.issuer.requests)


# Many refreshes


async def create_copies(processes: TwoProcesses, count: int, **columns: Any) -> None:
    """Create *count* copies of *desk*'s connection. Their secrets cannot be decrypted, so no token is requested."""
    query = select(table).where(table.c.connection_id == processes.connection_id)

    def copy(db: SqlConnection) -> None:
        row = dict(db.execute(query).mappings().one())
        rows = [row | columns | {"connection_id": f"conn_{number:026}"} for number in range(count)]
        db.execute(insert(table), rows)

    await processes.here.database.write(copy)


@requirement("connections-29")
async def test_many_due_refreshes_use_at_most_half_of_the_budget(processes: TwoProcesses) -> None:
    await create_copies(processes, MAX_PER_ROUND)
    processes.clock.at += 41 * DAY
    renewed = [await processes.idle.refresh_idle_tokens(), await processes.idle.refresh_idle_tokens()]
    budget = BUDGETS["tokens"]

    assert [MAX_PER_ROUND, 1] == renewed
    assert budget.limit / budget.per_seconds / 2 == MAX_PER_ROUND / ROUND_SECONDS


@requirement("connections-29")
@pytest.mark.parametrize(("number", "share"), [(2, 5), (3, 3), (100, 1)])
async def test_several_processes_share_half_of_the_budget(processes: TwoProcesses, number: int, share: int) -> None:
    await create_copies(processes, MAX_PER_ROUND)
    processes.clock.at += 41 * DAY
    processes.idle_processes = number

    assert share == await processes.idle.refresh_idle_tokens()


@requirement("connections-29")
async def test_due_connections_among_revoked_ones_are_found_by_an_index(processes: TwoProcesses) -> None:
    await create_copies(processes, 3000, status="revoked", refresh_due_at=1.0)
    await processes.here.database.write(lambda db: db.execute(text("ANALYZE connections")))
    database = processes.here.database
    query = select_due(processes.clock.at + 41 * DAY)
    compiled = query.compile(database._engine, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN" if database.embedded else "EXPLAIN"
    plan = await database.read(lambda db: db.exec_driver_sql(f"{explain} {compiled}").all())

    assert "ix_connections_refresh_due_at" in repr(plan)
    assert "SCAN connections" not in repr(plan)
    assert "Sort" not in repr(plan)
