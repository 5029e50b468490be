"""The consent page and the token endpoints."""

import html
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from workspace_sandbox.mail.access import LONG_NAMES, Denied, Grant, Grants, subject
from workspace_sandbox.mail.state import Mailbox

CONSENT_PATH = "/o/oauth2/v2/auth"
ADDRESS = re.compile(r"https?://[^\s#]+")
TRUTHS = frozenset({"1", "true", "yes"})
PAGE = """<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>Sign in with Google</title>
<h1>{client} wants access to your Google Account</h1>
<form method=post action="{action}">
{hidden}
<p><label>Account <select name=login_hint>{accounts}</select></label>
<ul>{scopes}</ul>
<button name=decision value=approve>Allow</button> <button name=decision value=deny>Cancel</button>
</form>
"""
ERROR_PAGE = (
    "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>Error {status}</title><p>Error {status}: {error}\n"
)


Answering: TypeAlias = "Callable[[Consent, web.Request], Awaitable[web.Response]]"


class Consent:
    """Asks the user, and hands out codes and tokens."""

    def __init__(self, grants: Grants, mailboxes: Mapping[str, Mailbox], knobs: Mapping[str, Any]) -> None:
        self._grants = grants
        self._mailboxes = mailboxes
        self._knobs = knobs

    async def ask(self, request: web.Request) -> web.Response:
        """Show what is asked for; with ``auto_approve`` (parameter or knob) the user says yes at once."""
        wanted = dict(request.query)
        self._check(wanted)
        if self._knobs["auto_approve"] or wanted.get("auto_approve", "").lower() in TRUTHS:
            return self._decide(wanted, wanted["scope"].split())
        return web.Response(text=self._page(wanted), content_type="text/html")

    async def decide(self, request: web.Request) -> web.Response:
        """Take the user's decision, with the scopes left ticked."""
        given = await _pairs(request)
        wanted = {name: value for name, value in given if name not in {"decision", "granted"}}
        self._check(wanted)
        if ("decision", "approve") not in given:
            return _redirect(wanted, {"error": "access_denied"})
        return self._decide(wanted, [scope for name, scope in given if name == "granted"])

    async def token(self, request: web.Request) -> web.Response:
        """Exchange a code or a refresh token."""
        given = await _form(request)
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

    def _decide(self, wanted: Mapping[str, str], ticked: list[str]) -> web.Response:
        address = wanted.get("login_hint") or next(iter(self._mailboxes))
        if address not in self._mailboxes:
            return _redirect(wanted, {"error": "access_denied"})
        asked = [LONG_NAMES.get(scope, scope) for scope in wanted["scope"].split()]
        allowed = self._knobs["granted_scopes"]
        kept = {LONG_NAMES.get(scope, scope) for scope in (ticked if allowed is None else allowed)}
        scopes = tuple(scope for scope in dict.fromkeys(asked) if scope in kept or scope == "openid")
        grant = Grant(address, wanted["client_id"], scopes, wanted.get("access_type") == "offline")
        code = self._grants.consent(grant, wanted)
        return _redirect(wanted, {"code": code, "scope": " ".join(scopes)})

    def _identify(self, given: Mapping[str, str]) -> None:
        known = (self._knobs["client_id"], self._knobs["client_secret"])
        if (given.get("client_id"), given.get("client_secret")) != known:
            raise Denied("invalid_client", "Unauthorized", 401)

    def _page(self, wanted: Mapping[str, str]) -> str:
        hinted = wanted.get("login_hint")
        fields = {name: html.escape(value) for name, value in wanted.items() if name != "login_hint"}
        scopes = [html.escape(scope) for scope in wanted["scope"].split()]
        return PAGE.format(
            client=html.escape(wanted["client_id"]),
            action=CONSENT_PATH,
            hidden="\n".join(f'<input type=hidden name="{html.escape(n)}" value="{v}">' for n, v in fields.items()),
            accounts="".join(f"<option{' selected' * (one == hinted)}>{one}</option>" for one in self._mailboxes),
            scopes="".join(
                f'<li><label><input type=checkbox name=granted value="{scope}" checked> {scope}</label>'
                for scope in scopes
            ),
        )


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
        page = ERROR_PAGE.format(status=halted.status, error=halted.error)
        return web.Response(status=halted.status, text=page, content_type="text/html")


async def _form(request: web.Request) -> dict[str, str]:
    return dict(await _pairs(request))


async def _pairs(request: web.Request) -> list[tuple[str, str]]:
    return parse_qsl((await request.read()).decode("utf-8", "replace"), keep_blank_values=True)


def _redirect(wanted: Mapping[str, str], answer: Mapping[str, str]) -> web.Response:
    state = {"state": wanted["state"]} if "state" in wanted else {}
    separator = "&" if "?" in wanted["redirect_uri"] else "?"
    location = f"{wanted['redirect_uri']}{separator}{urlencode({**state, **answer})}"
    return web.Response(status=302, headers={"Location": location})
