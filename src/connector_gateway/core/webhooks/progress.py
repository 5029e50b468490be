"""Positions: how far each webhook has been told of each connection's events, and when the next one is due.

A position is claimed by one process at a time. It is due again a minute later unless its process goes on with it, so
that nobody needs to know which processes live. What a process commits is bound to its claim. Times are the database's.
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
from sqlalchemy import Connection as Writing
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.events.gaps import gaps_noted_after, warning_of
from connector_gateway.core.history.retention import PURGE_STEP
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId, ulid
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

CLAIM_SECONDS = 60.0
"""How long a claim holds after its last sign of life, which each event that is delivered is; four attempts."""

OF_ONE_WEBHOOK = 4
"""Positions of one webhook that are claimed at once: a receiver that is slow keeps no others waiting."""

WARNED_SECONDS = 24 * 60 * 60.0
"""How long messages name a gap after it was noted."""

CONSIDERED = 1000
"""Positions that are due and are looked at for one claim."""

_positions, _webhooks, _events = tables.webhook_positions.c, tables.webhooks.c, tables.events.c
_connections = tables.connections.c


class ClaimLost(Exception):
    """Raised when the position was claimed by another process meanwhile, or set by the operator."""


@dataclass(frozen=True, slots=True)
class ClaimedPosition:
    """A position that this process is to go on from."""

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
    """Of the events to be delivered; all of them where there are none."""

    warnings: Sequence[str] = ()
    """Gaps in the connection's feed that each message names."""

    def up_to(self, sequence: int) -> "ClaimedPosition":
        """The same, with nothing left to deliver up to the event of that number."""
        return replace(self, after=max(self.after, sequence))


def mark_due(writing: Writing, connection_id: str, first: int, newest: int, due_at: float) -> None:
    """Make the webhooks of a connection due, in the transaction that adds the events *first* to *newest*.

    A webhook that knows nothing of the connection yet begins with the first of them.
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
    made = insert(tables.webhook_positions).from_select(names, concerned)
    writing.execute(
        made.on_conflict_do_update(
            index_elements=["webhook_id", "connection_id"],
            set_={"newest": made.excluded.newest, "due_at": func.coalesce(_positions.due_at, made.excluded.due_at)},
        )
    )


class DeliveryPositions:
    """Claims positions, and notes how far they have come."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, most: int, without: Collection[str] = ()) -> Sequence[ClaimedPosition]:
        """Positions that are due, at most so many, of other webhooks than *without*."""
        now = self._database.time()
        due = (
            _positions.due_at <= now,
            _positions.webhook_id.not_in(without),
            _positions.webhook_id.in_(select(_webhooks.webhook_id).where(_webhooks.status == "active")),
        )
        # Mostly nothing is due. To read that costs no turn of the one writer that SQLite has.
        first = select(_positions.webhook_id).where(*due).limit(1)
        if not await self._database.read(lambda reading: reading.execute(first).first()):
            return []
        lease = ulid()
        take = (
            update(tables.webhook_positions)
            # Again what makes it due: another process may have been quicker.
            .where(tuple_(_positions.webhook_id, _positions.connection_id).in_(_chosen(due, most)), *due)
            .values(lease=lease, due_at=now + CLAIM_SECONDS)
        )
        told = _told().where(_positions.lease == lease)

        def claim(writing: Writing) -> Sequence[Mapping[Any, Any]]:
            return writing.execute(told).mappings().all() if writing.execute(take).rowcount else []

        return [ClaimedPosition(lease=lease, **row) for row in await self._database.write(claim)]

    async def events(self, claimed: ClaimedPosition, most: int) -> tuple[ClaimedPosition, Sequence[Row[Any]], int]:
        """Return the next events in order, the position with its warnings, and the number up to which none is left."""
        newest = select(_positions.newest).where(*_here(claimed))
        query = (
            select(tables.events)
            .where(events_after(claimed.connection_id, claimed.after, claimed.types))
            .order_by(_events.sequence)
            .limit(most)
        )

        gaps = gaps_noted_after(claimed.connection_id, self._database.time() - WARNED_SECONDS)

        def read(reading: Writing) -> tuple[ClaimedPosition, Sequence[Row[Any]], int]:
            # In this order: whoever raised the newest number has committed the events up to it.
            known = reading.execute(newest).scalar() or 0
            events = reading.execute(query).all()
            warnings = [warning_of(gap) for gap in reading.execute(gaps)] if events else []
            return replace(claimed, warnings=warnings), events, known

        return await self._database.read(read)

    async def advance(self, claimed: ClaimedPosition, sequence: int) -> ClaimedPosition:
        """Note that the event of that number was accepted; ``TakenOver`` if another goes on."""
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
        """End a claim after an attempt that failed; the next one is so many *seconds* later."""
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

    async def give_back(self, claimed: ClaimedPosition) -> None:
        """End a claim; it is due at once if there are further events."""
        # Compared with the row as it is now: an event that came meanwhile has raised its newest.
        further = case((_positions.newest > claimed.after, self._database.time()), else_=None)
        await self._set(claimed, after=claimed.after, due_at=further, lease=None)

    async def release(self, claims: Collection[ClaimedPosition]) -> None:
        """Make claimed positions due at once, for others to go on with; how far they have come stays."""
        leases = {claimed.lease for claimed in claims}
        free = update(tables.webhook_positions).where(_positions.lease.in_(leases))
        given_back = free.values(due_at=self._database.time(), lease=None)
        if leases:
            await self._database.write(lambda writing: writing.execute(given_back))

    def failing_seconds(self, claimed: ClaimedPosition) -> float:
        """For how long the next event is tried in vain."""
        return 0.0 if claimed.failing_since is None else self._database.time() - claimed.failing_since

    async def accepts_others(self, claimed: ClaimedPosition) -> bool:
        """Whether its webhook has accepted events of other connections while the next event was tried in vain."""
        since = self._database.time() if claimed.failing_since is None else claimed.failing_since
        other = select(_positions.webhook_id).where(
            _positions.webhook_id == claimed.webhook_id, _positions.delivered_at > since
        )
        return await self._database.read(lambda reading: reading.execute(other.limit(1)).first()) is not None

    async def _set(self, claimed: ClaimedPosition, **values: Any) -> None:
        change = update(tables.webhook_positions).where(*_here(claimed)).values(**values)
        if not await self._database.write(lambda writing: writing.execute(change).rowcount):
            raise ClaimLost

    async def purge(self) -> int:
        """Delete a bounded number of positions that nobody needs: the connection, or even the webhook, is gone."""
        gone = select(_connections.connection_id).where(_connections.deleted.is_(True))
        needless = or_(
            and_(_positions.due_at.is_(None), _positions.connection_id.in_(gone)),
            _positions.webhook_id.not_in(select(_webhooks.webhook_id)),
        )
        chosen = select(_positions.webhook_id, _positions.connection_id).where(needless).limit(PURGE_STEP)
        names = await self._database.read_slow(lambda reading: reading.execute(chosen).all())
        here = tuple_(_positions.webhook_id, _positions.connection_id).in_([tuple(name) for name in names])
        purge = delete(tables.webhook_positions).where(here, needless)
        return await self._database.write(lambda writing: writing.execute(purge).rowcount) if names else 0


def _chosen(due: Collection[ColumnElement[bool]], most: int) -> Any:
    """The positions that have been due longest, of each webhook only some."""
    keys = _positions.webhook_id, _positions.connection_id, _positions.due_at
    considered = select(*keys).where(*due).order_by(_positions.due_at).limit(CONSIDERED).subquery().c
    place = func.row_number().over(partition_by=considered.webhook_id, order_by=considered.due_at).label("place")
    placed = select(considered.webhook_id, considered.connection_id, considered.due_at, place).subquery().c
    fair = select(placed.webhook_id, placed.connection_id).where(placed.place <= OF_ONE_WEBHOOK)
    return fair.order_by(placed.due_at).limit(most)


def _told() -> Any:
    """What a process needs to know of positions that it has claimed."""
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


def events_after(connection_id: str, place: int, types: Sequence[str] | None) -> ColumnElement[bool]:
    """Events of a connection behind a place that are of some *types*, or of any."""
    here = and_(_events.connection_id == connection_id, _events.sequence > place)
    return and_(here, _events.type.in_(types)) if types else here


def _here(claimed: ClaimedPosition) -> tuple[ColumnElement[bool], ...]:
    return (
        _positions.webhook_id == claimed.webhook_id,
        _positions.connection_id == claimed.connection_id,
        _positions.lease == claimed.lease,
    )
