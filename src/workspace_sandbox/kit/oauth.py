"""An OAuth server as vendors run it: what people allowed, and the codes and tokens that stand for it.

A vendor's server declares what its tokens look like, how long they last and which of them a refresh ends. Its answers,
and the words of its refusals, are its own.
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

from workspace_sandbox.kit.consent import Decision, Fields, Question, decision, fields_of
from workspace_sandbox.kit.refusals import Refused
from workspace_sandbox.kit.stage import EmulatorContext

LETTERS = string.ascii_letters + string.digits


class Noise:
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
    """What a person allowed a client, in one account."""

    client_id: str
    account: Any
    scopes: tuple[str, ...] = ()
    picked: frozenset[str] | None = None
    """What the person shares of the account; None for all of it."""

    offline: bool = True
    """Whether it lasts while the person is away, by refresh tokens."""

    withdrawn: bool = False
    """Whether the person took it away, and may give it back."""

    ended: bool = False
    """Whether it is over for good."""


@dataclass(eq=False)
class Token:
    """A code, an access token or a refresh token."""

    value: str
    kind: str
    grant: Grant
    issued_at: float
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()
    ended: bool = False
    redirect_uri: str = ""
    challenge: str = ""
    challenge_method: str = "S256"
    refreshable: bool = True
    """Whether a code is worth a refresh token."""

    id: str = ""
    """The identifier that the vendor tells it apart by."""

    @property
    def opens(self) -> bool:
        """Whether it is good for anything, unless it has expired."""
        return not (self.ended or self.grant.ended or self.grant.withdrawn)

    def has_expired(self, now: float) -> bool:
        """Return whether its time is over."""
        return self.expires_at is not None and now >= self.expires_at

    def is_proved_by(self, verifier: str) -> bool:
        """Return whether *verifier* is that of the challenge of a code, if it has one."""
        shown = challenge_of(verifier) if self.challenge_method == "S256" else verifier
        return not self.challenge or compare_digest(shown.encode(), self.challenge.encode())


class OAuth(ABC):
    """The pages and token routes of one vendor, with all that people have allowed on them."""

    shapes: ClassVar[Mapping[str, str]]
    """The form of tokens by their kinds, for ``Noise``."""

    code_seconds: ClassVar[float] = 600.0
    ended_by_refresh: ClassVar[frozenset[str]] = frozenset()
    """Kinds of tokens of a grant that a refresh ends."""

    client_by: ClassVar[Literal["body", "header", "either"]] = "body"
    """Part of a token request that has id and secret of the client."""

    clients: ClassVar[Mapping[str, str | None]] = {}
    """Secrets of the registered clients by their ids. Without any, the client is that of the knobs."""

    hint: ClassVar[str] = ""
    """Parameter that names the account to begin with."""

    def __init__(self, stage: EmulatorContext, accounts: Mapping[str, Any]) -> None:
        self.stage = stage
        self.accounts = accounts
        """By the ids that the page of consent has for them. The first is the one that people start with."""

        self.tokens: dict[str, Token] = {}

    @property
    def registered(self) -> Mapping[str, str | None]:
        """The clients that there are. The first is the one that testers are told."""
        knobs = self.stage.knobs
        return self.clients or {knobs["client_id"]: knobs["client_secret"]}

    @abstractmethod
    def refusal(self, reason: str) -> Refused:
        """Return the refusal of a token request, by the parameter that is wrong, or ``expired`` for a late code."""

    @property
    def now(self) -> float:
        """The stage's time."""
        return self.stage.now()

    # Tokens

    def issue(self, kind: str, grant: Grant, seconds: float | None = None, shape: str = "", **more: Any) -> Token:
        """Create a token that lasts for *seconds*, or until it is withdrawn."""
        value = (shape or self.shapes[kind]).format(Noise(self.stage.random))
        return self.keep(value, kind, grant, seconds, **more)

    def keep(self, value: str, kind: str, grant: Grant, seconds: float | None = None, **more: Any) -> Token:
        """Let in whoever presents *value*."""
        until = None if seconds is None else self.now + seconds
        token = self.tokens[value] = Token(value, kind, grant, self.now, until, **{"scopes": grant.scopes, **more})
        return token

    def find(self, value: str, *kinds: str) -> Token | None:
        """Return the token of that value, expired or not, unless it has ended or was withdrawn."""
        token = self.tokens.get(value)
        return token if token and token.kind in kinds and token.opens else None

    def living(self, value: str, *kinds: str) -> Token | None:
        """Return the token of that value if it is good now."""
        token = self.find(value, *kinds)
        return token if token and not token.has_expired(self.now) else None

    def tokens_of(self, grant: Grant, *kinds: str) -> Iterator[Token]:
        """Return the tokens of *grant* that have not ended."""
        return (one for one in self.tokens.values() if one.grant is grant and one.kind in kinds and not one.ended)

    def withdraw(self) -> None:
        """Withdraw all grants there are, as users would in the application. Later ones are not affected."""
        self.tokens = {value: token for value, token in self.tokens.items() if token.kind != "code"}
        for token in self.tokens.values():
            token.grant.withdrawn = True

    def restore(self) -> None:
        """Give back what was withdrawn."""
        for token in self.tokens.values():
            token.grant.withdrawn = False

    # The page of consent

    async def authorize(self, request: web.Request) -> web.StreamResponse:
        """Ask a person, or take the decision and send them back to the client."""
        fields = await fields_of(request)
        asked = dict(fields)
        self.check(asked)
        decided = self.decided(fields)
        if decided is None:
            return self.question(asked).page(request.path, fields, asked.get(self.hint, ""))
        answer = self.agree(asked, decided) if decided.allowed else None
        return back(asked, self.denial() if answer is None else answer)

    @abstractmethod
    def check(self, asked: dict[str, str]) -> None:
        """Refuse a consent that cannot be asked for."""

    @abstractmethod
    def question(self, asked: Mapping[str, str]) -> Question:
        """Return what a person is asked."""

    @abstractmethod
    def grant(self, asked: Mapping[str, str], decided: Decision) -> Grant | None:
        """Return the grant of a person who agreed, or None if nothing is left of it."""

    def decided(self, fields: Fields) -> Decision | None:
        """Return the decision, or None as long as the person has to be asked."""
        return decision(fields, automatic=self.stage.knobs["auto_approve"])

    def agree(self, asked: Mapping[str, str], decided: Decision) -> Mapping[str, str] | None:
        """Return what the client is sent of a decision to allow it, or None if that allows nothing."""
        grant = self.grant(asked, decided)
        if grant is None:
            return None
        code = self.issue("code", grant, self.code_seconds, redirect_uri=asked.get("redirect_uri", ""))
        code.challenge = asked.get("code_challenge", "")
        code.challenge_method = asked.get("code_challenge_method", "S256")
        return {"code": code.value}

    def denial(self) -> Mapping[str, str]:
        """Return what the client is sent of a decision against it."""
        return {"error": "access_denied"}

    def chosen(self, account: str) -> Any:
        """Return the account of that id, or the first one."""
        return self.accounts.get(account) or next(iter(self.accounts.values()))

    def allows(self, redirect_uri: str) -> bool:
        """Return whether people may be sent there: to any address of HTTP, unless the knob lists addresses."""
        try:
            parts = urlsplit(redirect_uri)
        except ValueError:
            return False
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.fragment
        return is_address and redirect_uri.isprintable() and self.is_registered(redirect_uri)

    def is_registered(self, redirect_uri: str) -> bool:
        """Return whether the knob lists an address."""
        registered = self.stage.knobs["redirect_uris"]
        return not registered or redirect_uri in registered

    # The token routes

    async def token(self, request: web.Request) -> web.Response:
        """Answer a client that has a code or a refresh token."""
        form = await self.form(request)
        return self.answer(self.trade(self.identify(request, form), form))

    def trade(self, client_id: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the tokens that a client gets for its code or its refresh token."""
        redeem = {"authorization_code": self.redeem, "refresh_token": self.renew}.get(form.get("grant_type", ""))
        if redeem is None:
            raise self.refusal("grant_type")
        return self.issued(redeem(client_id, form), form)

    @abstractmethod
    def issued(self, spent: Token, form: Mapping[str, str]) -> dict[str, Any]:
        """Create the tokens that a code or a refresh token is worth, and return them as the vendor does."""

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the parameters of a token request."""
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}

    def answer(self, body: Mapping[str, Any]) -> web.Response:
        """Return the response of a token route."""
        return web.json_response(body, headers={"Cache-Control": "no-store"})

    def identify(self, request: web.Request, form: Mapping[str, str]) -> str:
        """Return the id of the client that asks. Refuses one without its secret."""
        client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if self.client_by != "body":
            client_id, secret = basic(request) or ((client_id, secret) if self.client_by == "either" else ("", ""))
        known = self.registered.get(client_id)
        if known is None:
            raise self.refusal("client_id")
        if not compare_digest(secret.encode(), known.encode()):
            raise self.refusal("client_secret")
        return client_id

    def redeem(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the code of a token request, which is spent by it."""
        code = self.find(form.get("code", ""), "code")
        if code is None:
            raise self.refusal("code")
        del self.tokens[code.value]
        wrong = {
            "expired": code.has_expired(self.now),
            "client": code.grant.client_id != client_id,
            "redirect_uri": code.redirect_uri != form.get("redirect_uri", ""),
            "code_verifier": not code.is_proved_by(form.get("code_verifier", "")),
        }
        for reason in filter(wrong.get, wrong):
            raise self.refusal(reason)
        return code

    def renew(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the refresh token of a token request, which ends what ``ended_by_refresh`` names."""
        token = self.living(form.get("refresh_token", ""), "refresh")
        if token is None:
            raise self.refusal("refresh_token")
        if token.grant.client_id != client_id:
            raise self.refusal("client")
        for one in self.tokens_of(token.grant, *self.ended_by_refresh):
            one.ended = True
        return token


def back(asked: Mapping[str, str], answer: Mapping[str, str]) -> web.Response:
    """Return the redirect to the client that *asked*, with the state that it sent."""
    query = urlencode({**answer, **({"state": asked["state"]} if "state" in asked else {})})
    address = asked["redirect_uri"]
    return web.Response(status=302, headers={"Location": f"{address}{'&' if '?' in address else '?'}{query}"})


def basic(request: web.Request) -> tuple[str, str] | None:
    """Return name and password of HTTP Basic, or None if a request has none."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    try:
        # Without validation, Python passes over foreign characters, and a damaged header would be let in.
        name, _, password = b64decode(encoded, validate=True).decode().partition(":")
    except (Error, UnicodeDecodeError):
        return None
    return (unquote(name), unquote(password)) if scheme.casefold() == "basic" else None


def bearer(request: web.Request) -> str:
    """Return the bearer token of a request, or nothing."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else ""


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a PKCE verifier."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
