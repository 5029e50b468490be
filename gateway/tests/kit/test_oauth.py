"""The OAuth variants of vendors, as URLs, headers and bodies."""

from base64 import b64decode
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic_core import from_json, to_json

from connector_gateway.kit.errors import UpstreamError, UpstreamUnexpected
from connector_gateway.kit.oauth import (
    Endpoint,
    IssuedTokens,
    OAuthClient,
    OAuthConfig,
    create_challenge,
    create_verifier,
    parse_token_error,
    parse_token_response,
)
from connector_gateway.kit.upstream.pool import UpstreamResponse
from harness.requirement import requirement

ADDRESSES = {"base": "https://api.test", "consent": "https://sign-in.test"}
CLIENT = OAuthClient("the client", "its:secret")
PLAIN = OAuthConfig("Plain", Endpoint("consent", "/authorize"), Endpoint("base", "/token"))


def create_response(status: int, body: object) -> UpstreamResponse:
    return UpstreamResponse(status, {}, to_json(body))


def authorization_query(oauth: OAuthConfig) -> dict[str, str]:
    """Return the query of the authorisation URL."""
    url = urlsplit(oauth.consent_url(ADDRESSES, "the client", "https://us.test/connect/x/callback", "s t", "verifier"))
    assert ("https", "sign-in.test", "/authorize") == (url.scheme, url.netloc, url.path)
    return dict(parse_qsl(url.query))


def test_the_challenge_equals_the_example_of_the_rfc() -> None:
    """The example is from RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    assert "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" == create_challenge(verifier)


def test_verifiers_are_long_and_different() -> None:
    one, other = create_verifier(), create_verifier()

    assert one != other
    assert 43 <= len(one) <= 128


def test_the_minimal_consent_requests_a_code() -> None:
    plain = {
        "client_id": "the client",
        "response_type": "code",
        "redirect_uri": "https://us.test/connect/x/callback",
        "state": "s t",
    }

    assert plain == authorization_query(PLAIN)


def test_a_consent_has_the_declared_scopes_challenge_and_parameters() -> None:
    oauth = OAuthConfig(
        "Full",
        PLAIN.authorize,
        PLAIN.token,
        scopes={"read": ["list"], "write": ["change"]},
        separator=",",
        pkce=True,
        parameters={"prompt": "consent"},
    )
    query = authorization_query(oauth)

    assert ("read,write", "consent", "S256") == (query["scope"], query["prompt"], query["code_challenge_method"])
    assert create_challenge("verifier") == query["code_challenge"]


def test_a_client_authenticates_in_a_form_body() -> None:
    headers, body = PLAIN.create_token_request(CLIENT, {"code": "a b"})

    assert "Authorization" not in headers
    assert {"client_id": "the client", "client_secret": "its:secret", "code": "a b"} == dict(parse_qsl(body.decode()))


def test_a_client_authenticates_by_basic_with_a_json_body() -> None:
    oauth = OAuthConfig("Basic", PLAIN.authorize, PLAIN.token, client_auth="basic", body="json")
    headers, body = oauth.create_token_request(CLIENT, {"code": "a b"})

    assert "the+client:its%3Asecret" == b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
    assert {"code": "a b"} == from_json(body)
    assert "application/json" == headers["Content-Type"]


@requirement("connections-24")
def test_the_repr_of_clients_and_tokens_contains_no_secrets() -> None:
    assert "secret" not in repr(CLIENT)
    assert "hidden" not in repr(IssuedTokens("hidden", "hidden"))


@pytest.mark.parametrize("scope", ["read write", "read,write", " read  write "])
def test_tokens_are_parsed_as_specified(scope: str) -> None:
    issued = {"access_token": "a", "refresh_token": "r", "expires_in": 3600, "scope": scope, "token_type": "Bearer"}

    assert IssuedTokens("a", "r", 3600, frozenset({"read", "write"})) == parse_token_response(
        create_response(200, issued)
    )


def test_an_access_token_alone_is_accepted() -> None:
    assert IssuedTokens("a") == parse_token_response(create_response(200, {"access_token": "a"}))


def test_an_invalid_token_response_is_a_vendor_failure() -> None:
    with pytest.raises(UpstreamUnexpected):
        parse_token_response(create_response(200, {"token": "a"}))
    with pytest.raises(UpstreamError):
        parse_token_response(UpstreamResponse(200, {}, b"<html>"))


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, {"access_token": "a"}, None),
        (400, {"error": "invalid_grant"}, "invalid_grant"),
        (400, {"code": "invalid_grant"}, "invalid_grant"),
        (400, {"message": "no"}, ""),
        (500, "no", ""),
    ],
)
def test_the_code_of_an_oauth_error_is_read(status: int, body: object, code: str | None) -> None:
    assert code == parse_token_error(create_response(status, body))


@requirement("connections-16")
def test_only_scopes_that_operations_need_are_missing() -> None:
    oauth = OAuthConfig(
        "Scoped", PLAIN.authorize, PLAIN.token, scopes={"read": ["list"], "write": ["change"], "email": []}
    )

    assert {"write": ["change"]} == oauth.missing_scopes({"read"})
    assert {} == oauth.missing_scopes(None)
