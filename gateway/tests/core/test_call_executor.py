"""The path of a call through the core: limits, cursors and authorisation."""

from collections.abc import AsyncIterator

import pytest

from connector_gateway.kit.errors import InvalidCursor, RateLimited
from harness.clocks import ManualClock
from harness.core_fixture import CoreFixture, data, run_core
from harness.databases import sqlite_in
from harness.requirement import requirement


@pytest.fixture
async def core(tmp_path_factory: pytest.TempPathFactory, clock: ManualClock) -> AsyncIterator[CoreFixture]:
    async with run_core(sqlite_in(tmp_path_factory.mktemp("calls")), clock) as prepared:
        yield prepared


@requirement("common-70", "common-71")
async def test_a_key_is_limited_to_a_number_of_calls_per_minute(core: CoreFixture, clock: ManualClock) -> None:
    caller = await core.new_caller(calls_per_minute=2)
    await core.list(caller)
    clock.at += 20
    await core.list(caller)
    clock.at += 15
    with pytest.raises(RateLimited) as raised:
        await core.list(caller)
    clock.at += 25
    await core.list(caller)

    assert 25 == raised.value.retry_after


@requirement("common-72")
async def test_rejected_calls_do_not_prolong_the_wait(core: CoreFixture, clock: ManualClock) -> None:
    caller = await core.new_caller(calls_per_minute=1)
    await core.list(caller)
    clock.at += 59
    with pytest.raises(RateLimited):
        await core.list(caller)
    clock.at += 1

    assert "ok" == (await core.list(caller)).status


@requirement("common-38")
async def test_cursors_lead_through_a_list(core: CoreFixture) -> None:
    core.shelf.things += ["a", "b", "c", "d"]
    first = await core.list()
    second = await core.list(cursor=first.next_cursor or "")

    assert [{"thing_id": "a"}, {"thing_id": "b"}] == data(first)
    assert [{"thing_id": "c"}, {"thing_id": "d"}] == data(second)
    assert None is second.next_cursor


@requirement("common-40")
async def test_a_cursor_is_valid_with_another_limit_but_not_with_another_filter(core: CoreFixture) -> None:
    core.shelf.things += ["a", "b", "c", "d"]
    cursor = (await core.list()).next_cursor or ""
    rest = await core.list(cursor=cursor, limit="1")
    with pytest.raises(InvalidCursor):
        await core.list(cursor=cursor, colour="red")

    assert [{"thing_id": "c"}] == data(rest)


async def test_a_cursor_is_valid_only_for_its_connection(core: CoreFixture) -> None:
    core.shelf.things += ["a", "b", "c"]
    cursor = (await core.list()).next_cursor or ""
    with pytest.raises(InvalidCursor):
        await core.list(cursor=cursor, connection_id=await core.new_connection())
