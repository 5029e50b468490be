"""The cost of reading the history: a bounded number of runs, found by an index, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert

from connector_gateway.core.history import runs as module
from connector_gateway.core.history.retention import RunRetention
from connector_gateway.core.history.runs import INTERRUPT_ABANDONED
from connector_gateway.core.writes.idempotency import DELETE_ABANDONED
from connector_gateway.kit.errors import UpstreamRefused
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from gateway.tests.core.history.test_runs import Node
from harness.clocks import ManualClock
from harness.databases import sqlite_in
from harness.query_plans import plans
from harness.requirement import requirement

NO = UpstreamRefused("No.")


@pytest.fixture
async def node(common_database_url: str, clock: ManualClock) -> AsyncIterator[Node]:
    async with Database(common_database_url, clock=clock.now) as database:
        yield Node(database, clock)


@pytest.fixture
async def sqlite_node(tmp_path_factory: pytest.TempPathFactory, clock: ManualClock) -> AsyncIterator[Node]:
    folder = tmp_path_factory.mktemp("embedded")
    async with Database(sqlite_in(folder), clock=clock.now) as database:
        yield Node(database, clock)


@requirement("common-153")
async def test_a_page_ends_after_the_maximum_of_scanned_runs(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXAMINED", 3)
    expected = (await node.record(connection_id="conn_2")).run_id
    others = [(await node.record()).run_id for _ in range(4)]
    first = await node.runs.page(node.workspace_id, operation="list_things", connector="garden")
    page = await node.runs.page(node.workspace_id, ["conn_2"], before=first.before)

    assert ([], others[1]) == (first.rows, first.before)
    assert ([expected], None) == ([row["run_id"] for row in page.rows], page.before)


@requirement("common-153")
async def test_all_matching_runs_are_found_over_several_pages(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXAMINED", 2)
    run_ids = [(await node.record(connection_id=f"conn_{number % 3}")).run_id for number in range(9)]
    list_run_ids = await node.runs.list(node.workspace_id, ["conn_1"], limit=10)

    assert run_ids[1::3][::-1] == [row["run_id"] for row in list_run_ids]


async def test_runs_long_before_the_requested_time_are_not_scanned(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXAMINED", 2)
    for _ in range(6):
        await node.record()
    node.clock.at += 2 * module.LATENESS_SECONDS
    page = await node.runs.page(node.workspace_id, since=node.clock.at)

    assert ([], None) == (page.rows, page.before)


@pytest.mark.parametrize("status", [None, "error", "ok"])
@pytest.mark.parametrize("named", [True, False])
async def test_runs_of_a_connection_are_found_with_or_without_its_workspace(
    node: Node, status: str | None, *, named: bool
) -> None:
    good, bad = await node.record(connection_id="conn_7"), await node.record(NO, connection_id="conn_7")
    await node.record(NO, connection_id="conn_8")
    await node.database.write(lambda db: add_connection(db, "conn_7", node.workspace_id))
    workspace_id = node.workspace_id if named else None
    page = await node.runs.page(workspace_id, connection_id="conn_7", status=status)
    expected = {None: [bad, good], "error": [bad], "ok": [good]}[status]

    assert [run.run_id for run in expected] == [row["run_id"] for row in page.rows]


def add_connection(db: Connection, connection_id: str, workspace_id: str) -> None:
    """Create a connection with this identifier in its own workspace."""
    db.execute(delete(tables.connections).where(tables.connections.c.connection_id == connection_id))
    db.execute(insert(tables.workspaces), {"workspace_id": workspace_id, "name": "", "plan": "free", "created_at": 1})
    row = {
        "connection_id": connection_id,
        "workspace_id": workspace_id,
        "connector": "shelf",
        "name": "",
        "sealed": b"",
    }
    dates = {"created_at": 1, "updated_at": 1}
    db.execute(insert(tables.connections), {**row, **dates, "status": "active", "settings": {}, "deleted": False})


# Query plans of the embedded database


def filter_run_plans(query_plans: list[str]) -> set[str]:
    """Return the plans for the tables of runs and claims themselves."""
    return {step for step in query_plans if " runs" in step or " claims" in step}


@pytest.mark.parametrize(
    ("filters", "step"),
    [
        ({}, "ix_runs_workspace (workspace_id=?)"),
        ({"operation": "x", "status": "ok"}, "ix_runs_workspace (workspace_id=?)"),
        ({"connection_id": "c"}, "ix_runs_connection (workspace_id=? AND connection_id=?)"),
        ({"status": "error"}, "ix_runs_unsuccessful (workspace_id=? AND status=?)"),
        ({"status": "error", "connection_id": "c"}, "ix_runs_unsuccessful (workspace_id=? AND status=?)"),
    ],
)
@requirement("common-154")
async def test_a_page_uses_an_index(sqlite_node: Node, filters: dict[str, Any], step: str) -> None:
    query_plans = filter_run_plans(
        await plans(sqlite_node.database, lambda: sqlite_node.runs.page(sqlite_node.workspace_id, **filters))
    )

    assert {f"SEARCH runs USING INDEX {step}"} == {plan.replace("COVERING ", "") for plan in query_plans}


async def test_a_page_needs_no_sorting(sqlite_node: Node) -> None:
    page = plans(
        sqlite_node.database, lambda: sqlite_node.runs.page(sqlite_node.workspace_id, connection_id="c", limit=50)
    )

    assert not [step for step in await page if "runs" in step and "TEMP B-TREE" in step]


@requirement("common-155")
@pytest.mark.parametrize("statement", [INTERRUPT_ABANDONED, DELETE_ABANDONED])
async def test_runs_of_dead_processes_are_found_by_an_index(sqlite_node: Node, statement: Any) -> None:
    query_plans = await plans(
        sqlite_node.database, lambda: sqlite_node.database.write(lambda db: db.execute(statement))
    )

    assert not [step for step in query_plans if step.startswith("SCAN") and "INDEX" not in step]
    assert [step for step in query_plans if "_process" in step]


@requirement("common-155")
async def test_expired_rejected_runs_are_found_by_their_own_index(sqlite_node: Node) -> None:
    query_plans = filter_run_plans(
        await plans(sqlite_node.database, RunRetention(sqlite_node.database, sqlite_node.clock, 30).purge_rate_limited)
    )

    assert {"SCAN runs USING INDEX ix_runs_refused"} == query_plans
