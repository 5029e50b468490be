"""The public fields of a connection, built from its columns."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.oauth import Account

PUBLIC_COLUMNS = (
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
PUBLIC_TIMESTAMPS = ("created_at", "updated_at", "expires_at", "last_used_at", "last_refreshed_at")
EMPTY_COLUMNS: Mapping[str, Any] = dict.fromkeys(
    ("reason", "account_id", "account_name", "expires_at", "last_used_at", "last_refreshed_at")
)
"""Columns that are empty in a new connection."""


def account_columns(account: Account | None) -> dict[str, Any]:
    """Return the columns for an account and its permissions, without the account's own columns if *account* is None."""
    if account is None:
        return {"scopes": None, "app_id": None}
    scopes = None if account.scopes is None else sorted(account.scopes)
    granted = {"scopes": scopes, "app_id": account.app_id}
    columns = {"account_id": account.account_id, "account_name": account.name, **granted}
    return columns if account.expires_at is None else {**columns, "expires_at": account.expires_at}


def to_public(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the public fields of a connection, without its secrets."""
    since, rejected = row.get("watching_since"), row.get("deliveries_rejected")
    return {
        **{name: row[name] for name in PUBLIC_COLUMNS},
        **{name: None if row[name] is None else utc_datetime(row[name]) for name in PUBLIC_TIMESTAMPS},
        "watching_since": None if since is None else utc_datetime(since),
        "watching_progress": row.get("watching_progress"),
        "deliveries_rejected": None if rejected is None else {**rejected, "at": utc_datetime(rejected["at"])},
    }
