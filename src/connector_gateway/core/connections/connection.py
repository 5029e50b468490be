"""One connection: its account, its settings, and the source of its credentials."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.core.connections.account import Whose
from connector_gateway.core.connections.token_refresh import CurrentSecrets, TokenRefresher
from connector_gateway.kit.errors import ConnectionPending
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.kit.upstream.redaction import Redaction

PENDING = "pending"
"""The status of a connection to which no account was connected yet."""


@dataclass(frozen=True)
class Connection:
    """One authorised account, and the source of its credentials."""

    connection_id: ConnectionId
    workspace_id: WorkspaceId
    connector: str
    status: str
    settings: Mapping[str, Any]
    account: str
    """A text that differs for each account of the third party and does not reveal who that is."""

    app_id: str | None
    """The vendor's app that the credentials are proven to belong to."""

    whose: Whose
    """The account of the credentials, to compare it with that of earlier attempts."""

    redaction: Redaction = field(repr=False)
    """Hides the secrets in what the third party says."""

    _held: CurrentSecrets = field(repr=False)
    _renewals: TokenRefresher = field(repr=False)

    async def credentials(self) -> Mapping[str, str]:
        """The secrets, by the connector's names; those that end soon are renewed first."""
        if self._held.renew_at is not None:
            newer = await self._renewals.refresh_if_due(self.connection_id, self._held)
            if newer.whose.is_same(self.whose):
                self._take(newer)
        return self._held.secrets

    @property
    def stored(self) -> Mapping[str, str]:
        """The secrets as they are, however old."""
        return self._held.secrets

    async def renew(self, used: Mapping[str, str]) -> bool:
        """Whether there are newer secrets than those that were *used* and refused."""
        newer = await self._renewals.refresh_after_401(self.connection_id, used)
        if newer is None or not newer.whose.is_same(self.whose):
            return False
        self._take(newer)
        return True

    def _take(self, newer: CurrentSecrets) -> None:
        if newer.secrets is not self._held.secrets:
            self.redaction.add(newer.secrets.values())
        self._held.secrets, self._held.renew_at = newer.secrets, newer.renew_at
        self._held.expires_at = newer.expires_at


def require_connected(connection: Connection) -> None:
    """Refuse to use a connection to which no account was connected yet."""
    if connection.status == PENDING:
        raise ConnectionPending(f"No account is connected to {connection.connection_id} yet.")
