"""Quotas of workspaces."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Select, select

from connector_gateway.core.error_serialization import workspace_not_found
from connector_gateway.kit.errors import QuotaExceeded
from connector_gateway.storage.sql import tables


@dataclass(frozen=True)
class Quotas:
    """The limits of every workspace, each set by ``GATEWAY_QUOTA_`` and its name."""

    connections: int = 10_000
    keys: int = 1_000
    webhooks: int = 100
    consents: int = 1_000
    consents_per_link: int = 20


DEFAULT_QUOTAS = Quotas()

_REMEDIES = {
    "connections": "Remove a connection that is no longer needed; pending connections count too",
    "keys": "Revoke a key that is no longer needed",
    "webhooks": "Remove a webhook that is no longer needed",
}


def check_quota(db: SqlConnection, workspace_id: str, name: str, limit: int, counted: Select[Any]) -> None:
    """Raise ``QuotaExceeded`` if the query *counted* returns *limit* or more for the workspace."""
    lock_workspace(db, workspace_id)
    count = db.execute(counted).scalar_one()
    if count >= limit:
        setting = f"GATEWAY_QUOTA_{name.upper()}"
        error = QuotaExceeded(
            f"The workspace has reached its quota of {name}: {count} of {limit}.",
            {"quota": name, "count": count, "limit": limit, "setting": setting},
        )
        error.remedy = f"{_REMEDIES[name]}, or ask the operator to raise {setting}."
        raise error


def lock_workspace(db: SqlConnection, workspace_id: str) -> None:
    """Lock the workspace, and so the number of its records, until the transaction ends.

    Raises ``WorkspaceNotFound`` if it is unknown.
    """
    workspaces = tables.workspaces.c
    query = select(workspaces.workspace_id).where(workspaces.workspace_id == workspace_id)
    if db.execute(query.with_for_update(key_share=True)).first() is None:
        raise workspace_not_found(workspace_id)
