"""Tokens, and how a connection comes by them."""

import base64
import binascii
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from workspace_sandbox.kit.consent import Account, Box, Decision, Question
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.notes import checks, values
from workspace_sandbox.notes.state import Home, Offer, User, Workspace
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
    workspace: Workspace
    bot: User
    issued_at: float
    expires_at: float | None = None
    refresh_token: str | None = None
    spent: bool = False
    withdrawn: bool = False
    """Taken away by the user, who may give it back."""


@dataclass(slots=True)
class Code:
    """An authorisation code, good once."""

    redirect_uri: str
    expires_at: float
    home: Home
    shared: frozenset[str]


def invalid_grant(message: str) -> Refusal:
    """A code or refresh token that is not good, or no longer."""
    return Refusal(400, "invalid_grant", message)


class Authorisations:
    """All grants of one integration by its fixed token, and of one application by OAuth, wherever it was let in."""

    def __init__(self, stage: Stage, workspace: Workspace, internal: User, homes: Sequence[Home]) -> None:
        self._stage = stage
        self._workspace = workspace
        self._grants = [Grant(TOKEN, workspace, internal, workspace.now())]
        self._codes: dict[str, Code] = {}
        self.homes = {home.workspace.id: home for home in homes}
        """By the id of their workspace; the first is the one that a person is in at first."""

    def withdraw(self, *, withdrawn: bool) -> None:
        """Take all grants there are away, or give them back; later ones are not touched."""
        self._codes.clear()
        for grant in self._grants:
            grant.withdrawn = withdrawn

    def grant(self, token: str) -> Grant | None:
        """What *token* lets in; None when it is not good."""
        grant = self._find(token, "token")
        expired = grant and grant.expires_at is not None and grant.expires_at <= self._workspace.now()
        return None if expired else grant

    def has(self, bot: User) -> bool:
        """Whether *bot* is let in at all."""
        return any(grant.bot is bot for grant in self._good())

    def code(self, redirect_uri: str, decided: Decision) -> str:
        """A new code for the public connection, with the workspace and the pages that the person picked."""
        code, until = self._workspace.new_secret("", 36), self._workspace.now() + CODE_SECONDS
        home = self.homes.get(decided.account) or next(iter(self.homes.values()))
        kept = (offer.ids for offer in home.offers if decided.keeps(_value(home, offer)))
        self._codes[code] = Code(redirect_uri, until, home, frozenset().union(*kept))
        return code

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        """A new pair for a code, or for the refresh token of a pair that dies by it."""
        kind = checks.one_of(body.get("grant_type"), "body.grant_type", ("authorization_code", "refresh_token"))
        home = self._spend_code(body) if kind == "authorization_code" else self._spend_refresh_token(body)
        secret, now, seconds = self._workspace.new_secret, self._workspace.now(), self._stage.knobs["token_seconds"]
        until = None if seconds is None else now + seconds
        grant = Grant(secret("ntn_", 46), home.workspace, home.bot, now, until, secret("nrt_", 46))
        self._grants.append(grant)
        return _issued(grant)

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

    def _spend_code(self, body: dict[str, Any]) -> Home:
        given = checks.string(checks.need(body, "code", "body"), "body.code")
        code = self._codes.pop(given, None)
        if code is None or code.expires_at <= self._workspace.now():
            raise invalid_grant("Invalid code: this code has been revoked.")
        if body.get("redirect_uri") != code.redirect_uri:
            raise invalid_grant("Invalid redirect_uri: it does not match the authorization request.")
        # Picking again replaces what was picked before: there is one bot of an application in a workspace.
        code.home.bot.shared = set(code.shared)
        return code.home

    def _spend_refresh_token(self, body: dict[str, Any]) -> Home:
        given = checks.string(checks.need(body, "refresh_token", "body"), "body.refresh_token")
        grant = self._find(given, "refresh_token")
        if grant is None:
            raise invalid_grant("Invalid refresh token: this token has been revoked.")
        grant.spent = True
        return self.homes[grant.workspace.id]


def _issued(grant: Grant) -> dict[str, Any]:
    workspace = grant.workspace
    owner = workspace.users[grant.bot.owner_id or ""]
    return {
        "access_token": grant.token,
        "token_type": "bearer",
        "refresh_token": grant.refresh_token,
        "bot_id": grant.bot.id,
        "workspace_id": workspace.id,
        "workspace_name": workspace.name,
        "workspace_icon": None,
        "owner": {"type": "user", "user": values.user(owner, owner.id, workspace)},
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
    def asked(cls, query: Mapping[str, str], registered: Sequence[str]) -> "Consent":
        """The consent that an authorize address asks for; refused when it is not well asked."""
        checks.one_of(query.get("client_id"), "query.client_id", (CLIENT_ID,))
        checks.one_of(query.get("response_type"), "query.response_type", ("code",))
        checks.one_of(query.get("owner"), "query.owner", ("user",))
        redirect_uri = query.get("redirect_uri", "")
        if urlsplit(redirect_uri).scheme not in {"http", "https"} or (registered and redirect_uri not in registered):
            raise invalid("Missing or invalid redirect_uri.")
        return cls(redirect_uri, query.get("state"))

    def answer(self, **given: str) -> str:
        """The address the user is sent back to with what was *given*, and the state."""
        fields = given | ({} if self.state is None else {"state": self.state})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{urlencode(fields)}"


def question(homes: Iterable[Home]) -> Question:
    """What a person is asked: which workspace, and which pages of it."""
    accounts = [
        Account(
            home.workspace.id,
            home.workspace.name,
            tuple(Box(_value(home, offer), offer.label) for offer in home.offers),
        )
        for home in homes
    ]
    wants = ["View the content that you share with it", "Insert and update that content", "See names and addresses"]
    return Question(vendor="Notion", app="Connector Gateway", wants=wants, accounts=accounts)


def _value(home: Home, offer: Offer) -> str:
    return f"{home.workspace.id}/{home.offers.index(offer)}"
