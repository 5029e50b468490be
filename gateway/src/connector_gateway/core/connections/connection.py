"""One connection: its account, its settings, the source of its credentials, and its public fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.core.connections.account_identity import AccountIdentity
from connector_gateway.core.connections.token_refresh import CurrentSecrets, TokenRefresher
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import ConnectionPending
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.kit.oauth import Account
from connector_gateway.kit.upstream.redaction import Redaction

PENDING = "pending"
"""The status of a connection to which no account was connected yet."""

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


@dataclass(frozen=True)
class Connection:
    """One authorised account, and the source of its credentials."""

    connection_id: ConnectionId
    workspace_id: WorkspaceId
    connector: str
    status: str
    settings: Mapping[str, Any]
    account: str
    """A pseudonym that is unique per vendor account and does not reveal the account."""

    app_id: str | None
    """The OAuth app that the credentials are proven to belong to."""

    identity: AccountIdentity
    """The identity of the account, for comparison with earlier attempts."""

    redaction: Redaction = field(repr=False)
    """Removes the secrets from vendor texts."""

    _current: CurrentSecrets = field(repr=False)
    _refresher: TokenRefresher = field(repr=False)

    async def credentials(self) -> Mapping[str, str]:
        """Return the secrets by the connector's names, after refreshing those that expire soon."""
        if self._current.refresh_at is not None:
            newer = await self._refresher.refresh_if_due(self.connection_id, self._current)
            if newer.identity.is_same(self.identity):
                self._replace(newer)
        return self._current.secrets

    @property
    def stored(self) -> Mapping[str, str]:
        """The stored secrets, even if they have expired."""
        return self._current.secrets

    async def refresh(self, used: Mapping[str, str]) -> bool:
        """Replace the secrets that the vendor has rejected. Returns False if there are no newer ones than *used*."""
        newer = await self._refresher.refresh_after_401(self.connection_id, used)
        if newer is None or not newer.identity.is_same(self.identity):
            return False
        self._replace(newer)
        return True

    def _replace(self, newer: CurrentSecrets) -> None:
        if newer.secrets is not self._current.secrets:
            self.redaction.add(newer.secrets.values())
        self._current.secrets, self._current.refresh_at = newer.secrets, newer.refresh_at
        self._current.expires_at = newer.expires_at


def check_connected(connection: Connection) -> None:
    """Raise ``ConnectionPending`` if no account was connected yet."""
    if connection.status == PENDING:
        raise ConnectionPending(f"No account is connected to {connection.connection_id} yet.")


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
