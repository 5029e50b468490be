"""Partial consent: deselected scopes and objects, and other accounts."""

import httpx
import pytest

from harness.consent_pages import Browser
from sandbox.tests.oauth_flows import GOOGLE, Application


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tokens(app: Application, back: dict[str, str]) -> dict[str, str]:
    return dict(app.exchange(back["code"]).json())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Notion-Version": "2026-03-11"}


@pytest.mark.parametrize("name", ["mail"], indirect=True, scope="module")
def test_mail_grants_only_the_ticked_scopes(app: Application, browser: Browser) -> None:
    back = browser.allow(app.address(scope=f"openid email {GOOGLE}gmail.modify"), unticked={f"{GOOGLE}gmail.modify"})
    granted = tokens(app, back)

    assert back["scope"] == granted["scope"] == f"openid {GOOGLE}userinfo.email"
    assert 403 == app.get_identity(granted["access_token"]).status_code


@pytest.mark.parametrize("name", ["boards"], indirect=True, scope="module")
def test_boards_grants_only_the_ticked_scopes(app: Application, browser: Browser) -> None:
    scope = "read:board:trello write:board:trello offline_access"
    granted = tokens(app, browser.allow(app.address(scope=scope), unticked={"write:board:trello", "offline_access"}))
    write = httpx.post(app.endpoint("/1/cards"), headers=bearer(granted["access_token"]))

    assert "read:board:trello" == granted["scope"]
    assert "refresh_token" not in granted
    assert (200, 401) == (app.get_identity(granted["access_token"]).status_code, write.status_code)


@pytest.mark.parametrize("name", ["boards"], indirect=True, scope="module")
def test_the_token_page_issues_a_token_for_the_consenting_member(app: Application, browser: Browser) -> None:
    key = app.client["client_id"]
    query = f"?key={key}&scope=read,write&expiration=never&return_url=http://127.0.0.1:9/back"
    back = browser.allow(app.endpoint(f"/1/authorize{query}"), account="ines.marchetti", unticked={"write"})
    header = {"Authorization": f'OAuth oauth_consumer_key="{key}", oauth_token="{back["token"]}"'}
    me = httpx.get(app.endpoint("/1/members/me"), headers=header).json()
    write = httpx.post(app.endpoint("/1/cards"), headers=header)

    assert ("ines.marchetti", 401) == (me["username"], write.status_code)


@pytest.mark.parametrize("name", ["notes"], indirect=True, scope="module")
def test_notes_shares_only_the_picked_pages(app: Application, browser: Browser) -> None:
    leads, box = app.emulator.examples()["database_id"], browser.form(app.address()).named["Leads"]
    granted = tokens(app, browser.allow(app.address(), unticked={box}))
    without = httpx.get(app.endpoint(f"/v1/databases/{leads}"), headers=bearer(granted["access_token"]))
    again = tokens(app, browser.allow(app.address()))
    with_it = httpx.get(app.endpoint(f"/v1/databases/{leads}"), headers=bearer(again["access_token"]))

    assert granted["bot_id"] == again["bot_id"]
    assert (404, 200) == (without.status_code, with_it.status_code)


@pytest.mark.parametrize("name", ["tables"], indirect=True, scope="module")
def test_tables_shares_only_the_picked_bases(app: Application, browser: Browser) -> None:
    form, examples = browser.form(app.address()), app.emulator.examples()
    granted = tokens(app, browser.allow(app.address(), unticked={examples["base_id"]}))
    listed = httpx.get(app.endpoint("/v0/meta/bases"), headers=bearer(granted["access_token"])).json()
    hidden = httpx.get(
        app.endpoint(f"/v0/meta/bases/{examples['base_id']}/tables"), headers=bearer(granted["access_token"])
    )

    assert examples["base_id"] in form.boxes
    assert [examples["other_base_id"]] == [base["id"] for base in listed["bases"]]
    assert 403 == hidden.status_code


@pytest.mark.parametrize("name", ["tables"], indirect=True, scope="module")
def test_tables_shows_the_form_again_without_a_picked_base(app: Application, browser: Browser) -> None:
    form = browser.form(app.address())
    response = browser.send(form, "allow", unticked=set(form.boxes))

    assert (200, True) == (response.status_code, "<form" in response.text)


@pytest.mark.parametrize("name", ["tables"], indirect=True, scope="module")
def test_a_second_tables_user_sees_their_own_bases(app: Application, browser: Browser) -> None:
    examples = app.emulator.examples()
    granted = tokens(app, browser.allow(app.address(), account=app.flow.second))
    listed = httpx.get(app.endpoint("/v0/meta/bases"), headers=bearer(granted["access_token"])).json()

    assert (examples["hidden_base_id"], "owner") in [(base["id"], base["permissionLevel"]) for base in listed["bases"]]


@pytest.mark.parametrize("name", ["chat"], indirect=True, scope="module")
def test_a_second_chat_workspace_has_its_own_channels(app: Application, browser: Browser) -> None:
    granted = tokens(app, browser.allow(app.address(), account=app.flow.second))
    headers = bearer(granted["access_token"])
    listed = httpx.post(app.endpoint("/api/conversations.list"), headers=headers).json()

    assert "chat:write,channels:read" == granted["scope"]
    assert ["C09HARBOUR1"] == [channel["id"] for channel in listed["channels"]]


@pytest.mark.parametrize("name", ["crm"], indirect=True, scope="module")
def test_a_second_crm_portal_has_its_own_contacts(app: Application, browser: Browser) -> None:
    granted = tokens(app, browser.allow(app.address(), account=app.flow.second))
    listed = httpx.get(app.endpoint("/crm/v3/objects/contacts"), headers=bearer(granted["access_token"])).json()

    assert app.flow.second == str(granted["hub_id"])
    assert ["Ines", "Pavel", "Thu"] == [contact["properties"]["firstname"] for contact in listed["results"]]


@pytest.mark.parametrize("name", ["notes"], indirect=True, scope="module")
def test_a_second_notes_workspace_has_its_own_databases(app: Application, browser: Browser) -> None:
    form = browser.form(app.address())
    other = next(account for account in form.accounts if account != form.account)
    granted = tokens(app, browser.allow(app.address(), account=other))
    only = {"filter": {"property": "object", "value": "data_source"}}
    matches = httpx.post(app.endpoint("/v1/search"), headers=bearer(granted["access_token"]), json=only).json()

    assert "Lantern Bakery" == granted["workspace_name"]
    assert ["Recipes"] == [match["title"][0]["plain_text"] for match in matches["results"]]
