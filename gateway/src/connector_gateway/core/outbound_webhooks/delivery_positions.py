"""Delivery positions: the progress of each webhook in each connection's events, and when the next delivery is due.

A position is claimed by one process at a time. It is due again a minute later unless its process continues, so
processes need not know which others are alive. Commits are bound to the claim. Times are those of the database's clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Integer,
    Row,
    String,
    and_,
    case,
    delete,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.events.feed_gaps import describe_gap, select_gaps_recorded_since
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId, ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

CLAIM_SECONDS = 60.0
"""Seconds for which a claim lasts after the last delivered event, long enough for four attempts."""

MAX_PER_WEBHOOK = 4
"""The maximum number of claimed positions per webhook, so that a slow receiver does not delay others."""

WARNING_SECONDS = 24 * 60 * 60.0
"""Seconds after its detection for which messages list a gap."""

MAX_EXAMINED = 1000
"""The maximum number of due positions that are examined for one claim."""

_positions, _webhooks, _events = tables.webhook_positions.c, tables.webhooks.c, tables.events.c
_connections = tables.connections.c


class ClaimLost(Exception):
    """Raised if another process has claimed the position since, or the operator has set it."""


@dataclass(frozen=True, slots=True)
class ClaimedPosition:
    """A position that is claimed by this process."""

    webhook_id: str
    connection_id: ConnectionId
    lease: str
    after: int
    failures: int
    failing_since: float | None
    workspace_id: WorkspaceId
    connector: str
    url: str
    sealed: bytes
    types: Sequence[str] | None
    """The types of events to deliver, or None for all."""

    warnings: Sequence[str] = ()
    """Gaps in the connection's feed that each message lists."""

    def up_to(self, sequence: int) -> "ClaimedPosition":
        """Return the position with no event left to deliver up to *sequence*."""
        return replace(self, after=max(self.after, sequence))


def mark_due(db: SqlConnection, connection_id: str, first: int, newest: int, due_at: float) -> None:
    """Make the webhooks of a connection due, in the transaction that adds the events *first* to *newest*.

    A webhook without a position for the connection starts with *first*.
    """
    workspace = select(_connections.workspace_id).where(_connections.connection_id == connection_id).scalar_subquery()
    concerned = select(
        _webhooks.webhook_id,
        literal(connection_id, String),
        literal(first - 1, BigInteger),
        literal(newest, BigInteger),
        literal(due_at, Double),
        literal(0, Integer),
    ).where(
        _webhooks.workspace_id == workspace,
        or_(_webhooks.connection_id.is_(None), _webhooks.connection_id == connection_id),
    )
    names = ["webhook_id", "connection_id", "after", "newest", "due_at", "failures"]
    position = insert(tables.webhook_positions).from_select(names, concerned)
    db.execute(
        position.on_conflict_do_update(
            index_elements=["webhook_id", "connection_id"],
            set_={
                "newest": position.excluded.newest,
                "due_at": func.coalesce(_positions.due_at, position.excluded.due_at),
            },
        )
    )


class DeliveryPositions:
    """Claims positions, and stores their progress."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, limit: int, without: Collection[str] = ()) -> Sequence[ClaimedPosition]:
        """Claim up to *limit* due positions of webhooks other than *without*."""
        now = self._database.time()
        due = (
            _positions.due_at <= now,
            _positions.webhook_id.not_in(without),
            _positions.webhook_id.in_(select(_webhooks.webhook_id).where(_webhooks.status == "active")),
        )
        # Usually nothing is due. A read is enough to see that, and does not occupy SQLite's only writer.
        first = select(_positions.webhook_id).where(*due).limit(1)
        if not await self._database.read(lambda db: db.execute(first).first()):
            return []
        lease = ulid()
        take = (
            update(tables.webhook_positions)
            # Repeat the conditions, because another process may have claimed the position first.
            .where(tuple_(_positions.webhook_id, _positions.connection_id).in_(_select_due(due, limit)), *due)
            .values(lease=lease, due_at=now + CLAIM_SECONDS)
        )
        claimed = _select_claimed().where(_positions.lease == lease)

        def claim(db: SqlConnection) -> Sequence[Mapping[Any, Any]]:
            return db.execute(claimed).mappings().all() if db.execute(take).rowcount else []

        return [ClaimedPosition(lease=lease, **row) for row in await self._database.write(claim)]

    async def events(self, claimed: ClaimedPosition, limit: int) -> tuple[ClaimedPosition, Sequence[Row[Any]], int]:
        """Return the next events in order, the position with its warnings, and the number of the newest event."""
        newest = select(_positions.newest).where(*_is_claimed(claimed))
        query = (
            select(tables.events)
            .where(events_after(claimed.connection_id, claimed.after, claimed.types))
            .order_by(_events.sequence)
            .limit(limit)
        )

        gaps = select_gaps_recorded_since(claimed.connection_id, self._database.time() - WARNING_SECONDS)

        def read(db: SqlConnection) -> tuple[ClaimedPosition, Sequence[Row[Any]], int]:
            # In this order: the commit that raises the number also adds the events, so all events up to it are visible.
            newest_sequence = db.execute(newest).scalar() or 0
            events = db.execute(query).all()
            warnings = [describe_gap(gap) for gap in db.execute(gaps)] if events else []
            return replace(claimed, warnings=warnings), events, newest_sequence

        return await self._database.read(read)

    async def advance(self, claimed: ClaimedPosition, sequence: int) -> ClaimedPosition:
        """Record that the event with *sequence* was accepted. Raises ``ClaimLost`` if the claim was lost."""
        now = self._database.time()
        await self._set(
            claimed,
            after=sequence,
            failures=0,
            failing_since=None,
            delivered_at=now,
            due_at=now + CLAIM_SECONDS,
        )
        return replace(claimed, after=sequence, failures=0, failing_since=None)

    async def defer(self, claimed: ClaimedPosition, seconds: float, result: str, http_status: int | None) -> None:
        """End a claim after a failed attempt. The next attempt is due *seconds* later."""
        now = self._database.time()
        await self._set(
            claimed,
            failures=claimed.failures + 1,
            failing_since=now if claimed.failing_since is None else claimed.failing_since,
            result=result,
            http_status=http_status,
            due_at=now + seconds,
            lease=None,
        )

    async def finish(self, claimed: ClaimedPosition) -> None:
        """End a claim. The position is due immediately if there are more events."""
        # Compare with the current row, because an event added in between has raised its newest number.
        further = case((_positions.newest > claimed.after, self._database.time()), else_=None)
        await self._set(claimed, after=claimed.after, due_at=further, lease=None)

    async def release(self, claims: Collection[ClaimedPosition]) -> None:
        """Make claimed positions due immediately for other processes. Their progress is retained."""
        leases = {claimed.lease for claimed in claims}
        free = update(tables.webhook_positions).where(_positions.lease.in_(leases))
        end_claims = free.values(due_at=self._database.time(), lease=None)
        if leases:
            await self._database.write(lambda db: db.execute(end_claims))

    def failing_seconds(self, claimed: ClaimedPosition) -> float:
        """Return for how many seconds the next event has been failing."""
        return 0.0 if claimed.failing_since is None else self._database.time() - claimed.failing_since

    async def accepts_others(self, claimed: ClaimedPosition) -> bool:
        """Return True if the webhook has accepted events of other connections since the next event started to fail."""
        since = self._database.time() if claimed.failing_since is None else claimed.failing_since
        other = select(_positions.webhook_id).where(
            _positions.webhook_id == claimed.webhook_id, _positions.delivered_at > since
        )
        return await self._database.read(lambda db: db.execute(other.limit(1)).first()) is not None

    async def _set(self, claimed: ClaimedPosition, **values: Any) -> None:
        change = update(tables.webhook_positions).where(*_is_claimed(claimed)).values(**values)
        if not await self._database.write(lambda db: db.execute(change).rowcount):
            raise ClaimLost

    async def purge(self) -> int:
        """Delete a bounded number of positions of removed connections or webhooks. Returns how many."""
        gone = select(_connections.connection_id).where(_connections.deleted.is_(True))
        unneeded = or_(
            and_(_positions.due_at.is_(None), _positions.connection_id.in_(gone)),
            _positions.webhook_id.not_in(select(_webhooks.webhook_id)),
        )
        chosen = select(_positions.webhook_id, _positions.connection_id).where(unneeded).limit(PURGE_STEP)
        names = await self._database.read_slow(lambda db: db.execute(chosen).all())
        keys = tuple_(_positions.webhook_id, _positions.connection_id).in_([tuple(name) for name in names])
        purge = delete(tables.webhook_positions).where(keys, unneeded)
        return await self._database.write(lambda db: db.execute(purge).rowcount) if names else 0


def _select_due(due: Collection[ColumnElement[bool]], limit: int) -> Any:
    """Select the longest due positions, limited per webhook."""
    keys = _positions.webhook_id, _positions.connection_id, _positions.due_at
    considered = select(*keys).where(*due).order_by(_positions.due_at).limit(MAX_EXAMINED).subquery().c
    rank = func.row_number().over(partition_by=considered.webhook_id, order_by=considered.due_at).label("place")
    ranked = select(considered.webhook_id, considered.connection_id, considered.due_at, rank).subquery().c
    fair = select(ranked.webhook_id, ranked.connection_id).where(ranked.place <= MAX_PER_WEBHOOK)
    return fair.order_by(ranked.due_at).limit(limit)


def _select_claimed() -> Any:
    """Select the columns of a claimed position."""
    return (
        select(
            _positions.webhook_id,
            _positions.connection_id,
            _positions.after,
            _positions.failures,
            _positions.failing_since,
            _webhooks.workspace_id,
            _webhooks.url,
            _webhooks.sealed,
            _webhooks.types,
            _connections.connector,
        )
        .join(tables.webhooks, _webhooks.webhook_id == _positions.webhook_id)
        .join(tables.connections, _connections.connection_id == _positions.connection_id)
    )


def events_after(connection_id: str, position: int, types: Sequence[str] | None) -> ColumnElement[bool]:
    """Return the condition for events of a connection after *position*, restricted to *types* if there are any."""
    condition = and_(_events.connection_id == connection_id, _events.sequence > position)
    return and_(condition, _events.type.in_(types)) if types else condition


def _is_claimed(claimed: ClaimedPosition) -> tuple[ColumnElement[bool], ...]:
    return (
        _positions.webhook_id == claimed.webhook_id,
        _positions.connection_id == claimed.connection_id,
        _positions.lease == claimed.lease,
    )
