"""Tokens, and how a connection comes by them."""

import base64
import binascii
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlencode, urlsplit

from workspace_sandbox.notes import checks, values
from workspace_sandbox.notes.state import User, Workspace
from workspace_sandbox.notes.wire import Refusal, invalid

CLIENT_ID = "5a1c9f0e-7d2b-4c6a-9e83-2f40b1d7c865"
CLIENT_SECRET = "secret_9XvT2mQk7LwZ4rBn8JcY6dHs1GpFa3EuRi0KoWxNyVt"  # noqa: S105 - opens nothing but the stand-in
INTEGRATION_ID = "b7e2c4d8-1f35-4a90-8c6e-5d0937f1a264"
"""The integration of the seeded connection; that of connections by OAuth is the client."""

TOKEN = "ntn_284617395024Kd7mQw3XzR8vYb5tLc1NfHs6PgJ9uAeT2"  # noqa: S105 - the same
"""The fixed token of the seeded connection."""

CODE_SECONDS = 600
SCOPE = "read_content insert_content update_content read_user_with_email"


@dataclass(slots=True)
class Grant:
    """A token, with the refresh token it came with if it came by OAuth."""

    token: str
    bot: User
    issued_at: float
    refresh_token: str | None = None
    spent: bool = False
    withdrawn: bool = False
    """Taken away by the user, who may give it back."""


@dataclass(slots=True)
class Code:
    """An authorisation code, good once."""

    redirect_uri: str
    expires_at: float


def invalid_grant(message: str) -> Refusal:
    """A code or refresh token that is not good, or no longer."""
    return Refusal(400, "invalid_grant", message)


class Authorisations:
    """All grants of one workspace."""

    def __init__(self, workspace: Workspace, internal: User, public: User) -> None:
        self._workspace = workspace
        self._public = public
        self._grants = [Grant(TOKEN, internal, workspace.now())]
        self._codes: dict[str, Code] = {}

    def withdraw(self, *, withdrawn: bool) -> None:
        """Take all grants there are away, or give them back; later ones are not touched."""
        self._codes.clear()
        for grant in self._grants:
            grant.withdrawn = withdrawn

    def bot(self, token: str) -> User | None:
        """Whose *token* that is; None when it is not good."""
        grant = self._find(token, "token")
        return grant.bot if grant else None

    def has(self, bot: User) -> bool:
        """Whether *bot* is let in at all."""
        return any(grant.bot is bot for grant in self._good())

    def code(self, redirect_uri: str) -> str:
        """A new code for the public connection."""
        code = self._workspace.new_secret("", 36)
        self._codes[code] = Code(redirect_uri, self._workspace.now() + CODE_SECONDS)
        return code

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        """A new pair for a code, or for the refresh token of a pair that dies by it."""
        kind = checks.one_of(body.get("grant_type"), "body.grant_type", ("authorization_code", "refresh_token"))
        self._spend_code(body) if kind == "authorization_code" else self._spend_refresh_token(body)
        secret = self._workspace.new_secret
        grant = Grant(secret("ntn_", 46), self._public, self._workspace.now(), refresh_token=secret("nrt_", 46))
        self._grants.append(grant)
        return self._issued(grant)

    def revoke(self, body: dict[str, Any]) -> dict[str, Any]:
        """End the grant of an access or refresh token; an unknown one is fine too."""
        token = checks.populated(checks.need(body, "token", "body"), "body.token", 2000)
        grant = self._find(token, "token") or self._find(token, "refresh_token")
        if grant and grant.refresh_token:
            grant.spent = True
        return {}

    def introspect(self, body: dict[str, Any]) -> dict[str, Any]:
        """Whether a token of the public connection is good."""
        token = checks.populated(checks.need(body, "token", "body"), "body.token", 2000)
        grant = self._find(token, "token") or self._find(token, "refresh_token")
        if not grant or not grant.refresh_token:
            return {"active": False}
        return {"active": True, "scope": SCOPE, "iat": int(grant.issued_at)}

    def _find(self, token: str, kind: str) -> Grant | None:
        return next((grant for grant in self._good() if getattr(grant, kind) == token), None)

    def _good(self) -> Iterator[Grant]:
        return (grant for grant in self._grants if not grant.spent and not grant.withdrawn)

    def _spend_code(self, body: dict[str, Any]) -> None:
        given = checks.string(checks.need(body, "code", "body"), "body.code")
        code = self._codes.pop(given, None)
        if code is None or code.expires_at <= self._workspace.now():
            raise invalid_grant("Invalid code: this code has been revoked.")
        if body.get("redirect_uri") != code.redirect_uri:
            raise invalid_grant("Invalid redirect_uri: it does not match the authorization request.")

    def _spend_refresh_token(self, body: dict[str, Any]) -> None:
        given = checks.string(checks.need(body, "refresh_token", "body"), "body.refresh_token")
        grant = self._find(given, "refresh_token")
        if grant is None:
            raise invalid_grant("Invalid refresh token: this token has been revoked.")
        grant.spent = True

    def _issued(self, grant: Grant) -> dict[str, Any]:
        owner = self._workspace.users[grant.bot.owner_id or ""]
        return {
            "access_token": grant.token,
            "token_type": "bearer",
            "refresh_token": grant.refresh_token,
            "bot_id": grant.bot.id,
            "workspace_id": self._workspace.id,
            "workspace_name": self._workspace.name,
            "workspace_icon": None,
            "owner": {"type": "user", "user": values.user(owner, owner.id, self._workspace)},
            "duplicated_template_id": None,
        }


def require_client(header: str) -> None:
    """Refuse a request that does not come from the registered client, by HTTP Basic."""
    kind, _, encoded = header.partition(" ")
    try:
        # Without validation, Python passes over foreign characters, and a damaged header would be let in.
        given = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        given = b""
    # Only HTTP Basic: the page of the token endpoint has no client credentials in the body.
    if kind.casefold() != "basic" or not hmac.compare_digest(given, f"{CLIENT_ID}:{CLIENT_SECRET}".encode()):
        raise Refusal(401, "invalid_client", "Client authentication failed.")


@dataclass(frozen=True, slots=True)
class Consent:
    """What a client asks the user for."""

    redirect_uri: str
    state: str | None

    @classmethod
    def asked(cls, query: Mapping[str, str]) -> "Consent":
        """The consent that an authorize address asks for; refused when it is not well asked."""
        checks.one_of(query.get("client_id"), "query.client_id", (CLIENT_ID,))
        checks.one_of(query.get("response_type"), "query.response_type", ("code",))
        checks.one_of(query.get("owner"), "query.owner", ("user",))
        redirect_uri = query.get("redirect_uri", "")
        if urlsplit(redirect_uri).scheme not in {"http", "https"}:
            raise invalid("Missing or invalid redirect_uri.")
        return cls(redirect_uri, query.get("state"))

    def answer(self, **given: str) -> str:
        """The address the user is sent back to with what was *given*, and the state."""
        fields = given | ({} if self.state is None else {"state": self.state})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{urlencode(fields)}"

    def page(self, approved: str) -> str:
        """A page that asks the user; *approved* is the address that grants."""
        refused = escape(self.answer(error="access_denied"))
        return (
            "<!doctype html><title>Connect with Notion</title><h1>The connection wants access to your workspace</h1>"
            f'<p><a href="{escape(approved)}">Allow access</a> <a href="{refused}">Cancel</a></p>'
        )
