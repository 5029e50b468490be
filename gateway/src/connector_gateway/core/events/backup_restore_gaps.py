"""Gaps after a restore: every feed reports that events may be missing, or may be repeated."""

import asyncio

from sqlalchemy import Row, select

from connector_gateway.core.events.feed import Feed, Gap
from connector_gateway.core.history.run_filters import OBSERVE
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.core.writes.backup_restore_detection import LostPeriod
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

WHY = "the database was restored from a backup. Events of that time may also occur again, with the same event_id."
BATCH_SIZE = 100

_connections = tables.connections.c
WATCHED = (
    select(tables.watches.c.connection_id, tables.watches.c.connector, _connections.workspace_id)
    .join(tables.connections, _connections.connection_id == tables.watches.c.connection_id)
    .order_by(tables.watches.c.connection_id)
)


class BackupRestoreGapRecorder:
    """Records the lost period in the feeds of all watched connections."""

    def __init__(self, database: Database, feed: Feed, runs: RunStore) -> None:
        self._database = database
        self._feed = feed
        self._runs = runs

    async def record(self, lost: LostPeriod) -> None:
        """Record a gap for each connection, with a run that reports it."""
        observed = await self._database.read(lambda db: db.execute(WATCHED).all())
        for start in range(0, len(observed), BATCH_SIZE):
            batch = observed[start : start + BATCH_SIZE]
            await asyncio.gather(*(self._record(row, lost) for row in batch))

    async def _record(self, row: Row[str, str, str], lost: LostPeriod) -> None:
        run = Run("watch")
        recording = self._runs.record(
            run, WorkspaceId(row.workspace_id), row.connector, OBSERVE, connection_id=row.connection_id
        )
        await self._feed.record_gap(ConnectionId(row.connection_id), Gap(run.run_id, lost.since, lost.until, WHY))
        run.status, run.code = "partial", "events_missed"
        await recording.close()
