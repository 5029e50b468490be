"""Upstream configuration: the URLs, budgets and credentials of vendors in this installation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.oauth import OAuthClient, OAuthConfig
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import Request, RequestRecord, UpstreamService, is_unauthorised
from connector_gateway.kit.upstream.pool import Transport, UpstreamResponse


@dataclass(frozen=True)
class ConnectorConfig:
    """The URLs, budgets and credentials of one connector's vendor in this installation."""

    connector: AnyConnector
    addresses: Mapping[str, str]
    budgets: Mapping[str, Budget]
    settle_seconds: float
    """Seconds after sending for which the vendor might still process a request."""

    watch_seconds: float | None = None
    """Seconds between the starts of two full polls. None for the connector's default."""

    hook_secrets: tuple[str, ...] = field(default=(), repr=False)
    """Signing secrets of the vendor's webhooks. Any of them is accepted, so that they can be rotated."""

    client: OAuthClient | None = None
    """The OAuth client of this installation, if it is registered."""

    api_key: str = field(default="", repr=False)
    """The API key of this installation for the vendor's token page, if there is one."""

    def create_service(
        self,
        transport: Transport,
        clock: Clock,
        time: Callable[[], float],
        on_request_end: Callable[[RequestRecord], None] = lambda _: None,
        observe: Callable[[Request, UpstreamResponse], None] = lambda _, __: None,
    ) -> UpstreamService:
        """Return the vendor's service, using *transport*. See ``UpstreamService`` for the callbacks."""
        connector = self.connector
        expired = connector.oauth.is_expired if connector.oauth else is_unauthorised
        return UpstreamService(
            self.addresses,
            connector.auth_headers,
            connector.parse_throttle,
            transport,
            clock,
            time,
            expired,
            on_request_end,
            observe,
            connector.error_table,
        )

    @property
    def oauth(self) -> OAuthConfig | None:
        """The OAuth configuration, or None if this installation has no credentials for it."""
        oauth = self.connector.oauth
        if oauth is None or self.client is not None:
            return oauth
        return oauth.for_token_page if self.api_key else None

    @property
    def has_hooks(self) -> bool:
        """Whether the vendor's webhooks contain the changes themselves."""
        source = self.connector.event_source
        return bool(self.hook_secrets and source and source.read)


def with_events(connectors: Mapping[str, ConnectorConfig]) -> dict[str, ConnectorConfig]:
    """Return those of *connectors* whose connectors observe events."""
    return {
        name: configured for name, configured in connectors.items() if configured.connector.event_source is not None
    }
