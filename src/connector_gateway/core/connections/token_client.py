"""Requests for tokens to the third parties: paced, limited in time, and each failure told for what it is."""

import asyncio
from collections.abc import Mapping

import structlog

from connector_gateway.core.pacing.scheduler import ConnectionPacer
from connector_gateway.core.pacing.upstreams import UpstreamConfig
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.oauth import Endpoint, IssuedTokens, OAuthClient, OAuthConfig, TokenPage
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.kit.upstream.client import parse_throttle
from connector_gateway.kit.upstream.pool import ConnectionLost, NotSent, TimedOut, Transport, UpstreamResponse
from connector_gateway.kit.upstream.redaction import Redaction, concealing
from connector_gateway.storage.shared.interface import SharedState

BUDGETS = {"tokens": Budget(10, per_seconds=1)}
"""Requests for tokens of one installation; no third party says how many it takes, so that these are few."""

CHARGE = Charge("tokens")
INSTALLATION = "installation"
QUEUE_SECONDS = 20.0
"""How long a request for tokens waits for its turn."""

ANSWER_SECONDS = 30.0
"""How long its answer is waited for, whatever other requests are given: leases of renewals count on it."""

log = structlog.get_logger()


class GrantRejected(Exception):
    """The third party takes this code or refresh token no more; it is not a failure that passes."""


class TokenEndpointClient:
    """Asks third parties for tokens."""

    def __init__(
        self, sites: Mapping[str, UpstreamConfig], transport: Transport, shared: SharedState, clock: Clock
    ) -> None:
        self._sites = sites
        self._transport = transport
        self._shared = shared
        self._clock = clock

    def oauth(self, connector: str) -> OAuthConfig | None:
        """How accounts are connected; None where this installation is not set up for it."""
        site = self._sites.get(connector)
        return site.oauth if site else None

    def consent_url(self, connector: str, redirect_uri: str, state: str, verifier: str) -> str:
        """Where a browser is sent for consent."""
        page = self._token_page(connector)
        if page is not None:
            return page.url(
                self._sites[connector].addresses, self._sites[connector].api_key, f"{redirect_uri}?state={state}"
            )
        site, oauth, client = self._set_up(connector)
        return oauth.consent_url(site.addresses, client.client_id, redirect_uri, state, verifier)

    def secrets_from_fragment(self, connector: str, token: str) -> dict[str, str]:
        """The secrets of a connection whose *token* was handed to the browser."""
        return {"key": self._sites[connector].api_key, "token": token}

    def _token_page(self, connector: str) -> TokenPage | None:
        oauth = self.oauth(connector)
        return oauth.token_page if oauth and oauth.by_token_page else None

    async def redeem(self, connector: str, code: str, redirect_uri: str, verifier: str) -> IssuedTokens:
        """The tokens for a code; ``GrantRefused`` if it is not good, an ``UpstreamFailure`` if that is not known."""
        _, oauth, _ = self._set_up(connector)
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        return await self._grant(connector, fields | ({"code_verifier": verifier} if oauth.pkce else {}))

    async def refresh(self, connector: str, refresh_token: str) -> IssuedTokens:
        """New tokens; errors as for a code."""
        return await self._grant(connector, {"grant_type": "refresh_token", "refresh_token": refresh_token})

    async def revoke(self, connector: str, credentials: Mapping[str, str]) -> bool:
        """Give tokens back where the third party takes them; whether it did."""
        oauth = self.oauth(connector)
        if oauth is None or oauth.revoke is None or "refresh_token" not in credentials:
            return False
        with concealing(Redaction(credentials.values)):
            try:
                answer = await self._send(connector, oauth.revoke, {"token": credentials["refresh_token"]})
            except errors.UpstreamFailure as failure:
                log.warning(
                    "tokens were not given back", connector=connector, code=failure.code, private=failure.private
                )
                return False
        return answer.is_success

    async def _grant(self, connector: str, fields: Mapping[str, str]) -> IssuedTokens:
        _, oauth, client = self._set_up(connector)
        redaction = Redaction(lambda: (*fields.values(), client.client_secret))
        with concealing(redaction):
            try:
                answer = await self._send(connector, oauth.token, fields)
                code = oauth.refused(answer)
                if code is None:
                    return oauth.granted(answer)
                if code in oauth.withdrawn:
                    raise GrantRejected(code)
                raise _failed(answer, code)
            except errors.UpstreamFailure as failure:
                redaction.error(failure)
                raise

    async def _send(self, connector: str, endpoint: Endpoint, fields: Mapping[str, str]) -> UpstreamResponse:
        site, oauth, client = self._set_up(connector)
        headers, body = oauth.request(client, fields)
        pacer = ConnectionPacer(connector, BUDGETS, INSTALLATION, self._shared, self._clock)
        turn = await pacer.acquire([CHARGE], Deadline(self._clock.now() + QUEUE_SECONDS))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._transport.send("POST", endpoint.at(site.addresses), headers, body)
        except NotSent as fault:
            raise errors.UpstreamUnavailable("The application cannot be reached.", private=str(fault)) from fault
        except (TimedOut, TimeoutError) as fault:
            raise errors.UpstreamTimeout("The application did not answer in time.", private=str(fault)) from fault
        except ConnectionLost as fault:
            raise errors.UpstreamError(
                "The connection to the application broke.", private=str(fault), doubt="cut"
            ) from fault
        turn.record_response()
        if (seconds := parse_throttle(answer)) is not None:
            await pacer.block([CHARGE], seconds)
            raise errors.UpstreamRateLimited("The application throttles requests for tokens.", retry_after=seconds)
        return answer

    def _set_up(self, connector: str) -> tuple[UpstreamConfig, OAuthConfig, OAuthClient]:
        site = self._sites.get(connector)
        if site is None or site.connector.oauth is None or site.client is None:
            raise not_set_up(connector)
        return site, site.connector.oauth, site.client


def not_set_up(connector: str) -> errors.ConnectNotSetUp:
    """Return the error if an installation has no OAuth client for *connector*."""
    prefix = f"GATEWAY_{connector.upper()}"
    return errors.ConnectNotSetUp(
        f"This installation is not set up to connect accounts of {connector} in a browser.",
        {"parameter": "connector", "value": connector},
        remedy=f"Set {prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET and start the service again, "
        "or create the connection with credentials.",
    )


def _failed(answer: UpstreamResponse, code: str) -> errors.UpstreamError:
    """A refusal that is not about the grant: the third party fails, or does not know this installation's client."""
    if answer.status >= 500 or not code:
        return errors.UpstreamError(
            f"The application failed with status {answer.status}.", private=answer.text, doubt="edge"
        )
    log.error("the application refused a request for tokens", code=code, status=answer.status)
    return errors.UpstreamError("The application refused this installation's request for tokens.", private=answer.text)
