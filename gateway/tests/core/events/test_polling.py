"""Polling: leases, intervals, endings and crashes; on both databases."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from structlog.testing import capture_logs

from connector_gateway.core.events.polling import (
    FIRST_BACKOFF_SECONDS,
    MIN_REVOKED_SECONDS,
    REVOKED_SECONDS,
    TICK_SECONDS,
    LeaseLost,
    PollSession,
    _retry_delay,
)
from connector_gateway.core.events.watches import WatchStore
from connector_gateway.core.heartbeats import DEAD_AFTER_SECONDS
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import ConnectionRevoked, RouteNotFound, UpstreamError, UpstreamRateLimited
from connector_gateway.kit.events import HookRequest, PollContext, Snapshot
from connector_gateway.kit.identifiers import ProcessId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.unavailable_database import storage_unavailable
from gateway.tests.core.events.conftest import SECRET, Node, Sprouted, forget, sprouted
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement
from harness.storage_faults import read_only
from harness.wait import until


async def watch_row(node: Node, connection_id: Any) -> Any:
    query = select(tables.watches).where(tables.watches.c.connection_id == connection_id)
    return await node.app.database.read(lambda db: db.execute(query).first())


async def wait_for_polls(node: Node, times: int = 1) -> None:
    """Wait until *times* polls have ended."""

    async def ended() -> bool:
        begun = len(node.garden.polls) >= times
        query = select(tables.watches.c.lease)
        leases = await node.app.database.read(lambda db: db.execute(query).scalars().all())
        return begun and not any(leases)

    await until(ended)


async def open_session(node: Node, poll: Any) -> PollSession:
    """Lease a poll for use by the test."""
    connection = (await node.app.connections.get_many([poll.connection_id]))[poll.connection_id]
    return PollSession(
        poll, connection, Run("watch"), database=node.app.database, feed=node.app._feed, clock=node.clock
    )


async def other_process(node: Node) -> WatchStore:
    """Return another process on the same database."""
    return WatchStore(node.app.database, ProcessId("proc_other"))


async def test_a_new_connection_is_polled_immediately(node: Node) -> None:
    await node.watch()
    connection = await node.connect()
    await wait_for_polls(node)

    (poll,) = node.garden.polls
    assert (connection, True) == (poll.connection_id, poll.polls_everything)


async def test_deferred_polls_start_only_when_enabled(node: Node) -> None:
    node.app.defer_polls()
    await node.watch()
    await node.connect()
    await asyncio.sleep(2 * TICK_SECONDS)
    deferred = list(node.garden.polls)
    node.app.start_polls()
    await wait_for_polls(node)

    assert [] == deferred


async def watching_since(node: Node, connection_id: Any) -> Any:
    """Return since when the connection is watched."""
    return (await node.app.connections.show(connection_id))["watching_since"]


@requirement("common-187")
async def test_a_connection_reports_since_when_it_is_fully_watched(node: Node) -> None:
    connection = await node.connect()
    before = await watching_since(node, connection)
    await node.watch()
    await wait_for_polls(node)
    node.clock.at += 60
    await node.app.connections.change(connection, settings={})
    await wait_for_polls(node, 2)

    assert before is None
    assert utc_datetime(NOON) == await watching_since(node, connection)


@requirement("common-187")
async def test_an_incompletely_read_connection_is_not_watched_yet(node: Node) -> None:
    async def read_partially(watch: PollContext[Any]) -> None:
        watch.unfinished = True

    node.garden.script = [read_partially, UpstreamRateLimited("Later.", retry_after=1)]
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    after_a_rest = await watching_since(node, connection)
    await node.app.connections.change(connection, settings={})
    await wait_for_polls(node, 2)

    assert (None, None) == (after_a_rest, await watching_since(node, connection))


@requirement("common-187")
async def test_a_connection_reports_its_progress_until_it_is_fully_read(node: Node) -> None:
    async def read_a_part(watch: PollContext[Any]) -> None:
        watch.unfinished = True
        await watch.progress(1, 4)

    async def read_the_rest(watch: PollContext[Any]) -> None:
        await watch.progress(4, 4)

    node.garden.script = [read_a_part, read_the_rest]
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    after_a_part = (await node.app.connections.show(connection))["watching_progress"]
    await node.app.connections.change(connection, settings={})
    await wait_for_polls(node, 2)

    assert {"done": 1, "total": 4} == after_a_part
    assert (await node.app.connections.show(connection))["watching_progress"] is None


@requirement("common-187")
async def test_new_credentials_cause_a_full_read_first(node: Node) -> None:
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    node.garden.gate.clear()
    changed = await node.app.connections.change(connection, credentials={"token": "a-newer-token"})
    node.garden.gate.set()
    await wait_for_polls(node, 2)

    assert changed["watching_since"] is None
    assert await watching_since(node, connection)


async def test_the_next_poll_follows_after_the_interval(node: Node) -> None:
    connection = await node.connect()
    began = node.clock.at
    await node.watch()
    await wait_for_polls(node)
    watch = await watch_row(node, connection)

    assert began + 60 == watch.due_at
    assert began == watch.behind_since


@requirement("common-107")
async def test_a_connection_has_one_poll_at_a_time(node: Node) -> None:
    await node.connect()
    first = await node.watches.claim("garden", 10)
    again = await node.watches.claim("garden", 10)
    elsewhere = await (await other_process(node)).claim("garden", 10)

    assert (1, 0, 0) == (len(first), len(again), len(elsewhere))


@requirement("common-107")
async def test_concurrent_processes_lease_different_polls(node: Node, database_url: str) -> None:
    await asyncio.gather(*(node.connect() for _ in range(20)))
    now = node.clock.at
    alive = {"process_id": "proc_other", "started_at": now, "seen_at": now}
    await node.app.database.put(insert(tables.processes), alive)
    async with Database(database_url, clock=node.clock.now) as database:
        other = WatchStore(database, ProcessId("proc_other"))
        claims = await asyncio.gather(*(watches.claim("garden", 3) for watches in [node.watches, other] * 10))
    claimed = [poll.connection_id for claim in claims for poll in claim]

    assert len(set(claimed)) == len(claimed)


@requirement("common-107")
async def test_the_polls_of_a_dead_process_are_taken_over(node: Node) -> None:
    connection = await node.connect()
    (dead,) = await (await other_process(node)).claim("garden", 10)
    (taken,) = await node.watches.claim("garden", 10)
    poll = await open_session(node, dead)

    assert connection == taken.connection_id
    with pytest.raises(LeaseLost):
        await poll.commit([sprouted("late")])
    assert [] == await node.list_plants(connection)


async def test_events_and_snapshots_are_stored_together(node: Node) -> None:
    connection = await node.connect()
    (claimed,) = await node.watches.claim("garden", 10)
    poll = await open_session(node, claimed)
    await poll.commit([sprouted("a")], [Snapshot("beds", "1", {"plants": 2}), Snapshot("beds", "2", 3)])
    await poll.commit([], [Snapshot("beds", "1", {"plants": 3}), forget("2")])

    assert {"1": {"plants": 3}} == await poll.snapshots("beds")
    assert {} == await poll.snapshots("beds", ["2"])
    assert ["a"] == await node.list_plants(connection)


async def test_a_failing_poll_is_retried_at_growing_intervals(node: Node) -> None:
    connection = await node.connect()
    node.garden.script = [UpstreamRateLimited("Later."), UpstreamRateLimited("Later.", retry_after=120)]
    await node.watch()
    await wait_for_polls(node)
    first = (await watch_row(node, connection)).due_at - node.clock.at
    node.clock.at += first
    await wait_for_polls(node, 2)
    second = (await watch_row(node, connection)).due_at - node.clock.at

    assert (FIRST_BACKOFF_SECONDS, 120) == (first, second)
    runs = await node.app.runs.list(None, connection_id=connection)
    assert [("observe_events", "error", "upstream_rate_limited")] == [
        (run["operation"], run["status"], run["code"]) for run in runs
    ]


@requirement("common-156")
async def test_polls_continue_in_time_despite_a_clock_set_back(node: Node) -> None:
    await node.connect()
    node.app.clock = wall = ManualClock()
    await node.watch()
    await wait_for_polls(node)
    wall.at -= 3600
    node.clock.at += 60
    await wait_for_polls(node, 2)

    assert 2 == len(node.garden.polls)


@requirement("common-156")
async def test_polls_deferred_by_a_wrong_clock_are_due_at_the_start(node: Node) -> None:
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    await node.tasks.pop().__aexit__()
    later = update(tables.watches).values(due_at=node.clock.at + 3600, whole_at=node.clock.at + 3600)
    await node.app.database.write(lambda db: db.execute(later))
    await node.watch()
    await wait_for_polls(node, 2)

    assert node.clock.at + 60 >= (await watch_row(node, connection)).due_at


async def test_a_poll_whose_end_cannot_be_stored_is_not_stuck(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    await node.connect()
    give_back = node.watches.finish
    errors = [OSError("the disk is full")]

    async def fail_first(*arguments: Any, **values: Any) -> None:
        if errors:
            raise errors.pop()
        await give_back(*arguments, **values)

    monkeypatch.setattr(node.watches, "finish", fail_first)
    await node.watch()
    await wait_for_polls(node)
    node.clock.at += FIRST_BACKOFF_SECONDS
    await wait_for_polls(node, 2)

    assert 2 == len(node.garden.polls)


async def test_an_internal_error_ends_only_one_poll(node: Node) -> None:
    connection = await node.connect()
    node.garden.script = [KeyError("oops")]
    await node.watch()
    await wait_for_polls(node)
    node.clock.at += FIRST_BACKOFF_SECONDS
    await wait_for_polls(node, 2)

    assert 0 == (await watch_row(node, connection)).failures


async def test_a_withdrawn_authorisation_is_recorded_and_rarely_retried(node: Node) -> None:
    connection = await node.connect()
    node.garden.script = [ConnectionRevoked("Gone.")]
    await node.watch()
    await wait_for_polls(node)

    assert "revoked" == (await node.app.connections.show(connection))["status"]
    assert node.clock.at + MIN_REVOKED_SECONDS == (await watch_row(node, connection)).due_at
    assert REVOKED_SECONDS == _retry_delay(ConnectionRevoked("Gone."), 10)


def test_a_failed_poll_is_retried_after_a_minute_or_as_the_vendor_requests() -> None:
    failed, throttled = UpstreamError("Failed."), UpstreamRateLimited("Slow down.", retry_after=90)

    assert [5, 40, 60, 90] == [_retry_delay(failed, times) for times in (0, 3, 10)] + [_retry_delay(throttled, 10)]


async def test_a_changed_connection_is_polled_immediately(node: Node) -> None:
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    await node.app.connections.change(connection, credentials={"token": "a-newer-token"})
    await wait_for_polls(node, 2)

    assert [True, True] == [poll.polls_everything for poll in node.garden.polls]
    assert "garden-1" == (await watch_row(node, connection)).account


async def test_a_change_during_a_poll_makes_another_one_due(node: Node) -> None:
    connection = await node.connect()
    node.garden.gate.clear()
    await node.watch()
    await node.garden.begun.wait()
    node.clock.at += 1
    await node.app.connections.change(connection, name="new")
    node.garden.gate.set()
    await wait_for_polls(node, 2)

    assert 2 == len(node.garden.polls)


async def test_a_removed_connection_is_no_longer_watched(node: Node) -> None:
    connection = await node.connect()
    (claimed,) = await node.watches.claim("garden", 10)
    poll = await open_session(node, claimed)
    await poll.commit([sprouted("a")], [Snapshot("beds", "1", 1)])
    await node.app.connections.remove(connection)
    await node.app._feed.purge()

    assert await watch_row(node, connection) is None
    assert {} == await poll.snapshots("beds")


@requirement("common-104")
async def test_possibly_missed_events_are_reported_in_feed_and_history(node: Node) -> None:
    connection = await node.connect()

    async def report_gap(watch: PollContext[Any]) -> None:
        await watch.record_gap(node.clock.at - 60, node.clock.at, "It was dark.", "bed 1")

    node.garden.script = [report_gap]
    await node.watch()
    await wait_for_polls(node)
    (run,) = await node.app.runs.list(None, connection_id=connection)
    page = await node.app._feed.page(connection, Sprouted, None, limit=10)

    assert ("partial", "events_missed", "watch") == (run["status"], run["code"], run["surface"])
    (warning,) = page.warnings
    assert "It was dark." in warning
    assert run["run_id"] in warning


async def test_a_hook_wakes_a_poll_of_its_channel(node: Node) -> None:
    await node.deliver_secret()
    connection = await node.connect()
    await node.watch()
    await wait_for_polls(node)
    await node.deliver("poll")
    await wait_for_polls(node, 2)

    assert ({"bed 3", "bed 4"}, False) == (set(node.garden.polls[1].wakes), node.garden.polls[1].polls_everything)
    assert node.clock.at + 60 == (await watch_row(node, connection)).whole_at


@requirement("common-106")
async def test_a_hook_wakes_a_poll_before_its_account_is_known(node: Node) -> None:
    await node.deliver_secret()
    connection = await node.connect()
    await node.deliver("poll")
    (claimed,) = await node.watches.claim("garden", 10)

    assert (connection, {"bed 3", "bed 4"}) == (claimed.connection_id, set(claimed.wakes))


async def test_a_hook_during_a_poll_is_not_lost(node: Node) -> None:
    await node.deliver_secret()
    await node.connect()
    await node.watch()
    await wait_for_polls(node)
    node.garden.gate.clear()
    node.garden.begun.clear()
    await node.deliver("poll")
    await node.garden.begun.wait()
    await node.deliver("poll")
    node.garden.gate.set()
    await wait_for_polls(node, 3)

    assert [2, 2] == [len(poll.wakes) for poll in node.garden.polls[1:]]


@pytest.mark.parametrize("stopped", [True, False])
async def test_an_interrupted_poll_is_repeated_in_full(node: Node, *, stopped: bool) -> None:
    connection = await node.connect()
    (first,) = await node.watches.claim("garden", 10)
    await node.watches.finish(first, whole_at=node.clock.at + 60, behind_since=None, failures=0)
    await node.watches.wake([connection], ["bed 3"])
    dead = await other_process(node)
    (hinted,) = await dead.claim("garden", 10)
    await (dead.release() if stopped else asyncio.sleep(0))
    (again,) = await node.watches.claim("garden", 10)

    assert (False, ["bed 3"]) == (hinted.whole, hinted.wakes)
    assert (True, []) == (again.whole, again.wakes)


@requirement("common-231")
async def test_a_connection_that_is_active_again_ends_the_poll_in_progress(node: Node) -> None:
    connection_id = await node.connect()
    (interrupted,) = await node.watches.claim("garden", 10)
    for status in ("revoked", "active"):
        connection = await node.app.connections.find(connection_id)
        assert connection is not None
        await node.app.connections.record_status(connection, status)
    (again,) = await node.watches.claim("garden", 10)
    poll = await open_session(node, interrupted)

    assert (connection_id, True) == (again.connection_id, again.whole)
    with pytest.raises(LeaseLost):
        await poll.commit()


async def test_a_hook_is_received_by_the_poll_in_progress(node: Node) -> None:
    await node.deliver_secret()
    await node.connect()
    heard: list[Any] = []

    async def listen(watch: PollContext[Any]) -> None:
        await node.deliver("poll")
        heard.extend([sorted(await watch.take_wakes()), await watch.take_wakes()])

    node.garden.script = [listen]
    await node.watch()
    await wait_for_polls(node)

    assert [["bed 3", "bed 4"], []] == heard
    assert 1 == len(node.garden.polls)


async def test_a_connection_whose_hooks_stopped_is_polled(node: Node) -> None:
    connection = await node.connect()
    (claimed,) = await node.watches.claim("garden", 10)
    await node.watches.finish(claimed, whole_at=None, behind_since=None, failures=0)
    await node.watch()
    await wait_for_polls(node)

    assert connection == node.garden.polls[0].connection_id


async def test_a_hook_reaches_all_connections_with_its_object(node: Node) -> None:
    await node.deliver_secret()
    await node.connect()

    async def append_state(watch: PollContext[Any]) -> None:
        await watch.commit(snapshots=[Snapshot("beds", "bed 7", 1)])

    node.garden.script = [append_state]
    await node.watch()
    await wait_for_polls(node)
    await node.deliver("whose")
    await wait_for_polls(node, 2)

    assert ["bed 7"] == list(node.garden.polls[1].wakes)


async def test_a_pushed_event_is_in_the_feed_once_acknowledged(push_node: Node) -> None:
    heard, deaf = await push_node.connect(), await push_node.connect()
    await push_node.watch()
    await wait_for_polls(push_node, 2)
    await push_node.deliver("grew")
    await push_node.deliver("grew", "older")

    assert ["pushed"] == await push_node.list_plants(heard)
    assert ["pushed"] == await push_node.list_plants(deaf)


async def test_a_pushed_connection_is_not_polled_needlessly(push_node: Node) -> None:
    connection = await push_node.connect()
    await push_node.watch()
    await wait_for_polls(push_node)
    watch = await watch_row(push_node, connection)

    assert (None, None, None) == (watch.due_at, watch.whole_at, watch.behind_since)


async def test_a_connection_with_rejected_hooks_reports_them_and_is_polled(push_node: Node) -> None:
    await push_node.connect()
    await push_node.watch()
    await wait_for_polls(push_node)
    await push_node.deliver("lost")
    await wait_for_polls(push_node, 2)

    assert 1000.0 == push_node.garden.polls[1].behind_since


async def test_a_stopped_process_records_when_it_stopped_listening(push_node: Node) -> None:
    connection = await push_node.connect()
    poll_scheduler = await push_node.watch()
    await wait_for_polls(push_node)
    push_node.clock.at += 100
    await poll_scheduler.__aexit__()
    push_node.tasks.clear()

    assert push_node.clock.at == (await watch_row(push_node, connection)).behind_since


async def test_polls_use_the_clock_of_the_database(node: Node) -> None:
    connection = await node.connect()
    poll_scheduler = node.app._new_poll_scheduler(node.app._new_call_executor())
    poll_scheduler.clock = ManualClock(node.clock.at + 3600)
    node.tasks.append(await poll_scheduler.__aenter__())
    await wait_for_polls(node)

    assert node.clock.at == (await watch_row(node, connection)).behind_since
    assert node.clock.at == node.garden.polls[0].clock.now()


async def test_a_process_stops_cleanly_while_storage_is_unavailable(node: Node) -> None:
    connection = await node.connect()
    poll_scheduler = await node.watch()
    await wait_for_polls(node)
    before = await watch_row(node, connection)
    with read_only(node.app.database):
        await poll_scheduler.__aexit__()
    node.tasks.clear()

    assert before == await watch_row(node, connection)


async def test_after_a_crash_the_time_without_a_listener_is_known(push_node: Node, clock: ManualClock) -> None:
    connection = await push_node.connect()
    await push_node.watch()
    await wait_for_polls(push_node)
    last_sign_of_life = clock.at
    clock.at += DEAD_AFTER_SECONDS + 1
    absent_since = await push_node.app._processes._last_heartbeat()

    assert last_sign_of_life == absent_since
    assert (await watch_row(push_node, connection)).behind_since is None


async def test_a_hook_can_report_a_withdrawn_authorisation(push_node: Node) -> None:
    connection = await push_node.connect()
    await push_node.watch()
    await wait_for_polls(push_node)
    await push_node.deliver("gone")

    assert "revoked" == (await push_node.app.connections.show(connection))["status"]


async def test_a_hook_secret_is_accepted_once(node: Node) -> None:
    await node.deliver_secret()
    hook = await node.app.hooks.show("garden")
    stored = await node.app.database.read(lambda db: db.execute(select(tables.hooks.c.sealed)).scalar_one())
    await node.app.hooks.forget("garden")
    again = await node.deliver_secret()

    assert "garden-secret" == hook["verification_token"]
    assert b"garden-secret" not in stored
    assert {} == again


async def test_a_hook_challenge_is_answered(push_node: Node) -> None:
    assert {"challenge": "abc"} == await push_node.deliver("hello")


def test_changes_of_other_processes_are_noticed_within_a_second() -> None:
    assert TICK_SECONDS < 1


def raise_unavailable(*_: object, **__: object) -> Any:
    raise storage_unavailable("the server has gone")


async def test_unavailable_storage_is_logged_for_claims_and_polls(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose_storage(_: PollContext[Any]) -> None:
        monkeypatch.setattr(node.watches, "claim", raise_unavailable)
        monkeypatch.setattr(node.app.connections, "record_status", raise_unavailable)
        node.watches.wake_event.set()

    async def both_logged() -> bool:
        return {"claiming polls", "a poll"} <= {line.get("job") for line in lines}

    node.garden.script = [lose_storage]
    await node.connect()
    with capture_logs() as lines:
        await node.watch()
        await until(both_logged)

    assert [] == [line for line in lines if "exc_info" in line]


async def test_a_connector_that_only_polls_has_no_hook(node: Node) -> None:
    configured = node.app.hooks.connectors["garden"]
    source = configured.connector.event_source
    assert source is not None
    polling = replace(configured.connector, event_source=replace(source, receive=None))
    hooks = replace(node.app.hooks, connectors={"garden": replace(configured, connector=polling)})

    with pytest.raises(RouteNotFound):
        await hooks.receive("garden", HookRequest({"x-secret": SECRET}, b"fern", 0.0))
