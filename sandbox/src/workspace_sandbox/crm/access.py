"""Authentication with the service key and with OAuth tokens."""

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.crm.data.account import MAIN, PortalAccount
from workspace_sandbox.crm.error_responses import (
    ApiError,
    OAuthError,
    expired,
    invalid,
    missing_scopes,
    unauthenticated,
)
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.oauth.consent_page import ConsentAccount, ConsentForm, Decision
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token, read_bearer_token

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
"""The scopes that the portal can grant."""

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


class HubSpotOAuth(OAuth):
    """The grants of a user for all portals. The service key belongs to the first portal.

    Refresh tokens are not replaced on use, although HubSpot does not document this.
    """

    # Access tokens have more than 300 characters.
    shapes: ClassVar = {"code": "eu1-{:u}", "access": "CK{:320b}", "refresh": "eu1-{:u}"}
    code_seconds = 300.0

    def __init__(self, context: EmulatorContext, accounts: tuple[PortalAccount, ...] = (MAIN,)) -> None:
        super().__init__(context, {str(account.portal_id): account for account in accounts})
        self.register(SERVICE_KEY, "access", Grant("", accounts[0]))

    def authenticate(self, request: web.Request) -> Token:
        """Return the access token of *request*. Raises an error if it is invalid."""
        token = require(self.find_unrevoked(read_bearer_token(request), "access"), unauthenticated())
        # Checked last, because expired and unknown tokens have different error categories.
        if token.expires_at is not None and token.has_expired(self.now):
            raise expired(int(self.now - token.expires_at), format_timestamp(token.expires_at))
        return token

    def require(self, token: Token, scopes: tuple[str, ...]) -> None:
        """Raise an error unless one of *scopes* was granted."""
        granted = token.scopes if token.grant.client_id else self.context.knobs["scopes"]
        if not set(scopes) & set(granted):
            raise missing_scopes(scopes)

    def check(self, params: dict[str, str]) -> None:
        """Raise an error if the authorisation request is invalid."""
        missing = [name for name in ("client_id", "redirect_uri", "scope") if not params.get(name)]
        if missing or params["client_id"] not in self.registered:
            raise invalid(f"missing or unknown query parameters: {', '.join(missing) or 'client_id'}")
        if params.get("code_challenge") and params.get("code_challenge_method") != "S256":
            raise invalid("code_challenge_method must be S256")
        if not self.is_allowed_redirect(params["redirect_uri"]):
            raise invalid("redirect_uri must be an absolute http address that is registered with the application")

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page, on which the user selects a portal."""
        accounts = [ConsentAccount(number, f"{account.domain} ({number})") for number, account in self.accounts.items()]
        wants = [_describe_scope(scope) for scope in _scopes(params)]
        return ConsentForm(vendor="HubSpot", app="Connector Gateway", wants=wants, accounts=accounts)

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant:
        """Return the grant for the selected portal."""
        # Unsupported scopes are omitted without an error. The token response lists the granted ones.
        requested = dict.fromkeys(["oauth", *_scopes(params)])
        scopes = tuple(scope for scope in requested if scope in self.context.knobs["scopes"])
        return Grant(params["client_id"], self.selected_account(decision.account), scopes)

    def denial_params(self) -> Mapping[str, str]:
        """Return the redirect parameters for a user who denied access."""
        return {"error": "access_denied", "error_description": "User denied access"}

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the parameters of a token request. Only the oldest version also reads them from the query."""
        posted = await super().form(request)
        # The dated versions read secrets only from the body, because URLs are logged.
        return {**request.query, **posted} if "/v1/" in request.path else posted

    def issue_response(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Create an access token, and return it with the unchanged refresh token."""
        grant, seconds = spent.grant, self.context.knobs["token_seconds"]
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
        """Return the owner and the scopes of a token."""
        form = await self.form(request)
        self.identify(request, form)
        value = form.get("token") or form.get("access_token") or form.get("refresh_token") or ""
        token = self.find_valid(value, "access", "refresh")
        if token is None or not token.grant.client_id:
            return web.json_response({"active": False})
        return web.json_response({"active": True, "token_use": f"{token.kind}_token", **self._describe(token)})

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token."""
        form = await self.form(request)
        self.identify(request, form)
        self._revoke_token(form.get("token") or "")
        return web.Response(status=200)

    async def read_access_token(self, request: web.Request) -> web.Response:
        """Return the owner of an access token in the older format."""
        return self._read(request, "access")

    async def read_refresh_token(self, request: web.Request) -> web.Response:
        """Return the owner of a refresh token in the older format."""
        return self._read(request, "refresh")

    async def delete_refresh_token(self, request: web.Request) -> web.Response:
        """Revoke a refresh token with the older route."""
        self._revoke_token(request.match_info["token"])
        return web.Response(status=204)

    def error(self, reason: str) -> OAuthError:
        """Return the error of a token request."""
        return OAuthError(*REASONS[reason])

    def _revoke_token(self, value: str) -> None:
        """Revoke an access token, or a refresh token with all its access tokens. Unknown tokens are ignored."""
        token = self.tokens.get(value)
        if token:
            token.is_ended = True
            token.grant.is_ended |= token.kind == "refresh"

    def _read(self, request: web.Request, kind: str) -> web.Response:
        token = self.find_valid(request.match_info["token"], kind)
        if token is None or not token.grant.client_id:
            raise ApiError(404, "OBJECT_NOT_FOUND", f"{kind} token was not found")
        return web.json_response(self._describe(token))

    def _describe(self, token: Token) -> dict[str, Any]:
        account: PortalAccount = token.grant.account
        raw: dict[str, Any] = {"client_id": token.grant.client_id}
        if token.expires_at is not None:
            raw = {"expires_in": ceil(token.expires_at - self.now), "app_id": account.app_id}
        return {
            "token": token.value,
            "token_type": token.kind,
            **raw,
            "hub_id": account.portal_id,
            "hub_domain": account.domain,
            "user_id": account.user_id,
            "user": account.user,
            "scopes": list(token.scopes),
        }


def _scopes(params: Mapping[str, str]) -> list[str]:
    return f"{params['scope']} {params.get('optional_scope', '')}".split()


def _describe_scope(scope: str) -> str:
    """Return a description of a scope: ``crm.objects.contacts.read`` is to view contacts."""
    match scope.split("."):
        case ["crm", "objects", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} {what}"
        case ["crm", "schemas", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} the properties of {what}"
        case _:
            return "Be installed in your account" if scope == "oauth" else scope
