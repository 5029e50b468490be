"""The boards emulator, byte for byte where the vendor's bytes are known: consent."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from requests_oauthlib import OAuth1Session

from sandbox.tests.boards.boards_client import JSON, Trello, status_type_and_text
from workspace_sandbox.boards.access import APP


def test_the_consent_page_issues_a_token_after_consent(trello: Trello) -> None:
    params = {
        "key": trello.key,
        "scope": "read",
        "expiration": "1hour",
        "return_url": "http://127.0.0.1:9/back?state=s",
    }

    page = trello.request("GET", "/1/authorize", auth=None, params=params)
    response = trello.request("POST", "/1/authorize", auth=None, data={**params, "decision": "allow"})

    assert (200, True) == (page.status_code, "<form" in page.text)
    back = urlsplit(response.headers["Location"])
    assert (302, "state=s") == (response.status_code, back.query)
    token = parse_qs(back.fragment)["token"][0]
    credentials = {"key": trello.key, "token": token}
    read = trello.request("GET", f"/1/tokens/{token}", auth=None, params=credentials)
    write = trello.request("POST", "/1/cards", auth=None, params=credentials)
    assert 200 == read.status_code
    assert (401, JSON, '{"message":"missing scopes"}') == status_type_and_text(write)


def test_denied_consent_redirects_only_to_allowed_origins(trello: Trello) -> None:
    params = {"key": trello.key, "return_url": "http://127.0.0.1/back"}

    denied = trello.request("POST", "/1/authorize", auth=None, data={**params, "decision": "deny"})
    foreign = trello.request("GET", "/1/authorize", auth=None, params={**params, "return_url": "https://evil.example/"})
    unknown = trello.request("GET", "/1/authorize", auth=None, params={**params, "key": "nobody"})

    assert "http://127.0.0.1/back#error=Token%20request%20rejected" == denied.headers["Location"]
    assert (400, 401) == (foreign.status_code, unknown.status_code)


@pytest.mark.parametrize("address", ["http://[", "http://127.0.0.1/\r\nX: y", "javascript:alert(1)"])
def test_an_invalid_return_url_is_rejected(trello: Trello, address: str) -> None:
    params = {"key": trello.key, "return_url": address, "auto_approve": "true"}

    assert 400 == trello.request("GET", "/1/authorize", auth=None, params=params).status_code


def test_a_one_hour_token_expires(trello: Trello) -> None:
    params = {"key": trello.key, "scope": "read", "expiration": "1hour", "auto_approve": "true"}
    page = trello.request("GET", "/1/authorize", auth=None, params=params).text
    (token,) = re.findall("ATTA[0-9A-F]{72}", page)
    issued = trello.emulator.oauth.tokens[token]
    credentials = {"key": trello.key, "token": token}
    before = trello.request("GET", "/1/members/me", auth=None, params=credentials).status_code
    issued.expires_at = issued.issued_at

    assert (200, 401) == (before, trello.request("GET", "/1/members/me", auth=None, params=credentials).status_code)


def test_the_oauth_1_flow_completes_once(trello: Trello) -> None:
    address = f"{trello.base}/1"
    with OAuth1Session(APP.key, APP.secret, callback_uri="http://127.0.0.1/back") as first:
        request_token = first.fetch_request_token(f"{address}/OAuthGetRequestToken")
    params = {"oauth_token": request_token["oauth_token"], "scope": "read,write", "auto_approve": "true"}
    back = trello.request("GET", "/1/OAuthAuthorizeToken", auth=None, params=params).headers["Location"]
    secret, verifier = request_token["oauth_token_secret"], parse_qs(urlsplit(back).query)["oauth_verifier"][0]

    with OAuth1Session(APP.key, APP.secret, params["oauth_token"], secret, verifier=verifier) as last:
        token = last.fetch_access_token(f"{address}/OAuthGetAccessToken")
        again = last.get(f"{address}/OAuthGetAccessToken")
    with OAuth1Session(APP.key, APP.secret, token["oauth_token"], token["oauth_token_secret"]) as session:
        me = session.get(f"{address}/members/me")

    assert ("gatewaybot", 401) == (me.json()["username"], again.status_code)


def test_oauth_2_requires_pkce_and_rejects_unknown_tokens_with_403(trello: Trello) -> None:
    about = {"client_id": APP.key, "redirect_uri": "http://127.0.0.1/back", "response_type": "code", "scope": "x"}
    client = {"client_id": APP.key, "client_secret": APP.secret}
    bare = trello.request("GET", "/authorize", auth=None, params=about)
    statuses = [
        trello.request("POST", "/oauth/token", auth=None, json={**client, "grant_type": kind, **grant})
        for kind, grant in (("authorization_code", {"code": "x"}), ("refresh_token", {"refresh_token": "x"}))
    ]

    assert "error=invalid_request" in bare.headers["Location"]
    assert [(403, "invalid_grant")] * 2 == [(response.status_code, response.json()["error"]) for response in statuses]
