"""Who may call: the service key, and the applications that were authorised with OAuth."""

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.crm import directory
from workspace_sandbox.crm.directory import MAIN
from workspace_sandbox.crm.values import timestamp
from workspace_sandbox.crm.wire import ApiError, GrantRejection, expired, invalid, missing_scopes, unauthenticated
from workspace_sandbox.kit.consent import Account, Decision, Question
from workspace_sandbox.kit.oauth import Grant, OAuth, Token, bearer
from workspace_sandbox.kit.refusals import require
from workspace_sandbox.kit.stage import EmulatorContext

SERVICE_KEY = "pat-eu1-5c1f3a52-07de-4b8a-9e64-2f6bd1c0a97e"
RIGHTS = {"read": "View", "write": "Create and change"}

SCOPES = (
    *("oauth", "crm.objects.contacts.read", "crm.objects.contacts.write", "crm.objects.companies.read"),
    *("crm.objects.companies.write", "crm.objects.deals.read", "crm.objects.deals.write", "crm.objects.owners.read"),
    *("crm.schemas.contacts.read", "crm.schemas.companies.read", "crm.schemas.deals.read"),
    *("crm.schemas.contacts.write", "crm.schemas.companies.write", "crm.schemas.deals.write"),
    *("tickets", "crm.objects.products.read", "crm.objects.products.write", "crm.schemas.products.write"),
    *("crm.objects.line_items.read", "crm.objects.line_items.write", "crm.schemas.line_items.write"),
    *("crm.lists.read", "crm.lists.write"),
)
"""What the portal grants when asked for it."""

REASONS = {
    "client_id": ("invalid_client", "BAD_CLIENT_ID", "missing or unknown client id"),
    "client_secret": ("invalid_client", "BAD_CLIENT_SECRET", "missing or invalid client secret"),
    "grant_type": ("unsupported_grant_type", "BAD_GRANT_TYPE", "missing or unknown grant type"),
    "code": ("invalid_grant", "BAD_AUTH_CODE", "missing or unknown auth code"),
    "expired": ("invalid_grant", "EXPIRED_AUTH_CODE", "auth code has expired"),
    "redirect_uri": (
        "invalid_grant",
        "MISMATCH_REDIRECT_URI_AUTH_CODE",
        "redirect_uri does not match the one the code was issued for",
    ),
    "code_verifier": ("invalid_grant", "BAD_CODE_VERIFIER", "code_verifier does not match code_challenge"),
    "client": ("invalid_grant", "BAD_REFRESH_TOKEN", "refresh token is invalid, expired or revoked"),
    "refresh_token": ("invalid_grant", "BAD_REFRESH_TOKEN", "refresh token is invalid, expired or revoked"),
}


class Grants(OAuth):
    """Every authorisation of the portals that one user has; the first portal is that of the service key.

    Refresh tokens stay the same when they are used, although no page of HubSpot's promises that.
    """

    # Access tokens have more than 300 characters.
    shapes: ClassVar = {"code": "eu1-{:u}", "access": "CK{:320b}", "refresh": "eu1-{:u}"}
    code_seconds = 300.0

    def __init__(self, stage: EmulatorContext, accounts: tuple[directory.Account, ...] = (MAIN,)) -> None:
        super().__init__(stage, {str(account.portal_id): account for account in accounts})
        self.keep(SERVICE_KEY, "access", Grant("", accounts[0]))

    def authenticate(self, request: web.Request) -> Token:
        """Return the access token of *request*. Refuses one that is not good."""
        token = require(self.find(bearer(request), "access"), unauthenticated())
        # Checked after everything else, since expired tokens and unknown ones have different categories.
        if token.expires_at is not None and token.has_expired(self.now):
            raise expired(int(self.now - token.expires_at), timestamp(token.expires_at))
        return token

    def require(self, token: Token, scopes: tuple[str, ...]) -> None:
        """Refuse, unless one of *scopes* was granted."""
        granted = token.scopes if token.grant.client_id else self.stage.knobs["scopes"]
        if not set(scopes) & set(granted):
            raise missing_scopes(scopes)

    def check(self, asked: dict[str, str]) -> None:
        """Refuse a consent that cannot be asked for."""
        missing = [name for name in ("client_id", "redirect_uri", "scope") if not asked.get(name)]
        if missing or asked["client_id"] not in self.registered:
            raise invalid(f"missing or unknown query parameters: {', '.join(missing) or 'client_id'}")
        if asked.get("code_challenge") and asked.get("code_challenge_method") != "S256":
            raise invalid("code_challenge_method must be S256")
        if not self.allows(asked["redirect_uri"]):
            raise invalid("redirect_uri must be an absolute http address that is registered with the application")

    def question(self, asked: Mapping[str, str]) -> Question:
        """Ask for which portal."""
        accounts = [Account(number, f"{account.domain} ({number})") for number, account in self.accounts.items()]
        wants = [_meaning(scope) for scope in _scopes(asked)]
        return Question(vendor="HubSpot", app="Connector Gateway", wants=wants, accounts=accounts)

    def grant(self, asked: Mapping[str, str], decided: Decision) -> Grant:
        """Return the grant of the chosen portal."""
        # What the portal does not have is left out without a word. The token's answer lists what was granted.
        wanted = dict.fromkeys(["oauth", *_scopes(asked)])
        scopes = tuple(scope for scope in wanted if scope in self.stage.knobs["scopes"])
        return Grant(asked["client_id"], self.chosen(decided.account), scopes)

    def denial(self) -> Mapping[str, str]:
        """Return the refusal of a user."""
        return {"error": "access_denied", "error_description": "User denied access"}

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the form; only the oldest version takes its fields from the query too."""
        posted = await super().form(request)
        # The dated versions take secrets in the body alone; addresses end up in logs.
        return {**request.query, **posted} if "/v1/" in request.path else posted

    def issued(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Return an access token, with the refresh token that stays."""
        grant, seconds = spent.grant, self.stage.knobs["token_seconds"]
        refresh = spent if spent.kind == "refresh" else self.issue("refresh", grant)
        return {
            "token_type": "bearer",
            "token_use": "access_token",
            "access_token": self.issue("access", grant, seconds).value,
            "refresh_token": refresh.value,
            "expires_in": ceil(seconds),
            "hub_id": grant.account.portal_id,
            "scopes": list(grant.scopes),
        }

    async def introspect(self, request: web.Request) -> web.Response:
        """Tell whose a token is, and what it may do."""
        form = await self.form(request)
        self.identify(request, form)
        value = form.get("token") or form.get("access_token") or form.get("refresh_token") or ""
        token = self.living(value, "access", "refresh")
        if token is None or not token.grant.client_id:
            return web.json_response({"active": False})
        return web.json_response({"active": True, "token_use": f"{token.kind}_token", **self._described(token)})

    async def revoke(self, request: web.Request) -> web.Response:
        """Withdraw a token for its application."""
        form = await self.form(request)
        self.identify(request, form)
        self._end(form.get("token") or "")
        return web.Response(status=200)

    async def read_access_token(self, request: web.Request) -> web.Response:
        """Tell whose an access token is, in the older form."""
        return self._read(request, "access")

    async def read_refresh_token(self, request: web.Request) -> web.Response:
        """Tell whose a refresh token is, in the older form."""
        return self._read(request, "refresh")

    async def delete_refresh_token(self, request: web.Request) -> web.Response:
        """Withdraw a refresh token, in the older form."""
        self._end(request.match_info["token"])
        return web.Response(status=204)

    def refusal(self, reason: str) -> GrantRejection:
        """Return the refusal of a token request."""
        return GrantRejection(*REASONS[reason])

    def _end(self, value: str) -> None:
        """Withdraw a refresh token with all that came of it, or one access token; unknown ones are no fault."""
        token = self.tokens.get(value)
        if token:
            token.ended = True
            token.grant.ended |= token.kind == "refresh"

    def _read(self, request: web.Request, kind: str) -> web.Response:
        token = self.living(request.match_info["token"], kind)
        if token is None or not token.grant.client_id:
            raise ApiError(404, "OBJECT_NOT_FOUND", f"{kind} token was not found")
        return web.json_response(self._described(token))

    def _described(self, token: Token) -> dict[str, Any]:
        account: directory.Account = token.grant.account
        about: dict[str, Any] = {"client_id": token.grant.client_id}
        if token.expires_at is not None:
            about = {"expires_in": ceil(token.expires_at - self.now), "app_id": account.app_id}
        return {
            "token": token.value,
            "token_type": token.kind,
            **about,
            "hub_id": account.portal_id,
            "hub_domain": account.domain,
            "user_id": account.user_id,
            "user": account.user,
            "scopes": list(token.scopes),
        }


def _scopes(asked: Mapping[str, str]) -> list[str]:
    return f"{asked['scope']} {asked.get('optional_scope', '')}".split()


def _meaning(scope: str) -> str:
    """A scope in words: ``crm.objects.contacts.read`` is to view contacts."""
    match scope.split("."):
        case ["crm", "objects", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} {what}"
        case ["crm", "schemas", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} the properties of {what}"
        case _:
            return "Be installed in your account" if scope == "oauth" else scope
