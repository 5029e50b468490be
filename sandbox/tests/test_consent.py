"""Consent pages and token endpoints of all emulators."""

from collections.abc import Iterator

import httpx
import pytest
from requests_oauthlib import OAuth2Session

from harness.consent_pages import Browser
from sandbox.tests.oauth_flows import BACK, OAUTH_FLOWS, Application
from workspace_sandbox import Sandbox


@pytest.fixture(scope="module", params=OAUTH_FLOWS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def control(named_sandbox: Sandbox, name: str) -> Iterator[httpx.Client]:
    """A client of the control routes of the emulator. The sandbox is reset after each test."""
    with httpx.Client(base_url=f"{named_sandbox.address}/_control/{name}") as control:
        yield control
        control.post(f"{named_sandbox.address}/_control/reset")


def test_the_page_offers_two_accounts_and_supports_small_and_dark_screens(app: Application, browser: Browser) -> None:
    page = httpx.get(app.address()).text
    form = browser.form(app.address())

    assert "Connector Gateway requests access" in page
    assert 'content="light dark"' in page
    assert 'content="width=device-width, initial-scale=1"' in page
    assert len(form.accounts) >= 2
    assert app.flow.second_label in form.labels
    assert len(form.labels) == len(form.accounts) + len(form.boxes)


def test_cancelling_redirects_with_access_denied(app: Application, browser: Browser) -> None:
    back = browser.cancel(app.address())

    assert ("access_denied", "s 1") == (back["error"], back["state"])
    assert "code" not in back


def test_allowing_redirects_with_a_code_for_the_account(app: Application, browser: Browser) -> None:
    back = browser.allow(app.address())
    tokens = app.exchange(back["code"]).json()

    assert "s 1" == back["state"]
    assert app.flow.first == app.account(tokens["access_token"])


def test_another_account_can_be_chosen(app: Application, browser: Browser) -> None:
    form = browser.form(app.address())
    other = next(account for account in form.accounts if account != form.account)
    code = browser.allow(app.address(), account=other)["code"]

    assert app.flow.second == app.account(app.exchange(code).json()["access_token"])


def test_a_code_can_be_exchanged_once(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]
    first, again = app.exchange(code).json(), app.exchange(code).json()

    assert (True, False) == ("access_token" in first, "access_token" in again)


def test_a_code_is_bound_to_its_redirect_uri(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]

    assert "access_token" not in app.exchange(code, redirect_uri="http://127.0.0.1:9/elsewhere").json()


def test_a_code_expires_after_ten_minutes(
    app: Application, browser: Browser, control: httpx.Client, named_sandbox: Sandbox
) -> None:
    code = browser.allow(app.address())["code"]
    control.post(f"{named_sandbox.address}/_control/clock", json={"advance_seconds": 601})

    assert "access_token" not in app.exchange(code).json()


def test_the_auto_approve_knob_skips_the_page(app: Application, control: httpx.Client) -> None:
    control.post("/knobs", json={"auto_approve": True})
    back = httpx.get(app.address())

    assert (302, True) == (back.status_code, "code=" in back.headers["Location"])


def test_a_wrong_client_secret_gets_no_token(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]
    app.client = app.client | {"client_secret": "wrong"}

    assert "access_token" not in app.exchange(code).json()


def test_revoked_access_is_rejected_until_it_is_restored(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    values = [tokens["access_token"], app.own_token]
    control.post("/revoke")
    withdrawn = [app.token_status(value) for value in values]
    refreshed = app.refresh(tokens.get("refresh_token", "")).json()
    control.post("/authorise")

    assert [app.flow.revoked_status] * 2 == withdrawn
    assert "access_token" not in refreshed
    assert [200, 200] == [app.token_status(value) for value in values]


def test_revoked_access_can_be_granted_again(app: Application, browser: Browser, control: httpx.Client) -> None:
    control.post("/revoke")
    token = app.exchange(browser.allow(app.address())["code"]).json()["access_token"]

    assert app.flow.first == app.account(token)


def test_the_token_seconds_knob_sets_the_token_lifetime(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    control.post("/knobs", json={"token_seconds": 0, **({"rotation": True} if name == "chat" else {})})
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    dead = app.token_status(tokens["access_token"])
    control.post("/knobs", json={"token_seconds": 60})
    fresh = app.refresh(tokens["refresh_token"]).json()["access_token"]

    assert dead in {401, "token_expired"}
    assert 200 == app.token_status(fresh)


def test_tokens_expire_by_the_sandbox_clock(
    app: Application, browser: Browser, control: httpx.Client, name: str, named_sandbox: Sandbox
) -> None:
    control.post("/knobs", json={"token_seconds": 600, **({"rotation": True} if name == "chat" else {})})
    token = app.exchange(browser.allow(app.address())["code"]).json()["access_token"]
    fresh = app.token_status(token)
    control.post(f"{named_sandbox.address}/_control/clock", json={"advance_seconds": 600})

    assert 200 == fresh
    assert app.token_status(token) in {401, "token_expired"}


def test_consent_and_token_requests_are_logged(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    control.delete("/requests")
    app.exchange(browser.allow(app.address())["code"])
    requests = control.get("/requests").json()

    assert [
        ("GET", app.flow.page, 200),
        ("POST", app.flow.page, 302),
        ("POST", app.flow.token, 200),
    ] == [(request["method"], request["path"], request["status"]) for request in requests]


def test_an_unregistered_redirect_uri_is_rejected(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    elsewhere = {"boards": {"allowed_origins": ["https://gateway.test"]}}
    control.post("/knobs", json=elsewhere.get(name, {"redirect_uris": ["https://gateway.test/back"]}))
    response = httpx.get(app.address())

    assert "Location" not in response.headers
    assert "<form" not in response.text


@pytest.mark.parametrize("name", sorted(OAUTH_FLOWS.keys() - {"notes"}), indirect=True, scope="module")
def test_a_wrong_code_verifier_gets_no_token(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]

    assert "access_token" not in app.exchange(code, code_verifier="w" * 43).json()


@pytest.mark.parametrize("name", ["notes", "boards", "tables"], indirect=True, scope="module")
def test_a_refresh_token_rotates_on_use(app: Application, browser: Browser) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    renewed = app.refresh(tokens["refresh_token"]).json()
    again = app.refresh(tokens["refresh_token"]).json()

    assert tokens["refresh_token"] != renewed["refresh_token"]
    assert "access_token" not in again


@pytest.mark.parametrize("name", ["mail", "crm"], indirect=True, scope="module")
def test_a_refresh_token_can_be_reused(app: Application, browser: Browser) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    first, second = app.refresh(tokens["refresh_token"]).json(), app.refresh(tokens["refresh_token"]).json()

    assert (200, 200) == (app.token_status(first["access_token"]), app.token_status(second["access_token"]))
    assert tokens["refresh_token"] == second.get("refresh_token", tokens["refresh_token"])


def test_markup_in_parameters_is_escaped(app: Application, browser: Browser) -> None:
    page = httpx.get(app.address(state='"><script>alert(1)</script>')).text

    assert "<script>" not in page


def test_the_redirect_goes_to_the_requested_uri(app: Application, browser: Browser) -> None:
    response = browser.send(browser.form(app.address()), "allow")

    assert response.headers["Location"].startswith(BACK)


@pytest.mark.parametrize("name", ["boards", "tables"], indirect=True, scope="module")
def test_a_generic_oauth_library_completes_the_flow(
    app: Application, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    scope = app.flow.authorization_params["scope"].split()
    with OAuth2Session(app.client["client_id"], redirect_uri=BACK, scope=scope, pkce="S256") as session:
        page, state = session.authorization_url(app.endpoint(app.flow.page))
        back = browser.allow(page)
        known = {"client_secret": app.client["client_secret"], "include_client_id": not app.flow.basic}
        session.fetch_token(app.endpoint(app.flow.token), code=back["code"], **known)
        who = session.get(app.endpoint(app.flow.identity_path)).json()

    assert (state, app.flow.first) == (back["state"], who[app.flow.account[0]])
