"""The authorization of a client with OAuth, from discovery to revocation."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from harness.agent_oauth import Memory, OAuthAgent, OpenBrowser, agent_code, list_tools, official_client, returned
from harness.gateway_server import Gateway
from harness.html_browser import Browser
from harness.requirement import requirement


def person(agent: OAuthAgent, code: str) -> OpenBrowser:
    """Return a person who enters *code* on the page that a client opens, and allows access."""

    async def open_browser(url: str) -> dict[str, str]:
        location = agent.http.get(url).headers["location"]
        request = dict(parse_qsl(urlsplit(location).query))["request"]
        return returned(agent.decide(request, code, allow="yes"))

    return open_browser


async def test_the_official_client_completes_the_flow_and_refreshes_its_tokens(agent: OAuthAgent) -> None:
    memory, url = Memory(), f"{agent.gateway.base_url}/mcp"
    auth = official_client(url, memory, person(agent, agent_code(agent.gateway)["agent_code"]))

    first = await list_tools(url, auth)
    before = memory.tokens
    auth.context.token_expiry_time = 1
    second = await list_tools(url, auth)

    assert "notes_create_page" in first
    assert first == second
    assert before is not None
    assert memory.tokens is not None
    assert before.refresh_token != memory.tokens.refresh_token


async def test_the_official_client_uses_its_metadata_document(agent: OAuthAgent) -> None:
    url, document = f"{agent.gateway.base_url}/mcp", "https://client.example/agent.json"
    code = agent_code(agent.gateway)
    auth = official_client(url, Memory(), person(agent, code["agent_code"]), client_metadata_url=document)

    names = await list_tools(url, auth)

    assert "notes_create_page" in names
    record = key(agent.gateway, code["key_id"])
    assert "Hosted agent (this computer)" == record["agent"]


def key(gateway: Gateway, key_id: str) -> dict[str, Any]:
    """Return the record of a key, or of an agent."""
    (record,) = [one for one in gateway.operator("GET", "/v1/keys").data if one["key_id"] == key_id]
    found: dict[str, Any] = record
    return found


@requirement("oauth-1")
def test_a_request_without_a_key_names_the_metadata(agent: OAuthAgent) -> None:
    base = agent.gateway.base_url

    response = agent.http.post(f"{base}/mcp", json={})
    url = f"{base}/.well-known/oauth-protected-resource/mcp"
    resource = agent.http.get(url).json()
    server = agent.http.get(f"{base}/.well-known/oauth-authorization-server").json()

    assert 401 == response.status_code
    assert f'Bearer resource_metadata="{url}", scope="read write"' == response.headers["www-authenticate"]
    assert (f"{base}/mcp", [base]) == (resource["resource"], resource["authorization_servers"])
    assert base == server["issuer"]
    assert ["S256"] == server["code_challenge_methods_supported"]
    assert server["client_id_metadata_document_supported"]


@requirement("oauth-5")
def test_an_agent_is_a_key_that_can_be_listed_and_revoked(agent: OAuthAgent) -> None:
    code = agent_code(agent.gateway, name="Research")
    waiting = key(agent.gateway, code["key_id"])["agent"]
    agent.register()
    tokens = agent.redeem(agent.consent(code["agent_code"])["code"]).json()
    call = {"name": "notes_list_databases", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    result = agent.call(tokens["access_token"], body).json()["result"]["structuredContent"]

    run = agent.gateway.operator("GET", f"/v1/runs/{result['run_id']}").data
    operator = Browser(agent.gateway)
    operator.sign_in()
    page = operator.open(f"/console/runs/{result['run_id']}")
    record = key(agent.gateway, code["key_id"])
    assert "" == waiting
    assert ("Research", "Test agent (this computer)", "") == (record["name"], record["agent"], record["ending"])
    assert code["key_id"] == run["key_id"]
    assert "Research, Test agent (this computer)" in page.text
    agent.gateway.operator("DELETE", f"/v1/keys/{code['key_id']}")
    assert 400 == agent.refresh(tokens["refresh_token"]).status_code


@requirement("oauth-3")
def test_a_person_narrows_the_rights_of_the_code(agent: OAuthAgent) -> None:
    notes = agent.gateway.connections["notes"]
    code = agent_code(agent.gateway)
    agent.register()
    chosen = {"scope": "read", "connection": notes, "operation": ["notes_list_databases", "notes_create_page"]}

    answer = returned(agent.decide(agent.open_consent(), code["agent_code"], allow="yes", **chosen))
    tokens = agent.redeem(answer["code"]).json()

    record = key(agent.gateway, code["key_id"])
    listed = agent.call(tokens["access_token"], {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]
    assert ("read", [notes]) == (record["scope"], record["connection_ids"])
    assert ["notes_list_databases"] == [tool["name"] for tool in listed["tools"]]
    assert "read" == tokens["scope"]


@requirement("oauth-3")
def test_a_person_cannot_grant_more_than_the_code_allows(agent: OAuthAgent) -> None:
    notes, boards = agent.gateway.connections["notes"], agent.gateway.connections["boards"]
    code = agent_code(agent.gateway, scope="read", connection_ids=[notes], operations=["notes_list_*"])
    agent.register()
    more = {
        "scope": "read_write",
        "connection": [notes, boards],
        "operation": ["notes_create_page", "notes_list_databases"],
    }

    agent.redeem(returned(agent.decide(agent.open_consent(), code["agent_code"], allow="yes", **more))["code"])

    record = key(agent.gateway, code["key_id"])
    assert ("read", [notes]) == (record["scope"], record["connection_ids"])
    assert "notes_create_page" not in record["operations"]


@requirement("oauth-3")
def test_a_grant_of_everything_includes_later_connections(agent: OAuthAgent) -> None:
    code = agent_code(agent.gateway)
    agent.register()

    agent.consent(code["agent_code"])

    record = key(agent.gateway, code["key_id"])
    assert ("read_write", None, None) == (record["scope"], record["connection_ids"], record["operations"])


@pytest.mark.parametrize("missing", ["connection", "operation"])
def test_an_empty_selection_is_rejected(agent: OAuthAgent, missing: str) -> None:
    agent.register()
    code = agent_code(agent.gateway)["agent_code"]

    page = agent.decide(agent.open_consent(), code, allow="yes", **{missing: []})

    assert 400 == page.status_code
    assert f"Select at least one {missing}." in page.text


def test_a_request_for_reads_suggests_only_reads(agent: OAuthAgent) -> None:
    agent.register()
    code = agent_code(agent.gateway)

    answer = returned(agent.decide(agent.open_consent(scope="read openid"), code["agent_code"], allow="yes"))

    assert "read" == agent.redeem(answer["code"]).json()["scope"]


@requirement("oauth-3")
def test_a_person_cancels(agent: OAuthAgent) -> None:
    agent.register()
    request = agent.open_consent()
    form = {"request": request, "deny": "yes"}

    answer = returned(agent.http.post(f"{agent.gateway.base_url}/oauth/consent", data=form))

    assert {"error": "access_denied", "state": "a state", "iss": agent.gateway.base_url} == answer


@requirement("oauth-6")
def test_a_client_revokes_its_grant(agent: OAuthAgent) -> None:
    tokens = agent.authorised()

    revoked = agent.revoke(tokens["refresh_token"])

    assert 200 == revoked.status_code
    assert 400 == agent.refresh(tokens["refresh_token"]).status_code
    assert 401 == agent.call(tokens["access_token"]).status_code


def test_a_code_of_a_managing_key_has_at_most_its_rights(gateway: Gateway, agent: OAuthAgent) -> None:
    manager = gateway.with_key("read", manages_connections=True, operations=["notes_*"], calls_per_minute=30)
    body = {"workspace_id": gateway.workspace_id, "operations": ["*_list_databases", "boards_*"]}

    record = manager.request("POST", "/v1/agent_codes", json=body).data

    assert ("read", ["notes_list_databases"], 30) == (record["scope"], record["operations"], record["calls_per_minute"])
    body["operations"] = ["boards_*"]
    assert "invalid_parameters" == manager.request("POST", "/v1/agent_codes", json=body).code


def test_the_console_creates_a_code(agent: OAuthAgent) -> None:
    agent.register()
    operator = Browser(agent.gateway)
    operator.sign_in()

    form = operator.open(operator.open("/console/keys").link("Create agent code"))
    page = operator.submit(form, "Create agent code", workspace_id=agent.gateway.workspace_id, scope="read")

    assert "New agent code" == page.heading
    assert "code" in agent.consent(page.one("#agent_code").text)
