"""OAuth of the notes stand-in."""

import pytest

from sandbox.tests.notes.asking import ASKED, BASIC, Notes, exchange, pair, status_with


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
