"""A user connects an account in a browser: success, and every failure."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from connector_gateway.connectors.notes.oauth import OAUTH as NOTES_OAUTH
from connector_gateway.core.access.keys import KeyScope
from connector_gateway.storage.sql import tables
from harness.connect_pages import BrowserUser, connected, heading, open_link, page_texts, reconnecting, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway
from harness.requirement import requirement

RETURN_URL = "https://app.example.com/connected"


@requirement("connections-1", "connections-2")
def test_a_connection_without_credentials_is_pending_and_has_a_link(gateway: Gateway) -> None:
    created = open_link(gateway)
    rejected = gateway.get("/notes/databases", connection_id=created["connection_id"])

    assert ("pending", True) == (created["status"], created["connect_url"].startswith("http://127.0.0.1:8080/connect/"))
    assert created["expires_at"] > created["created_at"]
    assert (409, "connection_pending") == (rejected.status, rejected.code)


@requirement("connections-3", "connections-4")
def test_allowing_access_connects_an_account(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    consent = browser_user.open(created["connect_url"])
    done = browser_user.allow(created["connect_url"])
    connection = page_texts(gateway, created["connection_id"])
    call = gateway.get("/notes/databases", connection_id=created["connection_id"])

    assert [True] * 4 == [
        one in consent.text for one in ("Notion", "Acme", *NOTES_OAUTH.readable[:1], *NOTES_OAUTH.changeable[:1])
    ]
    assert (200, "Connected") == (done.status_code, heading(done))
    assert ("active", None) == (connection["status"], connection["expires_at"])
    assert connection["account_name"] in done.text
    assert 200 == call.status


@requirement("connections-5")
def test_the_user_is_redirected_to_the_return_url_with_the_connection(
    gateway: Gateway, browser_user: BrowserUser
) -> None:
    created = open_link(gateway, return_url=f"{RETURN_URL}?user=5")
    sent = browser_user.allow(created["connect_url"])

    expected = {"user": "5", "connection_id": created["connection_id"], "status": "connected"}
    assert (303, RETURN_URL) == (sent.status_code, sent.headers["location"].partition("?")[0])
    assert expected == dict(parse_qsl(urlsplit(sent.headers["location"]).query))


@requirement("connections-5")
@pytest.mark.parametrize(
    "url",
    [
        "https://app.example.com.evil.test/connected",
        "https://app.example.com@evil.test/connected",
        "https://evil.test/connected",
        "https://app.example.com/connected/../elsewhere",
        "https://app.example.com/connected#token",
        "http://app.example.com/connected",
        "//app.example.com/connected",
        "/connected",
        "javascript:alert(1)",
        "https://app.example.com/connected?\n",
        "https:/\\app.example.com/connected",
        "",
    ],
)
def test_return_urls_that_the_workspace_does_not_allow_are_rejected(gateway: Gateway, url: str) -> None:
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "return_url": url}
    reply = gateway.operator("POST", "/v1/connections", json=body)

    assert (422, ["return_url"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("connections-5")
def test_a_return_url_that_is_no_longer_allowed_is_not_used(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway, return_url=RETURN_URL)
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": []})

    assert "Connected" == heading(browser_user.allow(created["connect_url"]))


@requirement("connections-5")
@pytest.mark.parametrize(
    "url", ["http://app.example.com/x", "https://a@b.test/", "https://b.test/?a=1", "ftp://b.test/", "https://", "b"]
)
def test_unsafe_return_urls_of_a_workspace_are_rejected(gateway: Gateway, url: str) -> None:
    reply = gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": [url]})

    assert (422, ["return_urls[0]"]) == (reply.status, [detail["parameter"] for detail in reply.details])


# Failures


@requirement("connections-6")
def test_denied_access_is_an_error_and_can_be_retried(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    rejected = browser_user.cancel(created["connect_url"])
    before = page_texts(gateway, created["connection_id"])["status"]
    again = browser_user.allow(created["connect_url"])

    assert (400, "Access was denied") == (rejected.status_code, heading(rejected))
    assert urlsplit(created["connect_url"]).path in rejected.text
    assert ("pending", "Connected") == (before, heading(again))


@requirement("connections-7")
@pytest.mark.parametrize("state", ["", "forged", "x" * 5000])
def test_a_forged_state_is_rejected(gateway: Gateway, browser_user: BrowserUser, state: str) -> None:
    created = open_link(gateway)
    consent = browser_user.depart(created["connect_url"])
    page = browser_user.come_back(consent, {"code": "abc", "state": state})

    assert (404, "This link is not valid") == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_a_consent_response_can_be_used_once(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    consent = browser_user.depart(created["connect_url"])
    cookies = dict(browser_user.http.cookies)
    with Browser() as browser:
        response = browser.allow(consent)
    first = browser_user.come_back(consent, response)
    browser_user.http.cookies.update(cookies)
    second = browser_user.come_back(consent, response)

    assert ("Connected", "This link was already used") == (heading(first), heading(second))


async def expire_consents(gateway: Gateway) -> None:
    """Let every consent expire."""
    past = update(tables.consents).values(expires_at=0.0)
    await gateway.app.database.write(lambda db: db.execute(past).rowcount)


@requirement("connections-7")
def test_a_late_consent_response_is_rejected(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    consent = browser_user.depart(created["connect_url"])
    gateway.run(expire_consents(gateway))
    with Browser() as browser:
        late = browser_user.come_back(consent, browser.allow(consent))

    assert (400, "The request has expired") == (late.status_code, heading(late))
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_a_consent_response_in_another_browser_is_rejected(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    consent = browser_user.depart(created["connect_url"])
    with Browser() as browser, user(gateway) as other:
        response = browser.allow(consent)
        stolen = other.come_back(consent, response)
    own = browser_user.come_back(consent, response)

    assert (400, "Another browser") == (stolen.status_code, heading(stolen))
    assert "Connected" == heading(own)


@requirement("connections-7")
def test_a_cookie_of_another_consent_is_rejected(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    with Browser() as browser, user(gateway) as attacker:
        consent = attacker.depart(created["connect_url"])
        browser_user.depart(created["connect_url"])
        page = browser_user.come_back(consent, browser.allow(consent))

    assert "Another browser" == heading(page)
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_a_callback_of_another_connector_is_rejected(gateway: Gateway, browser_user: BrowserUser) -> None:
    consent = browser_user.depart(open_link(gateway)["connect_url"])
    with Browser() as browser:
        response = browser.allow(consent)
    page = browser_user.come_back(consent.replace("notes%2Fcallback", "mail%2Fcallback"), response)

    assert 404 == page.status_code


@requirement("connections-9")
@pytest.mark.parametrize("more", [{}, {"code": ""}, {"error": "server_error"}, {"error": ""}])
def test_a_consent_response_without_a_code_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser, more: dict[str, str]
) -> None:
    created = open_link(gateway)
    consent = browser_user.depart(created["connect_url"])
    state = dict(parse_qsl(urlsplit(consent).query))["state"]
    page = browser_user.come_back(consent, {"state": state, **more})

    assert (400, "Notion reported a problem") == (page.status_code, heading(page))
    assert "Try again" in page.text
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-9")
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"fault": "garbage"}, 502),
        ({"fault": "status", "status": 500}, 502),
        ({"fault": "status", "status": 429, "headers": {"Retry-After": "1"}}, 502),
        ({"fault": "status", "status": 200, "body": "<html>Sign in</html>"}, 502),
        ({"fault": "status", "status": 200, "body": {"access_token": 5}}, 502),
        ({"fault": "status", "status": 401, "body": {"error": "invalid_client"}}, 502),
        ({"fault": "drop_after"}, 502),
        ({"fault": "status", "status": 400, "body": {"error": "invalid_grant"}}, 400),
    ],
    ids=[
        "garbage",
        "failed",
        "throttled",
        "page",
        "unexpected shape",
        "client rejected",
        "disconnected",
        "code rejected",
    ],
)
def test_a_failing_token_endpoint_is_reported_and_connects_no_account(
    gateway: Gateway, browser_user: BrowserUser, fault: dict[str, object], status: int
) -> None:
    created = open_link(gateway)
    gateway.fault("notes", path="/v1/oauth/token", times=1, **fault)
    page = browser_user.allow(created["connect_url"])
    gateway.clear("notes")

    assert (status, "pending") == (page.status_code, page_texts(gateway, created["connection_id"])["status"])
    assert "Try again" in page.text


@requirement("connections-1")
def test_an_unknown_connect_link_is_rejected(browser_user: BrowserUser) -> None:
    page = browser_user.open("/connect/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

    assert (404, "This link is not valid") == (page.status_code, heading(page))


@requirement("connections-8")
def test_a_connect_link_is_valid_until_an_account_is_connected(gateway: Gateway, browser_user: BrowserUser) -> None:
    created = open_link(gateway)
    browser_user.allow(created["connect_url"])
    page, pressed = browser_user.open(created["connect_url"]), browser_user.press(created["connect_url"])

    assert [(410, "This link was already used")] * 2 == [(one.status_code, heading(one)) for one in (page, pressed)]


@requirement("connections-8")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_form_submissions_are_rejected(gateway: Gateway, browser_user: BrowserUser, site: str) -> None:
    page = browser_user.press(open_link(gateway)["connect_url"], headers={"Sec-Fetch-Site": site})

    assert (400, {}) == (page.status_code, dict(page.cookies))


@requirement("connections-3")
def test_names_are_rendered_as_text(gateway: Gateway, browser_user: BrowserUser) -> None:
    name = "<script>alert(1)</script> \u202egnp.exe 🎉"
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"name": name})
    page = browser_user.open(open_link(gateway)["connect_url"])

    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "🎉" in page.text


@requirement("connections-3")
def test_pages_load_no_resources_and_are_not_cached(gateway: Gateway, browser_user: BrowserUser) -> None:
    page = browser_user.open(open_link(gateway)["connect_url"])

    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert ("no-store", "same-origin") == (page.headers["cache-control"], page.headers["referrer-policy"])


# Reconnecting


@requirement("connections-11")
def test_connecting_again_preserves_the_connection_and_its_account(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection_id = connected(browser_user)
    before = page_texts(gateway, connection_id)
    done = browser_user.allow(reconnecting(gateway, connection_id))
    after = page_texts(gateway, connection_id)

    assert "Connected" == heading(done)
    assert (before["account_id"], "active") == (after["account_id"], after["status"])
    assert 200 == gateway.get("/notes/databases", connection_id=connection_id).status


@requirement("administration-7", "administration-9")
def test_connection_changes_and_link_uses_are_audited(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection_id = connected(browser_user)
    browser_user.allow(reconnecting(gateway, connection_id), account=get_second_account(browser_user))
    gateway.operator("POST", f"/v1/connections/{connection_id}/test")
    entries = gateway.operator("GET", "/v1/audit", params={"object_id": connection_id}).data

    assert [
        ("operator", "create_connection", "ok"),
        ("connect_link", "connect_account", "ok"),
        ("operator", "reconnect_connection", "ok"),
        ("connect_link", "connect_account", "other_account"),
        ("operator", "test_connection", "ok"),
    ] == [(entry["actor"], entry["act"], entry["outcome"]) for entry in reversed(entries)]


def get_second_account(browser_user: BrowserUser) -> str:
    """Return an account of the emulator that is not selected by default."""
    consent = browser_user.depart(open_link(browser_user.gateway)["connect_url"])
    with Browser() as browser:
        form = browser.form(consent)
    return next(account for account in form.accounts if account != form.account)


@requirement("connections-13")
def test_a_rejected_call_returns_the_reconnect_link(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection_id, managing = connected(browser_user), gateway.with_key(manages_connections=True)
    gateway.revoke("notes")
    first = managing.get("/notes/databases", connection_id=connection_id)
    second = managing.get("/notes/databases", connection_id=connection_id)
    gateway.authorise("notes")
    url = first.details[-1]["reconnect_url"]
    done = browser_user.allow(url)
    after = gateway.get("/notes/databases", connection_id=connection_id)

    assert (401, "connection_revoked") == (first.status, first.code)
    assert url == second.details[-1]["reconnect_url"]
    assert ("Connected", 200) == (heading(done), after.status)


@requirement("connections-13", "connections-32")
@pytest.mark.parametrize("scope", ["read", "read_write"])
def test_keys_without_connection_management_get_no_reconnect_link(
    gateway: Gateway, browser_user: BrowserUser, scope: KeyScope
) -> None:
    connection_id = connected(browser_user)
    gateway.revoke("notes")
    rejected = gateway.with_key(scope).get("/notes/databases", connection_id=connection_id)
    gateway.authorise("notes")

    assert (401, "connection_revoked") == (rejected.status, rejected.code)
    assert "/connect/" not in str(rejected.body)


@requirement("connections-13")
def test_a_used_link_is_not_returned_again(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection_id, managing = connected(browser_user), gateway.with_key(manages_connections=True)
    gateway.revoke("notes")
    first = managing.get("/notes/databases", connection_id=connection_id).details[-1]["reconnect_url"]
    gateway.authorise("notes")
    browser_user.allow(first)
    gateway.revoke("notes")
    second = managing.get("/notes/databases", connection_id=connection_id).details[-1]["reconnect_url"]
    gateway.authorise("notes")

    assert first != second
    assert "Connected" == heading(browser_user.allow(second))


@requirement("connections-8")
def test_a_link_opened_by_two_users_connects_only_the_first_account(
    gateway: Gateway, browser_user: BrowserUser
) -> None:
    created = open_link(gateway)
    with user(gateway) as other, Browser() as browser:
        here, elsewhere = browser_user.depart(created["connect_url"]), other.depart(created["connect_url"])
        first, second = browser.allow(here), browser.allow(elsewhere)
        pages = [browser_user.come_back(here, first), other.come_back(elsewhere, second)]

    assert ["Connected", "This link was already used"] == [heading(page) for page in pages]


@requirement("connections-2")
def test_a_pending_connection_cannot_be_tested(gateway: Gateway) -> None:
    created = open_link(gateway)
    reply = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test")

    assert (409, "connection_pending") == (reply.status, reply.code)


@requirement("connections-24")
def test_logs_runs_pages_and_responses_contain_no_secrets(gateway: Gateway, browser_user: BrowserUser) -> None:
    with capture_logs() as lines, Browser() as browser:
        created = open_link(gateway)
        consent = browser_user.depart(created["connect_url"])
        response = browser.allow(consent)
        gateway.fault("notes", path="/v1/oauth/token", fault="status", status=500, body=response, times=1)
        failed = browser_user.come_back(consent, response)
        done = browser_user.allow(created["connect_url"])
        gateway.revoke("notes")
        rejected = gateway.get("/notes/databases", connection_id=created["connection_id"])
        gateway.authorise("notes")
        runs = gateway.operator("GET", f"/v1/runs?connection_id={created['connection_id']}").body
        connection = gateway.run(gateway.app.connections.find(created["connection_id"]))
    assert connection is not None
    client = gateway.sandbox.emulators["notes"].client()
    secrets = [
        *connection.stored.values(),
        client["client_secret"],
        response["code"],
        *browser_user.http.cookies.values(),
    ]
    link = urlsplit(created["connect_url"]).path

    texts = f"{lines} {runs} {failed.text} {done.text} {rejected.body}"
    assert "account not connected" in [line["event"] for line in lines]
    assert [] == [secret for secret in secrets if secret in texts]
    assert link not in f"{lines} {runs} {rejected.body}"
