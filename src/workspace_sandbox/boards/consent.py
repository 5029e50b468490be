"""Where a member says yes: the consent page, OAuth 1 and OAuth 2, all on the one host of the sandbox."""

import base64
import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web

from workspace_sandbox.boards.access import LIFETIMES, SCOPES, Access, App, Token, oauth_pairs
from workspace_sandbox.boards.arguments import Arguments, arguments_of
from workspace_sandbox.boards.state import Member
from workspace_sandbox.boards.wire import INVALID_KEY, Refusal
from workspace_sandbox.kit.consent import Account, Box, Decision, Question, decision, fields_of, told
from workspace_sandbox.kit.stage import Stage

VENDOR = "Trello"
REFRESH_SECONDS = 90 * 86_400.0
CODE_SECONDS = 300.0

OAUTH2_SCOPES = {"read:board:trello": "read", "write:board:trello": "write", "read:member:trello": "read"}
"""The OAuth 2 scopes that matter here, and what they allow."""

OFFLINE = "offline_access"

FOREIGN = "Invalid return_url. The return URL should match the application's allowed origins."

MEANINGS = {
    "read": "Read all of your boards and workspaces",
    "write": "Create and change cards, comments, lists and boards",
    "account": "Read your email address and change your profile",
    "read:board:trello": "Read your boards",
    "write:board:trello": "Create and change cards, comments, lists and boards",
    "read:member:trello": "Read your profile",
    OFFLINE: "Keep its access while you are away",
}


@dataclass(slots=True)
class Grant:
    """A consent on its way to becoming a token."""

    app: App
    scopes: tuple[str, ...]
    expires_at: float
    member: Member
    secret: str = ""
    callback: str = "oob"
    challenge: str = ""
    approved: bool = False
    lifetime: float | None = None
    offline: bool = False


class Consent:
    """The pages and token routes of one emulator."""

    def __init__(self, stage: Stage, access: Access, members: Sequence[Member]) -> None:
        self._stage = stage
        self._access = access
        self._members = {member.username: member for member in members}
        self._requests: dict[str, Grant] = {}
        self._codes: dict[str, Grant] = {}
        self._refreshes: dict[str, Grant] = {}
        self._withdrawn: dict[str, Grant] = {}

    def withdraw(self) -> None:
        """Let no code and no refresh token be worth anything any more."""
        self._withdrawn |= self._refreshes
        for pending in (self._requests, self._codes, self._refreshes):
            pending.clear()

    def restore(self) -> None:
        """Take the refresh tokens again that were withdrawn."""
        self._refreshes |= self._withdrawn
        self._withdrawn.clear()

    async def authorize(self, request: web.Request) -> web.StreamResponse:
        """``/1/authorize``: asks, then hands a token to the page that sent the member here."""
        asked = await arguments_of(request)
        app = self._app(str(asked.raw("key")))
        scopes, lifetime = _scopes(asked), _lifetime(asked)
        return_url = str(asked.raw("return_url") or "")
        if return_url and not self._allows(return_url):
            return web.Response(status=400, text=FOREIGN)
        decided = await self._decision(request)
        if decided is None:
            return await self._question(request, app, scopes)
        kept = tuple(filter(decided.keeps, scopes))
        if not decided.allowed or not kept:
            return _leave(return_url, f"error={quote('Token request rejected')}")
        token = self._issue(app, self._member(decided), kept, lifetime)
        if asked.raw("callback_method") == "postMessage":
            # ``postMessage`` is the other way that Trello's page "Authorization" has for handing a token over.
            script = f"<script>(window.opener||window.parent).postMessage('{token.value}','*')</script>"
            return _page("Authorized", script)
        # In the fragment, which browsers keep to themselves: the token never reaches a server by this way.
        return _leave(return_url, f"token={token.value}")

    async def request_token(self, request: web.Request) -> web.StreamResponse:
        """``OAuthGetRequestToken``: the first leg of OAuth 1; any signature will do."""
        presented = await _presented(request)
        app = self._app(presented.get("oauth_consumer_key", ""))
        value, secret = self._hex(128), self._hex(128)
        callback = presented.get("oauth_callback", "oob")
        if callback != "oob" and not self._allows(callback):
            return web.Response(status=400, text=FOREIGN)
        owner = next(iter(self._members.values()))
        self._requests[value] = Grant(app, (), self._now() + CODE_SECONDS, owner, secret, callback)
        return _form(oauth_token=value, oauth_token_secret=secret, oauth_callback_confirmed="true")

    async def authorize_token(self, request: web.Request) -> web.StreamResponse:
        """``OAuthAuthorizeToken``: asks, then sends the member back with a verifier, or shows it."""
        asked = await arguments_of(request)
        value = str(asked.raw("oauth_token"))
        grant = self._requests.get(value)
        if grant is None or self._now() >= grant.expires_at:
            return web.Response(status=400, text="token not found")
        grant.scopes, grant.lifetime = _scopes(asked), _lifetime(asked)
        decided = await self._decision(request)
        if decided is None:
            return await self._question(request, grant.app, grant.scopes)
        if not decided.allowed:
            del self._requests[value]
            return _page("Denied", "<p>You denied the request.</p>")
        grant.scopes, grant.member = tuple(filter(decided.keeps, grant.scopes)), self._member(decided)
        grant.approved, grant.challenge = True, self._hex(64)
        if grant.callback == "oob":
            return _page("Authorized", f"<pre>{grant.challenge}</pre>")
        return _redirect(grant.callback, {"oauth_token": value, "oauth_verifier": grant.challenge})

    async def access_token(self, request: web.Request) -> web.StreamResponse:
        """``OAuthGetAccessToken``: the last leg of OAuth 1, once for each request token."""
        presented = await _presented(request)
        grant = self._requests.pop(presented.get("oauth_token", ""), None)
        known = grant and grant.approved and self._now() < grant.expires_at
        if grant is None or not known or presented.get("oauth_verifier") != grant.challenge:
            return web.Response(status=401, text="invalid token")
        token = self._issue(grant.app, grant.member, grant.scopes, grant.lifetime)
        return _form(oauth_token=token.value, oauth_token_secret=self._hex(128))

    async def oauth2_authorize(self, request: web.Request) -> web.StreamResponse:
        """``/authorize``: the OAuth 2 consent page; PKCE is not optional."""
        asked = await arguments_of(request)
        app = self._app(str(asked.raw("client_id")))
        redirect, state = str(asked.raw("redirect_uri") or ""), {"state": str(asked.raw("state") or "")}
        if not self._allows(redirect):
            return web.Response(status=400, text="redirect_uri is not registered for client")
        # Asked of every client, even of one that has a secret (Trello, "OAuth 2.0 for confidential clients").
        challenged = asked.given("code_challenge") and asked.raw("code_challenge_method") == "S256"
        if asked.raw("response_type") != "code" or not challenged:
            return _redirect(redirect, {"error": "invalid_request", **state})
        wanted = dict.fromkeys(str(asked.raw("scope") or "").split())
        decided = await self._decision(request)
        if decided is None:
            return await self._question(request, app, [name for name in wanted if name in MEANINGS])
        kept = [name for name in wanted if decided.keeps(name)]
        scopes = tuple(name for name in kept if name in OAUTH2_SCOPES)
        if not decided.allowed or not scopes:
            return _redirect(redirect, {"error": "access_denied", **state})
        code, until = self._hex(128), self._now() + CODE_SECONDS
        challenge, member = str(asked.raw("code_challenge")), self._member(decided)
        self._codes[code] = Grant(app, scopes, until, member, "", redirect, challenge, offline=OFFLINE in kept)
        return _redirect(redirect, {"code": code, **state})

    async def oauth2_token(self, request: web.Request) -> web.StreamResponse:
        """``/oauth/token``: codes once, and refresh tokens that change with every use."""
        asked = await _presented(request)
        app = self._access.apps.get(asked.get("client_id", ""))
        if app is None or not secrets.compare_digest(app.secret, asked.get("client_secret", "")):
            return web.json_response({"error": "access_denied", "error_description": "Unauthorized"}, status=401)
        redeem = {"authorization_code": self._by_code, "refresh_token": self._by_refresh}.get(
            asked.get("grant_type", "")
        )
        if redeem is None:
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        grant = redeem(asked)
        if grant is None or grant.app is not app or self._now() >= grant.expires_at:
            described = "Unknown or invalid code or refresh token."
            return web.json_response({"error": "invalid_grant", "error_description": described}, status=403)
        return web.json_response(self._pair(grant))

    def _by_code(self, asked: Mapping[str, str]) -> Grant | None:
        grant = self._codes.pop(asked.get("code", ""), None)
        digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        verified = grant and base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == grant.challenge
        return grant if grant and verified and asked.get("redirect_uri") == grant.callback else None

    def _by_refresh(self, asked: Mapping[str, str]) -> Grant | None:
        # Each refresh token serves once. Who loses the answer has to ask the member again.
        return self._refreshes.pop(asked.get("refresh_token", ""), None)

    def _pair(self, grant: Grant) -> dict[str, Any]:
        now, seconds = self._now(), self._stage.knobs["token_seconds"]
        value, identifier = f"eyJ{self._hex(256)}", self._hex(96)
        rights = tuple(sorted({OAUTH2_SCOPES[name] for name in grant.scopes}))
        self._access.keep(Token(identifier, value, grant.app, grant.member, rights, now, now + seconds, bearer=True))
        raw = {"access_token": value, "expires_in": seconds, "token_type": "Bearer"}
        raw["scope"] = " ".join([*grant.scopes, OFFLINE] if grant.offline else grant.scopes)
        if grant.offline:
            raw["refresh_token"] = refresh = f"eyJ{self._hex(256)}"
            grant.expires_at = now + REFRESH_SECONDS
            self._refreshes[refresh] = grant
        return raw

    def _issue(self, app: App, member: Member, scopes: tuple[str, ...], lifetime: float | None) -> Token:
        return self._access.issue(self._stage.random, app, member, scopes, now=self._now(), lifetime=lifetime)

    def _app(self, key: str) -> App:
        if key not in self._access.apps:
            raise Refusal(401, INVALID_KEY)
        return self._access.apps[key]

    def _member(self, decided: Decision) -> Member:
        """Who decided; the owner of the seeded token unless another one is named."""
        return self._members.get(decided.account) or next(iter(self._members.values()))

    async def _decision(self, request: web.Request) -> Decision | None:
        return decision(await fields_of(request), automatic=self._stage.knobs["auto_approve"])

    async def _question(self, request: web.Request, app: App, scopes: Iterable[str]) -> web.Response:
        asked = await fields_of(request)
        accounts = [Account(name, f"{member.full_name} (@{name})") for name, member in self._members.items()]
        boxes = [Box(scope, MEANINGS[scope]) for scope in scopes]
        name = dict(asked).get("name") or app.name
        return Question(vendor=VENDOR, app=name, wants=(), accounts=accounts, boxes=boxes).page(request.path, asked)

    def _allows(self, address: str) -> bool:
        """Whether people may be sent there; an allowed origin without a port stands for all of its ports."""
        allowed: list[str] = self._stage.knobs["allowed_origins"]
        try:
            parts = urlsplit(address)
        except ValueError:
            return False
        origins = {f"{parts.scheme}://{parts.netloc}", f"{parts.scheme}://{parts.hostname}"}
        return address.isprintable() and not origins.isdisjoint(allowed)

    def _now(self) -> float:
        return self._stage.clock.now()

    def _hex(self, bits: int) -> str:
        return f"{self._stage.random.getrandbits(bits):0{bits // 4}x}"


async def _presented(request: web.Request) -> dict[str, str]:
    """Everything a client sends as text, be it in body, query or an OAuth header."""
    asked = await arguments_of(request)
    return {name: str(asked.raw(name)) for name in asked} | oauth_pairs(request.headers.get("Authorization", ""))


def _scopes(asked: Arguments) -> tuple[str, ...]:
    scopes = asked.words("scope") or ["read"]
    if not set(scopes) <= set(SCOPES):
        raise asked.refusal("scope")
    return tuple(scopes)


def _lifetime(asked: Arguments) -> float | None:
    # Trello's pages disagree on what is meant without it: 30 days or for ever. The cautious one is played.
    return LIFETIMES[asked.choice("expiration", LIFETIMES, "30days")]


def _page(title: str, body: str) -> web.Response:
    return told(VENDOR, title, body)


def _leave(return_url: str, fragment: str) -> web.StreamResponse:
    if not return_url:
        return _page("Your answer", f"<pre>{escape(fragment.partition('=')[2])}</pre>")
    return web.Response(status=302, headers={"Location": f"{return_url.partition('#')[0]}#{fragment}"})


def _redirect(address: str, query: Mapping[str, str]) -> web.Response:
    answer = urlencode({name: value for name, value in query.items() if value})
    joint = "&" if "?" in address else "?"
    return web.Response(status=302, headers={"Location": f"{address}{joint}{answer}"})


def _form(**values: str) -> web.Response:
    return web.Response(text=urlencode(values))
