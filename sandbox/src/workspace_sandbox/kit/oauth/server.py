"""A generic OAuth server, with the grants of users and their codes and tokens.

Each emulator declares the format and lifetime of its tokens, and which of them a refresh revokes. Its responses and
error texts are its own.
"""

import string
from abc import ABC, abstractmethod
from base64 import b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from random import Random
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlencode, urlsplit
from uuid import UUID

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse
from workspace_sandbox.kit.oauth.consent_page import ConsentForm, Decision, Fields, parse_decision, read_fields

LETTERS = string.ascii_letters + string.digits


class RandomText:
    """Random characters in format strings.

    ``{:9}`` is nine letters and digits, ``{:9x}`` and ``{:9X}`` hex digits, ``{:9d}`` digits, ``{:9b}`` of base64, and
    ``{:u}`` a UUID.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def __format__(self, shape: str) -> str:
        kind, length = shape[-1], int(shape.rstrip("xXdbu") or 0)
        match kind:
            case "x" | "X":
                return f"{self._random.getrandbits(4 * length):0{length}{kind}}"
            case "d":
                return str(self._random.randrange(10 ** (length - 1), 10**length))
            case "b":
                return urlsafe_b64encode(self._random.randbytes(length)).decode().rstrip("=")[:length]
            case "u":
                return str(UUID(int=self._random.getrandbits(128)))
            case _:
                return "".join(self._random.choices(LETTERS, k=length))


@dataclass(eq=False)
class Grant:
    """The permissions that a user granted to a client in one account."""

    client_id: str
    account: Any
    scopes: tuple[str, ...] = ()
    selected: frozenset[str] | None = None
    """The parts of the account that the user shares, or None for all of it."""

    offline: bool = True
    """Whether the grant includes refresh tokens for offline access."""

    is_revoked: bool = False
    """Whether the user revoked the grant, which can be restored."""

    is_ended: bool = False
    """Whether the grant is permanently invalid."""


@dataclass(eq=False)
class Token:
    """A code, an access token or a refresh token."""

    value: str
    kind: str
    grant: Grant
    issued_at: float
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()
    is_ended: bool = False
    redirect_uri: str = ""
    challenge: str = ""
    challenge_method: str = "S256"
    refreshable: bool = True
    """Whether a refresh token is issued for a code."""

    id: str = ""
    """The vendor's identifier of the token."""

    @property
    def is_valid(self) -> bool:
        """Whether the token is valid, apart from its expiry."""
        return not (self.is_ended or self.grant.is_ended or self.grant.is_revoked)

    def has_expired(self, now: float) -> bool:
        """Return True if the token has expired."""
        return self.expires_at is not None and now >= self.expires_at

    def matches_verifier(self, verifier: str) -> bool:
        """Return True if *verifier* matches the code's challenge, or if it has none."""
        computed = pkce_challenge(verifier) if self.challenge_method == "S256" else verifier
        return not self.challenge or compare_digest(computed.encode(), self.challenge.encode())


class OAuth(ABC):
    """The consent pages and token routes of one vendor, with all grants and tokens."""

    shapes: ClassVar[Mapping[str, str]]
    """Format strings of tokens by kind, for ``RandomText``."""

    code_seconds: ClassVar[float] = 600.0
    revoked_by_refresh: ClassVar[frozenset[str]] = frozenset()
    """Kinds of tokens of a grant that a refresh revokes."""

    client_by: ClassVar[Literal["body", "header", "either"]] = "body"
    """The part of a token request with the client's ID and secret."""

    clients: ClassVar[Mapping[str, str | None]] = {}
    """Secrets of the registered clients by ID. If empty, knobs configure the client, if they exist."""

    account_hint_param: ClassVar[str] = ""
    """The parameter with the account to preselect."""

    def __init__(self, context: EmulatorContext, accounts: Mapping[str, Any]) -> None:
        self.context = context
        self.accounts = accounts
        """The accounts by their IDs on the consent page. The first one is preselected."""

        self.tokens: dict[str, Token] = {}

    @property
    def registered(self) -> Mapping[str, str | None]:
        """The registered clients. The first one is reported to testers."""
        knobs = self.context.knobs
        if self.clients or "client_id" not in knobs:
            return self.clients
        return {knobs["client_id"]: knobs["client_secret"]}

    @abstractmethod
    def error(self, reason: str) -> VendorErrorResponse:
        """Return the error of a token request.

        *reason* is the invalid parameter, or ``expired`` for an expired code.
        """

    @property
    def now(self) -> float:
        """The current time of the sandbox."""
        return self.context.now()

    # Tokens

    def issue(self, kind: str, grant: Grant, seconds: float | None = None, shape: str = "", **fields: Any) -> Token:
        """Create a token that is valid for *seconds*, or until it is revoked."""
        value = (shape or self.shapes[kind]).format(RandomText(self.context.random))
        return self.register(value, kind, grant, seconds, **fields)

    def register(self, value: str, kind: str, grant: Grant, seconds: float | None = None, **fields: Any) -> Token:
        """Register *value* as a token."""
        until = None if seconds is None else self.now + seconds
        token = self.tokens[value] = Token(value, kind, grant, self.now, until, **{"scopes": grant.scopes, **fields})
        return token

    def find_unrevoked(self, value: str, *kinds: str) -> Token | None:
        """Return the token *value* unless it was revoked. It may be expired."""
        token = self.tokens.get(value)
        return token if token and token.kind in kinds and token.is_valid else None

    def find_valid(self, value: str, *kinds: str) -> Token | None:
        """Return the token *value* if it is valid now."""
        token = self.find_unrevoked(value, *kinds)
        return token if token and not token.has_expired(self.now) else None

    def list_tokens(self, grant: Grant, *kinds: str) -> Iterator[Token]:
        """Return the tokens of *grant* that were not revoked."""
        return (one for one in self.tokens.values() if one.grant is grant and one.kind in kinds and not one.is_ended)

    def revoke_all(self) -> None:
        """Revoke all existing grants, as users would."""
        self.tokens = {value: token for value, token in self.tokens.items() if token.kind != "code"}
        for token in self.tokens.values():
            token.grant.is_revoked = True

    def restore(self) -> None:
        """Restore all revoked grants."""
        for token in self.tokens.values():
            token.grant.is_revoked = False

    # Consent page

    async def authorize(self, request: web.Request) -> web.StreamResponse:
        """Show the consent page, or process the decision and redirect the user to the client."""
        fields = await read_fields(request)
        params = dict(fields)
        self.check(params)
        decision = self.read_decision(fields)
        if decision is None:
            return self.consent_page(params).page(request.path, fields, params.get(self.account_hint_param, ""))
        redirect_params = self.approve(params, decision) if decision.allowed else None
        return redirect_to_client(params, self.denial_params() if redirect_params is None else redirect_params)

    @abstractmethod
    def check(self, params: dict[str, str]) -> None:
        """Raise an error if the authorisation request is invalid."""

    @abstractmethod
    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the contents of the consent page."""

    @abstractmethod
    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant | None:
        """Return the grant for a user who agreed, or None if nothing is granted."""

    def read_decision(self, fields: Fields) -> Decision | None:
        """Return the decision, or None if the user has not decided yet."""
        return parse_decision(fields, automatic=self.context.knobs["auto_approve"])

    def approve(self, params: Mapping[str, str], decision: Decision) -> Mapping[str, str] | None:
        """Return the redirect parameters for a decision to allow, or None if it grants nothing."""
        grant = self.create_grant(params, decision)
        if grant is None:
            return None
        code = self.issue("code", grant, self.code_seconds, redirect_uri=params.get("redirect_uri", ""))
        code.challenge = params.get("code_challenge", "")
        code.challenge_method = params.get("code_challenge_method", "S256")
        return {"code": code.value}

    def denial_params(self) -> Mapping[str, str]:
        """Return the redirect parameters for a decision to deny."""
        return {"error": "access_denied"}

    def selected_account(self, account: str) -> Any:
        """Return the account with that ID, or the first one."""
        return self.accounts.get(account) or next(iter(self.accounts.values()))

    def is_allowed_redirect(self, redirect_uri: str) -> bool:
        """Return True if users may be redirected to *redirect_uri*.

        All HTTP URLs are allowed unless the knob lists some.
        """
        try:
            parts = urlsplit(redirect_uri)
        except ValueError:
            return False
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.fragment
        return is_address and redirect_uri.isprintable() and self.is_registered(redirect_uri)

    def is_registered(self, redirect_uri: str) -> bool:
        """Return True if the knob lists *redirect_uri*, or lists none."""
        registered = self.context.knobs["redirect_uris"]
        return not registered or redirect_uri in registered

    # Token routes

    async def token(self, request: web.Request) -> web.Response:
        """Return the response to a token request with a code or a refresh token."""
        form = await self.form(request)
        return self.token_response(self.exchange_grant(self.identify(request, form), form))

    def exchange_grant(self, client_id: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Exchange a code or a refresh token for new tokens."""
        redeem = {"authorization_code": self.use_code, "refresh_token": self.use_refresh_token}.get(
            form.get("grant_type", "")
        )
        if redeem is None:
            raise self.error("grant_type")
        return self.issue_response(redeem(client_id, form), form)

    @abstractmethod
    def issue_response(self, spent: Token, form: Mapping[str, str]) -> dict[str, Any]:
        """Create the tokens for a code or a refresh token, and return them in the vendor's format."""

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the parameters of a token request."""
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}

    def token_response(self, body: Mapping[str, Any]) -> web.Response:
        """Return the response of a token route with *body*."""
        return web.json_response(body, headers={"Cache-Control": "no-store"})

    def identify(self, request: web.Request, form: Mapping[str, str]) -> str:
        """Return the client's ID. Raises an error if its secret is wrong."""
        client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if self.client_by != "body":
            client_id, secret = read_basic_auth(request) or (
                (client_id, secret) if self.client_by == "either" else ("", "")
            )
        expected_secret = self.registered.get(client_id)
        if expected_secret is None:
            raise self.error("client_id")
        if not compare_digest(secret.encode(), expected_secret.encode()):
            raise self.error("client_secret")
        return client_id

    def use_code(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the code of a token request, and consume it."""
        code = self.find_unrevoked(form.get("code", ""), "code")
        if code is None:
            raise self.error("code")
        del self.tokens[code.value]
        errors = {
            "expired": code.has_expired(self.now),
            "client": code.grant.client_id != client_id,
            "redirect_uri": code.redirect_uri != form.get("redirect_uri", ""),
            "code_verifier": not code.matches_verifier(form.get("code_verifier", "")),
        }
        for reason in filter(errors.get, errors):
            raise self.error(reason)
        return code

    def use_refresh_token(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the refresh token of a token request, and revoke the tokens that ``revoked_by_refresh`` lists."""
        token = self.find_valid(form.get("refresh_token", ""), "refresh")
        if token is None:
            raise self.error("refresh_token")
        if token.grant.client_id != client_id:
            raise self.error("client")
        for one in self.list_tokens(token.grant, *self.revoked_by_refresh):
            one.is_ended = True
        return token


def redirect_to_client(params: Mapping[str, str], extra: Mapping[str, str]) -> web.Response:
    """Return the redirect to the client, with the state of its request."""
    query = urlencode({**extra, **({"state": params["state"]} if "state" in params else {})})
    address = params["redirect_uri"]
    return web.Response(status=302, headers={"Location": f"{address}{'&' if '?' in address else '?'}{query}"})


def read_basic_auth(request: web.Request) -> tuple[str, str] | None:
    """Return the username and password of HTTP Basic authentication, or None."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    try:
        # Without validation, Python skips invalid characters, and a damaged header would be accepted.
        name, _, password = b64decode(encoded, validate=True).decode().partition(":")
    except (Error, UnicodeDecodeError):
        return None
    return (unquote(name), unquote(password)) if scheme.casefold() == "basic" else None


def read_bearer_token(request: web.Request) -> str:
    """Return the bearer token of a request, or an empty string."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else ""


def pkce_challenge(verifier: str) -> str:
    """Return the S256 challenge of a PKCE verifier."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
