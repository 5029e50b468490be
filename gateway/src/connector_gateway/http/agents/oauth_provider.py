"""The provider of the MCP package's OAuth handlers: one client's view of the agents of this service."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl, ValidationError
from sqlalchemy import Row
from typing_extensions import override

from connector_gateway.core.access.agent_oauth import ACCESS_SECONDS, Agents
from connector_gateway.core.access.keys import KeyScope
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.http.agents.client_registration import PREFIX, PUBLIC, AgentClient, AgentClients, is_document_url
from connector_gateway.kit.clock import Clock

CONSENT_SECONDS = 15 * 60.0
"""Seconds that a person may take for the consent."""

CHALLENGE_LENGTH = 43
"""Characters of a SHA-256 digest in URL-safe Base64."""

REQUEST = "agent request"
"""The purpose that signed authorization requests are bound to."""

NEVER = float("inf")
"""Expired tokens are not loaded, by this service's clock. The package's own check would use another."""


class IssuedCode(AuthorizationCode):
    """A loaded authorization code with its row."""

    row: Any


class IssuedRefreshToken(RefreshToken):
    """A loaded refresh token with its row."""

    row: Any


class IssuedAccessToken(AccessToken):
    """A loaded access token with its row, for its revocation."""

    row: Any


@dataclass(frozen=True)
class AgentProvider(OAuthAuthorizationServerProvider[IssuedCode, IssuedRefreshToken, IssuedAccessToken]):
    """The provider for requests of *client*, or for requests of any client that only its tokens identify."""

    agents: Agents
    clients: AgentClients
    signer: CursorSigner
    clock: Clock
    resource: str
    consent_url: str
    client: AgentClient | None = None

    @override
    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        if self.client is not None:
            return self.client
        # Tokens are bound to their client, so it is not looked up, and its document is not fetched again.
        if client_id.startswith(PREFIX) or is_document_url(client_id):
            return AgentClient(client_id=client_id, token_endpoint_auth_method=PUBLIC)
        return None

    @override
    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients.register(client_info)

    @override
    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if not is_resource(params.resource, self.resource):
            raise AuthorizeError("invalid_target", f"Tokens are issued only for {self.resource}.")
        if len(params.code_challenge) != CHALLENGE_LENGTH:
            raise AuthorizeError("invalid_request", "The code_challenge is not a SHA-256 digest.")
        request = params.model_dump(mode="json") | {
            "client_id": client.client_id,
            "until": self.clock.now() + CONSENT_SECONDS,
        }
        return f"{self.consent_url}?{urlencode({'request': self.signer.issue(request, REQUEST)})}"

    @override
    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> IssuedCode | None:
        row = await self.agents.load("code", authorization_code, client.client_id)
        if row is None:
            return None
        request = row.request
        return IssuedCode(
            code=authorization_code,
            scopes=to_scopes(row.scope),
            expires_at=NEVER,
            client_id=row.client_id,
            code_challenge=request["code_challenge"],
            redirect_uri=AnyUrl(request["redirect_uri"]),
            redirect_uri_provided_explicitly=request["redirect_uri_provided_explicitly"],
            row=row,
        )

    @override
    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: IssuedCode
    ) -> OAuthToken:
        return await self._exchange(authorization_code.row)

    @override
    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> IssuedRefreshToken | None:
        row = await self.agents.load("refresh", refresh_token, client.client_id)
        if row is None:
            return None
        return IssuedRefreshToken(token=refresh_token, client_id=row.client_id, scopes=to_scopes(row.scope), row=row)

    @override
    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: IssuedRefreshToken, scopes: list[str]
    ) -> OAuthToken:
        return await self._exchange(refresh_token.row)

    async def _exchange(self, row: Row[Any]) -> OAuthToken:
        issued = await self.agents.exchange(row)
        if issued is None:
            raise TokenError("invalid_grant", "The grant was revoked, or the token was used before.")
        return OAuthToken(
            access_token=issued.access,
            expires_in=ACCESS_SECONDS,
            scope=" ".join(to_scopes(issued.scope)),
            refresh_token=issued.refresh,
        )

    @override
    async def load_access_token(self, token: str) -> IssuedAccessToken | None:
        row = await self.agents.load("access", token)
        return None if row is None else IssuedAccessToken(token=token, client_id=row.client_id, scopes=[], row=row)

    @override
    async def revoke_token(self, token: IssuedAccessToken | IssuedRefreshToken) -> None:
        await self.agents.revoke(token.row.key_id)


def to_scopes(scope: KeyScope) -> list[str]:
    """Return the OAuth scopes of a key's scope."""
    return ["read"] if scope == "read" else ["read", "write"]


def is_resource(requested: str | None, resource: str) -> bool:
    """Return True if a resource indicator names *resource*. Clients of earlier MCP versions send none."""
    if requested is None:
        return True
    try:
        url = str(AnyHttpUrl(requested))
    except ValidationError:
        return False
    return url.removesuffix("/") == str(AnyHttpUrl(resource)).removesuffix("/")
