"""The steps from an empty installation to its first call, and which of them are done."""

from dataclasses import dataclass

from sqlalchemy import exists, select

from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

NEWEST = 100
"""Newest runs that are searched for a first call, since uses of connections are stored only once a minute."""

_connections, _runs = tables.connections.c, tables.runs.c
_DONE = select(
    exists(select(tables.workspaces.c.workspace_id)).label("workspace"),
    exists(select(_connections.connection_id).where(_connections.status != "pending")).label("connection"),
    exists(select(tables.keys.c.key_id)).label("key"),
    exists(select(_connections.connection_id).where(_connections.last_used_at.is_not(None))).label("call"),
)
_NEWEST = select(_runs.key_id, _runs.surface).order_by(_runs.run_id.desc()).limit(NEWEST)


@dataclass(frozen=True, slots=True)
class OnboardingChecklist:
    """The completed steps, even if objects are revoked or removed later."""

    workspace: bool
    connection: bool
    key: bool
    call: bool

    @property
    def done(self) -> bool:
        """Whether all steps are done."""
        return self.workspace and self.connection and self.key and self.call


async def read_onboarding_checklist(database: Database) -> OnboardingChecklist:
    """Return the steps that are done."""
    row = await database.read(lambda db: db.execute(_DONE).one())
    has_called = bool(row.call) or any(
        run.key_id or run.surface == "console" for run in await database.read(lambda db: db.execute(_NEWEST).all())
    )
    return OnboardingChecklist(bool(row.workspace), bool(row.connection), bool(row.key), has_called)
