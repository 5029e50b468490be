"""Sites: the addresses and budgets of the third parties in this installation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.oauth import OAuthClient, OAuthConfig
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import RequestRecord, UpstreamService, unauthorised
from connector_gateway.kit.upstream.pool import Transport


@dataclass(frozen=True)
class UpstreamConfig:
    """Where a connector's third party is and what it allows, as this installation has it."""

    connector: AnyConnector
    addresses: Mapping[str, str]
    budgets: Mapping[str, Budget]
    settle_seconds: float
    """How long after its sending a request may still be carried out there."""

    watch_seconds: float | None = None
    """How long after the beginning of a poll of everything the next one begins; the connector's own if None."""

    hook_secrets: tuple[str, ...] = field(default=(), repr=False)
    """What deliveries are signed with; any of them will do, so that they can be rotated."""

    client: OAuthClient | None = None
    """What this installation is called there, where it is registered."""

    api_key: str = field(default="", repr=False)
    """What this installation is called at the third party's page that hands out tokens, if it has one."""

    def third_party(
        self,
        transport: Transport,
        clock: Clock,
        time: Callable[[], float],
        exchanged: Callable[[RequestRecord], None] = lambda _: None,
    ) -> UpstreamService:
        """How it is spoken to, through *transport*; *exchanged* is told of every request."""
        connector = self.connector
        expired = connector.oauth.expired if connector.oauth else unauthorised
        return UpstreamService(
            self.addresses,
            connector.auth_headers,
            connector.parse_throttle,
            transport,
            clock,
            time,
            expired,
            exchanged,
            connector.error_table,
        )

    @property
    def oauth(self) -> OAuthConfig | None:
        """How accounts are connected in a browser; None where this installation is not set up for it."""
        oauth = self.connector.oauth
        if oauth is None or self.client is not None:
            return oauth
        return oauth.without_client if self.api_key else None

    @property
    def has_hooks(self) -> bool:
        """Whether the third party delivers the changes themselves."""
        observing = self.connector.observing
        return bool(self.hook_secrets and observing and observing.read)


def with_events(sites: Mapping[str, UpstreamConfig]) -> dict[str, UpstreamConfig]:
    """Those of *sites* whose changes are observed."""
    return {name: site for name, site in sites.items() if site.connector.observing is not None}
