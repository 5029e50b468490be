"""Renewal of tokens that nobody uses, on both databases: when, how fast, and how they are found."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection as Transaction
from sqlalchemy import insert, select, text
from structlog.testing import capture_logs

from connector_gateway.core.connections.idle import AGAIN_SECONDS, ROUND_SECONDS, STEP, STEP_SECONDS, due_before
from connector_gateway.core.connections.tokens import BUDGETS
from connector_gateway.kit.errors import UpstreamError
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database
from core.test_renewal import DAY, HOUR, OAUTH, Desk, desk, idle
from harness.requirement import requirement

__all__ = ["desk"]

table = tables.connections


@requirement("renewal:idle")
async def test_tokens_that_nobody_uses_are_renewed_long_before_they_end_of_that(desk: Desk) -> None:
    desk.clock.at += 39 * DAY
    early = await desk.idle.renew()
    desk.clock.at += 2 * DAY
    due = await desk.idle.renew()
    after = await desk.idle.renew()

    assert ((0, 1, 0), ["refresh-token-1"]) == ((early, due, after), desk.issuer.asked)
    assert "access-token-2" == (await desk.connection(desk.elsewhere)).stored["token"]


@requirement("renewal:idle")
async def test_they_are_renewed_again_after_as_long(desk: Desk) -> None:
    desk.clock.at += 41 * DAY
    await desk.idle.renew()
    desk.clock.at += 41 * DAY
    await desk.idle.renew()

    assert ["refresh-token-1", "refresh-token-2"] == desk.issuer.asked


@requirement("renewal:idle")
async def test_two_processes_renew_an_idle_token_once(desk: Desk) -> None:
    desk.clock.at += 41 * DAY
    await asyncio.gather(desk.idle.renew(), idle(desk.elsewhere, desk.clock).renew())

    assert ["refresh-token-1"] == desk.issuer.asked


@requirement("renewal:idle", "renewal:patient")
async def test_an_idle_renewal_that_fails_is_tried_again_the_next_day(desk: Desk) -> None:
    desk.issuer.troubles = [UpstreamError("The application failed.")]
    desk.clock.at += 41 * DAY
    await desk.idle.renew()
    desk.clock.at += HOUR
    soon = await desk.idle.renew()
    desk.clock.at += AGAIN_SECONDS
    later = await desk.idle.renew()

    assert (0, 1, ["refresh-token-1", "refresh-token-1"]) == (soon, later, desk.issuer.asked)
    assert ("active", None) == await desk.status()


@requirement("renewal:idle")
async def test_tokens_that_do_not_end_of_that_are_looked_at_once(desk: Desk) -> None:
    desk.issuer.known = replace(OAUTH, idle_seconds=None)
    desk.clock.at += 41 * DAY
    looked_at, again = await desk.idle.renew(), await desk.idle.renew()

    assert ((1, 0), []) == ((looked_at, again), desk.issuer.asked)


# Many at once


async def copies(desk: Desk, count: int, **columns: Any) -> None:
    """So many more connections like that of *desk*; what they hold cannot be opened, so that nothing is asked for."""
    query = select(table).where(table.c.connection_id == desk.connection_id)

    def copy(writing: Transaction) -> None:
        row = dict(writing.execute(query).mappings().one())
        rows = [row | columns | {"connection_id": f"conn_{number:026}"} for number in range(count)]
        writing.execute(insert(table), rows)

    await desk.here._database.write(copy)


@requirement("renewal:idle")
async def test_many_that_are_due_take_half_of_the_budget_and_no_more(desk: Desk) -> None:
    await copies(desk, 10 * STEP - 1)
    desk.clock.at += 41 * DAY
    began, idle = desk.clock.at, desk.idle
    async with idle:
        await until(desk, partial(left, desk))
    budget = BUDGETS["tokens"]

    # In the last of ten steps, or in a round after them.
    assert 9 * STEP_SECONDS <= (desk.clock.at - began) % ROUND_SECONDS <= 10 * STEP_SECONDS
    assert budget.limit / budget.per_seconds / 2 == STEP / STEP_SECONDS


@requirement("renewal:idle")
async def test_several_processes_take_that_half_together(desk: Desk) -> None:
    await copies(desk, 5 * STEP - 1)
    desk.clock.at += 41 * DAY
    began, idle = desk.clock.at, desk.idle
    idle._processes = lambda: 2
    async with idle:
        await until(desk, partial(left, desk))

    assert 4 * 2 * STEP_SECONDS <= (desk.clock.at - began) % ROUND_SECONDS <= 5 * 2 * STEP_SECONDS


async def until(desk: Desk, more: Callable[[], Awaitable[bool]]) -> None:
    """Wait from sleep to sleep while there is *more*."""
    while await more():
        await desk.clock.slept.wait()
        desk.clock.slept.clear()


async def fewer(asked: Sequence[int]) -> bool:
    """Whether it was asked fewer than three times."""
    return len(asked) < 3


async def left(desk: Desk) -> bool:
    """Whether any are due."""
    return bool(await rows(desk.here._database, due_before(desk.clock.at)))


async def rows(database: Database, query: Any) -> Sequence[Any]:
    return await database.read(lambda reading: reading.execute(query).all())


@requirement("renewal:idle")
async def test_a_step_that_fails_is_told_and_ends_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    idle, asked = desk.idle, list[int]()

    async def fail() -> int:
        asked.append(1)
        raise ValueError("unforeseen")

    monkeypatch.setattr(idle, "renew", fail)
    with capture_logs() as lines:
        async with idle:
            await until(desk, partial(fewer, asked))

    assert {"a step of idle renewals failed"} == {line["event"] for line in lines}


@requirement("renewal:idle")
async def test_those_that_are_due_are_found_by_an_index_among_revoked_ones(desk: Desk) -> None:
    await copies(desk, 3000, status="revoked", refresh_due_at=1.0)
    await desk.here._database.write(lambda writing: writing.execute(text("ANALYZE connections")))
    database = desk.here._database
    query = due_before(desk.clock.at + 41 * DAY)
    asked = query.compile(database._engine, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN" if database.embedded else "EXPLAIN"
    plan = await database.read(lambda reading: reading.exec_driver_sql(f"{explain} {asked}").all())

    assert "ix_connections_refresh_due_at" in repr(plan)
    assert "SCAN connections" not in repr(plan)
    assert "Sort" not in repr(plan)
