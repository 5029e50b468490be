"""Authorisation: the personal access token, and OAuth clients with their tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.oauth.consent_page import Checkbox, ConsentAccount, ConsentForm, Decision, Fields
from workspace_sandbox.kit.oauth.server import Grant, Token, read_basic_auth, read_bearer_token
from workspace_sandbox.kit.oauth.standard import OAuthError, StandardOAuth, error_redirect
from workspace_sandbox.tables.data.record_operations import Workspace
from workspace_sandbox.tables.data.state import Base, User
from workspace_sandbox.tables.error_responses import unauthenticated

TOKEN = "patQ7mWc2VxK9dLtR4.6f1c0e5a9b3d478e2f60c1d7a84b95e3f2071c6d8ba94e5f30d2716c8e9ab54f"  # noqa: S105 - valid only in the emulator
CLIENT_ID = "7c1e4f02-93ab-4d58-8e6f-b20d5a7c9143"
CLIENT_SECRET = "4be1d7a0956c3f28e1b07d94a6c5f3820e9b1d47c6a8f503"  # noqa: S105 - valid only in the emulator
PUBLIC_CLIENT_ID = "e05b8a36-2f7d-4c19-a4d0-61f3c8b7e952"
"""A client without a secret, for apps on people's own machines."""

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43,128}")
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
MEANINGS = {
    "data.records:read": "See the data in records",
    "data.records:write": "Create, edit, and delete records",
    "data.recordComments:read": "See the comments on records",
    "data.recordComments:write": "Create, edit, and delete comments on records",
    "schema.bases:read": "See the structure of a base, like table names or field types",
    "schema.bases:write": "Create and edit the structure of a base, like new fields or tables",
    "webhook:manage": "View, create, and delete webhooks for a base",
    "user.email:read": "See your email address",
}
SCOPES = tuple(MEANINGS)


@dataclass(frozen=True, slots=True)
class Access:
    """The permissions of a token."""

    token: str
    grant: Grant
    scopes: frozenset[str]

    @property
    def user(self) -> User:
        """The user to whom the token belongs."""
        user: User = self.grant.account
        return user

    @property
    def client_id(self) -> str:
        """The client of an OAuth token, empty for a personal token."""
        return self.grant.client_id

    def role(self, base: Base) -> str:
        """Return the user's role in *base* with this token. Without picked bases, future bases are included."""
        picked = self.grant.selected
        return base.role(self.user) if picked is None or base.id in picked else "none"


class AirtableOAuth(StandardOAuth):
    """The grants of all users, by personal token or OAuth."""

    vendor = "Airtable"
    scopes = MEANINGS
    shapes: ClassVar = {"code": "{:64}", "access": "oaa{0:14}.v1.{0:64}", "refresh": "oar{0:14}.v1.{0:64}"}
    code_seconds = 300.0
    revoked_by_refresh = frozenset({"access", "refresh"})
    client_by = "header"
    clients: ClassVar = {CLIENT_ID: CLIENT_SECRET, PUBLIC_CLIENT_ID: None}

    def __init__(self, context: EmulatorContext, workspace: Workspace) -> None:
        super().__init__(context, {user.id: user for user in workspace.users})
        self.workspace = workspace
        self.register(TOKEN, "access", Grant("", workspace.users[0]))

    def access(self, request: web.Request) -> Access:
        """Return the access of the token in *request*. Raises an error if the token is invalid."""
        value = read_bearer_token(request)
        token = require(self.find_valid(value, "access"), unauthenticated(value))
        scopes = token.scopes if token.grant.client_id else self.context.knobs["scopes"].split()
        return Access(value, token.grant, frozenset(scopes))

    def check(self, params: dict[str, str]) -> None:
        """Reject an invalid consent request."""
        super().check(params)
        # Required even of clients with a secret ("OAuth reference").
        if params.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(params.get("code_challenge", "")):
            description = "A code_challenge with code_challenge_method S256 is required."
            raise error_redirect(params, "invalid_request", description)

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page's question: which user, and which of the user's bases."""
        bases = self.workspace.bases
        accounts = [
            ConsentAccount(
                uid,
                f"{user.name} ({user.email})",
                tuple(Checkbox(b.id, b.name) for b in bases if b.role(user) != "none"),
            )
            for uid, user in self.accounts.items()
        ]
        wants = [MEANINGS[scope] for scope in sorted(set(params["scope"].split()))]
        return ConsentForm(vendor="Airtable", app="Connector Gateway", wants=wants, accounts=accounts)

    def read_decision(self, fields: Fields) -> Decision | None:
        """Return the decision. The page is shown again unless at least one base is picked."""
        decision = super().read_decision(fields)
        return None if decision and decision.allowed and decision.granted == frozenset() else decision

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant:
        """Return the grant of the chosen user."""
        scopes = tuple(sorted(set(params["scope"].split())))
        return Grant(params["client_id"], self.selected_account(decision.account), scopes, decision.granted)

    def approve(self, params: Mapping[str, str], decision: Decision) -> Mapping[str, str] | None:
        """Return the authorisation code with its challenge."""
        challenge = {name: params[name] for name in ("code_challenge", "code_challenge_method")}
        return {**(super().approve(params, decision) or {}), **challenge}

    def denial_params(self) -> Mapping[str, str]:
        """Return the response of a user who denies consent."""
        return {"error": "access_denied", "error_description": "The user denied the request."}

    async def form(self, request: web.Request) -> Mapping[str, str]:
        """Return the form fields. Other content types are rejected."""
        if request.content_type != "application/x-www-form-urlencoded":
            raise OAuthError("invalid_request", "The body must be application/x-www-form-urlencoded.")
        return await super().form(request)

    def identify(self, request: web.Request, form: Mapping[str, str]) -> str:
        """Return the client id. A client without a secret sends it in the body."""
        client_id = form.get("client_id", "")
        is_public = client_id in self.clients and self.clients[client_id] is None
        return client_id if is_public and not read_basic_auth(request) else super().identify(request, form)

    def use_code(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the code. A verifier is always required."""
        for name in ("code", "redirect_uri", "code_verifier"):
            _require_parameter(form, name)
        checked_form = form if VERIFIER.fullmatch(form["code_verifier"]) else {**form, "code_verifier": ""}
        return super().use_code(client_id, checked_form)

    def use_refresh_token(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the refresh token. Reusing one ends its grant."""
        token = self.tokens.get(_require_parameter(form, "refresh_token"))
        if token and token.kind == "refresh":
            # A token that is used twice may be stolen, so the vendor ends its whole grant.
            token.grant.is_ended |= token.is_ended
            if not set(form.get("scope", "").split()) <= set(token.grant.scopes):
                raise self.error("scope")
        return super().use_refresh_token(client_id, form)

    def issue_response(self, exchanged: Token, form: Mapping[str, str]) -> dict[str, Any]:
        """Return a new pair of tokens. A refresh may request fewer scopes."""
        seconds, refresh_seconds = (self.context.knobs[name] for name in ("token_seconds", "refresh_seconds"))
        requested = form.get("scope", "").split() if exchanged.kind == "refresh" else ()
        scopes = tuple(sorted(requested)) or exchanged.grant.scopes
        return {
            "access_token": self.issue("access", exchanged.grant, seconds, scopes=scopes).value,
            "refresh_token": self.issue("refresh", exchanged.grant, refresh_seconds).value,
            "token_type": "Bearer",
            "scope": " ".join(scopes),
            "expires_in": seconds,
            "refresh_expires_in": refresh_seconds,
        }


def _require_parameter(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise OAuthError("invalid_request", f"The parameter {name} is missing.")
    return form[name]
