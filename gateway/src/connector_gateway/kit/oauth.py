"""OAuth 2 as data: the conventions of a vendor, and the URLs and request bodies built from them.

There is no library beneath, because vendors differ in exactly the parts that libraries fix.
"""

import hashlib
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe
from typing import Literal
from urllib.parse import quote, quote_plus, urlencode

from pydantic_core import to_json

from connector_gateway.kit.upstream.client import is_unauthorised
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel

MARGIN_SECONDS = 60.0
"""Seconds before its expiry at which a token is refreshed by default."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An upstream endpoint: one of the connector's hosts, and a path."""

    host: str
    path: str

    def to_url(self, addresses: Mapping[str, str]) -> str:
        """Return the full URL, in an installation with these *addresses*."""
        return addresses[self.host] + self.path


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client credentials of this installation at the vendor."""

    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """Tokens that a vendor has issued."""

    token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    """None if there is none, or if the current one stays valid."""

    lifetime_seconds: float | None = None
    """The lifetime of the token, or None if it is unknown."""

    scopes: Collection[str] | None = None
    """The granted scopes, or None if they are unknown."""

    app_id: str | None = None
    """The vendor's identifier of the OAuth app that the tokens belong to, if the vendor reports it."""


@dataclass(frozen=True, slots=True)
class Account:
    """The vendor account of a connection."""

    account_id: str
    """The vendor's own identifier, which does not change when the account is renamed."""

    name: str
    scopes: Collection[str] | None = None
    """The scopes of the credentials, or None if the vendor does not report them here."""

    expires_at: float | None = None
    """The expiry of the credentials in epoch seconds, if the vendor reports it here."""

    app_id: str | None = None
    """The vendor's identifier of the OAuth app that the credentials belong to, if it is known."""


@dataclass(frozen=True, slots=True)
class TokenPage:
    """A page that returns a token to the browser, for installations with an API key instead of an OAuth client.

    The token is in the fragment of the return URL, which a script reads or the user pastes. It is never refreshed.
    """

    authorize: Endpoint
    scopes: Mapping[str, Collection[str]]
    """The requested scopes, with the operations that need them, as in ``OAuthConfig``."""

    parameters: Mapping[str, str]
    """Further query parameters of the page's URL."""

    denied: Collection[str] = ()
    """Values of ``error`` in the fragment that mean that the user denied access."""

    def url(self, addresses: Mapping[str, str], key: str, return_url: str) -> str:
        """Return the URL of the page for an installation with this API *key*."""
        query = {"key": key, "return_url": return_url, "scope": ",".join(self.scopes), **self.parameters}
        return f"{self.authorize.to_url(addresses)}?{urlencode(query, quote_via=quote)}"


class TokenResponse(VendorModel):
    """The response to a token request. Source: RFC 6749, section 5.1."""

    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scope: str | None = None
    token_type: object = None
    """Not read, and of any type."""


class TokenErrorResponse(VendorModel):
    """The error response to a token request. Source: RFC 6749, section 5.2. Some vendors use ``code`` instead."""

    error: str = ""
    code: str = ""


def parse_token_response(response: UpstreamResponse) -> IssuedTokens:
    """Parse the tokens of a response in the form of RFC 6749. Raises ``UpstreamFailure`` if it has another shape."""
    return to_issued_tokens(response.decode(TokenResponse))


def to_issued_tokens(tokens: TokenResponse) -> IssuedTokens:
    """Return the tokens of a decoded response."""
    scopes = None if tokens.scope is None else frozenset(filter(None, re.split(r"[\s,]+", tokens.scope)))
    return IssuedTokens(tokens.access_token, tokens.refresh_token, tokens.expires_in, scopes)


def parse_token_error(response: UpstreamResponse) -> str | None:
    """Return the error code of a rejected token request, empty if it has none, or None if it was accepted."""
    if response.is_success:
        return None
    error = response.try_decode(TokenErrorResponse)
    return error.error or error.code if error else ""


@dataclass(frozen=True)
class OAuthConfig:
    """The OAuth configuration of one connector: endpoints, scopes and vendor conventions."""

    vendor: str
    """The vendor's name for people, such as ``Notion``."""

    authorize: Endpoint
    """The authorisation endpoint, to which the browser is sent for consent."""

    token: Endpoint
    """The token endpoint, for codes and refresh tokens."""

    readable: Sequence[str] = ()
    """The data that a connection can read, in words for the consent of the user. By default the operations."""

    changeable: Sequence[str] = ()
    """The data that a connection can change, in words for the consent of the user."""

    revoke: Endpoint | None = None
    """The revocation endpoint, if there is one."""

    revokes_account: bool = False
    """Whether revoking a token also revokes all other tokens of the account for this installation."""

    scopes: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The requested scopes, with the operations that need them. Users may deny scopes that no operation needs."""

    separator: str = " "
    """The separator between scopes."""

    pkce: bool = False
    """Whether the vendor supports a code challenge. Source: RFC 7636."""

    callback_paths: bool = False
    """Whether the vendor accepts redirect URIs with any path below the registered one.

    Each consent then has its own redirect URI, to which the vendor binds the code. Without a code challenge, this
    prevents the code of one consent from being redeemed in another.
    """

    client_auth: Literal["basic", "body"] = "body"
    """The authentication of the client: HTTP Basic, or fields of the body."""

    body: Literal["form", "json"] = "form"
    """The encoding of token requests."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Further query parameters of the authorisation URL."""

    issuer: str | None = None
    """The vendor's identifier in ``iss``, if it sends one. Source: RFC 9207."""

    margin_seconds: float = MARGIN_SECONDS
    """Seconds before its expiry at which a token is refreshed."""

    idle_seconds: float | None = None
    """The lifetime of an unused refresh token, or None if it does not expire from disuse."""

    withdrawn_codes: Collection[str] = ("invalid_grant",)
    """Error codes that mean that a refresh token is no longer valid."""

    parse_tokens: Callable[[UpstreamResponse], IssuedTokens] = parse_token_response
    """Parses the tokens of an accepted request."""

    parse_error: Callable[[UpstreamResponse], str | None] = parse_token_error
    """Parses the error code of a rejected request. Returns None if it was accepted."""

    is_expired: Callable[[UpstreamResponse], bool] = is_unauthorised
    """Returns True if the response to a call means that the token may have expired."""

    token_page: TokenPage | None = None
    """The token page for installations that have an API key and no OAuth client, if the vendor has one."""

    by_token_page: bool = False
    """Whether this installation connects accounts with the token page."""

    @property
    def for_token_page(self) -> "OAuthConfig | None":
        """This configuration for an installation with an API key and no OAuth client, or None if that is impossible."""
        page = self.token_page
        return replace(self, scopes=page.scopes, by_token_page=True) if page else None

    def missing_scopes(self, granted: Collection[str] | None) -> dict[str, list[str]]:
        """Return the scopes that operations need but that were not *granted*, with these operations.

        None are missing if the granted scopes are unknown.
        """
        if granted is None:
            return {}
        requested = self._requested_scopes(granted).items()
        return {scope: list(operations) for scope, operations in requested if operations and scope not in granted}

    def _requested_scopes(self, granted: Collection[str]) -> Mapping[str, Collection[str]]:
        """Return the requested scopes to compare *granted* with.

        Tokens of the token page have other scopes than OAuth tokens.
        """
        page = self.token_page
        return page.scopes if page and granted and page.scopes.keys() >= set(granted) else self.scopes

    def consent_url(
        self, addresses: Mapping[str, str], client_id: str, redirect_uri: str, state: str, verifier: str
    ) -> str:
        """Return the authorisation URL to which the user is sent for consent."""
        query = {"client_id": client_id, "response_type": "code", "redirect_uri": redirect_uri, "state": state}
        if self.scopes:
            query["scope"] = self.separator.join(self.scopes)
        if self.pkce:
            query |= {"code_challenge": create_challenge(verifier), "code_challenge_method": "S256"}
        return f"{self.authorize.to_url(addresses)}?{urlencode({**query, **self.parameters}, quote_via=quote)}"

    def create_token_request(self, client: OAuthClient, fields: Mapping[str, str]) -> tuple[Mapping[str, str], bytes]:
        """Return the headers and body of a token request of *client* with *fields*."""
        headers = {"Accept": "application/json"}
        if self.client_auth == "basic":
            headers["Authorization"] = _basic_authorization(client)
        else:
            fields = {"client_id": client.client_id, "client_secret": client.client_secret, **fields}
        if self.body == "json":
            return headers | {"Content-Type": "application/json"}, to_json(fields)
        return headers | {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(fields).encode()


def create_verifier() -> str:
    """Return a secret that proves that the redeemer of a code has requested it. Source: RFC 7636, section 4.1."""
    return token_urlsafe(48)


def create_challenge(verifier: str) -> str:
    """Return the code challenge of *verifier*. Source: RFC 7636, section 4.2."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _basic_authorization(client: OAuthClient) -> str:
    # Both are form-encoded first, which matters only if they contain special characters. Source: RFC 6749, section
    # 2.3.1.
    pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
    return f"Basic {b64encode(pair.encode()).decode()}"
