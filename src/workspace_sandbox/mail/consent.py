"""The consent page and the token endpoints."""

import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from workspace_sandbox.kit.consent import Account, Box, Decision, Question, decision, fields_of, told
from workspace_sandbox.mail.access import AUTH, FULL, LONG_NAMES, Denied, Grant, Grants, subject
from workspace_sandbox.mail.state import Mailbox

CONSENT_PATH = "/o/oauth2/v2/auth"
ADDRESS = re.compile(r"https?://[^\s#]+")
APP = "Connector Gateway"
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

Answering: TypeAlias = "Callable[[Consent, web.Request], Awaitable[web.Response]]"


class Consent:
    """Asks the user, and hands out codes and tokens."""

    def __init__(self, grants: Grants, mailboxes: Mapping[str, Mailbox], knobs: Mapping[str, Any]) -> None:
        self._grants = grants
        self._mailboxes = mailboxes
        self._knobs = knobs

    async def ask(self, request: web.Request) -> web.Response:
        """Show what is asked for, or take the user's decision, with the scopes left ticked."""
        given = await fields_of(request)
        wanted = dict(given)
        self._check(wanted)
        decided = decision(given, automatic=self._knobs["auto_approve"])
        if decided is None:
            return self._question(wanted).page(CONSENT_PATH, given, wanted.get("login_hint", ""))
        return self._decide(wanted, decided)

    async def token(self, request: web.Request) -> web.Response:
        """Exchange a code or a refresh token."""
        given = await _form(request) | _client(request.headers.get("Authorization", ""))
        grant_types = {"authorization_code": self._grants.exchange, "refresh_token": self._grants.refresh}
        if given.get("grant_type") not in grant_types:
            raise Denied("unsupported_grant_type", f"Invalid grant_type: {given.get('grant_type', '')}")
        self._identify(given)
        return web.json_response(grant_types[given["grant_type"]](given))

    async def revoke(self, request: web.Request) -> web.Response:
        """Withdraw everything that came with a token."""
        given = await _form(request)
        self._grants.revoke(given.get("token") or request.query.get("token", ""))
        return web.json_response({})

    async def inspect(self, request: web.Request) -> web.Response:
        """Tell what an access token is for."""
        token = (await _form(request)).get("access_token") or request.query.get("access_token", "")
        grant = self._grants.access(token)
        if grant is None:
            raise Denied("invalid_token", "Invalid Value")
        told = {"azp": grant.client_id, "aud": grant.client_id, "sub": subject(grant.address)}
        told |= {"scope": " ".join(grant.scopes), "expires_in": str(self._grants.seconds_left(token))}
        if LONG_NAMES["email"] in grant.scopes:
            told |= {"email": grant.address, "email_verified": "true"}
        return web.json_response(told | {"access_type": "offline" if grant.offline else "online"})

    def _check(self, wanted: Mapping[str, str]) -> None:
        target = wanted.get("redirect_uri", "")
        registered = self._knobs["redirect_uris"]
        if wanted.get("client_id") != self._knobs["client_id"]:
            raise _Halted(401, "invalid_client")
        if not ADDRESS.fullmatch(target) or (registered and target not in registered):
            raise _Halted(400, "redirect_uri_mismatch")
        if wanted.get("response_type") != "code" or not wanted.get("scope", "").split():
            raise _Halted(400, "invalid_request")
        if not all(
            scope in {"openid", *LONG_NAMES} or scope.startswith("https://") for scope in wanted["scope"].split()
        ):
            raise _Halted(400, "invalid_scope")

    def _decide(self, wanted: Mapping[str, str], decided: Decision) -> web.Response:
        address = decided.account or wanted.get("login_hint") or next(iter(self._mailboxes))
        if not decided.allowed or address not in self._mailboxes:
            return _redirect(wanted, {"error": "access_denied"})
        allowed = self._knobs["granted_scopes"]
        ticked = decided.keeps if allowed is None else {LONG_NAMES.get(scope, scope) for scope in allowed}.__contains__
        # Who signs in is told in any case, so ``openid`` has no box of its own.
        scopes = tuple(scope for scope in _asked(wanted) if scope == "openid" or ticked(scope))
        grant = Grant(address, wanted["client_id"], scopes, wanted.get("access_type") == "offline")
        code = self._grants.consent(grant, wanted)
        return _redirect(wanted, {"code": code, "scope": " ".join(scopes)})

    def _identify(self, given: Mapping[str, str]) -> None:
        known = (self._knobs["client_id"], self._knobs["client_secret"])
        if (given.get("client_id"), given.get("client_secret")) != known:
            raise Denied("invalid_client", "Unauthorized", 401)

    def _question(self, wanted: Mapping[str, str]) -> Question:
        accounts = [Account(address, f"{mailbox.name} ({address})") for address, mailbox in self._mailboxes.items()]
        boxes = [Box(scope, MEANINGS.get(scope, scope)) for scope in _asked(wanted) if scope != "openid"]
        return Question(vendor="Google", app=APP, wants=["Know who you are"], accounts=accounts, boxes=boxes)


class _Halted(Exception):
    """A consent that cannot be asked for: told to the user, never to the client."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status
        self.error = error


async def served(consent: Consent, answering: Answering, request: web.Request) -> web.Response:
    """What *consent* answers, or how it refuses."""
    try:
        return await answering(consent, request)
    except Denied as denied:
        return web.json_response(denied.body, status=denied.status)
    except _Halted as halted:
        said = f"<p>Error {halted.status}: {halted.error}</p>"
        return told("Google", "Access blocked: this request is invalid", said, halted.status)


def _asked(wanted: Mapping[str, str]) -> list[str]:
    """The scopes that are wanted, each once, by their long names."""
    return list(dict.fromkeys(LONG_NAMES.get(scope, scope) for scope in wanted["scope"].split()))


def _client(header: str) -> dict[str, str]:
    """Who asks by HTTP Basic, as Google's own library for consent does, where its pages show the body."""
    scheme, _, encoded = header.partition(" ")
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": client_id, "client_secret": secret} if scheme.lower() == "basic" else {}


async def _form(request: web.Request) -> dict[str, str]:
    return dict(parse_qsl((await request.read()).decode("utf-8", "replace"), keep_blank_values=True))


def _redirect(wanted: Mapping[str, str], answer: Mapping[str, str]) -> web.Response:
    state = {"state": wanted["state"]} if "state" in wanted else {}
    separator = "&" if "?" in wanted["redirect_uri"] else "?"
    location = f"{wanted['redirect_uri']}{separator}{urlencode({**state, **answer})}"
    return web.Response(status=302, headers={"Location": location})
