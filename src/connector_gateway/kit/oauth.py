"""How an account is connected by OAuth 2: a connector's dialect as data, and the addresses and bodies made from it.

Decision 40 tells why there is no library beneath.
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

from connector_gateway.kit.upstream.client import unauthorised
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire import WireModel

MARGIN_SECONDS = 60.0
"""How long before its end a token is renewed, unless a connector says otherwise."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of the third party: one of the connector's hosts, and a path there."""

    host: str
    path: str

    def at(self, addresses: Mapping[str, str]) -> str:
        """The whole address, in an installation with these *addresses*."""
        return addresses[self.host] + self.path


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """What this installation is called at the third party, and how it proves that."""

    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """Tokens that the third party has issued."""

    token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    """None where there is none, and where the one there is stays good."""

    seconds: float | None = None
    """How long the token is good; None where nobody says."""

    scopes: Collection[str] | None = None
    """What was granted; None where it is not told."""

    app_id: str | None = None
    """The vendor's identifier of the app that the tokens belong to, where the vendor names it."""


@dataclass(frozen=True, slots=True)
class Account:
    """Whose a connection is."""

    account_id: str
    """The third party's own identifier, which stays when somebody is renamed."""

    name: str
    scopes: Collection[str] | None = None
    """What the credentials allow; None where it is not told here."""

    expires_at: float | None = None
    """When the credentials end, where that is told here."""

    app_id: str | None = None
    """The vendor's identifier of the app that the credentials belong to, where it is known."""


@dataclass(frozen=True, slots=True)
class TokenPage:
    """A page that hands a token to the browser, for installations that have an API key and are no OAuth client.

    The token comes back in the fragment of the address, which a script reads or the user pastes. It is never renewed.
    """

    authorize: Endpoint
    scopes: Mapping[str, Collection[str]]
    """As those of OAuth."""

    parameters: Mapping[str, str]
    """What the address of the page has besides."""

    denied: Collection[str] = ()
    """What the fragment has as ``error`` where the user did not allow the access."""

    def url(self, addresses: Mapping[str, str], key: str, return_url: str) -> str:
        """The address of the page for an installation with this API *key*."""
        asked = {"key": key, "return_url": return_url, "scope": ",".join(self.scopes), **self.parameters}
        return f"{self.authorize.at(addresses)}?{urlencode(asked, quote_via=quote)}"


class TokenResponse(WireModel):
    """The answer to a request for tokens. Source: RFC 6749, section 5.1."""

    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scope: str | None = None


class TokenErrorResponse(WireModel):
    """The answer to a refused request for tokens. Source: RFC 6749, section 5.2; some say ``code`` instead."""

    error: str = ""
    code: str = ""


def parse_token_response(answer: UpstreamResponse) -> IssuedTokens:
    """The tokens of an answer as RFC 6749 has it; ``UpstreamFailure`` if it has another shape."""
    issued = answer.decode(TokenResponse)
    scopes = None if issued.scope is None else frozenset(filter(None, re.split(r"[\s,]+", issued.scope)))
    return IssuedTokens(issued.access_token, issued.refresh_token, issued.expires_in, scopes)


def parse_token_error(answer: UpstreamResponse) -> str | None:
    """The error code of a refused request for tokens; empty if it has none, None if it was accepted."""
    if answer.is_success:
        return None
    refused = answer.try_decode(TokenErrorResponse)
    return refused.error or refused.code if refused else ""


@dataclass(frozen=True)
class OAuthConfig:
    """How accounts of one connector are connected: where, with what, and in which dialect."""

    application: str
    """What people know the application as."""

    authorize: Endpoint
    """Where the browser asks for consent."""

    token: Endpoint
    """Where codes and refresh tokens become tokens."""

    reads: Sequence[str] = ()
    """What a connection can read, in words for the user who is asked to allow it; the operations if there are none."""

    changes: Sequence[str] = ()
    """What a connection can change, in the same words."""

    revoke: Endpoint | None = None
    """Where tokens are given back, if anywhere."""

    revokes_account: bool = False
    """Whether a token that is given back takes all others with it that the account gave to this installation."""

    scopes: Mapping[str, Collection[str]] = field(default_factory=dict)
    """What is asked for, with the operations that need it; what none needs may be left out by the user."""

    separator: str = " "
    """Stands between scopes."""

    pkce: bool = False
    """Whether the third party takes a code challenge. Source: RFC 7636."""

    callback_paths: bool = False
    """Whether browsers may be sent back to any path below the registered address.

    Each consent then has a callback address of its own, to which the third party binds the code: where there is no code
    challenge, this keeps the code of one consent from being redeemed in another.
    """

    client_auth: Literal["basic", "body"] = "body"
    """How the client proves itself: by HTTP Basic, or in the body."""

    body: Literal["form", "json"] = "form"
    """How requests for tokens are written."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """What the address for consent has besides."""

    issuer: str | None = None
    """What the third party calls itself in ``iss``, where it sends one. Source: RFC 9207."""

    margin_seconds: float = MARGIN_SECONDS
    """How long before its end a token is renewed."""

    idle_seconds: float | None = None
    """How long a refresh token lives that nobody uses; None where it does not end of that."""

    withdrawn: Collection[str] = ("invalid_grant",)
    """Error codes that say that a refresh token is not good any more."""

    granted: Callable[[UpstreamResponse], IssuedTokens] = parse_token_response
    """Reads the tokens of an accepted request."""

    refused: Callable[[UpstreamResponse], str | None] = parse_token_error
    """Reads the error code of a refused request; None if it was accepted."""

    expired: Callable[[UpstreamResponse], bool] = unauthorised
    """Whether an answer to a call says that the token may have ended."""

    token_page: TokenPage | None = None
    """How accounts are connected where this installation has an API key and is no client, if there is a way."""

    by_token_page: bool = False
    """Whether accounts are connected in that way here."""

    @property
    def without_client(self) -> "OAuthConfig | None":
        """The same for an installation that has an API key and is no client; None if there is no way."""
        page = self.token_page
        return replace(self, scopes=page.scopes, by_token_page=True) if page else None

    def missing_scopes(self, granted: Collection[str] | None) -> dict[str, list[str]]:
        """The scopes that operations need and that were not *granted*, with these operations; none if untold."""
        if granted is None:
            return {}
        asked = self._asked(granted).items()
        return {scope: list(needed) for scope, needed in asked if needed and scope not in granted}

    def _asked(self, granted: Collection[str]) -> Mapping[str, Collection[str]]:
        """The scopes that *granted* are some of: a token of the page has others than one of OAuth."""
        page = self.token_page
        return page.scopes if page and granted and page.scopes.keys() >= set(granted) else self.scopes

    def consent_url(
        self, addresses: Mapping[str, str], client_id: str, redirect_uri: str, state: str, verifier: str
    ) -> str:
        """The address that asks the user for consent."""
        asked = {"client_id": client_id, "response_type": "code", "redirect_uri": redirect_uri, "state": state}
        if self.scopes:
            asked["scope"] = self.separator.join(self.scopes)
        if self.pkce:
            asked |= {"code_challenge": challenge(verifier), "code_challenge_method": "S256"}
        return f"{self.authorize.at(addresses)}?{urlencode({**asked, **self.parameters}, quote_via=quote)}"

    def request(self, client: OAuthClient, fields: Mapping[str, str]) -> tuple[Mapping[str, str], bytes]:
        """Headers and body of a request of *client* with *fields*."""
        headers = {"Accept": "application/json"}
        if self.client_auth == "basic":
            headers["Authorization"] = _basic(client)
        else:
            fields = {"client_id": client.client_id, "client_secret": client.client_secret, **fields}
        if self.body == "json":
            return headers | {"Content-Type": "application/json"}, to_json(fields)
        return headers | {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(fields).encode()


def new_verifier() -> str:
    """A secret that proves that who redeems a code asked for it. Source: RFC 7636, section 4.1."""
    return token_urlsafe(48)


def challenge(verifier: str) -> str:
    """What is shown of *verifier* beforehand. Source: RFC 7636, section 4.2."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _basic(client: OAuthClient) -> str:
    # Both are form-encoded first, which only shows where they hold special characters. Source: RFC 6749, section 2.3.1.
    pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
    return f"Basic {b64encode(pair.encode()).decode()}"
