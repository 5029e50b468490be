"""Identification of the account of credentials, by a request to the vendor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.history.vendor_api_change_counts import VendorChanges
from connector_gateway.core.pacing.pacer import AnonymousPacer, with_slack
from connector_gateway.core.secrets.secret_keys import pseudonym
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, CredentialsRefused, GatewayError
from connector_gateway.kit.oauth import Account
from connector_gateway.kit.upstream.client import CredentialSource, Timeouts, UpstreamClient, UpstreamLog
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.kit.upstream.redaction import Redaction, redacting
from connector_gateway.storage.shared.interface import SharedState

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class UnsavedCredentials:
    """Credentials that belong to no connection yet."""

    secrets: Mapping[str, str] = field(repr=False)

    async def credentials(self) -> Mapping[str, str]:
        """Return the credentials."""
        return self.secrets

    async def refresh(self, used: Mapping[str, str]) -> bool:
        """Return False, because there are no other credentials."""
        del used
        return False


@dataclass(eq=False, repr=False, kw_only=True)
class AccountLookup:
    """Identifies the accounts of credentials with a request to the vendor."""

    connectors: Mapping[str, ConnectorConfig]
    shared: SharedState
    transport: Transport
    clock: Clock
    timeouts: Timeouts
    time: Callable[[], float]
    vendor_changes: VendorChanges

    async def identify(self, connector: str, secrets: Mapping[str, str]) -> Account | None:
        """Return the account of *secrets*, or None if the connector cannot identify accounts.

        Raises ``CredentialsRefused`` if the vendor rejects them.
        """
        redaction = Redaction(secrets.values)
        account_key = pseudonym("\n".join(secrets.values()))
        try:
            with redacting(redaction):
                return await self._identify(connector, UnsavedCredentials(secrets), account_key)
        except ConnectionRevoked as error:
            redaction.error(error)
            raise CredentialsRefused(
                f"The vendor does not accept these credentials for {connector}.",
                {"parameter": "credentials"},
                *error.details,
                private=error.private,
            ) from None
        except GatewayError as error:
            redaction.error(error)
            raise

    async def identify_connection(self, connection: Connection) -> Account | None:
        """Return the account of *connection* by its stored credentials.

        Raises ``ConnectionRevoked`` if the vendor no longer accepts them.
        """
        try:
            with redacting(connection.redaction):
                return await self._identify(connection.connector, connection, connection.account)
        except GatewayError as error:
            connection.redaction.error(error)
            raise

    def issued_by_token_page(self, connection: Connection) -> bool:
        """Return True if the token of *connection* was issued for this installation's own API key."""
        configured = self.connectors.get(connection.connector)
        return (
            configured is not None and bool(configured.api_key) and connection.stored.get("key") == configured.api_key
        )

    async def revoke_token(self, connection: Connection) -> bool:
        """Revoke the token that this installation's token page issued for *connection*.

        Returns whether the vendor accepted the revocation.
        """
        configured = self.connectors.get(connection.connector)
        if configured is None or configured.connector.revoke is None or not self.issued_by_token_page(connection):
            return False
        try:
            upstream = self._upstream(
                configured, UnsavedCredentials(connection.stored), self._pacer(configured, connection.account)
            )
            with redacting(connection.redaction):
                return await configured.connector.revoke(configured.connector.client(upstream))
        except GatewayError as failure:
            log.warning("token not revoked", connector=connection.connector, code=failure.code)
            return False

    async def _identify(self, connector: str, source: CredentialSource, account_key: str) -> Account | None:
        configured = self.connectors.get(connector)
        if configured is None or configured.connector.identify is None:
            return None
        pacer = self._pacer(configured, account_key)
        account = await configured.connector.identify(
            configured.connector.client(self._upstream(configured, source, pacer))
        )
        if pseudonym(account.account_id) != account_key:
            await pacer.attribute_to(pseudonym(account.account_id))
        return account

    def _pacer(self, configured: ConnectorConfig, account_key: str) -> AnonymousPacer:
        return AnonymousPacer(
            configured.connector.name, with_slack(configured.budgets), account_key, self.shared, self.clock
        )

    def _upstream(self, configured: ConnectorConfig, source: CredentialSource, pacer: AnonymousPacer) -> UpstreamClient:
        observe = self.vendor_changes.observer(configured.connector).observe
        service = configured.create_service(self.transport, self.clock, self.time, observe=observe)
        return UpstreamClient(service, source, pacer, self.timeouts, UpstreamLog())
