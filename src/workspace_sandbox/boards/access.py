"""Who is let in: applications, tokens, and the four ways of presenting them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import unquote

from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.state import Author, Member, stamp
from workspace_sandbox.boards.wire import INVALID_KEY, MISSING_SCOPES, Refusal

LIFETIMES = {"1hour": 3600.0, "1day": 86_400.0, "30days": 2_592_000.0, "never": None}
SCOPES = ("read", "write", "account")
_PAIR = re.compile(r'(\w+)="?([^",]*)"?')


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request presents; ``bearer`` says that the token came alone, as an OAuth 2 access token."""

    key: str | None = None
    token: str | None = None
    bearer: bool = False


@dataclass(frozen=True, slots=True)
class App:
    """An application registered with the vendor."""

    id: str
    name: str
    key: str
    secret: str


@dataclass(frozen=True, slots=True)
class Token:
    """What a member allowed an application."""

    id: str
    value: str
    app: App
    member: Member
    scopes: tuple[str, ...]
    created_at: float
    expires_at: float | None
    bearer: bool = False

    def raw(self) -> dict[str, Any]:
        """The token object of the vendor."""
        rights = {"read": "read" in self.scopes, "write": "write" in self.scopes}
        account = "account" in self.scopes
        return {
            "id": self.id,
            "identifier": self.app.name,
            "idMember": self.member.id,
            "dateCreated": stamp(self.created_at),
            "dateExpires": None if self.expires_at is None else stamp(self.expires_at),
            "permissions": [
                {"idModel": self.member.id, "modelType": "Member", "read": True, "write": account},
                # A token of this kind is not given for single boards: it reaches whatever its member reaches.
                {"idModel": "*", "modelType": "Board", **rights},
                {"idModel": "*", "modelType": "Organization", **rights},
            ],
        }


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who a request is from, and what is allowed; nobody without a token."""

    token: Token | None = None

    @property
    def member(self) -> Member | None:
        """The member whose token it is."""
        return self.token.member if self.token else None

    def author(self, at: float) -> Author:
        """This visitor as the author of something done *at* that time."""
        if self.token is None:
            raise Refusal(401, MISSING_SCOPES)
        return Author(self.token.member, self.token.app.id, at)


def oauth_pairs(authorization: str) -> dict[str, str]:
    """The names and values of an ``OAuth`` header; none for any other."""
    scheme, _, rest = authorization.partition(" ")
    return {name: unquote(value) for name, value in _PAIR.findall(rest)} if scheme.lower() == "oauth" else {}


def credentials_of(authorization: str, arguments: Arguments) -> Credentials:
    """What a request presents; a well-formed header wins over query and body."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer" and rest:
        return Credentials(token=rest.strip(), bearer=True)
    # The vendor's page says nothing of both together. Public test suites saw the header win.
    pairs = oauth_pairs(authorization)
    presented = Credentials(pairs.get("oauth_consumer_key") or None, pairs.get("oauth_token") or None)
    if presented != Credentials():
        return presented
    key, token = (str(arguments.raw(name)) if arguments.given(name) else None for name in ("key", "token"))
    return Credentials(key, token)


class Access:
    """The applications and tokens there are."""

    def __init__(self, apps: Iterable[App]) -> None:
        self.apps = {app.key: app for app in apps}
        self.tokens: dict[str, Token] = {}
        self._withdrawn: dict[str, Token] = {}

    def visitor(self, presented: Credentials, now: float, *, invalid_token: str) -> Visitor:
        """Who presents these credentials; wrong ones are refused, none at all are a stranger's."""
        if presented == Credentials():
            return Visitor()
        if not presented.bearer and (presented.key or "") not in self.apps:
            raise Refusal(401, INVALID_KEY)
        # Refused as a lack of scopes, not of a token: that is the text that live tests got.
        if presented.token is None:
            raise Refusal(401, MISSING_SCOPES)
        token = self.tokens.get(presented.token)
        if token is None or not self._opens(token, presented, now):
            raise Refusal(401, invalid_token)
        return Visitor(token)

    def key_of(self, presented: Credentials) -> str | None:
        """The key whose budget a request spends."""
        token = self.tokens.get(presented.token or "") if presented.bearer else None
        return token.app.key if token else presented.key

    def issue(
        self, random: Random, app: App, member: Member, scopes: Iterable[str], *, now: float, lifetime: float | None
    ) -> Token:
        """A new token, of the kind that is presented together with the key of its application."""
        # Newer tokens begin with ATTA and are longer than the 64 digits of older ones. A client must not measure them.
        value = f"ATTA{random.getrandbits(288):072X}"
        expires_at = None if lifetime is None else now + lifetime
        # Trello's ids begin with the second of their making (API introduction), from which clients read a thing's age.
        identifier = f"{int(now) & 0xFFFFFFFF:08x}{random.getrandbits(64):016x}"
        return self.keep(Token(identifier, value, app, member, tuple(scopes), now, expires_at))

    def keep(self, token: Token) -> Token:
        """Let *token* in from now on."""
        self.tokens[token.value] = token
        return token

    def withdraw(self) -> None:
        """Let none of the tokens there are in any more."""
        self._withdrawn |= self.tokens
        self.tokens.clear()

    def restore(self) -> None:
        """Let those that were withdrawn in again."""
        self.tokens |= self._withdrawn
        self._withdrawn.clear()

    @staticmethod
    def _opens(token: Token, presented: Credentials, now: float) -> bool:
        alive = token.expires_at is None or now < token.expires_at
        return alive and token.bearer == presented.bearer and presented.key in {None, token.app.key}
