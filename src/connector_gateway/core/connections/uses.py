"""When connections were last used: noted in memory, and written seldom, for it is told to people only."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection as Transaction
from sqlalchemy import bindparam, or_, update

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

NOTE_SECONDS = 60.0
"""How often it is written."""

NOTE_STEP = 500
"""How many of them in one transaction."""


class Uses:
    """Uses of connections that are not all written yet."""

    def __init__(self, database: Database, clock: Clock, steady: Clock) -> None:
        self._database = database
        self._clock = clock
        self._steady = steady
        self._used: dict[ConnectionId, float] = {}
        self._stored_at = steady.now()

    def note(self, connection_id: ConnectionId) -> None:
        """Note that a connection is used now."""
        self._used[connection_id] = self._clock.now()

    def told(self, row: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The columns of a connection, with its last use even where that is not written yet."""
        used = self._used.get(row["connection_id"], 0.0)
        return dict(row) | {"last_used_at": used} if used > (row["last_used_at"] or 0.0) else row

    async def store(self) -> None:
        """Write what was noted, if that was not done for a while; many at once."""
        now = self._steady.now()
        if now - self._stored_at < NOTE_SECONDS:
            return
        self._stored_at, used, self._used = now, self._used, {}
        rows = [{"used": connection_id, "at": at} for connection_id, at in used.items()]
        for start in range(0, len(rows), NOTE_STEP):
            await self._database.write(partial(_store, rows[start : start + NOTE_STEP]))


def _store(rows: Sequence[Mapping[str, Any]], writing: Transaction) -> None:
    table = tables.connections.c
    later = or_(table.last_used_at.is_(None), table.last_used_at < bindparam("at"))
    change = update(tables.connections).where(table.connection_id == bindparam("used"), later)
    writing.execute(change.values(last_used_at=bindparam("at")), rows)
