"""Expired tokens are refreshed once for all calls, and a transient failure revokes no connection."""

import asyncio

import pytest
from aiohttp import ClientSession, TCPConnector

from connector_gateway.core.connections import token_client
from harness.connect_pages import BrowserUser, connected, page_texts
from harness.gateway_server import Gateway
from harness.requirement import requirement
from harness.sandbox_server import create_emulator
from workspace_sandbox.notes import NotesEmulator

TOKEN = "/v1/oauth/token"


@pytest.fixture
def connection(browser_user: BrowserUser) -> str:
    """A connection whose access token has expired, although its refresh token is valid."""
    connection_id = connected(browser_user)
    expire_tokens(browser_user.gateway)
    browser_user.gateway.sandbox.emulators["notes"].context.request_log.clear()
    return connection_id


def expire_tokens(gateway: Gateway) -> None:
    """Expire all tokens that were issued by OAuth."""
    for token in create_emulator(gateway.sandbox, NotesEmulator).oauth.tokens.values():
        token.expires_at = token.issued_at if token.kind == "access" and token.grant.client_id else None


def count_token_requests(gateway: Gateway) -> int:
    """Return the number of token requests."""
    return sum(path == TOKEN for _, path, _ in gateway.journal("notes"))


def call_concurrently(gateway: Gateway, connection_id: str, count: int) -> list[tuple[int, str]]:
    """Return status and code of concurrent calls."""
    url, query = f"{gateway.base_url}/v1/connectors/notes/databases", {"connection_id": connection_id}

    async def call(client: ClientSession) -> tuple[int, str]:
        async with client.get(url, params=query) as response:
            return response.status, (await response.json()).get("error", {}).get("code", "")

    async def call_all() -> list[tuple[int, str]]:
        async with ClientSession(
            headers={"Authorization": f"Bearer {gateway.key}"}, connector=TCPConnector(limit=0)
        ) as client:
            return await asyncio.gather(*(call(client) for _ in range(count)))

    return asyncio.run(call_all())


def clear_backoffs(gateway: Gateway) -> None:
    """Skip the backoff after a failure."""
    gateway.app.connections.token_refresher._backoffs.clear()


@requirement("connections-18")
def test_a_write_with_an_expired_token_is_resent_once(gateway: Gateway, connection: str) -> None:
    database_id = gateway.examples("notes")["database_id"]
    reply = gateway.post(
        "/notes/pages", connection_id=connection, database_id=database_id, properties={"Name": "Renewed"}
    )
    created = [seen for seen in gateway.journal("notes") if seen[:2] == ("POST", "/v1/pages")]

    assert (200, 1) == (reply.status, count_token_requests(gateway))
    assert 1 == len([seen for seen in created if seen[2] == 200])


@requirement("connections-21")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "status", "status": 500}, "upstream_error"),
        ({"fault": "status", "status": 429, "headers": {"Retry-After": "1"}}, "upstream_rate_limited"),
        ({"fault": "status", "status": 200, "body": "<html>Sign in</html>"}, "upstream_error"),
        ({"fault": "status", "status": 200, "body": {"token": 1}}, "upstream_unexpected"),
        ({"fault": "status", "status": 401, "body": {"error": "invalid_client"}}, "upstream_error"),
        ({"fault": "drop_before"}, "upstream_error"),
    ],
    ids=["failed", "throttled", "page", "unexpected shape", "client rejected", "disconnected"],
)
def test_a_transient_refresh_failure_revokes_no_connection(
    gateway: Gateway, connection: str, fault: dict[str, object], code: str
) -> None:
    gateway.fault("notes", path=TOKEN, times=1, **fault)
    failed = call_concurrently(gateway, connection, 20)
    between = page_texts(gateway, connection)["status"]
    gateway.clear("notes")
    clear_backoffs(gateway)
    after = gateway.get("/notes/databases", connection_id=connection)

    assert {code} == {error_code for _, error_code in failed}
    assert ("active", 200) == (between, after.status)


@requirement("connections-21")
def test_calls_wait_for_a_refresh_no_longer_than_its_lease(
    gateway: Gateway, connection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_client, "TOKEN_TIMEOUT_SECONDS", 0.1)
    gateway.fault("notes", path=TOKEN, times=1, fault="delay", seconds=0.5)
    reply = gateway.get("/notes/databases", connection_id=connection)

    assert (504, "upstream_timeout") == (reply.status, reply.code)
    assert "active" == page_texts(gateway, connection)["status"]


@requirement("connections-24")
def test_a_token_echoed_by_a_rejected_refresh_is_not_revealed(gateway: Gateway, connection: str) -> None:
    stored = gateway.run(gateway.app.connections.find(connection))
    assert stored is not None
    secret = stored.stored["refresh_token"]
    gateway.fault("notes", path=TOKEN, fault="status", status=500, body={"error": f"bad {secret}"}, times=1)
    reply = gateway.get("/notes/databases", connection_id=connection)
    run = gateway.request("GET", f"/v1/runs/{reply.body['run_id']}")

    assert secret not in f"{reply.body} {run.body}"
