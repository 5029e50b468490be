"""The Airtable emulator: consent, tokens and rotation."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from sandbox.tests.tables.airtable_client import AirtableClient
from workspace_sandbox.kit.oauth.server import pkce_challenge
from workspace_sandbox.tables.access import CLIENT_ID, CLIENT_SECRET, PUBLIC_CLIENT_ID

VERIFIER = "v" * 43
CALLBACK = "https://gateway.example.com/oauth/callback"


def authorize_params(**changes: str) -> dict[str, str]:
    defaults = {
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": "data.records:read schema.bases:read",
        "state": "s1",
        "code_challenge": pkce_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    return {name: value for name, value in (defaults | changes).items() if value}


def give_consent(airtable: AirtableClient, **changes: str) -> dict[str, str]:
    response = airtable.request("GET", "/oauth2/v1/authorize", params=authorize_params(auto_approve="1", **changes))
    assert 302 == response.status_code
    return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["Location"]).query).items()}


def exchange(airtable: AirtableClient, secret: str | None = CLIENT_SECRET, **form: str) -> requests.Response:
    headers = {"Authorization": ""}
    if secret is not None:
        encoded = base64.b64encode(f"{CLIENT_ID}:{secret}".encode()).decode()
        headers = {"Authorization": f"Basic {encoded}"}
    return requests.post(
        f"{airtable.emulator.context.addresses['base']}/oauth2/v1/token",
        data=form,
        headers=headers,
        timeout=5,
    )


def first_tokens(airtable: AirtableClient, **changes: str) -> dict[str, Any]:
    response = exchange(airtable, **code_form(give_consent(airtable, **changes)["code"]))
    assert 200 == response.status_code, response.text
    tokens: dict[str, Any] = response.json()
    return tokens


def code_form(code: str, **changes: str) -> dict[str, str]:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
    return form | changes


def refresh(airtable: AirtableClient, token: str, **form: str) -> requests.Response:
    return exchange(airtable, grant_type="refresh_token", refresh_token=token, **form)


def whoami(airtable: AirtableClient, token: str) -> requests.Response:
    return airtable.request("GET", "/v0/meta/whoami", headers={"Authorization": f"Bearer {token}"})


def test_consent_page_names_the_scopes_and_the_user(airtable: AirtableClient) -> None:
    page = airtable.request("GET", "/oauth2/v1/authorize", params=authorize_params())

    assert (200, "text/html") == (page.status_code, page.headers["Content-Type"].split(";")[0])
    assert "See the data in records" in page.text
    assert "mara.lindqvist@example.com" in page.text


def test_consent_code_is_exchanged_for_tokens(airtable: AirtableClient) -> None:
    back = give_consent(airtable)
    tokens = exchange(airtable, **code_form(back["code"])).json()
    me = whoami(airtable, tokens["access_token"]).json()

    assert "s1" == back["state"]
    assert ("Bearer", 3600, 60 * 86400) == tuple(tokens[n] for n in ("token_type", "expires_in", "refresh_expires_in"))
    assert ["data.records:read", "schema.bases:read"] == me["scopes"]
    assert "email" not in me


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
def test_invalid_consent_requests_redirect_with_an_error(
    airtable: AirtableClient, changes: dict[str, str], error: str
) -> None:
    back = give_consent(airtable, **changes)

    assert (error, "s1") == (back["error"], back["state"])


@pytest.mark.parametrize("changes", [{"client_id": "nobody"}, {"redirect_uri": "javascript:x"}, {"redirect_uri": ""}])
def test_untrusted_redirects_are_rejected_without_redirecting(
    airtable: AirtableClient, changes: dict[str, str]
) -> None:
    assert 400 == airtable.request("GET", "/oauth2/v1/authorize", params=authorize_params(**changes)).status_code


def test_redirect_must_match_a_registered_uri_exactly(airtable: AirtableClient) -> None:
    airtable.knobs(redirect_uris=[CALLBACK])

    assert (
        400
        == airtable.request(
            "GET", "/oauth2/v1/authorize", params=authorize_params(redirect_uri=f"{CALLBACK}/")
        ).status_code
    )
    assert 200 == airtable.request("GET", "/oauth2/v1/authorize", params=authorize_params()).status_code


def test_client_secret_is_accepted_only_by_basic_authentication(airtable: AirtableClient) -> None:
    form = code_form("x")
    wrong = exchange(airtable, secret="nope", **form)
    in_body = exchange(airtable, secret=None, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, **form)

    assert (401, "invalid_client") == (wrong.status_code, wrong.json()["error"])
    assert (401, "invalid_client") == (in_body.status_code, in_body.json()["error"])


def test_public_client_identifies_itself_in_the_body(airtable: AirtableClient) -> None:
    code = give_consent(airtable, client_id=PUBLIC_CLIENT_ID)["code"]
    response = exchange(airtable, secret=None, client_id=PUBLIC_CLIENT_ID, **code_form(code))

    assert 200 == response.status_code


def test_code_verifier_is_required(airtable: AirtableClient) -> None:
    form = code_form(give_consent(airtable)["code"])
    del form["code_verifier"]

    assert "invalid_request" == exchange(airtable, **form).json()["error"]


def test_other_grant_types_and_json_bodies_are_rejected(airtable: AirtableClient) -> None:
    address = f"{airtable.emulator.context.addresses['base']}/oauth2/v1/token"

    assert "unsupported_grant_type" == exchange(airtable, grant_type="password").json()["error"]
    assert "invalid_request" == requests.post(address, json={}, timeout=60).json()["error"]


def test_refresh_returns_new_tokens_and_revokes_the_old_ones(airtable: AirtableClient) -> None:
    old = first_tokens(airtable)
    new = refresh(airtable, old["refresh_token"]).json()

    assert old["refresh_token"] != new["refresh_token"]
    assert (401, 200) == (
        whoami(airtable, old["access_token"]).status_code,
        whoami(airtable, new["access_token"]).status_code,
    )


def test_reused_refresh_token_revokes_the_grant(airtable: AirtableClient) -> None:
    old = first_tokens(airtable)
    new = refresh(airtable, old["refresh_token"]).json()
    again = refresh(airtable, old["refresh_token"])

    assert (400, "invalid_grant") == (again.status_code, again.json()["error"])
    assert 401 == whoami(airtable, new["access_token"]).status_code
    assert "invalid_grant" == refresh(airtable, new["refresh_token"]).json()["error"]


def test_refresh_token_expires_after_sixty_days(airtable: AirtableClient) -> None:
    token = first_tokens(airtable)["refresh_token"]
    airtable.clock.at += 60 * 86400

    assert "invalid_grant" == refresh(airtable, token).json()["error"]


def test_refresh_can_reduce_but_not_extend_scopes(airtable: AirtableClient) -> None:
    token = first_tokens(airtable)["refresh_token"]
    more = refresh(airtable, token, scope="data.records:write")
    less = refresh(airtable, token, scope="data.records:read")

    assert "invalid_scope" == more.json()["error"]
    assert "data.records:read" == less.json()["scope"]
