"""Sessions, cookies and wrong tokens of the console."""

from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select, update

from connector_gateway.core.access.sessions import IDLE_SECONDS, SESSION_SECONDS
from connector_gateway.core.access.wrong_token_throttle import BURST, MAX_DELAYED_PER_ADDRESS
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.http.console.request import ConsoleRoute
from connector_gateway.http.console.routes import ROUTES
from connector_gateway.storage.sql import tables
from harness.gateway_server import OPERATOR, Gateway, restartable_gateway, run_gateway
from harness.html_browser import Browser
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

SESSION = "gateway_console"
CLOSED = [route for route in ROUTES if not route.for_visitors]


def test_the_operator_token_opens_the_console(visitor: Browser) -> None:
    page = visitor.sign_in()

    assert (200, "/console", "Overview") == (page.status, page.path, page.heading)


@pytest.mark.parametrize("cookie", ['pref={"wide": "yes or no"}', "theme[dark]=1", 'a=b; {"x":1}=2'])
def test_malformed_cookies_of_other_programs_do_not_prevent_signing_in(visitor: Browser, cookie: str) -> None:
    visitor.sign_in()
    session = visitor.http.cookies[SESSION]
    visitor.http.cookies.clear()
    page = visitor.http.get("/console", headers={"Cookie": f"{cookie}; {SESSION}={session}"}, follow_redirects=False)

    assert 200 == page.status_code


@pytest.mark.parametrize("route", CLOSED, ids=lambda route: f"{route.method} {route.path}")
def test_every_page_and_form_without_a_session_redirects_to_sign_in(visitor: Browser, route: ConsoleRoute) -> None:
    response = visitor.http.request(route.method, route.path.replace("{", "").replace("}", ""), follow_redirects=False)

    assert 303 == response.status_code
    assert response.headers["location"].startswith("/console/sign-in")


def test_signing_in_redirects_to_the_requested_page(visitor: Browser) -> None:
    page = visitor.sign_in(at="/console/runs?status=error")

    assert "/console/runs?status=error" == page.path


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/console",
        "//evil.example/console",
        "/console\\..\\evil",
        "/consolex",
        "/docs",
        "javascript:alert(1)",
        "/console/\r\nX: y",
    ],
)
def test_signing_in_redirects_only_to_pages_of_the_console(visitor: Browser, elsewhere: str) -> None:
    page = visitor.submit(visitor.open("/console/sign-in", next=elsewhere), "Sign in", operator_token=OPERATOR)
    form = visitor.open("/console/sign-in")

    assert "/console" == page.path
    assert "/console" == form.path


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example"])
def test_a_forged_redirect_in_the_form_is_ignored(visitor: Browser, elsewhere: str) -> None:
    page = visitor.submit(visitor.open("/console"), "Sign in", operator_token=OPERATOR, next=elsewhere)

    assert "/console" == page.path


def test_a_wrong_token_is_reported(visitor: Browser) -> None:
    page = visitor.sign_in("wrong")

    assert 401 == page.status
    assert page.alert.startswith("The token is not an operator token of this installation")
    assert "GATEWAY_OPERATOR_TOKEN" in page.alert
    assert SESSION not in visitor.http.cookies


def test_an_api_key_is_not_the_operator_token(visitor: Browser, gateway: Gateway) -> None:
    assert 401 == visitor.sign_in(gateway.key).status


def test_a_wrong_token_is_not_displayed(visitor: Browser) -> None:
    assert "what-was-typed" not in visitor.sign_in("what-was-typed").response.text


@requirement("limits-2")
def test_wrong_tokens_share_the_throttle_of_the_api(tmp_path: Path) -> None:
    with run_gateway(Sandbox({}), tmp_path, connectors={}) as gateway:
        browser = Browser(gateway)
        form = browser.open("/console/sign-in")
        for _ in range(BURST):
            gateway.request("GET", "/v1/workspaces", headers={"Authorization": "Bearer guess"})
        pages = gateway.together(
            *[lambda: browser.submit(form, "Sign in", operator_token="guess")] * (MAX_DELAYED_PER_ADDRESS + 4)
        )
        browser.http.close()
        throttled = [page for page in pages if page.status == 429]

    assert {401, 429} == {page.status for page in pages}
    assert "too many wrong tokens were sent from this address" in throttled[0].alert
    assert "Send a correct token, which is accepted immediately" in throttled[0].alert
    assert "1" == throttled[0].response.headers["retry-after"]


def test_the_session_cookie_is_hidden_from_scripts_and_other_sites(visitor: Browser) -> None:
    form = visitor.open("/console/sign-in")
    fields = {str(one["name"]): str(one.get("value", "")) for one in form.form("Sign in").select("input[name]")}
    response = visitor.http.post("/console/sign-in", data=fields | {"operator_token": OPERATOR}, follow_redirects=False)
    cookie = next(line for line in response.headers.get_list("set-cookie") if line.startswith(f"{SESSION}="))
    rules = cookie.partition("; ")[2].split("; ")

    assert {"HttpOnly", f"Max-Age={SESSION_SECONDS:.0f}", "Path=/console", "SameSite=lax"} == set(rules)


def test_the_session_cookie_behind_https_is_secure_and_limited_to_its_path(tmp_path: Path) -> None:
    with run_gateway(Sandbox({}), tmp_path, connectors={}, GATEWAY_BASE_URL="https://example.com/gateway") as gateway:
        response = gateway.http.get(f"{gateway.base_url}/console/sign-in")

    assert {"Secure", "Path=/gateway/console"} <= set(response.headers["set-cookie"].split("; "))
    assert 'action="/gateway/console/sign-in"' in response.text


def test_each_sign_in_replaces_the_session(visitor: Browser) -> None:
    visitor.sign_in()
    first = visitor.http.cookies[SESSION]
    overview = visitor.open("/console")
    token = str(overview.form("Sign out").select_one("input[name=form_token]")["value"])  # type: ignore[index]
    visitor.http.post("/console/sign-in", data={"form_token": token, "operator_token": OPERATOR})
    second = visitor.http.cookies[SESSION]

    assert first != second
    assert [303, 200] == [_status(visitor, session) for session in (first, second)]


@pytest.mark.parametrize("planted", ["chosen-by-somebody-else", "A" * 86, "\u00e9".encode().hex(), "x" * 5000])
def test_a_session_chosen_by_another_client_is_not_accepted(visitor: Browser, planted: str) -> None:
    visitor.http.cookies.set(SESSION, planted, path="/console")
    before = visitor.open("/console")
    visitor.http.cookies.clear()
    visitor.http.cookies.set(SESSION, planted, path="/console")
    visitor.sign_in()

    assert "Sign in to the console" == before.heading
    assert planted not in [cookie.value for cookie in visitor.http.cookies.jar if cookie.domain != ""]
    assert 303 == _status(visitor, planted)


def test_signing_out_ends_the_session_for_copies_too(operator: Browser) -> None:
    copied = operator.http.cookies[SESSION]
    page = operator.submit(operator.open("/console"), "Sign out")

    assert ("/console/sign-in?done=sign_out", True) == (page.path, "You have signed out." in page.text)
    assert SESSION not in operator.http.cookies
    assert 303 == _status(operator, copied)


def test_a_session_survives_a_restart_but_not_a_changed_operator_token(tmp_path: Path) -> None:
    with restartable_gateway(Sandbox({}), tmp_path, connectors={})() as gateway:
        browser = Browser(gateway)
        browser.sign_in()
        cookie = browser.http.cookies[SESSION]
        browser.http.close()
    with run_gateway(Sandbox({}), tmp_path, connectors={}) as gateway:
        same = _status(gateway, cookie)
    with run_gateway(Sandbox({}), tmp_path, connectors={}, GATEWAY_OPERATOR_TOKEN=OPERATOR[::-1]) as gateway:
        other = _status(gateway, cookie)

    assert (200, 303) == (same, other)


@requirement("administration-21")
def test_a_link_signs_in_once(visitor: Browser, gateway: Gateway) -> None:
    link = gateway.run(gateway.app.sign_in_link(gateway.base_url))
    ahead = [visitor.http.head(link), visitor.http.get(link, headers={"Sec-Purpose": "prefetch"})]
    page = visitor.open(link)
    visitor.http.cookies.clear()
    again = visitor.open(link)

    assert [200, 200] == [looked.status_code for looked in ahead]
    assert ("/console", "Overview") == (page.path, page.heading)
    assert 401 == again.status
    assert again.alert.startswith("This sign-in link was already used or has expired.")
    assert "connector-gateway console" in again.alert


@requirement("administration-21")
def test_a_used_link_redirects_signed_in_operators_to_the_console(operator: Browser, gateway: Gateway) -> None:
    link = gateway.run(gateway.app.sign_in_link(gateway.base_url))

    assert ["/console", "/console"] == [operator.open(link).path, operator.open(link).path]


@requirement("administration-21", "administration-7")
def test_creating_and_using_a_link_is_recorded(visitor: Browser, gateway: Gateway) -> None:
    with act_as(gateway.app.audit, Actor("cli", surface="cli")):
        link = gateway.run(gateway.app.sign_in_link(gateway.base_url))
    visitor.open(link)
    used, created = gateway.operator("GET", "/v1/audit?limit=2").data

    assert ("cli", "create_sign_in_link") == (created["actor"], created["act"])
    assert ("operator", "sign_in", {"by": "link"}) == (used["actor"], used["act"], used["details"])


def _status(client: Browser | Gateway, session: str) -> int:
    """Return the status of the overview for a browser with *session*."""
    base = str(client.http.base_url) if isinstance(client, Browser) else client.base_url
    return httpx.get(f"{base.rstrip('/')}/console", headers={"Cookie": f"{SESSION}={session}"}).status_code


@requirement("administration-6")
def test_a_session_expires_without_page_requests(operator: Browser, gateway: Gateway) -> None:
    ago = gateway.app.clock.now() - IDLE_SECONDS / 2
    gateway.run(_set_last_seen(gateway, ago))
    operator.http.get("/console", headers={"X-Console-Refresh": "1"})
    refreshed = gateway.run(_last_seen(gateway))
    operator.open("/console")
    used = gateway.run(_last_seen(gateway))

    assert ago == refreshed
    assert used > ago


@requirement("administration-6")
def test_an_idle_session_redirects_to_sign_in(operator: Browser, gateway: Gateway) -> None:
    gateway.run(_set_last_seen(gateway, gateway.app.clock.now() - IDLE_SECONDS))

    assert "Sign in to the console" == operator.open("/console").heading


async def _set_last_seen(gateway: Gateway, seen_at: float) -> None:
    change = update(tables.console_sessions).values(seen_at=seen_at)
    await gateway.app.database.write(lambda db: db.execute(change).rowcount)


async def _last_seen(gateway: Gateway) -> float:
    """Return the last-used time of a session."""
    query = select(func.max(tables.console_sessions.c.seen_at))
    return float(await gateway.app.database.read(lambda db: db.execute(query).scalar_one()))
