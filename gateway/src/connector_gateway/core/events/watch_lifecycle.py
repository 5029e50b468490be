"""The effect of a connection's changes on its watch."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.events import CHANGED_AT, FORMER, RENEWED_AT, WATCHING, State
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.storage.sql import tables

MAX_SEARCH_BACK_SECONDS = 6 * 24 * 60 * 60.0
"""The maximum age of missed hooks that a poll searches for. Events are retained longer, so that none appears twice."""

_watches = tables.watches.c


class WatchLifecycle:
    """Starts, resets and ends watches in the transaction that changes a connection. *time* is the database's clock."""

    def __init__(
        self, connectors: Mapping[str, AnyConnector], clock: Clock, time: Callable[[], float] | None = None
    ) -> None:
        self._connectors = connectors
        self._clock = clock
        self._time = time or clock.now

    def created(self, db: SqlConnection, connection_id: str, connector: str) -> None:
        """Watch a new connection if its connector observes changes."""
        if self._connectors[connector].event_source is not None:
            _begin(db, connection_id, connector, self._clock.now(), self._time())

    def changed(self, db: SqlConnection, connection_id: str, *, credentials: bool, settings: bool) -> None:
        """Poll the connection completely now, with the new credentials or settings."""
        now = self._clock.now()
        _poll_now(db, connection_id, self._time())
        if credentials:
            _reset_account(db, connection_id, now)
        if settings:
            _mark_settings_changed(db, connection_id, now)

    def revoked(self, db: SqlConnection, connection_id: str) -> None:
        """Record that hooks may have been missed."""
        _mark_behind(db, connection_id, self._clock.now())

    def reauthorised(self, db: SqlConnection, connection_id: str) -> None:
        """Poll the connection completely now."""
        _poll_now(db, connection_id, self._time())

    def removed(self, db: SqlConnection, connection_id: str) -> None:
        """Stop watching the connection."""
        db.execute(delete(tables.watches).where(_watches.connection_id == connection_id))


def _begin(db: SqlConnection, connection_id: str, connector: str, now: float, due_at: float) -> None:
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
    db.execute(insert(tables.watches).on_conflict_do_nothing(), row)


def _poll_now(db: SqlConnection, connection_id: str, due_at: float) -> None:
    """Poll a connection completely now, because it was changed or is authorised again."""
    _change(db, connection_id, due_at=due_at, whole_at=due_at, failures=0)


def _mark_settings_changed(db: SqlConnection, connection_id: str, now: float) -> None:
    """Mark the state as older than the new settings, so that the next poll observes with them from *now* on."""
    state = _lock_state(db, connection_id)
    if state:
        behind_since = func.coalesce(_watches.behind_since, now)
        _change(db, connection_id, state={**state, CHANGED_AT: now}, behind_since=behind_since)


def _reset_account(db: SqlConnection, connection_id: str, now: float) -> None:
    """Let the next poll identify the account again, because the credentials were replaced. A poll in progress ends.

    Until the account is known, hooks are not assigned to the connection. Earlier ones may be missing too.
    """
    _mark_behind(db, connection_id, now)
    _delete_snapshots(db, connection_id)
    state = _lock_state(db, connection_id)
    if state:
        state = {FORMER: state.get(FORMER, state), RENEWED_AT: now}
    _change(db, connection_id, account=None, place=None, state=state, lease=None, leased_by=None)


def _delete_snapshots(db: SqlConnection, connection_id: str) -> None:
    """Delete the time since which changes are observed, until everything was read again."""
    snapshots = tables.snapshots.c
    db.execute(delete(tables.snapshots).where(snapshots.connection_id == connection_id, snapshots.scope == WATCHING))


def _mark_behind(db: SqlConnection, connection_id: str, now: float) -> None:
    """Record that hooks may be missing since the last event, because the actual time is unknown."""
    earliest = now - MAX_SEARCH_BACK_SECONDS
    last_event_at = case((_watches.observed_at > earliest, _watches.observed_at), else_=earliest)
    _change(db, connection_id, behind_since=func.coalesce(_watches.behind_since, last_event_at))


def _change(db: SqlConnection, connection_id: str, **values: Any) -> None:
    db.execute(update(tables.watches).where(_watches.connection_id == connection_id).values(**values))


def _lock_state(db: SqlConnection, connection_id: str) -> State:
    """Return the connector's state of a connection and lock it. It is empty if the connection is not watched."""
    query = select(_watches.state).where(_watches.connection_id == connection_id).with_for_update()
    return db.execute(query).scalar() or {}
