"""The stand-in for Airtable: consent, tokens, rotation."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from sandbox.tests.tables.played import Played
from workspace_sandbox.kit.auth.oauth import pkce_challenge
from workspace_sandbox.tables.access import CLIENT_ID, CLIENT_SECRET, PUBLIC_CLIENT_ID

VERIFIER = "v" * 43
CALLBACK = "https://gateway.example.com/oauth/callback"


def asked(**changes: str) -> dict[str, str]:
    about = {
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": "data.records:read schema.bases:read",
        "state": "s1",
        "code_challenge": pkce_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    return {name: value for name, value in (about | changes).items() if value}


def consented(airtable: Played, **changes: str) -> dict[str, str]:
    answer = airtable.ask("GET", "/oauth2/v1/authorize", params=asked(auto_approve="1", **changes))
    assert 302 == answer.status_code
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}


def exchange(airtable: Played, secret: str | None = CLIENT_SECRET, **form: str) -> requests.Response:
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


def first_tokens(airtable: Played, **changes: str) -> dict[str, Any]:
    answer = exchange(airtable, **code_form(consented(airtable, **changes)["code"]))
    assert 200 == answer.status_code, answer.text
    tokens: dict[str, Any] = answer.json()
    return tokens


def code_form(given: str, **changes: str) -> dict[str, str]:
    form = {"grant_type": "authorization_code", "code": given, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
    return form | changes


def refresh(airtable: Played, token: str, **form: str) -> requests.Response:
    return exchange(airtable, grant_type="refresh_token", refresh_token=token, **form)


def whoami(airtable: Played, token: str) -> requests.Response:
    return airtable.ask("GET", "/v0/meta/whoami", headers={"Authorization": f"Bearer {token}"})


def test_the_consent_page_tells_what_is_asked_of_whom(airtable: Played) -> None:
    page = airtable.ask("GET", "/oauth2/v1/authorize", params=asked())

    assert (200, "text/html") == (page.status_code, page.headers["Content-Type"].split(";")[0])
    assert "See the data in records" in page.text
    assert "mara.lindqvist@example.com" in page.text


def test_consent_gives_a_code_that_gives_tokens(airtable: Played) -> None:
    back = consented(airtable)
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
def test_requests_that_are_not_well_made_are_sent_back(airtable: Played, changes: dict[str, str], error: str) -> None:
    back = consented(airtable, **changes)

    assert (error, "s1") == (back["error"], back["state"])


@pytest.mark.parametrize("changes", [{"client_id": "nobody"}, {"redirect_uri": "javascript:x"}, {"redirect_uri": ""}])
def test_nobody_is_sent_to_an_address_that_is_not_trusted(airtable: Played, changes: dict[str, str]) -> None:
    assert 400 == airtable.ask("GET", "/oauth2/v1/authorize", params=asked(**changes)).status_code


def test_registered_addresses_must_be_met_exactly(airtable: Played) -> None:
    airtable.knobs(redirect_uris=[CALLBACK])

    assert 400 == airtable.ask("GET", "/oauth2/v1/authorize", params=asked(redirect_uri=f"{CALLBACK}/")).status_code
    assert 200 == airtable.ask("GET", "/oauth2/v1/authorize", params=asked()).status_code


def test_a_client_with_a_secret_says_it_by_basic_only(airtable: Played) -> None:
    form = code_form("x")
    wrong = exchange(airtable, secret="nope", **form)
    in_body = exchange(airtable, secret=None, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, **form)

    assert (401, "invalid_client") == (wrong.status_code, wrong.json()["error"])
    assert (401, "invalid_client") == (in_body.status_code, in_body.json()["error"])


def test_a_client_without_a_secret_says_who_it_is_in_the_body(airtable: Played) -> None:
    code = consented(airtable, client_id=PUBLIC_CLIENT_ID)["code"]
    answer = exchange(airtable, secret=None, client_id=PUBLIC_CLIENT_ID, **code_form(code))

    assert 200 == answer.status_code


def test_a_verifier_is_required(airtable: Played) -> None:
    form = code_form(consented(airtable)["code"])
    del form["code_verifier"]

    assert "invalid_request" == exchange(airtable, **form).json()["error"]


def test_other_grants_and_other_bodies_are_refused(airtable: Played) -> None:
    address = f"{airtable.emulator.context.addresses['base']}/oauth2/v1/token"

    assert "unsupported_grant_type" == exchange(airtable, grant_type="password").json()["error"]
    assert "invalid_request" == requests.post(address, json={}, timeout=60).json()["error"]


def test_a_refresh_gives_new_tokens_and_ends_the_old_ones(airtable: Played) -> None:
    old = first_tokens(airtable)
    new = refresh(airtable, old["refresh_token"]).json()

    assert old["refresh_token"] != new["refresh_token"]
    assert (401, 200) == (
        whoami(airtable, old["access_token"]).status_code,
        whoami(airtable, new["access_token"]).status_code,
    )


def test_a_refresh_token_used_twice_ends_the_whole_grant(airtable: Played) -> None:
    old = first_tokens(airtable)
    new = refresh(airtable, old["refresh_token"]).json()
    again = refresh(airtable, old["refresh_token"])

    assert (400, "invalid_grant") == (again.status_code, again.json()["error"])
    assert 401 == whoami(airtable, new["access_token"]).status_code
    assert "invalid_grant" == refresh(airtable, new["refresh_token"]).json()["error"]


def test_a_refresh_token_lives_for_sixty_days(airtable: Played) -> None:
    token = first_tokens(airtable)["refresh_token"]
    airtable.clock.at += 60 * 86400

    assert "invalid_grant" == refresh(airtable, token).json()["error"]


def test_a_refresh_may_ask_for_less_but_not_for_more(airtable: Played) -> None:
    token = first_tokens(airtable)["refresh_token"]
    more = refresh(airtable, token, scope="data.records:write")
    less = refresh(airtable, token, scope="data.records:read")

    assert "invalid_scope" == more.json()["error"]
    assert "data.records:read" == less.json()["scope"]
