"""The history of runs, and runs of dead processes, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import inspect

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.heartbeats import (
    DEAD_AFTER_SECONDS,
    HEARTBEAT_SECONDS,
    LIVE_SECONDS,
    PEER_CHECK_SECONDS,
    ProcessHeartbeats,
)
from connector_gateway.core.history.retention import RunRetention
from connector_gateway.core.history.runs import Run, RunRecorder, RunStore
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.core.writes.idempotency import Claims
from connector_gateway.kit.errors import (
    GatewayError,
    InternalError,
    Overloaded,
    RunNotFound,
    StorageUnavailable,
    UpstreamRefused,
)
from connector_gateway.kit.identifiers import KeyId, ProcessId, RunId, WorkspaceId, new_run_id, ulid
from connector_gateway.kit.upstream.client import RequestRecord
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse
from harness.clocks import ManualClock
from harness.core_fixture import list_things, put_thing
from harness.postgres import temporary_database
from harness.requirement import requirement
from harness.storage_faults import read_only

DAY = 24 * 60 * 60


@dataclass
class Node:
    """The records of one process."""

    database: Database
    clock: ManualClock
    process_id: ProcessId = field(default_factory=lambda: ProcessId(f"proc_{ulid()}"))
    workspace_id: WorkspaceId = field(default_factory=lambda: WorkspaceId(f"ws_{ulid()}"))

    def __post_init__(self) -> None:
        self.shutdown = Shutdown()
        self.runs = RunStore(self.database, self.process_id, self.clock, self.shutdown)
        self.claims = Claims(self.database, self.process_id, self.clock)
        self.processes = ProcessHeartbeats(
            self.database,
            self.process_id,
            self.clock,
            runs=self.runs,
            claims=self.claims,
            shutdown=self.shutdown,
            monotonic=self.clock.now,
        )
        self.caller = Caller(KeyId("key_1"), self.workspace_id, "read_write", 120, None, None)

    async def record(
        self,
        ends: GatewayError | None = None,
        operation: Any = list_things,
        connection_id: str | None = "conn_1",
        run: Run | None = None,
    ) -> Run:
        """Record one run, which succeeds or fails with *ends*."""
        run = run or Run("test")
        with nullcontext() if ends is None else pytest.raises(type(ends)):
            async with self.create_recorder(run, operation, connection_id) as recording:
                await recording.open()
                run.log.requests.append(RequestRecord(self.clock.now(), "GET", "/x", 200, 1.23456, 2.0))
                if ends is not None:
                    raise ends
                run.succeed("ok")
        return run

    def create_recorder(self, run: Run, operation: Any, connection_id: str | None = None) -> RunRecorder:
        return self.runs.record(
            run,
            self.caller.workspace_id,
            "shelf",
            operation.name,
            connection_id=connection_id,
            key_id=self.caller.key_id,
        )

    async def list_run_ids(self, **filters: Any) -> list[RunId]:
        return [row["run_id"] for row in await self.runs.list(self.workspace_id, **filters)]


def create_run(clock: ManualClock) -> Run:
    """Return a run whose identifier has the time of *clock*, by which the oldest are found."""
    return Run("test", RunId(f"run_{ulid(int(clock.at * 1000) << 80)}"))


@pytest.fixture
async def node(common_database_url: str, clock: ManualClock) -> AsyncIterator[Node]:
    async with Database(common_database_url, clock=clock.now) as database:
        yield Node(database, clock)


@requirement("common-111")
async def test_a_run_is_reported_with_its_outcome(node: Node) -> None:
    run = await node.record()
    public = await node.runs.show(run.run_id, node.workspace_id)

    assert ("ok", 200, None) == (public["status"], public["http_status"], public["code"])
    assert ("shelf", "list_things", "test", "conn_1") == tuple(
        public[name] for name in ("connector", "operation", "surface", "connection_id")
    )
    assert node.clock.at == public["started_at"].timestamp()
    assert [("GET", "/x", 200, 1.235)] == [
        (exchange["method"], exchange["path"], exchange["status"], exchange["wait_ms"])
        for exchange in public["upstream"]
    ]
    assert not {"process_id", "workspace_id"} & public.keys()


async def test_a_rejected_run_is_reported_with_its_code(node: Node) -> None:
    run = await node.record(UpstreamRefused("No.", private="secret words"))
    public = await node.runs.show(run.run_id, None)

    assert ("error", 422, "upstream_refused") == (public["status"], public["http_status"], public["code"])
    assert "secret words" not in str(public)


async def test_an_internal_error_is_reported_as_such(node: Node) -> None:
    run = Run("test")
    with pytest.raises(InternalError):
        async with node.create_recorder(run, list_things):
            raise KeyError("oops")
    public = await node.runs.show(run.run_id, None)

    assert ("error", 500, "internal_error") == (public["status"], public["http_status"], public["code"])


async def test_a_long_connection_identifier_is_truncated(node: Node) -> None:
    run = await node.record(connection_id="c" * 5000)

    assert 200 == len((await node.runs.show(run.run_id, None))["connection_id"])


@requirement("common-116")
async def test_a_run_of_another_workspace_is_not_found(node: Node) -> None:
    run = await node.record()

    with pytest.raises(RunNotFound, match="in this workspace"):
        await node.runs.show(run.run_id, WorkspaceId("ws_other"))


async def test_to_an_operator_a_run_that_is_not_found_is_in_no_workspace(node: Node) -> None:
    with pytest.raises(RunNotFound, match=r"no run run_1\.$"):
        await node.runs.show("run_1", None)


async def test_runs_are_listed_newest_first_and_page_by_page(node: Node) -> None:
    run_ids = [(await node.record()).run_id for _ in range(5)]
    first = await node.list_run_ids(limit=2)

    assert run_ids[::-1] == await node.list_run_ids()
    assert run_ids[::-1][2:] == await node.list_run_ids(before=first[-1])


@requirement("common-115")
async def test_runs_are_filtered(node: Node) -> None:
    good = (await node.record()).run_id
    node.clock.at += 10
    bad = (await node.record(UpstreamRefused("No."), put_thing, "conn_2")).run_id

    assert [bad] == await node.list_run_ids(status="error")
    assert [good] == await node.list_run_ids(operation="list_things")
    assert [bad] == await node.list_run_ids(connection_id="conn_2")
    assert [bad] == await node.list_run_ids(since=node.clock.at)
    assert [] == await node.list_run_ids(status="error", operation="list_things")


@requirement("common-41")
def test_identifiers_sort_by_time_and_cannot_be_guessed() -> None:
    minted = [new_run_id() for _ in range(5000)]

    assert f"run_{ulid(1 << 80)}" < f"run_{ulid(2 << 80)}" < new_run_id()
    assert sorted(set(minted)) == minted
    assert 26 == len(ulid())


# Dead processes


@requirement("common-113")
async def test_the_runs_of_a_dead_process_are_interrupted(database_url: str, clock: ManualClock) -> None:
    async with Database(database_url, clock=clock.now) as database:
        dead, living = Node(database, clock), Node(database, clock)
        await dead.processes.heartbeat()
        async with dead.create_recorder(run := Run("test"), put_thing) as recording:
            await recording.open()
            clock.at += DEAD_AFTER_SECONDS - 1
            await living.processes.heartbeat()
            before = (await living.runs.show(run.run_id, None))["status"]
            clock.at += 2
            await living.processes.heartbeat()
            after = (await living.runs.show(run.run_id, None))["status"]

    assert ("running", "interrupted") == (before, after)


async def test_an_embedded_database_has_no_other_process(database_url: str, clock: ManualClock) -> None:
    async with Database(database_url, clock=clock.now) as database:
        dead, living = Node(database, clock), Node(database, clock)
        await dead.processes.heartbeat()
        async with dead.create_recorder(run := Run("test"), put_thing) as recording:
            await recording.open()
            await living.processes.__aenter__()
            status = (await living.runs.show(run.run_id, None))["status"]
            living.processes._beating.cancel()
            await asyncio.gather(living.processes._beating, return_exceptions=True)

    assert ("interrupted" if database.embedded else "running") == status


@requirement("common-119")
async def test_expired_runs_are_purged(node: Node) -> None:
    old = (await node.record(run=create_run(node.clock))).run_id
    node.clock.at += 20 * DAY
    young = (await node.record(run=create_run(node.clock))).run_id
    node.clock.at += 11 * DAY
    await RunRetention(node.database, node.clock, 30).purge_runs()

    assert [young] == await node.list_run_ids()
    assert old != young


async def test_an_older_run_stored_after_a_purge_is_purged_too(node: Node) -> None:
    retention = RunRetention(node.database, node.clock, 30)
    await node.record(run=create_run(node.clock))
    node.clock.at += 31 * DAY
    first = await retention.purge_runs()
    node.clock.at -= 40 * DAY
    await node.record(run=create_run(node.clock))
    node.clock.at += 40 * DAY
    later = [await retention.purge_runs() for _ in range(2)]

    assert (1, [0, 1]) == (first, later)


# Unavailable storage


@requirement("common-137", "common-138")
async def test_a_run_whose_end_cannot_be_committed_fails_and_is_recorded_later(node: Node) -> None:
    run = Run("test")
    with read_only(node.database):
        with pytest.raises(StorageUnavailable):
            async with node.create_recorder(run, list_things):
                run.succeed("ok")
        await node.processes.heartbeat()
    await node.processes.heartbeat()
    public = await node.runs.show(run.run_id, None)

    assert ("error", 503, "storage_unavailable") == (public["status"], public["http_status"], public["code"])


async def test_an_error_that_cannot_be_committed_is_reported_as_storage_unavailable(node: Node) -> None:
    run = Run("test")
    with read_only(node.database), pytest.raises(StorageUnavailable):
        async with node.create_recorder(run, list_things):
            raise UpstreamRefused("No.")

    assert ("error", 503, "storage_unavailable") == (run.status, run.http_status, run.code)


@requirement("common-137")
async def test_a_write_whose_run_cannot_be_recorded_is_not_started(node: Node) -> None:
    run, begun = Run("test"), []

    async def write() -> None:
        async with node.create_recorder(run, put_thing) as recording:
            await recording.open()
            begun.append("sent")

    with read_only(node.database), pytest.raises(StorageUnavailable):
        await write()
    await node.database.flush()

    assert [] == begun
    assert "storage_unavailable" == (await node.runs.show(run.run_id, None))["code"]


async def test_a_run_cancelled_while_storage_is_unavailable_remains_cancelled(node: Node) -> None:
    run = Run("test")
    with read_only(node.database), pytest.raises(asyncio.CancelledError):
        async with node.create_recorder(run, list_things):
            raise asyncio.CancelledError
    await node.database.flush()

    assert "interrupted" == (await node.runs.show(run.run_id, None))["status"]


@requirement("common-140")
async def test_a_live_process_run_with_a_lost_end_is_interrupted_at_the_next_heartbeat(node: Node) -> None:
    lost, going_on = Run("test"), Run("test")
    async with node.create_recorder(going_on, put_thing) as recording:
        await recording.open()
        await node.create_recorder(lost, put_thing).open()
        node.runs.open_runs.discard(lost.run_id)
        await node.processes.heartbeat()
        statuses = [(await node.runs.show(run.run_id, None))["status"] for run in (lost, going_on)]

    assert ["interrupted", "running"] == statuses
    assert set() == node.runs.open_runs


# Heartbeats


async def test_a_process_knows_the_age_of_its_last_heartbeat(node: Node) -> None:
    before = node.processes.alive
    await node.processes.heartbeat()
    node.clock.at += LIVE_SECONDS - 0.1
    young = node.processes.alive
    node.clock.at += 0.1

    assert (False, True, False) == (before, young, node.processes.alive)


async def test_an_uncommitted_heartbeat_does_not_count(node: Node) -> None:
    with read_only(node.database):
        await node.processes.heartbeat()

    assert not node.processes.alive


async def test_a_failing_heartbeat_job_does_not_stop_the_others(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> int:
        raise LookupError("one part")

    monkeypatch.setattr(node.runs, "interrupt_abandoned", fail)
    dead = Node(node.database, node.clock, workspace_id=node.workspace_id)
    await dead.create_recorder(run := Run("test"), put_thing).open()
    node.runs.process_id = dead.process_id
    await node.processes.heartbeat()

    assert "interrupted" == (await node.runs.show(run.run_id, None))["status"]


async def test_the_heartbeat_continues_after_a_storage_outage(database_url: str, clock: ManualClock) -> None:
    async with Database(database_url, clock=clock.now) as database:
        node = Node(database, clock)
        async with node.processes:
            with read_only(database):
                clock.slept.clear()
                await clock.slept.wait()
                clock.at += DEAD_AFTER_SECONDS
                seen = node.processes.alive
            await wait_for_heartbeat(node)

    assert not seen


async def wait_for_heartbeat(node: Node) -> None:
    """Wait for the next heartbeat."""
    async with asyncio.timeout(10):
        while not node.processes.alive:  # noqa: ASYNC110  # what is waited for is in the database
            await asyncio.sleep(HEARTBEAT_SECONDS / 1000)


# The single process


class PeerClock(ManualClock):
    """A clock that lets another process write a heartbeat during every sleep."""

    other: Node

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await self.other.processes.write_heartbeat()


@requirement("common-141")
async def test_a_second_process_is_rejected_while_the_first_writes_heartbeats(new_postgres: str) -> None:
    clock = PeerClock()
    async with Database(new_postgres, clock=clock.now) as database:
        clock.other, second = Node(database, clock), Node(database, clock)
        await clock.other.processes.heartbeat()
        began = clock.at
        with pytest.raises(DatabaseInUse, match=f"another process, {clock.other.process_id}; stop that process first"):
            await second.processes.wait_until_single()

    assert PEER_CHECK_SECONDS == clock.at - began


async def test_a_process_replaces_a_dead_one(new_postgres: str, clock: ManualClock) -> None:
    async with Database(new_postgres, clock=clock.now) as database:
        dead, next_one = Node(database, clock), Node(database, clock)
        await dead.processes.heartbeat()
        began = clock.at
        await next_one.processes.wait_until_single()
        waited = clock.at - began
        await next_one.processes.heartbeat()

    assert (LIVE_SECONDS, "") == (waited, next_one.shutdown.reason)


@requirement("common-141")
async def test_the_later_of_two_concurrent_processes_stops(new_postgres: str, clock: ManualClock) -> None:
    async with Database(new_postgres, clock=clock.now) as database:
        first, second = Node(database, clock), Node(database, clock)
        await first.processes.heartbeat()
        clock.at += 1
        await second.processes.heartbeat()
        await first.processes.heartbeat()

    assert ("", f"{first.process_id}, which started earlier.") == (
        first.shutdown.reason,
        second.shutdown.reason.rpartition(" process, ")[2],
    )


async def test_the_single_process_check_works_before_tables_exist(postgres_server: str, clock: ManualClock) -> None:
    with temporary_database(postgres_server) as address:
        database = Database(address, clock=clock.now)
        await Node(database, clock).processes.wait_until_single()
        there = await database.read(lambda db: inspect(db).get_table_names())
        database.dispose()

    assert [] == there


# Shutdown


@requirement("common-144")
async def test_a_call_interrupted_by_shutdown_is_reported_and_recorded(node: Node) -> None:
    run = Run("test")
    node.shutdown.start()
    with pytest.raises(Overloaded) as caught:
        async with node.create_recorder(run, list_things):
            raise asyncio.CancelledError
    public = await node.runs.show(run.run_id, None)

    assert caught.value.retry_after
    assert ("error", 503, "overloaded") == (public["status"], public["http_status"], public["code"])
