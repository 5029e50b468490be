"""OAuth of the notes stand-in."""

from urllib.parse import parse_qs, urlsplit

import pytest

from harness.clocks import HandClock
from sandbox.notes.asking import ASKED, BASIC, REDIRECT, Notes, consent, exchange, pair, status_with


def test_the_user_is_asked_for_consent_and_sent_back(notes: Notes) -> None:
    page = notes.http.get("/v1/oauth/authorize", params=ASKED)
    notes.turn(auto_approve=True)
    sent = notes.http.get("/v1/oauth/authorize", params=ASKED)
    query = parse_qs(urlsplit(sent.headers["location"]).query)

    assert "text/html" in page.headers["content-type"]
    assert "Fernweh Studios" in page.text
    assert "Lantern Bakery" in page.text
    assert 302 == sent.status_code
    assert ["s&1"] == query["state"]
    assert {"code", "state"} == query.keys()


@pytest.mark.parametrize("wrong", [{"client_id": "x"}, {"response_type": "token"}, {"redirect_uri": "javascript:x"}])
def test_a_consent_that_is_asked_wrongly_is_refused(notes: Notes, wrong: dict[str, str]) -> None:
    response = notes.http.get("/v1/oauth/authorize", params=ASKED | wrong)

    assert 400 == response.status_code


def test_a_code_gives_a_pair_that_works(notes: Notes) -> None:
    made = pair(notes)
    me = notes.ask("GET", "/v1/users/me", headers={"Authorization": f"Bearer {made['access_token']}"})
    found = notes.ask("POST", "/v1/search", {}, headers={"Authorization": f"Bearer {made['access_token']}"})

    assert {
        *("access_token", "token_type", "refresh_token", "bot_id", "workspace_id", "workspace_name"),
        *("workspace_icon", "owner", "duplicated_template_id", "request_id"),
    } == made.keys()
    assert ("bearer", made["bot_id"]) == (made["token_type"], me["id"])
    assert "user" == me["bot"]["owner"]["type"] == made["owner"]["type"]
    assert found["results"]


def test_a_code_is_good_once_and_for_its_redirect_only(notes: Notes, clock: HandClock) -> None:
    code, other, late = consent(notes), consent(notes), consent(notes)

    first = exchange(notes, grant_type="authorization_code", code=code, redirect_uri=REDIRECT)
    again = exchange(notes, grant_type="authorization_code", code=code, redirect_uri=REDIRECT)
    elsewhere = exchange(notes, grant_type="authorization_code", code=other, redirect_uri="https://other.example")
    clock.at += 601
    expired = exchange(notes, grant_type="authorization_code", code=late, redirect_uri=REDIRECT)

    assert 200 == first.status_code
    assert [answer.json()["code"] for answer in (again, elsewhere, expired)] == ["invalid_grant"] * 3
    assert 400 == again.status_code


def test_refreshing_ends_the_old_pair(notes: Notes) -> None:
    old = pair(notes)
    new = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"]).json()
    reused = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"])

    assert (401, 200) == (status_with(notes, old["access_token"]), status_with(notes, new["access_token"]))
    assert (400, "invalid_grant") == (reused.status_code, reused.json()["code"])
    assert old["bot_id"] == new["bot_id"]


def test_a_revoked_token_is_dead_and_known_as_such(notes: Notes) -> None:
    made = pair(notes)
    body = {"token": made["access_token"]}
    before = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()
    revoked = notes.http.post("/v1/oauth/revoke", json=body, headers=BASIC)
    after = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()

    assert (True, False) == (before["active"], after["active"])
    assert isinstance(before["iat"], int)
    assert 200 == revoked.status_code
    assert 401 == status_with(notes, made["access_token"])


@pytest.mark.parametrize("header", ["", "Basic !", "Basic eDp5", "Bearer x"])
def test_a_client_must_show_its_secret(notes: Notes, header: str) -> None:
    response = notes.http.post("/v1/oauth/token", json={}, headers={"Authorization": header})

    assert (401, "invalid_client") == (response.status_code, response.json()["code"])


def test_an_unknown_kind_of_grant_is_refused(notes: Notes) -> None:
    response = exchange(notes, grant_type="password")

    assert (400, "validation_error") == (response.status_code, response.json()["code"])
