"""Gaps after a restore: the feeds of all connections say that events may be missing, or come again."""

import asyncio

from sqlalchemy import Row, select

from connector_gateway.core.events.feed import Feed, Gap
from connector_gateway.core.history.filters import OBSERVE
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.core.writes.restores import Lost
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

WHY = "the database was restored from a backup. Events of that time may also come again, with the same event_id."
AT_ONCE = 100

_connections = tables.connections.c
OBSERVED = (
    select(tables.watches.c.connection_id, tables.watches.c.connector, _connections.workspace_id)
    .join(tables.connections, _connections.connection_id == tables.watches.c.connection_id)
    .order_by(tables.watches.c.connection_id)
)


class LostEvents:
    """Notes what was lost in the feeds of all connections that are observed."""

    def __init__(self, database: Database, feed: Feed, runs: RunStore) -> None:
        self._database = database
        self._feed = feed
        self._runs = runs

    async def note(self, lost: Lost) -> None:
        """Note a gap for each connection, with a run that tells of it."""
        observed = await self._database.read(lambda reading: reading.execute(OBSERVED).all())
        for first in range(0, len(observed), AT_ONCE):
            some = observed[first : first + AT_ONCE]
            await asyncio.gather(*(self._note(row, lost) for row in some))

    async def _note(self, row: Row[str, str, str], lost: Lost) -> None:
        run = Run("watch")
        recording = self._runs.record(
            run, WorkspaceId(row.workspace_id), row.connector, OBSERVE, connection_id=row.connection_id
        )
        await self._feed.record_gap(ConnectionId(row.connection_id), Gap(run.run_id, lost.since, lost.until, WHY))
        run.status, run.code = "partial", "events_missed"
        await recording.close()
