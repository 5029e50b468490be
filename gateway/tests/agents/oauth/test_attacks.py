"""Attacks on the authorization of clients: each is rejected, and those with a copied token end the grant."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import func, select

from connector_gateway.storage.sql import tables
from gateway.tests.agents.oauth.conftest import LongDocument
from harness.agent_oauth import REDIRECT_URI, OAuthAgent, agent_code
from harness.gateway_server import Gateway
from harness.html_browser import HtmlPage
from harness.mcp_clients import posted
from harness.requirement import requirement

HOSTED = "https://client.example/agent.json"


def problem(response: httpx.Response) -> str:
    """Return the message of an error page, after which no browser is sent back."""
    assert 400 == response.status_code, response.text
    assert "location" not in response.headers
    return HtmlPage(response).alert


@requirement("oauth-2")
@pytest.mark.parametrize(
    "uri",
    [
        "https://client.example/back/",
        "https://client.example/back?x=1",
        "https://client.example/back#x",
        "https://client.example/BACK",
        "https://client.example/back/../other",
        "https://client.example:8443/back",
        "http://client.example/back",
        "https://client.example.evil.example/back",
        "https://client.example@evil.example/back",
        "https://evil.example/https://client.example/back",
        "https://127.0.0.1:33418/callback",
        "http://127.0.0.1:33418/callback/x",
        "http://127.0.0.1.evil.example:33418/callback",
        "http://127.0.0.1@evil.example:33418/callback",
        "http://localhost:33418/callback",
    ],
)
def test_a_redirect_uri_that_nearly_matches_is_rejected(agent: OAuthAgent, uri: str) -> None:
    response = agent.authorize(client_id=HOSTED, redirect_uri=uri)

    assert "is not one of the client's" in problem(response)


@requirement("oauth-2")
def test_the_port_on_this_computer_is_free(agent: OAuthAgent) -> None:
    uri = REDIRECT_URI.replace("33418", "50000")
    agent.register()

    code = agent.consent(agent_code(agent.gateway)["agent_code"], redirect_uri=uri)["code"]

    assert 400 == agent.redeem(code).status_code
    assert 200 == agent.redeem(code, redirect_uri=uri).status_code


@requirement("oauth-2")
@pytest.mark.parametrize(
    "uri",
    [
        "http://client.example/back",
        "javascript:alert(1)",
        "javascript://client.example/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://client.example/back#fragment",
        "https://user@client.example/back",
        "https://client.example/" + "x" * 500,
    ],
)
def test_a_dangerous_redirect_uri_cannot_be_registered(agent: OAuthAgent, uri: str) -> None:
    response = agent.register(redirect_uris=[uri])

    assert (400, "invalid_redirect_uri") == (response.status_code, response.json()["error"])


@pytest.mark.parametrize("uri", ["cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/back"])
def test_applications_can_register_their_scheme(agent: OAuthAgent, uri: str) -> None:
    assert 201 == agent.register(redirect_uris=[uri]).status_code


@requirement("oauth-4")
def test_a_code_that_is_used_twice_ends_the_grant(agent: OAuthAgent) -> None:
    agent.register()
    code = agent.consent(agent_code(agent.gateway)["agent_code"])["code"]

    tokens = agent.redeem(code).json()
    again = agent.redeem(code)

    assert (400, "invalid_grant") == (again.status_code, again.json()["error"])
    assert 401 == agent.call(tokens["access_token"]).status_code
    assert 400 == agent.refresh(tokens["refresh_token"]).status_code


@requirement("oauth-4")
def test_another_client_cannot_use_a_code_or_a_refresh_token(agent: OAuthAgent) -> None:
    agent.register()
    code, own = agent.consent(agent_code(agent.gateway)["agent_code"])["code"], agent.client_id
    agent.register(client_name="Another")
    thief = agent.client_id

    stolen = agent.redeem(code)
    tokens = agent.redeem(code, client_id=own).json()
    renewed = agent.refresh(tokens["refresh_token"])
    agent.revoke(tokens["refresh_token"])

    assert thief != own
    assert ["invalid_grant"] * 2 == [stolen.json()["error"], renewed.json()["error"]]
    assert 200 == agent.call(tokens["access_token"]).status_code
    assert 200 == agent.refresh(tokens["refresh_token"], client_id=own).status_code


@requirement("oauth-4")
@pytest.mark.parametrize(
    ("verifier", "error"), [(None, "invalid_request"), ("", "invalid_grant"), ("w" * 43, "invalid_grant")]
)
def test_a_code_without_its_verifier_is_worthless(agent: OAuthAgent, verifier: str | None, error: str) -> None:
    agent.register()
    code = agent.consent(agent_code(agent.gateway)["agent_code"])["code"]

    response = agent.redeem(code, code_verifier=verifier)

    assert (400, error) == (response.status_code, response.json()["error"])


@requirement("oauth-2")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": "http://127.0.0.1/mcp"}, "invalid_target"),
        ({"resource": "mcp"}, "invalid_target"),
    ],
)
def test_an_invalid_request_is_reported_to_the_client(
    agent: OAuthAgent, changes: dict[str, str | None], error: str
) -> None:
    agent.register()

    url = httpx.URL(agent.authorize(**changes).headers["location"])

    assert str(url).startswith(REDIRECT_URI)
    expected = {"error": error, "state": "a state", "iss": agent.gateway.base_url}
    assert expected == {name: value for name, value in url.params.items() if name != "error_description"}


@requirement("oauth-4")
def test_a_token_request_for_another_resource_is_rejected(agent: OAuthAgent) -> None:
    agent.register()
    code = agent.consent(agent_code(agent.gateway)["agent_code"])["code"]

    response = agent.redeem(code, resource="https://other.example/mcp")

    assert (400, "invalid_target") == (response.status_code, response.json()["error"])


@requirement("oauth-4")
def test_an_access_token_opens_no_other_route(agent: OAuthAgent) -> None:
    tokens = agent.authorised()
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}

    replies = [
        agent.gateway.request("GET", path, headers=headers)
        for path in ("/v1/connectors/notes/databases", "/v1/connections", "/v1/runs")
    ]

    assert ["invalid_api_key"] * 3 == [reply.code for reply in replies]


def test_a_refresh_token_and_a_code_are_no_access_tokens(agent: OAuthAgent) -> None:
    agent.register()
    code = agent.consent(agent_code(agent.gateway)["agent_code"])["code"]
    tokens = agent.redeem(code).json()

    statuses = [agent.call(token).status_code for token in (code, tokens["refresh_token"], tokens["access_token"][:-1])]

    assert [401] * 3 == statuses


@pytest.fixture
def foreign_token(agent: OAuthAgent) -> str:
    """An access token of another workspace, which has no connections."""
    workspace = agent.gateway.operator("POST", "/v1/workspaces", json={"name": "Another"}).data
    return str(agent.authorised(workspace_id=workspace["workspace_id"])["access_token"])


def test_a_token_cannot_use_a_connection_of_another_workspace(agent: OAuthAgent, foreign_token: str) -> None:
    arguments = {"connection_id": agent.gateway.connections["notes"]}
    call = posted("tools/call", name="notes_list_databases", arguments=arguments)

    reply = agent.call(foreign_token, call["json"]).json()

    assert "connection_not_found" == reply["result"]["structuredContent"]["error"]["code"]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("gateway://connections/{connection_id}/events", "connection_not_found"),
        ("gateway://runs/{run_id}", "run_not_found"),
    ],
)
def test_a_token_cannot_read_a_resource_of_another_workspace(
    agent: OAuthAgent, foreign_token: str, uri: str, code: str
) -> None:
    gateway = agent.gateway
    own = {"connection_id": gateway.connections["notes"], "run_id": gateway.get("/notes/databases").body["run_id"]}

    reply = agent.call(foreign_token, posted("resources/read", uri=uri.format(**own))["json"]).json()

    assert code == reply["error"]["data"]["error"]["code"]


@requirement("oauth-4")
def test_a_refresh_token_that_is_used_twice_ends_the_grant(agent: OAuthAgent) -> None:
    first = agent.authorised()
    second = agent.refresh(first["refresh_token"]).json()

    again = agent.refresh(first["refresh_token"])

    assert (400, "invalid_grant") == (again.status_code, again.json()["error"])
    assert 400 == agent.refresh(second["refresh_token"]).status_code
    assert [401, 401] == [agent.call(tokens["access_token"]).status_code for tokens in (first, second)]


@requirement("oauth-4")
def test_a_refresh_token_that_is_used_concurrently_is_exchanged_once(agent: OAuthAgent) -> None:
    tokens = agent.authorised()

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: agent.refresh(tokens["refresh_token"]).status_code, range(4)))

    assert replies.count(200) <= 1
    assert 400 == agent.refresh(tokens["refresh_token"]).status_code


@requirement("oauth-3")
def test_a_code_of_a_person_is_used_once(agent: OAuthAgent) -> None:
    agent.register()
    request, code = agent.open_consent(), agent_code(agent.gateway)["agent_code"]

    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda _: agent.decide(request, code, allow="yes"), range(4)))

    assert 1 == sum("refresh" in page.headers for page in pages)


@requirement("oauth-3")
def test_a_wrong_code_grants_nothing(agent: OAuthAgent) -> None:
    agent.register()
    request = agent.open_consent()

    page = agent.decide(request, "00000-00000-00000-00000", allow="yes")

    assert "The code is wrong, was used, or has expired." == problem(page)


def test_a_code_is_accepted_as_a_person_types_it(agent: OAuthAgent) -> None:
    agent.register()
    code = agent_code(agent.gateway)["agent_code"].lower().replace("-", " ").replace("0", "o").replace("1", "l")

    assert "code" in agent.consent(code)


def test_a_code_is_neither_a_key_nor_an_access_token(agent: OAuthAgent) -> None:
    code = agent_code(agent.gateway)["agent_code"]

    assert 401 == agent.call(code).status_code
    assert (
        "invalid_api_key" == agent.gateway.request("GET", "/v1/connections", {"Authorization": f"Bearer {code}"}).code
    )


@requirement("oauth-2")
@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("other", "names another client_id than its own URL"),
        ("secret", "Only public clients are supported"),
        ("script", "neither an https URL"),
        ("text", "is not valid"),
        ("large", "The file is larger than 16384 bytes."),
        ("moved", "redirects more than 0 times"),
        ("private", "redirects more than 0 times"),
        ("missing", "returned status 404"),
    ],
)
def test_an_invalid_client_metadata_document_is_rejected(agent: OAuthAgent, document: str, message: str) -> None:
    response = agent.authorize(client_id=f"https://client.example/{document}.json")

    assert message in problem(response)


@requirement("oauth-2")
def test_a_client_metadata_document_of_10_mb_is_not_read_to_its_end(
    agent: OAuthAgent, long_document: LongDocument
) -> None:
    agent.authorize(client_id="https://client.example/text.json")

    tracemalloc.start()
    response = agent.authorize(client_id="https://client.example/streamed.json")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "The file is larger than 16384 bytes." in problem(response)
    # The system's buffers take some megabytes that are never read.
    assert 10_000_000 > long_document.sent_bytes
    assert 1_000_000 > peak_bytes


@requirement("oauth-2")
def test_requests_in_a_loop_fetch_a_document_once(agent: OAuthAgent, long_document: LongDocument) -> None:
    before = long_document.requests

    pages = [agent.authorize(client_id="https://client.example/streamed.json") for _ in range(20)]

    assert 1 == len({problem(page) for page in pages})
    assert before + 1 >= long_document.requests


@requirement("oauth-2")
@pytest.mark.parametrize(
    "url",
    [
        "https://localhost/agent.json",
        "https://127.0.0.1/agent.json",
        "https://[::1]/agent.json",
        "https://10.0.0.1/agent.json",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:10.0.0.1]/agent.json",
    ],
)
def test_a_client_metadata_document_on_a_private_address_is_not_fetched(agent: OAuthAgent, url: str) -> None:
    assert "The address of the link is not public." in problem(agent.authorize(client_id=url))


@pytest.mark.parametrize(
    "client_id",
    ["", "agent_", "agent_AAAA", "https://client.example", "http://client.example/agent.json", "unknown"],
)
def test_an_unknown_client_is_rejected(agent: OAuthAgent, client_id: str) -> None:
    assert "It has to register again." in problem(agent.authorize(client_id=client_id))


@requirement("oauth-2")
def test_registrations_in_a_loop_store_nothing(agent: OAuthAgent) -> None:
    async def rows() -> list[int]:
        counts = [select(func.count()).select_from(table) for table in tables.metadata.sorted_tables]
        return await agent.gateway.app.database.read(
            lambda reading: [reading.execute(count).scalar_one() for count in counts]
        )

    before = agent.gateway.run(rows())
    identifiers = {agent.register(client_name=f"Agent {number}").json()["client_id"] for number in range(100)}

    assert before == agent.gateway.run(rows())
    assert 100 == len(identifiers)
    assert 302 == agent.authorize(client_id=identifiers.pop()).status_code


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"redirect_uris": []}', b"\xff", b'{"redirect_uris": ' + b"[" * 9999]
)
def test_an_invalid_registration_is_rejected(agent: OAuthAgent, body: bytes) -> None:
    response = agent.http.post(f"{agent.gateway.base_url}/oauth/register", content=body)

    assert (400, "invalid_client_metadata") == (response.status_code, response.json()["error"])


@pytest.mark.parametrize("path", ["register", "token", "revoke", "consent"])
def test_a_large_body_is_rejected(agent: OAuthAgent, path: str) -> None:
    response = agent.http.post(f"{agent.gateway.base_url}/oauth/{path}", content=b"x" * 100_000)

    assert 413 == response.status_code


def test_a_forged_consent_request_is_rejected(agent: OAuthAgent) -> None:
    agent.register()
    request = agent.open_consent()

    page = agent.http.get(f"{agent.gateway.base_url}/oauth/consent", params={"request": request[:-2] + "AA"})

    assert "The request is incomplete." in problem(page)


def test_a_form_of_another_page_is_rejected(agent: OAuthAgent) -> None:
    agent.register()
    form = {"request": agent.open_consent(), "code": agent_code(agent.gateway)["agent_code"], "allow": "yes"}
    url = f"{agent.gateway.base_url}/oauth/consent"

    page = agent.http.post(url, data=form, headers={"Sec-Fetch-Site": "cross-site"})

    assert "The form was sent from another page." == problem(page)


def test_names_of_clients_are_escaped(agent: OAuthAgent) -> None:
    agent.register(client_name="<b>Bank\u202e</b>")

    page = agent.http.get(agent.authorize().headers["location"])

    assert "&lt;b&gt;Bank\ufffd&lt;/b&gt;" in page.text


@requirement("oauth-1")
def test_nothing_is_served_unless_it_is_on(switched_off: Gateway) -> None:
    paths = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/oauth/authorize"]

    missing = [switched_off.request("GET", path).status for path in paths]
    unauthorized = switched_off.request("POST", "/mcp", {"Authorization": ""}, json={})
    code = switched_off.operator("POST", "/v1/agent_codes", json={"workspace_id": switched_off.workspace_id})

    assert [404] * 3 == missing
    assert "Bearer" == unauthorized.headers["www-authenticate"]
    assert "agents_off" == code.code
