"""OAuth of the notes emulator."""

import pytest

from sandbox.tests.notes.notes_client import AUTHORIZATION_PARAMS, BASIC, Notes, exchange, pair, status_with


@pytest.mark.parametrize("wrong", [{"client_id": "x"}, {"response_type": "token"}, {"redirect_uri": "javascript:x"}])
def test_an_invalid_authorization_request_is_rejected(notes: Notes, wrong: dict[str, str]) -> None:
    response = notes.http.get("/v1/oauth/authorize", params=AUTHORIZATION_PARAMS | wrong)

    assert 400 == response.status_code


def test_a_code_is_exchanged_for_working_tokens(notes: Notes) -> None:
    tokens = pair(notes)
    me = notes.request("GET", "/v1/users/me", headers={"Authorization": f"Bearer {tokens['access_token']}"})
    results = notes.request("POST", "/v1/search", {}, headers={"Authorization": f"Bearer {tokens['access_token']}"})

    assert {
        *("access_token", "token_type", "refresh_token", "bot_id", "workspace_id", "workspace_name"),
        *("workspace_icon", "owner", "duplicated_template_id", "request_id"),
    } == tokens.keys()
    assert ("bearer", tokens["bot_id"]) == (tokens["token_type"], me["id"])
    assert "user" == me["bot"]["owner"]["type"] == tokens["owner"]["type"]
    assert results["results"]


def test_refreshing_invalidates_the_old_tokens(notes: Notes) -> None:
    old = pair(notes)
    new = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"]).json()
    reused = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"])

    assert (401, 200) == (status_with(notes, old["access_token"]), status_with(notes, new["access_token"]))
    assert (400, "invalid_grant") == (reused.status_code, reused.json()["code"])
    assert old["bot_id"] == new["bot_id"]


def test_a_revoked_token_is_rejected_and_reported_inactive(notes: Notes) -> None:
    tokens = pair(notes)
    body = {"token": tokens["access_token"]}
    before = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()
    revoked = notes.http.post("/v1/oauth/revoke", json=body, headers=BASIC)
    after = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()

    assert (True, False) == (before["active"], after["active"])
    assert isinstance(before["iat"], int)
    assert 200 == revoked.status_code
    assert 401 == status_with(notes, tokens["access_token"])


@pytest.mark.parametrize("header", ["", "Basic !", "Basic eDp5", "Bearer x"])
def test_a_client_must_present_its_secret(notes: Notes, header: str) -> None:
    response = notes.http.post("/v1/oauth/token", json={}, headers={"Authorization": header})

    assert (401, "invalid_client") == (response.status_code, response.json()["code"])


def test_an_unknown_grant_type_is_rejected(notes: Notes) -> None:
    response = exchange(notes, grant_type="password")

    assert (400, "validation_error") == (response.status_code, response.json()["code"])
