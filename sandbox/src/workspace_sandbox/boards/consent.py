"""Authorisation pages for tokens, OAuth 1 and OAuth 2, all on the sandbox's single host."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web

from workspace_sandbox.boards.access import APP, TOKEN, Credentials, Principal, oauth_pairs
from workspace_sandbox.boards.arguments import Arguments, read_arguments
from workspace_sandbox.boards.data.objects import Member
from workspace_sandbox.boards.error_responses import INVALID_KEY, MISSING_SCOPES, ApiError
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse
from workspace_sandbox.kit.oauth.consent_page import (
    Checkbox,
    ConsentAccount,
    ConsentForm,
    Decision,
    Fields,
    read_fields,
    render_page,
)
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token, redirect_to_client

VENDOR = "Trello"
LIFETIMES = {"1hour": 3600.0, "1day": 86_400.0, "30days": 2_592_000.0, "never": None}
SCOPES = ("read", "write", "account")
REFRESH_SECONDS = 90 * 86_400.0

OAUTH2_SCOPES = {"read:board:trello": "read", "write:board:trello": "write", "read:member:trello": "read"}
"""The supported OAuth 2 scopes and the permissions that they grant."""

OFFLINE = "offline_access"

FOREIGN = "Invalid return_url. The return URL should match the application's allowed origins."

MEANINGS = {
    "read": "Read all of your boards and workspaces",
    "write": "Create and change cards, comments, lists and boards",
    "account": "Read your email address and change your profile",
    "read:board:trello": "Read your boards",
    "write:board:trello": "Create and change cards, comments, lists and boards",
    "read:member:trello": "Read your profile",
    OFFLINE: "Keep its access while you are offline",
}


@dataclass(slots=True)
class RequestToken:
    """A pending OAuth 1 authorisation."""

    expires_at: float
    callback: str
    grant: Grant | None = None
    verifier: str = ""
    lifetime: float | None = None


class TrelloOAuth(OAuth):
    """The tokens of members, and the pages and routes that issue them."""

    # Newer tokens begin with ATTA and are longer than the 64 digits of older ones, so clients must not check the
    # length. Trello's IDs begin with the creation time in seconds (API introduction), from which clients read an
    # object's age.
    shapes: ClassVar = {"key": "ATTA{:72X}", "code": "{:32x}", "access": "eyJ{:64x}", "refresh": "eyJ{:64x}"}
    code_seconds = 300.0
    # Each refresh token can be used once. If the response is lost, the user has to authorise the app again.
    revoked_by_refresh = frozenset({"refresh"})
    clients: ClassVar = {APP.key: APP.secret}

    def __init__(self, context: EmulatorContext, members: Sequence[Member], allowed_at: float) -> None:
        super().__init__(context, {member.username: member for member in members})
        self._requests: dict[str, RequestToken] = {}
        grant = Grant(APP.key, members[0], ("read", "write"))
        self.default_token = self.register(TOKEN, "key", grant, id="66aa00112233445566778899")
        self.default_token.issued_at = allowed_at

    def revoke_all(self) -> None:
        """Revoke all tokens and pending authorisations."""
        super().revoke_all()
        self._requests.clear()

    def restore(self) -> None:
        """Restore all revoked tokens, and the default token even if it was deleted."""
        self.tokens[TOKEN] = self.default_token
        super().restore()

    def authenticate(self, presented: Credentials) -> Principal:
        """Return the principal with these credentials.

        Raises an error if they are invalid, but not if there are none.
        """
        if presented == Credentials():
            return Principal()
        if not presented.bearer and presented.key != APP.key:
            raise ApiError(401, INVALID_KEY)
        # The error reports missing scopes instead of a missing token, as observed in live tests.
        if presented.token is None:
            raise ApiError(401, MISSING_SCOPES)
        token = self.find_valid(presented.token, "access" if presented.bearer else "key")
        if token is None:
            raise ApiError(401, self.context.knobs["invalid_token"])
        return Principal(token)

    def budget_key(self, presented: Credentials) -> str | None:
        """Return the key whose budget a request uses."""
        is_known = presented.bearer and self.find_unrevoked(presented.token or "", "access")
        return APP.key if is_known else presented.key

    def issue_key(self, grant: Grant, lifetime: float | None) -> Token:
        """Create a token of the kind that is sent together with the app's key."""
        identifier = f"{int(self.now) & 0xFFFFFFFF:08x}{self.context.random.getrandbits(64):016x}"
        return self.issue("key", grant, lifetime, id=identifier)

    # Token page and OAuth 1

    async def authorize_key(self, request: web.Request) -> web.StreamResponse:
        """Show the consent page of ``/1/authorize``, or pass a token to the page that sent the user here."""
        params, fields = await read_arguments(request), await read_fields(request)
        _require_key(str(params.raw("key")))
        scopes, lifetime = _parse_scopes(params), _parse_lifetime(params)
        return_url = str(params.raw("return_url") or "")
        if return_url and not self.is_allowed_redirect(return_url):
            return web.Response(status=400, text=FOREIGN)
        decision = self.read_decision(fields)
        if decision is None:
            return self._consent_page(request, fields, scopes)
        granted = tuple(filter(decision.grants, scopes))
        if not decision.allowed or not granted:
            return _redirect(return_url, f"error={quote('Token request rejected')}")
        token = self.issue_key(Grant(APP.key, self.selected_account(decision.account), granted), lifetime)
        if params.raw("callback_method") == "postMessage":
            # ``postMessage`` is the other way to pass a token that Trello's page "Authorization" documents.
            script = f"<script>(window.opener||window.parent).postMessage('{token.value}','*')</script>"
            return _page("Authorized", script)
        # In the fragment, which browsers do not send to servers.
        return _redirect(return_url, f"token={token.value}")

    async def request_token(self, request: web.Request) -> web.StreamResponse:
        """Start OAuth 1 with ``OAuthGetRequestToken``. The signature is not checked."""
        presented = await self.form(request)
        _require_key(presented.get("oauth_consumer_key", ""))
        callback = presented.get("oauth_callback", "oob")
        if callback != "oob" and not self.is_allowed_redirect(callback):
            return web.Response(status=400, text=FOREIGN)
        value, secret = self._hex(128), self._hex(128)
        self._requests[value] = RequestToken(self.now + self.code_seconds, callback)
        return _form(oauth_token=value, oauth_token_secret=secret, oauth_callback_confirmed="true")

    async def authorize_token(self, request: web.Request) -> web.StreamResponse:
        """Show the consent page of ``OAuthAuthorizeToken``, or pass a verifier to the app."""
        params, fields = await read_arguments(request), await read_fields(request)
        value = str(params.raw("oauth_token"))
        pending = self._requests.get(value)
        if pending is None or self.now >= pending.expires_at:
            return web.Response(status=400, text="token not found")
        scopes, pending.lifetime = _parse_scopes(params), _parse_lifetime(params)
        decision = self.read_decision(fields)
        if decision is None:
            return self._consent_page(request, fields, scopes)
        if not decision.allowed:
            del self._requests[value]
            return _page("Denied", "<p>You denied the request.</p>")
        pending.grant = Grant(APP.key, self.selected_account(decision.account), tuple(filter(decision.grants, scopes)))
        pending.verifier = self._hex(64)
        if pending.callback == "oob":
            return _page("Authorized", f"<pre>{pending.verifier}</pre>")
        return redirect_to_client(
            {"redirect_uri": pending.callback}, {"oauth_token": value, "oauth_verifier": pending.verifier}
        )

    async def access_token(self, request: web.Request) -> web.StreamResponse:
        """Finish OAuth 1 with ``OAuthGetAccessToken``, once for each request token."""
        presented = await self.form(request)
        pending = self._requests.pop(presented.get("oauth_token", ""), None)
        if pending is None or pending.grant is None or self.now >= pending.expires_at:
            return web.Response(status=401, text="invalid token")
        if presented.get("oauth_verifier") != pending.verifier:
            return web.Response(status=401, text="invalid token")
        token = self.issue_key(pending.grant, pending.lifetime)
        return _form(oauth_token=token.value, oauth_token_secret=self._hex(128))

    # OAuth 2

    def check(self, params: dict[str, str]) -> None:
        """Raise an error if the authorisation request is invalid. PKCE is required."""
        _require_key(params.get("client_id", ""))
        if not self.is_allowed_redirect(params.get("redirect_uri", "")):
            raise ApiError(400, "redirect_uri is not registered for client")
        # Required for every client, even with a secret (Trello, "OAuth 2.0 for confidential clients").
        challenged = params.get("code_challenge") and params.get("code_challenge_method") == "S256"
        if params.get("response_type") != "code" or not challenged:
            raise PreparedErrorResponse(redirect_to_client(params, {"error": "invalid_request"}))

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page, on which the user selects a member and scopes."""
        return self._question(params, (name for name in _requested_scopes(params) if name in MEANINGS))

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant | None:
        """Return the grant of the selected scopes, or None if there are none."""
        names = [name for name in _requested_scopes(params) if decision.grants(name)]
        scopes = tuple(name for name in names if name in OAUTH2_SCOPES)
        member = self.selected_account(decision.account)
        return Grant(APP.key, member, scopes, offline=OFFLINE in names) if scopes else None

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return all text parameters of a request, from its body, query or OAuth header."""
        params = await read_arguments(request)
        return {name: str(params.raw(name)) for name in params} | oauth_pairs(request.headers.get("Authorization", ""))

    def issue_response(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Create an access token, and a refresh token if the grant has offline access."""
        grant, seconds = spent.grant, self.context.knobs["token_seconds"]
        rights = tuple(sorted({OAUTH2_SCOPES[name] for name in grant.scopes}))
        raw = {
            "access_token": self.issue("access", grant, seconds, scopes=rights).value,
            "expires_in": seconds,
            "token_type": "Bearer",
            "scope": " ".join([*grant.scopes, OFFLINE] if grant.offline else grant.scopes),
        }
        return raw | ({"refresh_token": self.issue("refresh", grant, REFRESH_SECONDS).value} if grant.offline else {})

    def error(self, reason: str) -> PreparedErrorResponse:
        """Return the error of a token request."""
        match reason:
            case "client_id" | "client_secret":
                status, body = 401, {"error": "access_denied", "error_description": "Unauthorized"}
            case "grant_type":
                status, body = 400, {"error": "unsupported_grant_type"}
            case _:
                described = "Unknown or invalid code or refresh token."
                status, body = 403, {"error": "invalid_grant", "error_description": described}
        return PreparedErrorResponse(web.json_response(body, status=status))

    def is_registered(self, redirect_uri: str) -> bool:
        """Return True if the origin is allowed. An allowed origin without a port matches all ports."""
        parts = urlsplit(redirect_uri)
        origins = {f"{parts.scheme}://{parts.netloc}", f"{parts.scheme}://{parts.hostname}"}
        return not origins.isdisjoint(self.context.knobs["allowed_origins"])

    def _consent_page(self, request: web.Request, fields: Fields, scopes: Iterable[str]) -> web.Response:
        return self._question(dict(fields), scopes).page(request.path, fields)

    def _question(self, params: Mapping[str, str], scopes: Iterable[str]) -> ConsentForm:
        accounts = [ConsentAccount(name, f"{member.full_name} (@{name})") for name, member in self.accounts.items()]
        boxes = [Checkbox(scope, MEANINGS[scope]) for scope in scopes]
        return ConsentForm(vendor=VENDOR, app=params.get("name") or APP.name, wants=(), accounts=accounts, boxes=boxes)

    def _hex(self, bits: int) -> str:
        return f"{self.context.random.getrandbits(bits):0{bits // 4}x}"


def _require_key(key: str) -> None:
    if key != APP.key:
        raise ApiError(401, INVALID_KEY)


def _requested_scopes(params: Mapping[str, str]) -> Iterable[str]:
    return dict.fromkeys(params.get("scope", "").split())


def _parse_scopes(params: Arguments) -> tuple[str, ...]:
    scopes = params.words("scope") or ["read"]
    if not set(scopes) <= set(SCOPES):
        raise params.error("scope")
    return tuple(scopes)


def _parse_lifetime(params: Arguments) -> float | None:
    # Trello's pages disagree whether the default is 30 days or unlimited. The emulator uses the shorter one.
    return LIFETIMES[params.choice("expiration", LIFETIMES, "30days")]


def _page(title: str, body: str) -> web.Response:
    return render_page(VENDOR, title, body)


def _redirect(return_url: str, fragment: str) -> web.StreamResponse:
    if not return_url:
        return _page("Your decision", f"<pre>{escape(fragment.partition('=')[2])}</pre>")
    return web.Response(status=302, headers={"Location": f"{return_url.partition('#')[0]}#{fragment}"})


def _form(**values: str) -> web.Response:
    return web.Response(text=urlencode(values))
