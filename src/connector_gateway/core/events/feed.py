"""The feed of a connection: the observed changes, each once, in the order in which they were observed."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json
from sqlalchemy import ColumnElement, Row, Select, case, delete, select, tuple_, update
from sqlalchemy import Connection as Writing
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.connections import Vault
from connector_gateway.core.events.authorisation_probe import AuthorisationProbe
from connector_gateway.core.events.gaps import gaps_after, warning_of, written
from connector_gateway.core.history.retention import PURGE_STEP
from connector_gateway.core.webhooks.progress import mark_due
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import ConnectionRevoked
from connector_gateway.kit.events import Observation, R
from connector_gateway.kit.identifiers import ConnectionId, RunId, ulid
from connector_gateway.kit.shapes import Page, Position, UtcDatetime
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

DAY_SECONDS = 24 * 60 * 60.0
KEPT_SECONDS: Mapping[str, float] = {"free": 7 * DAY_SECONDS, "paid": 30 * DAY_SECONDS}
"""How long events are kept, by the workspace's plan."""

REVOKED = "revoked"

_events, _watches, _gaps = tables.events.c, tables.watches.c, tables.gaps.c


@dataclass(frozen=True, slots=True)
class Gap:
    """A time of which events may be missing, the poll that found it out, and why."""

    run_id: RunId
    since: float
    until: float
    why: str
    channel: str | None = None


def _number(writing: Writing, connection_id: str, count: int, now: float) -> Row[Any] | None:
    """The last of so many numbers for events of a connection, and their instant; None if it is watched no more."""
    number = (
        update(tables.watches)
        .where(_watches.connection_id == connection_id)
        .values(
            sequence=_watches.sequence + count,
            # Never before the last event, even if a clock is set back: readers go on from there (decision 14).
            observed_at=case((_watches.observed_at > now, _watches.observed_at), else_=now),
        )
        .returning(_watches.sequence, _watches.observed_at)
    )
    return writing.execute(number).first()


def _known(writing: Writing, connection_id: str, names: Collection[str]) -> Collection[str]:
    query = select(_events.event_id).where(_events.connection_id == connection_id, _events.event_id.in_(names))
    return set(writing.execute(query).scalars())


def event_id(connection_id: str, observation: Observation) -> str:
    """The identifier of a change, the same whenever it is seen."""
    # The same change gets the same identifier by whichever way it is seen, so that it is stored once.
    digest = hashlib.sha256(to_json([connection_id, observation.identity])).digest()
    return f"evt_{ulid(int.from_bytes(digest[:16], 'big'))}"


class Feed:
    """Reads events, records gaps, and deletes expired events."""

    def __init__(self, database: Database, vault: Vault, clock: Clock, steady: Clock | None = None) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._authorisations = AuthorisationProbe(steady or clock)

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
        """Events of a connection, oldest first, from *since* or after *position*.

        *confirm* asks the third party whether it still accepts the connection; where that cannot be asked, what was
        observed last holds.
        """
        confirmed = confirm is not None and await self._authorisations.is_accepted(connection_id, confirm)
        now = self._clock.now()

        def read(reading: Writing) -> tuple[Sequence[Row[Any]], Sequence[Row[Any]], float]:
            plan, status = reading.execute(_plan_and_status_of(connection_id)).one()
            if status == REVOKED and not confirmed:
                raise ConnectionRevoked("The authorisation of this connection was withdrawn.")
            kept_from = now - KEPT_SECONDS[plan]
            start = max(kept_from, position["at"] if position else since.timestamp() if since else 0.0)
            query = _select(connection_id, start, position, {"type": event_type, "channel": channel}).limit(limit + 1)
            gaps = reading.execute(gaps_after(connection_id, start, channel)).all()
            return reading.execute(query).all(), gaps, kept_from

        rows, gaps, kept_from = await self._database.read(read)
        shown = rows[:limit]
        more = len(rows) > limit
        return Page[shape](  # type: ignore[valid-type]  # the shape is known at run time only
            items=[event_of(shape, row, self._vault) for row in shown],
            position={"at": shown[-1].observed_at, "after": shown[-1].sequence} if more else None,
            warnings=[*_no_longer_kept(since, kept_from), *map(warning_of, gaps)],
        )

    async def latest(
        self, connection_id: str, *, limit: int = 50, before: int | None = None
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """What was observed last of a connection, newest first, and before which number there may be more.

        For operators, who see what is kept whether or not the connection is still authorised.
        """
        query = (
            select(tables.events)
            .where(_events.connection_id == connection_id)
            .order_by(_events.observed_at.desc(), _events.sequence.desc())
            .limit(limit + 1)
        )
        if before is not None:
            query = query.where(_events.sequence < before)
        rows = await self._database.read_slow(lambda reading: reading.execute(query).all())
        shown = [self._shown(row) for row in rows[:limit]]
        return shown, shown[-1]["sequence"] if len(rows) > limit else None

    def _shown(self, row: Row[Any]) -> dict[str, Any]:
        names = ("sequence", "event_id", "type", "channel")
        told = {"observed_at": utc_datetime(row.observed_at), "data": data_of(row, self._vault)}
        return {name: getattr(row, name) for name in names} | told

    def enter(
        self, writing: Writing, connection_id: str, observations: Sequence[Observation], now: float, due_at: float
    ) -> None:
        """Add those *observations* to a connection's feed that it does not have yet.

        The watch's row is locked first, so that no event ever appears before one that a reader has seen. Instants are
        stored as exactly as callers see them, since callers continue from the last one they saw. Webhooks of the
        connection are *due at* an instant of the database's clock.
        """
        wanted = {event_id(connection_id, observation): observation for observation in observations}
        numbered = _number(writing, connection_id, len(wanted), round(now, 3)) if wanted else None
        if numbered is None:
            return
        known = _known(writing, connection_id, wanted)
        fresh = [(name, observation) for name, observation in wanted.items() if name not in known]
        rows = [
            {
                "connection_id": connection_id,
                "sequence": sequence,
                "event_id": name,
                "type": observation.type,
                "channel": observation.channel,
                "observed_at": numbered.observed_at,
                "data": {},
                "sealed": self._vault.seal_bytes(to_json(observation.data), _owner(connection_id, sequence)),
            }
            for sequence, (name, observation) in enumerate(fresh, numbered.sequence - len(wanted) + 1)
        ]
        if rows:
            writing.execute(insert(tables.events), rows)
            mark_due(writing, connection_id, rows[0]["sequence"], rows[-1]["sequence"], due_at)

    async def add(self, observations: Mapping[str, Sequence[Observation]]) -> None:
        """Commit observations to the feeds of connections, all of them or none."""
        now, due_at = self._clock.now(), self._database.time()

        def add(writing: Writing) -> None:
            for connection_id, observed in observations.items():
                self.enter(writing, connection_id, observed, now, due_at)

        if any(observations.values()):
            await self._database.write(add)

    async def record_gap(self, connection_id: ConnectionId, gap: Gap) -> None:
        """Note that events may be missing."""
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
        """Delete a bounded number of events, and of what belongs to connections that are gone; how many it were."""
        now = self._clock.now()
        longest = max(KEPT_SECONDS.values())
        steps = [
            *(_expired_events(plan, now - seconds) for plan, seconds in KEPT_SECONDS.items()),
            _first(tables.events, _events.observed_at < now - longest),
            _first(tables.gaps, _gaps.noted_at < now - longest),
            _first(tables.snapshots, _orphaned(tables.snapshots.c.connection_id)),
            _first(tables.wakes, _orphaned(tables.wakes.c.connection_id)),
        ]
        return sum([await self._delete(table, chosen) for table, chosen in steps])

    async def _delete(self, table: Any, chosen: Select[Any]) -> int:
        """Delete what was *chosen*: it is looked for by readers, so that nobody waits for that to write."""
        names = [tuple(name) for name in await self._database.read_slow(lambda reading: reading.execute(chosen).all())]
        purge = delete(table).where(tuple_(*table.primary_key.columns).in_(names))
        return await self._database.delete_expired(lambda writing: writing.execute(purge).rowcount) if names else 0


def _select(
    connection_id: str, start: float, position: Position | None, filters: Mapping[str, str | None]
) -> Select[Any]:
    """Events from an instant on, or after a position; both orders are the same, and the first one is indexed."""
    query = (
        select(tables.events)
        .where(_events.connection_id == connection_id, _events.observed_at >= start)
        .order_by(_events.observed_at, _events.sequence)
    )
    if position is not None:
        query = query.where(_events.sequence > position["after"])
    return query.where(*(_events[name] == value for name, value in filters.items() if value is not None))


def _plan_and_status_of(connection_id: str) -> Select[Any]:
    return (
        select(tables.workspaces.c.plan, tables.connections.c.status)
        .join(tables.connections, tables.connections.c.workspace_id == tables.workspaces.c.workspace_id)
        .where(tables.connections.c.connection_id == connection_id)
    )


def event_of(shape: type[R], row: Row[Any], vault: Vault) -> R:
    """Return what callers are told of a row."""
    told = {"event_id": row.event_id, "type": row.type, "observed_at": utc_datetime(row.observed_at)}
    return shape.model_validate({**data_of(row, vault), **told})


def data_of(row: Row[Any], vault: Vault) -> Mapping[str, Any]:
    """Return the content of an event; rows of earlier versions have it in plain text until they expire."""
    if row.sealed is None:
        plain: Mapping[str, Any] = row.data
        return plain
    return vault.decrypt(row.sealed, _owner(row.connection_id, row.sequence))


def _owner(connection_id: str, sequence: int) -> str:
    return f"{connection_id}\n{sequence}"


def _no_longer_kept(since: UtcDatetime | None, kept_from: float) -> list[str]:
    if since is None or since.timestamp() >= kept_from:
        return []
    return [f"Events before {written(kept_from)} are no longer kept."]


def _first(table: Any, condition: ColumnElement[bool]) -> tuple[Any, Select[Any]]:
    return table, select(*table.primary_key.columns).where(condition).limit(PURGE_STEP)


def _orphaned(connection_id: ColumnElement[str]) -> ColumnElement[bool]:
    return connection_id.not_in(select(_watches.connection_id))


def _expired_events(plan: str, before: float) -> tuple[Any, Select[Any]]:
    of_plan = (
        select(tables.connections.c.connection_id)
        .join(tables.workspaces, tables.workspaces.c.workspace_id == tables.connections.c.workspace_id)
        .where(tables.workspaces.c.plan == plan)
    )
    table, chosen = _first(tables.events, _events.observed_at < before)
    return table, chosen.where(_events.connection_id.in_(of_plan))
