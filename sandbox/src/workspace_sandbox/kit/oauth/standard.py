"""An OAuth server that follows RFC 6749 and RFC 7636, for vendors that deviate little from them."""

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse, VendorErrorResponse, require
from workspace_sandbox.kit.oauth.consent_page import ConsentAccount, ConsentForm, Decision, render_page
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token, read_bearer_token, redirect_to_client

OAUTH_KNOBS: Mapping[str, Any] = MappingProxyType({"auto_approve": False, "redirect_uris": [], "token_seconds": 3600})
"""The knobs that an emulator with a ``StandardOAuth`` declares."""

REASONS = {
    "client_id": ("invalid_client", "Client authentication failed."),
    "client_secret": ("invalid_client", "Client authentication failed."),
    "grant_type": ("unsupported_grant_type", "grant_type must be authorization_code or refresh_token."),
    "code": ("invalid_grant", "The authorization code is invalid, expired or was used before."),
    "expired": ("invalid_grant", "The authorization code is invalid, expired or was used before."),
    "client": ("invalid_grant", "The authorization code was issued to another client or redirect_uri."),
    "redirect_uri": ("invalid_grant", "The authorization code was issued to another client or redirect_uri."),
    "code_verifier": ("invalid_grant", "The code_verifier does not match the code_challenge."),
    "refresh_token": ("invalid_grant", "The refresh token is invalid, expired or was used before."),
    "scope": ("invalid_scope", "More scopes were requested than granted."),
}


class OAuthError(VendorErrorResponse):
    """An error in the words of RFC 6749."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.body = {"error": error, "error_description": description}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error. An unknown client has status 401, everything else 400."""
        return web.json_response(self.body, status=401 if self.body["error"] == "invalid_client" else 400)


class StandardOAuth(OAuth):
    """The consent page and token routes of a vendor. Subclasses declare its name, its client and its scopes."""

    vendor: ClassVar[str]
    scopes: ClassVar[Mapping[str, str]] = {}
    """The meanings of the scopes that an app may request. If empty, the vendor has no scopes."""

    default_scopes: ClassVar[tuple[str, ...]] = ()
    """The scopes of a request that names none. If empty, at least one is required."""

    rotates_refresh_tokens: ClassVar[bool] = False
    """Whether a refresh also returns a new refresh token. ``revoked_by_refresh`` lists what it revokes."""

    shapes: ClassVar = {"code": "{:32}", "access": "{:40}", "refresh": "{:40}"}

    def account_name(self, account: Any) -> str:
        """Return the name of an account on the consent page."""
        return str(account)

    def authenticate(self, request: web.Request, error: VendorErrorResponse) -> Token:
        """Return the valid access token of *request*, or raise *error*."""
        return require(self.find_valid(read_bearer_token(request), "access"), error)

    def check(self, params: dict[str, str]) -> None:
        """Reject an invalid authorisation request.

        The user sees errors about the client or the URL, the client gets all others.
        """
        if params.get("client_id") not in self.registered:
            raise _error_page(self.vendor, "The client_id is not known.")
        if not self.is_allowed_redirect(params.get("redirect_uri", "")):
            raise _error_page(self.vendor, "The redirect_uri is not registered for this client.")
        if params.get("response_type") != "code":
            raise error_redirect(params, "unsupported_response_type", "response_type must be code.")
        if params.get("code_challenge") and params.get("code_challenge_method") != "S256":
            raise error_redirect(params, "invalid_request", "code_challenge_method must be S256.")
        scopes = set(self._requested(params))
        if self.scopes and not (scopes and scopes <= self.scopes.keys()):
            raise error_redirect(params, "invalid_scope", "At least one scope is required, and all must be known.")

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page, on which the user selects an account."""
        accounts = [ConsentAccount(one, self.account_name(account)) for one, account in self.accounts.items()]
        wants = [self.scopes[scope] for scope in self._requested(params)]
        return ConsentForm(vendor=self.vendor, app="Connector Gateway", wants=wants, accounts=accounts)

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant:
        """Return the grant for the selected account."""
        return Grant(params["client_id"], self.selected_account(decision.account), self._requested(params))

    def issue_response(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Return a new access token, with a refresh token if it is new."""
        grant, seconds = spent.grant, self.context.knobs["token_seconds"]
        is_new = spent.kind == "code" or self.rotates_refresh_tokens
        return {
            "access_token": self.issue("access", grant, seconds).value,
            "token_type": "bearer",
            "expires_in": seconds,
            **({"refresh_token": self.issue("refresh", grant).value} if is_new else {}),
            **({"scope": " ".join(grant.scopes)} if self.scopes else {}),
        }

    def error(self, reason: str) -> OAuthError:
        """Return the error of a token request."""
        return OAuthError(*REASONS[reason])

    def _requested(self, params: Mapping[str, str]) -> tuple[str, ...]:
        """Return the requested scopes, none if the vendor has none."""
        return tuple(params.get("scope", "").split()) or self.default_scopes if self.scopes else ()


def _error_page(vendor: str, description: str) -> PreparedErrorResponse:
    """Return the page of a vendor for an authorisation request that must not be redirected."""
    return PreparedErrorResponse(
        render_page(vendor, "This request cannot be met", f"<p>{escape(description)}</p>", 400)
    )


def error_redirect(params: Mapping[str, str], error: str, description: str) -> PreparedErrorResponse:
    """Return the redirect that reports an error to the client."""
    return PreparedErrorResponse(redirect_to_client(params, {"error": error, "error_description": description}))
