"""Deletes the stored state of the emulators, for a ``dev`` installation whose sandbox starts with new data.

Otherwise a repeated write with an idempotency key of an earlier start would return an object that no longer exists.
Workspace, keys, connections and history are retained.
"""

from sqlalchemy import Connection, delete, select

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.events.watch_lifecycle import WatchLifecycle
from connector_gateway.kit.clock import Clock
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

RESET_TABLES = (
    tables.claims,
    tables.owned,
    tables.watches,
    tables.snapshots,
    tables.wakes,
    tables.events,
    tables.gaps,
    tables.webhook_positions,
)


async def reset_upstream_state(database: Database, clock: Clock) -> None:
    """Delete stored writes and events, and watch every connection as if it was created now."""
    changes = WatchLifecycle(CONNECTORS, clock)

    def forget(db: Connection) -> None:
        for table in RESET_TABLES:
            db.execute(delete(table))
        connections = tables.connections.c
        active = select(connections.connection_id, connections.connector).where(
            connections.deleted.is_(False), connections.status != "pending"
        )
        for connection_id, connector in db.execute(active).all():
            changes.created(db, connection_id, connector)

    async with database:
        await database.write(forget)
