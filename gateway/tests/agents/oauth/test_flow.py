"""The authorization of a client with OAuth, from discovery to revocation."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from harness.agent_oauth import REDIRECT_URI, OAuthAgent, agent_code, returned
from harness.gateway_server import Gateway
from harness.requirement import requirement


class Memory:
    """Stores the tokens of the official client."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def official_client(agent: OAuthAgent, code: str, memory: Memory, **more: Any) -> OAuthClientProvider:
    """Return the official client's authorization, whose person enters *code*."""
    answers: list[dict[str, str]] = []

    async def open_browser(url: str) -> None:
        location = agent.http.get(url).headers["location"]
        request = dict(parse_qsl(urlsplit(location).query))["request"]
        answers.append(returned(agent.decide(request, code, allow="yes")))

    async def wait_for_callback() -> AuthorizationCodeResult:
        answer = answers.pop()
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT_URI)], client_name="Official client")
    url = f"{agent.gateway.base_url}/mcp"
    return OAuthClientProvider(url, metadata, memory, open_browser, wait_for_callback, **more)


async def tools(agent: OAuthAgent, auth: OAuthClientProvider) -> list[str]:
    """Return the names of the tools that a client is offered."""
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        transport = streamable_http_client(f"{agent.gateway.base_url}/mcp", http_client=http)
        async with Client(transport, cache=None) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


async def test_the_official_client_completes_the_flow_and_refreshes_its_tokens(agent: OAuthAgent) -> None:
    memory = Memory()
    auth = official_client(agent, agent_code(agent.gateway)["code"], memory)

    first = await tools(agent, auth)
    before = memory.tokens
    auth.context.token_expiry_time = 1
    second = await tools(agent, auth)

    assert "notes_create_page" in first
    assert first == second
    assert before is not None
    assert memory.tokens is not None
    assert before.refresh_token != memory.tokens.refresh_token
