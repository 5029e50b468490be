"""Backlog metrics from the database, for all processes: in-doubt claims, late watches, connections and webhooks."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import func, literal_column, select

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

TIMEOUT_SECONDS = 0.5
"""Query timeout in seconds. It is short, because the other metrics matter most while the database is unavailable."""

CACHE_SECONDS = 10.0
"""Seconds for which a snapshot is cached, so that frequent scrapes do not load the database."""

IS_IN_DOUBT = literal_column("claims.state") == literal_column("'doubtful'")
"""The condition as written in the partial index, which SQLite matches by its text."""


@dataclass(frozen=True, slots=True)
class BacklogSnapshot:
    """The backlog at one time."""

    claims_in_doubt: int = 0
    unsettled_seconds: float = 0.0
    """Seconds since the oldest in-doubt claim could have been resolved by a retry of its call."""

    watch_lag_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds by which the most overdue watch is late, by connector."""

    connections: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Connections by connector and status."""

    webhooks: Mapping[str, int] = field(default_factory=dict)
    """Webhooks by status."""

    webhook_lag_seconds: float = 0.0
    """Seconds by which the most overdue delivery to an active webhook is late."""

    webhook_failing_seconds: float = 0.0
    """Seconds since the longest failing delivery to an active webhook first failed."""


class BacklogMonitor:
    """Reads the backlog and caches it for some seconds."""

    def __init__(self, database: Database, clock: Clock, seconds: float = TIMEOUT_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._clock = clock
        self._last: tuple[float, BacklogSnapshot | None] | None = None

    async def now(self) -> BacklogSnapshot | None:
        """Return the backlog, at most some seconds old, or None while the database does not respond."""
        if self._last is None or self._clock.now() >= self._last[0] + CACHE_SECONDS:
            self._last = self._clock.now(), await self._read()
        return self._last[1]

    async def _read(self) -> BacklogSnapshot | None:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._database.read_slow(self._query)
        except (StorageUnavailable, TimeoutError):
            return None

    def _query(self, db: SqlConnection) -> BacklogSnapshot:
        now = self._database.time()
        number, oldest = _claims(db)
        unsettled = max(0.0, now - oldest) if oldest else 0.0
        return BacklogSnapshot(
            number,
            unsettled,
            _watch_lag(db, now),
            _connections(db),
            _webhooks(db),
            *_webhook_lag(db, now),
        )


def _claims(db: SqlConnection) -> tuple[int, float | None]:
    """Return the number of in-doubt claims, and when the first of them can be resolved."""
    row = db.execute(select(func.count(), func.min(tables.claims.c.settles_at)).where(IS_IN_DOUBT)).one()
    return row[0], row[1]


def _watch_lag(db: SqlConnection, now: float) -> dict[str, float]:
    watches = tables.watches.c
    query = select(watches.connector, func.min(watches.due_at)).where(watches.lease.is_(None))
    rows = db.execute(query.group_by(watches.connector)).all()
    return {connector: max(0.0, now - due_at) for connector, due_at in rows if due_at is not None}


def _connections(db: SqlConnection) -> dict[tuple[str, str], int]:
    connections = tables.connections.c
    kinds = connections.connector, connections.status
    query = select(*kinds, func.count().label("number")).where(connections.deleted.is_(False)).group_by(*kinds)
    return {(row.connector, row.status): row.number for row in db.execute(query)}


def _webhooks(db: SqlConnection) -> dict[str, int]:
    status = tables.webhooks.c.status
    # Zeros are included, because alerts compare with the value of an hour ago.
    zeros = {"active": 0, "disabled": 0}
    return zeros | {row[0]: row[1] for row in db.execute(select(status, func.count()).group_by(status))}


def _webhook_lag(db: SqlConnection, now: float) -> tuple[float, float]:
    """Return the maximum seconds for which deliveries have been due, and have been failing."""
    positions, webhooks = tables.webhook_positions.c, tables.webhooks.c
    active = select(webhooks.webhook_id).where(webhooks.status == "active")
    query = select(func.min(positions.due_at), func.min(positions.failing_since)).where(
        positions.webhook_id.in_(active)
    )
    due_at, failing_since = db.execute(query).one()
    return _seconds_since(due_at, now), _seconds_since(failing_since, now)


def _seconds_since(began: float | None, now: float) -> float:
    return 0.0 if began is None else max(0.0, now - began)
