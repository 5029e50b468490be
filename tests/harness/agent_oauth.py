"""A client of an agent that is authorised with OAuth, and the person who authorises it."""

import base64
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import httpx2
from bs4 import BeautifulSoup
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.context import RemoteFile
from harness.gateway_server import Gateway

OpenBrowser = Callable[[str], Awaitable[dict[str, str]]]
"""Opens a URL, and returns the parameters with which the browser returns to the client."""

REDIRECT_URI = "http://127.0.0.1:33418/callback"
VERIFIER = "v" * 43
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}


@dataclass
class OAuthAgent:
    """A client with its registration, in front of *gateway*."""

    gateway: Gateway
    http: httpx.Client = field(repr=False, default_factory=lambda: httpx.Client(timeout=30))
    client_id: str = ""

    def register(self, **metadata: Any) -> httpx.Response:
        """Register the client, and use the new identifier."""
        body = {"redirect_uris": [REDIRECT_URI], "client_name": "Test agent"} | metadata
        response = self.http.post(f"{self.gateway.base_url}/oauth/register", json=body)
        self.client_id = response.json().get("client_id", "")
        return response

    def authorize(self, **changes: str | None) -> httpx.Response:
        """Open the authorization URL, with parameters replaced, or omitted if they are None."""
        digest = hashlib.sha256(VERIFIER.encode()).digest()
        params = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT_URI,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "state": "a state",
            "resource": f"{self.gateway.base_url}/mcp",
        } | changes
        query = {name: value for name, value in params.items() if value is not None}
        return self.http.get(f"{self.gateway.base_url}/oauth/authorize?{urlencode(query)}")

    def consent(self, code: str, **changes: str | None) -> dict[str, str]:
        """Authorise the client with *code*, and return the parameters with which the browser returns."""
        return returned(self.decide(self.open_consent(**changes), code, allow="yes"))

    def open_consent(self, **changes: str | None) -> str:
        """Return the signed request of the consent page."""
        response = self.authorize(**changes)
        assert 302 == response.status_code, response.text
        return dict(parse_qsl(urlsplit(response.headers["location"]).query))["request"]

    def decide(self, request: str, code: str, **fields: Any) -> httpx.Response:
        """Submit the form of the consent page, with everything selected unless *fields* replace it."""
        form = {"request": request, "code": code}
        page = BeautifulSoup(self.http.post(f"{self.gateway.base_url}/oauth/consent", data=form).text, "html.parser")
        checked = {
            name: [str(one["value"]) for one in page.select(f"input[name={name}][checked]")]
            for name in ("scope", "connection", "operation")
        }
        return self.http.post(f"{self.gateway.base_url}/oauth/consent", data=form | checked | fields)

    def redeem(self, code: str, **changes: str | None) -> httpx.Response:
        """Exchange an authorization code for tokens."""
        return self.token(
            **{
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": REDIRECT_URI,
                "code_verifier": VERIFIER,
            }
            | changes
        )

    def refresh(self, token: str, **changes: str | None) -> httpx.Response:
        """Exchange a refresh token for new tokens."""
        return self.token(**{"grant_type": "refresh_token", "refresh_token": token} | changes)

    def token(self, **params: str | None) -> httpx.Response:
        """Send a request to the token endpoint."""
        form = {"client_id": self.client_id, "resource": f"{self.gateway.base_url}/mcp"} | params
        sent = {name: value for name, value in form.items() if value is not None}
        return self.http.post(f"{self.gateway.base_url}/oauth/token", data=sent)

    def revoke(self, token: str) -> httpx.Response:
        """Revoke a token."""
        form = {"token": token, "client_id": self.client_id}
        return self.http.post(f"{self.gateway.base_url}/oauth/revoke", data=form)

    def authorised(self, **rights: Any) -> dict[str, Any]:
        """Register, authorise, and return the token response."""
        self.register()
        response = self.redeem(self.consent(agent_code(self.gateway, **rights)["agent_code"])["code"])
        assert 200 == response.status_code, response.text
        tokens: dict[str, Any] = response.json()
        return tokens

    def call(self, token: str, body: Any = None) -> httpx.Response:
        """Send a request to the MCP endpoint with an access token."""
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        return self.http.post(f"{self.gateway.base_url}/mcp", json=body or INITIALIZE, headers=headers)


def agent_code(gateway: Gateway, **rights: Any) -> dict[str, Any]:
    """Create a code for an agent as the operator, and return its record."""
    body = {"workspace_id": gateway.workspace_id} | rights
    record: dict[str, Any] = gateway.operator("POST", "/v1/agent_codes", json=body).data
    return record


def returned(page: httpx.Response) -> dict[str, str]:
    """Return the parameters of the URL to which a page sends the browser back."""
    assert 200 == page.status_code, page.text
    url = page.headers["refresh"].removeprefix("0; url=")
    return dict(parse_qsl(urlsplit(url).query))


class Memory:
    """Stores the tokens and the registration of the official client."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the stored registration."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a registration."""
        self.client = client_info


def official_client(url: str, memory: Memory, open_browser: OpenBrowser, **more: Any) -> OAuthClientProvider:
    """Return the official client's authorization for the endpoint at *url*."""
    answers: list[dict[str, str]] = []

    async def redirect(url: str) -> None:
        answers.append(await open_browser(url))

    async def wait_for_callback() -> AuthorizationCodeResult:
        answer = answers.pop()
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT_URI)], client_name="Official client")
    return OAuthClientProvider(url, metadata, memory, redirect, wait_for_callback, **more)


async def list_tools(url: str, auth: OAuthClientProvider) -> list[str]:
    """Return the names of the tools that the official client is offered."""
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), cache=None) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


@dataclass(eq=False, repr=False)
class HostedDocuments(PublicFileFetcher):
    """Fetches ``https://client.example`` from *site*, which has neither a public address nor a certificate."""

    site: str = field(kw_only=True, default="")

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Fetch a file."""
        return await super().fetch(url.replace("https://client.example", self.site), keep_bytes)
