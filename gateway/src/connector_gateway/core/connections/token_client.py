"""Token requests to vendors, with pacing, timeouts and an error for each kind of failure."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import structlog

from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.history.vendor_api_change_counts import VendorChanges
from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.oauth import Endpoint, IssuedTokens, OAuthClient, OAuthConfig, TokenPage
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.kit.upstream.client import counted_until_arrival, parse_throttle
from connector_gateway.kit.upstream.pool import ConnectionLost, NotSent, TimedOut, Transport, UpstreamResponse
from connector_gateway.kit.upstream.redaction import Redaction, redacting
from connector_gateway.storage.shared.interface import SharedState

BUDGETS = {"tokens": Budget(10, per_seconds=1)}
"""The budget for token requests of one installation. It is small, because no vendor documents its limit."""

CHARGE = Charge("tokens")
INSTALLATION = "installation"
QUEUE_SECONDS = 20.0
"""Seconds that a token request may wait for its reservation."""

TOKEN_TIMEOUT_SECONDS = 30.0
"""Seconds that a token request may wait for its response, independent of other timeouts. Refresh leases rely on it."""

log = structlog.get_logger()


class GrantRejected(Exception):
    """The vendor permanently rejects this code or refresh token."""


class TokenRequest(NamedTuple):
    """A token request, as its response is observed."""

    path: str
    method: str = "POST"
    verbatim: bool = False


class TokenEndpointClient:
    """Requests tokens from vendors."""

    def __init__(
        self,
        connectors: Mapping[str, ConnectorConfig],
        transport: Transport,
        shared: SharedState,
        clock: Clock,
        vendor_changes: VendorChanges,
    ) -> None:
        self._connectors = connectors
        self._transport = transport
        self._shared = shared
        self._clock = clock
        self._vendor_changes = vendor_changes

    def oauth(self, connector: str) -> OAuthConfig | None:
        """Return the OAuth configuration of a connector, or None if this installation has no client for it."""
        configured = self._connectors.get(connector)
        return configured.oauth if configured else None

    def consent_url(self, connector: str, redirect_uri: str, state: str, verifier: str) -> str:
        """Return the URL to which a browser is sent for consent."""
        page = self._token_page(connector)
        if page is not None:
            return page.url(
                self._connectors[connector].addresses,
                self._connectors[connector].api_key,
                f"{redirect_uri}?state={state}",
            )
        configured, oauth, client = self._configuration(connector)
        return oauth.consent_url(configured.addresses, client.client_id, redirect_uri, state, verifier)

    def secrets_from_fragment(self, connector: str, token: str) -> dict[str, str]:
        """Return the secrets of a connection whose *token* came in the URL fragment of the browser."""
        return {"key": self._connectors[connector].api_key, "token": token}

    def _token_page(self, connector: str) -> TokenPage | None:
        oauth = self.oauth(connector)
        return oauth.token_page if oauth and oauth.by_token_page else None

    async def redeem(self, connector: str, code: str, redirect_uri: str, verifier: str) -> IssuedTokens:
        """Exchange a code for tokens.

        Raises ``GrantRejected`` if the code is invalid, and ``UpstreamFailure`` if that is not certain.
        """
        _, oauth, _ = self._configuration(connector)
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return await self._grant(connector, fields | ({"code_verifier": verifier} if oauth.pkce else {}))

    async def refresh(self, connector: str, refresh_token: str) -> IssuedTokens:
        """Request new tokens. Raises the same errors as ``redeem``."""
        return await self._grant(connector, {"grant_type": "refresh_token", "refresh_token": refresh_token})

    async def revoke(self, connector: str, credentials: Mapping[str, str]) -> bool:
        """Revoke tokens if the vendor supports that. Returns whether the vendor accepted the revocation."""
        oauth = self.oauth(connector)
        if oauth is None or oauth.revoke is None or "refresh_token" not in credentials:
            return False
        with redacting(Redaction(credentials.values)):
            try:
                response = await self._send(connector, oauth.revoke, {"token": credentials["refresh_token"]})
            except errors.UpstreamFailure as error:
                log.warning("tokens not revoked", connector=connector, code=error.code, private=error.private)
                return False
        return response.is_success

    async def _grant(self, connector: str, fields: Mapping[str, str]) -> IssuedTokens:
        _, oauth, client = self._configuration(connector)
        redaction = Redaction(lambda: (*fields.values(), client.client_secret))
        with redacting(redaction):
            try:
                response = await self._send(connector, oauth.token, fields)
                code = oauth.parse_error(response)
                if code is None:
                    return oauth.parse_tokens(response)
                if code in oauth.withdrawn_codes:
                    raise GrantRejected(code)
                raise _upstream_error(response, code)
            except errors.UpstreamFailure as error:
                redaction.error(error)
                raise

    async def _send(self, connector: str, endpoint: Endpoint, fields: Mapping[str, str]) -> UpstreamResponse:
        configured, oauth, client = self._configuration(connector)
        headers, body = oauth.create_token_request(client, fields)
        pacer = ConnectionPacer(connector, BUDGETS, INSTALLATION, self._shared, self._clock)
        reservation = await pacer.acquire([CHARGE], Deadline(self._clock.now() + QUEUE_SECONDS))
        try:
            with counted_until_arrival(reservation):
                async with asyncio.timeout(TOKEN_TIMEOUT_SECONDS):
                    response = await self._transport.send("POST", endpoint.to_url(configured.addresses), headers, body)
        except NotSent as error:
            raise errors.UpstreamUnavailable("The vendor cannot be reached.", private=str(error)) from error
        except (TimedOut, TimeoutError) as error:
            raise errors.UpstreamTimeout("The vendor did not respond in time.", private=str(error)) from error
        except ConnectionLost as error:
            raise errors.UpstreamError(
                "The connection to the vendor broke.", private=str(error), doubt="cut"
            ) from error
        if (seconds := parse_throttle(response)) is not None:
            await pacer.block([CHARGE], seconds)
            raise errors.UpstreamRateLimited("The vendor throttles token requests.", retry_after=seconds)
        self._vendor_changes.observer(configured.connector).observe(TokenRequest(endpoint.path), response)
        return response

    def _configuration(self, connector: str) -> tuple[ConnectorConfig, OAuthConfig, OAuthClient]:
        configured = self._connectors.get(connector)
        if configured is None or configured.connector.oauth is None or configured.client is None:
            raise not_configured_error(connector)
        return configured, configured.connector.oauth, configured.client


def not_configured_error(connector: str) -> errors.ConnectNotSetUp:
    """Return the error for an installation that has no OAuth client for *connector*."""
    prefix = f"GATEWAY_{connector.upper()}"
    return errors.ConnectNotSetUp(
        f"This installation is not configured to connect accounts of {connector} in a browser.",
        {"parameter": "connector", "value": connector},
        remedy=f"Set {prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET and restart the service, "
        "or create the connection with credentials.",
    )


def _upstream_error(response: UpstreamResponse, code: str) -> errors.UpstreamError:
    """Return the error for a failure of the vendor, or for an OAuth client that the vendor does not know."""
    if response.status >= 500 or not code:
        return errors.UpstreamError(
            f"The vendor failed with status {response.status}.", private=response.text, doubt="edge"
        )
    log.error("token request rejected", code=code, status=response.status)
    return errors.UpstreamError("The vendor rejected this installation's token request.", private=response.text)
