"""What is told of a connection, by its columns."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.kit.clock import instant
from connector_gateway.kit.oauth import Account

TOLD = (
    "connection_id",
    "workspace_id",
    "connector",
    "name",
    "status",
    "reason",
    "account_id",
    "account_name",
    "scopes",
    "settings",
)
TOLD_INSTANTS = ("created_at", "updated_at", "expires_at", "last_used_at", "last_refreshed_at")
NOT_YET: Mapping[str, Any] = dict.fromkeys(("reason", "expires_at", "last_used_at", "last_refreshed_at"))
"""What a new connection has not."""


def told_of(account: Account | None) -> dict[str, Any]:
    """The columns that tell whose a connection is."""
    if account is None:
        return {"account_id": None, "account_name": None, "scopes": None}
    scopes = None if account.scopes is None else sorted(account.scopes)
    told = {"account_id": account.account_id, "account_name": account.name, "scopes": scopes}
    return told if account.ends_at is None else {**told, "expires_at": account.ends_at}


def public(row: Mapping[Any, Any]) -> dict[str, Any]:
    """What is told of a connection; its secrets are not."""
    since = row.get("watching_since")
    return {
        **{name: row[name] for name in TOLD},
        **{name: None if row[name] is None else instant(row[name]) for name in TOLD_INSTANTS},
        "watching_since": None if since is None else instant(since),
    }
