"""Lists of connections: complete, paged, and found by an index, however many exist or were removed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from connector_gateway.core.connections.connection_lifecycle import select_same_account
from connector_gateway.storage.sql.database import Database
from gateway.tests.core.connections.test_connections import Stores, create_store, stores, vault
from harness.clocks import ManualClock
from harness.databases import sqlite_in
from harness.query_plans import plans
from harness.requirement import requirement

__all__ = ["stores"]

BOTH_BEFORE = "workspace_id=? AND connector=? AND connection_id<?)"


@requirement("connections-26")
async def test_pages_of_connections_omit_removed_ones(stores: Stores) -> None:
    oldest, removed, older, newest = [await stores.make() for _ in range(4)]
    await stores.here.remove(removed)
    workspace_id = stores.caller.workspace_id
    first = await stores.here.page(workspace_id, limit=2)
    second = await stores.here.page(workspace_id, limit=2, before=first.before)

    assert ([newest, older], older) == ([row["connection_id"] for row in first.rows], first.before)
    assert ([oldest], None) == ([row["connection_id"] for row in second.rows], second.before)


@requirement("connections-26")
async def test_a_page_that_ends_with_the_last_connection_is_the_last(stores: Stores) -> None:
    connection_ids = [await stores.make() for _ in range(2)]
    page = await stores.here.page(stores.caller.workspace_id, connector="shelf", limit=2)

    assert (connection_ids[::-1], None) == ([row["connection_id"] for row in page.rows], page.before)


@pytest.fixture
async def sqlite_database(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Database]:
    folder = tmp_path_factory.mktemp("embedded")
    async with Database(sqlite_in(folder)) as database:
        yield database


@pytest.mark.parametrize(
    ("filters", "step"),
    [
        ({}, "SCAN connections USING INDEX ix_connections"),
        ({"before": "c"}, "SEARCH connections USING INDEX ix_connections (connection_id<?)"),
        ({"workspace_id": "w"}, "SEARCH connections USING INDEX ix_connections_workspace (workspace_id=?)"),
        ({"connector": "n"}, "SEARCH connections USING INDEX ix_connections_connector (connector=?)"),
        (
            {"workspace_id": "w", "connector": "n", "before": "c"},
            "SEARCH connections USING INDEX ix_connections_workspace_connector (" + BOTH_BEFORE,
        ),
        (
            {"workspace_id": "w", "connection_ids": ["c", "d"]},
            "SEARCH connections USING INDEX ix_connections_workspace (workspace_id=? AND connection_id=?)",
        ),
    ],
)
async def test_a_page_uses_an_index_and_no_sorting(
    sqlite_database: Database, clock: ManualClock, filters: dict[str, Any], step: str
) -> None:
    connections = create_store(sqlite_database, vault(), clock)
    query_plans = await plans(sqlite_database, lambda: connections.page(**filters))

    assert [step] == [plan for plan in query_plans if " connections" in plan]
    assert not [plan for plan in query_plans if "TEMP B-TREE" in plan]


async def test_other_connections_to_an_account_use_an_index(sqlite_database: Database) -> None:
    query = select_same_account("notes", "conn_one")
    query_plans = await plans(sqlite_database, lambda: sqlite_database.read(lambda db: db.execute(query).all()))

    assert "SEARCH connections USING INDEX ix_connections_account (connector=? AND account_id=?)" in query_plans
