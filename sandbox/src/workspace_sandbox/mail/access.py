"""The consent page, authorisation codes, access tokens and refresh tokens of mailboxes."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse, VendorErrorResponse
from workspace_sandbox.kit.oauth.consent_page import Checkbox, ConsentAccount, ConsentForm, Decision, render_page
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token
from workspace_sandbox.mail.data.state import Mailbox

AUTH = "https://www.googleapis.com/auth/"
FULL = "https://mail.google.com/"
CONSENT_PATH = "/o/oauth2/v2/auth"
MAX_REFRESH_TOKENS = 100
"""The maximum number of live refresh tokens per account and client. One more silently revokes the oldest."""

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


class OAuthError(VendorErrorResponse):
    """An error response of the token endpoints."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error)
        self.status = 401 if error in {"invalid_client", "unauthorized_client"} else 400
        self.body = {"error": error, "error_description": description}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error."""
        return web.json_response(self.body, status=self.status)


class GoogleOAuth(OAuth):
    """Issues, reads and revokes the grants of clients. Refresh tokens do not rotate."""

    shapes: ClassVar = {"code": "4/0A{:40b}", "access": "ya29.a0{:120b}", "refresh": "1//0g{:64b}"}
    # Google's own library sends HTTP Basic to the token endpoint, while its documentation shows the body.
    client_by = "either"
    account_hint_param = "login_hint"

    def __init__(self, context: EmulatorContext, mailboxes: Mapping[str, Mailbox]) -> None:
        super().__init__(context, mailboxes)

    def seed(self, address: str) -> str:
        """Return the access token of the sandbox's own client for that mailbox. It is always the same one."""
        value = f"ya29.a0{sha256(address.encode()).hexdigest()}"
        return self.register(value, "access", Grant(self.context.knobs["client_id"], self.accounts[address])).value

    def allowed(self, value: str) -> Token | None:
        """Return the access token with that value if it is valid.

        The seeded token gets the scopes of ``token_scopes``.
        """
        token = self.find_valid(value, "access")
        if token and token.expires_at is None:
            token.scopes = tuple(self.context.knobs["token_scopes"])
        return token

    def check(self, params: dict[str, str]) -> None:
        """Reject an invalid consent request. The error page is shown to the user and never sent to the client."""
        params.setdefault("code_challenge_method", "plain")
        scopes = params.get("scope", "").split()
        if params.get("client_id") not in self.registered:
            raise _error_page(401, "invalid_client")
        if not self.is_allowed_redirect(params.get("redirect_uri", "")):
            raise _error_page(400, "redirect_uri_mismatch")
        if params.get("response_type") != "code" or not scopes:
            raise _error_page(400, "invalid_request")
        if not all(scope in {"openid", *LONG_NAMES} or scope.startswith("https://") for scope in scopes):
            raise _error_page(400, "invalid_scope")

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page's question: which mailbox, and which scopes."""
        accounts = [
            ConsentAccount(address, f"{mailbox.name} ({address})") for address, mailbox in self.accounts.items()
        ]
        boxes = [
            Checkbox(scope, MEANINGS.get(scope, scope)) for scope in _requested_scopes(params) if scope != "openid"
        ]
        wants = ["See your identity"]
        return ConsentForm(vendor="Google", app="Connector Gateway", wants=wants, accounts=accounts, boxes=boxes)

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant | None:
        """Return the grant for the chosen mailbox, or None if it does not exist."""
        address = decision.account or params.get("login_hint") or next(iter(self.accounts))
        allowed = self.context.knobs["granted_scopes"]
        is_granted = (
            decision.grants if allowed is None else {LONG_NAMES.get(scope, scope) for scope in allowed}.__contains__
        )
        # The user's identity is always shared, so ``openid`` has no checkbox.
        scopes = tuple(scope for scope in _requested_scopes(params) if scope == "openid" or is_granted(scope))
        mailbox = self.accounts.get(address)
        return Grant(params["client_id"], mailbox, scopes) if mailbox else None

    def approve(self, params: Mapping[str, str], decision: Decision) -> Mapping[str, str] | None:
        """Return the authorisation code with the scopes that the user left ticked."""
        response = super().approve(params, decision)
        if response is None:
            return None
        code = self.tokens[response["code"]]
        grant, granted_scopes = code.grant, " ".join(code.scopes)
        earlier = list(self._live_refresh_tokens(grant))
        grant.offline = params.get("access_type") == "offline"
        code.refreshable = grant.offline and (not earlier or "consent" in params.get("prompt", "").split())
        if params.get("include_granted_scopes") == "true":
            grant.scopes = tuple(
                dict.fromkeys([*grant.scopes, *(scope for token in earlier for scope in token.scopes)])
            )
        return {**response, "scope": granted_scopes}

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the form fields, regardless of the declared content type."""
        return dict(parse_qsl((await request.read()).decode("utf-8", "replace"), keep_blank_values=True))

    def issue_response(self, exchanged: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Return an access token, and a refresh token if the code entitles the client to one."""
        grant, seconds = exchanged.grant, self.context.knobs["token_seconds"]
        body = {
            "access_token": self.issue("access", grant, seconds).value,
            "expires_in": seconds,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
        if "openid" in grant.scopes:
            body["id_token"] = self._create_id_token(grant)
        if exchanged.kind == "code" and exchanged.refreshable:
            body["refresh_token"] = self.issue("refresh", grant).value
            for oldest in list(self._live_refresh_tokens(grant))[:-MAX_REFRESH_TOKENS]:
                oldest.is_ended = True
        return body

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke all grants that the token's user gave its client."""
        token = self.tokens.get(await self._form_or_query_value(request, "token"))
        if token is None or token.grant.is_ended:
            raise self.error("token")
        for other in self.tokens.values():
            other.grant.is_ended |= _is_same_client(token.grant, other.grant)
        return web.json_response({})

    async def inspect(self, request: web.Request) -> web.Response:
        """Return the details of an access token."""
        token = self.allowed(await self._form_or_query_value(request, "access_token"))
        if token is None:
            raise self.error("access_token")
        grant, until = token.grant, token.expires_at
        seconds = self.context.knobs["token_seconds"] if until is None else int(until - self.now)
        details = {"azp": grant.client_id, "aud": grant.client_id, "sub": subject(grant.account.address)}
        details |= {"scope": " ".join(token.scopes), "expires_in": str(seconds)}
        if LONG_NAMES["email"] in token.scopes:
            details |= {"email": grant.account.address, "email_verified": "true"}
        return web.json_response(details | {"access_type": "offline" if grant.offline else "online"})

    def error(self, reason: str) -> OAuthError:
        """Return the error of a token request."""
        return OAuthError(*REASONS[reason])

    async def _form_or_query_value(self, request: web.Request, name: str) -> str:
        return (await self.form(request)).get(name) or request.query.get(name, "")

    def _create_id_token(self, grant: Grant) -> str:
        now, seconds, address = int(self.now), self.context.knobs["token_seconds"], grant.account.address
        claims = {"iss": ISSUER, "azp": grant.client_id, "aud": grant.client_id, "sub": subject(address)}
        if LONG_NAMES["email"] in grant.scopes:
            claims |= {"email": address}
        return _unsigned_jwt(claims | {"email_verified": True, "iat": now, "exp": now + seconds})

    def _live_refresh_tokens(self, grant: Grant) -> Iterator[Token]:
        valid = (token for token in self.tokens.values() if token.kind == "refresh" and token.is_valid)
        return (token for token in valid if _is_same_client(grant, token.grant))


def _is_same_client(grant: Grant, other: Grant) -> bool:
    return (grant.account, grant.client_id) == (other.account, other.client_id)


def subject(address: str) -> str:
    """Return the account's stable numeric identifier."""
    return f"1{int(sha256(address.encode()).hexdigest(), 16) % 10**20:020d}"


def _requested_scopes(params: Mapping[str, str]) -> list[str]:
    """Return the requested scopes without duplicates, by their long names."""
    return list(dict.fromkeys(LONG_NAMES.get(scope, scope) for scope in params["scope"].split()))


def _error_page(status: int, error: str) -> PreparedErrorResponse:
    message = f"<p>Error {status}: {error}</p>"
    return PreparedErrorResponse(render_page("Google", "Access blocked: this request is invalid", message, status))


def _unsigned_jwt(claims: Mapping[str, Any]) -> str:
    header = {"alg": "RS256", "kid": "sandbox", "typ": "JWT"}
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in (header, claims)]
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in [*parts, b"sandbox-signature"])
