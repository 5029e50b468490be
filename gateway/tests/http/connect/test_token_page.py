"""Accounts of vendors that return tokens to the browser, for an installation that has only an API key."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from connector_gateway.connectors.boards import BOARDS
from harness.connect_pages import BrowserUser, heading, open_link, page_texts, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator

CALLBACK = "/connect/boards/callback"
RETURN_URL = "https://app.example.com/connected"


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("token_page")
    with run_emulators(boards=BoardsEmulator) as sandbox:
        key = sandbox.emulators["boards"].credentials()["key"]
        only: Any = {"GATEWAY_BOARDS_CLIENT_ID": "", "GATEWAY_BOARDS_CLIENT_SECRET": "", "GATEWAY_BOARDS_API_KEY": key}
        with run_gateway(sandbox, folder, connectors={"boards": BOARDS}, **only) as gateway:
            yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    module_gateway.clear("boards")
    return module_gateway


@pytest.fixture
def browser_user(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as browser_user:
        yield browser_user


def get_state(page: str) -> str:
    """Return the state in the URL of the token page."""
    return dict(parse_qsl(urlsplit(dict(parse_qsl(urlsplit(page).query))["return_url"]).query))["state"]


def send_form(browser_user: BrowserUser, **fields: str) -> httpx.Response:
    """Send the form of the callback page, and return the response."""
    return browser_user.http.post(f"{browser_user.gateway.base_url}{CALLBACK}", data=fields)


def allow_access(page: str, *unticked: str) -> dict[str, str]:
    """Allow access on the consent *page*, and return the fields that the browser is sent back with."""
    with Browser() as browser:
        return browser.allow(page, unticked=unticked)


def create_connection(gateway: Gateway, expiration: str) -> dict[str, Any]:
    """Create a connection with a token that a member created with this expiration."""
    emulator = gateway.sandbox.emulators["boards"]
    key = emulator.credentials()["key"]
    query = f"key={key}&scope=read,write&expiration={expiration}&return_url=http://127.0.0.1:9/back"
    credentials = {
        "key": key,
        "token": allow_access(f"{emulator.context.addresses['base']}/1/authorize?{query}")["token"],
    }
    body = {"workspace_id": gateway.workspace_id, "connector": "boards", "credentials": credentials}
    data: dict[str, Any] = gateway.operator("POST", "/v1/connections", json=body).data
    return data | {"credentials": credentials}


@requirement("connections-28")
def test_a_token_from_the_page_connects_the_account(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway, connector="boards")
    page = browser_user.depart(created["connect_url"])
    response = allow_access(page)
    landing = browser_user.open(f"{CALLBACK}?state={response['state']}")
    done = send_form(browser_user, state=response["state"], token=response["token"])
    connection = page_texts(gateway, created["connection_id"])
    board = gateway.examples("boards")["board_id"]
    call = gateway.get("/boards/lists", connection_id=created["connection_id"], board_id=board)

    assert ("Back from Trello", "connect.js") == (heading(landing), "connect.js" * ("connect.js" in landing.text))
    assert (200, "Connected", "active") == (done.status_code, heading(done), connection["status"])
    assert (connection["account_name"] in done.text, None) == (True, connection["expires_at"])
    assert 200 == call.status


@requirement("connections-28")
def test_the_page_is_requested_with_an_unlimited_token_in_the_fragment(
    gateway: Gateway, browser_user: BrowserUser
) -> None:
    page = urlsplit(browser_user.depart(open_link(gateway, connector="boards")["connect_url"]))
    query = dict(parse_qsl(page.query))

    assert ("/1/authorize", "token", "fragment") == (page.path, query["response_type"], query["callback_method"])
    assert ("read,write", "never") == (query["scope"], query["expiration"])
    assert query["return_url"].startswith(f"http://127.0.0.1:8080{CALLBACK}?state=")


@requirement("connections-28")
def test_a_member_who_denies_access_gets_an_error_page(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection = open_link(gateway, connector="boards")
    page = browser_user.depart(connection["connect_url"])
    with Browser() as browser:
        answer = browser.cancel(page)
    response = send_form(browser_user, **answer)

    assert (400, "Access was denied") == (response.status_code, heading(response))
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-28")
@pytest.mark.parametrize(
    ("token", "title"), [("", "Trello reported a problem"), ("ATTA0", "The authorisation has expired")]
)
def test_an_invalid_token_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser, token: str, title: str
) -> None:
    connection = open_link(gateway, connector="boards")
    page = send_form(browser_user, state=get_state(browser_user.depart(connection["connect_url"])), token=token)

    assert (400, title) == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-28")
def test_a_token_in_another_browser_is_rejected(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection = open_link(gateway, connector="boards")
    response = allow_access(browser_user.depart(connection["connect_url"]))
    with user(gateway) as other:
        stolen = send_form(other, **response)
        looked = other.open(f"{CALLBACK}?state={response['state']}")
    own = send_form(browser_user, **response)

    assert ["Another browser", "Another browser", "Connected"] == [heading(page) for page in (stolen, looked, own)]


@requirement("connections-28")
def test_a_token_is_accepted_once_and_only_from_the_callback_page(gateway: Gateway, browser_user: BrowserUser) -> None:
    response = allow_access(browser_user.depart(open_link(gateway, connector="boards")["connect_url"]))
    cookies = dict(browser_user.http.cookies)
    url, cross = f"{gateway.base_url}{CALLBACK}", {"Sec-Fetch-Site": "cross-site"}
    foreign = browser_user.http.post(url, data=response, headers=cross)
    first = send_form(browser_user, **response)
    browser_user.http.cookies.update(cookies)
    second = send_form(browser_user, **response)

    titles = ["Another browser", "Connected", "This link was already used"]
    assert titles == [heading(page) for page in (foreign, first, second)]


@requirement("connections-28")
@pytest.mark.parametrize("form", [{}, {"state": "forged", "token": "t"}, {"state": "x" * 9000}])
def test_a_forged_form_is_rejected(browser_user: BrowserUser, form: dict[str, str]) -> None:
    page = send_form(browser_user, **form)

    assert (404, "This link is not valid") == (page.status_code, heading(page))


@requirement("connections-5", "connections-28")
def test_a_page_redirects_the_user_to_the_return_url(gateway: Gateway, browser_user: BrowserUser) -> None:
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": [RETURN_URL]})
    connection = open_link(gateway, connector="boards", return_url=RETURN_URL)
    done = send_form(browser_user, **allow_access(browser_user.depart(connection["connect_url"])))

    expected = f"{RETURN_URL}?connection_id={connection['connection_id']}&status=connected"
    assert ("Connected", f"0; url={expected}") == (heading(done), done.headers["refresh"])


@requirement("connections-15", "connections-28")
def test_a_token_with_insufficient_scope_is_reported_and_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser
) -> None:
    connection = open_link(gateway, connector="boards")
    page = send_form(browser_user, **allow_access(browser_user.depart(connection["connect_url"]), "write"))

    assert (400, "Some permissions were not granted") == (page.status_code, heading(page))
    assert (True, False) == ("<code>write</code>" in page.text, "<code>read</code>" in page.text)
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-30")
def test_a_token_reports_its_scope_and_expiry(gateway: Gateway) -> None:
    lasting, ending = create_connection(gateway, "never"), create_connection(gateway, "1day")
    tested = gateway.operator("POST", f"/v1/connections/{ending['connection_id']}/test").data

    assert [["read", "write"]] * 2 == [lasting["scopes"], ending["scopes"]]
    assert (None, True) == (lasting["expires_at"], ending["expires_at"] > ending["created_at"])
    assert (ending["expires_at"], []) == (tested["expires_at"], tested["missing_scopes"])


@requirement("connections-25", "connections-30")
def test_a_token_is_revoked_when_its_last_connection_is_removed(gateway: Gateway) -> None:
    first = create_connection(gateway, "never")
    body = {"workspace_id": gateway.workspace_id, "connector": "boards", "credentials": first["credentials"]}
    second = gateway.operator("POST", "/v1/connections", json=body).data
    gateway.operator("DELETE", f"/v1/connections/{first['connection_id']}")
    status = gateway.operator("POST", f"/v1/connections/{second['connection_id']}/test").data["status"]
    gateway.operator("DELETE", f"/v1/connections/{second['connection_id']}")
    again = gateway.operator("POST", "/v1/connections", json=body)

    assert ("active", "credentials_refused") == (status, again.code)


@requirement("connections-25", "connections-30")
def test_a_connection_is_removed_even_if_its_token_cannot_be_revoked(gateway: Gateway) -> None:
    connection_id = create_connection(gateway, "never")["connection_id"]
    gateway.fault("boards", method="DELETE", fault="status", status=500, times=3)
    removed = gateway.operator("DELETE", f"/v1/connections/{connection_id}").data["status"]
    gateway.clear("boards")

    assert ("removed", 404) == (removed, gateway.operator("GET", f"/v1/connections/{connection_id}").status)
