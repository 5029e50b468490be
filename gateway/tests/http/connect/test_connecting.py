"""A user connects an account in a browser: the whole way, and every way in which it does not come to that."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from connector_gateway.connectors.notes.oauth import OAUTH as NOTES_OAUTH
from connector_gateway.core.access.keys import KeyScope
from connector_gateway.storage import tables
from harness.connect_pages import BrowserUser, connected, heading, open_link, page_texts, reconnecting, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway
from harness.requirement import requirement

RETURN_URL = "https://app.example.com/connected"


@requirement("connections-1", "connections-2")
def test_without_credentials_a_connection_is_pending_and_comes_with_a_link(gateway: Gateway) -> None:
    created = open_link(gateway)
    rejected = gateway.get("/notes/databases", connection_id=created["connection_id"])

    assert ("pending", True) == (created["status"], created["connect_url"].startswith("http://127.0.0.1:8080/connect/"))
    assert created["expires_at"] > created["created_at"]
    assert (409, "connection_pending") == (rejected.status, rejected.code)


@requirement("connections-3", "connections-4")
def test_a_user_who_allows_the_access_has_connected_an_account(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    consent = someone.open(created["connect_url"])
    done = someone.allow(created["connect_url"])
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
def test_the_user_is_sent_back_to_the_customer_with_the_connection(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway, return_url=f"{RETURN_URL}?user=5")
    sent = someone.allow(created["connect_url"])

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
def test_nobody_is_sent_where_the_workspace_does_not_allow_it(gateway: Gateway, url: str) -> None:
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "return_url": url}
    reply = gateway.operator("POST", "/v1/connections", json=body)

    assert (422, ["return_url"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("connections-5")
def test_a_return_url_that_is_no_longer_allowed_is_not_used(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway, return_url=RETURN_URL)
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": []})

    assert "Connected" == heading(someone.allow(created["connect_url"]))


@requirement("connections-5")
@pytest.mark.parametrize(
    "url", ["http://app.example.com/x", "https://a@b.test/", "https://b.test/?a=1", "ftp://b.test/", "https://", "b"]
)
def test_a_workspace_allows_only_addresses_that_are_safe_to_go_to(gateway: Gateway, url: str) -> None:
    reply = gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"return_urls": [url]})

    assert (422, ["return_urls[0]"]) == (reply.status, [detail["parameter"] for detail in reply.details])


# Ways in which it does not come to that


@requirement("connections-6")
def test_a_user_who_denies_access_gets_an_error_and_may_try_again(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    rejected = someone.cancel(created["connect_url"])
    before = page_texts(gateway, created["connection_id"])["status"]
    again = someone.allow(created["connect_url"])

    assert (400, "Access was denied") == (rejected.status_code, heading(rejected))
    assert urlsplit(created["connect_url"]).path in rejected.text
    assert ("pending", "Connected") == (before, heading(again))


@requirement("connections-7")
@pytest.mark.parametrize("state", ["", "forged", "x" * 5000])
def test_a_forged_state_is_not_known(gateway: Gateway, someone: BrowserUser, state: str) -> None:
    created = open_link(gateway)
    consent = someone.depart(created["connect_url"])
    page = someone.come_back(consent, {"code": "abc", "state": state})

    assert (404, "This link is not valid") == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_an_answer_is_good_once(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    consent = someone.depart(created["connect_url"])
    cookies = dict(someone.http.cookies)
    with Browser() as there:
        answer = there.allow(consent)
    first = someone.come_back(consent, answer)
    someone.http.cookies.update(cookies)
    second = someone.come_back(consent, answer)

    assert ("Connected", "This link was already used") == (heading(first), heading(second))


async def let_pass(gateway: Gateway) -> None:
    """Let the time of every consent be over."""
    past = update(tables.consents).values(expires_at=0.0)
    await gateway.app.database.write(lambda writing: writing.execute(past).rowcount)


@requirement("connections-7")
def test_an_answer_that_comes_too_late_does_not_count(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    consent = someone.depart(created["connect_url"])
    gateway.run(let_pass(gateway))
    with Browser() as there:
        late = someone.come_back(consent, there.allow(consent))

    assert (400, "The request has expired") == (late.status_code, heading(late))
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_an_answer_counts_only_in_the_browser_that_was_sent(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    consent = someone.depart(created["connect_url"])
    with Browser() as there, user(gateway) as other:
        answer = there.allow(consent)
        stolen = other.come_back(consent, answer)
    own = someone.come_back(consent, answer)

    assert (400, "Another browser") == (stolen.status_code, heading(stolen))
    assert "Connected" == heading(own)


@requirement("connections-7")
def test_a_cookie_that_somebody_else_has_set_does_not_fit(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    with Browser() as there, user(gateway) as attacker:
        consent = attacker.depart(created["connect_url"])
        someone.depart(created["connect_url"])
        page = someone.come_back(consent, there.allow(consent))

    assert "Another browser" == heading(page)
    assert "pending" == page_texts(gateway, created["connection_id"])["status"]


@requirement("connections-7")
def test_a_callback_of_another_connector_is_not_known(gateway: Gateway, someone: BrowserUser) -> None:
    consent = someone.depart(open_link(gateway)["connect_url"])
    with Browser() as there:
        answer = there.allow(consent)
    page = someone.come_back(consent.replace("notes%2Fcallback", "mail%2Fcallback"), answer)

    assert 404 == page.status_code


@requirement("connections-9")
@pytest.mark.parametrize("more", [{}, {"code": ""}, {"error": "server_error"}, {"error": ""}])
def test_an_answer_without_a_code_connects_nothing(
    gateway: Gateway, someone: BrowserUser, more: dict[str, str]
) -> None:
    created = open_link(gateway)
    consent = someone.depart(created["connect_url"])
    state = dict(parse_qsl(urlsplit(consent).query))["state"]
    page = someone.come_back(consent, {"state": state, **more})

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
    ids=["garbage", "failed", "throttled", "page", "wrong shape", "our client", "cut", "code refused"],
)
def test_a_token_endpoint_that_fails_connects_nothing_and_says_so(
    gateway: Gateway, someone: BrowserUser, fault: dict[str, object], status: int
) -> None:
    created = open_link(gateway)
    gateway.fault("notes", path="/v1/oauth/token", times=1, **fault)
    page = someone.allow(created["connect_url"])
    gateway.clear("notes")

    assert (status, "pending") == (page.status_code, page_texts(gateway, created["connection_id"])["status"])
    assert "Try again" in page.text


@requirement("connections-1")
def test_a_link_that_nobody_issued_is_not_known(someone: BrowserUser) -> None:
    page = someone.open("/connect/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

    assert (404, "This link is not valid") == (page.status_code, heading(page))


@requirement("connections-8")
def test_a_link_is_good_until_an_account_is_connected(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    someone.allow(created["connect_url"])
    page, pressed = someone.open(created["connect_url"]), someone.press(created["connect_url"])

    assert [(410, "This link was already used")] * 2 == [(one.status_code, heading(one)) for one in (page, pressed)]


@requirement("connections-8")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_the_button_is_only_pressed_on_our_own_page(gateway: Gateway, someone: BrowserUser, site: str) -> None:
    page = someone.press(open_link(gateway)["connect_url"], headers={"Sec-Fetch-Site": site})

    assert (400, {}) == (page.status_code, dict(page.cookies))


@requirement("connections-3")
def test_names_are_rendered_as_text(gateway: Gateway, someone: BrowserUser) -> None:
    name = "<script>alert(1)</script> \u202egnp.exe 🎉"
    gateway.operator("PATCH", f"/v1/workspaces/{gateway.workspace_id}", json={"name": name})
    page = someone.open(open_link(gateway)["connect_url"])

    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "🎉" in page.text


@requirement("connections-3")
def test_pages_load_nothing_and_are_not_cached(gateway: Gateway, someone: BrowserUser) -> None:
    page = someone.open(open_link(gateway)["connect_url"])

    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert ("no-store", "same-origin") == (page.headers["cache-control"], page.headers["referrer-policy"])


# Again


@requirement("connections-11")
def test_connecting_again_preserves_the_connection_and_its_account(gateway: Gateway, someone: BrowserUser) -> None:
    connection_id = connected(someone)
    before = page_texts(gateway, connection_id)
    done = someone.allow(reconnecting(gateway, connection_id))
    after = page_texts(gateway, connection_id)

    assert "Connected" == heading(done)
    assert (before["account_id"], "active") == (after["account_id"], after["status"])
    assert 200 == gateway.get("/notes/databases", connection_id=connection_id).status


@requirement("administration-7", "administration-9")
def test_what_becomes_of_a_connection_and_its_links_is_recorded(gateway: Gateway, someone: BrowserUser) -> None:
    connection_id = connected(someone)
    someone.allow(reconnecting(gateway, connection_id), account=second_account(someone))
    gateway.operator("POST", f"/v1/connections/{connection_id}/test")
    entries = gateway.operator("GET", "/v1/audit", params={"object_id": connection_id}).data

    assert [
        ("operator", "create_connection", "ok"),
        ("connect_link", "connect_account", "ok"),
        ("operator", "reconnect_connection", "ok"),
        ("connect_link", "connect_account", "other_account"),
        ("operator", "test_connection", "ok"),
    ] == [(entry["actor"], entry["act"], entry["outcome"]) for entry in reversed(entries)]


def second_account(someone: BrowserUser) -> str:
    """An account of the stand-in that nobody picks at first."""
    consent = someone.depart(open_link(someone.gateway)["connect_url"])
    with Browser() as there:
        form = there.form(consent)
    return next(account for account in form.accounts if account != form.account)


@requirement("connections-13")
def test_a_rejected_call_names_the_link_to_connect_again(gateway: Gateway, someone: BrowserUser) -> None:
    connection_id, managing = connected(someone), gateway.with_key(manages_connections=True)
    gateway.revoke("notes")
    first = managing.get("/notes/databases", connection_id=connection_id)
    second = managing.get("/notes/databases", connection_id=connection_id)
    gateway.authorise("notes")
    url = first.details[-1]["reconnect_url"]
    done = someone.allow(url)
    after = gateway.get("/notes/databases", connection_id=connection_id)

    assert (401, "connection_revoked") == (first.status, first.code)
    assert url == second.details[-1]["reconnect_url"]
    assert ("Connected", 200) == (heading(done), after.status)


@requirement("connections-13", "connections-32")
@pytest.mark.parametrize("scope", ["read", "read_write"])
def test_a_key_that_manages_no_connections_gets_no_link(
    gateway: Gateway, someone: BrowserUser, scope: KeyScope
) -> None:
    connection_id = connected(someone)
    gateway.revoke("notes")
    rejected = gateway.with_key(scope).get("/notes/databases", connection_id=connection_id)
    gateway.authorise("notes")

    assert (401, "connection_revoked") == (rejected.status, rejected.code)
    assert "/connect/" not in str(rejected.body)


@requirement("connections-13")
def test_a_used_link_is_not_returned_again(gateway: Gateway, someone: BrowserUser) -> None:
    connection_id, managing = connected(someone), gateway.with_key(manages_connections=True)
    gateway.revoke("notes")
    first = managing.get("/notes/databases", connection_id=connection_id).details[-1]["reconnect_url"]
    gateway.authorise("notes")
    someone.allow(first)
    gateway.revoke("notes")
    second = managing.get("/notes/databases", connection_id=connection_id).details[-1]["reconnect_url"]
    gateway.authorise("notes")

    assert first != second
    assert "Connected" == heading(someone.allow(second))


@requirement("connections-8")
def test_a_link_that_two_opened_connects_the_account_of_the_first(gateway: Gateway, someone: BrowserUser) -> None:
    created = open_link(gateway)
    with user(gateway) as other, Browser() as there:
        here, elsewhere = someone.depart(created["connect_url"]), other.depart(created["connect_url"])
        first, second = there.allow(here), there.allow(elsewhere)
        pages = [someone.come_back(here, first), other.come_back(elsewhere, second)]

    assert ["Connected", "This link was already used"] == [heading(page) for page in pages]


@requirement("connections-2")
def test_a_pending_connection_cannot_be_tested(gateway: Gateway) -> None:
    created = open_link(gateway)
    reply = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test")

    assert (409, "connection_pending") == (reply.status, reply.code)


@requirement("connections-24")
def test_no_secret_is_in_a_log_line_a_run_a_page_or_an_answer(gateway: Gateway, someone: BrowserUser) -> None:
    with capture_logs() as lines, Browser() as there:
        created = open_link(gateway)
        consent = someone.depart(created["connect_url"])
        answer = there.allow(consent)
        gateway.fault("notes", path="/v1/oauth/token", fault="status", status=500, body=answer, times=1)
        failed = someone.come_back(consent, answer)
        done = someone.allow(created["connect_url"])
        gateway.revoke("notes")
        rejected = gateway.get("/notes/databases", connection_id=created["connection_id"])
        gateway.authorise("notes")
        runs = gateway.operator("GET", f"/v1/runs?connection_id={created['connection_id']}").body
        connection = gateway.run(gateway.app.connections.find(created["connection_id"]))
    assert connection is not None
    client = gateway.sandbox.emulators["notes"].client()
    secrets = [*connection.stored.values(), client["client_secret"], answer["code"], *someone.http.cookies.values()]
    link = urlsplit(created["connect_url"]).path

    texts = f"{lines} {runs} {failed.text} {done.text} {rejected.body}"
    assert "account not connected" in [line["event"] for line in lines]
    assert [] == [secret for secret in secrets if secret in texts]
    assert link not in f"{lines} {runs} {rejected.body}"
