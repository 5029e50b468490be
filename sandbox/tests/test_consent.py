"""What the pages of consent and the token endpoints of all stand-ins have in common."""

from collections.abc import Iterator

import httpx
import pytest
from requests_oauthlib import OAuth2Session

from harness.consent_pages import Browser
from sandbox.tests.dialects import BACK, DIALECTS, Application
from workspace_sandbox import Sandbox


@pytest.fixture(scope="module", params=DIALECTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def control(played: Sandbox, name: str) -> Iterator[httpx.Client]:
    """Steers the stand-in, which is as it was in the end: what is only asked of it leaves nothing that matters."""
    with httpx.Client(base_url=f"{played.address}/_control/{name}") as control:
        yield control
        control.post(f"{played.address}/_control/reset")


def test_the_page_offers_two_accounts_and_fits_a_small_dark_screen(app: Application, browser: Browser) -> None:
    page = httpx.get(app.address()).text
    form = browser.form(app.address())

    assert "Connector Gateway asks for access" in page
    assert 'content="light dark"' in page
    assert 'content="width=device-width, initial-scale=1"' in page
    assert len(form.accounts) >= 2
    assert app.dialect.chosen in form.labels
    assert len(form.labels) == len(form.accounts) + len(form.boxes)


def test_whoever_cancels_is_sent_back_with_the_vendors_error(app: Application, browser: Browser) -> None:
    back = browser.cancel(app.address())

    assert ("access_denied", "s 1") == (back["error"], back["state"])
    assert "code" not in back


def test_whoever_allows_is_sent_back_with_a_code_that_lets_into_their_account(
    app: Application, browser: Browser
) -> None:
    back = browser.allow(app.address())
    tokens = app.exchange(back["code"]).json()

    assert "s 1" == back["state"]
    assert app.dialect.first == app.account(tokens["access_token"])


def test_another_account_can_be_chosen(app: Application, browser: Browser) -> None:
    form = browser.form(app.address())
    other = next(account for account in form.accounts if account != form.account)
    code = browser.allow(app.address(), account=other)["code"]

    assert app.dialect.second == app.account(app.exchange(code).json()["access_token"])


def test_a_code_is_good_once(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]
    first, again = app.exchange(code).json(), app.exchange(code).json()

    assert (True, False) == ("access_token" in first, "access_token" in again)


def test_a_code_is_bound_to_where_it_was_sent(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]

    assert "access_token" not in app.exchange(code, redirect_uri="http://127.0.0.1:9/elsewhere").json()


def test_a_code_is_good_for_a_few_minutes(
    app: Application, browser: Browser, control: httpx.Client, played: Sandbox
) -> None:
    code = browser.allow(app.address())["code"]
    control.post(f"{played.address}/_control/clock", json={"advance_seconds": 601})

    assert "access_token" not in app.exchange(code).json()


def test_a_knob_says_yes_on_every_page(app: Application, control: httpx.Client) -> None:
    control.post("/knobs", json={"auto_approve": True})
    back = httpx.get(app.address())

    assert (302, True) == (back.status_code, "code=" in back.headers["Location"])


def test_a_client_without_its_secret_gets_nothing(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]
    app.client = app.client | {"client_secret": "wrong"}

    assert "access_token" not in app.exchange(code).json()


def test_withdrawn_access_is_refused_until_it_is_given_back(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    values = [tokens["access_token"], app.own]
    control.post("/revoke")
    withdrawn = [app.state(value) for value in values]
    refreshed = app.refresh(tokens.get("refresh_token", "")).json()
    control.post("/authorise")

    assert [app.dialect.gone] * 2 == withdrawn
    assert "access_token" not in refreshed
    assert [200, 200] == [app.state(value) for value in values]


def test_access_that_was_withdrawn_can_be_allowed_anew(
    app: Application, browser: Browser, control: httpx.Client
) -> None:
    control.post("/revoke")
    token = app.exchange(browser.allow(app.address())["code"]).json()["access_token"]

    assert app.dialect.first == app.account(token)


def test_a_knob_sets_the_life_of_tokens(app: Application, browser: Browser, control: httpx.Client, name: str) -> None:
    control.post("/knobs", json={"token_seconds": 0, **({"rotation": True} if name == "chat" else {})})
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    dead = app.state(tokens["access_token"])
    control.post("/knobs", json={"token_seconds": 60})
    fresh = app.refresh(tokens["refresh_token"]).json()["access_token"]

    assert dead in {401, "token_expired"}
    assert 200 == app.state(fresh)


def test_tokens_end_by_the_clock(
    app: Application, browser: Browser, control: httpx.Client, name: str, played: Sandbox
) -> None:
    control.post("/knobs", json={"token_seconds": 600, **({"rotation": True} if name == "chat" else {})})
    token = app.exchange(browser.allow(app.address())["code"]).json()["access_token"]
    fresh = app.state(token)
    control.post(f"{played.address}/_control/clock", json={"advance_seconds": 600})

    assert 200 == fresh
    assert app.state(token) in {401, "token_expired"}


def test_consent_and_tokens_are_in_the_journal(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    control.delete("/requests")
    app.exchange(browser.allow(app.address())["code"])
    told = control.get("/requests").json()

    assert [
        ("GET", app.dialect.page, 200),
        ("POST", app.dialect.page, 302),
        ("POST", app.dialect.token, 200),
    ] == [(one["method"], one["path"], one["status"]) for one in told]


def test_nobody_is_sent_to_an_address_that_is_not_registered(
    app: Application, browser: Browser, control: httpx.Client, name: str
) -> None:
    elsewhere = {"boards": {"allowed_origins": ["https://gateway.test"]}}
    control.post("/knobs", json=elsewhere.get(name, {"redirect_uris": ["https://gateway.test/back"]}))
    answer = httpx.get(app.address())

    assert "Location" not in answer.headers
    assert "<form" not in answer.text


@pytest.mark.parametrize("name", sorted(DIALECTS.keys() - {"notes"}), indirect=True, scope="module")
def test_a_wrong_verifier_gets_nothing(app: Application, browser: Browser) -> None:
    code = browser.allow(app.address())["code"]

    assert "access_token" not in app.exchange(code, code_verifier="w" * 43).json()


@pytest.mark.parametrize("name", ["notes", "boards", "tables"], indirect=True, scope="module")
def test_a_refresh_token_is_replaced_by_its_use(app: Application, browser: Browser) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    renewed = app.refresh(tokens["refresh_token"]).json()
    again = app.refresh(tokens["refresh_token"]).json()

    assert tokens["refresh_token"] != renewed["refresh_token"]
    assert "access_token" not in again


@pytest.mark.parametrize("name", ["mail", "crm"], indirect=True, scope="module")
def test_a_refresh_token_stays_good(app: Application, browser: Browser) -> None:
    tokens = app.exchange(browser.allow(app.address())["code"]).json()
    first, second = app.refresh(tokens["refresh_token"]).json(), app.refresh(tokens["refresh_token"]).json()

    assert (200, 200) == (app.state(first["access_token"]), app.state(second["access_token"]))
    assert tokens["refresh_token"] == second.get("refresh_token", tokens["refresh_token"])


def test_markup_in_what_is_asked_stays_text(app: Application, browser: Browser) -> None:
    page = httpx.get(app.address(state='"><script>alert(1)</script>')).text

    assert "<script>" not in page


def test_the_address_given_back_to_is_the_one_that_was_asked_for(app: Application, browser: Browser) -> None:
    answer = browser.send(browser.form(app.address()), "allow")

    assert answer.headers["Location"].startswith(BACK)


@pytest.mark.parametrize("name", ["boards", "tables"], indirect=True, scope="module")
def test_a_library_for_any_vendor_goes_the_whole_way(
    app: Application, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    scope = app.dialect.asked["scope"].split()
    with OAuth2Session(app.client["client_id"], redirect_uri=BACK, scope=scope, pkce="S256") as session:
        page, state = session.authorization_url(app.endpoint(app.dialect.page))
        back = browser.allow(page)
        known = {"client_secret": app.client["client_secret"], "include_client_id": not app.dialect.basic}
        session.fetch_token(app.endpoint(app.dialect.token), code=back["code"], **known)
        who = session.get(app.endpoint(app.dialect.who)).json()

    assert (state, app.dialect.first) == (back["state"], who[app.dialect.account[0]])
