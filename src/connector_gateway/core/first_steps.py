"""The steps from an empty installation to its first call, and which of them are done."""

from dataclasses import dataclass

from sqlalchemy import exists, select

from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

_connections, _keys = tables.connections.c, tables.keys.c
_DONE = select(
    exists(select(tables.workspaces.c.workspace_id)).label("workspace"),
    exists(
        select(_connections.connection_id).where(_connections.status == "active", _connections.deleted.is_(False))
    ).label("connection"),
    exists(select(_keys.key_id).where(_keys.revoked_at.is_(None))).label("key"),
    exists(select(_connections.connection_id).where(_connections.last_used_at.is_not(None))).label("call"),
)


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The steps that are done."""

    workspace: bool
    connection: bool
    key: bool
    call: bool
    """Whether a call went through a connection; known within a minute."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.workspace and self.connection and self.key and self.call


async def first_steps(database: Database) -> FirstSteps:
    """Return the steps that are done."""
    row = await database.read(lambda reading: reading.execute(_DONE).one())
    return FirstSteps(*map(bool, row))
