"""Who is let in: the installation, its tokens, the grants they come from, and the page on which a person consents."""

import base64
import hashlib
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from yarl import URL

from workspace_sandbox.chat.arguments import Arguments
from workspace_sandbox.chat.state import Workspace
from workspace_sandbox.chat.wire import SlackError
from workspace_sandbox.kit.consent import Account, Question, decision, fields_of, told
from workspace_sandbox.kit.server import Refused
from workspace_sandbox.kit.stage import Stage

CLIENT_ID = "7104110011.8205110022"
CLIENT_SECRET = "c0ffee5a7d0b4e1f9a6b3c2d1e0f4a5b"  # noqa: S105 - opens nothing but the stand-in
TOKEN = "xoxb-7104110011-8205110022-northwind"  # noqa: S105 - the same
VISITOR_TOKEN = "xoxb-7104110011-8309110099-visitor"  # noqa: S105 - the same
"""The token of another vendor's application in the first workspace, which is in no channel."""

CODE_SECONDS = 600
REFRESH_GRACE_SECONDS = 60
"""How long a spent refresh token is still taken; the vendor says a short while."""

UNINSTALLED = "account_inactive"

ACTIVE_TOKENS = 2
"""Rotating access tokens that may be alive at once; one more ends the oldest."""

LETTERS = string.ascii_letters + string.digits

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
    "im:write": "Begin direct messages",
    "reactions:read": "See reactions",
    "reactions:write": "Add and remove reactions",
    "users:read": "See who is in the workspace",
    "emoji:read": "See the emoji of the workspace",
    "app_mentions:read": "Hear of messages that mention it",
    "channels:manage": "Make and change public channels",
    "groups:write": "Make and change private channels",
    "files:read": "See the files that are shared where its bot is",
    "files:write": "Upload, share and delete files",
    "pins:read": "See what is pinned",
    "pins:write": "Pin messages and take them down",
    "team:read": "See the name and the address of the workspace",
    "users:read.email": "See the addresses of people",
    "users.profile:read": "See the profiles of people",
}


@dataclass(slots=True)
class Token:
    """An access token; ``refused`` is the code it is answered with once it is dead."""

    value: str
    expires_at: float | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """What the consent page handed out: good once, for a few minutes."""

    redirect_uri: str
    scopes: tuple[str, ...]
    challenge: str
    expires_at: float


@dataclass(slots=True)
class Removed:
    """What an uninstalled application had: its scopes, and whether it is the seeded one."""

    seeded: bool
    granted: dict[str, None]
    refreshers: dict[str, float | None]


class Access:
    """The application's installation in one workspace; with a *token* it is there from the start."""

    def __init__(self, stage: Stage, token: str = "") -> None:
        self._stage = stage
        self.installed = self._seeded = bool(token)
        self._tokens = {token: Token(token)} if token else {}
        self._granted: dict[str, None] = {}
        self._codes: dict[str, Code] = {}
        self._refreshers: dict[str, float | None] = {}
        """When each refresh token was spent."""
        self._removed: Removed | None = None

    @property
    def scopes(self) -> list[str]:
        """What the installation may do: first what it was seeded with, then what was granted since."""
        seeded = self._stage.knobs["scopes"].split(",") if self._seeded else []
        return list(dict.fromkeys([scope for scope in seeded if scope] + list(self._granted)))

    def admit(self, value: str) -> Token:
        """The living token of that value."""
        if not value:
            raise SlackError("not_authed")
        token = self._tokens.get(value)
        if token is None:
            raise SlackError("invalid_auth")
        if token.refused:
            raise SlackError(token.refused)
        if token.expires_at is not None and token.expires_at <= self._stage.clock.now():
            raise SlackError("token_expired")
        return token

    def knows(self, presented: Iterable[str]) -> bool:
        """Whether any of these is a token, a code or a refresh token of this workspace, dead or alive."""
        return any(value in known for value in presented for known in (self._tokens, self._codes, self._refreshers))

    def uninstall(self) -> None:
        """Remove the application: every token dies, every grant with it."""
        if self.installed:
            self._removed = Removed(self._seeded, dict(self._granted), dict(self._refreshers))
        self.installed = self._seeded = False
        self._granted.clear()
        self._codes.clear()
        self._refreshers.clear()
        for token in self._tokens.values():
            # A bot's token is told so after an uninstall. ``token_revoked`` is said of single tokens.
            token.refused = token.refused or UNINSTALLED

    def restore(self) -> None:
        """Install the application again just as it was, with the tokens that it had."""
        if self._removed is None:
            return
        self.installed, self._seeded = True, self._removed.seeded
        self._granted |= self._removed.granted
        self._refreshers |= self._removed.refreshers
        self._removed = None
        for token in self._tokens.values():
            token.refused = "" if token.refused == UNINSTALLED else token.refused

    def revoke(self, value: str) -> bool:
        """End the token of that value; whether the application goes with it, as it does unless tokens rotate."""
        if value.startswith("xoxe."):
            self._tokens[value].refused = "token_revoked"
            return False
        return True

    def consent(self, query: Mapping[str, str]) -> str:
        """A code for what the consent page was asked for."""
        expires_at = self._stage.clock.now() + CODE_SECONDS
        value = f"{self._digits(10)}.{self._digits(12)}.{self._letters(32)}"
        challenge = query.get("code_challenge", "")
        self._codes[value] = Code(query.get("redirect_uri", ""), scopes_of(query), challenge, expires_at)
        return value

    def exchange(self, arguments: Arguments) -> dict[str, Any]:
        """New tokens for a code or a refresh token."""
        check_client(arguments)
        grant = arguments.optional("grant_type") or "authorization_code"
        if grant == "refresh_token":
            self._spend_refresher(arguments.optional("refresh_token") or "")
            return self._pair()
        if grant != "authorization_code":
            raise SlackError("invalid_grant_type")
        self._install(self._spend_code(arguments))
        return self._pair() if self._stage.knobs["rotation"] else self._single()

    def swap(self, arguments: Arguments) -> dict[str, Any]:
        """A rotating pair for a token that does not rotate, once."""
        check_client(arguments)
        token = self.admit(arguments.text("token"))
        # A token can be swapped once: afterwards it rotates, and rotation cannot be switched off again.
        if token.expires_at is not None:
            raise SlackError("token_already_exchanged")
        token.refused = "token_revoked"
        return self._pair()

    def _install(self, scopes: tuple[str, ...]) -> None:
        self.installed = True
        self._granted |= dict.fromkeys(scopes)

    def _spend_code(self, arguments: Arguments) -> tuple[str, ...]:
        code = self._codes.pop(arguments.optional("code") or "", None)
        if code is None or code.expires_at <= self._stage.clock.now():
            raise SlackError("invalid_code")
        if (arguments.optional("redirect_uri") or "") != code.redirect_uri:
            raise SlackError("bad_redirect_uri")
        if code.challenge and code.challenge != challenge_of(arguments.optional("code_verifier") or ""):
            raise SlackError("invalid_code_verifier")
        return code.scopes

    def _spend_refresher(self, value: str) -> None:
        now = self._stage.clock.now()
        if value not in self._refreshers:
            raise SlackError("invalid_refresh_token")
        spent_at = self._refreshers[value]
        # Two processes that refresh at the same moment both succeed for a short while ("Using token rotation").
        if spent_at is not None and now - spent_at > REFRESH_GRACE_SECONDS:
            raise SlackError("invalid_refresh_token")
        self._refreshers[value] = now if spent_at is None else spent_at

    def _single(self) -> dict[str, Any]:
        return {"access_token": self._keep(Token(f"xoxb-{self._digits(10)}-{self._digits(10)}-{self._letters(12)}"))}

    def _pair(self) -> dict[str, Any]:
        seconds = self._stage.knobs["token_seconds"]
        token = Token(f"xoxe.xoxb-1-{self._letters(40)}", self._stage.clock.now() + seconds)
        refresher = f"xoxe-1-{self._letters(40)}"
        self._refreshers[refresher] = None
        living = [old for old in self._tokens.values() if old.expires_at is not None and not old.refused]
        # A third refresh ends the oldest token, so a client that refreshes without a lock loses a token that is in use.
        for old in living[: max(0, len(living) - ACTIVE_TOKENS + 1)]:
            old.refused = "token_revoked"
        return {"access_token": self._keep(token), "refresh_token": refresher, "expires_in": seconds}

    def _keep(self, token: Token) -> str:
        self._tokens[token.value] = token
        return token.value

    def _letters(self, length: int) -> str:
        return "".join(self._stage.random.choices(LETTERS, k=length))

    def _digits(self, length: int) -> str:
        return str(self._stage.random.randrange(10 ** (length - 1), 10**length))


def check_client(arguments: Arguments) -> None:
    """Let nobody but the one registered application through."""
    if arguments.optional("client_id") != CLIENT_ID:
        raise SlackError("invalid_client_id")
    if arguments.optional("client_secret") != CLIENT_SECRET:
        raise SlackError("bad_client_secret")


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


# The page of consent


@dataclass(frozen=True, slots=True)
class Home:
    """A workspace that the application may be installed in, and its installation there."""

    workspace: Workspace
    access: Access

    @property
    def account(self) -> Account:
        """The workspace as the page of consent offers it."""
        return Account(self.workspace.team.id, f"{self.workspace.team.name} ({self.workspace.team.domain}.slack.com)")


async def authorize(homes: Mapping[str, Home], stage: Stage, request: web.Request) -> web.Response:
    """Ask, or take the decision and send the person back to the application."""
    fields = await fields_of(request)
    query = dict(fields)
    back = _checked(query, stage.knobs["redirect_uris"])
    decided = decision(fields, automatic=stage.knobs["auto_approve"])
    team = query.get("team", "")
    if decided is None:
        wants = [MEANINGS.get(scope, scope) for scope in scopes_of(query)]
        accounts = [home.account for home in homes.values()]
        question = Question(vendor="Slack", app="Connector Gateway", wants=wants, accounts=accounts)
        return question.page(request.path, fields, team)
    state = {"state": query.get("state", "")}
    if not decided.allowed:
        return _back(back, {"error": "access_denied"} | state)
    home = homes.get(decided.account or team) or next(iter(homes.values()))
    return _back(back, {"code": home.access.consent(query)} | state)


def scopes_of(query: Mapping[str, str]) -> tuple[str, ...]:
    """The scopes that are asked for."""
    return tuple(query.get("scope", "").replace(",", " ").split())


def _checked(query: Mapping[str, str], registered: Sequence[str]) -> URL:
    if query.get("client_id") != CLIENT_ID:
        raise Refused(_page("Invalid client_id parameter", "invalid_client_id"))
    if not scopes_of(query):
        raise Refused(_page("No scopes requested", "no_scopes"))
    try:
        back = URL(query.get("redirect_uri", ""))
    except ValueError:
        back = URL()
    # Without a list any such address will do, where Slack always has one. A path may go on below a registered one.
    known = not registered or any(str(back) == one or str(back).startswith(f"{one}/") for one in registered)
    if back.scheme not in {"http", "https"} or back.fragment or not known:
        raise Refused(_page("redirect_uri did not match any configured URIs", "bad_redirect_uri"))
    return back


def _back(address: URL, answer: dict[str, str]) -> web.Response:
    return web.Response(status=302, headers={"Location": str(address.update_query(answer))})


def _page(title: str, code: str) -> web.Response:
    return told("Slack", title, f"<p>{code}</p>")
