"""Every connector connects an account through the emulator's page, keeps it connected and identifies it."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.operation import AnyConnector
from harness.all_connectors import UNTHROTTLED
from harness.connect_pages import BrowserUser, heading, open_link, page_texts, reconnecting, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.operation_calls import calls_of, read
from harness.requirement import requirement
from harness.sandbox_server import create_emulator, run_emulators
from sandbox.tests.oauth_flows import OAUTH_FLOWS
from workspace_sandbox import EMULATORS
from workspace_sandbox.notes import NotesEmulator

NAMES = {
    "notes": ("Fernweh Studios", "Lantern Bakery"),
    "boards": ("Gateway Bot", "Inès Marchetti"),
    "mail": ("nora@brightfjord.test", "jonas@brightfjord.test"),
    "chat": ("Northwind Labs", "Harbour Collective"),
    "crm": ("Portal 4471120", "Portal 9022540"),
    "tables": ("mara.lindqvist@example.com", "jose.aran@example.com"),
}
"""Names of the first and the second account of each emulator."""


API = {"notes": "/v1/", "boards": "/1/", "mail": "/gmail/", "chat": "/api/", "crm": "/crm/", "tables": "/v0/"}
ENDED: dict[str, dict[str, Any]] = {
    "notes": {"status": 401, "body": {"object": "error", "status": 401, "code": "unauthorized", "message": "Invalid."}},
    "boards": {"status": 401, "body": "expired token"},
    "mail": {"status": 401, "body": {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Invalid."}}},
    "chat": {"status": 200, "body": {"ok": False, "error": "token_expired"}},
    "crm": {"status": 401, "body": {"status": "error", "category": "EXPIRED_AUTHENTICATION", "message": "Expired."}},
    "tables": {"status": 401, "body": {"error": {"type": "AUTHENTICATION_REQUIRED", "message": "Required"}}},
}
"""Each vendor's rejection of an expired token."""


@requirement("connections-3")
@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda one: one.name)
def test_consent_pages_describe_scopes_in_words(connector: AnyConnector) -> None:
    oauth = connector.oauth
    assert oauth is not None
    words = [*oauth.readable, *oauth.changeable]

    assert [True, True] == [bool(oauth.readable), bool(oauth.changeable)]
    assert [] == [one for one in words if one in oauth.scopes or "_" in one or not one[0].isupper()]


@pytest.fixture(scope="module", params=OAUTH_FLOWS)
def connector(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def module_gateway(connector: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(**{connector: EMULATORS[connector]}) as sandbox,
        run_gateway(
            sandbox, tmp_path_factory.mktemp(connector), connectors={connector: UNTHROTTLED[connector]}
        ) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway, connector: str) -> Iterator[Gateway]:
    module_gateway.clear(connector)
    # Tokens of chat expire only with this knob, and there is no refresh without expiry.
    module_gateway.sandbox.emulators[connector].context.knobs |= {"rotation": True} if connector == "chat" else {}
    yield module_gateway
    module_gateway.authorise(connector)


@pytest.fixture
def browser_user(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as browser_user:
        yield browser_user


def connect(browser_user: BrowserUser, connector: str, account: str = "") -> str:
    """Connect an account as *browser_user*, and return the connection."""
    invitation = open_link(browser_user.gateway, connector=connector)
    page = browser_user.allow(invitation["connect_url"], account=account)
    assert "Connected" == heading(page)
    return str(invitation["connection_id"])


def call_vendor(gateway: Gateway, connector: str, connection_id: str) -> Reply:
    """Return the response of a call that sends a request to the vendor."""
    gateway.connections[connector] = connection_id
    return read(gateway, connector, calls_of(connector).list_reads(gateway.examples(connector))[0])


def count_token_requests(gateway: Gateway, connector: str) -> int:
    """Return the number of token requests."""
    return sum(path == OAUTH_FLOWS[connector].token for _, path, _ in gateway.journal(connector))


def remove_all(gateway: Gateway) -> list[int]:
    """Remove every connection."""
    connections = gateway.operator("GET", "/v1/connections").data
    return [gateway.operator("DELETE", f"/v1/connections/{one['connection_id']}").status for one in connections]


def get_second_account_name(gateway: Gateway, connector: str) -> str:
    """Return the other account's name on the consent page."""
    chosen = {"notes": create_emulator(gateway.sandbox, NotesEmulator).oauth.accounts} if connector == "notes" else {}
    return str([*chosen["notes"]][1]) if chosen else OAUTH_FLOWS[connector].second


def test_an_account_is_connected_and_used(gateway: Gateway, browser_user: BrowserUser, connector: str) -> None:
    connection_id = connect(browser_user, connector)
    after = page_texts(gateway, connection_id)

    assert ("active", NAMES[connector][0]) == (after["status"], after["account_name"])
    assert 200 == call_vendor(gateway, connector, connection_id).status


@requirement("common-235")
def test_a_documented_token_response_is_no_change(gateway: Gateway, browser_user: BrowserUser, connector: str) -> None:
    gateway.app.runs.vendor_changes.counted.clear()
    connect(browser_user, connector)

    assert [] == list(gateway.app.runs.vendor_changes.counted)


@requirement("common-235")
def test_an_announcement_of_the_token_endpoint_is_counted(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    token = OAUTH_FLOWS[connector].token
    gateway.fault(
        connector, fault="status", status=503, path=token, headers={"Sunset": "Sat, 01 Jan 2028 00:00:00 GMT"}
    )
    browser_user.allow(open_link(gateway, connector=connector)["connect_url"])
    (change,) = gateway.app.runs.vendor_changes.list(connector)

    assert ("sunset", "2028-01-01") == (change[0].kind, change[0].place)
    assert change[0].endpoint.startswith("POST /")


@requirement("connections-12")
def test_another_account_is_connected_only_if_allowed(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    connection_id, other = connect(browser_user, connector), get_second_account_name(gateway, connector)
    page = browser_user.allow(reconnecting(gateway, connection_id), account=other)
    before = page_texts(gateway, connection_id)["account_name"]
    browser_user.allow(reconnecting(gateway, connection_id, allow_other_account=True), account=other)

    assert "This is another account" == heading(page)
    assert NAMES[connector] == (before, page_texts(gateway, connection_id)["account_name"])


@pytest.mark.parametrize("connector", sorted(OAUTH_FLOWS.keys() - {"notes"}), indirect=True, scope="module")
def test_an_expiring_token_is_refreshed_once_for_all_calls(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    gateway.knob(connector, token_seconds=30)
    connection_id = connect(browser_user, connector)
    gateway.knob(connector, token_seconds=86_400)
    gateway.sandbox.emulators[connector].context.request_log.clear()
    call = partial(call_vendor, gateway, connector, connection_id)
    replies = gateway.together(*[call] * 8)

    assert [200] * 8 == [reply.status for reply in replies]
    assert 1 == count_token_requests(gateway, connector)


@requirement("connections-18", "connections-23")
def test_a_rejected_token_is_refreshed_and_the_call_resent(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    gateway.knob(connector, token_seconds=86_400)
    connection_id = connect(browser_user, connector)
    gateway.fault(connector, path=API[connector], times=1, fault="status", **ENDED[connector])
    gateway.sandbox.emulators[connector].context.request_log.clear()
    reply = call_vendor(gateway, connector, connection_id)

    assert (200, 1) == (reply.status, count_token_requests(gateway, connector))
    assert page_texts(gateway, connection_id)["last_refreshed_at"] is not None


@pytest.mark.parametrize("connector", ["boards"], indirect=True, scope="module")
def test_an_invisible_board_does_not_cause_a_refresh(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    gateway.connections[connector] = connect(browser_user, connector)
    gateway.sandbox.emulators[connector].context.request_log.clear()
    reply = read(gateway, connector, calls_of(connector).list_reads(gateway.examples(connector))[1])

    assert ("board_not_authorised", 0) == (reply.code, count_token_requests(gateway, connector))


@pytest.mark.parametrize(
    ("connector", "path"),
    [("notes", "/v1/oauth/revoke"), ("mail", "/revoke"), ("crm", "/oauth/2026-09/token/revoke")],
    indirect=["connector"],
    scope="module",
)
def test_tokens_are_revoked_if_the_vendor_supports_it(
    gateway: Gateway, browser_user: BrowserUser, connector: str, path: str
) -> None:
    remove_all(gateway)
    connection_id = connect(browser_user, connector)
    gateway.operator("DELETE", f"/v1/connections/{connection_id}")

    assert ("POST", path, 200) == gateway.journal(connector)[-1]


def test_a_revoked_authorisation_is_reported_and_restored_by_reconnecting(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    connection_id = connect(browser_user, connector)
    gateway.revoke(connector)
    response = call_vendor(gateway.with_key(manages_connections=True), connector, connection_id)
    browser_user.allow(response.details[-1]["reconnect_url"])
    repeat = call_vendor(gateway, connector, connection_id)

    assert (401, "connection_revoked", 200) == (response.status, response.code, repeat.status)
    assert "active" == page_texts(gateway, connection_id)["status"]


@requirement("connections-37")
@pytest.mark.parametrize("connector", ["boards", "mail", "chat", "tables"], indirect=True, scope="module")
def test_a_code_of_another_consent_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    created = open_link(gateway, connector=connector)
    with user(gateway) as victim, Browser() as browser, Browser() as here:
        stolen = browser.allow(victim.depart(open_link(gateway, connector=connector)["connect_url"]))
        own = browser_user.depart(created["connect_url"])
        page = browser_user.come_back(own, {**here.allow(own), "code": stolen["code"]})

    assert (400, "The authorisation has expired") == (page.status_code, heading(page))
    assert ("pending", None) == (page_texts(gateway, created["connection_id"])["status"], stolen.get("error"))


def test_pasted_credentials_are_checked_with_the_vendor(gateway: Gateway, connector: str) -> None:
    good = gateway.sandbox.emulators[connector].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": connector}
    response = gateway.operator("POST", "/v1/connections", json=body | {"credentials": good})
    wrong = good | {"token": f"{good['token'][:-4]}AAAA"}
    reply = gateway.operator("POST", "/v1/connections", json=body | {"credentials": wrong})

    assert ("active", NAMES[connector][0]) == (response.data["status"], response.data["account_name"])
    assert (422, "credentials_refused") == (reply.status, reply.code)


@requirement("connections-25", "connections-30")
@pytest.mark.parametrize("connector", ["boards"], indirect=True, scope="module")
def test_a_token_of_a_foreign_key_is_reported_and_not_revoked(gateway: Gateway, connector: str) -> None:
    credentials = gateway.sandbox.emulators[connector].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": connector, "credentials": credentials}
    created = gateway.operator("POST", "/v1/connections", json=body).data
    tested = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test").data
    gateway.operator("DELETE", f"/v1/connections/{created['connection_id']}")

    assert (["read", "write"], []) == (created["scopes"], tested["missing_scopes"])
    assert [] == [seen for seen in gateway.journal(connector) if seen[0] == "DELETE"]


@requirement("connections-25")
@pytest.mark.parametrize("connector", ["mail", "crm"], indirect=True, scope="module")
def test_tokens_that_another_connection_uses_are_not_revoked(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    first, second = connect(browser_user, connector), connect(browser_user, connector)
    gateway.operator("DELETE", f"/v1/connections/{first}")
    stored = call_vendor(gateway, connector, second)

    assert (200, False) == (stored.status, any("revoke" in path for _, path, _ in gateway.journal(connector)))


@pytest.mark.parametrize(
    ("connector", "unticked", "operation"),
    [
        ("mail", "https://www.googleapis.com/auth/gmail.modify", "send_message"),
        ("boards", "write:board:trello", "create_card"),
    ],
    indirect=["connector"],
    scope="module",
)
def test_missing_scopes_are_reported_and_connect_no_account(
    gateway: Gateway, browser_user: BrowserUser, connector: str, unticked: str, operation: str
) -> None:
    invitation = open_link(gateway, connector=connector)
    page = browser_user.allow(invitation["connect_url"], unticked={unticked})

    assert (400, "Some permissions were not granted") == (page.status_code, heading(page))
    assert f"<code>{unticked}</code>" in page.text
    assert operation.replace("_", " ") in page.text
    assert "pending" == page_texts(gateway, invitation["connection_id"])["status"]


def test_every_connector_with_oauth_is_tested() -> None:
    assert {name for name, connector in CONNECTORS.items() if connector.oauth is not None} == OAUTH_FLOWS.keys()


def test_every_scope_belongs_to_existing_operations(connector: str) -> None:
    declared = CONNECTORS[connector]
    assert declared.oauth is not None
    named = {name for needed in declared.oauth.scopes.values() for name in needed}

    assert set() == named - {operation.name for operation in declared.operations}
    assert named in (set(), {operation.name for operation in declared.operations})


@requirement("connections-7")
@pytest.mark.parametrize("connector", ["mail"], indirect=True, scope="module")
def test_a_response_of_another_issuer_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser, connector: str
) -> None:
    invitation = open_link(gateway, connector=connector)
    consent = browser_user.depart(invitation["connect_url"])
    with Browser() as browser:
        page = browser_user.come_back(consent, browser.allow(consent) | {"iss": "https://accounts.evil.test"})

    assert (400, "The response came from another sender") == (page.status_code, heading(page))
    assert ("pending", 0) == (
        page_texts(gateway, invitation["connection_id"])["status"],
        count_token_requests(gateway, connector),
    )


# Codes and tokens that the vendor no longer accepts


def redeem_code_twice(browser_user: BrowserUser, connector: str) -> tuple[str, httpx.Response]:
    """Return a pending connection, and the page for a code that was redeemed for another one."""
    gateway = browser_user.gateway
    spent, created = (
        browser_user.depart(open_link(gateway, connector=connector)["connect_url"]),
        open_link(gateway, connector=connector),
    )
    with Browser() as browser:
        response = browser.allow(spent)
    assert "Connected" == heading(browser_user.come_back(spent, response))
    consent = browser_user.depart(created["connect_url"])
    state = dict(parse_qsl(urlsplit(consent).query))["state"]
    return created["connection_id"], browser_user.come_back(consent, response | {"state": state})


@requirement("connections-9")
def test_a_redeemed_code_connects_no_account(gateway: Gateway, browser_user: BrowserUser, connector: str) -> None:
    connection_id, page = redeem_code_twice(browser_user, connector)
    connection = page_texts(gateway, connection_id)

    assert (400, "The authorisation has expired", True) == (
        page.status_code,
        heading(page),
        "Try again" in page.text,
    )
    assert ("pending", None, None) == (connection["status"], connection["account_id"], connection["expires_at"])


def expire_token(gateway: Gateway, connector: str, times: int) -> None:
    """Make the vendor reject the token of the next *times* calls as expired. Its token endpoint works."""
    gateway.fault(connector, path=API[connector], times=times, fault="status", **ENDED[connector])


def clear_backoffs(gateway: Gateway) -> None:
    """Skip the backoff after a failure."""
    gateway.app.connections.token_refresher._backoffs.clear()


UNAFFECTED = {"mail": "refresh tokens stay", "crm": "refresh tokens stay", "chat": "used ones remain valid for a while"}
"""Vendors at which tokens lost in transit have no effect, with the reason; the others revoke the connection."""


@requirement("connections-21", "connections-22")
@pytest.mark.parametrize("lost", ["drop_after", "garbage"])
def test_lost_refresh_responses_are_repeated_or_reported(
    gateway: Gateway, browser_user: BrowserUser, connector: str, lost: str
) -> None:
    gateway.knob(connector, token_seconds=86_400)
    connection_id = connect(browser_user, connector)
    gateway.fault(connector, path=OAUTH_FLOWS[connector].token, times=1, fault=lost)
    # Trello's board and lists are read concurrently, and each of these requests is rejected once per call.
    expire_token(gateway, connector, 4 if connector == "boards" else 2)
    failed = call_vendor(gateway, connector, connection_id)
    clear_backoffs(gateway)
    repeat = call_vendor(gateway, connector, connection_id)
    after = page_texts(gateway, connection_id)

    fields = (401, "revoked", "refresh_interrupted")
    assert (502, "upstream_error") == (failed.status, failed.code)
    assert ((200, "active", None) if connector in UNAFFECTED else fields) == (
        repeat.status,
        after["status"],
        after["reason"],
    )
