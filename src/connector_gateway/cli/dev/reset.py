"""Forgets what was done and seen in the applications, for ``dev`` whose sandbox does not go on with the last state.

A repeat with an idempotency key of an earlier run would otherwise return an object that does not exist any more.
Workspace, keys, connections and history stay.
"""

from sqlalchemy import Connection, delete, select

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.events.watch_listener import WatchListener
from connector_gateway.kit.clock import Clock
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

FORGOTTEN = (
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
    """Forget what was done and seen, and watch every connection as if it was made now."""
    changes = WatchListener(CONNECTORS, clock)

    def forget(writing: Connection) -> None:
        for table in FORGOTTEN:
            writing.execute(delete(table))
        connections = tables.connections.c
        kept = select(connections.connection_id, connections.connector).where(
            connections.deleted.is_(False), connections.status != "pending"
        )
        for connection_id, connector in writing.execute(kept).all():
            changes.made(writing, connection_id, connector)

    async with database:
        await database.write(forget)
