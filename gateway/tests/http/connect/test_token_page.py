"""Accounts of an application that hands tokens to the browser, for an installation that has an API key only."""

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
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("token_page")
    with run_emulators(boards=BoardsEmulator) as sandbox:
        key = sandbox.emulators["boards"].credentials()["key"]
        only: Any = {"GATEWAY_BOARDS_CLIENT_ID": "", "GATEWAY_BOARDS_CLIENT_SECRET": "", "GATEWAY_BOARDS_API_KEY": key}
        with run_gateway(sandbox, folder, connectors={"boards": BOARDS}, **only) as gateway:
            yield gateway


@pytest.fixture
def gateway(house: Gateway) -> Gateway:
    house.clear("boards")
    return house


@pytest.fixture
def someone(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as someone:
        yield someone


def state_of(page: str) -> str:
    """What stands for the state in the address of the token page."""
    return dict(parse_qsl(urlsplit(dict(parse_qsl(urlsplit(page).query))["return_url"]).query))["state"]


def send(someone: BrowserUser, **fields: str) -> httpx.Response:
    """What is answered to the form of the page that a browser comes back to."""
    return someone.http.post(f"{someone.gateway.base_url}{CALLBACK}", data=fields)


def allowed(page: str, *unticked: str) -> dict[str, str]:
    """What somebody comes back with who allows the access."""
    with Browser() as there:
        return there.allow(page, unticked=unticked)


def pasted(gateway: Gateway, expiration: str) -> dict[str, Any]:
    """A connection with a token that a member has made, which lasts that long."""
    emulator = gateway.sandbox.emulators["boards"]
    key = emulator.credentials()["key"]
    query = f"key={key}&scope=read,write&expiration={expiration}&return_url=http://127.0.0.1:9/back"
    credentials = {"key": key, "token": allowed(f"{emulator.context.addresses['base']}/1/authorize?{query}")["token"]}
    body = {"workspace_id": gateway.workspace_id, "connector": "boards", "credentials": credentials}
    data: dict[str, Any] = gateway.operator("POST", "/v1/connections", json=body).data
    return data | {"credentials": credentials}


@requirement("connections-28")
def test_a_token_that_the_page_hands_out_connects_the_account(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway, connector="boards")
    page = someone.depart(created["connect_url"])
    answer = allowed(page)
    landing = someone.open(f"{CALLBACK}?state={answer['state']}")
    done = send(someone, state=answer["state"], token=answer["token"])
    connection = page_texts(gateway, created["connection_id"])
    board = gateway.examples("boards")["board_id"]
    call = gateway.get("/boards/lists", connection_id=created["connection_id"], board_id=board)

    assert ("Back from Trello", "connect.js") == (heading(landing), "connect.js" * ("connect.js" in landing.text))
    assert (200, "Connected", "active") == (done.status_code, heading(done), connection["status"])
    assert (connection["account_name"] in done.text, None) == (True, connection["expires_at"])
    assert 200 == call.status


@requirement("connections-28")
def test_the_page_request_asks_for_an_unlimited_token_in_the_fragment(gateway: Gateway, someone: BrowserUser) -> None:
    page = urlsplit(someone.depart(open_link(gateway, connector="boards")["connect_url"]))
    query = dict(parse_qsl(page.query))

    assert ("/1/authorize", "token", "fragment") == (page.path, query["response_type"], query["callback_method"])
    assert ("read,write", "never") == (query["scope"], query["expiration"])
    assert query["return_url"].startswith(f"http://127.0.0.1:8080{CALLBACK}?state=")


@requirement("connections-28")
def test_a_member_who_denies_access_gets_an_error_page(gateway: Gateway, someone: BrowserUser) -> None:
    connection = open_link(gateway, connector="boards")
    page = someone.depart(connection["connect_url"])
    with Browser() as there:
        answer = there.cancel(page)
    response = send(someone, **answer)

    assert (400, "Access was denied") == (response.status_code, heading(response))
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-28")
@pytest.mark.parametrize(
    ("token", "title"), [("", "Trello reported a problem"), ("ATTA0", "The authorisation has expired")]
)
def test_an_invalid_token_connects_nothing(gateway: Gateway, someone: BrowserUser, token: str, title: str) -> None:
    connection = open_link(gateway, connector="boards")
    page = send(someone, state=state_of(someone.depart(connection["connect_url"])), token=token)

    assert (400, title) == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-28")
def test_a_token_counts_only_in_the_browser_that_was_sent(gateway: Gateway, someone: BrowserUser) -> None:
    connection = open_link(gateway, connector="boards")
    answer = allowed(someone.depart(connection["connect_url"]))
    with user(gateway) as other:
        stolen = send(other, **answer)
        looked = other.open(f"{CALLBACK}?state={answer['state']}")
    own = send(someone, **answer)

    assert ["Another browser", "Another browser", "Connected"] == [heading(page) for page in (stolen, looked, own)]


@requirement("connections-28")
def test_a_token_counts_once_and_from_our_own_page_only(gateway: Gateway, someone: BrowserUser) -> None:
    answer = allowed(someone.depart(open_link(gateway, connector="boards")["connect_url"]))
    cookies = dict(someone.http.cookies)
    url, cross = f"{gateway.base_url}{CALLBACK}", {"Sec-Fetch-Site": "cross-site"}
    foreign = someone.http.post(url, data=answer, headers=cross)
    first = send(someone, **answer)
    someone.http.cookies.update(cookies)
    second = send(someone, **answer)

    titles = ["Another browser", "Connected", "This link was already used"]
    assert titles == [heading(page) for page in (foreign, first, second)]


@requirement("connections-28")
@pytest.mark.parametrize("form", [{}, {"state": "forged", "token": "t"}, {"state": "x" * 9000}])
def test_a_forged_form_is_unknown(someone: BrowserUser, form: dict[str, str]) -> None:
    page = send(someone, **form)

    assert (404, "This link is not valid") == (page.status_code, heading(page))


@requirement("connections-5", "connections-28")
def test_the_user_is_sent_back_to_the_customer_by_a_page(gateway: Gateway, someone: BrowserUser) -> None:
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": [RETURN_URL]})
    connection = open_link(gateway, connector="boards", return_url=RETURN_URL)
    done = send(someone, **allowed(someone.depart(connection["connect_url"])))

    expected = f"{RETURN_URL}?connection_id={connection['connection_id']}&status=connected"
    assert ("Connected", f"0; url={expected}") == (heading(done), done.headers["refresh"])


@requirement("connections-15", "connections-28")
def test_a_token_with_less_scope_is_reported_and_connects_nothing(gateway: Gateway, someone: BrowserUser) -> None:
    connection = open_link(gateway, connector="boards")
    page = send(someone, **allowed(someone.depart(connection["connect_url"]), "write"))

    assert (400, "Some permissions were not granted") == (page.status_code, heading(page))
    assert (True, False) == ("<code>write</code>" in page.text, "<code>read</code>" in page.text)
    assert "pending" == page_texts(gateway, connection["connection_id"])["status"]


@requirement("connections-30")
def test_a_token_reports_its_scope_and_expiry(gateway: Gateway) -> None:
    lasting, ending = pasted(gateway, "never"), pasted(gateway, "1day")
    tested = gateway.operator("POST", f"/v1/connections/{ending['connection_id']}/test").data

    assert [["read", "write"]] * 2 == [lasting["scopes"], ending["scopes"]]
    assert (None, True) == (lasting["expires_at"], ending["expires_at"] > ending["created_at"])
    assert (ending["expires_at"], []) == (tested["expires_at"], tested["missing_scopes"])


@requirement("connections-25", "connections-30")
def test_a_token_is_revoked_when_its_last_connection_is_removed(gateway: Gateway) -> None:
    first = pasted(gateway, "never")
    body = {"workspace_id": gateway.workspace_id, "connector": "boards", "credentials": first["credentials"]}
    second = gateway.operator("POST", "/v1/connections", json=body).data
    gateway.operator("DELETE", f"/v1/connections/{first['connection_id']}")
    status = gateway.operator("POST", f"/v1/connections/{second['connection_id']}/test").data["status"]
    gateway.operator("DELETE", f"/v1/connections/{second['connection_id']}")
    again = gateway.operator("POST", "/v1/connections", json=body)

    assert ("active", "credentials_refused") == (status, again.code)


@requirement("connections-25", "connections-30")
def test_a_connection_is_removed_though_its_token_cannot_be_revoked(gateway: Gateway) -> None:
    connection_id = pasted(gateway, "never")["connection_id"]
    gateway.fault("boards", method="DELETE", fault="status", status=500, times=3)
    removed = gateway.operator("DELETE", f"/v1/connections/{connection_id}").data["status"]
    gateway.clear("boards")

    assert ("removed", 404) == (removed, gateway.operator("GET", f"/v1/connections/{connection_id}").status)
