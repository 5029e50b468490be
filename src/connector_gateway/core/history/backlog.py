"""What waits in the database for all processes together: claims in doubt, watches that are late, and connections."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection as Transaction
from sqlalchemy import func, literal_column, select

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

ANSWER_SECONDS = 0.5
"""How long the database is waited for: other figures are needed most while it is away, and workers ask each other."""

KEPT_SECONDS = 10.0
"""How long what was read is told again, so that those who ask often cost the database nothing more."""

DOUBTFUL = literal_column("claims.state") == literal_column("'doubtful'")
"""With the words of the index, which SQLite finds by them."""


@dataclass(frozen=True, slots=True)
class BacklogSnapshot:
    """What waits."""

    claims_in_doubt: int = 0
    unsettled_seconds: float = 0.0
    """How long ago the oldest claim in doubt could have been settled by a repeat of its call."""

    watch_lag_seconds: Mapping[str, float] = field(default_factory=dict)
    """For how long the latest watch has been due and is not polled, by connector."""

    connections: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By connector and status."""

    webhooks: Mapping[str, int] = field(default_factory=dict)
    """By status."""

    webhook_lag_seconds: float = 0.0
    """For how long the delivery to an active webhook has been due that is latest."""

    webhook_failing_seconds: float = 0.0
    """For how long the event of an active webhook has been tried in vain that has failed for longest."""


class BacklogMonitor:
    """Reads what waits, now and then."""

    def __init__(self, database: Database, clock: Clock, seconds: float = ANSWER_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._clock = clock
        self._last: tuple[float, BacklogSnapshot | None] | None = None

    async def now(self) -> BacklogSnapshot | None:
        """What waits now or did some seconds ago; None while the database does not tell."""
        if self._last is None or self._clock.now() >= self._last[0] + KEPT_SECONDS:
            self._last = self._clock.now(), await self._read()
        return self._last[1]

    async def _read(self) -> BacklogSnapshot | None:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._database.read_slow(self._backlog)
        except (StorageUnavailable, TimeoutError):
            return None

    def _backlog(self, reading: Transaction) -> BacklogSnapshot:
        now = self._database.time()
        number, oldest = _claims(reading)
        unsettled = max(0.0, now - oldest) if oldest else 0.0
        return BacklogSnapshot(
            number, unsettled, _lag(reading, now), _connections(reading), _webhooks(reading), *_waiting(reading, now)
        )


def _claims(reading: Transaction) -> tuple[int, float | None]:
    """How many claims are in doubt, and when the first of them could be settled."""
    found = reading.execute(select(func.count(), func.min(tables.claims.c.settles_at)).where(DOUBTFUL)).one()
    return found[0], found[1]


def _lag(reading: Transaction, now: float) -> dict[str, float]:
    watches = tables.watches.c
    waiting = select(watches.connector, func.min(watches.due_at)).where(watches.lease.is_(None))
    found = reading.execute(waiting.group_by(watches.connector)).all()
    return {connector: max(0.0, now - due_at) for connector, due_at in found if due_at is not None}


def _connections(reading: Transaction) -> dict[tuple[str, str], int]:
    connections = tables.connections.c
    kinds = connections.connector, connections.status
    query = select(*kinds, func.count().label("number")).where(connections.deleted.is_(False)).group_by(*kinds)
    return {(row.connector, row.status): row.number for row in reading.execute(query)}


def _webhooks(reading: Transaction) -> dict[str, int]:
    status = tables.webhooks.c.status
    # None is told as well: an alert compares with how many there were an hour ago.
    none = {"active": 0, "disabled": 0}
    return none | {row[0]: row[1] for row in reading.execute(select(status, func.count()).group_by(status))}


def _waiting(reading: Transaction, now: float) -> tuple[float, float]:
    """For how long deliveries have been due, and have failed, at the most."""
    positions, webhooks = tables.webhook_positions.c, tables.webhooks.c
    active = select(webhooks.webhook_id).where(webhooks.status == "active")
    first = select(func.min(positions.due_at), func.min(positions.failing_since)).where(
        positions.webhook_id.in_(active)
    )
    due_at, failing_since = reading.execute(first).one()
    return _since(due_at, now), _since(failing_since, now)


def _since(began: float | None, now: float) -> float:
    return 0.0 if began is None else max(0.0, now - began)
