"""The feed of a connection: its observed changes, each once, in the order of observation."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json
from sqlalchemy import ColumnElement, Row, Select, case, delete, select, tuple_, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.connections import Vault
from connector_gateway.core.events.feed_gaps import describe_gap, format_time, select_gaps_since
from connector_gateway.core.events.revocation_check import RevocationCheck
from connector_gateway.kit.clock import DAY_SECONDS, Clock, utc_datetime
from connector_gateway.kit.errors import ConnectionRevoked
from connector_gateway.kit.events import Observation, R
from connector_gateway.kit.identifiers import ConnectionId, RunId, ulid
from connector_gateway.kit.models import Page, Position, UtcDatetime
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

RETENTION_SECONDS: Mapping[str, float] = {"free": 7 * DAY_SECONDS, "paid": 30 * DAY_SECONDS}
"""Seconds for which events are retained, by the workspace's plan."""

REVOKED = "revoked"

MarkDue = Callable[[SqlConnection, str, int, int, float], None]
"""Makes the webhooks of a connection due, in the transaction that adds a range of events."""

_events, _watches, _gaps = tables.events.c, tables.watches.c, tables.gaps.c


@dataclass(frozen=True, slots=True)
class Gap:
    """A period in which events may be missing, the poll that detected it, and the reason."""

    run_id: RunId
    since: float
    until: float
    why: str
    channel: str | None = None


def _reserve_numbers(db: SqlConnection, connection_id: str, count: int, now: float) -> Row[Any] | None:
    """Reserve *count* event numbers. Returns the last one and the time of observation.

    Returns None if the connection is no longer watched.
    """
    number = (
        update(tables.watches)
        .where(_watches.connection_id == connection_id)
        .values(
            sequence=_watches.sequence + count,
            # Never before the last event, even if a clock is set back: readers continue from the last event's time.
            observed_at=case((_watches.observed_at > now, _watches.observed_at), else_=now),
        )
        .returning(_watches.sequence, _watches.observed_at)
    )
    return db.execute(number).first()


def _existing(db: SqlConnection, connection_id: str, names: Collection[str]) -> Collection[str]:
    query = select(_events.event_id).where(_events.connection_id == connection_id, _events.event_id.in_(names))
    return set(db.execute(query).scalars())


def event_id(connection_id: str, observation: Observation) -> str:
    """Return the identifier of a change."""
    # Derived from the change, so that a change is stored once even if both a hook and a poll report it.
    digest = hashlib.sha256(to_json([connection_id, observation.identity])).digest()
    return f"evt_{ulid(int.from_bytes(digest[:16], 'big'))}"


class Feed:
    """Reads events, records gaps, and deletes expired events."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        clock: Clock,
        mark_webhooks_due: MarkDue,
        steady: Clock | None = None,
    ) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._mark_webhooks_due = mark_webhooks_due
        self._authorisations = RevocationCheck(steady or clock)

    async def page(
        self,
        connection_id: ConnectionId,
        shape: type[R],
        position: Position | None,
        *,
        limit: int,
        since: UtcDatetime | None = None,
        event_type: str | None = None,
        channel: str | None = None,
        confirm: Callable[[], Awaitable[object]] | None = None,
    ) -> Page[R]:
        """Return events of a connection, oldest first, from *since* or after *position*.

        *confirm* checks whether the vendor still accepts the connection. Without a response, the last status counts.
        """
        confirmed = confirm is not None and await self._authorisations.is_accepted(connection_id, confirm)
        now = self._clock.now()

        def read(db: SqlConnection) -> tuple[Sequence[Row[Any]], Sequence[Row[Any]], float]:
            plan, status = db.execute(_select_plan_and_status(connection_id)).one()
            if status == REVOKED and not confirmed:
                raise ConnectionRevoked("The authorisation of this connection was withdrawn.")
            retained_from = now - RETENTION_SECONDS[plan]
            start = max(retained_from, position["at"] if position else since.timestamp() if since else 0.0)
            query = _select(connection_id, start, position, {"type": event_type, "channel": channel}).limit(limit + 1)
            gaps = db.execute(select_gaps_since(connection_id, start, channel)).all()
            return db.execute(query).all(), gaps, retained_from

        rows, gaps, retained_from = await self._database.read(read)
        page = rows[:limit]
        more = len(rows) > limit
        return Page[shape](  # type: ignore[valid-type]  # the shape is known at run time only
            items=[to_event(shape, row, self._vault) for row in page],
            position={"at": page[-1].observed_at, "after": page[-1].sequence} if more else None,
            warnings=[*_retention_warnings(since, retained_from), *map(describe_gap, gaps)],
        )

    async def latest(
        self, connection_id: str, *, limit: int = 50, before: int | None = None
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """Return the latest events of a connection, newest first, and the number before which there may be more.

        Operators see the stored events even if the connection is no longer authorised.
        """
        query = (
            select(tables.events)
            .where(_events.connection_id == connection_id)
            .order_by(_events.observed_at.desc(), _events.sequence.desc())
            .limit(limit + 1)
        )
        if before is not None:
            query = query.where(_events.sequence < before)
        rows = await self._database.read_slow(lambda db: db.execute(query).all())
        items = [self._to_public(row) for row in rows[:limit]]
        return items, items[-1]["sequence"] if len(rows) > limit else None

    def _to_public(self, row: Row[Any]) -> dict[str, Any]:
        names = ("sequence", "event_id", "type", "channel")
        fields = {"observed_at": utc_datetime(row.observed_at), "data": decrypt_data(row, self._vault)}
        return {name: getattr(row, name) for name in names} | fields

    def append_events(
        self, db: SqlConnection, connection_id: str, observations: Sequence[Observation], now: float, due_at: float
    ) -> None:
        """Append *observations* to a connection's feed, without those that it contains already.

        The watch's row is locked first, so that no event ever appears before one that a reader has seen.
        Times are stored exactly as callers see them, because callers continue from the last time they saw.
        The connection's webhooks become due at *due_at*, a time of the database's clock.
        """
        by_id = {event_id(connection_id, observation): observation for observation in observations}
        last = _reserve_numbers(db, connection_id, len(by_id), round(now, 3)) if by_id else None
        if last is None:
            return
        existing = _existing(db, connection_id, by_id)
        new = [(name, observation) for name, observation in by_id.items() if name not in existing]
        rows = [
            {
                "connection_id": connection_id,
                "sequence": sequence,
                "event_id": name,
                "type": observation.type,
                "channel": observation.channel,
                "observed_at": last.observed_at,
                "data": {},
                "sealed": self._vault.encrypt_bytes(to_json(observation.data), _owner(connection_id, sequence)),
            }
            for sequence, (name, observation) in enumerate(new, last.sequence - len(by_id) + 1)
        ]
        if rows:
            db.execute(insert(tables.events), rows)
            self._mark_webhooks_due(db, connection_id, rows[0]["sequence"], rows[-1]["sequence"], due_at)

    async def add(self, observations: Mapping[str, Sequence[Observation]]) -> None:
        """Commit observations to the feeds of connections, either all or none."""
        now, due_at = self._clock.now(), self._database.time()

        def add(db: SqlConnection) -> None:
            for connection_id, observed in observations.items():
                self.append_events(db, connection_id, observed, now, due_at)

        if any(observations.values()):
            await self._database.write(add)

    async def record_gap(self, connection_id: ConnectionId, gap: Gap) -> None:
        """Record that events may be missing."""
        row = {
            "gap_id": f"gap_{ulid()}",
            "connection_id": connection_id,
            "channel": gap.channel,
            "since_at": gap.since,
            "until_at": gap.until,
            "noted_at": self._clock.now(),
            "run_id": gap.run_id,
            "why": gap.why,
        }
        await self._database.put(insert(tables.gaps), row)

    async def purge(self) -> int:
        """Delete a bounded number of expired events, and of rows of deleted connections. Returns how many."""
        now = self._clock.now()
        longest = max(RETENTION_SECONDS.values())
        steps = [
            *(_expired_events(plan, now - seconds) for plan, seconds in RETENTION_SECONDS.items()),
            _first_keys(tables.events, _events.observed_at < now - longest),
            _first_keys(tables.gaps, _gaps.noted_at < now - longest),
            _first_keys(tables.snapshots, _orphaned(tables.snapshots.c.connection_id)),
            _first_keys(tables.wakes, _orphaned(tables.wakes.c.connection_id)),
        ]
        return sum([await self._delete(table, chosen) for table, chosen in steps])

    async def _delete(self, table: Any, chosen: Select[Any]) -> int:
        """Delete the *chosen* rows. They are selected with a reader, so that no writer waits for the search."""
        names = [tuple(name) for name in await self._database.read_slow(lambda db: db.execute(chosen).all())]
        purge = delete(table).where(tuple_(*table.primary_key.columns).in_(names))
        return await self._database.delete_expired(lambda db: db.execute(purge).rowcount) if names else 0


def _select(
    connection_id: str, start: float, position: Position | None, filters: Mapping[str, str | None]
) -> Select[Any]:
    """Select events from a time on, or after a position. Both have the same order, and an index supports it."""
    query = (
        select(tables.events)
        .where(_events.connection_id == connection_id, _events.observed_at >= start)
        .order_by(_events.observed_at, _events.sequence)
    )
    if position is not None:
        query = query.where(_events.sequence > position["after"])
    return query.where(*(_events[name] == value for name, value in filters.items() if value is not None))


def _select_plan_and_status(connection_id: str) -> Select[Any]:
    return (
        select(tables.workspaces.c.plan, tables.connections.c.status)
        .join(tables.connections, tables.connections.c.workspace_id == tables.workspaces.c.workspace_id)
        .where(tables.connections.c.connection_id == connection_id)
    )


def to_event(shape: type[R], row: Row[Any], vault: Vault) -> R:
    """Return the public form of an event's row."""
    fields = {"event_id": row.event_id, "type": row.type, "observed_at": utc_datetime(row.observed_at)}
    return shape.model_validate({**decrypt_data(row, vault), **fields})


def decrypt_data(row: Row[Any], vault: Vault) -> Mapping[str, Any]:
    """Return the content of an event. Rows of earlier versions contain it in plain text until they expire."""
    if row.sealed is None:
        plain: Mapping[str, Any] = row.data
        return plain
    return vault.decrypt(row.sealed, _owner(row.connection_id, row.sequence))


def _owner(connection_id: str, sequence: int) -> str:
    return f"{connection_id}\n{sequence}"


def _retention_warnings(since: UtcDatetime | None, retained_from: float) -> list[str]:
    if since is None or since.timestamp() >= retained_from:
        return []
    return [f"Events before {format_time(retained_from)} are no longer stored."]


def _first_keys(table: Any, condition: ColumnElement[bool]) -> tuple[Any, Select[Any]]:
    return table, select(*table.primary_key.columns).where(condition).limit(PURGE_STEP)


def _orphaned(connection_id: ColumnElement[str]) -> ColumnElement[bool]:
    return connection_id.not_in(select(_watches.connection_id))


def _expired_events(plan: str, before: float) -> tuple[Any, Select[Any]]:
    of_plan = (
        select(tables.connections.c.connection_id)
        .join(tables.workspaces, tables.workspaces.c.workspace_id == tables.connections.c.workspace_id)
        .where(tables.workspaces.c.plan == plan)
    )
    table, chosen = _first_keys(tables.events, _events.observed_at < before)
    return table, chosen.where(_events.connection_id.in_(of_plan))
