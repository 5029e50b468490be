"""The connections that a key may call through, for callers who have not named one."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, select

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.calls.error_details import truncate
from connector_gateway.core.connections.connection import PENDING
from connector_gateway.kit.errors import ConnectionNotFound, InvalidParameters
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

MOST_TOLD = 10
"""Connections that are listed to choose from."""

_connections = tables.connections.c


class ConnectionSelector:
    """Finds the connections that a caller may use, without those to which no account was connected yet."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def connectors(self, caller: Caller) -> frozenset[str]:
        """The connectors that *caller* has connections of."""
        query = _usable(select(_connections.connector).distinct(), caller)
        found = await self._database.read(lambda reading: reading.execute(query).scalars().all())
        return frozenset(found)

    async def connector(self, caller: Caller, connection_id: str) -> str:
        """The connector of a connection that *caller* may use."""
        query = _usable(select(_connections.connector), caller).where(_connections.connection_id == connection_id)
        found: str | None = await self._database.read(lambda reading: reading.execute(query).scalar())
        if found is None:
            raise ConnectionNotFound(f"There is no connection {truncate(connection_id)} in this workspace.")
        return found

    async def list_usable(
        self, caller: Caller, most: int, connector: str | None = None, *, after: str | None = None
    ) -> Sequence[Row[Any]]:
        """At most so many connections, the oldest first: identifier, connector, name, account's name and status."""
        columns = ("connection_id", "connector", "name", "account_name", "status")
        query = _usable(select(*(_connections[name] for name in columns)), caller)
        query = query.order_by(_connections.connection_id).limit(most)
        if connector is not None:
            query = query.where(_connections.connector == connector)
        if after is not None:
            query = query.where(_connections.connection_id > after)
        return await self._database.read(lambda reading: reading.execute(query).all())

    async def resolve_single(self, caller: Caller, connector: str) -> ConnectionId:
        """The one connection of *connector*; an error that lists the candidates where there are several."""
        found = await self.list_usable(caller, MOST_TOLD + 1, connector)
        if not found:
            raise ConnectionNotFound(f"There is no connection of {connector} in this workspace.")
        if len(found) > 1:
            raise _ambiguous(connector, found)
        return ConnectionId(found[0].connection_id)


def _usable(query: Select[Any], caller: Caller) -> Select[Any]:
    """*query*, for what *caller* may use."""
    query = query.where(
        _connections.workspace_id == caller.workspace_id,
        _connections.deleted.is_(False),
        _connections.status != PENDING,
    )
    if caller.connection_ids is not None:
        query = query.where(_connections.connection_id.in_(caller.connection_ids))
    return query


def _ambiguous(connector: str, found: Sequence[Row[Any]]) -> InvalidParameters:
    told = found[:MOST_TOLD]
    names = ", ".join(f"{row.connection_id} ({display_name(row) or 'without a name'})" for row in told)
    more = ", and more" if len(found) > len(told) else ""
    return InvalidParameters(
        f"There are several connections of {connector}; name one as connection_id: {names}{more}.",
        {"parameter": "connection_id", "message": "Field required", "allowed": [row.connection_id for row in told]},
    )


def display_name(row: Row[Any]) -> str:
    """What people call a connection; empty where it has no name."""
    return truncate(row.name or row.account_name or "")
