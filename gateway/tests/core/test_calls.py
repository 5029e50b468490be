"""The path of a call through the core: limits, cursors and authorisation."""

from collections.abc import AsyncIterator

import pytest

from connector_gateway.kit.errors import InvalidCursor, RateLimited
from harness.clocks import ManualClock
from harness.core_fixture import CoreFixture, data, run_core
from harness.databases import sqlite_in
from harness.requirement import requirement


@pytest.fixture
async def stage(tmp_path_factory: pytest.TempPathFactory, clock: ManualClock) -> AsyncIterator[CoreFixture]:
    async with run_core(sqlite_in(tmp_path_factory.mktemp("calls")), clock) as prepared:
        yield prepared


@requirement("common-70", "common-71")
async def test_a_key_is_limited_to_a_number_of_calls_per_minute(stage: CoreFixture, clock: ManualClock) -> None:
    caller = await stage.new_caller(calls_per_minute=2)
    await stage.list(caller)
    clock.at += 20
    await stage.list(caller)
    clock.at += 15
    with pytest.raises(RateLimited) as raised:
        await stage.list(caller)
    clock.at += 25
    await stage.list(caller)

    assert 25 == raised.value.retry_after


@requirement("common-72")
async def test_rejected_calls_do_not_prolong_the_wait(stage: CoreFixture, clock: ManualClock) -> None:
    caller = await stage.new_caller(calls_per_minute=1)
    await stage.list(caller)
    clock.at += 59
    with pytest.raises(RateLimited):
        await stage.list(caller)
    clock.at += 1

    assert "ok" == (await stage.list(caller)).status


@requirement("common-38")
async def test_cursors_lead_through_a_list(stage: CoreFixture) -> None:
    stage.shelf.things += ["a", "b", "c", "d"]
    first = await stage.list()
    second = await stage.list(cursor=first.next_cursor or "")

    assert [{"thing_id": "a"}, {"thing_id": "b"}] == data(first)
    assert [{"thing_id": "c"}, {"thing_id": "d"}] == data(second)
    assert None is second.next_cursor


@requirement("common-40")
async def test_a_cursor_is_valid_with_another_limit_but_not_with_another_filter(stage: CoreFixture) -> None:
    stage.shelf.things += ["a", "b", "c", "d"]
    cursor = (await stage.list()).next_cursor or ""
    rest = await stage.list(cursor=cursor, limit="1")
    with pytest.raises(InvalidCursor):
        await stage.list(cursor=cursor, colour="red")

    assert [{"thing_id": "c"}] == data(rest)


async def test_a_cursor_is_valid_only_for_its_connection(stage: CoreFixture) -> None:
    stage.shelf.things += ["a", "b", "c"]
    cursor = (await stage.list()).next_cursor or ""
    with pytest.raises(InvalidCursor):
        await stage.list(cursor=cursor, connection_id=await stage.new_connection())
