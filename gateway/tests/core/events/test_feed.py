"""The feed: each change once, in the order of observation, retained as the plan specifies; on both databases."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select, update

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.events.feed import Feed, Gap
from connector_gateway.core.outbound_webhooks.delivery_positions import mark_due
from connector_gateway.kit.clock import DAY_SECONDS, utc_datetime
from connector_gateway.kit.errors import SecretUnreadable
from connector_gateway.kit.identifiers import RunId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from gateway.tests.core.events.conftest import Node, Sprouted, sprouted
from harness.clocks import NOON
from harness.requirement import requirement
from harness.secret_leaks import contents


async def test_events_are_listed_in_order_of_observation(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("b"), sprouted("a"))
    await node.see(connection, sprouted("c"))

    assert ["b", "a", "c"] == await node.list_plants(connection)


@requirement("common-103")
async def test_a_change_observed_again_is_the_same_event(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a"), sprouted("a"))
    await node.see(connection, sprouted("b"), sprouted("a"))
    page = await node.app._feed.page(connection, Sprouted, None, limit=10)

    assert ["a", "b"] == [event.plant for event in page.items]
    assert all(event.event_id.startswith("evt_") for event in page.items)


async def test_the_same_change_is_another_event_on_another_connection(node: Node) -> None:
    first, second = await node.connect(), await node.connect()
    await node.see(first, sprouted("a"))
    await node.see(second, sprouted("a"))
    pages = [await node.app._feed.page(connection, Sprouted, None, limit=10) for connection in (first, second)]

    assert 2 == len({event.event_id for page in pages for event in page.items})


async def test_an_old_cursor_continues_at_its_position(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, *map(sprouted, "abc"))
    first = await node.app._feed.page(connection, Sprouted, None, limit=2)
    node.clock.at += 6 * DAY_SECONDS
    await node.see(connection, sprouted("d"))
    second = await node.app._feed.page(connection, Sprouted, first.position, limit=2)

    assert ["a", "b"] == [event.plant for event in first.items]
    assert ["c", "d"] == [event.plant for event in second.items]
    assert second.position is None


async def test_events_since_a_time_include_that_time(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a"))
    node.clock.at += 0.0016
    await node.see(connection, sprouted("b"))
    page = await node.app._feed.page(connection, Sprouted, None, limit=10)

    assert ["b"] == await node.list_plants(connection, since=page.items[1].observed_at)
    assert [] == await node.list_plants(connection, since=utc_datetime(NOON + 60))


async def test_events_are_filtered_by_type_and_channel(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a", "bed 1"), sprouted("b", "bed 2"), sprouted("c", "bed 1", "withered"))

    assert ["c"] == await node.list_plants(connection, event_type="withered")
    assert ["a", "c"] == await node.list_plants(connection, channel="bed 1")
    assert ["a"] == await node.list_plants(connection, channel="bed 1", event_type="sprouted")


@pytest.mark.parametrize(
    ("plan", "days"),
    [
        pytest.param("free", 7, marks=requirement("chat-37", "notes-67")),
        pytest.param("paid", 30, marks=requirement("chat-36", "notes-66")),
    ],
)
async def test_events_are_retained_as_the_plan_specifies(node: Node, plan: str, days: int) -> None:
    connection = await node.connect(plan)
    await node.see(connection, sprouted("old"))
    node.clock.at += days * DAY_SECONDS - 60
    before = await node.list_plants(connection)
    node.clock.at += 61
    after = await node.list_plants(connection)
    await node.app._jobs.run()

    assert ["old"] == before
    assert [] == after
    assert 0 == await _count(node, tables.events)


@requirement("common-110")
async def test_a_purge_takes_bounded_steps_and_leaves_retained_events(node: Node) -> None:
    free, paid = await node.connect("free"), await node.connect("paid")
    await node.see(free, *(sprouted(str(number)) for number in range(PURGE_STEP + 1)))
    await node.see(paid, sprouted("kept"))
    node.clock.at += 8 * DAY_SECONDS
    await node.see(free, sprouted("new"))
    first, second = await node.app._feed.purge(), await node.app._feed.purge()

    assert (PURGE_STEP, 1) == (first, second)
    assert ["new"] == await node.list_plants(free)
    assert ["kept"] == await node.list_plants(paid)


async def test_a_request_for_purged_events_gets_a_warning(node: Node) -> None:
    connection = await node.connect()
    page = await node.app._feed.page(connection, Sprouted, None, limit=10, since=utc_datetime(NOON - 31 * DAY_SECONDS))

    (warning,) = page.warnings
    assert "no longer stored" in warning


@requirement("common-104")
async def test_every_reader_of_a_gap_gets_a_warning(node: Node) -> None:
    connection = await node.connect()
    await node.app._feed.record_gap(connection, Gap(RunId("run_1"), NOON - 600, NOON - 300, "It was dark.", "bed 1"))

    async def warnings(**filters: Any) -> int:
        page = await node.app._feed.page(connection, Sprouted, None, limit=10, **filters)
        return len(page.warnings)

    assert 1 == await warnings()
    assert 1 == await warnings(since=utc_datetime(NOON - 400), channel="bed 1")
    assert 0 == await warnings(channel="bed 2")
    assert 0 == await warnings(since=utc_datetime(NOON - 200))


async def test_no_event_is_stored_for_a_removed_connection(node: Node) -> None:
    connection = await node.connect()
    await node.app.connections.remove(connection)
    await node.see(connection, sprouted("a"))

    assert 0 == await _count(node, tables.events)


async def test_no_event_appears_before_one_that_was_read(node: Node, database_url: str) -> None:
    connection = await node.connect()
    async with Database(database_url) as other:
        feeds = [node.app._feed, Feed(other, node.app._vault, node.clock, mark_due)]
        both = [
            feed.add({connection: [sprouted(f"{name}{number}")]})
            for number in range(25)
            for name, feed in zip("ab", feeds, strict=True)
        ]
        await asyncio.gather(*both)
    query = select(tables.events.c.sequence).where(tables.events.c.connection_id == connection)
    sequences = await node.app.database.read(lambda db: db.execute(query).scalars().all())

    assert set(range(1, 51)) == set(sequences)


async def _count(node: Node, table: Any) -> int:
    count: int = await node.app.database.read(
        lambda db: db.execute(select(func.count()).select_from(table)).scalar_one()
    )
    return count


# Storage


async def stored(node: Node) -> str:
    """Return the content of the database's tables."""
    return await contents(node.app.database)


@requirement("secrets-2")
async def test_event_data_is_stored_encrypted(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a-plant-nobody-may-read"))
    rows = await stored(node)

    assert ["a-plant-nobody-may-read"] == await node.list_plants(connection)
    assert (True, False) == ("sprouted" in rows, "nobody-may-read" in rows)


@requirement("secrets-2")
async def test_an_event_moved_to_another_connection_cannot_be_decrypted(node: Node) -> None:
    first, second = await node.connect(), await node.connect()
    await node.see(first, sprouted("a"))
    await node.see(second, sprouted("b"))
    of = tables.events.c
    taken = select(of.sealed).where(of.connection_id == first).scalar_subquery()
    move = update(tables.events).where(of.connection_id == second).values(sealed=taken)
    await node.app.database.write(lambda db: db.execute(move).rowcount)

    with pytest.raises(SecretUnreadable):
        await node.list_plants(second)


@requirement("secrets-2")
async def test_an_event_that_an_earlier_version_stored_is_read(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a"), sprouted("b"))
    plain = update(tables.events).where(tables.events.c.sequence == 1).values(sealed=None, data={"plant": "old"})
    await node.app.database.write(lambda db: db.execute(plain).rowcount)
    (_, oldest), _ = await node.app._feed.latest(connection)

    assert ["old", "b"] == await node.list_plants(connection)
    assert {"plant": "old"} == oldest["data"]


# The operators' view


async def test_the_latest_events_are_paged_newest_first(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, *map(sprouted, "abc"))
    first, before = await node.app._feed.latest(connection, limit=2)
    second, end = await node.app._feed.latest(connection, limit=2, before=before)

    assert ["c", "b"] == [event["data"]["plant"] for event in first]
    assert ["a"] == [event["data"]["plant"] for event in second]
    assert end is None


async def test_the_latest_events_are_those_of_one_connection(node: Node) -> None:
    connection, other = await node.connect(), await node.connect()
    await node.see(other, sprouted("a"))

    assert ([], None) == await node.app._feed.latest(connection)


async def test_the_latest_events_of_a_revoked_connection_are_listed(node: Node) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a", bed="b"))
    known = await node.app.connections.find(connection)
    assert known is not None
    await node.app.connections.record_status(known, "revoked")
    (event,), _ = await node.app._feed.latest(connection)

    assert ("sprouted", "b", utc_datetime(NOON)) == (event["type"], event["channel"], event["observed_at"])


@requirement("keys-16")
async def test_every_feed_reports_the_time_lost_by_a_restore(node: Node) -> None:
    connections = [await node.connect(), await node.connect()]
    await node.app.restores.declare(NOON - 600)
    pages = [await node.app._feed.page(connection, Sprouted, None, limit=1) for connection in connections]
    runs = [run for one in connections for run in await node.app.runs.list(None, connection_id=one)]

    warning = "may be missing: the database was restored from a backup."
    assert [True, True] == [warning in page.warnings[0] for page in pages]
    assert ["events_missed"] * 2 == [run["code"] for run in runs]
