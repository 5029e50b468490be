"""Selection of a connection for callers who have not named one."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, Select, select

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.connections.connection import PENDING
from connector_gateway.core.error_serialization import truncate
from connector_gateway.kit.errors import ConnectionNotFound, InvalidParameters
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

MAX_LISTED = 10
"""The maximum number of connections listed in an error."""

_connections = tables.connections.c


class UsableConnections:
    """Finds the connections that a caller may use, except those to which no account was connected yet."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def connectors(self, caller: Caller) -> frozenset[str]:
        """Return the connectors for which *caller* has connections."""
        query = _usable(select(_connections.connector).distinct(), caller)
        names = await self._database.read(lambda db: db.execute(query).scalars().all())
        return frozenset(names)

    async def connector(self, caller: Caller, connection_id: str) -> str:
        """Return the connector of a connection that *caller* may use."""
        query = _usable(select(_connections.connector), caller).where(_connections.connection_id == connection_id)
        connector: str | None = await self._database.read(lambda db: db.execute(query).scalar())
        if connector is None:
            raise ConnectionNotFound(f"There is no connection {truncate(connection_id)} in this workspace.")
        return connector

    async def list_usable(
        self, caller: Caller, limit: int, connectors: Collection[str] | None = None, *, after: str | None = None
    ) -> Sequence[Row[Any]]:
        """Return up to *limit* connections, oldest first: identifier, connector, name, account name and status.

        Those of all connectors, or only of *connectors*.
        """
        columns = ("connection_id", "connector", "name", "account_name", "status")
        query = _usable(select(*(_connections[name] for name in columns)), caller)
        query = query.order_by(_connections.connection_id).limit(limit)
        if connectors is not None:
            query = query.where(_connections.connector.in_(connectors))
        if after is not None:
            query = query.where(_connections.connection_id > after)
        return await self._database.read(lambda db: db.execute(query).all())

    async def resolve_single(self, caller: Caller, connector: str) -> ConnectionId:
        """Return the only connection of *connector*. If there are several, raise an error that lists the candidates."""
        rows = await self.list_usable(caller, MAX_LISTED + 1, [connector])
        if not rows:
            raise ConnectionNotFound(f"There is no connection of {connector} in this workspace.")
        if len(rows) > 1:
            raise _ambiguous_error(connector, rows)
        return ConnectionId(rows[0].connection_id)


def _usable(query: Select[Any], caller: Caller) -> Select[Any]:
    """Restrict *query* to connections that *caller* may use."""
    query = query.where(
        _connections.workspace_id == caller.workspace_id,
        _connections.deleted.is_(False),
        _connections.status != PENDING,
    )
    if caller.connection_ids is not None:
        query = query.where(_connections.connection_id.in_(caller.connection_ids))
    return query


def _ambiguous_error(connector: str, rows: Sequence[Row[Any]]) -> InvalidParameters:
    listed = rows[:MAX_LISTED]
    names = ", ".join(f"{row.connection_id} ({display_name(row) or 'unnamed'})" for row in listed)
    more = ", and more" if len(rows) > len(listed) else ""
    return InvalidParameters(
        f"There are several connections of {connector}; name one as connection_id: {names}{more}.",
        {"parameter": "connection_id", "message": "Field required", "allowed": [row.connection_id for row in listed]},
    )


def display_name(row: Row[Any]) -> str:
    """Return the name of a connection or its account, or an empty string if neither has one."""
    return truncate(row.name or row.account_name or "")
