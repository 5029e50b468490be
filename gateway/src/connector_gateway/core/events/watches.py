"""Watches: the polling state of connections. A connection has at most one poll at a time.

A poll is leased to a process, and the lease lasts as long as that process sends heartbeats.
All commits of a poll are bound to its lease, so that a poll that was taken over cannot change anything.
Due times are those of the database's clock, which is not set back while a process runs.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Double,
    and_,
    bindparam,
    case,
    delete,
    exists,
    false,
    or_,
    select,
    update,
)
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.kit.events import REJECTED, WATCHING, HookResult
from connector_gateway.kit.identifiers import ConnectionId, ProcessId, ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

MAX_WAKE = 200
MAX_WITHOUT_ACCOUNT = 100
"""The maximum number of connections without a known account that one hook wakes, although it may not concern them."""

MAX_CLAIMED = 100
"""The maximum number of polls that are claimed together."""


def _double(name: str) -> BindParameter[float]:
    return bindparam(name, type_=Double)


_watches = tables.watches.c
_app_id = tables.connections.c.app_id
_woken = exists().where(tables.wakes.c.connection_id == _watches.connection_id)
_due_time_changed = _watches.whole_at.is_distinct_from(_double("_claimed_whole_at"))
_behind_changed = _watches.behind_since.is_distinct_from(_double("_claimed_behind_since"))
FINISH = (
    update(tables.watches)
    .where(_watches.connection_id == bindparam("_connection_id"), _watches.lease == bindparam("_lease"))
    .values(
        lease=None,
        leased_by=None,
        due_at=case((or_(_woken, _due_time_changed), _double("_now")), else_=_double("_whole_at")),
        whole_at=case((_due_time_changed, _watches.whole_at), else_=_double("_whole_at")),
        behind_since=case((_behind_changed, _watches.behind_since), else_=_double("_behind_since")),
        failures=bindparam("_failures"),
    )
)
"""Ends a poll. Wakes that arrived during the poll are retained."""

PUT_WAKE = insert(tables.wakes).on_conflict_do_nothing()

_snapshots = tables.snapshots.c
_put = insert(tables.snapshots)
PUT_SNAPSHOT = _put.on_conflict_do_update(
    index_elements=[_snapshots.connection_id, _snapshots.scope, _snapshots.name],
    set_={"value": _put.excluded.value},
)
_rejection = and_(_snapshots.scope == WATCHING, _snapshots.name == REJECTED)


@dataclass(frozen=True, slots=True)
class LeasedPoll:
    """A poll that is leased to this process."""

    connection_id: ConnectionId
    connector: str
    lease: str
    state: Mapping[str, Any]
    wakes: Collection[str]
    whole: bool
    behind_since: float | None
    failures: int
    whole_at: float | None


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """A connection that a hook concerns."""

    connection_id: ConnectionId
    settings: Mapping[str, Any]
    state: Mapping[str, Any]
    is_authorised: bool
    """Whether the hook names the connection's account. Otherwise it names only its app and place."""

    is_unproven: bool
    """Whether this hook is the first to prove the connection's app."""

    was_rejected: bool
    """Whether the last hook for the connection was rejected."""


class WatchStore:
    """Leases polls to processes, and ends them."""

    def __init__(self, database: Database, process_id: ProcessId) -> None:
        self._database = database
        self._process_id = process_id
        self.wake_event = asyncio.Event()
        """Set when a poll has become due in this process."""

        self.enabled = asyncio.Event()
        """Cleared while this process must not start polls."""

        self.enabled.set()

    async def claim(self, connector: str, limit: int) -> Sequence[LeasedPoll]:
        """Lease up to *limit* due polls to this process, until they are finished."""
        due = (
            select(_watches.connection_id)
            .where(_watches.connector == connector, *self._claimable())
            .order_by(_watches.due_at)
        )
        # Usually nothing is due. A read is enough to see that, and does not occupy SQLite's only writer.
        if not await self._database.read(lambda db: db.execute(due.limit(1)).first()):
            return []
        # One lease for the batch is enough: a poll that is taken over gets another lease in any case.
        lease = ulid()
        # On PostgreSQL, two processes that claim at the same time get different rows and do not wait for each other.
        chosen = due.limit(min(limit, MAX_CLAIMED)).with_for_update(skip_locked=True)
        take = (
            update(tables.watches)
            .where(_watches.connection_id.in_(chosen), *self._claimable())
            .values(lease=lease, leased_by=self._process_id, whole_at=self._whole_at_after_interruption())
            .returning(*_watches)
        )

        def claim(db: SqlConnection) -> Sequence[LeasedPoll]:
            rows = db.execute(take).all()
            wakes = take_wakes(db, [row.connection_id for row in rows])
            return [self._to_leased_poll(row, lease, wakes.get(row.connection_id, [])) for row in rows]

        return await self._database.write(claim)

    def _whole_at_after_interruption(self) -> ColumnElement[float]:
        """Return the time of the next complete poll: now if a poll was interrupted, because its wakes are lost."""
        return case((_watches.leased_by.is_not(None), self._database.time()), else_=_watches.whole_at)

    def _claimable(self) -> tuple[ColumnElement[bool], ...]:
        alive = select(tables.processes.c.process_id)
        return (
            _watches.due_at <= self._database.time(),
            or_(_watches.leased_by.is_(None), _watches.leased_by.not_in(alive)),
        )

    def _to_leased_poll(self, row: Any, lease: str, wakes: Collection[str]) -> LeasedPoll:
        return LeasedPoll(
            connection_id=row.connection_id,
            connector=row.connector,
            lease=lease,
            state=row.state,
            wakes=wakes,
            whole=row.whole_at is not None and row.whole_at <= self._database.time(),
            behind_since=row.behind_since,
            failures=row.failures,
            whole_at=row.whole_at,
        )

    async def finish(
        self, claimed: LeasedPoll, *, whole_at: float | None, behind_since: float | None, failures: int
    ) -> None:
        """End a poll. The next complete one is due at *whole_at*.

        Wakes that arrived during the poll are retained and make the next one due immediately.
        """
        values = {
            "_connection_id": claimed.connection_id,
            "_lease": claimed.lease,
            "_now": self._database.time(),
            "_claimed_whole_at": claimed.whole_at,
            "_claimed_behind_since": claimed.behind_since,
            "_whole_at": whole_at,
            "_behind_since": behind_since,
            "_failures": failures,
        }
        await self._database.put(FINISH, values)

    async def resume(self, connectors: Collection[str], max_delay: float) -> None:
        """Make polls due that have no due time although their connector no longer has hooks.

        Polls that are due later than any delay lasts become due too, because the clock has been set back.
        """
        now = self._database.time()
        never = and_(_watches.connector.in_(connectors), _watches.due_at.is_(None))
        change = update(tables.watches).where(or_(never, _watches.due_at > now + max_delay))
        await self._database.write(lambda db: db.execute(change.values(due_at=now, whole_at=now)))

    async def retry(self) -> None:
        """Make polls due whose last attempt failed."""
        now = self._database.time()
        failed = update(tables.watches).where(_watches.failures > 0, _watches.due_at > now)
        await self._database.write(lambda db: db.execute(failed.values(due_at=now, whole_at=now)))
        self.wake_event.set()

    async def release(self) -> None:
        """End the leases of this process, so that other processes can poll immediately."""
        now = self._database.time()
        change = update(tables.watches).where(_watches.leased_by == self._process_id)
        end_leases = change.values(lease=None, leased_by=None, due_at=now, whole_at=now)
        await self._database.write(lambda db: db.execute(end_leases))

    async def wake(self, connection_ids: Collection[str], wakes: Iterable[str]) -> None:
        """Make a poll due immediately for the objects that *wakes* name."""
        rows = [
            {"connection_id": connection_id, "wake": wake[:MAX_WAKE]}
            for wake in dict.fromkeys(wakes)
            for connection_id in connection_ids
        ]
        now = self._database.time()
        due = (
            update(tables.watches)
            .where(_watches.connection_id.in_(connection_ids), or_(_watches.due_at.is_(None), _watches.due_at > now))
            .values(due_at=now)
        )

        def wake(db: SqlConnection) -> None:
            db.execute(PUT_WAKE, rows)
            db.execute(due)

        if rows:
            await self._database.write(wake)
            self.wake_event.set()

    async def mark_behind(self, since: float, *conditions: ColumnElement[bool]) -> None:
        """Record that hooks *since* that time may have been missed, and make complete polls due."""
        now = self._database.time()
        earlier = case((_watches.behind_since < since, _watches.behind_since), else_=since)
        change = update(tables.watches).where(*conditions).values(behind_since=earlier, due_at=now, whole_at=now)
        await self._database.write(lambda db: db.execute(change))
        self.wake_event.set()

    async def targets(self, connector: str, hook_result: HookResult) -> Sequence[WatchTarget]:
        """Return the connections that a hook concerns, by its authorised accounts, its app or a snapshot."""
        authorised = _is_authorised(hook_result)
        concerned = [authorised]
        if hook_result.app is not None:
            concerned.append(and_(_watches.place.in_(hook_result.places), _app_id == hook_result.app))
        if hook_result.about is not None:
            scope, name = hook_result.about
            holders = select(tables.snapshots.c.connection_id).where(
                tables.snapshots.c.scope == scope, tables.snapshots.c.name == name
            )
            concerned.append(_watches.connection_id.in_(holders))
        unproven = _app_id.is_(None) if hook_result.app is not None else false()
        query = (
            select(
                _watches.connection_id,
                tables.connections.c.settings,
                _watches.state,
                authorised.label("is_authorised"),
                unproven.label("is_unproven"),
                exists().where(_snapshots.connection_id == _watches.connection_id, _rejection),
            )
            .join(tables.connections, tables.connections.c.connection_id == _watches.connection_id)
            .where(_watches.connector == connector, or_(*concerned))
        )
        rows = await self._database.read(lambda db: db.execute(query).all())
        return [WatchTarget(row[0], row[1], row[2], bool(row[3]), bool(row[4]), bool(row[5])) for row in rows]

    async def record_rejection(self, connection_ids: Collection[str], at: float, why: str) -> None:
        """Record that a hook for these connections was rejected."""
        value = {"at": at, "why": why}
        rows = [
            {"connection_id": connection_id, "scope": WATCHING, "name": REJECTED, "value": value}
            for connection_id in connection_ids
        ]
        await self._database.write(lambda db: db.execute(PUT_SNAPSHOT, rows))

    async def clear_rejection(self, connection_ids: Collection[str]) -> None:
        """Delete the record of rejected hooks for these connections."""
        forget = delete(tables.snapshots).where(_snapshots.connection_id.in_(connection_ids), _rejection)
        await self._database.write(lambda db: db.execute(forget))

    async def set_app(self, connection_ids: Collection[str], app_id: str) -> None:
        """Record the app of connections, and poll them once more. From then on, hooks carry their changes."""
        connections, now = tables.connections.c, self._database.time()
        note = update(tables.connections).where(connections.connection_id.in_(connection_ids), _app_id.is_(None))
        due = update(tables.watches).where(_watches.connection_id.in_(connection_ids)).values(due_at=now, whole_at=now)

        def prove(db: SqlConnection) -> None:
            db.execute(note.values(app_id=app_id))
            db.execute(due)

        await self._database.write(prove)
        self.wake_event.set()

    async def without_account(self, connector: str) -> Sequence[ConnectionId]:
        """Return connections whose account is not known yet, which a hook may therefore concern."""
        query = (
            select(_watches.connection_id)
            .where(_watches.connector == connector, _watches.account.is_(None), _watches.failures == 0)
            .limit(MAX_WITHOUT_ACCOUNT)
        )
        return await self._database.read(lambda db: db.execute(query).scalars().all())


def _is_authorised(hook_result: HookResult) -> ColumnElement[bool]:
    """Return the condition that a hook names the account of a connection and was sent for its app.

    An unknown app is proven by an account that can only belong to the hook's app.
    """
    named = _watches.account.in_(hook_result.accounts)
    if hook_result.app is None:
        return named
    proven = and_(_app_id.is_(None), _watches.account.in_(hook_result.app_accounts))
    return and_(named, or_(_app_id == hook_result.app, proven))


def take_wakes(db: SqlConnection, connection_ids: Collection[str]) -> dict[str, list[str]]:
    """Return and delete the wakes of connections."""
    take = delete(tables.wakes).where(tables.wakes.c.connection_id.in_(connection_ids))
    wakes: dict[str, list[str]] = {}
    for connection_id, wake in db.execute(take.returning(*tables.wakes.c)):
        wakes.setdefault(connection_id, []).append(wake)
    return wakes
