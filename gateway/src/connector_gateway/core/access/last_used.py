"""Last-used times of keys and connections, in memory and stored once a minute, since only people read them."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Table, bindparam, func, update

from connector_gateway.kit.clock import Clock
from connector_gateway.storage.sql.database import Database

STEP = 500
"""Maximum rows that one transaction updates."""


class LastUsed:
    """Last-used times of the rows of one table, some of which are not stored yet."""

    def __init__(self, database: Database, table: Table, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._pending: dict[str, float] = {}
        (key,) = table.primary_key.columns
        self._key = key.name
        # Another process might have stored a later use.
        later = func.coalesce(table.c.last_used_at, 0.0) < bindparam("_at")
        self._update = update(table).where(key == bindparam("_key"), later).values(last_used_at=bindparam("_at"))

    def record(self, identifier: str) -> None:
        """Record that a row is used now."""
        self._pending[identifier] = self._clock.now()

    def apply(self, row: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return the columns of a row with its last-used time, even if that is not stored yet."""
        used = self._pending.get(row[self._key], 0.0)
        return dict(row) | {"last_used_at": used} if used > (row["last_used_at"] or 0.0) else row

    async def store_last_used(self) -> int:
        """Store a limited number of last-used times. Returns how many."""
        stored = dict(islice(self._pending.items(), STEP))
        if stored:
            values = [{"_key": identifier, "_at": at} for identifier, at in stored.items()]
            await self._database.write(lambda db: db.execute(self._update, values).rowcount)
        for identifier, at in stored.items():
            if self._pending.get(identifier) == at:
                del self._pending[identifier]
        return len(stored)
