"""The stored watch of a connection, and the end of its polls."""

import time
from typing import Any

from sqlalchemy import select

from connector_gateway.storage.sql import tables
from harness.gateway_server import Gateway
from harness.wait import wait_until


def watch_of(gateway: Gateway, connection_id: str) -> Any:
    """Return the stored watch of a connection."""
    query = select(tables.watches).where(tables.watches.c.connection_id == connection_id)
    return gateway.run(gateway.app.database.read(lambda db: db.execute(query).one()))


def is_due(gateway: Gateway, connection_id: str) -> bool:
    """Return True if a poll of a connection is due or running."""
    watch = watch_of(gateway, connection_id)
    return watch.lease is not None or (watch.due_at is not None and watch.due_at <= time.time())


def settle(gateway: Gateway, connection_id: str) -> None:
    """Wait until no poll of a connection is due or running."""
    wait_until(lambda: not is_due(gateway, connection_id))
