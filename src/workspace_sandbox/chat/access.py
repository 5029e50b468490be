"""Who is let in: the installation, its tokens, the grants they come from, and the page on which a person consents."""

import base64
import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from aiohttp import web
from yarl import URL

from workspace_sandbox.chat.arguments import Arguments
from workspace_sandbox.chat.wire import SlackError
from workspace_sandbox.kit.server import Refused
from workspace_sandbox.kit.stage import Stage

CLIENT_ID = "7104110011.8205110022"
CLIENT_SECRET = "c0ffee5a7d0b4e1f9a6b3c2d1e0f4a5b"  # noqa: S105 - opens nothing but the stand-in
TOKEN = "xoxb-7104110011-8205110022-northwind"  # noqa: S105 - the same

CODE_SECONDS = 600
REFRESH_GRACE_SECONDS = 60
"""How long a spent refresh token is still taken; the vendor says a short while."""

ACTIVE_TOKENS = 2
"""Rotating access tokens that may be alive at once; one more ends the oldest."""

LETTERS = string.ascii_letters + string.digits

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>{body}</html>"""
FORM = """<p>It asks for: {scopes}</p><form method="get">{fields}
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Cancel</button></form>"""


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


class Access:
    """The application's installation in the workspace."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.installed = True
        self._tokens = {TOKEN: Token(TOKEN)}
        self._seeded = True
        self._granted: dict[str, None] = {}
        self._codes: dict[str, Code] = {}
        self._refreshers: dict[str, float | None] = {}
        """When each refresh token was spent."""

    @property
    def automatic(self) -> bool:
        """Whether every consent is given at once."""
        return bool(self._stage.knobs["auto_approve"])

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

    def uninstall(self) -> None:
        """Remove the application: every token dies, every grant with it."""
        self.installed = self._seeded = False
        self._granted.clear()
        self._codes.clear()
        self._refreshers.clear()
        for token in self._tokens.values():
            # A bot's token is told so after an uninstall. ``token_revoked`` is said of single tokens.
            token.refused = "account_inactive"

    def restore(self) -> None:
        """Install the application again just as it was seeded."""
        self.installed = self._seeded = True
        self._tokens[TOKEN] = Token(TOKEN)

    def revoke(self, value: str) -> bool:
        """End the token of that value; whether the application goes with it, as it does unless tokens rotate."""
        if value.startswith("xoxe."):
            self._tokens[value].refused = "token_revoked"
            return False
        return True

    def consent(self, query: Mapping[str, str]) -> str:
        """A code for what the consent page was asked for."""
        scopes = tuple(query["scope"].replace(",", " ").split())
        expires_at = self._stage.clock.now() + CODE_SECONDS
        value = f"{self._digits(10)}.{self._digits(12)}.{self._letters(32)}"
        challenge = query.get("code_challenge", "")
        self._codes[value] = Code(query.get("redirect_uri", ""), scopes, challenge, expires_at)
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


def authorize(access: Access, request: web.Request, team_name: str) -> web.Response:
    """Ask, or take the decision and send the person back to the application."""
    query = request.query
    back = _checked(query.get("client_id", ""), query.get("scope", ""), query.get("redirect_uri", ""))
    decision = query.get("decision", "allow" if access.automatic or query.get("auto_approve") else "")
    state = {"state": query.get("state", "")}
    if decision == "allow":
        return _back(back, {"code": access.consent(query)} | state)
    if decision:
        return _back(back, {"error": "access_denied"} | state)
    hidden = "".join(f'<input type="hidden" name="{escape(n)}" value="{escape(v)}">' for n, v in query.items())
    body = FORM.format(scopes=escape(query["scope"]), fields=hidden)
    return _page(200, f"Let it into {team_name}?", body)


def _checked(client_id: str, scope: str, redirect_uri: str) -> URL:
    if client_id != CLIENT_ID:
        raise Refused(_page(200, "Invalid client_id parameter", "<p>invalid_client_id</p>"))
    if not scope:
        raise Refused(_page(200, "No scopes requested", "<p>no_scopes</p>"))
    try:
        back = URL(redirect_uri)
    except ValueError:
        back = URL()
    # Any such address will do, where Slack compares it with a list: the stand-in has no page to register one.
    if back.scheme not in {"http", "https"} or back.fragment:
        message = "redirect_uri did not match any configured URIs"
        raise Refused(_page(200, message, "<p>bad_redirect_uri</p>"))
    return back


def _back(address: URL, answer: dict[str, str]) -> web.Response:
    return web.Response(status=302, headers={"Location": str(address.update_query(answer))})


def _page(status: int, title: str, body: str) -> web.Response:
    text = PAGE.format(title=escape(title), body=body)
    return web.Response(status=status, text=text, content_type="text/html")
