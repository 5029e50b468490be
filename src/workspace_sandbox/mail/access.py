"""Who let whom into which mailbox: the page of consent, codes, access tokens and refresh tokens."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.kit.consent import Account, Box, Decision, Question, told
from workspace_sandbox.kit.oauth import Grant, OAuth, Token
from workspace_sandbox.kit.refusals import Refused, RefusedWith
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.mail.state import Mailbox

AUTH = "https://www.googleapis.com/auth/"
FULL = "https://mail.google.com/"
CONSENT_PATH = "/o/oauth2/v2/auth"
MAX_REFRESH_TOKENS = 100
"""Living refresh tokens of one account and client; the oldest is dropped silently for one more."""

LONG_NAMES = {"email": f"{AUTH}userinfo.email", "profile": f"{AUTH}userinfo.profile"}
ISSUER = "https://accounts.google.com"
MEANINGS = {
    LONG_NAMES["email"]: "See your email address",
    LONG_NAMES["profile"]: "See your name and picture",
    FULL: "Read, compose, send and permanently delete all your email",
    f"{AUTH}gmail.modify": "Read, compose and send emails, and move them to the bin",
    f"{AUTH}gmail.readonly": "View your email messages and settings",
    f"{AUTH}gmail.compose": "Manage drafts and send emails",
    f"{AUTH}gmail.send": "Send email on your behalf",
    f"{AUTH}gmail.labels": "See and edit your email labels",
    f"{AUTH}gmail.metadata": "View your email message metadata such as labels and headers",
    f"{AUTH}gmail.settings.basic": "See, edit, create or change your email settings and filters",
    f"{AUTH}gmail.settings.sharing": "Manage your sensitive mail settings, including who can manage your mail",
}

REASONS = {
    "client_id": ("invalid_client", "Unauthorized"),
    "client_secret": ("invalid_client", "Unauthorized"),
    "client": ("unauthorized_client", "Unauthorized"),
    "grant_type": ("unsupported_grant_type", "Invalid grant_type."),
    "code": ("invalid_grant", "Malformed auth code."),
    "expired": ("invalid_grant", "Bad Request"),
    "redirect_uri": ("redirect_uri_mismatch", "Bad Request"),
    "code_verifier": ("invalid_grant", "Invalid code verifier."),
    "refresh_token": ("invalid_grant", "Token has been expired or revoked."),
    "token": ("invalid_token", "Token expired or revoked"),
    "access_token": ("invalid_token", "Invalid Value"),
}


class Denied(Refused):
    """A request to the token endpoints that is not met."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error)
        self.status = 401 if error in {"invalid_client", "unauthorized_client"} else 400
        self.body = {"error": error, "error_description": description}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error."""
        return web.json_response(self.body, status=self.status)


class Grants(OAuth):
    """Issues, reads and withdraws what lets a client into mailboxes. Refresh tokens stay as they are."""

    shapes: ClassVar = {"code": "4/0A{:40b}", "access": "ya29.a0{:120b}", "refresh": "1//0g{:64b}"}
    # Google's own library for consent uses HTTP Basic, where its pages show the body.
    client_by = "either"
    hint = "login_hint"

    def __init__(self, stage: EmulatorContext, mailboxes: Mapping[str, Mailbox]) -> None:
        super().__init__(stage, mailboxes)

    def seed(self, address: str) -> str:
        """Return the token that lets the sandbox's own client into that mailbox, always the same one."""
        value = f"ya29.a0{sha256(address.encode()).hexdigest()}"
        return self.keep(value, "access", Grant(self.stage.knobs["client_id"], self.accounts[address])).value

    def allowed(self, value: str) -> Token | None:
        """Return the access token of that value if it is good now, with the scopes of the knob if it is the seeded."""
        token = self.living(value, "access")
        if token and token.expires_at is None:
            token.scopes = tuple(self.stage.knobs["token_scopes"])
        return token

    def check(self, asked: dict[str, str]) -> None:
        """Refuse a consent that cannot be asked for. The user is told, never the client."""
        asked.setdefault("code_challenge_method", "plain")
        scopes = asked.get("scope", "").split()
        if asked.get("client_id") not in self.registered:
            raise _halted(401, "invalid_client")
        if not self.allows(asked.get("redirect_uri", "")):
            raise _halted(400, "redirect_uri_mismatch")
        if asked.get("response_type") != "code" or not scopes:
            raise _halted(400, "invalid_request")
        if not all(scope in {"openid", *LONG_NAMES} or scope.startswith("https://") for scope in scopes):
            raise _halted(400, "invalid_scope")

    def question(self, asked: Mapping[str, str]) -> Question:
        """Ask for which mailbox, and for what of it."""
        accounts = [Account(address, f"{mailbox.name} ({address})") for address, mailbox in self.accounts.items()]
        boxes = [Box(scope, MEANINGS.get(scope, scope)) for scope in _scopes(asked) if scope != "openid"]
        wants = ["Know who you are"]
        return Question(vendor="Google", app="Connector Gateway", wants=wants, accounts=accounts, boxes=boxes)

    def grant(self, asked: Mapping[str, str], decided: Decision) -> Grant | None:
        """Return the grant of the chosen mailbox, if there is one."""
        address = decided.account or asked.get("login_hint") or next(iter(self.accounts))
        allowed = self.stage.knobs["granted_scopes"]
        ticked = decided.keeps if allowed is None else {LONG_NAMES.get(scope, scope) for scope in allowed}.__contains__
        # Who signs in is told in any case, so ``openid`` has no box of its own.
        scopes = tuple(scope for scope in _scopes(asked) if scope == "openid" or ticked(scope))
        mailbox = self.accounts.get(address)
        return Grant(asked["client_id"], mailbox, scopes) if mailbox else None

    def agree(self, asked: Mapping[str, str], decided: Decision) -> Mapping[str, str] | None:
        """Return the code with the scopes that were left ticked."""
        answer = super().agree(asked, decided)
        if answer is None:
            return None
        code = self.tokens[answer["code"]]
        grant, told = code.grant, " ".join(code.scopes)
        earlier = list(self._alike(grant))
        grant.offline = asked.get("access_type") == "offline"
        code.refreshable = grant.offline and (not earlier or "consent" in asked.get("prompt", "").split())
        if asked.get("include_granted_scopes") == "true":
            grant.scopes = tuple(
                dict.fromkeys([*grant.scopes, *(scope for token in earlier for scope in token.scopes)])
            )
        return {**answer, "scope": told}

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the form, whatever the body is said to be."""
        return dict(parse_qsl((await request.read()).decode("utf-8", "replace"), keep_blank_values=True))

    def issued(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Return an access token, and a refresh token for a code that is worth one."""
        grant, seconds = spent.grant, self.stage.knobs["token_seconds"]
        body = {
            "access_token": self.issue("access", grant, seconds).value,
            "expires_in": seconds,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
        if "openid" in grant.scopes:
            body["id_token"] = self._identity(grant)
        if spent.kind == "code" and spent.refreshable:
            body["refresh_token"] = self.issue("refresh", grant).value
            for oldest in list(self._alike(grant))[:-MAX_REFRESH_TOKENS]:
                oldest.ended = True
        return body

    async def revoke(self, request: web.Request) -> web.Response:
        """Withdraw everything that the user of a token allowed its client."""
        token = self.tokens.get(await self._presented(request, "token"))
        if token is None or token.grant.ended:
            raise self.refusal("token")
        for other in self.tokens.values():
            other.grant.ended |= _same(token.grant, other.grant)
        return web.json_response({})

    async def inspect(self, request: web.Request) -> web.Response:
        """Tell what an access token is for."""
        token = self.allowed(await self._presented(request, "access_token"))
        if token is None:
            raise self.refusal("access_token")
        grant, until = token.grant, token.expires_at
        seconds = self.stage.knobs["token_seconds"] if until is None else int(until - self.now)
        about = {"azp": grant.client_id, "aud": grant.client_id, "sub": subject(grant.account.address)}
        about |= {"scope": " ".join(token.scopes), "expires_in": str(seconds)}
        if LONG_NAMES["email"] in token.scopes:
            about |= {"email": grant.account.address, "email_verified": "true"}
        return web.json_response(about | {"access_type": "offline" if grant.offline else "online"})

    def refusal(self, reason: str) -> Denied:
        """Return the refusal of a token request."""
        return Denied(*REASONS[reason])

    async def _presented(self, request: web.Request, name: str) -> str:
        return (await self.form(request)).get(name) or request.query.get(name, "")

    def _identity(self, grant: Grant) -> str:
        now, seconds, address = int(self.now), self.stage.knobs["token_seconds"], grant.account.address
        claims = {"iss": ISSUER, "azp": grant.client_id, "aud": grant.client_id, "sub": subject(address)}
        if LONG_NAMES["email"] in grant.scopes:
            claims |= {"email": address}
        return _unsigned_jwt(claims | {"email_verified": True, "iat": now, "exp": now + seconds})

    def _alike(self, grant: Grant) -> Iterator[Token]:
        living = (token for token in self.tokens.values() if token.kind == "refresh" and token.opens)
        return (token for token in living if _same(grant, token.grant))


def _same(grant: Grant, other: Grant) -> bool:
    return (grant.account, grant.client_id) == (other.account, other.client_id)


def subject(address: str) -> str:
    """The number that always means this account."""
    return f"1{int(sha256(address.encode()).hexdigest(), 16) % 10**20:020d}"


def _scopes(asked: Mapping[str, str]) -> list[str]:
    """The scopes that are wanted, each once, by their long names."""
    return list(dict.fromkeys(LONG_NAMES.get(scope, scope) for scope in asked["scope"].split()))


def _halted(status: int, error: str) -> RefusedWith:
    said = f"<p>Error {status}: {error}</p>"
    return RefusedWith(told("Google", "Access blocked: this request is invalid", said, status))


def _unsigned_jwt(claims: Mapping[str, Any]) -> str:
    header = {"alg": "RS256", "kid": "sandbox", "typ": "JWT"}
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in (header, claims)]
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in [*parts, b"sandbox-signature"])
