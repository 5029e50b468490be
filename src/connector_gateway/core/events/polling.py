"""Watchers: carry out the polls that are due, and record how each of them ends."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import structlog
from sqlalchemy import Connection as Writing
from sqlalchemy import delete, select, update

from connector_gateway.core.connections import Connection, ConnectionStore
from connector_gateway.core.events.feed import Feed, Gap
from connector_gateway.core.events.watches import MAX_CLAIMED, PUT_SNAPSHOT, LeasedPoll, WatchStore, take_wakes
from connector_gateway.core.history.filters import OBSERVE
from connector_gateway.core.history.runs import Run, RunRecorder, RunStore
from connector_gateway.core.pacing.upstreams import UpstreamConfig
from connector_gateway.core.process_registry import ProcessRegistry
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError, InternalError, StorageUnavailable
from connector_gateway.kit.events import PROGRESS, SINCE, WATCHING, EventSource, Observation, Snapshot, State
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

TICK_SECONDS = 0.5
"""How often polls that are due are claimed; one that is made due in this process is at once."""

MAX_POLLS = 200
"""Polls under way in one process at connections of one connector, whose third party may be slow."""

LONGEST_POLL_SECONDS = 30 * 60.0
FIRST_REVOKED_SECONDS = 60.0
REVOKED_SECONDS = 15 * 60.0
"""How long until a connection whose authorisation was withdrawn is tried again, at first and at most.

It is tried at once when it is changed, or when a call gets through.
"""

MAX_PAUSE_SECONDS = 60.0
"""How long until a poll that failed is tried again, at most, unless the third party asks for more.

It is hardly more often than is polled anyway; a quarter of an hour was lost after some bad minutes (decision 93).
"""

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = max(REVOKED_SECONDS, MAX_PAUSE_SECONDS)
MAX_BACKOFF_EXPONENT = 10

_watches, _snapshots = tables.watches.c, tables.snapshots.c

log = structlog.get_logger()


class LeaseLost(Exception):
    """Raised when another process has taken over the poll of this connection."""


class PollSession:
    """One poll of one connection, as it is passed to the room's ``poll``."""

    def __init__(
        self, claimed: LeasedPoll, connection: Connection, run: Run, *, database: Database, feed: Feed, clock: Clock
    ) -> None:
        self.connection_id = connection.connection_id
        self.settings = connection.settings
        self.state: State = claimed.state
        self.clock = clock
        self.wakes = claimed.wakes
        self.whole = claimed.whole
        self.behind_since = claimed.behind_since
        self.pushed = False
        self.unfinished = False
        self.upstream: Any = None
        self.missed = False
        self._database = database
        self._feed = feed
        self._lease = claimed.lease
        self._run = run

    async def snapshots(self, scope: str, names: Collection[str] | None = None) -> dict[str, Any]:
        """The snapshots of *scope* by name: all, or those of *names*."""
        query = select(_snapshots.name, _snapshots.value).where(
            _snapshots.connection_id == self.connection_id, _snapshots.scope == scope
        )
        if names is not None:
            query = query.where(_snapshots.name.in_(names))
        rows = await self._database.read(lambda reading: reading.execute(query).all())
        return {row.name: row.value for row in rows}

    async def take_wakes(self) -> Collection[str]:
        """Where deliveries have said to poll since the poll began, or since this was asked last."""
        query = select(tables.wakes).where(tables.wakes.c.connection_id == self.connection_id).limit(1)
        if not await self._database.read(lambda reading: reading.execute(query).first()):
            return []
        taken = await self._database.write(lambda writing: take_wakes(writing, [self.connection_id]))
        return taken.get(self.connection_id, [])

    async def commit(
        self,
        observations: Sequence[Observation] = (),
        snapshots: Sequence[Snapshot] = (),
        *,
        state: State | None = None,
        account: str | None = None,
        place: str | None = None,
    ) -> None:
        """Commit what was observed together with what things are like now: both or neither."""
        changes = {"state": state, "account": account, "place": place}
        noted = {name: value for name, value in changes.items() if value is not None}
        now, due_at = self.clock.now(), self._database.time()

        def keep(writing: Writing) -> None:
            hold = update(tables.watches).where(
                _watches.connection_id == self.connection_id, _watches.lease == self._lease
            )
            if not writing.execute(hold.values(lease=self._lease, **noted)).rowcount:
                raise LeaseLost
            self._feed.enter(writing, self.connection_id, observations, now, due_at)
            self._put(writing, snapshots)

        await self._database.write(keep)
        self.state = self.state if state is None else state

    async def record_gap(self, since: float, until: float, why: str, channel: str | None = None) -> None:
        """Note that changes between two instants may never be seen, and *why*, in a sentence for people."""
        self.missed = True
        log.warning("events may be missing", connection_id=self.connection_id, why=why, channel=channel)
        await self._feed.record_gap(self.connection_id, Gap(self._run.run_id, since, until, why, channel))

    async def progress(self, done: int, total: int) -> None:
        """Note how many parts of *total* have been read for the first time; ignored once all of them were."""
        if self.whole and not await self.snapshots(WATCHING, [SINCE]):
            await self.commit(snapshots=[Snapshot(WATCHING, PROGRESS, {"done": done, "total": total})])

    async def complete(self) -> None:
        """Note since when changes are seen, if this is the first poll that has read everything."""
        if self.whole and not self.unfinished and not await self.snapshots(WATCHING, [SINCE]):
            now = self.clock.now()
            await self.commit(snapshots=[Snapshot(WATCHING, SINCE, now), Snapshot(WATCHING, PROGRESS, None)])

    def _put(self, writing: Writing, snapshots: Sequence[Snapshot]) -> None:
        rows = [
            {"connection_id": self.connection_id, "scope": kept.scope, "name": kept.name, "value": kept.value}
            for kept in snapshots
            if kept.value is not None
        ]
        if rows:
            writing.execute(PUT_SNAPSHOT, rows)
        for kept in snapshots:
            if kept.value is None:
                writing.execute(
                    delete(tables.snapshots).where(
                        _snapshots.connection_id == self.connection_id,
                        _snapshots.scope == kept.scope,
                        _snapshots.name == kept.name,
                    )
                )


class DatabaseClock:
    """The database's clock: the next poll may be another process's, whose own clock tells something else."""

    def __init__(self, database: Database) -> None:
        self.now = database.time

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        await asyncio.sleep(max(0.0, seconds))


@dataclass(eq=False, repr=False, kw_only=True)
class PollScheduler:
    """Polls all watches that are due, sharing the work with the other processes."""

    database: Database
    watches: WatchStore
    feed: Feed
    connections: ConnectionStore
    runs: RunStore
    processes: ProcessRegistry
    sites: Mapping[str, UpstreamConfig]
    client: Callable[[Run, Connection], AbstractContextManager[Any]]
    clock: Clock

    _polls: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _under_way: Counter[str] = field(init=False, default_factory=Counter)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """How many polls ended well, or with which code, by connector."""

    _stuck: list[LeasedPoll] = field(init=False, default_factory=list)
    """Polls whose end could not be noted; until it is, nobody else would poll."""

    async def __aenter__(self) -> Self:
        if self.processes.offline_since is not None:
            await self._fall_behind(self.processes.offline_since)
        pauses = [LONGEST_PAUSE_SECONDS, *(site.watch_seconds or 0.0 for site in self.sites.values())]
        await self.watches.resume([name for name, site in self.sites.items() if not site.has_hooks], max(pauses))
        self._watching = asyncio.create_task(self._watch_forever(), name="watchers")
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._watching, *self._polls):
            task.cancel()
        await asyncio.gather(self._watching, *self._polls, return_exceptions=True)
        # Where storage is away, others take the polls over once they take this process for dead.
        with suppress(StorageUnavailable):
            await self.watches.release()
            await self._fall_behind(self.clock.now())

    async def _fall_behind(self, since: float) -> None:
        """Note that nobody may have been there for what was pushed *since*."""
        pushed = [name for name, site in self.sites.items() if site.has_hooks]
        if pushed:
            await self.watches.mark_behind(since, _watches.connector.in_(pushed))

    async def _watch_forever(self) -> None:
        while True:
            await self.watches.enabled.wait()
            self.watches.wake_event.clear()
            try:
                await self._free()
                claimed = await self._claim()
            except StorageUnavailable as away:
                log.warning("storage is away", job="claiming polls", private=away.private)
                claimed = []
            except Exception:
                log.exception("polls could not be claimed")
                claimed = []
            # With a full claim there are probably more, so the next one is not waited for.
            if len(claimed) < MAX_CLAIMED:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.watches.wake_event.wait(), TICK_SECONDS)

    async def _claim(self) -> Sequence[LeasedPoll]:
        """Begin the polls that are due, up to the limit of each connector."""
        claimed = [poll for name in self.sites for poll in await self._claim_of(name)]
        # Noted before anything can fail: a poll that is claimed and forgotten would not be taken by anybody again.
        self._stuck += claimed
        connections = await self.connections.get_many([poll.connection_id for poll in claimed])
        for poll in claimed:
            task = asyncio.create_task(self._take(poll, connections.get(poll.connection_id)), name="poll")
            self._polls.add(task)
            self._under_way[poll.connector] += 1
            task.add_done_callback(partial(self._taken, poll))
            self._stuck.remove(poll)
        return claimed

    async def _claim_of(self, connector: str) -> Sequence[LeasedPoll]:
        room = MAX_POLLS - self._under_way[connector]
        return await self.watches.claim(connector, room) if room else []

    def _taken(self, poll: LeasedPoll, task: asyncio.Task[None]) -> None:
        self._polls.discard(task)
        self._under_way[poll.connector] -= 1
        fault = None if task.cancelled() else task.exception()
        if fault is None:
            return
        self._stuck.append(poll)
        if isinstance(fault, StorageUnavailable):
            log.warning("storage is away", job="a poll", connection_id=poll.connection_id, private=fault.private)
        else:
            log.error("a poll did not end well", connection_id=poll.connection_id, exc_info=fault)

    async def _free(self) -> None:
        """End the leases of polls whose end could not be stored, so that they are tried again."""
        while self._stuck:
            again_at = self.database.time() + FIRST_PAUSE_SECONDS
            poll = self._stuck[-1]
            await self.watches.finish(poll, whole_at=again_at, behind_since=poll.behind_since, failures=poll.failures)
            self._stuck.pop()

    async def _take(self, claimed: LeasedPoll, connection: Connection | None) -> None:
        """Carry out one poll, and schedule the next one."""
        site = self.sites[claimed.connector]
        observing = site.connector.observing
        if connection is None or observing is None:
            await self.watches.finish(claimed, whole_at=None, behind_since=None, failures=0)
            return
        began, run = self.database.time(), Run("watch")
        recording = self.runs.record(
            run, connection.workspace_id, claimed.connector, OBSERVE, connection_id=connection.connection_id
        )
        poll = PollSession(
            claimed, connection, run, database=self.database, feed=self.feed, clock=DatabaseClock(self.database)
        )
        poll.pushed = _is_pushed(site, connection)
        try:
            with self.client(run, connection) as poll.upstream:
                fault = await self._attempt(observing, poll, recording)
        except LeaseLost:
            return
        self.results[claimed.connector, _result(poll, fault)] += 1
        if poll.missed:
            run.status, run.code = "partial", "events_missed"
        # Only the first of several failures is recorded: a third party that is away would fill the history.
        if poll.missed or (fault is not None and not claimed.failures):
            await recording.close()
        await (self._fail(claimed, connection, fault) if fault else self._succeed(claimed, connection, site, began))

    @staticmethod
    async def _attempt(observing: EventSource[Any], poll: PollSession, recording: RunRecorder) -> Exception | None:
        """Run the room's poll; returns its error, which is recorded in the run, or None."""
        try:
            async with asyncio.timeout(LONGEST_POLL_SECONDS):
                await observing.poll(poll)
                await poll.complete()
        except LeaseLost:
            raise
        except GatewayError as error:
            recording.refuse(error)
            return error
        except Exception as fault:  # noqa: BLE001  # logged without secrets
            told = recording.redaction.traceback(fault)
            log.warning("poll failed", connection_id=poll.connection_id, exception=told)
            recording.refuse(InternalError("Something went wrong here."))
            return fault
        return None

    async def _succeed(self, claimed: LeasedPoll, connection: Connection, site: UpstreamConfig, began: float) -> None:
        """Where changes are pushed, there is nothing to look for until something was missed."""
        await self.connections.record_status(connection, "active", polled=claimed.whole)
        next_at = began + (site.watch_seconds or 0.0) if claimed.whole else claimed.whole_at
        pushed = _is_pushed(site, connection)
        await self.watches.finish(
            claimed,
            whole_at=None if pushed else next_at,
            behind_since=None if pushed else began,
            failures=0,
        )

    async def _fail(self, claimed: LeasedPoll, connection: Connection, fault: Exception) -> None:
        """Schedule another try; the pause grows with each failure."""
        if isinstance(fault, ConnectionRevoked):
            await self.connections.record_status(connection, "revoked")
        pause = _pause_after(fault, claimed.failures)
        await self.watches.finish(
            claimed,
            whole_at=self.database.time() + pause,
            behind_since=claimed.behind_since,
            failures=min(claimed.failures + 1, MAX_BACKOFF_EXPONENT),
        )


def _is_pushed(site: UpstreamConfig, connection: Connection) -> bool:
    """Whether deliveries are known to bring the connection's changes."""
    observing = site.connector.observing
    is_proven = connection.app_id is not None or not (observing and observing.names_app)
    return site.has_hooks and is_proven


def _result(poll: PollSession, fault: Exception | None) -> str:
    """What a poll ended with, in a word."""
    if fault is not None:
        return fault.code if isinstance(fault, GatewayError) else InternalError.code
    return "events_missed" if poll.missed else "ok"


def _pause_after(fault: Exception, failures: int) -> float:
    if isinstance(fault, ConnectionRevoked):
        return min(FIRST_REVOKED_SECONDS * 2.0**failures, REVOKED_SECONDS)
    asked = fault.retry_after if isinstance(fault, GatewayError) else None
    return max(asked or 0.0, min(FIRST_PAUSE_SECONDS * 2.0**failures, MAX_PAUSE_SECONDS))
