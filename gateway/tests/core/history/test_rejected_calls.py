"""Rejected calls: a limited number have a run, the rest are counted; on both databases."""

from collections.abc import AsyncIterator

import pytest

from connector_gateway.core.history import rejected_calls as module
from connector_gateway.core.history.rejected_calls import HOUR_SECONDS, MAX_RECORDED
from connector_gateway.core.history.retention import RunRetention
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.errors import RateLimited, RunNotFound, RunNotRecorded
from connector_gateway.kit.identifiers import RunId, WorkspaceId, new_run_id
from connector_gateway.storage.sql.database import Database
from gateway.tests.core.history.test_runs import DAY, Node
from harness.clocks import ManualClock
from harness.core_fixture import list_things
from harness.requirement import requirement
from harness.storage_faults import read_only

MAX_RUNS = 3
"""A small limit instead of a thousand."""


@pytest.fixture
async def node(common_database_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    monkeypatch.setattr(module, "MAX_RECORDED", MAX_RUNS)
    async with Database(common_database_url, clock=clock.now) as database:
        yield Node(database, clock)


async def record_rejected(node: Node, count: int) -> list[RunId]:
    """Record *count* calls above the key's limit."""
    return [(await record_one_rejected(node)).run_id for _ in range(count)]


async def record_one_rejected(node: Node) -> Run:
    run = Run("test")
    with pytest.raises(RateLimited):
        async with node.create_recorder(run, list_things):
            raise RateLimited("Used up.", retry_after=1)
    return run


@requirement("common-121")
async def test_the_rejected_runs_of_a_key_are_limited_and_the_last_counts_the_rest(node: Node) -> None:
    run_ids = await record_rejected(node, MAX_RUNS + 5)
    await node.runs.rejected_calls.commit()
    rows = await node.runs.list(node.workspace_id)

    assert 1000 == MAX_RECORDED
    assert [(run_id, "rate_limited") for run_id in run_ids[:MAX_RUNS][::-1]] == [
        (row["run_id"], row["code"]) for row in rows
    ]
    assert [5, None, None] == [row["and_more"] for row in rows]


@requirement("common-121")
async def test_a_call_that_was_only_counted_is_reported_as_not_recorded(node: Node) -> None:
    run_ids = await record_rejected(node, MAX_RUNS + 2)
    with pytest.raises(RunNotRecorded) as at_once:
        await node.runs.show(run_ids[-1], node.workspace_id)
    await node.runs.rejected_calls.commit()
    later = Node(node.database, node.clock, workspace_id=node.workspace_id)
    with pytest.raises(RunNotRecorded) as after_a_restart:
        await later.runs.show(run_ids[MAX_RUNS], node.workspace_id)

    assert (404, "run_not_recorded") == (at_once.value.status, at_once.value.code)
    assert "only counted" in after_a_restart.value.message


@requirement("common-116")
async def test_counted_runs_are_unknown_in_other_workspaces_and_at_other_times(node: Node) -> None:
    run_ids = await record_rejected(node, MAX_RUNS + 2)
    await node.runs.rejected_calls.commit()

    with pytest.raises(RunNotFound):
        await node.runs.show(run_ids[-1], WorkspaceId("ws_other"))
    with pytest.raises(RunNotFound):
        await node.runs.show(new_run_id(), node.workspace_id)


async def test_counts_during_a_storage_outage_are_stored_later(node: Node) -> None:
    await record_rejected(node, MAX_RUNS + 2)
    with read_only(node.database):
        await node.processes.heartbeat()
    await record_rejected(node, 1)
    await node.runs.rejected_calls.commit()

    assert 3 == (await node.runs.list(node.workspace_id))[0]["and_more"]


@requirement("common-121")
async def test_every_hour_has_its_own_rejected_runs(node: Node) -> None:
    await record_rejected(node, MAX_RUNS + 2)
    await node.runs.rejected_calls.commit()
    node.clock.at += HOUR_SECONDS
    await record_rejected(node, 1)
    await node.runs.rejected_calls.commit()
    rows = await node.runs.list(node.workspace_id)

    assert [None, 2, None, None] == [row["and_more"] for row in rows]


async def test_an_idle_key_is_dropped_after_its_hour(node: Node) -> None:
    await record_rejected(node, MAX_RUNS + 2)
    node.clock.at += HOUR_SECONDS
    await node.runs.rejected_calls.commit()

    assert {} == node.runs.rejected_calls._hours


@requirement("common-121")
async def test_rejected_runs_are_retained_for_a_day(node: Node) -> None:
    await record_rejected(node, 2)
    other = (await node.record()).run_id
    node.clock.at += DAY + 1
    young = (await record_rejected(node, 1))[0]
    await RunRetention(node.database, node.clock, 30).purge_rate_limited()

    assert [young, other] == await node.list_run_ids()
