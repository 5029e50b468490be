"""Authentication: the installations in workspaces, their tokens and the consent page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workspace_sandbox.chat.arguments import Arguments
from workspace_sandbox.chat.data.state import Workspace
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.kit.error_responses import PreparedErrorResponse
from workspace_sandbox.kit.oauth.consent_page import ConsentAccount, ConsentForm, Decision, render_page
from workspace_sandbox.kit.oauth.server import Grant, OAuth, Token

CLIENT_ID = "7104110011.8205110022"
CLIENT_SECRET = "c0ffee5a7d0b4e1f9a6b3c2d1e0f4a5b"  # noqa: S105 - valid only in the emulator
TOKEN = "xoxb-7104110011-8205110022-northwind"  # noqa: S105 - the same
VISITOR_TOKEN = "xoxb-7104110011-8309110099-visitor"  # noqa: S105 - the same
"""The token of another vendor's app in the first workspace, which is in no channel."""

REFRESH_GRACE_SECONDS = 60
"""Seconds for which a used refresh token remains valid. Slack documents only a short period."""

ACTIVE_TOKENS = 2
"""Maximum number of valid rotating access tokens. One more revokes the oldest."""

PERMANENT_FORMAT = "xoxb-{0:10d}-{0:10d}-{0:12}"
"""The format of tokens that do not rotate."""

REASONS = {
    "grant_type": "invalid_grant_type",
    "code": "invalid_code",
    "expired": "invalid_code",
    "redirect_uri": "bad_redirect_uri",
    "code_verifier": "invalid_code_verifier",
    "refresh_token": "invalid_refresh_token",
}

MEANINGS = {
    "chat:write": "Send messages as its bot",
    "chat:write.public": "Send messages to channels that its bot is not in",
    "channels:read": "See public channels",
    "groups:read": "See private channels that its bot is in",
    "im:read": "See its direct messages",
    "channels:history": "Read messages in public channels that its bot is in",
    "groups:history": "Read messages in private channels that its bot is in",
    "im:history": "Read its direct messages",
    "channels:join": "Join public channels",
    "im:write": "Start direct messages",
    "reactions:read": "See reactions",
    "reactions:write": "Add and remove reactions",
    "users:read": "See the users of the workspace",
    "emoji:read": "See the emoji of the workspace",
    "app_mentions:read": "Receive messages that mention it",
    "channels:manage": "Create and manage public channels",
    "groups:write": "Create and manage private channels",
    "files:read": "See the files in conversations that its bot is in",
    "files:write": "Upload, share and delete files",
    "pins:read": "See pinned messages",
    "pins:write": "Pin and unpin messages",
    "team:read": "See the name and URL of the workspace",
    "users:read.email": "See the email addresses of users",
    "users.profile:read": "See the profiles of users",
}


@dataclass(eq=False, slots=True)
class Installation:
    """A workspace and the app's grants in it."""

    workspace: Workspace
    grants: list[Grant] = field(default_factory=list)
    default_grant: Grant | None = None
    """The default grant, whose scopes are set by the knob."""

    @property
    def is_installed(self) -> bool:
        """Whether the app is installed."""
        return any(not grant.is_revoked for grant in self.grants)


class SlackOAuth(OAuth):
    """The app's installations in workspaces, with their tokens."""

    shapes: ClassVar = {
        "code": "{0:10d}.{0:12d}.{0:32}",
        "access": "xoxe.xoxb-1-{:40}",
        "refresh": "xoxe-1-{:40}",
    }
    clients: ClassVar = {CLIENT_ID: CLIENT_SECRET}
    account_hint_param = "team"

    def install(self, installation: Installation, value: str) -> None:
        """Install the app in a workspace by default, with the token *value*."""
        installation.default_grant = Grant(CLIENT_ID, installation)
        installation.grants.append(installation.default_grant)
        self.register(value, "access", installation.default_grant)

    def scopes(self, installation: Installation) -> list[str]:
        """Return the scopes of the installation, in the order in which they were granted."""
        active = (grant for grant in installation.grants if not grant.is_revoked)
        seeded = self.context.knobs["scopes"].split(",")
        scopes = (
            scope
            for grant in active
            for scope in (seeded if grant is installation.default_grant else grant.scopes)
            if scope
        )
        return list(dict.fromkeys(scopes))

    def find_installation(self, presented: Iterable[Any]) -> Installation:
        """Return the installation of a valid or revoked token or code, or the first one if there is none."""
        matches = (self.tokens[value] for value in presented if isinstance(value, str) and value in self.tokens)
        token = next(matches, None)
        installation: Installation = token.grant.account if token else self.selected_account("")
        return installation

    def authenticate(self, value: str) -> Token:
        """Return the valid token *value*. Raises an error if there is none."""
        if not value:
            raise ApiError("not_authed")
        token = self.tokens.get(value)
        if token is None or token.kind != "access":
            raise ApiError("invalid_auth")
        if token.is_ended:
            raise ApiError("token_revoked")
        if token.grant.is_revoked:
            # Bot tokens get this error after the app was uninstalled. ``token_revoked`` is for single tokens.
            raise ApiError("account_inactive")
        if token.has_expired(self.now):
            raise ApiError("token_expired")
        return token

    def uninstall(self, installation: Installation) -> None:
        """Uninstall the app: revoke every grant and delete the codes of the workspace."""
        for grant in installation.grants:
            grant.is_revoked = True
        codes = [one.value for one in self.tokens.values() if one.kind == "code" and one.grant.account is installation]
        for value in codes:
            del self.tokens[value]

    def exchange(self, arguments: Arguments) -> dict[str, Any]:
        """Exchange a code or a refresh token for new tokens."""
        check_client(arguments)
        names = ("grant_type", "code", "redirect_uri", "code_verifier", "refresh_token")
        form = {name: value for name in names if (value := arguments.optional(name)) is not None}
        return self.exchange_grant(CLIENT_ID, {"grant_type": "authorization_code", **form})

    def swap(self, arguments: Arguments) -> dict[str, Any]:
        """Exchange a token that does not rotate for a rotating pair, once."""
        check_client(arguments)
        token = self.authenticate(arguments.text("token"))
        # A token can be exchanged once. Rotation cannot be switched off again.
        if token.expires_at is not None:
            raise ApiError("token_already_exchanged")
        token.is_ended = True
        return self._pair(token.grant)

    def check(self, params: dict[str, str]) -> None:
        """Raise an error if the authorisation request is invalid."""
        params.setdefault("state", "")
        if params.get("client_id") != CLIENT_ID:
            raise _page("Invalid client_id parameter", "invalid_client_id")
        if not _scopes(params):
            raise _page("No scopes requested", "no_scopes")
        if not self.is_allowed_redirect(params.get("redirect_uri", "")):
            raise _page("redirect_uri did not match any configured URIs", "bad_redirect_uri")

    def is_registered(self, redirect_uri: str) -> bool:
        """Return True if the knob lists *redirect_uri* or a parent of it."""
        registered = self.context.knobs["redirect_uris"]
        return not registered or any(f"{redirect_uri}/".startswith(f"{one}/") for one in registered)

    def consent_page(self, params: Mapping[str, str]) -> ConsentForm:
        """Return the consent page, on which the user selects a workspace."""
        teams = (installation.workspace.team for installation in self.accounts.values())
        accounts = [ConsentAccount(team.id, f"{team.name} ({team.domain}.slack.com)") for team in teams]
        wants = [MEANINGS.get(scope, scope) for scope in _scopes(params)]
        return ConsentForm(vendor="Slack", app="Connector Gateway", wants=wants, accounts=accounts)

    def create_grant(self, params: Mapping[str, str], decision: Decision) -> Grant:
        """Return the grant for the selected workspace."""
        return Grant(CLIENT_ID, self.selected_account(decision.account or params.get("team", "")), _scopes(params))

    def use_code(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the code and install the app."""
        code = super().use_code(client_id, form)
        code.grant.account.grants.append(code.grant)
        return code

    def use_refresh_token(self, client_id: str, form: Mapping[str, str]) -> Token:
        """Return the refresh token, which expires after the grace period."""
        token = super().use_refresh_token(client_id, form)
        # Two simultaneous refreshes both succeed for a short period ("Using token rotation").
        token.expires_at = token.expires_at or self.now + REFRESH_GRACE_SECONDS
        return token

    def issue_response(self, spent: Token, _: Mapping[str, str]) -> dict[str, Any]:
        """Create a pair of tokens if tokens rotate, otherwise a token that does not expire."""
        if self.context.knobs["rotation"] or spent.kind == "refresh":
            return self._pair(spent.grant)
        return {"access_token": self.issue("access", spent.grant, shape=PERMANENT_FORMAT).value}

    def error(self, reason: str) -> ApiError:
        """Return the error of a token request."""
        return ApiError(REASONS[reason])

    def _pair(self, grant: Grant) -> dict[str, Any]:
        rotating = (one for one in self.tokens.values() if one.kind == "access" and one.expires_at is not None)
        valid = [one for one in rotating if one.is_valid and one.grant.account is grant.account]
        # A third refresh revokes the oldest token, so a client that refreshes without a lock loses a token in use.
        for old in valid[: max(0, len(valid) - ACTIVE_TOKENS + 1)]:
            old.is_ended = True
        seconds = self.context.knobs["token_seconds"]
        access, refresh = self.issue("access", grant, seconds), self.issue("refresh", grant)
        return {"access_token": access.value, "refresh_token": refresh.value, "expires_in": seconds}


def check_client(arguments: Arguments) -> None:
    """Reject requests of clients other than the registered app."""
    if arguments.optional("client_id") != CLIENT_ID:
        raise ApiError("invalid_client_id")
    if arguments.optional("client_secret") != CLIENT_SECRET:
        raise ApiError("bad_client_secret")


def _scopes(params: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(params.get("scope", "").replace(",", " ").split())


def _page(title: str, code: str) -> PreparedErrorResponse:
    return PreparedErrorResponse(render_page("Slack", title, f"<p>{code}</p>"))
