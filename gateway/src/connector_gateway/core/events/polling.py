"""The poll scheduler: runs the polls that are due, and records their results."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import structlog
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import delete, select, update

from connector_gateway.core.connections import Connection, ConnectionStore
from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.events.feed import Feed, Gap
from connector_gateway.core.events.watches import MAX_CLAIMED, PUT_SNAPSHOT, LeasedPoll, WatchStore, take_wakes
from connector_gateway.core.heartbeats import ProcessHeartbeats
from connector_gateway.core.history.run_filters import OBSERVE
from connector_gateway.core.history.runs import Run, RunRecorder, RunStore
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError, InternalError, StorageUnavailable
from connector_gateway.kit.events import PROGRESS, SINCE, WATCHING, EventSource, Observation, Snapshot, State
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

TICK_SECONDS = 0.5
"""Seconds between two attempts to claim due polls. A poll that becomes due in this process is claimed immediately."""

MAX_POLLS = 200
"""The maximum number of concurrent polls per process and connector, which a slow vendor can reach."""

TIMEOUT_SECONDS = 30 * 60.0
MIN_REVOKED_SECONDS = 60.0
REVOKED_SECONDS = 15 * 60.0
"""Seconds until a connection with a revoked authorisation is polled again, at first and at most.

It is polled immediately when it is changed, or when a call succeeds.
"""

LATEST_EVENTS = 1000
"""The number of latest events that show a poll which channels are active."""

MAX_BACKOFF_SECONDS = 60.0
"""The maximum delay before a failed poll is retried, unless the vendor demands more.

This is about the interval of regular polls. A longer delay would outlast a short outage.
"""

FIRST_BACKOFF_SECONDS = 5.0
MAX_DELAY_SECONDS = max(REVOKED_SECONDS, MAX_BACKOFF_SECONDS)
MAX_BACKOFF_EXPONENT = 10

_watches, _snapshots = tables.watches.c, tables.snapshots.c

log = structlog.get_logger()


class LeaseLost(Exception):
    """Raised if another process has taken over the poll of this connection."""


class PollSession:
    """One poll of one connection, as passed to the connector's ``poll``."""

    def __init__(
        self, claimed: LeasedPoll, connection: Connection, run: Run, *, database: Database, feed: Feed, clock: Clock
    ) -> None:
        self.connection_id = connection.connection_id
        self.settings = connection.settings
        self.state: State = claimed.state
        self.clock = clock
        self.wakes = claimed.wakes
        self.polls_everything = claimed.whole
        self.behind_since = claimed.behind_since
        self.receives_changes = False
        self.unfinished = False
        self.upstream: Any = None
        self.missed = False
        self._database = database
        self._feed = feed
        self._lease = claimed.lease
        self._run = run

    async def snapshots(self, scope: str, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the snapshots of *scope* by name, restricted to *names* if given."""
        query = select(_snapshots.name, _snapshots.value).where(
            _snapshots.connection_id == self.connection_id, _snapshots.scope == scope
        )
        if names is not None:
            query = query.where(_snapshots.name.in_(names))
        rows = await self._database.read(lambda db: db.execute(query).all())
        return {row.name: row.value for row in rows}

    async def latest_events(self) -> Mapping[str, float]:
        """Return when the latest event of each channel was observed, for the channels of the latest events."""
        events = tables.events.c
        query = (
            select(events.channel, events.observed_at)
            .where(events.connection_id == self.connection_id, events.channel.is_not(None))
            .order_by(events.sequence.desc())
            .limit(LATEST_EVENTS)
        )
        rows = await self._database.read(lambda db: db.execute(query).all())
        return {row.channel: row.observed_at for row in reversed(rows)}

    async def has_wakes(self) -> bool:
        """Return True if hooks have added wakes since the poll started, or since the last ``take_wakes``."""
        query = select(tables.wakes).where(tables.wakes.c.connection_id == self.connection_id).limit(1)
        return await self._database.read(lambda db: db.execute(query).first()) is not None

    async def take_wakes(self) -> Collection[str]:
        """Remove and return the wakes that hooks have added since the poll started, or since the last call."""
        if not await self.has_wakes():
            return []
        wakes = await self._database.write(lambda db: take_wakes(db, [self.connection_id]))
        return wakes.get(self.connection_id, [])

    async def commit(
        self,
        observations: Sequence[Observation] = (),
        snapshots: Sequence[Snapshot] = (),
        *,
        state: State | None = None,
        account: str | None = None,
        place: str | None = None,
    ) -> None:
        """Commit observations and snapshots together."""
        changes = {"state": state, "account": account, "place": place}
        values = {name: value for name, value in changes.items() if value is not None}
        now, due_at = self.clock.now(), self._database.time()

        def store(db: SqlConnection) -> None:
            fence = update(tables.watches).where(
                _watches.connection_id == self.connection_id, _watches.lease == self._lease
            )
            if not db.execute(fence.values(lease=self._lease, **values)).rowcount:
                raise LeaseLost
            self._feed.append_events(db, self.connection_id, observations, now, due_at)
            self._store_snapshots(db, snapshots)

        await self._database.write(store)
        self.state = self.state if state is None else state

    async def record_gap(self, since: float, until: float, why: str, channel: str | None = None) -> None:
        """Record that changes between two times may be missing, and *why*, as a sentence for people."""
        self.missed = True
        log.warning("events possibly missed", connection_id=self.connection_id, why=why, channel=channel)
        await self._feed.record_gap(self.connection_id, Gap(self._run.run_id, since, until, why, channel))

    async def progress(self, done: int, total: int) -> None:
        """Record the progress of the first complete poll: *done* of *total* parts. Later polls are ignored."""
        if self.polls_everything and not await self.snapshots(WATCHING, [SINCE]):
            await self.commit(snapshots=[Snapshot(WATCHING, PROGRESS, {"done": done, "total": total})])

    async def complete(self) -> None:
        """Record the time from which changes are observed, if this is the first poll that has read everything."""
        if self.polls_everything and not self.unfinished and not await self.snapshots(WATCHING, [SINCE]):
            now = self.clock.now()
            await self.commit(snapshots=[Snapshot(WATCHING, SINCE, now), Snapshot(WATCHING, PROGRESS, None)])

    def _store_snapshots(self, db: SqlConnection, snapshots: Sequence[Snapshot]) -> None:
        rows = [
            {
                "connection_id": self.connection_id,
                "scope": snapshot.scope,
                "name": snapshot.name,
                "value": snapshot.value,
            }
            for snapshot in snapshots
            if snapshot.value is not None
        ]
        if rows:
            db.execute(PUT_SNAPSHOT, rows)
        for snapshot in snapshots:
            if snapshot.value is None:
                db.execute(
                    delete(tables.snapshots).where(
                        _snapshots.connection_id == self.connection_id,
                        _snapshots.scope == snapshot.scope,
                        _snapshots.name == snapshot.name,
                    )
                )


class DatabaseClock:
    """The database's clock, because the next poll may run in another process with another clock."""

    def __init__(self, database: Database) -> None:
        self.now = database.time

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*."""
        await asyncio.sleep(max(0.0, seconds))


@dataclass(eq=False, repr=False, kw_only=True)
class PollScheduler:
    """Polls all watches that are due, sharing the work with the other processes."""

    database: Database
    watches: WatchStore
    feed: Feed
    connections: ConnectionStore
    runs: RunStore
    processes: ProcessHeartbeats
    connectors: Mapping[str, ConnectorConfig]
    client: Callable[[Run, Connection], AbstractContextManager[Any]]
    clock: Clock

    _polls: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _active_polls: Counter[str] = field(init=False, default_factory=Counter)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """The number of polls by connector and result: success, or the code of the error."""

    _unfinished: list[LeasedPoll] = field(init=False, default_factory=list)
    """Polls whose leases could not be ended yet. Until they are, no process polls their connections."""

    async def __aenter__(self) -> Self:
        if self.processes.offline_since is not None:
            await self._mark_behind(self.processes.offline_since)
        delays = [MAX_DELAY_SECONDS, *(configured.watch_seconds or 0.0 for configured in self.connectors.values())]
        await self.watches.resume(
            [name for name, configured in self.connectors.items() if not configured.has_hooks], max(delays)
        )
        self._poll_task = asyncio.create_task(self._poll_loop(), name="watchers")
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._poll_task, *self._polls):
            task.cancel()
        await asyncio.gather(self._poll_task, *self._polls, return_exceptions=True)
        # If storage is unavailable, other processes take over the polls once this process is considered dead.
        with suppress(StorageUnavailable):
            await self.watches.release()
            await self._mark_behind(self.clock.now())

    async def _mark_behind(self, since: float) -> None:
        """Record that hooks may have been missed since *since*."""
        pushed = [name for name, configured in self.connectors.items() if configured.has_hooks]
        if pushed:
            await self.watches.mark_behind(since, _watches.connector.in_(pushed))

    async def _poll_loop(self) -> None:
        while True:
            await self.watches.enabled.wait()
            self.watches.wake_event.clear()
            try:
                await self._finish_unfinished()
                claimed = await self._start_due_polls()
            except StorageUnavailable as error:
                log.warning("storage unavailable", job="claiming polls", private=error.private)
                claimed = []
            except Exception:
                log.exception("claiming polls failed")
                claimed = []
            # After a full batch, more polls are probably due, so claim again without a delay.
            if len(claimed) < MAX_CLAIMED:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.watches.wake_event.wait(), TICK_SECONDS)

    async def _start_due_polls(self) -> Sequence[LeasedPoll]:
        """Start the polls that are due, up to the limit of each connector."""
        claimed = [poll for name in self.connectors for poll in await self._claim_for(name)]
        # Recorded before anything can fail, because no process would claim a poll whose lease is never ended.
        self._unfinished += claimed
        connections = await self.connections.get_many([poll.connection_id for poll in claimed])
        for poll in claimed:
            task = asyncio.create_task(self._run_poll(poll, connections.get(poll.connection_id)), name="poll")
            self._polls.add(task)
            self._active_polls[poll.connector] += 1
            task.add_done_callback(partial(self._on_done, poll))
            self._unfinished.remove(poll)
        return claimed

    async def _claim_for(self, connector: str) -> Sequence[LeasedPoll]:
        headroom = MAX_POLLS - self._active_polls[connector]
        return await self.watches.claim(connector, headroom) if headroom else []

    def _on_done(self, poll: LeasedPoll, task: asyncio.Task[None]) -> None:
        self._polls.discard(task)
        self._active_polls[poll.connector] -= 1
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        self._unfinished.append(poll)
        if isinstance(error, StorageUnavailable):
            log.warning("storage unavailable", job="a poll", connection_id=poll.connection_id, private=error.private)
        else:
            log.error("poll not finished", connection_id=poll.connection_id, exc_info=error)

    async def _finish_unfinished(self) -> None:
        """End the leases of polls whose result could not be stored. They are then retried."""
        while self._unfinished:
            retry_at = self.database.time() + FIRST_BACKOFF_SECONDS
            poll = self._unfinished[-1]
            await self.watches.finish(poll, whole_at=retry_at, behind_since=poll.behind_since, failures=poll.failures)
            self._unfinished.pop()

    async def _run_poll(self, claimed: LeasedPoll, connection: Connection | None) -> None:
        """Run one poll, and schedule the next one."""
        configured = self.connectors[claimed.connector]
        source = configured.connector.event_source
        if connection is None or source is None:
            await self.watches.finish(claimed, whole_at=None, behind_since=None, failures=0)
            return
        started_at, run = self.database.time(), Run("watch")
        recording = self.runs.record(
            run, connection.workspace_id, claimed.connector, OBSERVE, connection_id=connection.connection_id
        )
        poll = PollSession(
            claimed, connection, run, database=self.database, feed=self.feed, clock=DatabaseClock(self.database)
        )
        poll.receives_changes = _is_pushed(configured, connection)
        try:
            with self.client(run, connection) as poll.upstream:
                error = await self._attempt(source, poll, recording)
        except LeaseLost:
            return
        self.results[claimed.connector, _result(poll, error)] += 1
        if poll.missed:
            run.status, run.code = "partial", "events_missed"
        # Record only the first of several failures: an unavailable vendor would fill the history.
        if poll.missed or (error is not None and not claimed.failures):
            await recording.close()
        await (
            self._fail(claimed, connection, error)
            if error
            else self._succeed(claimed, connection, configured, started_at)
        )

    @staticmethod
    async def _attempt(source: EventSource[Any], poll: PollSession, recording: RunRecorder) -> Exception | None:
        """Run the connector's poll. Returns its error, which is recorded in the run, or None."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await source.poll(poll)
                await poll.complete()
        except LeaseLost:
            raise
        except GatewayError as error:
            recording.fail(error)
            return error
        except Exception as error:  # noqa: BLE001  # logged without secrets
            traceback = recording.redaction.traceback(error)
            log.warning("poll failed", connection_id=poll.connection_id, exception=traceback)
            recording.fail(InternalError("Internal error."))
            return error
        return None

    async def _succeed(
        self, claimed: LeasedPoll, connection: Connection, configured: ConnectorConfig, started_at: float
    ) -> None:
        """Schedule the next poll. A connection with hooks is polled only after hooks may have been missed."""
        await self.connections.record_status(connection, "active", polled=claimed.whole)
        next_at = started_at + (configured.watch_seconds or 0.0) if claimed.whole else claimed.whole_at
        pushed = _is_pushed(configured, connection)
        await self.watches.finish(
            claimed,
            whole_at=None if pushed else next_at,
            behind_since=None if pushed else started_at,
            failures=0,
        )

    async def _fail(self, claimed: LeasedPoll, connection: Connection, error: Exception) -> None:
        """Schedule another attempt. The delay grows with each failure."""
        if isinstance(error, ConnectionRevoked):
            await self.connections.record_status(connection, "revoked")
        delay = _retry_delay(error, claimed.failures)
        await self.watches.finish(
            claimed,
            whole_at=self.database.time() + delay,
            behind_since=claimed.behind_since,
            failures=min(claimed.failures + 1, MAX_BACKOFF_EXPONENT),
        )


def _is_pushed(configured: ConnectorConfig, connection: Connection) -> bool:
    """Return True if hooks are known to carry the connection's changes."""
    source = configured.connector.event_source
    is_proven = connection.app_id is not None or not (source and source.names_app)
    return configured.has_hooks and is_proven


def _result(poll: PollSession, error: Exception | None) -> str:
    """Return the result of a poll as a metric label."""
    if error is not None:
        return error.code if isinstance(error, GatewayError) else InternalError.code
    return "events_missed" if poll.missed else "ok"


def _retry_delay(error: Exception, failures: int) -> float:
    if isinstance(error, ConnectionRevoked):
        return min(MIN_REVOKED_SECONDS * 2.0**failures, REVOKED_SECONDS)
    retry_after = error.retry_after if isinstance(error, GatewayError) else None
    return max(retry_after or 0.0, min(FIRST_BACKOFF_SECONDS * 2.0**failures, MAX_BACKOFF_SECONDS))
