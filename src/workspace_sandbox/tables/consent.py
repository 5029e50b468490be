"""The pages of the OAuth dance: the one a user is asked on, and the one tokens are had from."""

import binascii
import hmac
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from aiohttp import web

from workspace_sandbox.tables.access import (
    CHALLENGE,
    CLIENTS,
    SCOPES,
    Authorisations,
    OAuthRefusal,
)

GRANTS = {"authorization_code": Authorisations.exchange, "refresh_token": Authorisations.refresh}
YES = frozenset({"1", "true", "yes"})


@dataclass(frozen=True, slots=True)
class Consent:
    """What a client asks the user for."""

    client_id: str
    redirect_uri: str
    state: str | None

    def back(self, **given: str) -> str:
        """The address the user is sent back to, with what was *given* and the state."""
        fields = given | ({} if self.state is None else {"state": self.state})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{urlencode(fields)}"


def authorize(request: web.Request, authorisations: Authorisations, knobs: Mapping[str, Any]) -> web.Response:
    """The consent page; at once the way back, where approval is automatic or the request is not well made."""
    query = request.query
    try:
        consent = _asked(query, knobs["redirect_uris"])
    except OAuthRefusal as refusal:
        return web.Response(status=400, text=_page(escape(refusal.description)), content_type="text/html")
    try:
        scopes = _scopes(query)
    except OAuthRefusal as refusal:
        return _redirect(consent.back(**refusal.body()))
    if knobs["auto_approve"] or query.get("auto_approve", "").casefold() in YES:
        challenge = query["code_challenge"]
        code = authorisations.consent(consent.client_id, consent.redirect_uri, challenge, scopes)
        return _redirect(consent.back(code=code, code_challenge=challenge, code_challenge_method="S256"))
    allow = str(request.rel_url.update_query(auto_approve="true"))
    return web.Response(text=_question(sorted(scopes), allow, consent), content_type="text/html")


async def token(request: web.Request, authorisations: Authorisations) -> web.Response:
    """Tokens for a code or a refresh token."""
    try:
        form = await _form(request)
        client_id = _client(request.headers.get("Authorization", ""), form)
        grant = GRANTS.get(form.get("grant_type", ""))
        if grant is None:
            raise OAuthRefusal("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
        return web.json_response(grant(authorisations, client_id, form), headers={"Cache-Control": "no-store"})
    except OAuthRefusal as refusal:
        return web.json_response(refusal.body(), status=refusal.status)


def _asked(query: Mapping[str, str], registered: list[str]) -> Consent:
    """Who asks, and where the user goes after; what is wrong with that is told to the user, not to the client."""
    client_id, redirect_uri = query.get("client_id", ""), query.get("redirect_uri", "")
    if client_id not in CLIENTS:
        raise OAuthRefusal("invalid_client", "The client_id is not known.")
    if urlsplit(redirect_uri).scheme not in {"http", "https"} or (registered and redirect_uri not in registered):
        raise OAuthRefusal("invalid_request", "The redirect_uri is not registered for this client.")
    return Consent(client_id, redirect_uri, query.get("state"))


def _scopes(query: Mapping[str, str]) -> frozenset[str]:
    """The scopes of a request that is otherwise well made."""
    if query.get("response_type") != "code":
        raise OAuthRefusal("unsupported_response_type", "response_type must be code.")
    if query.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(query.get("code_challenge", "")):
        raise OAuthRefusal("invalid_request", "A code_challenge with code_challenge_method S256 is required.")
    scopes = frozenset(query.get("scope", "").split())
    if not scopes or not scopes <= set(SCOPES):
        raise OAuthRefusal("invalid_scope", "At least one scope is required, and all must be known.")
    return scopes


async def _form(request: web.Request) -> dict[str, str]:
    if request.content_type != "application/x-www-form-urlencoded":
        raise OAuthRefusal("invalid_request", "The body must be application/x-www-form-urlencoded.")
    return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


def _client(header: str, form: Mapping[str, str]) -> str:
    """Who asks: with a secret by HTTP Basic, without one by the body."""
    if not header:
        if form.get("client_id") in CLIENTS and CLIENTS[form["client_id"]] is None:
            return form["client_id"]
        raise OAuthRefusal("invalid_client", "Client authentication failed.")
    kind, _, encoded = header.partition(" ")
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        client_id = secret = ""
    known = CLIENTS.get(unquote(client_id))
    if kind.casefold() != "basic" or known is None or not hmac.compare_digest(unquote(secret).encode(), known.encode()):
        raise OAuthRefusal("invalid_client", "Client authentication failed.")
    return unquote(client_id)


def _redirect(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


def _question(scopes: list[str], allow: str, consent: Consent) -> str:
    wanted = "".join(f"<li>{escape(scope)}</li>" for scope in scopes)
    refuse = consent.back(error="access_denied", error_description="The user denied the request.")
    return _page(
        f"An application wants access to your bases:<ul>{wanted}</ul>"
        f'<a href="{escape(allow)}">Grant access</a> <a href="{escape(refuse)}">Cancel</a>'
    )


def _page(body: str) -> str:
    return f"<!doctype html><meta charset=utf-8><title>Connect with Airtable</title><p>{body}</p>"
