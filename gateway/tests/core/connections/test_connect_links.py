"""Connect links, on both databases."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import insert

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.connections.connect_links import ConnectLinks
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock

HOUR = 3600.0


@pytest.fixture
async def database(common_database_url: str) -> AsyncIterator[Database]:
    async with Database(common_database_url) as opened:
        yield opened


@pytest.fixture
def links(database: Database, clock: ManualClock) -> ConnectLinks:
    return ConnectLinks(database, clock, "http://127.0.0.1:1")


async def test_a_link_is_valid_until_it_expires_and_is_deleted_then(links: ConnectLinks, clock: ManualClock) -> None:
    token = str((await links.issue("conn_1"))["connect_url"]).rpartition("/")[2]
    clock.at += HOUR - 1
    deleted_before, link = await links.purge(), await links.find(token)
    clock.at += 1

    assert (0, "conn_1") == (deleted_before, link.connection_id if link else None)
    assert await links.find(token) is None
    assert 1 == await links.purge()


async def test_expired_links_and_consents_are_deleted_in_steps(
    links: ConnectLinks, database: Database, clock: ManualClock
) -> None:
    consent = {"link": b"link", "browser": b"browser", "sealed": b"sealed", "expires_at": clock.now()}
    rows = [consent | {"digest": number.to_bytes(32, "big")} for number in range(PURGE_STEP + 1)]
    await database.write(lambda db: db.execute(insert(tables.consents), rows).rowcount)

    assert [PURGE_STEP, 1, 0] == [await links.purge(), await links.purge(), await links.purge()]
