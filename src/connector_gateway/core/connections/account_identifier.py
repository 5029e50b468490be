"""Whose credentials are: the third party is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.pacing.scheduler import AnonymousPacer, with_slack
from connector_gateway.core.pacing.upstreams import UpstreamConfig
from connector_gateway.core.secrets.secret_keys import pseudonym
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, CredentialsRefused, GatewayError
from connector_gateway.kit.oauth import Account
from connector_gateway.kit.upstream.client import CredentialSource, Timeouts, UpstreamClient, UpstreamLog
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.kit.upstream.redaction import Redaction, concealing
from connector_gateway.storage.shared.interface import SharedState

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class UnsavedCredentials:
    """Credentials that belong to no connection yet."""

    secrets: Mapping[str, str] = field(repr=False)

    async def credentials(self) -> Mapping[str, str]:
        """These."""
        return self.secrets

    async def renew(self, used: Mapping[str, str]) -> bool:
        """There are no others."""
        del used
        return False


@dataclass(eq=False, repr=False, kw_only=True)
class AccountIdentifier:
    """Asks third parties whose credentials are."""

    sites: Mapping[str, UpstreamConfig]
    shared: SharedState
    transport: Transport
    clock: Clock
    timeouts: Timeouts
    time: Callable[[], float]

    async def identify(self, connector: str, secrets: Mapping[str, str]) -> Account | None:
        """Whose *secrets* are; None where the connector cannot tell. ``CredentialsRefused`` if they are not good."""
        redaction = Redaction(secrets.values)
        whose = pseudonym("\n".join(secrets.values()))
        try:
            with concealing(redaction):
                return await self._ask(connector, UnsavedCredentials(secrets), whose)
        except ConnectionRevoked as refused:
            redaction.error(refused)
            raise CredentialsRefused(
                f"The application does not accept these credentials for {connector}.",
                {"parameter": "credentials"},
                *refused.details,
                private=refused.private,
            ) from None
        except GatewayError as error:
            redaction.error(error)
            raise

    async def of_connection(self, connection: Connection) -> Account | None:
        """Whose *connection* is, by its stored credentials; ``ConnectionRevoked`` if they are not good any more."""
        try:
            with concealing(connection.redaction):
                return await self._ask(connection.connector, connection, connection.account)
        except GatewayError as error:
            connection.redaction.error(error)
            raise

    def issued_by_token_page(self, connection: Connection) -> bool:
        """Whether the token of *connection* is one of this installation's own API key."""
        site = self.sites.get(connection.connector)
        return site is not None and bool(site.api_key) and connection.stored.get("key") == site.api_key

    async def give_back(self, connection: Connection) -> bool:
        """Give back the token of *connection* that this installation's token page handed out; whether it was taken."""
        site = self.sites.get(connection.connector)
        if site is None or site.connector.revoke is None or not self.issued_by_token_page(connection):
            return False
        try:
            upstream = self._upstream(
                site, UnsavedCredentials(connection.stored), self._pacer(site, connection.account)
            )
            with concealing(connection.redaction):
                return await site.connector.revoke(site.connector.client(upstream))
        except GatewayError as failure:
            log.warning("a token was not given back", connector=connection.connector, code=failure.code)
            return False

    async def _ask(self, connector: str, source: CredentialSource, whose: str) -> Account | None:
        site = self.sites.get(connector)
        if site is None or site.connector.identify is None:
            return None
        pacer = self._pacer(site, whose)
        account = await site.connector.identify(site.connector.client(self._upstream(site, source, pacer)))
        if pseudonym(account.account_id) != whose:
            await pacer.attribute_to(pseudonym(account.account_id))
        return account

    def _pacer(self, site: UpstreamConfig, whose: str) -> AnonymousPacer:
        return AnonymousPacer(site.connector.name, with_slack(site.budgets), whose, self.shared, self.clock)

    def _upstream(self, site: UpstreamConfig, source: CredentialSource, pacer: AnonymousPacer) -> UpstreamClient:
        third_party = site.third_party(self.transport, self.clock, self.time)
        return UpstreamClient(third_party, source, pacer, self.timeouts, UpstreamLog())
