"""What a change of a connection means for its watch."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection as Writing
from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.events import CHANGED_AT, FORMER, RENEWED_AT, WATCHING, State
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.storage import tables

SILENT_SECONDS = 6 * 24 * 60 * 60.0
"""How far back a poll looks at most for missed deliveries; events are kept longer, so that none appears twice."""

_watches = tables.watches.c


class WatchListener:
    """Begins, renews and ends watches in the transaction that changes a connection; *time* is the database's."""

    def __init__(
        self, connectors: Mapping[str, AnyConnector], clock: Clock, time: Callable[[], float] | None = None
    ) -> None:
        self._connectors = connectors
        self._clock = clock
        self._time = time or clock.now

    def made(self, writing: Writing, connection_id: str, connector: str) -> None:
        """Watch a new connection, where its connector's changes are observed."""
        if self._connectors[connector].observing is not None:
            _begin(writing, connection_id, connector, self._clock.now(), self._time())

    def changed(self, writing: Writing, connection_id: str, *, credentials: bool, settings: bool) -> None:
        """Poll all of it now, by whatever was set."""
        now = self._clock.now()
        _renew(writing, connection_id, self._time())
        if credentials:
            _reintroduce(writing, connection_id, now)
        if settings:
            _resettle(writing, connection_id, now)

    def revoked(self, writing: Writing, connection_id: str) -> None:
        """Note that what was pushed may not have come."""
        _fall_silent(writing, connection_id, self._clock.now())

    def accepted(self, writing: Writing, connection_id: str) -> None:
        """Poll all of it now."""
        _renew(writing, connection_id, self._time())

    def removed(self, writing: Writing, connection_id: str) -> None:
        """Watch it no more."""
        writing.execute(delete(tables.watches).where(_watches.connection_id == connection_id))


def _begin(writing: Writing, connection_id: str, connector: str, now: float, due_at: float) -> None:
    row: dict[str, Any] = {
        "connection_id": connection_id,
        "connector": connector,
        "account": None,
        "state": {},
        "due_at": due_at,
        "whole_at": due_at,
        "behind_since": now,
        "failures": 0,
        "sequence": 0,
        "observed_at": 0.0,
    }
    writing.execute(insert(tables.watches).on_conflict_do_nothing(), row)


def _renew(writing: Writing, connection_id: str, due_at: float) -> None:
    """Poll all of a connection now, since it was changed, or is authorised again."""
    _change(writing, connection_id, due_at=due_at, whole_at=due_at, failures=0)


def _resettle(writing: Writing, connection_id: str, now: float) -> None:
    """Have what happens from *now* on polled with other settings, which nothing was found by before."""
    state = _state_of(writing, connection_id)
    if state:
        behind_since = func.coalesce(_watches.behind_since, now)
        _change(writing, connection_id, state={**state, CHANGED_AT: now}, behind_since=behind_since)


def _reintroduce(writing: Writing, connection_id: str, now: float) -> None:
    """Have it found out whose a connection is, since its credentials were replaced; a poll under way ends here.

    Until the account is known, deliveries do not find the connection; earlier ones may not have come either.
    """
    _fall_silent(writing, connection_id, now)
    _forget_since(writing, connection_id)
    state = _state_of(writing, connection_id)
    if state:
        state = {FORMER: state.get(FORMER, state), RENEWED_AT: now}
    _change(writing, connection_id, account=None, place=None, state=state, lease=None, leased_by=None)


def _forget_since(writing: Writing, connection_id: str) -> None:
    """Forget since when changes are seen, until everything was read again."""
    kept = tables.snapshots.c
    writing.execute(delete(tables.snapshots).where(kept.connection_id == connection_id, kept.scope == WATCHING))


def _fall_silent(writing: Writing, connection_id: str, now: float) -> None:
    """Note that what was pushed may not have come since the last event that did, for nobody knows since when."""
    earliest = now - SILENT_SECONDS
    last_heard = case((_watches.observed_at > earliest, _watches.observed_at), else_=earliest)
    _change(writing, connection_id, behind_since=func.coalesce(_watches.behind_since, last_heard))


def _change(writing: Writing, connection_id: str, **values: Any) -> None:
    writing.execute(update(tables.watches).where(_watches.connection_id == connection_id).values(**values))


def _state_of(writing: Writing, connection_id: str) -> State:
    """What the room notes of a connection, which nobody else changes until this is written; nothing if unwatched."""
    query = select(_watches.state).where(_watches.connection_id == connection_id).with_for_update()
    return writing.execute(query).scalar() or {}
